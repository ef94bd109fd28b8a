"""Cells without a score: not played, lost, or another player's score."""

import numpy as np
import pytest

from camilla.errors import DataError, SettingError
from camilla.ranking.boards import fit_by_rounds
from camilla.ranking.epp import epp
from camilla.ranking.matches import SameRound
from camilla.table.tournament import Tournament


def failing(seed=0, n=6, rounds=14):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)[:, None] * 0.5 + rng.gumbel(size=(n, rounds))
    scores[0, rng.permutation(rounds)[:4]] = np.nan
    scores[1, rng.permutation(rounds)[:3]] = np.nan
    return Tournament(tuple("abcdef"[:n]), tuple(f"r{k}" for k in range(rounds)), scores)


def by_hand(tournament, failed):
    """Wins and matches, match by match."""
    scores = tournament.scores
    n, rounds = scores.shape
    wins, played = np.zeros((n, n)), np.zeros((n, n))
    for r in range(rounds):
        for i in range(n):
            for j in range(n):
                x, y = scores[i, r], scores[j, r]
                if i == j or (np.isnan(x) and np.isnan(y)):
                    continue
                if np.isnan(x) or np.isnan(y):
                    if failed == "not_played":
                        continue
                    played[i, j] += 1
                    wins[i, j] += np.isnan(y)
                else:
                    played[i, j] += 1
                    wins[i, j] += (x > y) + 0.5 * (x == y)
    return wins, played


def test_lost_is_a_loss_to_every_score_and_two_failures_have_no_match():
    tournament = failing()
    wins, played = by_hand(tournament, "lost")
    merit = np.where(np.isnan(tournament.scores), -np.inf, tournament.scores)
    record = SameRound(merit)
    np.testing.assert_array_equal(record.count().wins, wins)
    np.testing.assert_array_equal(record.count().played, played)
    b = np.linspace(-1, 1, len(merit))
    p = 1 / (1 + np.exp(b[None, :] - b[:, None]))
    np.testing.assert_allclose(record.residuals(b).sum(axis=1), (wins - played * p).sum(axis=1), atol=1e-12)


def test_three_choices_are_three_boards_and_each_is_said():
    tournament = failing()
    boards = {failed: epp(tournament, failed=failed) for failed in ("not_played", "lost", "impute=c")}
    said = {"not_played": "not played", "lost": "lost to every score", "impute=c": "the score of c"}
    for failed, board in boards.items():
        assert any("7 of 84 cells have no score" in note and said[failed] in note for note in board.notes)
        assert any("the largest change is that of" in note for note in board.notes)
        assert board.provenance["failed"] == failed
    epps = [dict(zip(b.players, b.epp, strict=True)) for b in boards.values()]
    assert epps[1]["a"] < epps[0]["a"] - 0.1
    assert len({round(one["a"], 6) for one in epps}) == 3


def test_the_largest_change_is_the_difference_of_the_two_boards():
    tournament = failing()
    before, after = epp(tournament), epp(tournament, failed="lost")
    moved = {name: after.epp[after.place(name)] - before.epp[before.place(name)] for name in before.players}
    name = max(moved, key=lambda one: abs(moved[one]))
    note = before.notes[-1]
    assert f"that of {name}: " in note
    assert f"rank {before.place(name) + 1} to {after.place(name) + 1}" in note


def test_imputed_cells_are_the_scores_of_the_named_player():
    tournament = failing()
    filled = np.where(np.isnan(tournament.scores), tournament.scores[2], tournament.scores)
    by_hand = epp(Tournament(tournament.players, tournament.rounds, filled))
    board = epp(tournament, failed="impute=c")
    np.testing.assert_allclose(board.epp, by_hand.epp, atol=1e-9)
    np.testing.assert_allclose(board.se, by_hand.se, rtol=1e-9)


def test_a_complete_table_has_no_note_and_one_board():
    complete = Tournament(("a", "b"), ("r", "s", "t"), np.array([[1.0, 2, 3], [2, 1, 1]]))
    boards = [epp(complete, failed=failed) for failed in ("not_played", "lost", "impute=a")]
    assert all(board.notes == () for board in boards)
    assert all(np.array_equal(board.epp, boards[0].epp) for board in boards)


def test_fit_by_rounds_knows_lost_cells():
    tournament = failing(n=5, rounds=30)
    p = fit_by_rounds(epp(tournament, failed="lost"), tournament)
    assert 0 <= p <= 1
    assert p != fit_by_rounds(epp(tournament), tournament)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"failed": "gone"}, SettingError, "not_played, lost or impute=PLAYER"),
        ({"failed": "impute=nobody"}, DataError, "no player 'nobody'"),
        ({"failed": "lost", "matches": "all_rounds"}, SettingError, "within rounds"),
        ({"failed": "lost", "compat": "eloml-glm"}, SettingError, "EloML"),
    ],
)
def test_choices_that_do_not_exist_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        epp(failing(), **settings)
