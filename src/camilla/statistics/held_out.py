"""Scores of predictions for units that no fit saw, with intervals over the units. Arrays only.

A unit is a sample, a learner, a cluster or a task that was held out with all of its responses. Every score is
a mean over cells (or units) of values, or has an influence function, which makes it one:

    AUC        r(F_wrong(p) − A)/R + q((1 − F_right(p)) − A)/Q      clustered: Obuchowski (1997)
    RMSE, R²   delta method

Its variance is that of the values' mean with the units as clusters (CR2), so that responses to one sample
count as one observation and not as many. Both sides of a difference have the same units: it is paired.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.statistics.clusters import ClusterPart, clustered_spread
from camilla.statistics.intervals import NONE, student

Index = NDArray[np.integer]


class HeldOut(NamedTuple):
    """Cells that were held out, one entry per cell; `row` is the sample or learner that was not seen."""

    response: Floats
    weight: Floats
    row: Index
    unit: Index  # what was held out as a whole: the row, or its cluster or task
    fold: Index


class ScoreInterval(NamedTuple):
    """A score or a difference of scores, with its interval over units."""

    value: float
    low: float
    high: float


class UnitSums(NamedTuple):
    """A score as a mean over units: the sum of its values in each unit, and their weight."""

    total: Floats
    size: Floats


def auc_sums(tested: HeldOut, predicted: Floats) -> UnitSums:
    """The AUC within each fold, the mean over folds by the weight of their cells.

    Folds without both right and wrong responses have no AUC and are left out.
    """
    total, size = (np.zeros(int(tested.unit.max()) + 1) for _ in range(2))
    for fold in np.unique(tested.fold):
        inside = tested.fold == fold
        weight, unit = tested.weight[inside], tested.unit[inside]
        found = _auc_influence(tested.response[inside], weight, predicted[inside])
        if found is None:
            continue
        area, influence = found
        mass = weight.sum()
        size += np.bincount(unit, weight, len(size))
        total += np.bincount(unit, weight * area + mass * influence, len(size))
    return UnitSums(total, size)


def _auc_influence(response: Floats, weight: Floats, predicted: Floats) -> tuple[float, Floats] | None:
    """The area, and what each cell pushes it by; None with right or with wrong responses only."""
    right, wrong = weight * response, weight * (1 - response)
    n_right, n_wrong = right.sum(), wrong.sum()
    if n_right <= 0 or n_wrong <= 0:
        return None
    _, level = np.unique(predicted, return_inverse=True)
    below_right, below_wrong = (_mid_share(level, mass) for mass in (right, wrong))
    area = float(right @ below_wrong / n_right)
    influence = right * (below_wrong - area) / n_right + wrong * (1 - below_right - area) / n_wrong
    return area, influence


def _mid_share(level: Index, mass: Floats) -> Floats:
    """The share of the mass below each cell's level, that on the level counted half."""
    at = np.bincount(level, mass)
    return ((np.cumsum(at) - at / 2) / at.sum())[level]


def mean_sums(tested: HeldOut, values: Floats) -> UnitSums:
    """The mean of a value per cell."""
    n = int(tested.unit.max()) + 1
    return UnitSums(
        np.bincount(tested.unit, tested.weight * values, n), np.bincount(tested.unit, tested.weight, n)
    )


def rmse_sums(tested: HeldOut, predicted: Floats) -> UnitSums:
    """The root of the mean squared error, linear about its value."""
    total, size = mean_sums(tested, (tested.response - predicted) ** 2)
    mean = total.sum() / size.sum()
    root = max(np.sqrt(mean), np.finfo(float).tiny)
    return UnitSums(root * size + (total - mean * size) / (2 * root), size)


def r2_sums(tested: HeldOut, predicted: Floats, constant: Floats) -> UnitSums:
    """1 − Σ(m − p)² / Σ(m − c)² over held-out rows: mean response m, predicted p, a constant c.

    The means are over the cells that a row has.
    """
    n = int(tested.row.max()) + 1
    weight = np.bincount(tested.row, tested.weight, n)
    rows = np.flatnonzero(weight)
    means = [
        np.bincount(tested.row, tested.weight * values, n)[rows] / weight[rows]
        for values in (tested.response, predicted, constant)
    ]
    error, spread = (means[0] - means[1]) ** 2, (means[0] - means[2]) ** 2
    unit = np.zeros(n, np.int64)
    unit[tested.row] = tested.unit
    a, b = error.mean(), max(spread.mean(), np.finfo(float).tiny)
    values = 1 - a / b - (error - a) / b + a * (spread - b) / b**2
    n_units = int(tested.unit.max()) + 1
    return UnitSums(np.bincount(unit[rows], values, n_units), np.bincount(unit[rows], minlength=n_units))


def unit_interval(sums: UnitSums, other: UnitSums | None = None) -> ScoreInterval:
    """The score, or by how much it is above another's, with a 95 % interval over units (CR2)."""
    total = sums.total if other is None else sums.total - other.total
    kept = sums.size > 0
    if not kept.any():
        return ScoreInterval(*[float("nan")] * 3)
    part = ClusterPart(total[kept], sums.size[kept].astype(np.float64))
    spread = clustered_spread(lambda: [part], stacked=True)
    value = float(spread.mean) if abs(spread.mean) > NONE else 0.0
    if int(spread.units) < 2:
        return ScoreInterval(value, float("nan"), float("nan"))
    if spread.is_flat:
        return ScoreInterval(value, value, value)
    ends = student(spread.mean, np.sqrt(spread.variance), spread.df)
    return ScoreInterval(value, float(ends.low), float(ends.high))
