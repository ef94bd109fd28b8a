"""Friedman's test of mean ranks, and Nemenyi's critical difference. Arrays only.

Demšar (2006): N blocks (data sets), k treatments (players). Ranks within a block count from 1 for the best;
ties share their mean rank.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc
from scipy.stats import rankdata, studentized_range

from camilla.arrays import Floats


class Friedman(NamedTuple):
    """Mean ranks and their tests."""

    mean_rank: Floats  # [treatments], 1 is best
    statistic: float  # χ² on k − 1 degrees of freedom, corrected for ties
    p_value: float
    f_statistic: float  # Iman and Davenport's (1980), less conservative
    f_p_value: float
    critical_difference: float  # of mean ranks, by Nemenyi's test at 1 − level
    n_blocks: int

    def line(self, level: float) -> str:
        """The test in words."""
        return (
            f"Friedman over {self.n_blocks} complete blocks: χ² {self.statistic:.2f} "
            f"(p = {self.p_value:.3g}), Iman–Davenport p = {self.f_p_value:.3g}; mean ranks further apart "
            f"than {self.critical_difference:.2f} differ (Nemenyi, {100 * level:g} %)."
        )


def friedman(scores: Floats, level: float = 0.95) -> Friedman:
    """Scores [treatments, blocks], higher is better, none missing; at least two of each."""
    k, n = scores.shape
    ranks = rankdata(-scores, axis=0)
    _, ties = np.unique(ranks + (k + 1) * np.arange(n), return_counts=True)
    correction = 1 - float((ties**3 - ties).sum()) / (n * k * (k**2 - 1))
    mean = ranks.mean(axis=1)
    if correction <= 0:
        statistic = 0.0
    else:
        statistic = 12 * n / (k * (k + 1)) * float(((mean - (k + 1) / 2) ** 2).sum()) / correction
    most = n * (k - 1)
    f = (n - 1) * statistic / (most - statistic) if statistic < most else np.inf
    return Friedman(
        mean_rank=mean,
        statistic=statistic,
        p_value=float(chdtrc(k - 1, statistic)),
        f_statistic=float(f),
        f_p_value=float(fdtrc(k - 1, (k - 1) * (n - 1), f)),
        critical_difference=critical_difference(k, n, level),
        n_blocks=n,
    )


def critical_difference(k: int, n: int, level: float = 0.95) -> float:
    """q √(k(k + 1)/(6n)), q the studentized range over √2 (Nemenyi, 1963)."""
    q = studentized_range.ppf(level, k, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))
