"""How a sample goes along with the rest of its table. Arrays only, [learners, samples], NaN where missing."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
FEWEST = 5  # learners a correlation with an interval needs


class Correlation(NamedTuple):
    """A correlation a sample with its 95 % interval; NaN where a sample or its rest does not vary."""

    r: Floats
    low: Floats
    high: Floats


def item_rest(matrix: Floats) -> Correlation:
    """Correlation of a sample's responses with each learner's mean over its other samples.

    The standard error is that of the influence function, uᵢvᵢ − r(uᵢ² + vᵢ²)/2 with u and v standardised,
    which holds for right/wrong responses too; the interval is Student's, made on Fisher's scale atanh r.
    """
    seen = ~np.isnan(matrix)
    x = np.where(seen, matrix, 0.0)
    others = seen.sum(axis=1, keepdims=True) - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(seen & (others > 0), (x.sum(axis=1, keepdims=True) - x) / others, 0.0)
        n = (seen & (others > 0)).sum(axis=0).astype(np.float64)
        u, v = (_standardised(part, seen & (others > 0), n) for part in (x, rest))
        r = np.clip((u * v).sum(axis=0) / n, -1, 1)
        influence = np.where(seen, u * v - r * (u**2 + v**2) / 2, 0.0)
        se = np.sqrt((influence**2).sum(axis=0) / (n * (n - 3)))
        half = stdtrit(n - 3, 0.975) * se / (1 - r**2)
        known = (n >= FEWEST) & np.isfinite(half)
        centre, half = np.where(known, np.arctanh(r), np.nan), np.where(known, half, np.nan)
    return Correlation(
        np.where(n >= FEWEST, r, np.nan),
        np.tanh(centre - half),
        np.tanh(centre + half),
    )


def _standardised(values: Floats, seen: NDArray[np.bool_], n: Floats) -> Floats:
    """Columns with mean 0 and variance 1 over what is seen; NaN where a column does not vary."""
    mean = np.where(seen, values, 0.0).sum(axis=0) / n
    off = np.where(seen, values - mean, 0.0)
    variance = (off**2).sum(axis=0) / n
    return off / np.sqrt(np.where(variance > 1e-12, variance, np.nan))
