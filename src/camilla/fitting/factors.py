"""What every logit-bilinear diagnoser is made of: factors, their description, the logit, learners placed."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.fitting.feature_priors import Held, Regressed
from camilla.fitting.layout import Layout, Size
from camilla.fitting.protocol import Placement


class Factors(NamedTuple):
    """The parameters of every logit-bilinear diagnoser."""

    ability: Floats  # [learners, dims]
    loading: Floats  # [samples, dims], 0 or `fixed` where not free
    intercept: Floats  # [samples]
    guessing: Floats | None = None  # [samples]
    pool: Floats | None = None  # [2, dims]: mean and sd of the abilities before they were placed again
    sample_regression: tuple[Floats, ...] | None = None  # with features, `Regressed` of (intercept, loadings)
    sample_basis: tuple[Floats, ...] | None = None  # of the columns of its weights, see `Expansion`
    learner_regression: tuple[Floats, ...] | None = None  # with features, `Regressed` of abilities
    learner_basis: tuple[Floats, ...] | None = None


FACTOR_AXES = {
    "ability": ("learner", "skill"),
    "loading": ("sample", "skill"),
    "intercept": ("sample",),
    "guessing": ("sample",),
    "pool": ("", "skill"),
    "sample_regression": ("",),
    "sample_basis": ("",),
    "learner_regression": ("",),
    "learner_basis": ("",),
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
    explained: bool = False  # factors are regressed on features, where a table has some
    held: Held | None = None  # with features: priors whose means these explain


class HasProblem(Protocol):
    """A diagnoser this engine can fit."""

    @property
    def size(self) -> Size: ...

    def problem(self) -> Bilinear: ...


def bilinear_logit(params: Factors, learner: NDArray[np.integer], sample: NDArray[np.integer]) -> Floats:
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


class LearnerPrior(NamedTuple):
    """N(mean, precision⁻¹) of a learner's abilities."""

    mean: Floats  # [dims]
    precision: Floats  # [dims, dims]


def learner_prior(problem: Bilinear, params: Factors) -> LearnerPrior:
    """The fit's own prior, moved and stretched to where the pool is."""
    if params.pool is None:
        return LearnerPrior(np.zeros(len(problem.ability_precision)), problem.ability_precision)
    mean, sd = params.pool
    return LearnerPrior(mean, problem.ability_precision / np.outer(sd, sd))


def with_features(problem: Bilinear, params: Factors) -> Bilinear:
    """The problem as it was fitted: features take variance out of the intercepts' prior."""
    if params.sample_regression is None:
        return problem
    return problem._replace(intercept_precision=float(Regressed(*params.sample_regression).precision[0]))


def fitted_prior(problem: Bilinear, params: Factors) -> LearnerPrior:
    """The prior of the learners of the fit; with features of learners, that of their residuals."""
    if params.learner_regression is None:
        return learner_prior(problem, params)
    precision = np.sqrt(Regressed(*params.learner_regression).precision)
    return LearnerPrior(np.zeros(len(precision)), problem.ability_precision * np.outer(precision, precision))


def placed_in_pool(
    problem: Bilinear, at: Factors, layout: Layout, *, expected: Floats | None = None
) -> Factors:
    """Every learner placed under the prior that a learner placed later will meet.

    The priors of loadings and intercepts leave the pool somewhere, in digits at mean 3 and sd 2.7; a
    prior N(0, 1) would draw a learner with few responses out of the pool. With features each learner has the
    mean that they let expect.
    """
    at = in_pool(at)
    prior = fitted_prior(problem, at)
    means = np.broadcast_to(prior.mean if expected is None else expected, at.ability.shape)
    if at.ability.shape[1] == 1:
        return at._replace(ability=_placed_on_a_line(prior._replace(mean=means[:, 0]), at, layout))
    weight, right = (part.T for part in layout.block(np.arange(layout.n_samples)))
    rows = [
        _placement(prior._replace(mean=mean), at, w, r, start).row
        for mean, w, r, start in zip(means, weight, right, at.ability, strict=True)
    ]
    return at._replace(ability=np.array(rows))


def in_pool(at: Factors) -> Factors:
    """The factors with where the pool is."""
    sd = at.ability.std(axis=0)
    return at._replace(pool=np.stack([at.ability.mean(axis=0), np.where(sd > 1e-6, sd, 1.0)]))


def _placed_on_a_line(prior: LearnerPrior, at: Factors, layout: Layout) -> Floats:
    """Newton for all learners of one dimension at once, from where they stand: near the mode already."""
    mean, precision = prior.mean, float(prior.precision[0, 0])
    weight, right = layout.block(np.arange(layout.n_samples))
    a, ability = at.loading[:, 0], at.ability[:, 0]
    for _ in range(50):
        s = 0.5 * (np.tanh(0.5 * (np.outer(a, ability) + at.intercept[:, None])) + 1)
        p = s if at.guessing is None else at.guessing[:, None] + (1 - at.guessing[:, None]) * s
        rate = 1.0 if at.guessing is None else s / p
        slope = a @ ((weight * p - right) * rate) + precision * (ability - mean)
        information = a**2 @ (weight * p * (1 - p) * rate**2) + precision
        step = np.clip(slope / information, -1, 1)
        ability = ability - step
        if np.abs(step).max() < 1e-9:
            break
    return ability[:, None]


def place(diagnoser: HasProblem, params: Factors, weight: Floats, right: Floats) -> Placement:
    """One learner's factors with every sample frozen, by damped Newton; weight, right: [samples].

    r ← r + (V'DV + P)⁻¹ (V'(x − p) − P (r − m)), with the covariance from the last inverse.
    """
    prior = learner_prior(diagnoser.problem(), params)
    return _placement(prior, params, weight, right, prior.mean)


def _placement(
    prior: LearnerPrior, params: Factors, weight: Floats, right: Floats, start: Floats
) -> Placement:
    seen = weight > 0
    weight, right, loading, offset = weight[seen], right[seen], params.loading[seen], params.intercept[seen]
    guessing = None if params.guessing is None else params.guessing[seen]

    def objective(row: Floats) -> float:
        inner = loading @ row + offset
        full = inner if guessing is None else over_guessing(inner, guessing)
        loss = weight @ np.logaddexp(0, full) - right @ full
        return float(loss + 0.5 * (row - prior.mean) @ prior.precision @ (row - prior.mean))

    row = start
    value = objective(row)
    for _ in range(100):
        slope, information = _learner_terms(prior, row, loading, offset, guessing, weight, right)
        step = -np.linalg.solve(information, slope)
        if np.max(np.abs(step), initial=0) < 1e-10:
            break
        while (trial := objective(row + step)) > value + 1e-12 * abs(value) and np.max(np.abs(step)) > 1e-12:
            step = step / 2
        row, value = row + step, trial
    slope, information = _learner_terms(prior, row, loading, offset, guessing, weight, right)
    return Placement(row, np.linalg.inv(information), bool(np.max(np.abs(slope)) < 1e-6 * (1 + weight.sum())))


def _learner_terms(
    prior: LearnerPrior, row: Floats, loading: Floats, offset: Floats, guessing: Floats | None,
    weight: Floats, right: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Slope and expected information of one learner's row, prior included."""
    s = 1 / (1 + np.exp(-(loading @ row + offset)))
    p = s if guessing is None else guessing + (1 - guessing) * s
    rate = 1.0 if guessing is None else s / p
    slope = loading.T @ ((weight * p - right) * rate) + prior.precision @ (row - prior.mean)
    curve = weight * p * (1 - p) * rate**2
    return slope, (loading * curve[:, None]).T @ loading + prior.precision
