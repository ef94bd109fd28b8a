"""`camilla classifiers` and `camilla skills` as a user meets them."""

import json
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import camilla


def frame() -> pl.DataFrame:
    """Twelve classifiers on four data sets; odd ones are good at the first two, even ones at the others."""
    rng = np.random.default_rng(8)
    parts = []
    for number, name in enumerate(("ale", "bread", "cheese", "dill")):
        y = (rng.random(50) < 0.4).astype(int)
        y[:2] = 0, 1
        strength = [0.5 + 0.15 * i * ((i % 2 == 1) == (number < 2)) for i in range(12)]
        columns = {f"c{i:02d}": y * strength[i] + 0.5 * rng.normal(size=50) for i in range(12)}
        parts.append(pl.DataFrame({"data_set": [name] * 50, "sample": range(50), "truth": y} | columns))
    return pl.concat(parts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame().write_csv(tmp_path / "scores.csv")
    return tmp_path


def test_scores_become_a_leaderboard_and_a_folder_that_places_others(folder: Path) -> None:
    made = camilla("classifiers", "scores.csv", "--new", "c07", "-o", "pool", "--json", cwd=folder)
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    assert len(told["leaderboard"]) == 11
    assert {"r2", "r2_within", "doa", "doc", "ceiling", "borda", "random", "doa_star"} <= set(
        told["agreement"]
    )
    assert "'C0', 'C1', 'BC' alone" in made.stderr
    assert [row["learner"] for row in told["placed"]] == ["c07"]
    frame().select("data_set", "sample", "truth", "c07").write_parquet(folder / "new.parquet")
    placed = camilla("classifiers", "new.parquet", "--among", "pool", "--json", cwd=folder)
    assert json.loads(placed.stdout)["placed_skills"] == told["placed_skills"]
    shown = camilla("show", "pool/diagnosis", "--learner", "c03", cwd=folder)
    assert "EQ" in shown.stdout


def test_skills_are_found_in_the_responses_and_used(folder: Path) -> None:
    """The data sets fall in two by who is good at them, and so do the skills that are found."""
    camilla("classifiers", "scores.csv", "--with", "skill-vanilla", "-o", "pool", cwd=folder)
    found = camilla(
        "skills", "pool/responses.parquet", "--task", "task", "--by", "task", "--number", 2, "-o", "two.csv",
        cwd=folder,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert set(pl.read_csv(folder / "two.csv").columns[1:]) == {"ale, bread", "cheese, dill"}
    assert "evaluated on the other 6" in found.stdout
    used = camilla(
        "classifiers", "scores.csv", "--skills", "two.csv", "--with", "mirt:use_skills=true", cwd=folder
    )
    assert used.returncode == 0, used.stderr
    assert "ale, bread" in used.stdout
    assert "alone" not in used.stderr


BAD = {
    "one class": ({"truth": pl.lit(1)}, "data set 'ale'", "both classes"),
    "infinite score": ({"c02": pl.lit(np.inf)}, "c02", "finite"),
    "a hole": (
        {"c02": pl.when(pl.col("sample") < 40).then("c02")},
        "'c02' has no score for 10 of 50",
        "all of a data set",
    ),
    "a word": ({"c02": pl.lit("high")}, "'high'", "must be a finite number"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_scores_are_one_message(case: str, tmp_path: Path) -> None:
    change, *said = BAD[case]
    frame().with_columns(**change).write_csv(tmp_path / "scores.csv")
    refused(camilla("classifiers", "scores.csv", "-o", "out", cwd=tmp_path), said, tmp_path)


def refused(ran: subprocess.CompletedProcess[str], said: list[str], folder: Path, code: int = 1) -> None:
    assert ran.returncode == code, ran.stderr
    assert "Traceback" not in ran.stderr
    assert all(words in ran.stderr for words in said), ran.stderr
    assert ran.stdout == ""
    assert not (folder / "out").exists()


def test_a_cyclic_graph_and_a_skill_without_samples_are_said(folder: Path) -> None:
    (folder / "cycle.csv").write_text("parent,child\nC0,S0\nS0,EQ\nEQ,C0\n")
    ran = camilla("classifiers", "scores.csv", "--skill-graph", "cycle.csv", "-o", "out", cwd=folder)
    refused(ran, ["cycle.csv", "'EQ'"], folder)
    rows = "".join(f"{name},1,0\n" for name in ("ale", "bread", "cheese", "dill"))
    (folder / "idle.csv").write_text("data_set,taste,smell\n" + rows)
    ran = camilla("classifiers", "scores.csv", "--skills", "idle.csv", "-o", "out", cwd=folder)
    refused(ran, ["'smell'", "idle.csv"], folder)


def test_words_nobody_knows_exit_with_2(folder: Path) -> None:
    for words in (["--rule", "best"], ["--ks", "both"], ["--new", "c99"], ["--with", "oracle"]):
        refused(camilla("classifiers", "scores.csv", *words, "-o", "out", cwd=folder), [words[1]], folder, 2)
