"""EloML 0.3.1's glm path, mistakes included, for comparison with published numbers.

What it does differently from the exact estimate: half ties are floored; every match enters twice,
once from each side, so standard errors are too small by √2 and df is n(n−2); the last player in
alphabetical order stands at 0 and carries the intercept's standard error; intervals use 1.96; the
Wald test has 2 degrees of freedom. Over all rounds a tie counts one half only if all the
opponent's scores tie with it, other ties are dropped, and the two sides' counts can differ.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from camilla.errors import DataError, SettingError
from camilla.ranking.inference import GoodnessOfFit, fit_of
from camilla.ranking.matches import Array
from camilla.table.tournament import Tournament

COMPAT = ("eloml-glm",)
CRITICAL = 1.96  # as EloML writes it
EPSILON = 1e-8  # R's glm.control
MAX_STEPS = 25  # R's glm.control
CUT, TINY = 30.0, float(np.finfo(np.float64).eps)  # R's logit link


class ElomlFit(NamedTuple):
    """EloML's numbers, players in the tournament's order."""

    epp: Array
    covariance: Array  # the last player's row is the intercept's
    fit: GoodnessOfFit
    steps: int
    gradient_norm: float


class Counts(NamedTuple):
    """Wins and losses of row against column as EloML counts them; they need not mirror each other."""

    wins: Array
    losses: Array


def eloml_glm(tournament: Tournament, matches: str) -> ElomlFit:
    """logit P(i beats j) = α + b_i − b_j on n(n−1) rows, by R's glm.fit: its start, its stop."""
    if tournament.scores is None:
        raise SettingError("EloML takes scores, not a list of matches; leave compat out.")
    if np.isnan(tournament.scores).any():
        raise DataError("EloML cannot have missing scores; leave compat out, or keep complete rounds.")
    order = np.array(sorted(range(len(tournament.players)), key=tournament.players.__getitem__))
    merit = tournament.merit[order]
    counts = _same_round(merit) if matches == "same_round" else _all_rounds(merit)
    coefficients, covariance, deviance, steps, gradient = _glm(*(np.floor(part) for part in counts))

    n = len(order)
    back = np.argsort(order)
    epp = np.append(coefficients[1:] - coefficients[0], 0.0)
    place = np.append(np.arange(1, n), 0)  # the intercept stands for the last player
    covariance = covariance[np.ix_(place, place)]
    return ElomlFit(epp[back], covariance[np.ix_(back, back)], fit_of(deviance, n * (n - 2)), steps, gradient)


def _same_round(merit: Array) -> Counts:
    first, second = merit[:, None, :], merit[None, :, :]
    ties = 0.5 * (first == second).sum(axis=2)
    return Counts((first > second).sum(axis=2) + ties, (first < second).sum(axis=2) + ties)


def _all_rounds(merit: Array) -> Counts:
    n, n_rounds = merit.shape
    wins, losses = np.zeros((n, n)), np.zeros((n, n))
    for j in range(n):
        opponent = np.sort(merit[j])
        below = opponent.searchsorted(merit, "left")  # [players, rounds]
        above = n_rounds - opponent.searchsorted(merit, "right")
        all_tied = (below == 0) & (above == 0)
        wins[:, j] = (below + 0.5 * n_rounds * all_tied).sum(axis=1)
        losses[:, j] = (above + 0.5 * n_rounds * all_tied).sum(axis=1)
    return Counts(wins, losses)


class Glm(NamedTuple):
    coefficients: Array  # intercept, then every player but the last
    covariance: Array
    deviance: float
    steps: int
    gradient_norm: float


def _glm(wins: Array, losses: Array) -> Glm:
    """Iteratively reweighted least squares; the fit that R stops at, not the maximum."""
    n = len(wins)
    off = ~np.eye(n, dtype=bool)
    played = np.where(off, wins + losses, 0.0)
    if (played[off] == 0).any():
        raise DataError("EloML drops every match of some pair here and cannot be followed; leave compat out.")
    rate = np.where(off, wins / np.where(off, played, 1), 0.5)
    mu = (played * rate + 0.5) / (played + 1)
    eta = np.log(mu / (1 - mu))
    before = _deviance(wins, losses, mu, off)
    for steps in range(1, MAX_STEPS + 1):  # noqa: B007
        slope = _slope(eta)
        weight = played * slope**2 / (mu * (1 - mu))
        working = eta + (rate - mu) / slope
        normal, right = _normal_equations(weight, weight * working)
        coefficients = np.asarray(np.linalg.solve(normal, right), np.float64)
        strength = np.append(coefficients[1:], 0.0)
        eta = coefficients[0] + strength[:, None] - strength[None, :]
        mu = _mean(eta)
        deviance = _deviance(wins, losses, mu, off)
        if abs(deviance - before) / (abs(deviance) + 0.1) < EPSILON:
            break
        before = deviance
    _, gradient = _normal_equations(weight, played * (rate - mu))
    covariance = np.asarray(np.linalg.inv(normal), np.float64)
    return Glm(coefficients, covariance, deviance, steps, float(np.abs(gradient).max()))


def _mean(eta: Array) -> Array:
    """R's inverse logit, which is cut off where |η| passes 30."""
    odds = np.where(eta < -CUT, TINY, np.where(eta > CUT, 1 / TINY, np.exp(np.clip(eta, -CUT, CUT))))
    return odds / (1 + odds)


def _slope(eta: Array) -> Array:
    """dμ/dη as R has it: the smallest number above 1 less 1 where |η| passes 30."""
    odds = np.exp(np.clip(eta, -CUT, CUT))
    return np.where(np.abs(eta) > CUT, TINY, odds / (1 + odds) ** 2)


def _normal_equations(weight: Array, response: Array) -> tuple[Array, Array]:
    """XᵀWX and Xᵀr for the design (1, e_i − e_j), last player left out, zero weight on the diagonal."""
    n = len(weight)
    normal = np.zeros((n, n))
    normal[0, 0] = weight.sum()
    normal[0, 1:] = normal[1:, 0] = (weight.sum(axis=1) - weight.sum(axis=0))[:-1]
    laplacian = np.diag(weight.sum(axis=1) + weight.sum(axis=0)) - weight - weight.T
    normal[1:, 1:] = laplacian[:-1, :-1]
    return normal, np.append(response.sum(), (response.sum(axis=1) - response.sum(axis=0))[:-1])


def _deviance(wins: Array, losses: Array, mu: Array, off: Array) -> float:
    played = wins + losses
    saturated = xlogy(wins, wins / np.where(off, played, 1)) + xlogy(
        losses, losses / np.where(off, played, 1)
    )
    return 2 * float((saturated - xlogy(wins, mu) - xlogy(losses, 1 - mu))[off].sum())
