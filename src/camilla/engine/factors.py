"""What every logit-bilinear diagnoser is made of: its factors, their description, the logit."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from camilla.diagnoser import Floats, Size


class Factors(NamedTuple):
    """The parameters of every logit-bilinear diagnoser."""

    ability: Floats  # [learners, dims]
    loading: Floats  # [samples, dims], 0 or `fixed` where not free
    intercept: Floats  # [samples]
    guessing: Floats | None = None  # [samples]
    pool: Floats | None = None  # [2, dims]: mean and sd of the abilities before they were placed again


FACTOR_AXES = {
    "ability": ("learner", "skill"),
    "loading": ("sample", "skill"),
    "intercept": ("sample",),
    "guessing": ("sample",),
    "pool": ("", "skill"),
}


class Bilinear(NamedTuple):
    """Which factors are free and how each is held: Gaussian priors by mean and precision."""

    free: NDArray[np.bool_]  # [samples, dims]: loadings that are estimated; the others stay at `fixed`
    ability_precision: Floats  # [dims, dims]
    loading_mean: Floats  # [dims]
    loading_precision: float
    intercept_precision: float = 0.2
    positive: bool = False
    fixed: float = 0.0
    guessing_limit: float = 0.0  # guessing lies in (0, limit); 0: no guessing
    guessing_prior: tuple[float, float] = (5.0, 17.0)  # Beta(a, b)
    standardise: bool = True  # read abilities with mean 0 and variance 1 in the pool
    norm: bool = False  # discrimination is the length of the loadings instead of their sum


class HasProblem(Protocol):
    """A diagnoser this engine can fit."""

    size: Size

    def problem(self) -> Bilinear: ...


def logit(
    diagnoser: HasProblem, params: Factors, learner: NDArray[np.integer], sample: NDArray[np.integer]
) -> Floats:
    """The logit of the expected response for each (learner, sample) pair."""
    inner = params.intercept[sample].astype(np.float64)
    for start in range(0, len(sample), 100_000):
        rows = slice(start, start + 100_000)
        inner[rows] += np.einsum("ck,ck->c", params.ability[learner[rows]], params.loading[sample[rows]])
    return inner if params.guessing is None else over_guessing(inner, params.guessing[sample])


def over_guessing(inner: Floats, guessing: Floats) -> Floats:
    """logit of g + (1 − g) σ(l) = log(g + (1 − g) σ(l)) − log(1 − g) + softplus(l)."""
    expected = guessing + (1 - guessing) / (1 + np.exp(-inner))
    return np.log(expected) - np.log1p(-guessing) + np.logaddexp(0, inner)


def pool_scale(problem: Bilinear, params: Factors) -> tuple[Floats, Floats]:
    """(mean, sd) by which abilities are standardised; a skill nobody differs on keeps its scale."""
    n_dims = params.ability.shape[1]
    if not problem.standardise:
        return np.zeros(n_dims), np.ones(n_dims)
    sd = params.ability.std(axis=0)
    return np.where(sd > 1e-6, params.ability.mean(axis=0), 0.0), np.where(sd > 1e-6, sd, 1.0)
