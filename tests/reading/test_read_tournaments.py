"""A file's shape is found from its columns, or asked for."""

import polars as pl
import pytest

from camilla.errors import DataError
from camilla.reading.tournaments import Columns, read_tournaments


def written(folder, **columns):
    path = folder / "table.csv"
    pl.DataFrame(columns).write_csv(path)
    return path


def test_player_round_score_is_long(tmp_path):
    path = written(tmp_path, player=["x", "y"], round=[1, 1], score=[0.1, 0.2])
    assert read_tournaments(path)[""].scores.shape == (2, 1)


def test_anything_else_with_a_player_is_wide(tmp_path):
    path = written(tmp_path, player=["x", "y"], t1=[1, 2], t2=[3, 4])
    assert read_tournaments(path)[""].rounds == ("t1", "t2")


@pytest.mark.parametrize("pair", [("player_a", "player_b"), ("model_a", "model_b"), ("left", "right")])
def test_two_players_and_a_winner_are_matches(tmp_path, pair):
    path = written(tmp_path, **{pair[0]: ["x"], pair[1]: ["y"], "winner": ["tie"]})
    found = read_tournaments(path)[""]
    assert found.matches.outcome.tolist() == [0.5]


def test_named_columns_and_a_probability_are_matches_too(tmp_path):
    path = written(tmp_path, home=["x", "x"], away=["y", "z"], p=[0.3, 0.6], day=["mon", "mon"])
    columns = Columns(player_a="home", player_b="away", probability="p", round="day")
    found = read_tournaments(path, columns)[""]
    assert found.rounds == ("mon",)
    assert found.matches.outcome.tolist() == [0.3, 0.6]


def test_a_tournament_column_gives_one_tournament_a_value(tmp_path):
    path = written(
        tmp_path, player=["x", "y"] * 2, round=[1] * 4, score=[0.1, 0.2, 0.3, 0.4], data=["d", "d", "e", "e"]
    )
    assert list(read_tournaments(path, Columns(tournament="data"))) == ["d", "e"]


def test_a_table_without_a_player_is_asked_about(tmp_path):
    path = written(tmp_path, who=["x", "y"], t1=[1, 2])
    with pytest.raises(DataError, match="which column is the player"):
        read_tournaments(path)
