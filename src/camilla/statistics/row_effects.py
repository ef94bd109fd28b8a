"""Effects of features on the levels of samples or learners, with their uncertainty. Arrays only.

Rows have observed levels y with known noise; y = x·w + u + noise, u ~ N(0, τ²). Effects are contrasts of w:
Student's t on rows − features degrees of freedom, or, where rows come in clusters, on clusters − 1 with the
jackknife over clusters (CR3), which does not assume that rows of a cluster are independent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.statistics.intervals import LEVEL, student
from camilla.statistics.row_levels import LEAST_VARIANCE, RowLevels

ROUNDS = 200


class Regression(NamedTuple):
    """Weights of features and how sure they are."""

    weights: Floats
    covariance: Floats
    variance: float  # τ²
    df: float


class Effect(NamedTuple):
    """Contrasts: estimates, 95 % intervals and p-values."""

    value: Floats
    low: Floats
    high: Floats
    p_value: Floats


def regression(levels: RowLevels, x: Floats, group: NDArray[np.integer] | None) -> Regression:
    """REML of the observed levels on `x`, of full rank."""
    noise = levels.variance * (1 / levels.trust - 1)
    variance = levels.variance
    for _ in range(ROUNDS):
        trust = variance / (variance + noise)
        information = np.linalg.inv((x.T * trust) @ x)
        weights = information @ (x.T @ (trust * levels.observed))
        leverage = variance * np.einsum("rf,fg,rg->r", x, information, x)
        slack = (levels.observed - x @ weights) ** 2 + leverage
        previous, variance = variance, max(float(trust**2 @ slack / trust.sum()), LEAST_VARIANCE)
        if abs(variance - previous) < 1e-8 * previous:
            break
    n, p = x.shape
    if group is None:
        return Regression(weights, variance * information, variance, float(n - p))
    spread, n_groups = _jackknife(x, levels.observed - x @ weights, trust, information, group)
    return Regression(weights, spread, variance, float(n_groups - 1))


def _jackknife(
    x: Floats, residual: Floats, trust: Floats, information: Floats, group: NDArray[np.integer]
) -> tuple[Floats, int]:
    """(G − 1)/G Σ (ŵ₋g − ŵ)(ŵ₋g − ŵ)', each ŵ₋g exact."""
    total = np.zeros_like(information)
    groups = np.unique(group)
    for one in groups:
        rows = group == one
        inside, weight = x[rows], trust[rows]
        hat = inside @ information @ (inside.T * weight)
        moved = information @ (inside.T * weight) @ np.linalg.pinv(np.eye(len(inside)) - hat) @ residual[rows]
        total += np.outer(moved, moved)
    return total * (len(groups) - 1) / len(groups), len(groups)


def contrasts(fitted: Regression, matrix: Floats) -> Effect:
    """Effects of the rows of a matrix [contrasts, features]."""
    from scipy.special import stdtr  # here, because it takes a fifth of a second to load

    value = matrix @ fitted.weights
    se = np.sqrt(np.einsum("cf,fg,cg->c", matrix, fitted.covariance, matrix))
    ends = student(value, se, fitted.df, LEVEL)
    with np.errstate(invalid="ignore", divide="ignore"):
        p_value = 2 * stdtr(fitted.df, -np.abs(value) / se)
    return Effect(value, ends.low, ends.high, p_value)


def joint_p(fitted: Regression, columns: NDArray[np.integer]) -> float:
    """Wald's F test that the weights of these columns are all 0."""
    from scipy.special import fdtrc  # here, because it takes a fifth of a second to load

    weights = fitted.weights[columns]
    spread = fitted.covariance[np.ix_(columns, columns)]
    statistic = float(weights @ np.linalg.pinv(spread) @ weights) / len(columns)
    return float(fdtrc(len(columns), fitted.df, statistic))
