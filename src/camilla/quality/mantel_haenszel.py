"""The odds ratio of a group over strata of ability, one a sample. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2

Floats = NDArray[np.float64]


class OddsRatios(NamedTuple):
    """Mantel–Haenszel odds ratios with 95 % intervals and the p of the test with continuity correction."""

    ratio: Floats
    log_se: Floats
    low: Floats
    high: Floats
    p: Floats


def mantel_haenszel(matrix: Floats, stratum: NDArray[np.integer], member: NDArray[np.bool_]) -> OddsRatios:
    """Odds of a right response in the group over those of the others (Mantel and Haenszel 1959).

    matrix: right/wrong [learners, samples], NaN where missing. With a, b right and wrong of the group, c, d
    of the others and n of all in a stratum: ratio Σad/n / Σbc/n; standard error of its logarithm by
    Robins, Breslow and Greenland (1986); test max(|Σ(a − E a)| − ½, 0)² / ΣVar a.
    """
    seen = ~np.isnan(matrix)
    right = np.where(seen, matrix, 0.0)
    wrong = np.where(seen, 1 - matrix, 0.0)
    in_stratum = stratum[:, None] == np.arange(int(stratum.max()) + 1)
    mine, others = in_stratum & member[:, None], in_stratum & ~member[:, None]
    a, b, c, d = (who.T.astype(np.float64) @ what for who in (mine, others) for what in (right, wrong))
    n = a + b + c + d
    full = n > 1
    n = np.where(full, n, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r, s = np.where(full, a * d / n, 0), np.where(full, b * c / n, 0)
        p, q = (a + d) / n, (b + c) / n
        top, bottom = r.sum(axis=0), s.sum(axis=0)
        ratio = top / bottom
        log_variance = (
            (p * r).sum(axis=0) / (2 * top**2)
            + (p * s + q * r).sum(axis=0) / (2 * top * bottom)
            + (q * s).sum(axis=0) / (2 * bottom**2)
        )
        mean = np.where(full, (a + b) * (a + c) / n, 0)
        variance = np.where(full, (a + b) * (c + d) * (a + c) * (b + d) / (n**2 * np.maximum(n - 1, 1)), 0)
        off = np.abs((np.where(full, a, 0) - mean).sum(axis=0))
        test = np.maximum(off - 0.5, 0) ** 2 / variance.sum(axis=0)
    known = (top > 0) & (bottom > 0)
    ratio = np.where(known, ratio, np.nan)
    log_se = np.where(known, np.sqrt(log_variance), np.nan)
    half = ndtri(0.975) * log_se
    return OddsRatios(
        ratio, log_se, ratio * np.exp(-half), ratio * np.exp(half), np.where(known, chi2.sf(test, 1), np.nan)
    )
