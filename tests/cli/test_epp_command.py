"""`camilla epp` as a user runs it: real files, real exit codes, nothing but the result on stdout."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import command_line
from camilla.cli.main import main


@pytest.fixture
def here(monkeypatch, capsys):
    """The same entry point in this process: saves the interpreter's start for every case."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["camilla", "epp", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code or 0, printed.out, printed.err)

    return run


def camilla(*arguments):
    return command_line.camilla("epp", *arguments, cwd=Path.cwd())


@pytest.fixture
def scores(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"model": f"m{i}", "split": k, "auc": 0.1 * i + rng.normal()} for i in range(5) for k in range(30)
    ]
    path = tmp_path / "scores.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


COLUMNS = ("--player", "model", "--round", "split", "--score", "auc")


def test_json_holds_what_the_documentation_lists(scores):
    run = camilla(scores, *COLUMNS, "--test", "m4", "m0", "--json")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert list(document["players"][0]) == [
        "player",
        "epp",
        "se",
        "low",
        "high",
        "rank_low",
        "rank_high",
        "likely_low",
        "likely_high",
        "p_beats_average",
    ]
    assert {"deviance", "df", "p_value", "tests"} <= set(document)
    assert document["tests"][0]["player_a"] == "m4"
    assert document["df"] == 6
    assert run.stderr == ""


def test_the_table_names_every_player_and_the_fit(scores, here):
    run = here(scores, *COLUMNS)
    assert run.returncode == 0, run.stderr
    assert all(f"m{i}" in run.stdout for i in range(5))
    assert "deviance" in run.stdout


def test_a_folder_gets_tables_and_pictures(scores, tmp_path, here):
    run = here(scores, *COLUMNS, "-o", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"leaderboard.json", "players.parquet", "matches.parquet", "ranking.png", "fit.png"} <= names
    assert "written to" in run.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_several_tournaments_are_ranked_apart_and_compared(scores, tmp_path, here):
    frame = pl.read_csv(scores)
    both = pl.concat([frame.with_columns(data=pl.lit("d/1")), frame.with_columns(data=pl.lit("d/2"))])
    path = tmp_path / "both.parquet"
    both.write_parquet(path)
    run = here(path, *COLUMNS, "--tournament", "data", "--json", "-o", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert list(document["tournaments"]) == ["d/1", "d/2"]
    assert len(document["comparison"]) == 2
    assert (tmp_path / "out" / "d_1" / "leaderboard.json").exists()


def test_names_from_data_are_printed_as_text_never_obeyed(tmp_path, here):
    path = tmp_path / "scores.csv"
    rng = np.random.default_rng(1)
    names = ["[bold red]x[/]", "a\x1b[2Jb", "line\nbreak"]
    pl.DataFrame(
        [{"player": name, "round": k, "score": rng.normal()} for name in names for k in range(20)]
    ).write_csv(path)
    run = here(path)
    assert run.returncode == 0, run.stderr
    assert "[bold red]x[/]" in run.stdout
    assert "\x1b" not in run.stdout
    assert "a\\x1b[2Jb" in run.stdout


def write(path, frame):
    frame.write_csv(path)
    return path


@pytest.mark.parametrize(
    ("change", "options", "code", "message"),
    [
        (lambda f: f, (*COLUMNS, "--test", "m1", "nobody"), 1, "no player 'nobody'"),
        (
            lambda f: f.rename({"auc": "rmse"}),
            ("--player", "model", "--round", "split", "--score", "rmse"),
            2,
            "rmse",
        ),
        (
            lambda f: f.rename({"auc": "mae"}),
            ("--player", "model", "--round", "split", "--score", "mae"),
            2,
            "mae",
        ),
        (
            lambda f: f.rename({"auc": "error"}),
            ("--player", "model", "--round", "split", "--score", "error"),
            2,
            "error",
        ),
        (
            lambda f: f.rename({"auc": "loss"}),
            ("--player", "model", "--round", "split", "--score", "loss"),
            2,
            "loss",
        ),
        (lambda f: f.with_columns(auc=0.5), COLUMNS, 1, "are ties"),
        (lambda f: f.filter(pl.col("model") == "m1"), COLUMNS, 1, "one player, 'm1'"),
        (lambda f: pl.concat([f, f.head(1)]), COLUMNS, 1, "player 'm0' has 2 scores in round '0'"),
        (lambda f: f, (), 1, "which column is the player?"),
        (lambda f: f, (*COLUMNS, "--se", "magic"), 2, "se 'magic'"),
        (lambda f: f, (*COLUMNS, "--replicates", "50"), 2, "does nothing without --se bootstrap"),
        (lambda f: f, (*COLUMNS, "--average-metrics"), 2, "does nothing with a long table, as which"),
        (
            lambda f: f,
            ("--player", "model", "--tournament", "split"),
            2,
            "--tournament does nothing with a wide",
        ),
        (lambda f: f, (*COLUMNS, "--matches", "some"), 2, "matches 'some'"),
    ],
)
def test_bad_input_ends_in_one_message_and_no_traceback(
    scores, tmp_path, here, change, options, code, message
):
    path = write(tmp_path / "bad.csv", change(pl.read_csv(scores)))
    run = here(path, *options, "-o", tmp_path / "out")
    assert run.returncode == code
    assert run.stderr.startswith("error: ")
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""
    assert not (tmp_path / "out").exists()


def test_one_round_prints_a_ranking_and_refuses_intervals_with_the_reason(scores, tmp_path, here):
    path = write(tmp_path / "one.csv", pl.read_csv(scores).filter(pl.col("split") == 0))
    run = here(path, *COLUMNS, "--json")
    document = json.loads(run.stdout)
    assert [row["se"] for row in document["players"]] == [None] * 5
    assert any("Intervals are refused: there is one round" in note for note in document["notes"])
    tested = here(path, *COLUMNS, "--test", "m1", "m2")
    assert tested.returncode == 1
    assert "one round" in tested.stderr


def test_a_missing_file_is_said(tmp_path, here):
    run = here(tmp_path / "nowhere.csv")
    assert run.returncode == 1
    assert "no such file" in run.stderr


@pytest.mark.parametrize(
    ("file", "options", "n_players", "first"),
    [
        ("vtab/vtab_leaderboard_epp.csv", ("--player", "Model", "--ignore", "Mean"), 16, "Sup-Rotation-100%"),
        (
            "mementoml/eloml_auc_scores.csv",
            ("--player", "model", "--round", "split", "--score", "auc", "--matches", "all_rounds"),
            80,
            "ranger_9",
        ),
        (
            "superglue/superglue_leaderboard_2021_voteandrank.csv",
            (
                "--player",
                "model",
                "--ignore",
                "rank",
                "--ignore",
                "team",
                "--ignore",
                "score",
                "--average-metrics",
            ),
            24,
            "ERNIE 3.0",
        ),
        ("llmfao/llmfao_pairwise.parquet", (), 59, "GPT 4"),
    ],
)
def test_public_benchmarks_run_from_one_command(data_folder, file, options, n_players, first, here):
    run = here(data_folder / file, *options, "--json")
    assert run.returncode == 0, run.stderr
    players = json.loads(run.stdout)["players"]
    assert len(players) == n_players
    assert players[0]["player"] == first


def test_llmfao_equals_a_textbook_bradley_terry(data_folder, here):
    """Hunter's (2004) minorisation on 8,931 votes, ties one half, until nothing moves by 1e-12."""
    run = here(data_folder / "llmfao/llmfao_pairwise.parquet", "--json")
    ours = {row["player"]: row["epp"] for row in json.loads(run.stdout)["players"]}
    votes = pl.read_parquet(data_folder / "llmfao/llmfao_pairwise.parquet")
    names = sorted(ours)
    place = {name: i for i, name in enumerate(names)}
    wins = np.zeros((59, 59))
    for left, right, winner in votes.select("left", "right", "winner").iter_rows():
        share = {"left": 1.0, "right": 0.0, "tie": 0.5}[winner]
        wins[place[left], place[right]] += share
        wins[place[right], place[left]] += 1 - share
    strength = np.ones(59)
    for _ in range(20_000):
        before = strength
        strength = wins.sum(axis=1) / ((wins + wins.T) / (before[:, None] + before[None, :])).sum(axis=1)
        strength /= np.exp(np.log(strength).mean())
        if np.abs(np.log(strength / before)).max() < 1e-12:
            break
    np.testing.assert_allclose([ours[name] for name in names], np.log(strength), atol=1e-6)


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from camilla.cli.main import app; "
        "print([m for m in ('numpy', 'scipy', 'polars', 'jax', 'matplotlib') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_documented_session_is_what_is_printed(tmp_path, here, monkeypatch):
    page = (Path(__file__).parents[2] / "docs/commands/epp.md").read_text()
    _, table, session = page.split("```console\n", 1)[1].split("```", 1)[0].split("$ ")
    monkeypatch.chdir(tmp_path)
    command, table = table.split("\n", 1)
    assert command == "cat scores.csv"
    Path("scores.csv").write_text(table)
    command, printed = session.split("\n", 1)
    run = here(*command.split()[2:])
    assert run.stdout == printed


def test_plans_friedman_and_elo_are_printed_and_in_json(scores, here):
    run = here(scores, *COLUMNS, "--plan", "0.5", "--friedman", "--elo")
    assert "Plan: " in run.stdout
    assert "Friedman over " in run.stdout
    assert "Elo" in run.stdout
    document = json.loads(here(scores, *COLUMNS, "--plan", "0.5", "--friedman", "--elo", "--json").stdout)
    for row in document["players"]:
        for points, strength in (("elo", "epp"), ("elo_low", "low"), ("elo_high", "high")):
            assert row[points] == pytest.approx(1500 + 400 / np.log(10) * row[strength])
    assert document["plan"]["low"] <= document["plan"]["needed"] <= document["plan"]["high"]
    assert set(document["friedman"]["mean_rank"]) == {row["player"] for row in document["players"]}
    assert sum(document["friedman"]["mean_rank"].values()) == pytest.approx(
        len(document["players"]) * (len(document["players"]) + 1) / 2
    )


def test_members_of_teams_are_ranked(tmp_path, here):
    (tmp_path / "teams.csv").write_text(
        "player,r1,r2,r3,r4,r5\nab,1,5,3,2,4\nbc,2,1,5,3,3\nac,3,4,1,4,5\na,4,2,2,5,1\n"
    )
    rows = [f"{team},{member}\n" for team in ("ab", "bc", "ac", "a") for member in team]
    (tmp_path / "members.csv").write_text("team,member\n" + "".join(rows))
    run = here(tmp_path / "teams.csv", "--teams", tmp_path / "members.csv")
    assert "Members of teams by EPP" in run.stdout


def test_options_that_would_do_nothing_are_refused(scores, here):
    run = here(scores, *COLUMNS, "--picture", "m0")
    assert "--picture does nothing without -o" in run.stderr
    run = here(scores, *COLUMNS, "--search", "5")
    assert "no algorithm has 20 configurations" in run.stderr
