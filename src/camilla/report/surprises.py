"""Where learners did what nobody expected."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EACH = 10  # surprises of a kind kept for each learner


class Surprises(NamedTuple):
    """For each learner its least expected successes, then failures: [learners, EACH]; sample −1: none."""

    solved: NDArray[np.int32]
    failed: NDArray[np.int32]


def surprises(expected: NDArray[np.float64], responses: NDArray[np.float64]) -> Surprises:
    """By |response − expected|, of those above a half: [learners, samples] in, sample indices out."""
    excess = np.where(np.isfinite(responses), responses - expected, 0)
    return Surprises(_largest(excess), _largest(-excess))


def _largest(excess: NDArray[np.float64]) -> NDArray[np.int32]:
    n_learners, n_samples = excess.shape
    keep = min(EACH, n_samples)
    found = np.argpartition(-excess, keep - 1, axis=1)[:, :keep]
    value = np.take_along_axis(excess, found, axis=1)
    order = np.argsort(-value, axis=1, kind="stable")
    found, value = np.take_along_axis(found, order, axis=1), np.take_along_axis(value, order, axis=1)
    out = np.full((n_learners, EACH), -1, np.int32)
    out[:, :keep] = np.where(value > 0.5, found, -1)
    return out
