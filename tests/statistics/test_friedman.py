"""Friedman's test and Nemenyi's critical difference against SciPy and the tables of Demšar (2006)."""

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from camilla.statistics.ranks import critical_difference, friedman


@pytest.mark.parametrize("digits", [6, 0])
def test_friedman_is_scipys_also_with_ties(digits):
    scores = np.round(np.random.default_rng(0).normal(size=(5, 14)) * 2, digits)
    found, scipys = friedman(scores), friedmanchisquare(*scores)
    assert found.statistic == pytest.approx(scipys.statistic)
    assert found.p_value == pytest.approx(scipys.pvalue)


def test_demsars_example():
    """Demšar (2006), Table 6: AUC of four kinds of C4.5 on 14 data sets. The paper prints mean
    ranks 3.143, 2.000, 2.893, 1.964, χ² = 9.28 and F = 3.69. It ranks the two .975 apart, before rounding."""
    auc = np.array(
        [
            [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
            [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
            [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
            [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
            [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
        ]
    ).T  # fmt: skip
    found = friedman(auc)
    np.testing.assert_allclose(found.mean_rank, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    squares = 12 * 14 / (4 * 5) * ((found.mean_rank - 2.5) ** 2).sum()  # the paper does not correct for ties
    assert squares == pytest.approx(9.28, abs=0.01)
    assert 13 * squares / (14 * 3 - squares) == pytest.approx(3.69, abs=0.01)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_values_are_demsars_table_5(k, q):
    assert critical_difference(k, 30) == pytest.approx(q * np.sqrt(k * (k + 1) / 180), abs=2e-3)


def test_all_ties_say_nothing():
    found = friedman(np.ones((3, 5)))
    assert found.statistic == 0
    assert found.p_value == 1
