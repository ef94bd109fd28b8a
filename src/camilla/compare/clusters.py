"""The mean of samples that come in clusters: its variance and degrees of freedom. Arrays only.

Clusters c of size n_c, share h_c = n_c/n, push S_c = Σ(x − x̄) over the cluster:

    variance   Σ_c S_c² / (1 − h_c) / n²        (CR2; Bell and McCaffrey, 2002)
    df         (tr M)² / tr(M²)                 (Satterthwaite; Imbens and Kolesár, 2016)

with M the covariance of the S_c/√(1 − h_c) when samples of a cluster correlate by ρ, the intraclass
correlation seen. Single samples as clusters give the textbook s²/n on n − 1 degrees of freedom.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Part(NamedTuple):
    """One cluster: the sum of its responses and how many there are; any shape, one entry a mean."""

    total: Floats
    size: Floats


class Spread(NamedTuple):
    """A mean and how sure it is; arrays of one shape."""

    mean: Floats
    variance: Floats  # of the mean; NaN with fewer than two clusters
    df: Floats
    n: Floats  # samples
    units: Floats  # clusters
    icc: Floats  # correlation of two samples of one cluster, 0 to 1


class _Sums(NamedTuple):
    n: Floats
    total: Floats
    between: Floats  # Σ total²/size
    sizes: Floats  # Σ size²
    units: Floats


def plain_spread(total: Floats, square: Floats, n: Floats) -> Spread:
    """s²/n on n − 1 degrees of freedom, from Σx and Σx²."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        variance = np.maximum(square - n * mean**2, 0) / (n - 1) / n
    variance = np.where(n > 1, variance, np.nan)
    return Spread(mean, variance, n - 1, n, n, np.zeros_like(mean))


def clustered_spread(parts: Callable[[], Iterable[Part]], square: Floats) -> Spread:
    """Mean, CR2 variance and Satterthwaite's degrees of freedom; `parts` is gone through twice.

    `square` is Σx² over all samples.
    """
    sums = _add_up(parts())
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums.total / sums.n
        icc = _icc(sums, square, mean)
        variance, df = _sandwich(parts(), sums.n, mean, icc)
    known = sums.units > 1
    return Spread(
        mean, np.where(known, variance, np.nan), np.where(known, df, np.nan), sums.n, sums.units, icc
    )


def _add_up(parts: Iterable[Part]) -> _Sums:
    n = total = between = sizes = units = np.zeros(())
    for part in parts:
        n = n + part.size
        total = total + part.total
        between = between + part.total**2 / np.maximum(part.size, 1)
        sizes = sizes + part.size**2
        units = units + (part.size > 0)
    return _Sums(*(np.asarray(value, np.float64) for value in (n, total, between, sizes, units)))


def _icc(sums: _Sums, square: Floats, mean: Floats) -> Floats:
    """The analysis of variance's intraclass correlation, kept in [0, 1]; 0 if every cluster is one sample."""
    inside = sums.n - sums.units
    between = (sums.between - sums.n * mean**2) / (sums.units - 1)
    within = np.where(inside > 0, (square - sums.between) / np.maximum(inside, 1), between)
    typical = (sums.n - sums.sizes / sums.n) / (sums.units - 1)
    icc = (between - within) / (between + (typical - 1) * within)
    return np.clip(np.nan_to_num(np.where(inside > 0, icc, 0.0)), 0, 1)


def _sandwich(parts: Iterable[Part], n: Floats, mean: Floats, icc: Floats) -> tuple[Floats, Floats]:
    """Variance and degrees of freedom, from sums over clusters.

    With w = 1/(1 − h), v = n_c(1 − ρ) + n_c²ρ and V = Σv,
    M_cd = √(w_c w_d) (δ_cd v_c − h_d v_c − h_c v_d + h_c h_d V).
    """
    meat = whole = own = diagonal = crossed = a = b = c = np.zeros(())
    for part in parts:
        share = part.size / n
        w = 1 / np.where(share < 1, 1 - share, np.nan)
        v = part.size * (1 - icc) + part.size**2 * icc
        meat = meat + w * (part.total - part.size * mean) ** 2
        whole = whole + v
        own = own + w * v * (1 - 2 * share)
        diagonal = diagonal + w**2 * v**2 * (1 - 4 * share)
        crossed = crossed + w**2 * share**2 * v
        a, b, c = a + w * share**2, b + w * v**2, c + w * share * v
    trace = own + whole * a
    squared = diagonal + 2 * whole * crossed + 2 * a * b + 2 * c**2 - 4 * whole * a * c + whole**2 * a**2
    return np.asarray(meat / n**2), np.asarray(trace**2 / squared)


def parts_of(values: Floats, group: NDArray[np.integer]) -> Callable[[], list[Part]]:
    """The clusters of values [..., samples], all observed; `group` is each sample's cluster number."""
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    sizes = sizes[sizes > 0]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    totals = np.add.reduceat(values[..., order], starts, axis=-1)
    found = [Part(totals[..., k], np.asarray(size, np.float64)) for k, size in enumerate(sizes)]
    return lambda: found


def spread_of(values: Floats, group: NDArray[np.integer] | None) -> Spread:
    """The mean of values [..., samples] over the last axis, by clusters where there are any."""
    square = np.sum(values**2, axis=-1)
    if group is None:
        return plain_spread(values.sum(axis=-1), square, np.full(square.shape, float(values.shape[-1])))
    return clustered_spread(parts_of(values, group), square)
