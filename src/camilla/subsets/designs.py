"""Which samples to keep and how to weigh them. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.subsets.moments import Floats, Moments

Indices = NDArray[np.int64]


class Weights(NamedTuple):
    """estimate = intercept + Σ weight × response: E[mean over all samples | responses on some]."""

    intercept: float
    weight: Floats  # one a chosen sample


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
        j = int(np.where(unchosen, worth, -1.0).argmax())
        chosen[k], unchosen[j] = j, False
        target = target - factors[j] / len(noise)
        covariance = covariance - np.outer(spread[j], spread[j]) / (spread[j] @ factors[j] + noise[j])
    return chosen


def spread_out(
    difficulty: Floats, task: NDArray[np.integer] | None, size: int, rng: np.random.Generator
) -> Indices:
    """A stratified random subset: every M/size-th sample in order of task and mean response."""
    by_task = np.zeros(len(difficulty)) if task is None else task
    order = np.lexsort((rng.random(len(difficulty)), difficulty, by_task))
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
    return max(tried, key=lambda chosen: explained(moments, chosen))


def explained(moments: Moments, chosen: Indices) -> float:
    """By how much the responses on the chosen samples narrow the variance of the full score."""
    part, noise = moments.factors[chosen], moments.noise[chosen]
    shared = part @ moments.factors.mean(axis=0) + noise / len(moments.mean)
    return float(shared @ np.linalg.solve(part @ part.T + np.diag(noise), shared))
