"""The mean of samples that come in clusters: its variance and degrees of freedom. Arrays only.

Clusters c of size n_c, share h_c = n_c/n, push S_c = Σ(x − x̄) over the cluster, w_c = 1/(1 − h_c):

    variance   Σ w S² / n²                              CR2
    df         1 / (Σ w²h²(1 − 2h) + (Σ w h²)²)         Satterthwaite's, samples independent

Bell and McCaffrey (2002), for a mean. G clusters of one size have G − 1 degrees of freedom; single
samples give s²/n on n − 1. `docs/design/told-apart.md` has the reasons and the coverage.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.statistics.intervals import NONE

FEW = 20  # clusters below which little is known of how they differ


class ClusterPart(NamedTuple):
    """One cluster: the sum of its responses and how many there are; any shape, one entry per mean."""

    total: Floats
    size: Floats


class MeanSpread(NamedTuple):
    """A mean and how sure it is; arrays of one shape."""

    mean: Floats
    variance: Floats  # of the mean; NaN with fewer than two clusters
    df: Floats
    n: Floats  # samples
    units: Floats  # clusters

    @property
    def is_flat(self) -> NDArray[np.bool_]:
        """Where no unit differs from another but by rounding."""
        return self.variance < NONE**2


def plain_spread(mean: Floats, square: Floats, n: Floats) -> MeanSpread:
    """s²/n on n − 1 degrees of freedom, from the mean and Σ(x − mean)²."""
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = square / (n - 1) / n
    return MeanSpread(mean, np.where(n > 1, variance, np.nan), n - 1, n, n)


def clustered_spread(parts: Callable[[], Iterable[ClusterPart]], *, stacked: bool = False) -> MeanSpread:
    """Mean, variance and degrees of freedom over clusters; `parts` is gone through twice.

    With `stacked` a part holds many clusters, along the last axis.
    """

    def over(values: Floats) -> Floats:
        return values.sum(axis=-1) if stacked else values

    n = total = units = np.zeros(())
    for part in parts():
        n, total, units = n + over(part.size), total + over(part.total), units + over(part.size > 0)
    meat = own = crossed = np.zeros(())
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        centre = mean[..., None] if stacked else mean
        for part in parts():
            share = part.size / n
            w = 1 / np.where(share < 1, 1 - share, np.nan)
            meat = meat + over(w * (part.total - part.size * centre) ** 2)
            own = own + over(w**2 * share**2 * (1 - 2 * share))
            crossed = crossed + over(w * share**2)
        variance, df = meat / n**2, 1 / (own + crossed**2)
    return MeanSpread(*(np.asarray(part, np.float64) for part in (mean, variance, df, n, units)))


def stacked_parts(values: Floats, group: NDArray[np.integer]) -> ClusterPart:
    """The clusters of values [..., samples], all observed; `group` is each sample's cluster number."""
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    sizes = sizes[sizes > 0]
    totals = np.add.reduceat(values[..., order], np.cumsum(sizes) - sizes, axis=-1)
    return ClusterPart(totals, sizes.astype(np.float64))


def spread_of(values: Floats, group: NDArray[np.integer] | None) -> MeanSpread:
    """The mean of values [..., samples] over the last axis, by clusters where there are any."""
    if group is None:
        mean = values.mean(axis=-1)
        square = np.sum((values - mean[..., None]) ** 2, axis=-1)
        return plain_spread(mean, square, np.full(mean.shape, float(values.shape[-1])))
    part = stacked_parts(values, group)
    return clustered_spread(lambda: [part], stacked=True)


def learner_spread(matrix: Floats, group: NDArray[np.integer] | None) -> MeanSpread:
    """Mean of each row over its samples, with the variance of that mean, by clusters if there are any."""
    seen = ~np.isnan(matrix)
    filled = np.where(seen, matrix, 0)
    if group is None:
        n = seen.sum(axis=1).astype(np.float64)
        mean = filled.sum(axis=1) / n
        off = np.where(seen, filled - mean[:, None], 0)
        return plain_spread(mean, np.sum(off**2, axis=1), n)

    def parts() -> Iterator[ClusterPart]:
        for k in np.unique(group):
            inside = group == k
            yield ClusterPart(filled[:, inside].sum(axis=1), seen[:, inside].sum(axis=1).astype(np.float64))

    return clustered_spread(parts)


def intraclass(values: Floats, group: NDArray[np.integer]) -> float:
    """Correlation of two samples of one cluster (analysis of variance); 0 if every cluster is one sample."""
    values = values - values.mean()
    total, size = stacked_parts(values, group)
    n, units = size.sum(), len(size)
    if units in (1, n):
        return 0.0
    between = (np.sum(total**2 / size) - total.sum() ** 2 / n) / (units - 1)
    within = (np.sum(values**2) - np.sum(total**2 / size)) / (n - units)
    typical = (n - np.sum(size**2) / n) / (units - 1)
    power = between + (typical - 1) * within
    return float((between - within) / power) if power > NONE**2 else 0.0
