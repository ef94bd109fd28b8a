"""Ends of intervals. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

Floats = NDArray[np.float64]


class Ends(NamedTuple):
    """Lower and upper end."""

    low: Floats
    high: Floats


def critical_value(level: float, df: float) -> float:
    """Standard errors to an interval's end: Student's t on df, the normal if that is infinite."""
    tail = 0.5 + level / 2
    return float(ndtri(tail) if np.isinf(df) else stdtrit(df, tail))


def wilson(mean: ArrayLike, n: ArrayLike, critical: ArrayLike) -> Ends:
    """Wilson's (1927) interval of a share seen n times; NaN where n is 0 or not known."""
    mean, n, critical = (np.asarray(part, np.float64) for part in (mean, n, critical))
    with np.errstate(invalid="ignore", divide="ignore"):
        shrunk = 1 + critical**2 / n
        centre = (mean + critical**2 / (2 * n)) / shrunk
        half = critical / shrunk * np.sqrt(mean * (1 - mean) / n + critical**2 / (4 * n**2))
    return Ends(np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1))
