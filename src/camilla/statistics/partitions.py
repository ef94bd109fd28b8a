"""A mean over held-out samples that were dealt into folds several times. Arrays only.

Each partition has a mean and the variance of that mean, as if its routes, committees or models were given.
Another deal makes others of the same samples, and so another mean:

    variance = mean of the variances within + variance between partitions

the mean over partitions of σ² + (mean − overall mean)², with one degree of freedom taken off (Chernozhukov et
al., 2018, section 3.4). How far a deal moves the mean shows how far other samples would move what is fitted.
"""

from collections.abc import Sequence

import numpy as np

from camilla.statistics.clusters import MeanSpread


def over_partitions(spreads: Sequence[MeanSpread]) -> MeanSpread:
    """The mean over partitions and its variance; one partition has its own."""
    first = spreads[0]
    if len(spreads) == 1:
        return first
    means = np.array([one.mean for one in spreads])
    within = np.mean([one.variance for one in spreads], axis=0)
    return first._replace(mean=means.mean(axis=0), variance=within + means.var(axis=0, ddof=1))
