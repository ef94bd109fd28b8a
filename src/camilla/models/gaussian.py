"""Gaussian: responses as they are, learners correlated through the factors of samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, one_blas_thread
from camilla.fitting.layout import Layout, Size, clipped_logit
from camilla.fitting.protocol import Level, Placement, Readout, Solution, Spread

MOST_DIMENSIONS = 20  # 50 gained nothing on any table we measured
INSIDE = 0.01  # predictions stay this far from 0 and 1
SURE = 0.1  # noise a learner is believed to have before it is seen, as a share of the pool's variance


class GaussianParams(NamedTuple):
    row: Floats  # [learners, 1 + dims]: mean response, then loadings
    covariance: Floats  # [learners, 1 + dims, 1 + dims]
    factor: Floats  # [samples, 1 + dims]: 1, then the expected factors
    moment: Floats  # [samples, 1 + dims, 1 + dims]: E[z z'] of the same
    spread: Floats  # [1], variance of responses, the scale of SURE


@dataclass(frozen=True, eq=False)
class Gaussian:
    """x = μᵢ + λᵢ·zⱼ + ε with zⱼ ~ N(0, I), ε ~ N(0, ψᵢ), λᵢ ~ N(0, ψᵢ/precision): factor analysis.

    With enough dimensions the learners' covariance ΛΛ' + Ψ is any covariance, so a response is predicted from
    those of all other learners on the sample. EM (Rubin and Thayer 1982) over observed cells only; the
    last step places every learner with the samples' factors frozen, as a new learner is placed. Factors
    may be rotated freely and none is read: ability is the expected response.
    """

    name: ClassVar[str] = "gaussian"
    engine: ClassVar[str] = "own"
    tempered: ClassVar[bool] = False
    parameters_type: ClassVar[Any] = GaussianParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "row": ("learner", "latent"),
        "covariance": ("learner", "latent", "latent"),
        "factor": ("sample", "latent"),
        "moment": ("sample", "latent", "latent"),
        "spread": ("",),
    }
    size: Size
    dimensions: int = 10
    precision: float = 10.0
    tolerance: float = 1e-3  # of a response: the most that predictions still move by on average a step
    max_steps: int = 200

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        most = max(1, min(MOST_DIMENSIONS, size.n_learners - 1))
        dimensions = tuple(sorted({10, 3, most} & set(range(1, most + 1)), key=lambda k: (k != 10, k)))
        return {"dimensions": dimensions, "precision": (10.0, 1.0, 3.0, 30.0, 100.0)}

    def solve(self, layout: Layout, rng: np.random.Generator, watch: Watch) -> Solution:
        weight, right = layout.block(np.arange(layout.n_samples))
        seen = weight > 0
        response = np.where(seen, right / np.where(seen, weight, 1), 0)
        row, noise, spread = _start(weight, response, self.dimensions)
        earlier, moved, step = np.zeros_like(response), np.inf, 0
        with one_blas_thread():
            while moved > self.tolerance and step < self.max_steps:
                step += 1
                factor, moment = _factors(row, noise, weight, response)
                row, noise, covariance = _rows(self.precision, spread, factor, moment, weight, response)
                fitted = factor @ row.T
                moved = float(np.sqrt(np.mean((fitted - earlier) ** 2)))
                earlier = fitted
        loss = float(np.average((response - fitted) ** 2, weights=weight))
        watch(f"{step} steps, squared error {loss:.4f}")
        params = GaussianParams(row, covariance, factor, moment, np.array([spread]))
        return Solution(params, loss, moved, step, moved <= self.tolerance)

    def logit(
        self, params: GaussianParams, learner: NDArray[np.integer], sample: NDArray[np.integer]
    ) -> Floats:
        expected = np.einsum("ck,ck->c", params.row[learner], params.factor[sample])
        return clipped_logit(np.clip(expected, INSIDE, 1 - INSIDE))

    def place(self, params: GaussianParams, weight: Floats, right: Floats) -> Placement:
        """One M-step of one learner."""
        response = np.where(weight > 0, right / np.where(weight > 0, weight, 1), 0)
        row, _, covariance = _rows(
            self.precision, float(params.spread[0]), params.factor, params.moment,
            weight[:, None], response[:, None],
        )  # fmt: skip
        return Placement(row[0], covariance[0], True)

    def expected(
        self, params: GaussianParams, ability: Floats, covariance: Floats, samples: NDArray[np.integer]
    ) -> tuple[Floats, Floats]:
        """Mean expected response of rows on these samples, and its standard error."""
        mean = params.factor[samples].mean(axis=0)
        return ability @ mean, np.sqrt(np.einsum("nkl,k,l->n", covariance, mean, mean))

    def level(self, params: GaussianParams, placement: Placement) -> Level:
        return Level(placement.row, placement.covariance)

    def readout(self, params: GaussianParams, spread: Spread | None) -> Readout:
        """Difficulty 1 − mean expected response; discrimination the slope of responses on ability."""
        level = params.row @ params.factor.mean(axis=0)
        away = level - level.mean()
        slope = away / max(float(away @ away), 1e-12)
        unsure = params.moment - params.factor[:, :, None] * params.factor[:, None, :]
        share = np.full(len(level), 1 / len(level))
        return Readout(
            ability=params.row,
            covariance=params.covariance,
            skill_weight=None,
            difficulty=1 - params.factor @ (share @ params.row),
            discrimination=params.factor @ (slope @ params.row),
            interval="normal, factors of samples held fixed",
            unit_scale=True,
            difficulty_se=_deviation(unsure, share @ params.row),
            discrimination_se=_deviation(unsure, slope @ params.row),
        )


def _start(weight: Floats, response: Floats, n_dims: int) -> tuple[Floats, Floats, float]:
    """Rows and noise from the leading eigenvectors of the covariance over pairs of observed cells."""
    total = np.maximum(weight.sum(axis=0), 1e-12)
    mean = (weight * response).sum(axis=0) / total
    seen = (weight > 0).astype(np.float64)
    off = seen * (response - mean)
    covariance = off.T @ off / np.maximum(seen.T @ seen, 1)
    value, vector = np.linalg.eigh(covariance)
    first = np.argsort(value)[::-1][:n_dims]
    loading = np.zeros((len(mean), n_dims))
    loading[:, : len(first)] = vector[:, first] * np.sqrt(np.maximum(value[first], 1e-3))
    spread = max(float(np.mean(np.diag(covariance))), 1e-6)
    return np.column_stack([mean, loading]), np.maximum(0.3 * np.diag(covariance), 1e-4), spread


def _factors(row: Floats, noise: Floats, weight: Floats, response: Floats) -> tuple[Floats, Floats]:
    """E-step: factor and moment of every sample given its observed responses."""
    mean, loading = row[:, 0], row[:, 1:]
    n_samples, n_dims = len(weight), loading.shape[1]
    outer = np.einsum("nk,nl->nkl", loading, loading).reshape(len(row), -1) / noise[:, None]
    covariance = np.linalg.inv((weight @ outer).reshape(n_samples, n_dims, n_dims) + np.eye(n_dims))
    pull = (weight * (response - mean) / noise) @ loading
    z = np.einsum("jkl,jl->jk", covariance, pull)
    factor = np.column_stack([np.ones(n_samples), z])
    moment = np.einsum("jk,jl->jkl", factor, factor)
    moment[:, 1:, 1:] += covariance
    return factor, moment


def _rows(
    precision: float, spread: float, factor: Floats, moment: Floats, weight: Floats, response: Floats
) -> tuple[Floats, Floats, Floats]:
    """M-step: rows, noise and covariances of learners by ridge regression on the samples' factors."""
    n_learners, width = weight.shape[1], factor.shape[1]
    inner = (weight.T @ moment.reshape(len(moment), -1)).reshape(n_learners, width, width)
    held = np.append(1e-6, np.full(width - 1, precision))
    inner += np.diag(held)
    row = np.linalg.solve(inner, ((weight * response).T @ factor)[:, :, None])[:, :, 0]
    left = (weight * response**2).sum(axis=0) - np.einsum("nk,nkl,nl->n", row, inner, row)
    count = weight.sum(axis=0) + width + 1
    noise = np.maximum(left + 2 * SURE * spread, 1e-9) / count
    return row, noise, noise[:, None, None] * np.linalg.inv(inner)


def _deviation(covariance: Floats, slope: Floats) -> Floats:
    return np.sqrt(np.maximum(np.einsum("jkl,k,l->j", covariance, slope, slope), 0))
