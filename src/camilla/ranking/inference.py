"""How sure the strengths are: covariances and the likelihood-ratio test of a pair. Arrays only.

All matches of one round share the same n scores, so matches are not independent; rounds are. The
default covariance is the round-cluster sandwich C V (Σ_r g_r g_rᵀ) V C · R/(R−1), read with Student's
t on R − 1 degrees of freedom. `docs/design/epp-intervals.md` has the reasons and the coverage.
"""

from typing import NamedTuple

import numpy as np

from camilla.arrays import Watch
from camilla.errors import ConvergenceError
from camilla.ranking.matches import Array, Record, WinMatrix
from camilla.ranking.solve import EppSolution, contrast_solver, log_likelihood, separated_groups, solve


def fisher_covariance(matrix: WinMatrix, solution: EppSolution, prior: float) -> Array:
    """The inverse information: right only if every match were played in a round of its own."""
    n = len(solution.strength)
    covariance = _centred_scores(contrast_solver(matrix, solution, prior)(_centred_scores(np.eye(n))))
    return np.asarray(0.5 * (covariance + covariance.T))


def cluster_covariance(record: Record, matrix: WinMatrix, solution: EppSolution, prior: float) -> Array:
    """C V (Σ_r g_r g_rᵀ) V C · R/(R−1): honest whatever ties the matches of a round together."""
    pushes = record.residuals(solution.strength)
    n, n_rounds = pushes.shape
    solver = contrast_solver(matrix, solution, prior)
    correction = n_rounds / (n_rounds - 1)
    if isinstance(pushes, np.ndarray) and n_rounds <= n:
        influence = solver(pushes - pushes.mean(axis=1, keepdims=True))
        influence -= influence.mean(axis=0)
        return np.asarray(influence @ influence.T * correction)
    mean = np.asarray(pushes.mean(axis=1)).ravel()
    meat = pushes @ pushes.T
    meat = (meat if isinstance(meat, np.ndarray) else meat.toarray()) - n_rounds * np.outer(mean, mean)
    covariance = _centred_scores(solver(solver(meat).T)) * correction
    return np.asarray(0.5 * (covariance + covariance.T))


class Bootstrap(NamedTuple):
    """Covariance over resampled rounds, and how many replicates had separated players."""

    covariance: Array
    n_separated: int


def bootstrap_covariance(
    record: Record, solution: EppSolution, *, prior: float, replicates: int, seed: int, watch: Watch
) -> Bootstrap:
    """Draws R rounds with replacement, refits, and takes the covariance of the refits · R/(R−1).

    A replicate whose players are separated is fitted with the prior of one drawn match.
    """
    rng = np.random.default_rng(seed)
    n_rounds = record.n_rounds
    strengths = np.empty((replicates, len(solution.strength)))
    n_separated = 0
    for replicate in range(replicates):
        watch(f"bootstrap replicate {replicate + 1} of {replicates}")
        drawn = np.bincount(rng.integers(n_rounds, size=n_rounds), minlength=n_rounds)
        matrix = record.count(drawn)
        separated = len(separated_groups(matrix)) > 1
        n_separated += separated
        refit = solve(matrix, prior=prior or float(separated), start=solution.strength)
        strengths[replicate] = refit.strength
    covariance = np.atleast_2d(np.cov(strengths, rowvar=False)) * n_rounds / (n_rounds - 1)
    return Bootstrap(covariance, n_separated)


def _centred_scores(matrix: Array) -> Array:
    """C M C with C = I − 11ᵀ/n."""
    matrix = matrix - matrix.mean(axis=0)
    return np.asarray(matrix - matrix.mean(axis=1, keepdims=True))


def likelihood_ratio(matrix: WinMatrix, strength: Array, i: int, j: int, prior: float) -> float:
    """2(ℓ free − ℓ with b_i = b_j), the second fitted with i and j as one player."""
    keep = np.delete(np.arange(len(strength)), j)
    one = int(np.flatnonzero(keep == i)[0])
    merged = WinMatrix(*(_merge(part, i, j)[np.ix_(keep, keep)] for part in matrix))
    if not prior and len(separated_groups(merged)) > 1:
        raise ConvergenceError("the players other than the tested pair are separated; fit with prior=1.")
    equal = solve(merged, prior=prior, start=strength[keep]).strength
    restricted = np.insert(equal, j, equal[one])
    return max(2 * (log_likelihood(matrix, strength) - log_likelihood(matrix, restricted)), 0.0)


def _merge(part: Array, i: int, j: int) -> Array:
    part = part.copy()
    part[i] += part[j]
    part[:, i] += part[:, j]
    part[i, i] = 0.0
    return part
