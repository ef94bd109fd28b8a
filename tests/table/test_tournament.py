"""Tournaments from every kind of table, and what is refused on the way."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from camilla.errors import DataError, SettingError
from camilla.table.responses import ResponseTable
from camilla.table.tournament import SCHEMES, Tournament

LONG = pl.DataFrame(
    {
        "player": ["x", "x", "y", "y", "z"],
        "round": ["1", "2", "1", "2", "1"],
        "score": [0.5, 0.7, 0.6, None, 0.1],
    }
)


def test_a_long_table_becomes_players_by_rounds_with_gaps():
    found = Tournament.from_long(LONG)
    assert found.players == ("x", "y", "z")
    assert found.rounds == ("1", "2")
    np.testing.assert_array_equal(found.scores, [[0.5, 0.7], [0.6, np.nan], [0.1, np.nan]])


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy"])
def test_any_dataframe_gives_the_same_tournament(kind):
    frame = {"pandas": LONG.to_dict(as_series=False), "polars": LONG, "lazy": LONG.lazy()}[kind]
    if kind == "pandas":
        frame = pd.DataFrame(frame)
    assert Tournament.from_long(frame).digest() == Tournament.from_long(LONG).digest()


def test_a_repeated_player_and_round_is_named():
    """EloML keeps both rows and counts the player against itself."""
    twice = pl.concat([LONG, LONG.head(1)])
    with pytest.raises(DataError, match=r"player 'x' has 2 scores in round '1'"):
        Tournament.from_long(twice)


@pytest.mark.parametrize("score", ["rmse", "MAE", "error", "val_loss", "test-error-rate"])
def test_a_score_that_sounds_like_an_error_needs_a_direction(score):
    frame = LONG.rename({"score": score})
    with pytest.raises(SettingError, match=f"{score!r}.*--lower-is-better"):
        Tournament.from_long(frame, score=score)
    assert Tournament.from_long(frame, score=score, lower_is_better=True).lower_is_better


def test_lower_is_better_turns_merit_not_scores():
    found = Tournament.from_long(LONG, lower_is_better=True)
    assert found.scores[0, 0] == 0.5
    assert found.merit[0, 0] == -0.5


def test_several_tournaments_in_one_table_are_split_by_name():
    frame = pl.concat([LONG.with_columns(data=pl.lit("a")), LONG.with_columns(data=pl.lit("b"))])
    found = Tournament.split(frame, tournament="data")
    assert list(found) == ["a", "b"]
    assert found["b"].name == "b"
    with pytest.raises(DataError, match=r"2 tournaments: 'a', 'b'.*Tournament.split"):
        Tournament.from_long(frame, tournament="data")
    bad = frame.filter((pl.col("data") == "a") | (pl.col("player") == "x"))
    with pytest.raises(DataError, match="tournament 'b': the tournament has one player, 'x'"):
        Tournament.split(bad, tournament="data")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (LONG.filter(pl.col("player") == "x"), "one player, 'x'"),
        (LONG.head(0), "no rows"),
        (LONG.with_columns(score=pl.lit("good")), "a finite number; row 0, column 'score' has 'good'"),
        (LONG.with_columns(score=pl.lit(np.inf)), "a finite number; row 0, column 'score' has inf"),
        (LONG.rename({"score": "points"}), "no column 'score'"),
    ],
)
def test_a_long_table_that_cannot_be_used_is_told_why(frame, message):
    with pytest.raises(DataError, match=message):
        Tournament.from_long(frame)


def test_something_that_is_no_dataframe_is_refused():
    with pytest.raises(DataError, match="dataframe"):
        Tournament.from_long(3)


def test_a_wide_table_has_a_round_for_every_column_that_is_not_ignored():
    frame = pl.DataFrame({"model": ["x", "y"], "team": ["A", "B"], "t1": [1.0, 2.0], "t2": ["3", "-"]})
    found = Tournament.from_wide(frame, player="model", ignore=["team"], missing="-")
    assert found.rounds == ("t1", "t2")
    np.testing.assert_array_equal(found.scores, [[1, 3], [2, np.nan]])
    assert found.scheme == "Model/Task"
    with pytest.raises(DataError, match=r"column 't2' has '-'.*missing='-'"):
        Tournament.from_wide(frame, player="model", ignore=["team"])
    with pytest.raises(DataError, match=r"column 'team' has 'A'.*ignore"):
        Tournament.from_wide(frame, player="model")
    with pytest.raises(SettingError, match="'tame'"):
        Tournament.from_wide(frame, player="model", ignore=["tame"])


def test_two_metrics_of_a_task_become_its_mean_when_asked():
    frame = pl.DataFrame(
        {
            "player": ["x", "y"],
            "CB_a": [90.0, 80.0],
            "CB_b": [94.0, None],
            "QQP": ["70/80", "60/64"],
            "AX_b": [1, 2],
        }
    )
    found = Tournament.from_wide(frame, average_metrics=True)
    assert found.rounds == ("CB", "QQP", "AX_b")
    np.testing.assert_array_equal(found.scores, [[92, 75, 1], [np.nan, 62, 2]])
    with pytest.raises(DataError, match="two metrics in one cell"):
        Tournament.from_wide(frame)


@pytest.mark.parametrize(
    ("winner", "outcome"),
    [
        ("x", 1),
        ("y", 0),
        ("model_a", 1),
        ("model_b", 0),
        ("left", 1),
        ("b", 0),
        ("Tie", 0.5),
        ("tie (bothbad)", 0.5),
    ],
)
def test_every_usual_way_to_name_a_winner_is_read(winner, outcome):
    frame = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": [winner]})
    found = Tournament.from_matches(frame, player_a="model_a", player_b="model_b", winner="winner")
    assert found.matches.outcome.tolist() == [outcome]


def test_a_winner_nobody_knows_is_an_error_not_a_tie():
    frame = pl.DataFrame({"player_a": ["x", "x"], "player_b": ["y", "y"], "winner": ["x", "yy"]})
    with pytest.raises(DataError, match=r"winner 'yy' in row 1 is neither 'x' nor 'y'"):
        Tournament.from_matches(frame, winner="winner")


@pytest.mark.parametrize(
    ("columns", "settings", "error", "message"),
    [
        (
            {"player_b": ["y"], "p": [1.2]},
            {"probability": "p"},
            DataError,
            r"\[0, 1\]; row 0, column 'p' has 1.2",
        ),
        ({"player_b": ["x"], "p": [0.2]}, {"probability": "p"}, DataError, "'x' playing itself"),
        ({"player_b": ["y"], "p": [0.2]}, {}, SettingError, "winner or the column of player_a's"),
    ],
)
def test_match_lists_that_cannot_be_used_are_told_why(columns, settings, error, message):
    with pytest.raises(error, match=message):
        Tournament.from_matches(pl.DataFrame({"player_a": ["x"], **columns}), **settings)


def test_a_match_list_without_rounds_makes_every_match_a_round():
    frame = pl.DataFrame({"player_a": ["x", "y"], "player_b": ["y", "z"], "p": [0.2, 0.9], "judge": [1, 1]})
    assert len(Tournament.from_matches(frame, probability="p").rounds) == 2
    assert Tournament.from_matches(frame, probability="p", round="judge").rounds == ("1",)


def test_responses_become_mean_scores_by_task_sample_and_trial():
    table = ResponseTable(
        learners=("l1", "l2"),
        samples=("s1", "s2", "s3"),
        learner=[0, 0, 0, 1, 1, 1],
        sample=[0, 1, 2, 0, 1, 1],
        response=[1, 0, 1, 0.5, 1, 0],
        trial=[0, 0, 0, 0, 0, 1],
        task=("t1", "t1", "t2"),
    )
    by_task = Tournament.from_responses(table)
    assert by_task.rounds == ("t1", "t2")
    np.testing.assert_allclose(by_task.scores, [[0.5, 1], [0.5, np.nan]])
    by_sample = Tournament.from_responses(table, rounds="sample")
    np.testing.assert_allclose(by_sample.scores, [[1, 0, 1], [0.5, 0.5, np.nan]])
    by_trial = Tournament.from_responses(table, rounds="trial")
    np.testing.assert_allclose(by_trial.scores, [[2 / 3, np.nan], [0.75, 0]])
    with pytest.raises(SettingError, match="rounds 'fold'"):
        Tournament.from_responses(table, rounds="fold")


def test_appending_rounds_keeps_gaps_for_absent_players():
    first = Tournament(("x", "y"), ("1",), np.array([[1.0], [2.0]]))
    second = Tournament(("y", "z"), ("2",), np.array([[3.0], [4.0]]))
    both = first.append(second)
    assert both.players == ("x", "y", "z")
    np.testing.assert_array_equal(both.scores, [[1, np.nan], [2, 3], [np.nan, 4]])
    with pytest.raises(DataError, match="rounds '1' are in both"):
        first.append(first)


def test_the_three_schemes_of_the_paper_are_there_by_name():
    assert set(SCHEMES) == {"Model/CV", "Model/Task", "Dataset/Model"}
    assert SCHEMES["Dataset/Model"].player == "data set"
    with pytest.raises(SettingError, match="'Model/Fold'"):
        Tournament.from_long(LONG, scheme="Model/Fold")


def test_the_digest_sees_scores_names_and_direction():
    base = Tournament.from_long(LONG)
    others = [
        Tournament.from_long(LONG, lower_is_better=True),
        Tournament.from_long(LONG.with_columns(pl.col("score") * 2)),
        Tournament.from_long(LONG.with_columns(pl.col("player").str.to_uppercase())),
    ]
    assert len({base.digest(), *(other.digest() for other in others)}) == 4


def test_a_tournament_says_its_size():
    assert repr(Tournament.from_long(LONG)) == "Tournament(3 players × 2 rounds, Model/CV)"
