"""How sure the strengths are: covariances, pair tests, rank intervals. Arrays only.

All matches of one round share the same n scores, so matches are not independent; rounds are. The
default covariance is the round-cluster sandwich C V (Σ_r g_r g_rᵀ) V C · R/(R−1), read with Student's
t on R − 1 degrees of freedom. `docs/design/epp-intervals.md` has the reasons and the coverage.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc

from camilla.errors import ConvergenceError
from camilla.ranking.matches import Array, Record, WinMatrix
from camilla.ranking.solve import EppSolution, contrast_solver, log_likelihood, separated_groups, solve
from camilla.statistics.multiplicity import RankIntervals, holm, rank_bounds

EQUAL = 1e-9  # logits; the estimate is exact to about 1e-12


class Wald(NamedTuple):
    """Differences of strength for all pairs, row less column, with their standard errors."""

    difference: Array  # [players, players]
    se: Array  # [players, players], 0 on the diagonal


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
    record: Record, solution: EppSolution, *, prior: float, replicates: int, seed: int
) -> Bootstrap:
    """Draws R rounds with replacement, refits, and takes the covariance of the refits · R/(R−1).

    A replicate whose players are separated is fitted with the prior of one drawn match.
    """
    rng = np.random.default_rng(seed)
    n_rounds = record.n_rounds
    strengths = np.empty((replicates, len(solution.strength)))
    n_separated = 0
    for replicate in range(replicates):
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


def differences(strength: Array, covariance: Array) -> Wald:
    """b_i − b_j and √(c_ii + c_jj − 2c_ij) for every pair."""
    variance = np.diag(covariance)
    squared = variance[:, None] + variance[None, :] - 2 * covariance
    return Wald(strength[:, None] - strength[None, :], np.sqrt(np.maximum(squared, 0)))


def wald_statistics(strength: Array, covariance: Array) -> Array:
    """(b_i − b_j)² / var for every pair; 0 where the strengths are equal to nine decimals.

    Players with the same scores everywhere have a variance of 0 and are equal, not sure to differ.
    """
    difference, se = differences(strength, covariance)
    equal = np.abs(difference) < EQUAL
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(equal, 0.0, (difference / np.where(equal, 1.0, se)) ** 2)


def chi_p_values(statistic: Array, *, df: int, rounds_df: float) -> Array:
    """P of a larger statistic: χ² on `df`, or F on (df, rounds_df) when that is finite."""
    if np.isinf(rounds_df):
        return np.asarray(chdtrc(df, statistic))
    return np.asarray(fdtrc(df, rounds_df, statistic / df))


def rank_intervals(strength: Array, p: Array, level: float) -> RankIntervals:
    """1 + players surely better, to n − players surely worse.

    Surely: Holm over the player's own n − 1 pair tests at 1 − level, so each interval holds the
    player's rank with probability `level` (Mogstad, Romano, Shaikh and Wilhelm, 2024).
    """
    n = len(strength)
    off = ~np.eye(n, dtype=bool)
    sure = np.zeros((n, n), bool)
    sure[off] = (holm(p[off].reshape(n, n - 1)) < 1 - level).ravel()
    return rank_bounds(sure, strength[None, :] > strength[:, None])


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
