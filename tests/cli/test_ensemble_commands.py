"""ensemble and curriculum as a user meets them: real files, exit codes, what is printed."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla as library
from command_line import camilla


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """answers.csv, independent learners right with .75 of three answers; scores.csv; a diagnosis."""
    place = tmp_path_factory.mktemp("committees")
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 400)
    said = {f"m{i}": np.where(rng.random(400) < 0.75, labels, (labels + 1) % 3) for i in range(6)}
    table = library.ResponseTable.from_predictions(said, labels)
    table.to_long().write_csv(place / "answers.csv")
    new = {"sample": [1, 2, 3], "m0": ["a", "b", "c"], "m1": ["a", "c", "c"], "m2": ["b", "c", "a"]}
    pl.DataFrame(new | {f"m{i}": ["z", "z", "z"] for i in (3, 4, 5)}).write_csv(place / "new.csv")
    library.simulate(5, 40, fractional=True, seed=1).table.write(place / "scores.csv")
    (place / "empty.csv").write_text("")
    (place / "one.csv").write_text("sample,a\n" + "".join(f"s{k},1\n" for k in range(30)))
    (place / "few.csv").write_text("sample,a,b,c,d,e\ns0,1,0,1,0,1\n")
    library.diagnose(library.simulate(8, 30, seed=1).table, "irt", precision=3.0).save(place / "diagnosis")
    return place


def test_a_committee_is_chosen_written_and_applied(folder: Path) -> None:
    """Five independent learners right with .75 are right with .9."""
    run = camilla("ensemble", "answers.csv", "--sizes", "3,5", "--splits", 2, "-o", "c.json", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("A committee is better than the best single learner")
    saved = json.loads((folder / "c.json").read_text())
    assert saved["facts"]["expected_accuracy"]["accuracy"] == pytest.approx(0.9, abs=0.04)
    applied = camilla("ensemble", "new.csv", "--apply", "c.json", "-o", "said.csv", "--json", cwd=folder)
    assert applied.returncode == 0, applied.stderr
    assert json.loads(applied.stdout)["answers"][0]["voters"] == len(saved["members"])
    back = pl.read_csv(folder / "said.csv")
    assert back["sample"].to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["scores.csv"], 1, "the table contains scores and no answers"),
        (["answers.csv", "--sizes", "3,x"], 2, "--sizes takes comma-separated whole numbers"),
        (["answers.csv", "--sizes", "1"], 2, "whole numbers from 2 on"),
        (["answers.csv", "--vote", "loud"], 2, "vote is one of"),
        (["answers.csv", "-o", "nowhere/c.json"], 1, "there is no folder nowhere"),
        (["empty.csv", "-o", "bad.json"], 1, "the file is empty"),
        (["one.csv", "--rows", "samples", "-o", "bad.json"], 1, "1 learner answered at least half"),
        (["few.csv", "--rows", "samples", "-o", "bad.json"], 1, "got 1 sample with answers"),
        (["answers.csv", "-o", "c.csv"], 2, "a committee is written as .json"),
        (["new.csv", "--apply", "answers.csv", "-o", "x.csv"], 1, "is not a committee"),
        (["new.csv", "--apply", "nowhere.json", "-o", "x.csv"], 1, "cannot be read"),
        (["new.csv", "--apply", "c.json"], 2, "--apply needs -o FILE"),
        (["new.csv", "new.csv", "--apply", "c.json", "-o", "x.csv"], 2, "takes one file of answers; got 2"),
        (
            ["new.csv", "--apply", "c.json", "--percent", "-o", "x.csv"],
            2,
            "--percent does nothing with --apply",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line(folder: Path, words: list[str], code: int, message: str) -> None:
    run = camilla("ensemble", *words, cwd=folder)
    assert run.returncode == code, run.stderr
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert not (folder / "bad.json").exists()


def test_a_curriculum_is_written_and_given_as_json(folder: Path) -> None:
    words = ("curriculum", "diagnosis", "--for", "learner-3", "--order", "edge")
    run = camilla(*words, "-o", "plan.jsonl", cwd=folder)
    assert run.returncode == 0, run.stderr
    plan = [json.loads(line) for line in (folder / "plan.jsonl").read_text().splitlines()]
    document = json.loads(camilla(*words, "--json", cwd=folder).stdout)
    assert [row["sample"] for row in document["samples"]] == [row["sample"] for row in plan]
    assert sum(row["weight"] for row in plan) == pytest.approx(30)
    assert camilla("curriculum", "diagnosis", "--for", "x", cwd=folder).returncode == 1
    assert camilla(*words, "--only", "x", cwd=folder).returncode == 2
    assert camilla(*words, "-o", "plan.txt", cwd=folder).returncode == 2
