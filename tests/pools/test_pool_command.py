"""`camilla pool` as a user meets it."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import typer

import command_line
from camilla.cli.main import main
from camilla.cli.pool import app

HERE = Path(__file__).parent
PAGE = Path(__file__).parents[2] / "docs/commands/pool.md"


def camilla(*words: object, cwd: Path = HERE) -> "subprocess.CompletedProcess[str]":
    return command_line.camilla("pool", *words, cwd=cwd)


def test_every_option_of_every_pool_is_on_the_page() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(commands) == {"classifiers", "titanic", "diamond", "esol"}
    page = PAGE.read_text(encoding="utf-8")
    options = {
        option
        for command in commands.values()
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.name not in ("help", "quiet")
        for option in parameter.opts
    }
    assert [option for option in options if f"`{option}`" not in page] == []


def test_own_classifiers_run_and_failures_are_told(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.write_csv(tmp_path / "small.csv")
    out = tmp_path / "pool"
    run = camilla(
        "classifiers", tmp_path / "small.csv", "-o", out, "--learners", "pool_learners:MINE", "--jobs", 1
    )
    assert run.returncode == 0, run.stderr
    assert "failed: refuses on small: ValueError: no luck today" in run.stderr
    scores = pl.read_parquet(out / "scores.parquet")
    assert scores.columns == ["data_set", "sample", "truth", "centroids", "refuses"]
    assert scores["truth"].sum() == (frame["class"] == "ill").sum()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--target", "clas"], 1, "there is no column 'clas'. Did you mean 'class'?"),
        (["--learners", "pool_learners:NONE"], 2, "has no 'NONE'"),
        (["--family", "forest"], 2, "the pool has no family 'forest'"),
        (["--backend", "cloud", "--family", "artificial"], 2, "joblib has no backend 'cloud'"),
        (["--holdout", "2", "--family", "artificial"], 2, "the share held out lies between 0 and 1"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_cannot_be_run_ends_in_one_message(
    words: list[str], code: int, said: str, frame: pl.DataFrame, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    frame.write_csv(tmp_path / "small.csv")
    table, out = str(tmp_path / "small.csv"), str(tmp_path / "out")
    monkeypatch.setattr(sys, "argv", ["camilla", "pool", "classifiers", table, "-o", out, *words])
    monkeypatch.chdir(HERE)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == code
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.startswith("error: ") or "\nerror: " in printed


@pytest.mark.slow
def test_a_ray_cluster_gives_the_same_scores(frame: pl.DataFrame, tmp_path: Path) -> None:
    """A real cluster on this machine, started and ended by the command itself."""
    pytest.importorskip("ray", reason="ray is not installed; pip install 'camilla[cluster]'")
    frame.write_csv(tmp_path / "small.csv")
    for backend in ("loky", "ray"):
        run = camilla(
            "classifiers", tmp_path / "small.csv", "-o", tmp_path / backend, "--family", "decision_tree",
            "--backend", backend, "--jobs", 2,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
    assert (tmp_path / "ray/scores.parquet").read_bytes() == (tmp_path / "loky/scores.parquet").read_bytes()
