"""Members' strengths recovered from matches between their teams."""

import numpy as np
import pytest

from camilla.errors import DataError, SettingError
from camilla.ranking.epp import epp
from camilla.ranking.teams import team_epp
from camilla.table.tournament import Tournament

PAIRS = {f"{a}{b}": (a, b) for a, b in ("ab", "ac", "ad", "bc", "bd", "cd")}


def played(rng, strengths, members, *, reduce, n_rounds=60):
    """Scores of teams: reduced member strength plus Gumbel noise, so P(win) = σ(difference)."""
    level = np.array([reduce([strengths[one] for one in team]) for team in members.values()])
    scores = level[:, None] + rng.gumbel(size=(len(members), n_rounds))
    return Tournament(tuple(members), tuple(f"r{k}" for k in range(n_rounds)), scores)


def test_member_intervals_cover_the_strengths_that_made_the_matches():
    """100 worlds × 4 members, members of one world dependent: 95 % ± 3 × 1.5 points."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(100):
        strengths = dict(zip("abcd", rng.normal(scale=2, size=4), strict=True))
        board = team_epp(played(rng, strengths, PAIRS, reduce=np.mean), PAIRS)
        mean = np.mean(list(strengths.values()))
        truth = np.array([strengths[one] - mean for one in board.players])
        covered.extend((board.low <= truth) & (truth <= board.high))
    assert 0.905 < np.mean(covered) < 0.995


def test_teams_of_one_are_plain_epp():
    """M is the identity: the constraint says nothing."""
    scores = np.random.default_rng(1).normal(size=(5, 40)) + np.arange(5)[:, None] * 0.3
    tournament = Tournament(tuple("abcde"), tuple(f"r{k}" for k in range(40)), scores)
    board, plain = team_epp(tournament, {one: (one,) for one in "abcde"}), epp(tournament)
    assert board.players == plain.players
    np.testing.assert_allclose(board.epp, plain.epp, atol=1e-8)
    np.testing.assert_allclose(board.se, plain.se, atol=1e-8)


def test_sums_of_mixed_sizes_know_the_zero():
    """A member of strength 0 changes nothing; a, b and a + b pin that down."""
    rng = np.random.default_rng(2)
    members = {"a": ("a",), "b": ("b",), "ab": ("a", "b"), "c": ("c",), "bc": ("b", "c")}
    strengths = {"a": 1.0, "b": 0.0, "c": -0.5}
    board = team_epp(played(rng, strengths, members, reduce=np.sum, n_rounds=3000), members, strength="sum")
    assert not board.centred
    found = dict(zip(board.players, board.epp, strict=True))
    for one, value in strengths.items():
        assert found[one] == pytest.approx(value, abs=0.15)


def test_additivity_is_kept_when_true_and_rejected_when_false():
    rng = np.random.default_rng(3)
    strengths = {"a": 1.0, "b": 0.3, "c": -0.4, "d": -0.9}
    true = [team_epp(played(rng, strengths, PAIRS, reduce=np.mean), PAIRS).additive_p for _ in range(60)]
    assert np.mean(np.array(true) < 0.05) < 0.05 + 3 * 0.03
    clash = dict(PAIRS)
    tournament = played(rng, strengths, clash, reduce=np.mean, n_rounds=200)
    spoiled = tournament.scores.copy()
    spoiled[list(clash).index("ab")] -= 3  # a and b together are worse than either
    assert team_epp(Tournament(tournament.players, tournament.rounds, spoiled), clash).additive_p < 1e-6


def test_players_always_together_are_named():
    members = {"t1": ("a", "b"), "t2": ("c",), "t3": ("d",)}
    scores = np.random.default_rng(4).normal(size=(3, 20))
    tournament = Tournament(tuple(members), tuple(f"r{k}" for k in range(20)), scores)
    with pytest.raises(DataError, match="'a', 'b' apart"):
        team_epp(tournament, members)
    with pytest.raises(DataError, match="'t3' have no members"):
        team_epp(tournament, {"t1": ("a",), "t2": ("b",)})
    with pytest.raises(SettingError, match="strength 'max'"):
        team_epp(tournament, members, strength="max")
