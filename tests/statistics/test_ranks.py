"""Rank intervals: coverage in worlds with and without ties, and the formulas they rest on."""

from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import norm, studentized_range

from camilla.statistics.ranks import first_p_values, likely_ranks, shrunk, student_draws, sure_ranks
from epp_ranks import coverage


def test_shrinkage_is_the_formula_of_schaefer_and_strimmer():
    """λ = Σ_{i≠j} var(r_ij) / Σ_{i≠j} r_ij², var(r) = U/(U − 1)³ Σ_u (w_u − w̄)², w_u = z_iu z_ju."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(6, 9)) + rng.normal(size=9)
    factor -= factor.mean(axis=1, keepdims=True)
    units = 9
    z = factor / np.sqrt((factor**2).mean(axis=1, keepdims=True))
    top = bottom = 0.0
    for i in range(6):
        for j in range(6):
            if i != j:
                w = z[i] * z[j]
                top += units / (units - 1) ** 3 * ((w - w.mean()) ** 2).sum()
                bottom += w.mean() ** 2
    share = top / bottom
    assert 0 < share < 1
    whole = factor @ factor.T
    expected = (1 - share) * whole + share * np.diag(np.diag(whole))
    np.testing.assert_allclose(shrunk(factor).dense(), expected, rtol=1e-10)


def test_the_largest_difference_has_tukeys_distribution():
    """Independent estimates of one variance: max over all pairs of |z_i − z_j|/se is the studentized range
    over √2 (Tukey, 1953). 4,000 draws have a 95 % quantile with an error of about .03."""
    n, df = 8, 20
    factor = np.eye(n) - 1e-12
    wide = np.hstack([factor] * 50 + [-factor] * 50) / 10  # many units: nothing left to shrink
    largest = student_draws(wide, df).largest(np.ones((n, n), bool)).max(axis=1)
    exact = studentized_range.ppf(0.95, n, df) / np.sqrt(2)
    assert np.quantile(largest, 0.95) == pytest.approx(exact, abs=0.1)


def test_the_largest_difference_of_a_row_is_over_its_own_open_pairs():
    """max_j |z_i − z_j|/se_ij, pair by pair; a pair may be open for one of its rows and not for the other."""
    rng = np.random.default_rng(4)
    factor = rng.normal(size=(7, 12))
    draws = student_draws(factor - factor.mean(axis=1, keepdims=True), 11)
    open_ = rng.random((7, 7)) < 0.5
    z, found = draws.drawn[:100], draws.largest(open_)[:100]
    for i in range(7):
        pairs = [np.abs(z[:, i] - z[:, j]) * draws.inverse[i, j] * open_[i, j] for j in range(7)]
        np.testing.assert_array_equal(found[:, i], np.max(pairs, axis=0))


@lru_cache
def ranked(kind):
    """25 worlds of 24 players on 20 rounds."""
    return coverage(kind, 24, 20, worlds=25, seed=3)


@pytest.mark.parametrize("kind", ["no ties", "tied in blocks", "all equal"])
def test_ranks_are_covered(kind):
    """25 worlds of 24 players: a share of .95 would spread by about .01 over worlds; allow two of those."""
    found = ranked(kind)
    assert found["own max-t"].covered > 0.93
    assert found["joint max-t"].whole > 0.83
    assert found["own max-t"].width <= found["Holm"].width + 0.1


def test_likely_ranks_are_narrow_and_right_on_average_without_ties():
    """25 worlds: the average coverage spreads by about .01."""
    found = ranked("no ties")
    assert 0.92 < found["likely"].covered < 0.99
    assert found["likely"].width < 0.65 * found["Holm"].width


@pytest.mark.slow
def test_thirty_by_twenty_five_is_as_narrow_as_the_page_says():
    found = coverage("no ties", 30, 25, worlds=200, seed=1)
    assert found["own max-t"].covered >= 0.95
    assert found["own max-t"].width < found["Holm"].width - 0.5
    assert 0.94 <= found["likely"].covered <= 0.98
    assert found["likely"].width <= 10


def test_sure_differences_fix_the_ranks():
    factor = 1e-3 * np.random.default_rng(0).normal(size=(5, 12))
    value = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    for found in (sure_ranks(value, factor, 11, 0.95, joint=True), likely_ranks(value, factor, 0.95)):
        np.testing.assert_array_equal(found.low, [1, 2, 3, 4, 5])
        np.testing.assert_array_equal(found.high, [1, 2, 3, 4, 5])


def test_equal_copies_share_all_their_ranks():
    """Two players with the same scores differ by nothing, however small their common error is."""
    factor = np.repeat(np.random.default_rng(1).normal(size=(1, 10)), 2, axis=0)
    found = sure_ranks(np.zeros(2), factor, 9, 0.95, joint=False)
    np.testing.assert_array_equal(found.low, [1, 1])
    np.testing.assert_array_equal(found.high, [2, 2])


def test_a_flat_border_has_the_one_sided_p_value():
    """Two rows: "the second is first" is a half-plane, without curvature, so p = Φ(−d/se) with the
    bootstrap's se. 2,000 draws at ten scales leave an error of about .01."""
    rng = np.random.default_rng(2)
    units = 200
    x = rng.normal(size=units)
    x -= x.mean()
    factor = np.vstack([x, -x]) / units
    for d in (0.1, 0.2):
        found = first_p_values(np.array([d, 0.0]), factor)
        se = 2 * np.sqrt((x**2).sum()) / units * np.sqrt((units - 1) / units)
        assert found[1] == pytest.approx(norm.sf(d / se), abs=0.03)
        assert found[0] == pytest.approx(norm.cdf(d / se), abs=0.03)


def test_a_tied_first_place_is_rejected_in_about_five_of_a_hundred():
    """Four equal players share the first place; 80 worlds of 60 rounds give 320 p-values of a true
    hypothesis, and a share of .05 has an error of about .012. Unbiased is approximate: allow four points."""
    rng = np.random.default_rng(3)
    below = []
    for _ in range(80):
        x = rng.normal(size=(4, 60))
        mean = x.mean(axis=1)
        left = (x - mean[:, None]) / np.sqrt(60 * 59)
        below.append((first_p_values(mean, left) <= 0.05).mean())
    assert 0.02 < np.mean(below) < 0.09
