"""rank, compare, items and epp on tables larger than memory give what they give in memory."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import DataError, SettingError
from camilla.reading.parts import read_learners
from camilla.reading.tournaments import Columns, usable_tournaments
from camilla.table.responses import ResponseTable
from camilla.table.shards import ShardFolder, read_large
from command_line import camilla as command

OF_THE_FILES = ("data_hash", "out_of_core")  # what provenance says of files, not of their responses


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards, batches and stretches of a few samples, so that every table here has many of them."""
    monkeypatch.setattr("camilla.table.shards.SHARD_BYTES", 600)
    monkeypatch.setattr("camilla.table.shards.BATCH_ROWS", 700)
    monkeypatch.setattr("camilla.learners.rank.PAIRED_CELLS", 300)
    monkeypatch.setattr("camilla.samples.shard_judge.BLOCK_CELLS", 1200)


def a_table(
    seed: int, *, learners: int = 24, samples: int = 130, missing: float = 0.3, fractions: float = 0.0
) -> ResponseTable:
    """A 2PL world; eighths in place of some of the responses."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=(learners, 1)) * rng.normal(1, 0.5, samples) + rng.normal(size=samples)
    matrix = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(float)
    eighths = rng.integers(0, 9, matrix.shape) / 8
    matrix = np.where(rng.random(matrix.shape) < fractions, eighths, matrix)
    matrix[rng.random(matrix.shape) < missing] = np.nan
    return ResponseTable.from_matrix(matrix)


def in_files(table: ResponseTable, folder: Path, parts: int = 4) -> Path:
    """The rows of a table in any order, dealt to several Parquet files."""
    folder.mkdir()
    rows = table.to_long().sample(fraction=1, shuffle=True, seed=0)
    for number in range(parts):
        rows[number::parts].write_parquet(folder / f"part-{number}.parquet")
    return folder


def in_shards(table: ResponseTable, folder: Path) -> ShardFolder:
    found = read_large(in_files(table, folder / "runs"), folder / "shards")
    assert len(found.shards) > 1
    return found


def without_files(document: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in document["provenance"].items() if name not in OF_THE_FILES}
    return document | {"provenance": kept}


def assert_alike(one: Any, other: Any, at: str = "") -> None:
    """Equal documents, numbers to nine digits: sums are taken in another order."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), at
        for name, value in one.items():
            assert_alike(value, other[name], f"{at}/{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), at
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_alike(a, b, f"{at}/{place}")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9, nan_ok=True), at
    else:
        assert one == other, at


@pytest.mark.parametrize(
    "world",
    [
        {"missing": 0.0},
        {"missing": 0.4},
        {"missing": 0.9},
        {"fractions": 0.05},
        {"fractions": 1.0, "missing": 0.0},
        {"learners": 60, "samples": 40},
    ],
)
def test_a_ranking_from_files_is_that_of_the_table(tmp_path: Path, world: dict[str, Any]) -> None:
    large = camilla.rank(in_shards(a_table(1, **world), tmp_path)).to_document(pairs=True)
    small = camilla.rank(tmp_path / "runs").to_document(pairs=True)
    assert_alike(without_files(json.loads(json.dumps(small))), without_files(json.loads(json.dumps(large))))


def test_blocks_without_a_shared_sample_are_refused_from_files_too(tmp_path: Path) -> None:
    matrix = np.full((12, 80), np.nan)
    rng = np.random.default_rng(0)
    matrix[:6, :50], matrix[6:, 50:] = rng.integers(0, 2, (6, 50)), rng.integers(0, 2, (6, 30))
    table = ResponseTable.from_matrix(matrix)
    shards = in_shards(table, tmp_path)
    messages = []
    for source in (table, shards):
        with pytest.raises(DataError, match="falls into 2 blocks") as refused:
            camilla.rank(source)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    assert camilla.rank(shards, across_blocks=True).notes == camilla.rank(table, across_blocks=True).notes


@pytest.mark.parametrize("world", [{}, {"fractions": 0.3, "missing": 0.1}])
def test_samples_are_judged_from_files_as_in_memory(
    tmp_path: Path, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one and the same 2PL, every number is equal; by the 2PL of the shards, flags are."""
    table = a_table(2, learners=40, **world)
    response = table.response.copy()
    response[table.sample == 5] = 1.0
    response[table.sample == 9] = 1 - response[table.sample == 9]
    response[table.sample == 11] = response[table.sample == 11].round()
    table = ResponseTable(table.learners, table.samples, table.learner, table.sample, response)
    judged = {table.samples[0]: 1, table.samples[11]: 0}
    small, shards = camilla.items(table, judged=judged), in_shards(table, tmp_path)
    by_shards = camilla.items(shards)
    both = small.samples.join(by_shards.samples, on="sample", suffix="_shards")
    assert both["flags"].to_list() == both["flags_shards"].to_list()
    assert both.filter(pl.col("flags").str.contains("everyone right")).height == 1
    with monkeypatch.context() as patch:
        patch.setattr(
            "camilla.samples.shard_judge.diagnose_shards",
            lambda *_, seed: camilla.diagnose(table, "irt", seed=seed),
        )
        large = camilla.items(shards, judged=judged)
    for name in ("samples", "twins"):
        rows = [json.loads(json.dumps(getattr(found, name).to_dicts())) for found in (small, large)]
        assert_alike(*rows)
    assert_alike(*(without_files({"provenance": found.provenance}) for found in (small, large)))


def test_twins_are_left_out_where_pairs_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("camilla.samples.shard_judge.TWIN_CELLS", 100)
    found = camilla.items(in_shards(a_table(3), tmp_path))
    assert found.provenance["twin_pairs"] is None
    assert "Twins were not looked for" in found.text()


def test_two_learners_are_compared_without_reading_the_others(tmp_path: Path) -> None:
    table = a_table(4)
    names = {"learner": "learner", "sample": "sample", "response": "response"}
    folder = in_files(table, tmp_path / "runs")
    pair = read_learners(folder, ["learner-03", "learner-10"], **names)
    assert pair.n_learners == 2
    small = camilla.compare(table, "learner-03", "learner-10").to_document()
    large = camilla.compare(pair, "learner-03", "learner-10").to_document()
    for document in (small, large):
        document.pop("provenance")
        document["flipped"].sort(key=lambda row: row["sample"])
    assert_alike(json.loads(json.dumps(small)), json.loads(json.dumps(large)))
    with pytest.raises(DataError, match=r"no learner 'learner-3'.*learner-"):
        read_learners(folder, ["learner-3", "learner-10"], **names)


def scores(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (f"m{i}", task, fold, rng.normal(0.1 * i))
        for i in range(9)
        for task in ("x", "y", "z")
        for fold in range(12)
        if rng.random() < 0.9
    ]
    frame = pl.DataFrame(rows, schema=["player", "task", "fold", "score"], orient="row")
    return frame.sample(fraction=1, shuffle=True, seed=1)


def test_scores_in_files_make_the_same_leaderboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, folder, columns = scores(0), tmp_path / "runs", Columns(round="task,fold")
    folder.mkdir()
    frame.write_parquet(tmp_path / "whole.parquet")
    for number, start in enumerate(range(0, len(frame), 100)):
        frame[start : start + 100].write_parquet(folder / f"{number}.parquet")
    whole = usable_tournaments(tmp_path / "whole.parquet", columns).usable[""]
    for source in (folder, folder / "*.parquet"):
        assert camilla.epp(usable_tournaments(source, columns).usable[""]).text() == camilla.epp(whole).text()
    monkeypatch.setattr("camilla.table.shards.LARGE_ROWS", 50)
    monkeypatch.setattr("camilla.reading.tournaments.BATCH_ROWS", 33)
    streamed = usable_tournaments(folder, columns).usable[""]
    assert (streamed.players, streamed.rounds) == (whole.players, whole.rounds)
    np.testing.assert_array_equal(streamed.scores, whole.scores)
    with pytest.raises(SettingError, match="--cluster needs all rows in memory"):
        usable_tournaments(folder, Columns(round="fold", cluster="task"))
    with pytest.raises(DataError, match=r"has another score in round .*, row [0-9]+; expected one"):
        usable_tournaments(folder, Columns(round="fold"))


def test_parts_of_one_table_are_read_as_one(tmp_path: Path) -> None:
    table = a_table(5)
    folder = in_files(table, tmp_path / "runs")
    (folder / "_SUCCESS").touch()
    for sources in ([folder], [folder / "part-*.parquet"], sorted(folder.glob("*.parquet"))):
        found = camilla.read(*sources)
        assert (found.n_samples, found.digest()) == (table.n_samples, table.digest())
    renamed = tmp_path / "renamed"
    renamed.mkdir()
    for file in folder.glob("*.parquet"):
        pl.read_parquet(file).rename({"learner": "model"}).write_parquet(renamed / file.name)
    assert camilla.read(renamed, learner="model").digest() == table.digest()


def test_files_that_answer_a_sample_twice_stay_apart(tmp_path: Path) -> None:
    """Two benchmarks that number their samples alike are not one table."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, seed in (("gsm8k", 6), ("math", 7)):
        a_table(seed, learners=5, samples=20, missing=0).to_long().write_parquet(folder / f"{name}.parquet")
    found = camilla.read(folder)
    assert found.n_samples == 40
    assert set(found.task or ()) == {"gsm8k", "math"}


def test_a_bad_response_is_found_in_its_file(tmp_path: Path) -> None:
    folder = in_files(a_table(8), tmp_path / "runs")
    file = folder / "part-2.parquet"
    frame = pl.read_parquet(file)
    frame.with_columns(
        response=pl.when(pl.int_range(pl.len()) == 4).then(7.0).otherwise("response")
    ).write_parquet(file)
    with pytest.raises(DataError, match=r"part-2\.parquet.*row 5"):
        camilla.read(folder)


def test_commands_take_shards(tmp_path: Path) -> None:
    table = a_table(9)
    folder = in_files(table, tmp_path / "runs")
    large = command("rank", folder, "--shards", tmp_path / "shards", "--json", cwd=tmp_path)
    small = command("rank", folder, "--json", cwd=tmp_path)
    assert_alike(*(without_files(json.loads(run.stdout)) for run in (small, large)))
    assert (tmp_path / "shards" / "shards.json").exists()
    refused = command("items", folder, "--shards", tmp_path / "shards", "--task", "x", cwd=tmp_path)
    assert refused.returncode != 0
    assert "--task does nothing on a table read in shards" in refused.stderr
