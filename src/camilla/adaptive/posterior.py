"""Where learners stand in a model after some responses. Arrays only; each learner has its own samples."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.adaptive.bank import Floats, Model, sigmoid


class Posterior(NamedTuple):
    """N(at, covariance) of each learner: mode and inverse information, prior included."""

    at: Floats  # [learners, dims]
    covariance: Floats  # [learners, dims, dims]


class Score(NamedTuple):
    """The expected mean response over all samples, and its standard error."""

    score: Floats  # [learners]
    se: Floats


def prior(model: Model, n_learners: int) -> Posterior:
    """Before any response: the pool."""
    return Posterior(np.tile(model.mean, (n_learners, 1)), np.tile(model.covariance, (n_learners, 1, 1)))


def placed(
    model: Model, start: Floats, asked: NDArray[np.integer], response: Floats, *, most_steps: int = 30
) -> Posterior:
    """Damped Newton from `start` with samples frozen; asked, response: [learners, responses].

    One row of `asked` serves all learners. Fractional responses count 1/dispersion each, as their smaller
    variance deserves.
    """
    loading, offset = model.loading[asked], model.intercept[asked]
    precision = np.linalg.inv(model.covariance)
    weight = 1 / model.dispersion

    def objective(at: Floats) -> Floats:
        logit = np.matmul(loading, at[..., None])[..., 0] + offset
        off = at - model.mean
        loss = (np.logaddexp(0, logit) - response * logit).sum(axis=1)
        return weight * loss + 0.5 * np.einsum("lk,kj,lj->l", off, precision, off)

    def information(at: Floats) -> tuple[Floats, Floats]:
        p = sigmoid(np.matmul(loading, at[..., None])[..., 0] + offset)
        curve = np.matmul((loading * (weight * p * (1 - p))[..., None]).transpose(0, 2, 1), loading)
        return p, curve + precision

    at, value = start, objective(start)
    for _ in range(most_steps):
        p, curve = information(at)
        slope = weight * np.einsum("lnk,ln->lk", loading, response - p) - (at - model.mean) @ precision
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        for _ in range(30):
            trial = objective(at + step)
            worse = trial > value + 1e-10 * (1 + np.abs(value))
            if not worse.any():
                break
            step = np.where(worse[:, None], step / 2, step)
        at, value = at + step, trial
        if np.abs(step).max(initial=0) < 1e-7:
            break
    return Posterior(at, np.asarray(np.linalg.inv(information(at)[1]), np.float64))


def expected(model: Model, posterior: Posterior) -> tuple[Floats, Floats]:
    """(mean response on every sample, variance of its logit), each [learners, samples].

    ∫σ(x) N(x; m, v) dx ≈ σ(m / √(1 + πv/8)) (MacKay 1992).
    """
    spread = np.matmul(model.loading, posterior.covariance)  # [learners, samples, dims]
    variance = np.einsum("lmk,mk->lm", spread, model.loading)
    logit = posterior.at @ model.loading.T + model.intercept
    return sigmoid(logit / np.sqrt(1 + np.pi * variance / 8)), variance


def gain(model: Model, posterior: Posterior, unseen: NDArray[np.bool_]) -> Floats:
    """By how much each unseen sample's response is expected to narrow the score's variance; −1 elsewhere.

    With f the slope of the mean response by ability, a sample of variance w = p(1 − p) has covariance
    w(a·Cf + 1/M) with the score, its own response included, and variance w(1 + w a·Ca): the gain is the
    square of the one over the other. Fractional responses have w times the dispersion.
    """
    p, variance = expected(model, posterior)
    weight = p * (1 - p)
    slope = (weight * unseen) @ model.loading
    shared = np.einsum("lk,lkj,mj->lm", slope, posterior.covariance, model.loading, optimize=True)
    found = weight * (shared + model.dispersion) ** 2 / (model.dispersion + weight * variance)
    return np.where(unseen, found, -1.0)


def score(
    model: Model, posterior: Posterior, unseen: NDArray[np.bool_], total: Floats, n: NDArray[np.integer]
) -> Score:
    """(`total` of the responses seen + expectations of the unseen) / n, for each learner.

    The variance has the ability's part and that of the responses not yet seen.
    """
    p, _ = expected(model, posterior)
    weight = p * (1 - p) * unseen
    slope = weight @ model.loading
    by_ability = np.einsum("lk,lkj,lj->l", slope, posterior.covariance, slope)
    by_chance = model.dispersion * weight.sum(axis=1)
    return Score((total + (p * unseen).sum(axis=1)) / n, np.sqrt(by_ability + by_chance) / n)


def overall(model: Model, posterior: Posterior) -> Score:
    """The mean logit over all samples in standard deviations of the pool, and its standard error."""
    direction = model.loading.mean(axis=0)
    sd = float(np.sqrt(direction @ model.covariance @ direction))
    value = (posterior.at - model.mean) @ direction / sd
    variance = np.einsum("k,lkj,j->l", direction, posterior.covariance, direction)
    return Score(value, np.sqrt(variance) / sd)
