"""Many tests at once: Holm by hand, runs of a board."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from camilla.statistics.multiplicity import benjamini_hochberg, holm, rank_bounds, tie_groups


def test_holm_on_a_textbook_example() -> None:
    """Holm (1979) by hand: 4·.005, 3·.01, 2·.03, then kept monotone."""
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


@settings(max_examples=15)  # statsmodels takes a twentieth of a second each
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_statsmodels_holm(values: list[float]) -> None:
    """The same few products in another order: rounding only."""
    p = np.array(values)
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12, atol=1e-300)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_lowers_a_p_value_nor_reorders(values: list[float]) -> None:
    p = np.array(values)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


def test_tie_groups_are_maximal_runs_without_a_difference() -> None:
    """The first and the fourth differ, all else does not: two overlapping runs."""
    differ = np.zeros((4, 4), bool)
    differ[0, 3] = differ[3, 0] = True
    assert tie_groups(differ) == [(0, 2), (1, 3)]


def test_rank_bounds_count_those_surely_above_and_below() -> None:
    sure = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], bool)
    above = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], bool)
    bounds = rank_bounds(sure, above)
    assert (bounds.low.tolist(), bounds.high.tolist()) == ([1, 1, 3], [2, 2, 3])


def test_false_discovery_rates_are_scipys_and_what_is_not_known_does_not_count() -> None:
    p = np.random.default_rng(2).random(30) ** 3
    p[4] = p[5]
    with_gaps = np.insert(p, [0, 7, 30], np.nan)
    found = benjamini_hochberg(with_gaps)
    np.testing.assert_allclose(found[np.isfinite(with_gaps)], false_discovery_control(p), rtol=1e-12)
    assert np.isnan(found[np.isnan(with_gaps)]).all()
    assert len(benjamini_hochberg(np.array([]))) == 0
