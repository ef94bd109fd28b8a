"""Effects of features on levels: known weights are found, and intervals hold them as often as they say."""

import numpy as np
import pytest
import statsmodels.api as sm

from camilla.statistics.row_effects import contrasts, joint_p, regression
from camilla.statistics.row_levels import Grid, RowLevels, row_levels

WEIGHTS = np.array([0.5, -0.8, 0.6])


def grid_and_features(
    seed: int, rows: int, columns: int, *, tau: float = 1.0, cluster: np.ndarray | None = None
) -> tuple[Grid, np.ndarray]:
    """logit = column + 0.5 − 0.8 number + 0.6 group + residual; the residual is shared within a cluster.

    With clusters, the number is a property of the cluster.
    """
    rng = np.random.default_rng(seed)
    number, residual = rng.normal(0, 1, rows), tau * rng.normal(0, 1, rows)
    if cluster is not None:
        shared = rng.normal(0, 1, (2, cluster.max() + 1))
        number, residual = shared[0][cluster], 0.6 * residual + 0.8 * tau * shared[1][cluster]
    x = np.column_stack([np.ones(rows), number, rng.random(rows) < 0.3])
    level = rng.normal(0, 1.2, columns)
    logit = (x @ WEIGHTS + residual)[:, None] + level - level.mean()
    seen = rng.random((rows, columns)) < 0.9
    right = seen & (rng.random((rows, columns)) < 1 / (1 + np.exp(-logit)))
    return Grid(seen.astype(float), right.astype(float)), x


@pytest.mark.parametrize(("rows", "columns"), [(40, 60), (120, 15), (300, 4)])
def test_intervals_hold_the_known_weights(rows: int, columns: int) -> None:
    """150 worlds, 3 weights: a coverage of .95 has a spread of .018 each, .010 over all; allow .03 over all.

    The intercept is the level at the columns' mean, of which the columns' own sampling is no part.
    """
    held = []
    for seed in range(150):
        grid, x = grid_and_features(seed, rows, columns)
        levels = row_levels(grid, x)
        assert levels.converged
        found = contrasts(regression(levels, x, None), np.eye(3))
        held.append((found.low < WEIGHTS) & (found.high > WEIGHTS))
    assert 0.92 < np.mean(held) < 0.98


def test_clustered_rows_need_the_jackknife() -> None:
    """The number belongs to 25 clusters of 4 rows with a shared residual: plain intervals are too narrow."""
    cluster = np.repeat(np.arange(25), 4)
    held: dict[bool, list[bool]] = {True: [], False: []}
    for seed in range(150):
        grid, x = grid_and_features(seed, 100, 30, cluster=cluster)
        levels = row_levels(grid, x)
        for clustered, coverage in held.items():
            found = contrasts(regression(levels, x, cluster if clustered else None), np.eye(3)[1:2])
            coverage.append(bool(found.low[0] < -0.8 < found.high[0]))
    assert np.mean(held[True]) > 0.92
    assert np.mean(held[False]) < 0.88


def test_the_residual_variance_is_found() -> None:
    """REML's spread over 50 worlds of 120 rows is about τ/√(2·120) each, and 1 % of that of their mean."""
    found = []
    for seed in range(50):
        grid, x = grid_and_features(seed, 120, 40, tau=1.5)
        found.append(np.sqrt(row_levels(grid, x).variance))
    assert np.mean(found) == pytest.approx(1.5, abs=0.05)


def known_levels(y: np.ndarray, variance: float = 1.0) -> RowLevels:
    """Levels observed without noise."""
    ones = np.ones(len(y))
    return RowLevels(np.zeros(1), np.eye(1), variance, y, y, ones * (1 - 1e-9), np.zeros(2), converged=True)


def test_without_noise_it_is_ordinary_least_squares() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(50), rng.normal(size=(50, 3))])
    y = x @ [1, 0.5, 0, -0.3] + rng.normal(size=50)
    found, expected = regression(known_levels(y), x, None), sm.OLS(y, x).fit()
    effects = contrasts(found, np.eye(4))
    np.testing.assert_allclose(effects.value, expected.params, rtol=1e-6)
    np.testing.assert_allclose(np.c_[effects.low, effects.high], expected.conf_int(), rtol=1e-5)
    np.testing.assert_allclose(effects.p_value, expected.pvalues, rtol=1e-4)
    assert joint_p(found, np.array([1, 2, 3])) == pytest.approx(expected.f_pvalue, rel=1e-4)


def test_the_jackknife_leaves_out_one_cluster_at_a_time() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(10), 5)
    x = np.column_stack([np.ones(50), rng.normal(size=50)])
    y = x @ [1, 0.5] + rng.normal(size=50)
    found = regression(known_levels(y), x, group)
    left = np.array([sm.OLS(y[group != g], x[group != g]).fit().params for g in range(10)])
    away = left - sm.OLS(y, x).fit().params
    np.testing.assert_allclose(found.covariance, 0.9 * away.T @ away, rtol=1e-5)


def test_levels_are_the_same_from_any_start() -> None:
    """The model of some rows, begun where that of all rows ended: as from the beginning, to 1e-3 logits."""
    rng = np.random.default_rng(0)
    logit = rng.normal(size=12) - rng.normal(size=(60, 1))
    weight = (rng.random(logit.shape) < 0.6) * 1.0
    right = weight * (rng.random(logit.shape) < 1 / (1 + np.exp(-logit)))
    some = np.arange(50)
    whole = row_levels(Grid(weight, right), np.ones((60, 1)))
    part = Grid(weight[some], right[some])
    fresh = row_levels(part, np.ones((50, 1)))
    again = row_levels(part, np.ones((50, 1)), start=whole.of(some))
    for one, other in zip(fresh[2:7], again[2:7], strict=True):
        assert one == pytest.approx(other, abs=1e-3)
