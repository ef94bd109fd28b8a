"""How samples vary together over learners: mean, shared factors and noise of each. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
