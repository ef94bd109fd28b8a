"""The macro average: the mean over tasks of task means, with its variance and degrees of freedom.

Samples of task t, which has N_t of them, weigh 1/(T N_t). A cluster c takes the share h_ct = n_ct/N_t of the
task and pushes S_ct = Σ(x − x̄_t) over its samples there:

    variance   Σ_c (Σ_t S_ct / (T N_t √(1 − h_ct)))²      CR2 with a mean for each task
    df         (tr Γ)² / ‖Γ‖²                              Satterthwaite's, samples independent

Γ is the covariance of what clusters push, where samples of a task vary as much as its mean's variance says.
Clusters that stay within a task add up: the variance is Σ_t v_t/T², and df is Welch's (1947). One task is
`clusters.spread_of`. The average over all samples, which weighs a task by its size, is the micro average.

A small task without a wrong answer, or without a flip, would seem to be known exactly, and has the weight of
a large one. Right/wrong responses without clusters therefore get one right and one wrong answer more, and
differences one flip each way (after Agresti and Coull, 1998; Bonett and Price, 2012). The tasks share them,
and only the variance counts them, not the mean. `docs/results/macro.md` has the coverage with and without.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.statistics.clusters import MeanSpread, learner_spread, spread_of
from camilla.statistics.intervals import NONE
from camilla.statistics.paired import PairedResponses, difference_ends

FLIPS = 2.0  # one each way
ANSWERS = 1.0  # one right, one wrong, at most


class MacroEffect(NamedTuple):
    """b − a as the mean over tasks of the differences of task means."""

    n_tasks: int
    mean_a: float
    mean_b: float
    difference: float
    se: float  # NaN where it cannot be known
    low: float
    high: float


def nested(stratum: NDArray[np.integer], group: NDArray[np.integer] | None) -> bool:
    """Whether every cluster stays within one task."""
    if group is None:
        return True
    return len(np.unique(np.stack([group, stratum]), axis=1).T) == len(np.unique(group))


def mean_of_means(parts: Sequence[MeanSpread], more: Floats | float = 0.0) -> MeanSpread:
    """The mean of independent means, one per task: Σv/T², on Welch's degrees of freedom.

    `more` is the sum of squares of the answers that all tasks together get more, 0 where there are none.
    `n` is what the same number of samples in tasks of one size would be: T²/Σ(1/n). A task whose samples do
    not differ adds nothing; where none do, the degrees of freedom add up.
    """
    mean, own, df, n, units = (np.stack(column) for column in zip(*parts, strict=True))
    tasks = len(parts)
    own = own + more / (tasks * n**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        welch = own.sum(axis=0) ** 2 / np.sum(np.where(own > 0, own**2 / df, 0.0), axis=0)
        worth = tasks**2 / np.sum(1 / n, axis=0)
    variance = own.sum(axis=0) / tasks**2
    freedom = np.where(variance < NONE**2, df.sum(axis=0), welch)
    return MeanSpread(mean.mean(axis=0), variance, freedom, worth, units.sum(axis=0))


def macro_spread(
    values: Floats, stratum: NDArray[np.integer], group: NDArray[np.integer] | None, more: float = 0.0
) -> MeanSpread:
    """Of values [samples], `stratum` being the number of each sample's task, from 0 on."""
    tasks = [stratum == t for t in range(int(stratum.max()) + 1)]
    groups = [None if group is None else numbered(group[rows]) for rows in tasks]
    parts = [spread_of(values[rows], codes) for rows, codes in zip(tasks, groups, strict=True)]
    spread = mean_of_means(parts, more)
    if group is None or nested(stratum, group):
        return spread
    means = np.array([float(part.mean) for part in parts])
    square = np.array([float(part.variance * part.n) for part in parts])
    variance, df = crossed(values - means[stratum], stratum, numbered(group), square)
    units = np.asarray(float(len(np.unique(group))))
    return spread._replace(variance=np.asarray(variance), df=np.asarray(df), units=units)


def macro_rows(
    matrix: Floats,
    stratum: NDArray[np.integer],
    group: NDArray[np.integer] | None,
    more: Floats | float = 0.0,
) -> MeanSpread:
    """`macro_spread` of each row of a matrix [learners, samples], NaN where missing.

    NaN of rows that have no response in one of the tasks.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = [
            learner_spread(matrix[:, stratum == t], None if group is None else group[stratum == t])
            for t in range(int(stratum.max()) + 1)
        ]
        spread = mean_of_means(parts, more)
    if group is None or nested(stratum, group):
        return spread
    rows = [np.flatnonzero(~np.isnan(row)) for row in matrix]
    for at, seen in enumerate(rows):
        if not np.isnan(spread.mean[at]):
            one = macro_spread(matrix[at, seen], stratum[seen], group[seen])
            spread.variance[at], spread.df[at], spread.units[at] = one.variance, one.df, one.units
    return spread


def numbered(group: NDArray[np.integer]) -> NDArray[np.integer]:
    """Clusters as numbers from 0 on."""
    return np.unique(group, return_inverse=True)[1]


def crossed(
    residual: Floats, stratum: NDArray[np.integer], group: NDArray[np.integer], square: Floats
) -> tuple[float, float]:
    """Variance and degrees of freedom where clusters cross tasks; `square` is σ² of each task."""
    n_groups, tasks = int(group.max()) + 1, len(square)
    cell, shape = group * tasks + stratum, (n_groups, tasks)
    count = np.bincount(cell, minlength=n_groups * tasks).reshape(shape).astype(np.float64)
    pushed = np.bincount(cell, residual, n_groups * tasks).reshape(shape)
    size = count.sum(axis=0)
    share = count / size
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = 1 / np.sqrt(np.where(share < 1, 1 - share, np.nan)) / (tasks * size)
    variance = float(np.sum(np.sum(weight * pushed, axis=1) ** 2))
    reach, diagonal, centred = weight * count, np.sum(square * weight**2 * count, axis=1), square / size
    trace = diagonal.sum() - np.sum(centred * np.sum(reach**2, axis=0))
    norm = (
        np.sum(diagonal**2)
        - 2 * np.sum(centred * (diagonal @ reach**2))
        + np.sum(np.outer(centred, centred) * (reach.T @ reach) ** 2)
    )
    return variance, float(trace**2 / norm) if norm > 0 else float(n_groups - 1)


def macro_effect(pair: PairedResponses, stratum: NDArray[np.integer], level: float) -> MacroEffect:
    """B less A with each task counted once, whatever its number of samples; Student's t."""
    counted = pair.group is None and pair.is_binary
    spread = macro_spread(pair.difference, stratum, pair.group, FLIPS if counted else 0.0)
    size = np.bincount(stratum)
    weight = 1 / (len(size) * size[stratum])
    ends = difference_ends(spread, level)
    return MacroEffect(
        len(size), float(weight @ pair.a), float(weight @ pair.b), float(spread.mean),
        float(np.sqrt(spread.variance)), float(np.clip(ends.low, -1, 1)), float(np.clip(ends.high, -1, 1)),
    )  # fmt: skip
