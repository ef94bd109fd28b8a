"""Tables larger than memory: shards made of files, the diagnosis of shards, kill and resume, the command."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.diagnosing_large import _part, diagnose_large
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError, FormatError, SettingError
from camilla.fitting.layout import Size
from camilla.fitting.shard_layout import ShardLayout
from camilla.table.shards import DenseShard, LongColumns, SparseShard, make_shards, table_files
from command_line import camilla as command


def write_files(folder: Path, n_learners: int, n_samples: int, *, missing: float = 0.3) -> pl.DataFrame:
    """A 2PL world in three Parquet files."""
    rng = np.random.default_rng(0)
    p = 1 / (
        1
        + np.exp(
            -(
                rng.normal(1, 0.4, (n_samples, 1)) * rng.normal(size=n_learners)
                + rng.normal(size=(n_samples, 1))
            )
        )
    )
    sample, learner = np.nonzero(rng.random(p.shape) >= missing)
    response = (rng.random(len(sample)) < p[sample, learner]).astype(np.int8)
    frame = pl.DataFrame(
        {
            "learner": [f"l{i:03}" for i in learner],
            "sample": [f"s{j:04}" for j in sample],
            "response": response,
        }
    )
    folder.mkdir()
    order = rng.permutation(len(frame))
    for number, part in enumerate(np.array_split(order, 3)):
        frame[part].write_parquet(folder / f"part-{number}.parquet")
    return frame


@pytest.mark.parametrize("missing", [0.3, 0.9])
def test_shards_hold_every_response_once(
    tmp_path: Path, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("camilla.table.shards.SHARD_BYTES", 1200)
    monkeypatch.setattr("camilla.table.shards.BATCH_ROWS", 700)
    frame = write_files(tmp_path / "runs", 40, 150, missing=missing)
    folder = make_shards(table_files(tmp_path / "runs"), tmp_path / "shards", LongColumns(), print)
    assert len(folder.shards) > 1
    kind = DenseShard if missing < 0.5 else SparseShard
    assert all(isinstance(shard, kind) for shard in folder.shards)
    found, first = set(), 0
    for shard in folder.shards:
        if isinstance(shard, DenseShard):
            sample, learner = np.nonzero(np.asarray(shard.codes) != 255)
            right = np.asarray(shard.codes)[sample, learner]
        else:
            sample = np.repeat(np.arange(shard.shape[0]), np.diff(shard.starts))
            learner, right = shard.codes >> 1, shard.codes & 1
        for j, i, x in zip(sample + first, learner, right, strict=True):
            found.add((folder.learners[i], folder.samples[j], int(x)))
        first += shard.shape[0]
    assert found == set(frame.rows())
    per_response = sum(shard.codes.nbytes for shard in folder.shards) / len(frame)
    assert per_response <= (2 if missing < 0.5 else 4)


def test_a_large_diagnosis_is_that_of_the_table(tmp_path: Path) -> None:
    frame = write_files(tmp_path / "runs", 60, 400)
    large = diagnose_large(tmp_path / "runs", "irt:precision=1", shards=tmp_path / "shards", device="cpu")
    small = camilla.diagnose(pl.read_parquet(tmp_path / "runs" / "*.parquet"), "irt:precision=1")
    both = large.learners.join(small.learners, on="learner", suffix="_small")
    for column, apart in (("accuracy", 1e-12), ("accuracy_low", 1e-12), ("ability", 0.05), ("se", 0.01)):
        assert (both[column] - both[f"{column}_small"]).abs().max() < apart
    both = large.samples.join(small.samples, on="sample", suffix="_small")
    for column, apart in (("accuracy_high", 1e-12), ("n", 0.5), ("discrimination", 0.05)):
        assert (both[column] - both[f"{column}_small"]).abs().max() < apart
    one = frame.filter(pl.col("sample") == "s0007")
    p = large.predict(one["learner"].to_list(), ["s0007"])["probability"]
    infit = ((one["response"] - p) ** 2).sum() / (p * (1 - p)).sum()
    assert large.samples.filter(pl.col("sample") == "s0007")["infit"][0] == pytest.approx(infit, rel=1e-4)
    kept = Diagnosis.load(large.save(tmp_path / "saved"))
    assert kept.learners.equals(large.learners)
    assert kept.predict([kept.learner_names[0]], [kept.sample_names[0]])["probability"][0] > 0
    with pytest.raises(DataError, match="there were too many"):
        kept.ability(["s0001"])
    with pytest.raises(DataError, match="there were too many"):
        camilla.report(tmp_path / "saved", tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_auto_reads_expected_scores(tmp_path: Path) -> None:
    write_files(tmp_path / "runs", 40, 200, missing=0.0)
    found = diagnose_large(tmp_path / "runs", shards=tmp_path / "shards", device="cpu")
    # on a complete table the expected score put right by what was observed is accuracy
    np.testing.assert_allclose(found.learners["ability"], found.learners["accuracy"], atol=1e-5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"response": pl.lit(3.0)}, "row 1: the response 3 is not between 0 and 1"),
        ({"learner": pl.lit(None, pl.String)}, "a row has no learner"),
        ({"sample": pl.lit("s1"), "learner": pl.lit("l1")}, "rows repeat a learner and sample"),
        ({"response": pl.lit("yes")}, "expected numbers from 0 to 1"),
    ],
)
def test_bad_files_are_refused_and_leave_nothing(
    tmp_path: Path, change: dict[str, pl.Expr], says: str
) -> None:
    frame = pl.DataFrame(
        {"learner": ["a", "b"] * 50, "sample": [f"s{i // 2}" for i in range(100)], "response": 1.0}
    )
    frame.with_columns(**change).write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(DataError, match=says):
        diagnose_large(tmp_path / "runs.parquet", "irt", shards=tmp_path / "shards")
    assert [path.name for path in tmp_path.iterdir()] == ["runs.parquet"]


@pytest.mark.parametrize("place", ["notes", "notes/thesis.txt", "runs"])
def test_shards_never_replace_a_folder_of_other_things(tmp_path: Path, place: str) -> None:
    write_files(tmp_path / "runs", 10, 20)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("years of work")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DataError, match="is not a folder of shards; it is not overwritten"):
        diagnose_large(tmp_path / "runs", "irt", shards=tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "notes" / "thesis.txt").read_text() == "years of work"


def test_shards_lie_outside_of_what_is_read_and_of_what_is_written(tmp_path: Path) -> None:
    write_files(tmp_path / "runs", 10, 20)
    with pytest.raises(DataError, match="all of whose Parquet files are read"):
        camilla.read_large(tmp_path / "runs", tmp_path / "runs" / "shards")
    for shards, output in (("out", "out"), ("out/shards", "out"), ("shards", "shards/out")):
        done = command("diagnose", "runs", "-o", output, "--shards", shards, cwd=tmp_path)
        assert done.returncode == 2
        assert "Give two that are apart" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize("content", [b"", b"null", b"PK no zip", b"[1]"])
def test_a_damaged_state_or_choice_is_made_again(tmp_path: Path, content: bytes) -> None:
    write_files(tmp_path / "runs", 20, 1500)
    asked = {"diagnoser": "irt:precision=1", "shards": tmp_path / "shards", "device": "cpu"}
    whole = diagnose_large(tmp_path / "runs", **asked)
    for name in ("state.npz", "chosen.json"):
        assert (tmp_path / "shards" / name).exists()
        (tmp_path / "shards" / name).write_bytes(content)
    assert diagnose_large(tmp_path / "runs", **asked).learners.equals(whole.learners)


@pytest.mark.parametrize("name", ["learners.parquet", "samples.parquet", "00000.npy"])
@pytest.mark.parametrize("damage", ["empty", "cut", "gone", "another"])
def test_damaged_shards_are_an_error(tmp_path: Path, name: str, damage: str) -> None:
    write_files(tmp_path / "runs", 10, 20)
    shards = tmp_path / "shards"
    camilla.read_large(tmp_path / "runs", shards)
    content = (shards / name).read_bytes()
    damaged = {"empty": b"", "cut": content[: len(content) // 2]}
    if damage == "gone":
        (shards / name).unlink()
    elif damage == "another":
        np.save(shards / "00000.npy", np.zeros((5, 10), np.uint8))
    else:
        (shards / name).write_bytes(damaged[damage])
    with pytest.raises(FormatError, match=r"damaged or missing\. Delete the folder"):
        camilla.read_large(tmp_path / "runs", shards)
    (shards / "shards.json").write_text("null")
    assert camilla.read_large(tmp_path / "runs", shards).n_responses > 0


@pytest.mark.parametrize("diagnoser", ["irt", "camilla:dimensions=2:precision=1"])
def test_responses_that_are_all_alike_are_refused(tmp_path: Path, diagnoser: str) -> None:
    frame = pl.DataFrame({"learner": ["a", "a", "b", "b"], "sample": ["x", "y"] * 2, "response": 1.0})
    for number, response in enumerate(([1.0, None, None, None], [1.0] * 4, [0.0] * 4)):
        frame.with_columns(response=pl.Series(response)).write_parquet(tmp_path / "runs.parquet")
        with pytest.raises(DataError, match=r"every one of the \d responses is"):
            diagnose_large(tmp_path / "runs.parquet", diagnoser, shards=tmp_path / f"shards-{number}")


@pytest.mark.parametrize("missing", [0.0, 0.9])
def test_a_table_in_blocks_is_refused_or_noted(
    tmp_path: Path, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two worlds with other learners and samples, and a sample that nobody answered; pieces of 100 cells."""
    monkeypatch.setattr("camilla.fitting.shard_layout.PLACES", 100)
    frame = write_files(tmp_path / "runs", 15, 200, missing=missing)
    other = frame.with_columns(learner="z" + pl.col("learner"), sample="z" + pl.col("sample"))
    nobody = frame[:1].with_columns(sample=pl.lit("nobody's"), response=pl.lit(None, pl.Int8))
    pl.concat([frame, other, nobody]).write_parquet(tmp_path / "both.parquet")
    asked = {"diagnoser": "irt:precision=1", "shards": tmp_path / "shards", "device": "cpu"}
    size = f"15 learners × {frame['sample'].n_unique()} samples (such as"
    says = f"falls into 2 blocks, {size} 'l000') and {size} 'zl000')"
    with pytest.raises(DataError, match=re.escape(says)):
        diagnose_large(tmp_path / "both.parquet", **asked)
    noted = diagnose_large(tmp_path / "both.parquet", **asked, across_blocks=True)
    assert any(says in note for note in noted.provenance["notes"])
    bridge = frame[:1].with_columns(learner=pl.lit("zl003"))
    pl.concat([frame, other, nobody, bridge]).write_parquet(tmp_path / "both.parquet")
    assert diagnose_large(tmp_path / "both.parquet", **asked).learners.height == 30


def test_settings_of_a_sparse_table_are_chosen_where_it_has_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All learners answered 30 of 2,000 samples, and one learner each of the others.

    Of 10 samples and 10 learners drawn at random, 100 cells, about three would have a response.
    """
    for name in ("TRIAL_LEARNERS", "TRIAL_SAMPLES"):
        monkeypatch.setattr(f"camilla.diagnosing_large.{name}", 10)
    rng = np.random.default_rng(0)
    alone = rng.integers(0, 60, 1970)
    frame = pl.DataFrame(
        {
            "learner": np.append(np.tile(np.arange(60), 30), alone),
            "sample": np.append(
                np.repeat(np.arange(30) * 60, 60), np.delete(np.arange(2000), np.arange(30) * 60)
            ),
            "response": rng.integers(0, 2, 60 * 30 + 1970),
        }
    )
    frame.write_parquet(tmp_path / "runs.parquet")
    folder = camilla.read_large(tmp_path / "runs.parquet", tmp_path / "shards")
    size, cells = _part(Size(60, 2000), ShardLayout(folder.shards), seed=0)
    assert (size.n_learners, size.n_samples, cells.n_cells) == (10, 10, 100)
    found = diagnose_large(tmp_path / "runs.parquet", "irt", shards=tmp_path / "shards", device="cpu")
    assert found.learners.height == 60


def test_other_diagnosers_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path / "runs", 10, 20)
    for name in ("neural-cd", "irt:form=3pl", "mirt:as_published"):
        with pytest.raises(SettingError, match="irt \\(1pl, 2pl\\), mirt, camilla and auto are"):
            diagnose_large(tmp_path / "runs", name, shards=tmp_path / "shards")
    with pytest.raises(SettingError, match="camilla has no setting 'depth'"):
        diagnose_large(tmp_path / "runs", "camilla:depth=3", shards=tmp_path / "shards")
    with pytest.raises(SettingError, match="trained on one machine"):
        diagnose_large(tmp_path / "runs", "camilla", shards=tmp_path / "shards", backend="ray")
    assert not (tmp_path / "shards").exists()


def test_killed_and_started_again_it_ends_with_the_same(tmp_path: Path) -> None:
    write_files(tmp_path / "runs", 60, 3000)
    command = [
        sys.executable, "-c",
        "import sys, time, camilla.diagnosing_large as large\n"
        "found = large.diagnose_large(sys.argv[1], 'irt:precision=1', shards=sys.argv[2], device='cpu',\n"
        "    watch=lambda line: (print(line, flush=True), time.sleep(0.3)))\n"
        "found.save(sys.argv[3])",
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(Path(camilla.__file__).parents[1])}
    arguments = [str(tmp_path / "runs"), str(tmp_path / "shards")]
    process = subprocess.Popen(
        [*command, *arguments, str(tmp_path / "never")], stdout=subprocess.PIPE, text=True, env=environment
    )
    with process, process.stdout as told:  # type: ignore[union-attr]
        for line in told:
            if line.startswith("sweep 6"):
                process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "never").exists()
    lines: list[str] = []
    resumed = diagnose_large(
        *arguments[:1], "irt:precision=1", shards=arguments[1], device="cpu", watch=lines.append
    )
    assert not any("rows read" in line for line in lines)
    assert next(line for line in lines if line.startswith("sweep")).startswith("sweep 6")
    straight = diagnose_large(tmp_path / "runs", "irt:precision=1", shards=tmp_path / "other", device="cpu")
    assert resumed.learners.equals(straight.learners)


def test_the_command_reads_shards_and_plans(tmp_path: Path) -> None:
    write_files(tmp_path / "runs", 30, 100)
    shards = ["--with", "irt", "--shards", "shards", "--device", "cpu"]
    done = command("diagnose", "runs", "-o", "out", *shards, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Diagnosis written to" in done.stdout
    assert (tmp_path / "shards" / "shards.json").exists()
    assert command("show", "out", cwd=tmp_path).returncode == 0
    plan = command("diagnose", "runs", "-o", "out", "--with", "irt", "--dry-run", "--json", cwd=tmp_path)
    found = json.loads(plan.stdout)
    assert found["rows"] == Diagnosis.load(tmp_path / "out").provenance["n_responses"]
    assert (found["learners"], found["samples"]) == (30, 100)
    refused = command("diagnose", "runs", "-o", "out", "--backend", "ray", cwd=tmp_path)
    assert refused.returncode == 2
    assert "cannot be split over processes" in refused.stderr


NETWORK = "camilla:dimensions=2:precision=1"


@pytest.mark.slow
def test_a_large_network_is_that_of_the_table(tmp_path: Path) -> None:
    """Two seeds in memory agree with .9995 on this table; all its learners have about 280 responses."""
    write_files(tmp_path / "runs", 60, 400)
    large = diagnose_large(tmp_path / "runs", NETWORK, shards=tmp_path / "shards", device="cpu")
    small = camilla.diagnose(pl.read_parquet(tmp_path / "runs" / "*.parquet"), NETWORK)
    both = large.learners.join(small.learners, on="learner", suffix="_small")
    assert np.corrcoef(both["ability"], both["ability_small"])[0, 1] > 0.999
    np.testing.assert_allclose(both["se"], both["se_small"], rtol=0.2)
    np.testing.assert_allclose(both["accuracy_low"], both["accuracy_low_small"], atol=1e-12)
    assert large.samples.columns == small.samples.columns
    beside = large.samples.join(small.samples, on="sample", suffix="_small")
    for column, least in (("expected", 0.98), ("infit", 0.9), ("difficulty", 0.9)):
        assert np.corrcoef(beside[column], beside[f"{column}_small"])[0, 1] > least
    assert large.skills.columns == small.skills.columns
    assert sorted(large.skills["skill"].unique()) == ["latent 1", "latent 2"]
    level = large.skills.filter(learner="l007", skill="latent 2")["ability"][0]
    assert level == pytest.approx(large.readout.ability[large.learner_names.index("l007"), 1])
    assert large.provenance["validation_loss"] == pytest.approx(small.provenance["validation_loss"], abs=0.03)
    kept = Diagnosis.load(large.save(tmp_path / "saved"))
    assert kept.learners.equals(large.learners)
    one = kept.predict(["l007"], ["s0007"])
    assert one["low"][0] < one["probability"][0] < one["high"][0]
    answers = pl.read_parquet(tmp_path / "runs" / "*.parquet").filter(pl.col("learner") == "l007")
    placed = kept.place(answers.with_columns(learner=pl.lit("again")))
    assert placed["ability"][0] == pytest.approx(both.filter(learner="l007")["ability"][0], abs=0.02)
    with pytest.raises(DataError, match="there were too many"):
        kept.ability(["s0001"])


@pytest.mark.slow
def test_a_killed_training_ends_with_the_same_bytes(tmp_path: Path) -> None:
    write_files(tmp_path / "runs", 30, 200)
    command = [
        sys.executable, "-c",
        "import sys, time, camilla.diagnosing_large as large\n"
        "large.diagnose_large(sys.argv[1], sys.argv[3], shards=sys.argv[2], device='cpu',\n"
        "    watch=lambda line: (print(line, flush=True), time.sleep(0.3)))",
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(Path(camilla.__file__).parents[1])}
    arguments = [str(tmp_path / "runs"), str(tmp_path / "shards"), NETWORK]
    process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True, env=environment)
    with process, process.stdout as told:  # type: ignore[union-attr]
        for line in told:
            if line.startswith("epoch 6,"):
                process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "shards" / "training-all.npz").exists()
    lines: list[str] = []
    resumed = diagnose_large(arguments[0], NETWORK, shards=arguments[1], device="cpu", watch=lines.append)
    assert next(line for line in lines if line.startswith("epoch")).startswith("epoch 6,")
    straight = diagnose_large(arguments[0], NETWORK, shards=tmp_path / "other", device="cpu")
    for frame in ("learners", "samples", "skills"):
        assert getattr(resumed, frame).equals(getattr(straight, frame))
    for one, other in zip(resumed.params.weights, straight.params.weights, strict=True):
        assert one.tobytes() == other.tobytes()
    third = diagnose_large(arguments[0], NETWORK, shards=arguments[1], device="cpu", seed=1)
    assert not third.learners.equals(straight.learners)  # a state of another seed is not gone on from


def test_fractional_responses_train_a_network(tmp_path: Path) -> None:
    """Abilities are mean expected responses: on a complete table near the mean of 300 responses."""
    rng = np.random.default_rng(0)
    level = rng.normal(0, 1, 30)[:, None] + rng.normal(0, 0.5, 300)
    share = 1 / (1 + np.exp(-level - rng.normal(0, 0.3, level.shape)))
    frame = pl.DataFrame(
        {
            "learner": np.repeat([f"l{i:02}" for i in range(30)], 300),
            "sample": np.tile([f"s{j:03}" for j in range(300)], 30),
            "response": share.ravel(),
        }
    )
    frame.write_parquet(tmp_path / "runs.parquet")
    found = diagnose_large(tmp_path / "runs.parquet", NETWORK, shards=tmp_path / "shards", device="cpu")
    assert np.abs(found.learners.sort("learner")["ability"].to_numpy() - share.mean(axis=1)).max() < 0.02
    assert found.readout.dispersion < 0.2  # of right or wrong it would be 1


@pytest.mark.slow
def test_the_command_trains_a_network_and_plans(tmp_path: Path) -> None:
    write_files(tmp_path / "runs", 30, 100, missing=0.9)
    wanted = ["--with", NETWORK, "--device", "cpu"]
    plan = command("diagnose", "runs", "-o", "out", *wanted, "--dry-run", "--json", cwd=tmp_path)
    assert plan.returncode == 0, plan.stderr
    found = json.loads(plan.stdout)
    assert (found["learners"], found["dimensions"], found["dense"]) == (30, 2, False)
    assert found["fitting"] > 0
    assert not (tmp_path / "out").exists()
    done = command("diagnose", "runs", "-o", "out", *wanted, "--shards", "shards", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "30 learners by ability (0 to 1)" in command("show", "out", cwd=tmp_path).stdout
    on_ray = [*wanted, "--shards", "s", "--backend", "ray"]
    refused = command("diagnose", "runs", "-o", "o", *on_ray, cwd=tmp_path)
    assert refused.returncode == 2
    assert "camilla is trained on one machine" in refused.stderr
