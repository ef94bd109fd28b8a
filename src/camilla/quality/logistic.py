"""One logistic regression a sample, all at once. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RIDGE = 0.02  # precision of every coefficient around 0: keeps separated samples finite


class Regressions(NamedTuple):
    """Coefficients [samples, columns] with standard errors, the loss of each sample, its dispersion."""

    coefficient: Floats
    se: Floats
    loss: Floats
    dispersion: Floats


def fitted(design: Floats, matrix: Floats, *, most_steps: int = 60) -> Regressions:
    """Newton with halved steps; matrix: responses [learners, samples] in [0, 1], NaN where missing."""
    seen = ~np.isnan(matrix.T)
    x = np.where(seen, matrix.T, 0.0)
    width = design.shape[1]
    outer = np.einsum("nk,nj->nkj", design, design).reshape(len(design), -1)

    def loss(at: Floats) -> Floats:
        logit = at @ design.T
        return ((np.logaddexp(0, logit) - x * logit) * seen).sum(axis=1) + 0.5 * RIDGE * (at**2).sum(axis=1)

    def curvature(at: Floats) -> tuple[Floats, Floats]:
        p = 0.5 * (np.tanh(0.5 * at @ design.T) + 1)
        return p, ((p * (1 - p) * seen) @ outer).reshape(-1, width, width) + RIDGE * np.eye(width)

    at = np.zeros((matrix.shape[1], width))
    value = loss(at)
    for _ in range(most_steps):
        p, curve = curvature(at)
        slope = ((x - p) * seen) @ design - RIDGE * at
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        for _ in range(30):
            trial = loss(at + step)
            worse = trial > value + 1e-12 * (1 + np.abs(value))
            if not worse.any():
                break
            step = np.where(worse[:, None], step / 2, step)
        at, value = at + step, trial
        if np.abs(step).max(initial=0) < 1e-9:
            break
    p, curve = curvature(at)
    spread = np.sqrt(np.einsum("mkk->mk", np.linalg.inv(curve)))
    with np.errstate(divide="ignore", invalid="ignore"):
        chi = np.where(seen, (x - p) ** 2 / (p * (1 - p)), 0.0).sum(axis=1)
    return Regressions(at, spread, value, chi / np.maximum(seen.sum(axis=1) - width, 1))
