"""How many dimensions the learners can carry: parallel analysis against permuted responses. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats

PERMUTATIONS = 20
MOST = 400  # learners and samples looked at; more are drawn from at random


class Dimensions(NamedTuple):
    """Eigenvalues of the samples' correlations that chance does not reach."""

    number: int
    share: float  # of the variance, on the first dimension
    eigenvalues: Floats  # largest first, ten at most
    chance: Floats  # 95 % quantile of the same under permutation
    n_learners: int  # looked at
    n_samples: int
    of_learners: int  # in the table
    of_samples: int  # of the table, on which responses differ


def parallel_analysis(matrix: Floats, *, seed: int = 0) -> Dimensions:
    """Horn's (1965) parallel analysis with responses permuted within samples (Buja and Eyuboglu, 1992).

    Dimensions are counted while the k-th eigenvalue exceeds 95 % of the permuted tables' k-th.
    Constant samples are left out; a missing response stays where it is and counts as the sample's mean.
    """
    rng = np.random.default_rng(seed)
    known = matrix[:, ~np.isnan(matrix).all(axis=0)]
    whole = len(matrix), int(np.sum(np.nanmax(known, axis=0) - np.nanmin(known, axis=0) > 1e-9))
    matrix = _drawn(_drawn(matrix, rng).T, rng).T
    seen = ~np.isnan(matrix)
    filled = np.where(seen, matrix, 0)
    n = seen.sum(axis=0)
    centred = np.where(seen, filled - filled.sum(axis=0) / np.maximum(n, 1), 0)
    scale = np.sqrt(np.sum(centred**2, axis=0))
    varies = scale > 1e-9
    if varies.sum() < 2 or len(matrix) < 3:
        return Dimensions(0, 0.0, np.zeros(0), np.zeros(0), len(matrix), int(varies.sum()), *whole)
    standard, seen = centred[:, varies] / scale[varies], seen[:, varies]
    found = _eigenvalues(standard)
    permuted = np.array([_eigenvalues(_permuted(standard, seen, rng)) for _ in range(PERMUTATIONS)])
    chance = np.quantile(permuted, 0.95, axis=0)
    above = found > chance
    count = int(len(above) if above.all() else np.argmin(above))
    return Dimensions(
        count, float(found[0] / found.sum()), found[:10], chance[:10], len(matrix), int(varies.sum()), *whole
    )


def _drawn(matrix: Floats, rng: np.random.Generator) -> Floats:
    if len(matrix) <= MOST:
        return matrix
    return matrix[np.sort(rng.choice(len(matrix), MOST, replace=False))]


def _eigenvalues(standard: Floats) -> Floats:
    """Of the samples' correlation matrix, largest first; through the smaller of the two Gram matrices."""
    gram = standard @ standard.T if len(standard) < standard.shape[1] else standard.T @ standard
    return np.maximum(np.linalg.eigvalsh(gram)[::-1], 0)


def _permuted(values: Floats, seen: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Each column's seen values in random order, in the places that were seen."""
    natural = np.argsort(~seen, axis=0, kind="stable")
    drawn = np.argsort(np.where(seen, rng.random(seen.shape), 2), axis=0)
    out = np.zeros_like(values)
    np.put_along_axis(out, natural, np.take_along_axis(values, drawn, axis=0), axis=0)
    return out
