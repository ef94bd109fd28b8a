"""Estimates with standard errors: z-tests, Wald tests of all pairs, and the ranks they allow. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, fdtrc, ndtr

from camilla.arrays import Floats
from camilla.statistics.multiplicity import (
    RankIntervals,
    holm_over_pairs,
    holm_reached,
    rank_bounds,
)

EQUAL = 1e-9  # logits, or standard deviations; an estimate is exact to about 1e-12


class Differences(NamedTuple):
    """Differences of estimates for all pairs, row less column, with their standard errors."""

    difference: Floats  # [estimates, estimates]
    se: Floats  # [estimates, estimates], 0 on the diagonal


def two_sided_p(z: ArrayLike) -> Floats:
    """P(|Z| ≥ |z|) of a standard normal Z."""
    return np.asarray(2 * ndtr(-np.abs(z)))


def below_zero_p(value: Floats, se: Floats) -> Floats:
    """One-sided p of value/se: small where an estimate is surely below 0; NaN where it has no error."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(ndtr(value / se))


def differences(value: Floats, covariance: Floats) -> Differences:
    """b_i − b_j and √(c_ii + c_jj − 2c_ij) for every pair."""
    variance = np.diag(covariance)
    squared = variance[:, None] + variance[None, :] - 2 * covariance
    return Differences(value[:, None] - value[None, :], np.sqrt(np.maximum(squared, 0)))


def wald_statistics(value: Floats, covariance: Floats) -> Floats:
    """(b_i − b_j)² / var for every pair; 0 where the estimates are equal to nine decimals.

    Players with the same scores everywhere have a variance of 0 and are equal, not sure to differ.
    """
    difference, se = differences(value, covariance)
    equal = np.abs(difference) < EQUAL
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(equal, 0.0, (difference / np.where(equal, 1.0, se)) ** 2)


def chi_p_values(statistic: ArrayLike, *, df: float, rounds_df: ArrayLike = np.inf) -> Floats:
    """P of a larger statistic: χ² on `df`, or F on (df, rounds_df) when that is finite."""
    if np.all(np.isinf(rounds_df)):
        return np.asarray(chdtrc(df, statistic))
    return np.asarray(fdtrc(df, rounds_df, np.asarray(statistic) / df))


def rank_intervals(value: Floats, p: Floats, level: float) -> RankIntervals:
    """1 + those surely better, to n − those surely worse.

    Surely: Holm over the n − 1 pair tests of one row at 1 − level, so each interval holds the rank of its
    row with probability `level` (Mogstad, Romano, Shaikh and Wilhelm, 2024).
    """
    n = len(value)
    off = ~np.eye(n, dtype=bool)
    sure = np.zeros((n, n), bool)
    sure[off] = holm_reached(p[off].reshape(n, n - 1), 1 - level).ravel()
    return rank_bounds(sure, value[None, :] > value[:, None])


def board_told_apart(value: Floats, se: Floats, level: float) -> NDArray[np.bool_]:
    """Wald tests of all pairs, Holm over all pairs; the errors of two estimates count as independent."""
    p = chi_p_values(wald_statistics(value, np.diag(se**2)), df=1)
    return np.asarray(holm_over_pairs(p) < 1 - level)


def surely_not_zero(value: Floats, se: Floats, level: float) -> NDArray[np.bool_]:
    """Where value/se differs from 0, Holm along the last axis; never where it is not known."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p = two_sided_p(value / se)
    return holm_reached(np.where(np.isfinite(p), p, 1.0), 1 - level)
