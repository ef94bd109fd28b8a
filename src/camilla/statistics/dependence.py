"""Whether learners agree more often than their levels and the samples explain. Arrays only."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from camilla.arrays import Floats, sigmoid

FEWEST = 6  # learners: of fewer, nobody knows how hard a sample is for the others
MOST_LEARNERS, MOST_SAMPLES = 400, 2000  # looked at, evenly spaced
CHANCE = 0.01  # that any pair of independent learners is named
MISSING = 0.3  # share of the expected differences that a pair named does not have
FEWEST_PAIRS = 1 / 500  # of all: fewer come about where levels and samples are only roughly described


class Agreement(NamedTuple):
    """Pairs of learners that differ on far fewer samples than independent ones of their levels would."""

    n_pairs: int  # looked at
    n_alike: int
    closest: tuple[int, int]  # rows of the pair that lacks most of its differences
    differ: int  # samples on which these two differ
    expected: float  # on which they would


def agreement_of(matrix: Floats) -> Agreement | None:
    """Of rows [learners, samples], NaN where missing; None where there are too few.

    P(right) has the log-odds of the sample among all learners plus those of the learner's level. Two
    independent learners differ on Σ q samples with variance Σ q (1 − q), q = p + p′ − 2 p p′. A pair is named
    where it lacks MISSING of these, more than chance explains (Bonferroni over all pairs). Scores count as
    above or below the sample's mean.
    """
    rows = np.arange(0, len(matrix), max(1, -(-len(matrix) // MOST_LEARNERS)))
    part = matrix[rows][:, :: max(1, -(-matrix.shape[1] // MOST_SAMPLES))]
    seen = ~np.isnan(part)
    if len(part) < FEWEST or not seen.any():
        return None
    n_seen, filled = seen.sum(axis=0), np.where(seen, part, 0)
    right = seen & (filled >= np.maximum(filled.sum(axis=0) / np.maximum(n_seen, 1), 1e-9))
    level = (right.sum(axis=1) + 0.5) / (seen.sum(axis=1) + 1)
    easy = (right.sum(axis=0) + level.mean()) / (n_seen + 1)
    learner, sample, centre = (np.log(share / (1 - share)) for share in (level, easy, level.mean()))
    p = sigmoid(learner[:, None] + sample - centre) * seen
    expected = _over_pairs(p, p**2, seen.astype(np.float64))
    up = right.astype(np.float64)
    differ = up @ seen.T
    differ = differ + differ.T - 2 * up @ up.T
    first, second = np.triu_indices(len(part), 1)
    mean, spread = expected.mean[first, second], np.sqrt(np.maximum(expected.variance[first, second], 1e-9))
    lacking = mean - differ[first, second]
    limit = -ndtri(CHANCE / len(first))
    share = lacking / np.maximum(mean, 1e-9)
    alike = (lacking > limit * spread) & (share > MISSING)
    if alike.sum() < max(1, FEWEST_PAIRS * len(first)):
        alike[:] = False
    most = int(np.argmax(np.where(alike, share, -np.inf)))
    pair = int(first[most]), int(second[most])
    return Agreement(
        len(first), int(alike.sum()), (int(rows[pair[0]]), int(rows[pair[1]])), int(differ[pair]),
        float(expected.mean[pair]),
    )  # fmt: skip


class _Moments(NamedTuple):
    mean: Floats  # [learners, learners]
    variance: Floats


def _over_pairs(p: Floats, square: Floats, seen: Floats) -> _Moments:
    """Σ q and Σ q (1 − q) over the samples that both answered, by matrix products."""
    one, two, mixed = p @ seen.T, square @ seen.T, square @ p.T
    mean = one + one.T - 2 * p @ p.T
    squares = two + two.T + 4 * square @ square.T + 2 * p @ p.T - 4 * (mixed + mixed.T)
    return _Moments(mean, mean - squares)
