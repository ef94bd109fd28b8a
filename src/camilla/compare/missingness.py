"""Which responses are missing: whole blocks, or here and there, and whether that depends on the answer."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from camilla.compare.all_pairs import side_of

Floats = NDArray[np.float64]

LEARNERS_OF_PAIRS = 2000  # more are drawn from at random when pairs are counted


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
    """
    seen = ~np.isnan(matrix)
    blocks = len(side_of(np.zeros(seen.shape, np.float32), seen).size)
    filled = np.where(seen, matrix, 0)
    n_sample, n_learner = seen.sum(axis=0), seen.sum(axis=1)
    easy = filled.sum(axis=0) / np.maximum(n_sample, 1)
    doing = np.where(seen, filled - easy, 0).sum(axis=1) / np.maximum(n_learner, 1)
    by_sample = rank_correlation(1 - seen.mean(axis=0), easy)
    by_learner = rank_correlation(1 - seen.mean(axis=1), doing)
    in_blocks = 1 < blocks <= max(2, matrix.shape[1] // 5)
    return Missingness(float(1 - seen.mean()), blocks, in_blocks, *by_sample, *by_learner)


class Correlation(NamedTuple):
    """Spearman's, with a two-sided p-value."""

    rho: float
    p_value: float


def rank_correlation(x: Floats, y: Floats) -> Correlation:
    """Spearman's correlation, p by the normal limit of √(n − 1) ρ; 0 and 1 where either is constant."""
    a, b = (_ranks(values) for values in (x, y))
    spread = a.std() * b.std()
    if spread == 0 or len(x) < 4:
        return Correlation(0.0, 1.0)
    rho = float(np.mean((a - a.mean()) * (b - b.mean())) / spread)
    return Correlation(rho, float(2 * ndtr(-abs(rho) * np.sqrt(len(x) - 1))))


def _ranks(values: Floats) -> Floats:
    """Ranks, the mean of them where values are equal."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def overlap_of(matrix: Floats, *, seed: int = 0) -> Overlap:
    """Shared samples of all pairs, of 2,000 learners drawn at random where there are more."""
    seen = ~np.isnan(matrix)
    if len(seen) > LEARNERS_OF_PAIRS:
        drawn = np.random.default_rng(seed).choice(len(seen), LEARNERS_OF_PAIRS, replace=False)
        seen = seen[np.sort(drawn)]
    side = side_of(np.zeros(seen.shape, np.float32), seen)
    shared = side.seen * side.size @ side.seen.T
    pairs = shared[np.triu_indices(len(shared), 1)]
    if len(pairs) == 0:
        return Overlap(0, 0, 0, 1)
    return Overlap(int(pairs.min()), int(np.median(pairs)), int(np.sum(pairs == 0)), _parts(shared > 0))


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
