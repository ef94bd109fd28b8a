"""Results in Python: a screenful as their repr, the command's own text when printed, HTML in a notebook."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.cli.main import main
from camilla.display import Printable

EVIL = "<script>alert(1)</script>\x1b[31m"
LONG = "a-model-with-quite-a-long-name/" * 4
COLUMNS, LINES = 110, 30


def large() -> camilla.ResponseTable:
    """80 learners with names of over 120 characters, the first one hostile, on 300 samples of 40 tasks."""
    world = camilla.simulate(80, 300, skills=4, kind="camilla_base", seed=1).table
    learners = (EVIL, *(f"{LONG}{k}" for k in range(1, 80)))
    frame = world.to_long().with_columns(
        learner=pl.col("learner").replace_strict(world.learners, learners),
        task=pl.lit("task ") + (pl.col("sample").str.extract(r"(\d+)").cast(pl.Int64) % 40).cast(pl.String),
    )
    table = camilla.ResponseTable.from_long(frame, task="task")
    return table.with_skills(world.skill_map)


def halved(table: camilla.ResponseTable) -> camilla.ResponseTable:
    """The same answers under a judge that gives half."""
    return replace(table, response=table.response / 2)


TABLE = large()
NAMES = TABLE.learners
ROUNDS = tuple(f"round {k}" for k in range(6))


def tournament() -> camilla.Tournament:
    scores = np.random.default_rng(0).normal(np.linspace(0, 3, len(NAMES))[:, None], 1, (len(NAMES), 6))
    return camilla.Tournament(NAMES, ROUNDS, scores)


def classifiers() -> Any:
    rng = np.random.default_rng(0)
    truth = np.tile([0, 0, 1], 100)
    scores = {f"{EVIL}{i}": i * truth + 3 * rng.normal(size=300) for i in range(12)}
    frame = pl.DataFrame({"data_set": np.repeat(["birds", "coins", "leaves"], 100), "truth": truth} | scores)
    return camilla.diagnose_classifiers(frame, new=[f"{EVIL}5"])


RESULTS: dict[str, Callable[[], Any]] = {
    "diagnosis": lambda: camilla.diagnose(TABLE, "irt", form="1pl", precision=1.0),
    "comparison": lambda: camilla.compare(TABLE, NAMES[0], NAMES[1]),
    "ranking": lambda: camilla.rank(TABLE),
    "judges": lambda: camilla.judges({EVIL: TABLE, LONG: TABLE, "c": halved(TABLE)}),
    "check": lambda: camilla.check(TABLE),
    "plan": lambda: camilla.power(TABLE),
    "quality": lambda: camilla.items(TABLE),
    "selection": lambda: camilla.select(TABLE, 20, repeats=1),
    "dif": lambda: camilla.dif(TABLE, {name: EVIL if k % 3 else "b" for k, name in enumerate(NAMES)}),
    "replay": lambda: camilla.replay(TABLE, splits=1, shares=(0.1,)),
    "skills": lambda: camilla.skills(TABLE, 3),
    "leaderboard": lambda: camilla.epp(tournament()),
    "tournament": tournament,
    "table": lambda: TABLE,
    "classifiers": classifiers,
}


@pytest.fixture(scope="module", params=RESULTS)
def result(request: pytest.FixtureRequest) -> Any:
    return RESULTS[request.param]()


def test_the_repr_is_at_most_a_screen(result: Any) -> None:
    lines = repr(result).split("\n")
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert "\x1b" not in repr(result)


def test_a_notebook_shows_a_table_and_obeys_no_name(result: Any) -> None:
    html = result._repr_html_()
    assert "<table>" in html or isinstance(result, type(camilla.check(TABLE)) | type(camilla.power(TABLE)))
    assert "<script" not in html
    assert "\x1b" not in html
    assert len(html) < 50_000


def test_names_that_differ_look_different_in_every_table(result: Any) -> None:
    """Rows of a table are told apart by a name; the others have numbers that may be equal."""
    if not isinstance(result, Printable):
        pytest.skip("no table of its own")
    for width in (60, 80, 110):
        shown = re.findall(r"^ +\d+ +(a-mod\S*…\S*)", result.text(width=width), re.MULTILINE)
        assert len(set(shown)) == len(shown)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["camilla", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code


def read() -> camilla.ResponseTable:
    return camilla.read("t.parquet")


COMMANDS: dict[str, tuple[tuple[str, ...], Callable[[], Any]]] = {
    "compare": (("compare", "t.parquet", "m1", "m2"), lambda: camilla.compare(read(), "m1", "m2")),
    "rank": (("rank", "t.parquet"), lambda: camilla.rank(read())),
    "check": (("check", "t.parquet", "--no-fit"), lambda: camilla.check(read())),
    "power": (("power", "t.parquet"), lambda: camilla.power(read())),
    "items": (("items", "t.parquet"), lambda: camilla.items(read())),
    "select": (("select", "t.parquet", "-n", "5"), lambda: camilla.select(read(), 5)),
    "show": (("show", "d"), lambda: camilla.Diagnosis.load("d")),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_printed_result_is_what_the_command_prints(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    world = camilla.simulate(14, 40, seed=1).table
    frame = world.to_long().with_columns(
        learner=pl.col("learner").replace_strict(world.learners, [f"m{k}" for k in range(14)])
    )
    table = camilla.ResponseTable.from_long(frame)
    table.write("t.parquet")
    camilla.diagnose(table, "irt", form="1pl", precision=1.0).save("d")
    arguments, function = COMMANDS[name]
    run(monkeypatch, *arguments)
    assert capsys.readouterr().out == f"{function()}\n"


def comparison(a: int, b: int, n: int) -> Any:
    """B wins `b` of `n` samples that A loses, and the other way round `a`."""
    right = {"A": [1] * a + [0] * b + [1] * (n - a - b), "B": [0] * a + [1] * b + [1] * (n - a - b)}
    frame = pl.DataFrame(
        [(name, f"q{j}", value) for name, values in right.items() for j, value in enumerate(values)],
        schema=["learner", "sample", "response"], orient="row",
    )  # fmt: skip
    return camilla.compare(camilla.ResponseTable.from_long(frame), "A", "B")


@pytest.mark.parametrize(
    ("lost", "won", "sentence"),
    [
        (30, 5, "B is worse: −5.0 points (95 % CI "),
        (5, 30, "B is better: +5.0 points (95 % CI "),
        (10, 10, "A and B cannot be told apart: B − A = +0.0 points (95 % CI "),
        (14, 5, "B is probably worse: −1.8 points (95 % CI −3.8 to −0.1), but 500 shared samples are too few "
                "to be sure (p = 0.064, exact McNemar test)."),
    ],
)  # fmt: skip
def test_a_comparison_begins_with_its_answer(lost: int, won: int, sentence: str) -> None:
    """14 against 5: two-sided binomial P = 2 Σ_{k≤5} C(19,k)/2¹⁹ = .0636."""
    assert str(comparison(lost, won, 500)).startswith(sentence)


OLD_SCREEN = """
import camilla
print(len(repr(camilla.diagnose(camilla.digits(), "irt", form="1pl", precision=1.0))))
"""


def test_a_diagnosis_of_the_digits_fits_a_screen() -> None:
    """Its repr once had 37,687 characters."""
    done = subprocess.run([sys.executable, "-c", OLD_SCREEN], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= COLUMNS * LINES
