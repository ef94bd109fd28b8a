"""Standard errors that hold: against refits, against simulation, against textbook numbers."""

import numpy as np
import pytest
from scipy.stats import chi2

from camilla.ranking.epp import epp
from camilla.statistics.wald import differences
from camilla.table.tournament import Tournament


def simulated(rng, n, n_rounds):
    """Gumbel noise on strengths b: P(i beats j) = σ(b_i − b_j), rounds shared by all matches."""
    truth = rng.normal(size=n)
    scores = truth[:, None] + rng.gumbel(size=(n, n_rounds))
    names = tuple(f"{i:02d}" for i in range(n))
    return truth, Tournament(names, tuple(f"r{k}" for k in range(n_rounds)), scores)


def covered(board, truth):
    b = truth[[int(name) for name in board.players]]
    estimate, se = differences(board.epp, board.covariance)
    upper = np.triu_indices(len(b), 1)
    error = np.abs(estimate - (b[:, None] - b[None, :]))[upper]
    return np.mean(error <= board.critical * se[upper])


@pytest.mark.parametrize("settings", [{}, {"matches": "all_rounds"}, {"se": "bootstrap", "replicates": 60}])
def test_intervals_by_round_cover_what_they_promise(settings):
    """40 worlds of 45 dependent pairs: one world's share spreads by 0.055, so the mean by 0.009;
    three of those either way of 92–97 %. The slow test has 300 worlds and the sizes of the page."""
    rng = np.random.default_rng(0)
    worlds = [simulated(rng, 10, 20) for _ in range(40)]
    assert 0.92 < np.mean([covered(epp(t, **settings), b) for b, t in worlds]) < 0.99


def test_intervals_that_count_matches_as_independent_do_not():
    rng = np.random.default_rng(1)
    worlds = [simulated(rng, 20, 20) for _ in range(30)]
    assert np.mean([covered(epp(t, se="fisher"), b) for b, t in worlds]) < 0.75
    assert np.mean([covered(epp(t, compat="eloml-glm"), b) for b, t in worlds]) < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("size", [(10, 20), (10, 100), (50, 20), (50, 100)])
def test_300_worlds_cover_between_92_and_97_percent(size):
    rng = np.random.default_rng(2)
    shares = {"cluster": [], "bootstrap": []}
    for _ in range(300):
        truth, tournament = simulated(rng, *size)
        for se, found in shares.items():
            found.append(covered(epp(tournament, se=se, replicates=100), truth))
    assert 0.92 < np.mean(shares["cluster"]) < 0.97
    assert 0.92 < np.mean(shares["bootstrap"]) < 0.97


@pytest.mark.parametrize("matches", ["same_round", "all_rounds"])
def test_the_sandwich_is_the_jackknife_over_rounds(matches):
    """Leaving a round out moves b̂ by about its influence; with 60 rounds the standard errors of
    the delete-one jackknife, √((R−1)/R Σ(b₋ᵣ − b̄)²), agree to some percent."""
    _, tournament = simulated(np.random.default_rng(3), 5, 60)
    board = epp(tournament, matches=matches)
    refits = []
    for r in range(60):
        scores = np.delete(tournament.scores, r, axis=1)
        one = epp(Tournament(tournament.players, tournament.rounds[1:], scores), matches=matches)
        refits.append([one.epp[one.place(name)] for name in board.players])
    refits = np.array(refits)
    jackknife = np.sqrt(59 / 60 * ((refits - refits.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(board.se, jackknife, rtol=0.08)


def test_a_round_counted_twice_is_not_new_evidence_when_rounds_are_clusters():
    """Every round twice under one name each: Fisher's errors shrink by √2; clusters are what they are."""
    rng = np.random.default_rng(4)
    _, once = simulated(rng, 6, 30)
    twice = Tournament(once.players, tuple(f"d{k}" for k in range(60)), np.repeat(once.scores, 2, axis=1))
    np.testing.assert_allclose(epp(twice, se="fisher").se, epp(once, se="fisher").se / np.sqrt(2), rtol=1e-9)


def test_wald_and_likelihood_ratio_agree_on_a_small_difference(vtab):
    board = epp(vtab, se="fisher")
    test = board.test("Semi-Rotation-10%", "Rotation")
    assert test.lr == pytest.approx(test.wald, rel=0.01)
    assert test.lr_p == pytest.approx(chi2.sf(test.lr, 1), rel=1e-12)
    clustered = epp(vtab).test("Semi-Rotation-10%", "Rotation")
    assert clustered.lr == pytest.approx(clustered.wald, rel=0.01)
    assert clustered.se > test.se


def test_a_win_probability_lies_inside_its_interval_and_mirrors():
    _, tournament = simulated(np.random.default_rng(5), 4, 30)
    board = epp(tournament)
    ab, ba = board.test("00", "01"), board.test("01", "00")
    assert ab.p_win_low < ab.p_win < ab.p_win_high
    assert ab.p_win == pytest.approx(1 - ba.p_win)
    assert ab.p_win_low == pytest.approx(1 - ba.p_win_high)


def test_rank_intervals_hold_the_true_rank():
    """Nominal 95 % for each player; Holm over opponents is conservative, so nearly always."""
    rng = np.random.default_rng(6)
    held = []
    for _ in range(30):
        truth, tournament = simulated(rng, 8, 40)
        board = epp(tournament)
        rank = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
        mine = rank[[int(name) for name in board.players]]
        held.extend((board.rank_intervals.low <= mine) & (mine <= board.rank_intervals.high))
    assert np.mean(held) > 0.95


def test_the_bootstrap_repeats_with_its_seed_and_changes_with_another():
    _, tournament = simulated(np.random.default_rng(7), 4, 20)
    first, again, other = (epp(tournament, se="bootstrap", replicates=50, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.se, again.se)
    assert (first.se != other.se).any()


def test_separated_players_have_intervals_at_least_as_wide_as_their_information():
    """A perfect winner shows no spread over rounds; the penalised information keeps it honest."""
    scores = np.random.default_rng(8).normal(size=(5, 20))
    scores[0] += 100
    names = tuple("abcde")
    tournament = Tournament(names, tuple(f"r{k}" for k in range(20)), scores)
    board = epp(tournament)
    assert board.se[board.place("a")] > 1


def test_players_with_the_same_scores_are_equal_not_sure_to_differ():
    """Their difference has no variance over rounds; rounding must not become a tiny p-value."""
    rng = np.random.default_rng(9)
    scores = rng.normal(size=(6, 25))
    scores[1] = scores[0]
    board = epp(Tournament(tuple("abcdef"), tuple(f"r{k}" for k in range(25)), scores))
    test = board.test("a", "b")
    assert (test.wald, test.wald_p, test.lr, test.p_win) == pytest.approx((0, 1, 0, 0.5))
    assert any({"a", "b"} <= set(group) for group in board.tie_groups)


@pytest.mark.parametrize(("players", "rounds"), [(30, 15), (20, 15)])
def test_joint_ranks_cover_boards_of_equal_players(players, rounds):
    """150 boards each: .95 gives less than .92 once in 20 tries; draws alone cover .89."""
    covered = []
    for seed in range(150):
        scores = np.random.default_rng([seed, players]).gumbel(size=(players, rounds))
        names = tuple(f"p{i}" for i in range(players)), tuple(f"r{k}" for k in range(rounds))
        board = epp(Tournament(*names, scores), ranks="joint")
        low, high = board.rank_intervals
        covered.append((low == 1).all() and (high == players).all())
    assert np.mean(covered) >= 0.92
