"""Ends of intervals. Arrays only."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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


def wilson(mean: ArrayLike, n: ArrayLike, critical: ArrayLike) -> Ends:
    """Wilson's (1927) interval of a share seen n times; NaN where n is 0 or not known."""
    mean, n, critical = (np.asarray(part, np.float64) for part in (mean, n, critical))
    with np.errstate(invalid="ignore", divide="ignore"):
        shrunk = 1 + critical**2 / n
        centre = (mean + critical**2 / (2 * n)) / shrunk
        half = critical / shrunk * np.sqrt(mean * (1 - mean) / n + critical**2 / (4 * n**2))
    return Ends(np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1))
