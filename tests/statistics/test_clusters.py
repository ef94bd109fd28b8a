"""Clustered means against statsmodels, and against the definition written out with matrices."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.linalg import fractional_matrix_power
from scipy.stats import ttest_1samp

from camilla.statistics.clusters import intraclass, spread_of


def test_clusters_of_one_size_are_statsmodels_clusters() -> None:
    """With equal sizes CR2 and statsmodels' small-sample CR1 are the same number: rounding only."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(12), 5)
    x = rng.normal(size=60) + rng.normal(size=12)[group]
    fit = sm.OLS(x, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": group}, use_t=True)
    found = spread_of(x, group)
    np.testing.assert_allclose(np.sqrt(found.variance), fit.bse[0], rtol=1e-10)
    assert (found.df, found.units) == (pytest.approx(11), 12)


def test_clusters_of_different_sizes_are_the_definition() -> None:
    """Bell and McCaffrey (2002): A_c = (I − H_cc)^(−½) on residuals, df from GᵀG. Rounding only."""
    rng = np.random.default_rng(2)
    sizes = np.array([1, 2, 2, 5, 9, 20])
    group = np.repeat(np.arange(6), sizes)
    n = len(group)
    x = rng.normal(size=n)
    hat = np.full((n, n), 1 / n)
    columns, variance = [], 0.0
    for k in range(6):
        inside = np.flatnonzero(group == k)
        adjust = fractional_matrix_power(np.eye(len(inside)) - hat[np.ix_(inside, inside)], -0.5).real
        variance += (np.ones(len(inside)) @ adjust @ (x - x.mean())[inside] / n) ** 2
        columns.append((np.eye(n) - hat)[:, inside] @ adjust @ np.ones(len(inside)) / n)
    gram = np.array(columns) @ np.array(columns).T
    found = spread_of(x, group)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-9)
    np.testing.assert_allclose(found.df, np.trace(gram) ** 2 / np.sum(gram**2), rtol=1e-9)


def test_samples_as_clusters_of_one_are_the_textbook() -> None:
    x = np.random.default_rng(3).normal(size=40)
    plain, single = spread_of(x, None), spread_of(x, np.arange(40))
    np.testing.assert_allclose(single.variance, plain.variance)
    np.testing.assert_allclose(single.df, 39)
    np.testing.assert_allclose(plain.mean / np.sqrt(plain.variance), ttest_1samp(x, 0).statistic)


@pytest.mark.parametrize("n", [6, 11, 23, 100])
def test_values_that_are_all_the_same_have_no_spread(n: int) -> None:
    """.1 and .7 are no binary fractions: n of them leave rounding behind, and that is no spread. Values
    of 1 ± 1e-9 have one: the textbook's, by numpy, to its last digits."""
    for group in (None, np.arange(n), np.arange(n) % 4):
        assert spread_of(np.full(n, 0.1), group).is_flat
        assert spread_of(np.full((2, n), 0.7), group).is_flat.all()
        assert intraclass(np.full(n, 0.1), np.arange(n) % 4) == 0
    x = 1 + 1e-9 * np.random.default_rng(n).normal(size=n)
    np.testing.assert_allclose(spread_of(x, None).variance, np.var(x, ddof=1) / n, rtol=1e-12)
    assert not spread_of(x, None).is_flat


def test_one_cluster_knows_no_spread() -> None:
    assert np.isnan(spread_of(np.arange(5.0), np.zeros(5, int)).variance)


def test_intraclass_correlation_is_found_again() -> None:
    """1,000 clusters of 10, ρ = .4: the estimate's standard error is about .02; allow four of them."""
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(1000), 10)
    x = np.sqrt(0.4) * rng.normal(size=1000)[group] + np.sqrt(0.6) * rng.normal(size=10_000)
    assert intraclass(x, group) == pytest.approx(0.4, abs=0.08)
