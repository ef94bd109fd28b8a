"""Several tournaments in one file: what is wrong with one does not keep the others from being ranked."""

import json

import numpy as np
import polars as pl
import pytest

import command_line
from camilla.errors import DataError, SettingError
from camilla.ranking.epp import epp, epp_each
from camilla.reading.tournaments import Columns, read_tournaments, usable_tournaments

DATA = Columns(tournament="data")


def rows(data, players=("a", "b", "c"), n_rounds=8, seed=0):
    rng = np.random.default_rng(seed)
    return [
        {"data": data, "player": player, "round": str(k), "score": f"{rng.normal():.6f}"}
        for player in players
        for k in range(n_rounds)
    ]


def changed(part, player, score):
    return [row | {"score": score} if row["player"] == player else row for row in part]


BAD = {
    "absent": changed(rows("absent"), "b", ""),
    "typo": changed(rows("typo"), "c", "na")[:-1],
    "alone": rows("alone", players=("a",)),
    "tied": [row | {"score": "0.5"} for row in rows("tied")],
    "twice": rows("twice") + rows("twice")[:1],
}
REASONS = {
    "absent": "players 'b' have no score in any round",
    "typo": "line {line}, column 'score' has 'na'",
    "alone": "one player, 'a'",
    "tied": "matches are ties",
    "twice": "player 'a' has 2 scores in round '0'",
}


@pytest.fixture
def mixed(tmp_path):
    """good, then the bad ones, then also good."""
    parts = [rows("good"), *BAD.values(), rows("also good", seed=1)]
    path = tmp_path / "mixed.csv"
    pl.DataFrame([row for part in parts for row in part]).write_csv(path)
    return path


def camilla(path, *arguments):
    return command_line.camilla("epp", path, *arguments, cwd=path.parent)


def test_good_tournaments_are_ranked_and_bad_ones_named_with_their_problem(mixed, tmp_path):
    run = camilla(mixed, "--tournament", "data", "--json", "-o", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert list(document["tournaments"]) == ["good", "also good"]
    assert set(document["problems"]) == set(BAD)
    lines = [line for line in run.stderr.splitlines() if line.startswith("warning: ")]
    first_typo = 2 + 24 + 24 + 16  # header, good, absent, two players of typo
    for name, reason in REASONS.items():
        (line,) = [
            line for line in lines if line.startswith(f"warning: tournament {name!r} cannot be ranked")
        ]
        assert reason.format(line=first_typo) in line
        assert "mixed.csv" in line or name in ("absent", "tied")
    assert sorted(place.name for place in (tmp_path / "out").iterdir() if place.is_dir()) == [
        "also_good",
        "good",
    ]


def test_a_ranked_tournament_is_the_same_as_alone(mixed, tmp_path):
    alone = tmp_path / "alone.csv"
    pl.DataFrame(rows("also good", seed=1)).write_csv(alone)
    found = epp_each(usable_tournaments(mixed, DATA).usable)
    board = epp(read_tournaments(alone, DATA)["also good"])
    assert found.boards["also good"].players == board.players
    np.testing.assert_array_equal(found.boards["also good"].epp, board.epp)


def test_none_that_can_be_ranked_is_an_error(tmp_path):
    path = tmp_path / "bad.csv"
    pl.DataFrame(BAD["absent"] + BAD["tied"]).write_csv(path)
    run = camilla(path, "--tournament", "data")
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.startswith("error: none of the 2 tournaments can be ranked.\n")
    assert "players 'b' have no score" in run.stderr
    assert "are ties" in run.stderr


def test_many_bad_tournaments_do_not_flood_the_screen(tmp_path):
    path = tmp_path / "many.csv"
    parts = [rows(f"t{k}", players=("a",)) for k in range(50)]
    pl.DataFrame([row for part in [rows("good"), *parts] for row in part]).write_csv(path)
    run = camilla(path, "--tournament", "data")
    assert run.returncode == 0
    assert len(run.stderr.splitlines()) == 11
    assert run.stderr.splitlines()[-1] == "warning: 40 more tournaments cannot be ranked."


def test_python_is_told_of_the_first_problem_unless_it_asks_for_the_rest(mixed):
    with pytest.raises(DataError, match=r"tournament 'typo': .*line 66.* 2 more cannot be used: 'alone'"):
        read_tournaments(mixed, DATA)
    found = usable_tournaments(mixed, DATA)
    assert list(found.usable) == ["good", "absent", "tied", "also good"]
    assert list(epp_each(found.usable).problems) == ["absent", "tied"]


def test_a_setting_that_does_not_fit_is_still_an_error(mixed):
    with pytest.raises(SettingError, match="se 'magic'"):
        epp_each(usable_tournaments(mixed, DATA).usable, se="magic")


def test_a_test_of_players_who_met_in_some_tournaments_only(tmp_path):
    path = tmp_path / "two.csv"
    pl.DataFrame(rows("d1") + rows("d2", players=("a", "c", "x"))).write_csv(path)
    run = camilla(path, "--tournament", "data", "--test", "a", "b", "--json")
    assert run.returncode == 0, run.stderr
    tests = {name: one["tests"] for name, one in json.loads(run.stdout)["tournaments"].items()}
    assert [len(tests[name]) for name in ("d1", "d2")] == [1, 0]
    assert "warning: tournament 'd2' has no test: there is no player 'b'" in run.stderr
    nowhere = camilla(path, "--tournament", "data", "--test", "a", "z")
    assert nowhere.returncode == 1
    assert "no player 'z'" in nowhere.stderr


def test_missing_is_an_option_of_the_command(tmp_path):
    path = tmp_path / "na.csv"
    path.write_text("player,1,2,3,4\na,1,5,na,2\nb,2,4,1,1\nc,0,na,5,1\n")
    refused = camilla(path)
    assert refused.returncode == 1
    assert "na.csv: a score must be a finite number; line 4, column '2' has 'na'" in refused.stderr
    assert "--missing 'na'" in refused.stderr
    empty = tmp_path / "empty.csv"
    empty.write_text(path.read_text().replace("na", ""))
    assert camilla(path, "--missing", "na").stdout == camilla(empty).stdout
    idle = tmp_path / "matches.csv"
    idle.write_text("player_a,player_b,winner\na,b,a\n")
    said = camilla(idle, "--missing", "na")
    assert said.returncode == 2
    assert "--missing does nothing with a list of matches" in said.stderr


def test_a_player_who_failed_everywhere_in_a_tournament_lost_it_where_failures_are_losses(tmp_path):
    """As in the AutoML benchmark: a framework that crashes on a data set has no score there at all."""
    part = changed(rows("crashed"), "b", "")
    path = tmp_path / "crashed.csv"
    pl.DataFrame([*rows("good"), *part]).write_csv(path)
    boards = {}
    for failed in ("not_played", "lost", "impute=c"):
        run = camilla(path, "--tournament", "data", "--failed", failed, "--json")
        assert run.returncode == 0, run.stderr
        boards[failed] = json.loads(run.stdout)
    assert boards["not_played"]["problems"]["crashed"].startswith("players 'b' have no score in any round")
    assert "--failed lost" in boards["not_played"]["problems"]["crashed"]
    lost = boards["lost"]["tournaments"]["crashed"]["players"]
    assert [row["player"] for row in lost][-1] == "b"
    imputed = {row["player"]: row["epp"] for row in boards["impute=c"]["tournaments"]["crashed"]["players"]}
    assert imputed["b"] == pytest.approx(imputed["c"], abs=1e-6)


def test_what_the_fit_takes_for_independent_is_named(tmp_path):
    """Rounds, or their clusters: the comparison of tournaments and the line of each board."""
    path = tmp_path / "folds.csv"
    table = [row | {"cluster": f"task {int(row['round']) % 4}"} for name in ("x", "y") for row in rows(name)]
    pl.DataFrame(table).write_csv(path)
    by_rounds = camilla(path, "--tournament", "data").stdout
    by_clusters = camilla(path, "--tournament", "data", "--cluster", "cluster").stdout
    assert "p by rounds" in by_rounds
    assert " by rounds." in by_rounds
    assert "p by clusters" in by_clusters
    assert " by clusters." in by_clusters
    assert "by rounds" not in by_clusters
