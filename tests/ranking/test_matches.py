"""Counting without pairs against counting every pair."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from camilla.errors import SettingError
from camilla.ranking.matches import AllRounds, Listed, SameRound, record_of
from camilla.table.tournament import Tournament

small_scores = arrays(
    np.float64,
    st.tuples(st.integers(2, 6), st.integers(1, 6)),
    elements=st.sampled_from([0, 1, 2, 3, np.nan]),
)


def all_pairs(merit, weights, *, across):
    """Every match, one by one."""
    n, n_rounds = merit.shape
    wins = np.zeros((n, n))
    played = np.zeros((n, n))
    for r in range(n_rounds):
        for s in range(n_rounds) if across else [r]:
            for i in range(n):
                for j in range(n):
                    if i != j and np.isfinite(merit[i, r]) and np.isfinite(merit[j, s]):
                        weight = weights[r] * weights[s] if across else weights[r]
                        played[i, j] += weight
                        wins[i, j] += weight * (0.5 + 0.5 * np.sign(merit[i, r] - merit[j, s]))
    return wins, played


@given(small_scores, st.data())
def test_counts_equal_a_walk_over_every_match(merit, data):
    weights = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=merit.shape[1], max_size=merit.shape[1]))
    )
    for record, across in ((SameRound(merit), False), (AllRounds(merit), True)):
        wins, played = all_pairs(merit, weights, across=across)
        counted = record.count(weights)
        np.testing.assert_array_equal(counted.wins, wins)
        np.testing.assert_array_equal(counted.played, played)


@given(small_scores, st.integers(0, 1000))
def test_residuals_are_the_derivative_of_the_score_in_a_rounds_weight(merit, seed):
    """Counts are polynomials of degree ≤ 2 in the weights, so a central difference at ±1 is exact."""
    assume(np.isfinite(merit).any())
    strength = np.random.default_rng(seed).normal(size=len(merit))
    p = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    for record, across in ((SameRound(merit), False), (AllRounds(merit), True)):
        got = record.residuals(strength)
        for r in range(merit.shape[1]):
            ends = []
            for change in (1, -1):
                weights = np.ones(merit.shape[1], int)
                weights[r] += change
                wins, played = all_pairs(merit, weights, across=across)
                ends.append((wins - played * p).sum(axis=1))
            np.testing.assert_allclose(got[:, r], (ends[0] - ends[1]) / 2, atol=1e-9)


def test_a_match_list_of_one_match_rounds_counts_like_scores():
    """Three players, every pair and round as its own row: the same win matrix and residuals."""
    scores = np.random.default_rng(0).integers(0, 4, size=(3, 8)).astype(float)
    rows = [
        {
            "player_a": f"p{i}",
            "player_b": f"p{j}",
            "round": f"r{k}",
            "winner": "a" if scores[i, k] > scores[j, k] else "b" if scores[i, k] < scores[j, k] else "tie",
        }
        for k in range(8)
        for i in range(3)
        for j in range(i)
    ]
    listed = Tournament.from_matches(pl.DataFrame(rows), winner="winner", round="round")
    place = [listed.players.index(f"p{i}") for i in range(3)]
    record = record_of(listed, "same_round")
    assert isinstance(record, Listed)
    same = SameRound(scores)
    np.testing.assert_array_equal(record.count().wins[np.ix_(place, place)], same.count().wins)
    strength = np.array([0.3, -0.5, 0.2])
    shuffled = np.empty(3)
    shuffled[place] = strength
    np.testing.assert_allclose(
        record.residuals(shuffled).toarray()[place], same.residuals(strength), atol=1e-12
    )


def test_matches_across_rounds_need_scores():
    listed = Tournament.from_matches(
        pl.DataFrame({"player_a": ["x", "y"], "player_b": ["y", "x"], "winner": ["x", "x"]}), winner="winner"
    )
    with pytest.raises(SettingError, match="no scores to compare across rounds"):
        record_of(listed, "all_rounds")
