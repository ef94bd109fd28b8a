"""Strengths by group: responses less what one level for all groups makes of them. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, sigmoid

SWEEPS = 500  # at most; tens are usual
CLOSE = 1e-7  # of a mean response, at which the fit is there
FARTHEST = 30.0  # logits: a learner that is right everywhere goes no farther
DECIMALS = 9  # of a sum of responses; what differs beyond is rounding


class Profile(NamedTuple):
    """Learners on groups of samples, [learners, groups]; NaN where a learner answered none of a group."""

    observed: Floats
    expected: Floats
    se: Floats  # of observed − expected
    n: NDArray[np.int64]

    @property
    def difference(self) -> Floats:
        return self.observed - self.expected


def additive_expectation(matrix: Floats) -> Floats:
    """p = σ(θᵢ − bⱼ) that reproduces every learner's and every sample's mean: Rasch's by maximum likelihood.

    [learners, samples] with NaN where missing in, all of them expected out. Samples with the same sum have
    the same b where nothing is missing, and are fitted once.
    """
    seen = np.isfinite(matrix)
    filled = np.where(seen, matrix, 0)
    if seen.all():
        total, place, count = np.unique(
            filled.sum(axis=0).round(DECIMALS), return_inverse=True, return_counts=True
        )
        weight = np.broadcast_to(count.astype(np.float64), (len(matrix), len(count)))
        return _fitted(weight, filled.sum(axis=1), total * count)[:, place]
    return _fitted(seen.astype(np.float64), filled.sum(axis=1), filled.sum(axis=0))


def _fitted(weight: Floats, rows: Floats, columns: Floats) -> Floats:
    """Newton's steps for θ and b in turn until the weighted sums of p are `rows` and `columns`."""
    level, hard = np.zeros(len(rows)), np.zeros(len(columns))
    size = [np.maximum(weight.sum(axis=axis), 1) for axis in (1, 0)]
    p = sigmoid(level[:, None] - hard)
    for _ in range(SWEEPS):
        level = _step(level, rows - (weight * p).sum(axis=1), (weight * p * (1 - p)).sum(axis=1))
        p = sigmoid(level[:, None] - hard)
        hard = _step(hard, (weight * p).sum(axis=0) - columns, (weight * p * (1 - p)).sum(axis=0))
        p = sigmoid(level[:, None] - hard)
        off = np.abs(rows - (weight * p).sum(axis=1)) / size[0]
        if (
            off.max(initial=0) < CLOSE
            and (np.abs(columns - (weight * p).sum(axis=0)) / size[1]).max() < CLOSE
        ):
            break
    return p


def _step(value: Floats, miss: Floats, information: Floats) -> Floats:
    return np.clip(value + np.clip(miss / np.maximum(information, 1e-12), -1, 1), -FARTHEST, FARTHEST)


def profile(matrix: Floats, expected: Floats, groups: NDArray[np.bool_]) -> Profile:
    """Means over each group of samples, `groups` [samples, groups].

    The variance of a response is p(1 − p), times how far fractional ones fall short of it in the whole table.
    """
    seen = np.isfinite(matrix)
    needs = groups.astype(np.float64)
    spread = np.where(seen, expected * (1 - expected), 0)
    if not np.isin(matrix[seen], (0, 1)).all():
        left = float(np.sum(np.where(seen, matrix - expected, 0) ** 2))
        spread = spread * min(1.0, left / max(float(spread.sum()), 1e-12))
    n = seen @ needs
    with np.errstate(invalid="ignore", divide="ignore"):
        return Profile(
            np.where(seen, matrix, 0) @ needs / n,
            np.where(seen, expected, 0) @ needs / n,
            np.sqrt(spread @ needs) / n,
            n.astype(np.int64),
        )
