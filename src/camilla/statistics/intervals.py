"""Ends of intervals. Arrays only."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from camilla.arrays import Floats

HALVINGS = 50  # of a search in [−1, 1]: 2⁻⁵⁰ is rounding
LEVEL = 0.95  # of every interval that nobody asks another level of
NONE = 1e-12  # a standard error of values in [0, 1] below it is rounding


class Ends(NamedTuple):
    """Lower and upper end."""

    low: Floats
    high: Floats


def critical_value(level: float, df: float) -> float:
    """Standard errors to an interval's end: Student's t on df, the normal if that is infinite."""
    tail = 0.5 + level / 2
    if np.isinf(df):
        return NormalDist().inv_cdf(tail)
    from scipy.special import stdtrit  # here, because it takes a fifth of a second to load

    return float(stdtrit(df, tail))


def student(mean: ArrayLike, se: ArrayLike, df: ArrayLike, level: float = LEVEL) -> Ends:
    """mean ± t(df) · se; the normal's where df is infinite."""
    from scipy.special import stdtrit  # here, because right/wrong responses do without

    mean, half = np.asarray(mean, np.float64), stdtrit(df, 0.5 + level / 2) * np.asarray(se, np.float64)
    return Ends(mean - half, mean + half)


def mean_interval(values: Floats, level: float = LEVEL) -> Ends:
    """Student's, of the mean of independent values; NaN of fewer than two."""
    n = len(values)
    if n < 2:
        return Ends(np.array(np.nan), np.array(np.nan))
    return student(values.mean(), values.std(ddof=1) / np.sqrt(n), n - 1, level)


def correlation_ends(r: Floats, n: Floats, level: float = LEVEL) -> Ends:
    """Fisher's: atanh r ± z/√(n − 3), of n independent pairs, taken for 4 at least."""
    half = critical_value(level, np.inf) / np.sqrt(np.maximum(n - 3, 1))
    return Ends(np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half))


def wilson(mean: ArrayLike, n: ArrayLike, critical: ArrayLike) -> Ends:
    """Wilson's (1927) interval of a share seen n times; NaN where n is 0 or not known."""
    mean, n, critical = (np.asarray(part, np.float64) for part in (mean, n, critical))
    with np.errstate(invalid="ignore", divide="ignore"):
        shrunk = 1 + critical**2 / n
        centre = (mean + critical**2 / (2 * n)) / shrunk
        half = critical / shrunk * np.sqrt(mean * (1 - mean) / n + critical**2 / (4 * n**2))
    return Ends(np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1))


def mean_ends(
    mean: Floats, variance: Floats, n: Floats, df: Floats, exact: NDArray[np.bool_], level: float,
    counted: NDArray[np.bool_] | None = None,
) -> Ends:  # fmt: skip
    """Of means of n draws in [0, 1] with these variances: Wilson's where draws are right or wrong (`exact`).

    Else m = p(1 − p)/variance stands for n and Student's t on df for the normal: the usual interval away
    from 0 and 1, which stays inside them. Where no draw differs from another, m is n if draws are right or
    wrong (`counted`, `exact` if not given); of fractions that are all the same there is no interval: NaN.
    """
    z = critical_value(level, np.inf)
    if exact.all():
        return wilson(mean, n, z)
    from scipy.special import stdtrit  # here, because right/wrong responses do without

    with np.errstate(invalid="ignore", divide="ignore"):
        effective = mean * (1 - mean) / variance
    counted = exact if counted is None else counted
    effective = np.where(variance < NONE**2, np.where(counted, n, np.nan), effective)
    effective = np.where(exact, n, effective)
    return wilson(mean, effective, np.where(exact, z, stdtrit(df, 0.5 + level / 2)))


def tango(won: ArrayLike, lost: ArrayLike, n: ArrayLike, level: float, *, df: float = float("inf")) -> Ends:
    """Tango's (1998) score interval of a paired difference of shares, (won − lost)/n.

    All d with |won − lost − n d| ≤ z √(n (2q + d(1 − d))), where q is the share lost of the highest
    likelihood when d is the difference. It holds 0 exactly if McNemar's χ² is within z².
    """
    won, lost, n = np.broadcast_arrays(*(np.asarray(part, np.float64) for part in (won, lost, n)))
    found, critical = (won - lost) / n, critical_value(level, np.inf)

    def end(edge: float) -> Floats:
        inside, outside = found, np.full(found.shape, edge)
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            reached = np.abs(tango_score(middle, won, lost, n)) <= critical
            inside, outside = np.where(reached, middle, inside), np.where(reached, outside, middle)
        return (inside + outside) / 2

    return Ends(end(-1.0), end(1.0))


def tango_score(difference: Floats, won: ArrayLike, lost: ArrayLike, n: ArrayLike) -> Floats:
    """Standard errors between the shares won and lost and this true difference."""
    won, lost, n = (np.asarray(part, np.float64) for part in (won, lost, n))
    linear = (2 * n - won + lost) * difference - won - lost
    constant = lost * difference * (1 - difference)
    q = (np.sqrt(np.maximum(linear**2 + 8 * n * constant, 0)) - linear) / (4 * n)
    variance = n * (2 * q + difference * (1 - difference))
    return (won - lost - n * difference) / np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))


Z = critical_value(LEVEL, np.inf)  # standard errors from an estimate to the ends of its interval
