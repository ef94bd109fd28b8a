"""route and route apply as a user meets them: real files, exit codes, what is printed."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import camilla


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """responses.csv: a is better on law, b on art; long.csv with confidences; new.csv; costs.csv."""
    place = tmp_path_factory.mktemp("routes")
    rng = np.random.default_rng(3)
    task = np.where(rng.random(300) < 0.5, "law", "art")
    chance = {"a": np.where(task == "law", 0.9, 0.4), "b": np.where(task == "law", 0.4, 0.9), "c": 0.7}
    right = {name: (rng.random(300) < p).astype(int) for name, p in chance.items()}
    names = [f"s{i}" for i in range(300)]
    words = rng.integers(5, 90, 300)
    pl.DataFrame({"sample": names, "task": task, "words": words} | right).write_csv(place / "responses.csv")
    long = [
        {
            "learner": name,
            "sample": sample,
            "response": int(one),
            "sure": 0.3 + 0.5 * int(one) + rng.normal() / 20,
        }
        for name, row in right.items()
        for sample, one in zip(names, row, strict=True)
    ]
    pl.DataFrame(long).write_csv(place / "long.csv")
    pl.DataFrame({"sample": ["x", "y"], "task": ["law", "art"], "words": [12, 30]}).write_csv(
        place / "new.csv"
    )
    pl.DataFrame({"learner": ["a", "b", "c"], "cost": [1, 1, 3]}).write_csv(place / "costs.csv")
    pl.DataFrame({"learner": ["a", "b", "c"], "cost": [1, -1, 3]}).write_csv(place / "negative.csv")
    (place / "empty.csv").write_text("")
    (place / "head.csv").write_text("sample,a,b\n")
    (place / "few.csv").write_text("sample,words\ns0,4\ns1,9\n")
    return place


TABLE = ("responses.csv", "--rows", "samples", "--task", "task")


def test_a_route_is_made_written_and_applied(folder: Path) -> None:
    words = ("route", *TABLE, "--features", ":words", "--costs", "costs.csv", "-o", "route.json")
    run = camilla(*words, cwd=folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Choosing a learner per sample is better than")
    applied = camilla("route", "apply", "route.json", "new.csv", "-o", "said.csv", "--json", cwd=folder)
    assert applied.returncode == 0, applied.stderr
    assert [row["learner"] for row in json.loads(applied.stdout)["samples"]] == ["a", "b"]
    assert pl.read_csv(folder / "said.csv")["sample"].to_list() == ["x", "y"]


def test_json_holds_every_figure(folder: Path) -> None:
    run = camilla("route", *TABLE, "--ignore", "words", "--costs", "a=1,b=1,c=3", "--json", cwd=folder)
    document = json.loads(run.stdout)
    assert document["better"]
    assert {row["way"] for row in document["frontier"]} == {"chosen by sample", "random mixing", "oracle"}
    assert [row["size"] for row in document["portfolios"]] == [2]


def test_a_column_of_confidence_makes_a_cascade(folder: Path) -> None:
    words = ("long.csv", "--confidence", ":sure", "--costs", "a=1,b=4,c=5", "--first", "a")
    run = camilla("route", *words, "-o", "cascade.json", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("The cascade is better than")
    assert json.loads((folder / "cascade.json").read_text())["way"] == "cascade"


def test_help_is_that_of_the_table(folder: Path) -> None:
    for words in (("route", "--help"), ("route",)):
        assert "--costs" in camilla(*words, cwd=folder).stdout
    assert "ROUTE" in camilla("route", "apply", "--help", cwd=folder).stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["responses.csv", "--rows", "samples", "--ignore", "task", "--ignore", "words"],
            1,
            "nothing is known",
        ),
        ([*TABLE, "--ignore", "words", "--costs", "a=1,b=1"], 1, "learner 'c' has no cost"),
        ([*TABLE, "--ignore", "words", "--costs", "a=x,b=1"], 2, "takes name=cost,name=cost or FILE"),
        ([*TABLE, "--ignore", "words", "--costs", "negative.csv"], 1, "the cost of learner 'b' is -1"),
        ([*TABLE, "--ignore", "words", "--costs", "no.csv"], 1, "no such file of costs"),
        ([*TABLE, "--ignore", "words", "--portfolio", "2,x"], 2, "--portfolio takes whole numbers"),
        ([*TABLE, "--ignore", "words", "--budget", "-1"], 2, "the budget is a mean cost"),
        ([*TABLE, "--ignore", "words", "-o", "route.csv"], 2, "a route is written as .json"),
        ([*TABLE, "--features", ":colour"], 1, "'colour'"),
        (["long.csv", "--confidence", ":trust"], 1, "no column 'trust'"),
        ([*TABLE, "--ignore", "words", "-o", "nowhere/route.json"], 1, "there is no folder nowhere"),
        ([*TABLE, "--ignore", "words", "--costs", "empty.csv"], 1, "empty.csv: the file is empty"),
        (["empty.csv", "-o", "route.json"], 1, "empty.csv: the file is empty"),
        (["head.csv", "--rows", "samples", "-o", "route.json"], 1, "has a header but no rows"),
        (
            [*TABLE, "--ignore", "words", "--features", "few.csv", "-o", "bad.json"],
            1,
            "has no row for 298 of 300 samples",
        ),
        (["apply", "nowhere.json", "new.csv", "-o", "x.csv"], 1, "cannot be read"),
        (["apply", "costs.csv", "new.csv", "-o", "x.csv"], 1, "is not a route"),
        (["apply", "costs.csv", "new.csv"], 2, "route apply needs -o FILE"),
    ],
)
def test_what_cannot_be_done_is_one_line(folder: Path, words: list[str], code: int, message: str) -> None:
    run = camilla("route", *words, cwd=folder)
    assert message in run.stderr
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    assert len([line for line in run.stderr.splitlines() if line.startswith("error")]) == 1
    assert not (folder / "bad.json").exists()
