"""Which responses are missing: whole blocks, or here and there, and whether that depends on the answer."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.statistics.all_pairs import side_of


class Missingness(NamedTuple):
    """Where responses are missing."""

    share: float  # of the cells
    blocks: int  # sets of samples that the same learners answered
    in_blocks: bool  # whether few such sets explain all that is missing
    by_sample: float  # rank correlation: a sample's missing share with its mean response
    by_sample_p: float
    by_learner: float  # rank correlation: a learner's missing share with how it does on what it answered
    by_learner_p: float


class Overlap(NamedTuple):
    """Samples that pairs of learners share."""

    fewest: int
    median: int
    none: int  # pairs that share no sample
    parts: int  # sets of learners that are joined by no shared sample


def missingness_of(matrix: Floats) -> Missingness:
    """How the gaps of a matrix [learners, samples] lie.

    A learner's doing is its mean response less the mean of the same samples over all who answered them.
    How hard a sample is that nobody answered is not known, nor how a learner does without a response: they
    count in the share and the blocks alone.
    """
    seen = ~np.isnan(matrix)
    blocks = len(side_of(np.zeros(seen.shape, np.float32), seen).size)
    filled = np.where(seen, matrix, 0)
    n_sample, n_learner = seen.sum(axis=0), seen.sum(axis=1)
    easy = filled.sum(axis=0) / np.maximum(n_sample, 1)
    doing = np.where(seen, filled - easy, 0).sum(axis=1) / np.maximum(n_learner, 1)
    asked, present = n_sample > 0, n_learner > 0
    by_sample = rank_correlation(1 - seen.mean(axis=0)[asked], easy[asked])
    by_learner = rank_correlation(1 - seen.mean(axis=1)[present], doing[present])
    in_blocks = 1 < blocks <= max(2, matrix.shape[1] // 5)
    return Missingness(float(1 - seen.mean()), blocks, in_blocks, *by_sample, *by_learner)


class RankCorrelation(NamedTuple):
    """Spearman's, with a two-sided p-value."""

    rho: float
    p_value: float


def rank_correlation(x: Floats, y: Floats) -> RankCorrelation:
    """Spearman's correlation, p by the normal limit of √(n − 1) ρ; 0 and 1 where either is constant."""
    a, b = (_ranks(values) for values in (x, y))
    spread = a.std() * b.std()
    if spread == 0 or len(x) < 4:
        return RankCorrelation(0.0, 1.0)
    rho = float(np.mean((a - a.mean()) * (b - b.mean())) / spread)
    return RankCorrelation(rho, math.erfc(abs(rho) * math.sqrt((len(x) - 1) / 2)))


def _ranks(values: Floats) -> Floats:
    """Ranks, the mean of them where values are equal."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def overlap_of(seen: NDArray[np.bool_]) -> Overlap:
    """Shared samples of all pairs of rows, counted between the different sets of samples that occur."""
    side = side_of(np.zeros(seen.shape, np.float32), seen)
    kinds, count = np.unique(side.seen, axis=0, return_counts=True)
    shared = kinds * side.size @ kinds.T
    pairs = np.outer(count, count).astype(np.float64)
    np.fill_diagonal(pairs, count * (count - 1))
    inside = pairs > 0
    if not inside.any():
        return Overlap(0, 0, 0, 1)
    order = np.argsort(shared[inside], kind="stable")
    ordered, total = shared[inside][order], np.cumsum(pairs[inside][order])
    median = ordered[np.searchsorted(total, total[-1] / 2)]
    none = int(np.sum(pairs[inside & (shared == 0)])) // 2
    return Overlap(int(ordered[0]), int(median), none, _parts(shared > 0))


def _parts(joined: NDArray[np.bool_]) -> int:
    left, parts = np.ones(len(joined), bool), 0
    while left.any():
        front = np.zeros(len(joined), bool)
        front[np.argmax(left)] = True
        reached = front.copy()
        while front.any():
            front = joined[front].any(axis=0) & ~reached
            reached |= front
        left &= ~reached
        parts += 1
    return parts
