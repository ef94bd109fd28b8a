"""Exact McNemar against statsmodels; sign flips against scipy's permutation test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar

from camilla.statistics.paired import mcnemar_p, mcnemar_table, sign_flip


@given(st.integers(0, 300), st.integers(0, 300))
def test_exact_mcnemar_is_statsmodels(lost: int, won: int) -> None:
    """Two ways to sum the same binomial tail: 1e-9 relative."""
    expected = mcnemar(np.array([[10, lost], [won, 10]]), exact=True).pvalue
    assert mcnemar_p(lost, won) == pytest.approx(min(expected, 1.0), rel=1e-9)


def test_the_table_of_p_values_is_the_function() -> None:
    table = mcnemar_table(40)
    for fewer in range(21):
        for both in range(2 * fewer, 41):
            assert table[fewer, both] == mcnemar_p(fewer, both - fewer)


def test_few_units_are_enumerated_as_scipy_does() -> None:
    """Both count all 2¹² sign patterns, ties included."""
    x = np.random.default_rng(1).normal(0.4, 1, 12).round(1)
    expected = permutation_test(
        (x,), lambda d: abs(d.mean()), permutation_type="samples", alternative="greater", vectorized=False
    )
    found = sign_flip(x)
    assert found.method == "exact sign flips"
    assert found.p_value == pytest.approx(expected.pvalue)


def test_many_units_are_drawn_with_a_seed_and_agree_with_mcnemar() -> None:
    """±1 units make it McNemar's test; 20,000 draws have a standard error of .0016 at .05; allow four."""
    units = np.array([1.0] * 60 + [-1.0] * 40)
    found = sign_flip(units, seed=3)
    assert found == sign_flip(units, seed=3)
    assert found.draws == 19_999
    assert found.p_value == pytest.approx(float(mcnemar_p(40, 60)), abs=0.0064)


def test_units_that_are_zero_say_nothing() -> None:
    assert sign_flip(np.zeros(5)).p_value == 1
    x = np.array([0.5, 1.0, 0.25])
    assert sign_flip(np.concatenate([x, np.zeros(50)])).p_value == sign_flip(x).p_value
