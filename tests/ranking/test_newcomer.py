"""A newcomer's place and its interval."""

import numpy as np
import pytest

from camilla.errors import DataError
from camilla.ranking.epp import epp
from camilla.ranking.newcomer import place_newcomer
from camilla.table.tournament import Tournament


def world(rng, n=8, n_rounds=40):
    truth = rng.normal(size=n)
    scores = truth[:, None] + rng.gumbel(size=(n, n_rounds))
    rounds = tuple(f"r{k}" for k in range(n_rounds))
    old = Tournament(tuple(f"p{i}" for i in range(n - 1)), rounds, scores[:-1])
    return truth, old, old.with_player("new", dict(zip(rounds, scores[-1], strict=True)))


@pytest.mark.parametrize("matches", ["same_round", "all_rounds"])
def test_newcomers_intervals_cover_the_truth(matches):
    """100 worlds: the spread of 95 % coverage is 2.2 points; allow three times that."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(100):
        truth, old, both = world(rng)
        found = place_newcomer(epp(old, matches=matches), both, "new")
        covered.append(found.low <= truth[-1] - truth[:-1].mean() <= found.high)
    assert 0.885 < np.mean(covered) <= 1


def test_a_copy_of_a_player_stands_where_the_player_stands():
    """The copy ties with its twin and repeats its results against all others, so it solves the
    twin's own equation up to their drawn matches, which say b = b_twin as well."""
    rng = np.random.default_rng(1)
    _, old, _ = world(rng)
    twin = old.with_player("copy", dict(zip(old.rounds, old.scores[2], strict=True)))
    board = epp(old)
    assert place_newcomer(board, twin, "copy").epp == pytest.approx(board.epp[board.place("p2")], abs=1e-8)


def test_a_newcomer_who_won_everything_is_said_to_rest_on_the_prior():
    rng = np.random.default_rng(2)
    _, old, _ = world(rng)
    found = place_newcomer(epp(old), old.with_player("new", dict.fromkeys(old.rounds, 99.0)), "new")
    assert "won or lost every match" in found.note
    assert np.isfinite(found.high)


def test_other_changes_than_the_newcomer_are_refused():
    rng = np.random.default_rng(3)
    _, old, both = world(rng)
    smaller = Tournament(old.players[1:], old.rounds, old.scores[1:])
    with pytest.raises(DataError, match="Refit"):
        place_newcomer(epp(smaller), both, "new")
    with pytest.raises(DataError, match="with_player"):
        place_newcomer(epp(old), both, "nobody")
