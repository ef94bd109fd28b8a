"""Goodness of fit, comparison of tournaments, agreement of leaderboards."""

import numpy as np
import pytest
from scipy.stats import chi2, kendalltau

from camilla.errors import DataError, SettingError
from camilla.ranking.boards import agreement, compare_fits, fit_by_rounds
from camilla.ranking.epp import epp
from camilla.table.tournament import Tournament


def independent_matches(rng, n, per_pair, b=None):
    """Every pair meets `per_pair` times, each match in a round of its own."""
    b = rng.normal(size=n) if b is None else b
    pairs = [(i, j) for i in range(n) for j in range(i)]
    scores = np.full((n, len(pairs) * per_pair), np.nan)
    for place, (i, j) in enumerate(pairs):
        for k in range(per_pair):
            won = rng.random() < 1 / (1 + np.exp(b[j] - b[i]))
            scores[[i, j], place * per_pair + k] = [won, not won]
    return Tournament(tuple(f"{i:02d}" for i in range(n)), tuple(map(str, range(scores.shape[1]))), scores)


def test_the_deviance_is_the_sum_over_pairs_written_out():
    tournament = independent_matches(np.random.default_rng(0), 4, 30)
    board = epp(tournament)
    total = 0.0
    for i in range(4):
        for j in range(i):
            m = board.matrix.played[i, j]
            for a, b in ((i, j), (j, i)):
                w = board.matrix.wins[a, b]
                if w:
                    total += 2 * w * np.log(w / (m / (1 + np.exp(board.epp[b] - board.epp[a]))))
    assert board.fit.deviance == pytest.approx(total, rel=1e-10)
    assert board.fit.df == 3
    assert board.fit.p_value == pytest.approx(chi2.sf(total, 3))
    assert board.fit.standardised == pytest.approx((total - 3) / np.sqrt(6))


def test_independent_matches_give_uniform_p_values():
    """60 tournaments: the share below 0.1 spreads by 0.039 around 0.1; allow three of those."""
    rng = np.random.default_rng(1)
    p = [epp(independent_matches(rng, 5, 30), prior=1e-6).fit.p_value for _ in range(60)]
    assert abs(np.mean(np.array(p) < 0.1) - 0.1) < 0.12


def test_a_cycle_does_not_fit():
    """Rock beats scissors beats paper beats rock, 9 of 10 times: equal strengths, a large deviance."""
    scores = np.full((3, 30), np.nan)
    for place, (i, j) in enumerate(((0, 1), (1, 2), (2, 0))):
        for k in range(10):
            scores[[i, j], place * 10 + k] = [k > 0, k == 0]
    board = epp(Tournament(("rock", "scissors", "paper"), tuple(map(str, range(30))), scores))
    np.testing.assert_allclose(board.epp, 0, atol=1e-9)
    assert board.fit.p_value < 1e-3


def test_two_players_leave_nothing_to_test():
    board = epp(independent_matches(np.random.default_rng(3), 2, 30, b=np.array([0.0, 0.3])))
    assert board.fit.df == 0
    assert np.isnan(board.fit.p_value)


def test_tournaments_are_ordered_by_standardised_deviance_whatever_their_players():
    rng = np.random.default_rng(4)
    boards = {str(n): epp(independent_matches(rng, n, 30), prior=1e-6) for n in (4, 6, 9)}
    found = compare_fits(boards)
    assert found["standardised_deviance"].is_sorted()
    assert set(found["tournament"]) == {"4", "6", "9"}


def test_agreement_finds_the_player_that_changed():
    """Player 02 gains 1.5, so centred differences are −1.5·7/8 for it and 1.5/8 for all others;
    eight differences lie within four of their standard errors."""
    rng = np.random.default_rng(5)
    b = np.linspace(-1, 1, 8)
    changed = b.copy()
    changed[2] += 1.5
    found = agreement(*(epp(independent_matches(rng, 8, 60, b=one)) for one in (b, changed)))
    assert found.rows.sort("holm_p")["player"][0] == "02"
    truth = np.where(found.rows["player"] == "02", -1.5 * 7 / 8, 1.5 / 8)
    assert (np.abs(found.rows["difference"] - truth) < 4 * found.rows["se"]).all()
    assert found.kendall == pytest.approx(kendalltau(found.rows["epp_a"], found.rows["epp_b"]).statistic)


def test_leaderboards_without_shared_players_cannot_be_compared():
    rng = np.random.default_rng(6)
    first = epp(independent_matches(rng, 3, 30, b=np.zeros(3)))
    names = Tournament(("x", "y"), ("1", "2", "3"), np.array([[1, 0, 1.0], [0, 1, 0]]))
    with pytest.raises(DataError, match="share 0 player"):
        agreement(first, epp(names))


def shared_rounds(rng, n, n_rounds, spread=1.0):
    """Gumbel scores: with spread 1 the model is exactly true; with unequal spreads it is not."""
    scores = rng.normal(size=n)[:, None] + spread * rng.gumbel(size=(n, n_rounds))
    return Tournament(tuple(f"{i:02d}" for i in range(n)), tuple(map(str, range(n_rounds))), scores)


def test_fit_by_rounds_rejects_a_true_model_five_times_in_a_hundred():
    """120 worlds: the share below 0.05 spreads by 0.02; the χ² that ignores rounds rejects none."""
    rng = np.random.default_rng(7)
    worlds = [shared_rounds(rng, 8, 30) for _ in range(120)]
    boards = [epp(world) for world in worlds]
    p = np.array([fit_by_rounds(board, world) for board, world in zip(boards, worlds, strict=True)])
    assert np.mean(p < 0.05) < 0.05 + 3 * 0.02
    assert 0.36 < np.mean(p < 0.5) < 0.64
    assert np.mean([board.fit.p_value < 0.05 for board in boards]) < 0.01


def test_fit_by_rounds_finds_players_of_unequal_steadiness():
    rng = np.random.default_rng(8)
    spread = np.where(np.arange(10) % 2, 3, 0.4)[:, None]
    worlds = [shared_rounds(rng, 10, 30, spread) for _ in range(20)]
    assert np.median([fit_by_rounds(epp(world), world) for world in worlds]) < 0.01


def test_fit_by_rounds_needs_matches_within_rounds():
    world = shared_rounds(np.random.default_rng(9), 5, 20)
    with pytest.raises(SettingError, match="within rounds"):
        fit_by_rounds(epp(world, matches="all_rounds"), world)


def test_agreement_is_wrong_in_five_of_a_hundred_at_ten_rounds():
    """Two tournaments of the same six players, ten rounds each, 400 worlds: 2,400 dependent p-values of a
    true hypothesis. The share below .05 spreads by about .007; the normal's would be .09."""
    rng = np.random.default_rng(11)
    names = tuple("abcdef")
    below = []
    for _ in range(400):
        b = 0.4 * rng.normal(size=6)
        boards = [
            epp(Tournament(names, tuple(map(str, range(10))), b[:, None] + rng.gumbel(size=(6, 10))))
            for _ in range(2)
        ]
        if all(not board.notes for board in boards):
            below.append((agreement(*boards).rows["p_value"] < 0.05).mean())
    assert 0.025 < np.mean(below) < 0.07
