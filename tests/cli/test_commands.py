"""The command line as a user meets it: real processes, real files."""

import json
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import camilla


def world() -> np.ndarray:
    rng = np.random.default_rng(1)
    p = 1 / (1 + np.exp(-(rng.normal(size=(12, 1)) - rng.normal(size=30))))
    return (rng.random((12, 30)) < p).astype(int)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """long.csv, wide.csv (rows are samples), skills.csv and new.csv (one learner)."""
    matrix = world()
    rows = [(f"m{i}", f"q{j}", matrix[i, j]) for i in range(12) for j in range(30)]
    pl.DataFrame(rows, schema=["learner", "sample", "response"], orient="row").write_csv(
        tmp_path / "long.csv"
    )
    wide = pl.DataFrame({"sample": [f"q{j}" for j in range(30)], **{f"m{i}": matrix[i] for i in range(12)}})
    wide.write_csv(tmp_path / "wide.csv")
    skills = {"sample": [f"q{j}" for j in range(30)], "even": [int(j % 2 == 0) for j in range(30)]}
    pl.DataFrame(skills | {"odd": [j % 2 for j in range(30)]}).write_csv(tmp_path / "skills.csv")
    new = [("fresh", f"q{j}", int(j % 3 > 0)) for j in range(30)] + [("fresh", "unheard", 1)]
    pl.DataFrame(new, schema=["learner", "sample", "response"], orient="row").write_csv(tmp_path / "new.csv")
    return tmp_path


def test_diagnose_show_predict_and_place_tell_one_story(folder: Path) -> None:
    made = camilla("diagnose", "long.csv", "-o", "out", "--json", cwd=folder)
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    shown = json.loads(camilla("show", "out", "--json", cwd=folder).stdout)
    assert shown == told
    assert {"learner", "rank", "ability", "se", "low", "high", "accuracy"} <= set(shown["learners"][0])
    assert {"sample", "difficulty", "discrimination", "difficulty_low", "difficulty_high"} <= set(
        shown["samples"][0]
    )
    accuracy = {row["learner"]: row["accuracy"] for row in shown["learners"]}
    assert accuracy["m3"] == pytest.approx(world()[3].mean())
    predicted = json.loads(camilla("predict", "out", "--learner", "m3", "--json", cwd=folder).stdout)[
        "predictions"
    ]
    assert len(predicted) == 30
    assert all(0 < row["low"] < row["probability"] < row["high"] < 1 for row in predicted)
    placed = json.loads(camilla("place", "out", "new.csv", "--json", cwd=folder).stdout)
    assert placed["learners"][0]["n_unknown"] == 1
    assert placed["learners"][0]["accuracy"] == pytest.approx(20 / 30)


def test_wide_tables_say_which_way_they_lie(folder: Path) -> None:
    wide = camilla("diagnose", "wide.csv", "--rows", "samples", "-o", "out", "--json", cwd=folder)
    long = camilla("diagnose", "long.csv", "-o", "other", "--json", cwd=folder)
    assert json.loads(wide.stdout)["learners"] == json.loads(long.stdout)["learners"]
    silent = camilla("diagnose", "wide.csv", "-o", "third", cwd=folder)
    assert (silent.returncode, (folder / "third").exists()) == (1, False)
    assert "--rows" in silent.stderr


def test_an_experiment_reports_every_score_of_every_seed_and_keeps_them(folder: Path) -> None:
    words = ["experiment", "reliability", "long.csv", "--with", "vanilla,irt:precision=3", "--seeds", "1,2"]
    ran = camilla(*words, "--jobs", "1", "-o", "results.parquet", "--json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    found = {(row["diagnoser"], row["seed"], row["score"]) for row in document["results"]}
    assert found == {
        (diagnoser, seed, score)
        for diagnoser in ("vanilla", "irt:precision=3")
        for seed in (1, 2)
        for score in ("acc", "f1", "auc", "rmse", "mae", "log_loss")
    }
    assert {row["table"] for row in document["results"]} == {"long"}
    printed = camilla(*words, "-o", "results.parquet", cwd=folder)
    assert "12 rows" not in printed.stderr
    assert "results.parquet contains 48 rows, 24 of them from this run." in printed.stdout
    other = camilla("experiment", "assumptions", "long.csv", cwd=folder)
    assert "how alike two learners are" in other.stdout


def test_samples_numbered_within_tasks_are_read_by_every_command(folder: Path) -> None:
    """Two tasks of 15 samples, 0 to 14 each, as HELM Lite's table numbers its scenarios."""
    wide = pl.read_csv(folder / "wide.csv").drop("sample")
    place = pl.int_range(pl.len())
    numbered = wide.with_columns(topic=pl.when(place < 15).then(pl.lit("a")).otherwise(pl.lit("b")))
    numbered.select((place % 15).alias("item"), "topic", *wide.columns).write_csv(folder / "numbered.csv")
    words = ["--rows", "samples", "--skills", ":topic", "-o", "out"]
    refused = camilla("diagnose", "numbered.csv", *words, cwd=folder)
    assert refused.returncode == 1
    assert "column 'item' names line 2 and line 17 both '0'" in refused.stderr
    assert "--task" in refused.stderr

    laid_out = ["numbered.csv", "--rows", "samples", "--task", "topic"]
    told = camilla("diagnose", *laid_out, "--skills", ":topic", "--json", "-o", "out", cwd=folder)
    samples = json.loads(told.stdout)["samples"]
    assert [one["sample"] for one in samples] == [f"{task}/{item}" for task in "ab" for item in range(15)]
    placed = json.loads(camilla("place", "out", *laid_out, "--json", cwd=folder).stdout)["learners"]
    assert {one["n_unknown"] for one in placed} == {0}
    words = ["experiment", "reliability", *laid_out, "--skills", ":topic", "--with", "skill-vanilla"]
    assert camilla(*words, "--seeds", "1", cwd=folder).returncode == 0
    assert camilla("power", *laid_out[:1], "m0", "m1", *laid_out[1:], cwd=folder).returncode == 0


def test_skills_from_a_file_and_one_learner_by_skill(folder: Path) -> None:
    made = camilla(
        "diagnose", "long.csv", "--skills", "skills.csv", "--with", "camilla-base", "-o", "out", cwd=folder
    )
    assert made.returncode == 0, made.stderr
    shown = camilla("show", "out", "--learner", "m0", cwd=folder)
    assert "even" in shown.stdout
    assert "odd" in shown.stdout


def rewritten(folder: Path, *lines: str) -> None:
    (folder / "bad.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


BAD_TABLES = {
    "empty file": ([""], "empty"),
    "header only": (["learner,sample,response"], "no rows"),
    "no such column": (["learner,item_name,score", "a,b,1"], "response"),
    "above one": (["learner,sample,response", "a,x,0", "a,y,1.2", "b,x,1"], "line 3"),
    "a word": (["learner,sample,response", "a,x,0", "a,y,1", "b,x,yes"], "line 4"),
    "NaN": (["learner,sample,response", "a,x,0", "a,y,NaN", "b,x,1"], "line 3"),
    "one learner": (["learner,sample,response", "a,x,0", "a,y,1"], "one learner"),
    "one sample": (["learner,sample,response", "a,x,0", "b,x,1"], "one sample"),
    "constant response": (
        ["learner,sample,response", "a,x,1", "a,y,1", "b,x,1", "b,y,1"],
        "every one of the 4",
    ),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_one_message_and_nothing_is_written(case: str, tmp_path: Path) -> None:
    lines, said = BAD_TABLES[case]
    (tmp_path / "bad.csv").write_text("\n".join(lines) + "\n" if lines != [""] else "", encoding="utf-8")
    refused(camilla("diagnose", "bad.csv", "-o", "out", cwd=tmp_path), said, tmp_path)


def refused(ran: subprocess.CompletedProcess[str], said: str, folder: Path) -> None:
    assert ran.returncode == 1, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "error: " in ran.stderr
    assert said in ran.stderr
    assert ran.stdout == ""
    assert not (folder / "out").exists()


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    refused(camilla("diagnose", "nowhere.csv", "-o", "out", cwd=tmp_path), "no such file", tmp_path)


def test_a_learner_twice_in_a_wide_header_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("sample,a,a\nx,1,0\ny,0,1\n")
    refused(camilla("diagnose", "bad.csv", "--rows", "samples", "-o", "out", cwd=tmp_path), "'a'", tmp_path)


def test_ten_megabytes_of_noise_are_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "noise.parquet").write_bytes(np.random.default_rng(0).bytes(10_000_000))
    refused(camilla("diagnose", "noise.parquet", "-o", "out", cwd=tmp_path), "noise.parquet", tmp_path)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["sample,even,odd", "q0,1,0"], "q1"),
        (["sample,even,odd", *(f"q{j},{int(j % 2 == 0)},{j % 2 if j != 7 else 0}" for j in range(30))], "q7"),
        (["sample,even,odd", *(f"q{j},{2 if j == 4 else 1},0" for j in range(30))], "even"),
    ],
    ids=["misses samples", "all-zero row", "a two"],
)
def test_a_bad_skill_map_is_said(folder: Path, lines: list[str], said: str) -> None:
    rewritten(folder, *lines)
    ran = camilla(
        "diagnose", "long.csv", "--skills", "bad.csv", "--with", "camilla-base", "-o", "out", cwd=folder
    )
    refused(ran, said, folder)


def test_names_with_spaces_quotes_newlines_emoji_and_markup_are_just_names(tmp_path: Path) -> None:
    names = [
        'a "quoted" one',
        "line\nbreak",
        "🦊 fox",
        "[bold]markup[/bold]",
        "<script>alert(1)</script>",
        "\x1b[31mred",
    ]
    matrix = world()
    rows = [(names[i], f"q {j}", int(matrix[i, j])) for i in range(6) for j in range(30)]
    pl.DataFrame(rows, schema=["learner", "sample", "response"], orient="row").write_csv(tmp_path / "t.csv")
    ran = camilla("diagnose", "t.csv", "-o", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "\x1b[31m" not in ran.stdout
    assert "[bold]markup[/bold]" in ran.stdout
    assert "line\\nbreak" in ran.stdout
    told = json.loads(camilla("show", "out", "--json", cwd=tmp_path).stdout)
    assert {row["learner"] for row in told["learners"]} == set(names)


@pytest.mark.parametrize(
    "arguments",
    [
        ["diagnose", "long.csv", "-o", "out", "--with", "oracle"],
        ["diagnose", "long.csv", "-o", "out", "--with", "irt:colour=blue"],
        ["diagnose", "long.csv", "-o", "out", "--with", "irt:precision=abc"],
        ["diagnose", "long.csv", "-o", "out", "--with", "irt:precision=-1"],
        ["diagnose", "long.csv", "-o", "out", "--with", "irt:form=4pl"],
        ["diagnose", "long.csv", "-o", "out", "--with", "mirt:dimensions=2.5"],
        ["diagnose", "long.csv", "-o", "out", "--with", "camilla:training=5"],
        ["diagnose", "long.csv", "-o", "out", "--rows", "columns"],
        ["experiment", "reliability", "long.csv", "--seeds", "one"],
        ["experiment", "dance", "long.csv"],
        ["experiment", "rank-stability", "long.csv", "--sizes", "1000"],
        ["diagnose", "long.csv"],
        ["predict", "made", "-o", "predictions.xlsx"],
        ["report", "made", "-o", "page.pdf"],
        ["unheard-of"],
    ],
)
def test_a_wrong_word_on_the_command_line_exits_2(folder: Path, arguments: list[str]) -> None:
    ran = camilla(*arguments, cwd=folder)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert not (folder / "out").exists()


def test_a_diagnoser_without_its_skill_map_says_so(folder: Path) -> None:
    refused(
        camilla("diagnose", "long.csv", "--with", "camilla-base", "-o", "out", cwd=folder), "--skills", folder
    )


def test_unknown_names_are_met_with_the_nearest(folder: Path) -> None:
    camilla("diagnose", "long.csv", "-o", "made", cwd=folder)
    for arguments in (["show", "made", "--learner", "m33"], ["predict", "made", "--sample", "q333"]):
        ran = camilla(*arguments, cwd=folder)
        assert ran.returncode == 1
        assert "no " in ran.stderr
        assert "Traceback" not in ran.stderr
