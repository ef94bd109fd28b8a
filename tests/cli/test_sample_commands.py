"""items, select, adapt and dif as a user meets them: real processes, real files."""

import json
from pathlib import Path

import polars as pl
import pytest

import camilla as library
from command_line import camilla


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """log.csv, 30 learners × 40 samples, and groups.csv."""
    place = tmp_path_factory.mktemp("samples")
    table = library.simulate(30, 40, seed=3).table
    table.write(place / "log.csv")
    groups = {"learner": table.learners, "year": [2020 + i % 5 for i in range(30)]}
    pl.DataFrame(groups).write_csv(place / "groups.csv")
    return place


def test_items_prints_and_gives_the_same_as_json(folder: Path) -> None:
    printed = camilla("items", "log.csv", "--samples", 3, cwd=folder)
    assert printed.returncode == 0, printed.stderr
    assert "40 samples, judged by 30 learners" in printed.stdout
    found = json.loads(camilla("items", "log.csv", "--json", cwd=folder).stdout)
    assert [row["look"] for row in found["samples"]] == list(range(1, 41))
    assert found["samples"][0]["sample"] in printed.stdout
    assert found["provenance"]["n_learners"] == 30


def test_select_writes_what_it_says(folder: Path) -> None:
    run = camilla("select", "log.csv", "-n", 10, "-o", "subset", "--repeats", 1, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert "stratified" in run.stdout
    document = json.loads((folder / "subset/subset.json").read_text())
    assert len(document["samples"]) == 10
    again = camilla("select", "nowhere.csv", "-n", 10, "-o", "subset", cwd=folder)
    assert again.returncode == 1
    assert "subset: exists already" in again.stderr  # said before the table is even read
    too_many = camilla("select", "log.csv", "-n", 40, cwd=folder)
    assert too_many.returncode == 2
    assert too_many.stderr == "error: got 40 of 40 samples; expected 1 to 39.\n"


def test_select_addresses_the_samples_of_two_tasks(folder: Path) -> None:
    """40 samples, numbers 0 to 19 in each of two tasks: a list for lm-eval by task, one for Inspect."""
    table = pl.read_csv(folder / "log.csv")
    number = table["sample"].str.tail(2).cast(pl.Int64) - 1
    task = pl.Series("task", ["arc" if n < 20 else "gsm8k" for n in number])
    table.with_columns(task, sample=pl.format("{}/{}", task, number % 20)).write_csv(folder / "two.csv")
    run = camilla("select", "two.csv", "-n", 8, "-o", "of-two", "--repeats", 1, "--task", "task", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert "is empty" not in run.stdout
    chosen = pl.read_csv(folder / "of-two/weights.csv")["sample"].to_list()
    numbers = json.loads((folder / "of-two/lm_eval_samples.json").read_text())
    assert sorted(f"{task}/{n}" for task, some in numbers.items() for n in some) == sorted(chosen)
    ids = (folder / "of-two/inspect_sample_ids.txt").read_text().strip()
    assert ids.replace(":", "/").split(",") == chosen


def test_adapt_talks_in_lines(folder: Path) -> None:
    said = '{"sample": "sample-01", "response": 1}\nnonsense\n{"sample": "sample-02", "response": 0}\n'
    run = camilla("adapt", "log.csv", "--budget", 2, cwd=folder, said=said)
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert [line["asked"] for line in lines] == [0, 1, 1, 2]
    assert [line["error"] is None for line in lines] == [True, True, False, True]
    assert lines[-1]["done"] is True


def test_adapt_replays(folder: Path) -> None:
    run = camilla("adapt", "log.csv", "--replay", "--splits", 2, "--shares", "0.2", "--json", cwd=folder)
    found = json.loads(run.stdout)
    assert found["shares"][0]["samples"] == 8
    assert len(found["splits"]) == 2
    wrong = camilla("adapt", "log.csv", "--replay", "--shares", "a", cwd=folder)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "error: --shares takes comma-separated numbers, not 'a'.\n",
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--json"], "--json does nothing without --replay. Leave it out."),
        (["--splits", 10], "--splits does nothing without --replay. Leave it out."),
        (["--shares", 0.5], "--shares does nothing without --replay. Leave it out."),
        (["--calibration", 0.8], "--calibration does nothing without --replay. Leave it out."),
        (
            ["--replay", "--score-se", 0.1],
            "--score-se does nothing in a replay, which asks --shares of the samples. Leave it out.",
        ),
    ],
)
def test_adapt_refuses_options_that_would_do_nothing(folder: Path, words: list[object], why: str) -> None:
    run = camilla("adapt", "log.csv", *words, cwd=folder)
    assert (run.returncode, run.stderr) == (2, f"error: {why}\n")


def test_dif_compares_groups_of_a_file(folder: Path) -> None:
    run = camilla("dif", "log.csv", "--group", "groups.csv:year", "--cut", 2023, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert "from 2023" in run.stdout
    found = json.loads(
        camilla("dif", "log.csv", "--group", "groups.csv", "--focal", 2020, "--json", cwd=folder).stdout
    )
    assert [group["learners"] for group in found["groups"]] == [6, 24]
    assert len(found["samples"]) == 40
    lost = camilla("dif", "log.csv", "--group", "nowhere.csv", cwd=folder)
    assert lost.returncode == 1
    assert "neither a file nor a column" in lost.stderr


def test_items_names_answers_and_takes_verdicts(tmp_path: Path) -> None:
    """Thirty learners, forty samples; all but the weakest answer B on sample s00, whose key says A."""
    rows = ["learner,sample,response,key,said"]
    for i in range(30):
        for j in range(40):
            right = (7 * i + 11 * j) % 30 < i + 1 if j else i == 0
            rows.append(f"m{i:02d},s{j:02d},{int(right)},A,{'A' if right else 'B'}")
    (tmp_path / "long.csv").write_text("\n".join(rows))
    options = ("items", "long.csv", "--key", "key", "--answer", "said", "--samples", 2)
    found = camilla(*options, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "s00: 29 of 30 answer B, 1 the key A. Strong learners that fail it: m29, m28, m27." in found.stdout
    (tmp_path / "judged.csv").write_text("sample,error\ns00,1\ns01,0\n")
    judged = camilla(*options, "--judged", "judged.csv", cwd=tmp_path)
    assert "Of 2 samples judged, 1 is broken. In the whole table " in judged.stdout
    document = json.loads(camilla(*options, "--judged", "judged.csv", "--json", cwd=tmp_path).stdout)
    assert document["provenance"]["verdicts"]["next"] == 38
    assert {row["sample"] for row in document["samples"][-2:]} == {"s00", "s01"}
    assert {row["other_votes"] for row in document["samples"] if row["sample"] == "s00"} == {29}
    (tmp_path / "judged.csv").write_text("sample,error\nnobody,1\n")
    refused = camilla(*options, "--judged", "judged.csv", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "1 sample not in the table, such as 'nobody'" in refused.stderr
    assert camilla(*options, "--judged", "none.csv", cwd=tmp_path).returncode == 1
