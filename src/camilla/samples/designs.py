"""Which samples tell most about all the others, and how to weigh them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, rounded


class Moments(NamedTuple):
    """Responses of a new learner: mean + F z + e with z ~ N(0, I) and independent e ~ (0, noise)."""

    mean: Floats  # [samples]
    factors: Floats  # [samples, K]
    noise: Floats  # [samples]


def model_moments(responses: Floats, expected: Floats, task: NDArray[np.integer] | None) -> Moments:
    """Of a fitted model: what its expectations share, the variance around them as noise.

    `expected` are the model's [learners, samples]. Where the residuals of a task's samples go up and down
    together, the task is a factor of its own.
    """
    centred = (expected - expected.mean(axis=0)) / np.sqrt(len(expected))
    _, size, direction = np.linalg.svd(centred, full_matrices=False)
    kept = size > 1e-6 * size[0]
    residual = np.where(np.isnan(responses), 0.0, responses - expected)
    spread = (expected * (1 - expected)).mean(axis=0)
    noise = spread * float(
        (residual**2).sum() / np.where(np.isnan(responses), 0, expected * (1 - expected)).sum()
    )
    mean = (np.nansum(responses, axis=0) + expected.mean(axis=0)) / ((~np.isnan(responses)).sum(axis=0) + 1)
    factors = direction[kept].T * size[kept]
    if task is not None:
        factors = np.column_stack([factors, *_task_factors(residual, noise, task)])
    return Moments(mean, factors, noise)


def _task_factors(residual: Floats, noise: Floats, task: NDArray[np.integer]) -> list[Floats]:
    """√variance of each task's effect on its samples, where there is any beyond their noise."""
    columns = []
    for number in range(int(task.max()) + 1):
        own = task == number
        if own.sum() < 2:
            continue
        variance = (residual[:, own].mean(axis=1) ** 2).mean() - noise[own].mean() / own.sum()
        if variance > 0:
            columns.append(np.where(own, np.sqrt(variance), 0.0))
    return columns


def principal_moments(responses: Floats, n_factors: int) -> Moments:
    """Principal components of the responses as they are, for tables with more learners than a model needs.

    A missing response stands at its sample's mean. A quarter of an observation of noise is added, so that
    a sample on which all agreed is not taken for certain. Of a sample without a response nothing is known but
    the others: it has the mean of their means, the mean of their variances as noise, and shares no factor.
    """
    count = (~np.isnan(responses)).sum(axis=0)
    known = count > 0
    mean = np.nansum(responses, axis=0) / np.maximum(count, 1)
    mean[~known] = mean[known].mean()
    centred = np.where(np.isnan(responses), 0.0, responses - mean) / np.sqrt(len(responses) - 1)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    top = np.argsort(values)[::-1][:n_factors]
    factors = vectors[:, top] * np.sqrt(np.maximum(values[top], 0))
    variance = (centred**2).sum(axis=0)
    left = np.where(known, variance - (factors**2).sum(axis=1), variance[known].mean())
    return Moments(mean, factors, np.maximum(left, 0) + 0.25 / len(responses))


Indices = NDArray[np.int64]


class Weights(NamedTuple):
    """estimate = intercept + Σ weight × response: E[mean over all samples | responses on some]."""

    intercept: float
    weight: Floats  # one per chosen sample


def weights(moments: Moments, chosen: Indices) -> Weights:
    """The linear estimate of least expected square error under the moments."""
    part, noise = moments.factors[chosen], moments.noise[chosen]
    covariance = part @ part.T + np.diag(noise)
    shared = part @ moments.factors.mean(axis=0) + noise / len(moments.mean)
    weight = np.linalg.solve(covariance, shared)
    return Weights(float(moments.mean.mean() - weight @ moments.mean[chosen]), weight)


def greedy(moments: Moments, size: int) -> Indices:
    """One sample after the other, each the one that narrows the variance of the full score most.

    Var(t | S ∪ j) = Var(t | S) − Cov(t, xⱼ | S)² / Var(xⱼ | S); the first k of a longer choice are the
    choice of k.
    """
    factors, noise = moments.factors, moments.noise
    target = factors.mean(axis=0)  # what is not known yet of the full score: Σ over the unchosen / M
    covariance = np.eye(factors.shape[1])  # of z, given what has been chosen
    unchosen = np.ones(len(noise), bool)
    chosen = np.empty(size, np.int64)
    for k in range(size):
        spread = factors @ covariance
        shared = spread @ target + noise / len(noise)
        worth = shared**2 / (np.einsum("mk,mk->m", spread, factors) + noise)
        j = int(np.where(unchosen, rounded(worth), -1.0).argmax())
        chosen[k], unchosen[j] = j, False
        target = target - factors[j] / len(noise)
        covariance = covariance - np.outer(spread[j], spread[j]) / (spread[j] @ factors[j] + noise[j])
    return chosen


def spread_out(
    difficulty: Floats, task: NDArray[np.integer] | None, size: int, rng: np.random.Generator
) -> Indices:
    """A stratified random subset: every M/size-th sample in order of task and mean response."""
    by_task = np.zeros(len(difficulty)) if task is None else task
    order = np.lexsort((rng.random(len(difficulty)), rounded(difficulty), by_task))
    steps = (rng.random() + np.arange(size)) * len(order) / size
    return order[np.minimum(steps.astype(np.int64), len(order) - 1)]


def best_spread_out(
    moments: Moments,
    task: NDArray[np.integer] | None,
    size: int,
    rng: np.random.Generator,
    *,
    draws: int = 50,
) -> Indices:
    """Of many stratified subsets the one that leaves least variance of the full score."""
    tried = [spread_out(moments.mean, task, size, rng) for _ in range(draws)]
    return max(tried, key=lambda chosen: rounded(explained(moments, chosen)))


def explained(moments: Moments, chosen: Indices) -> float:
    """By how much the responses on the chosen samples narrow the variance of the full score."""
    part, noise = moments.factors[chosen], moments.noise[chosen]
    shared = part @ moments.factors.mean(axis=0) + noise / len(moments.mean)
    return float(shared @ np.linalg.solve(part @ part.T + np.diag(noise), shared))
