"""The logit-bilinear engine: logit = ability · loading + intercept, fitted at its posterior mode.

One description serves IRT, MIRT, MF and Camilla-Base: they differ in which loadings are free, whether
loadings may be negative, and what the priors are. L-BFGS-B takes the positive loadings as bounds,
which converges five times sooner than a softplus and lets a loading be exactly 0.
"""

import os
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np
from scipy.optimize import minimize

from camilla.arrays import Floats, Watch, one_blas_thread, sigmoid
from camilla.fitting import explained, laplace
from camilla.fitting.alternating import InMemory, SampleState, State, fit_by_turns
from camilla.fitting.factors import (
    Bilinear,
    Factors,
    HasProblem,
    bilinear_logit,
    place,
    placed_in_pool,
    pool_scale,
)
from camilla.fitting.layout import DenseLayout, Layout
from camilla.fitting.protocol import Indices, Level, Placement, Readout, Solution, Spread, se_along
from camilla.fitting.shards import LayoutShard, Threads
from camilla.fitting.training import Training, start_of
from camilla.table.cells import Cells

PLACE_CELLS = 3_000_000  # up to here fits are polished and learners placed again under the pool's prior
MANY_LEARNERS = 3000  # from here turns are sooner done than L-BFGS, however few the samples
GRADIENT_TOLERANCE = 1e-5  # of the mean loss a response: predictions move by less than 1e-4 from there


class Trainable(HasProblem, Protocol):
    """A diagnoser this engine can fit: at its mode, or with `training` as released code does."""

    @property
    def training(self) -> Training | None: ...


class BilinearEngine:
    """irt, mirt, mf, camilla-base: NumPy and SciPy, analytic gradients."""

    packages: ClassVar[tuple[str, ...]] = ()
    continues: ClassVar[bool] = True

    def tempered(self, diagnoser: Trainable) -> bool:
        return True

    def taken(self, layout: Layout) -> Layout:
        return layout

    def solve(
        self, diagnoser: Trainable, layout: Layout, rng: np.random.Generator, watch: Watch,
        *, valid: Layout | None = None, earlier: Solution | None = None,
    ) -> Solution:  # fmt: skip
        """Trials of latent dimensions stop near the mode: to reach it takes as long again."""
        if diagnoser.training is None:
            start = None if earlier is None else earlier.params
            polish = valid is None or diagnoser.problem().standardise
            if explained.uses_features(diagnoser):
                return solve_explained(diagnoser, layout, rng, watch, start=start)
            return solve(diagnoser, layout, rng, watch, start=start, polish=polish)
        from camilla.fitting.neural import solve_bilinear

        return solve_bilinear(diagnoser, layout, rng, watch, valid=valid, earlier=earlier)

    def as_tried(self, diagnoser: Trainable) -> Trainable:
        """Settings are chosen without features, whose weights take a fit more."""
        return explained.without_features(diagnoser)

    def settled(
        self, diagnoser: Trainable, solution: Solution, layout: Layout,
        *, valid: Layout | None = None, earlier: Solution | None = None,
    ) -> Solution:  # fmt: skip
        return solution

    def logit(self, diagnoser: Trainable, params: Factors, learner: Indices, sample: Indices) -> Floats:
        return bilinear_logit(params, learner, sample)

    def logit_se(
        self, diagnoser: Trainable, params: Factors, readout: Readout, learner: Indices, sample: Indices
    ) -> Floats:
        _, sd = pool_scale(diagnoser.problem(), params)
        return se_along(params.loading[sample] * sd, readout, learner)

    def pool(self, diagnoser: Trainable, params: Factors, readout: Readout) -> Level:
        return Level(readout.ability, readout.covariance)

    def place(
        self, diagnoser: Trainable, params: Factors,
        weight: Floats, right: Floats, sample_weight: Floats | None,
    ) -> Placement:  # fmt: skip
        return place(diagnoser, params, weight, right)

    def level(self, diagnoser: Trainable, params: Factors, placement: Placement) -> Level:
        mean, sd = pool_scale(diagnoser.problem(), params)
        return Level((placement.row - mean) / sd, placement.covariance / np.outer(sd, sd))

    def spread(
        self, diagnoser: Trainable, params: Factors, layout: Layout,
        *, standard: bool = True, errors: bool = True,
    ) -> Spread:  # fmt: skip
        if errors:
            return laplace.spread(diagnoser, params, layout, standard=standard)
        mean, sd = pool_scale(diagnoser.problem(), params)
        n_learners, n_dims = params.ability.shape
        none = np.zeros(len(params.intercept))
        ability = (params.ability - mean) / sd
        return Spread(ability, np.zeros((n_learners, n_dims, n_dims)), "none", none, none, none, none)

    def expected(
        self, diagnoser: Trainable, params: Factors, readout: Readout,
        ability: Floats, covariance: Floats, samples: Indices, answers: Cells | None = None,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """The delta method: the slope of the mean by the ability is Σⱼ pⱼ(1 − pⱼ) aⱼ / n."""
        mean, sd = pool_scale(diagnoser.problem(), params)
        loading = params.loading[samples]
        p = sigmoid((ability * sd + mean) @ loading.T + params.intercept[samples])
        slope = (p * (1 - p)) @ (loading * sd) / len(samples)
        return p.mean(axis=1), np.sqrt(np.einsum("nk,nkl,nl->n", slope, covariance, slope))

    def parameter_count(self, diagnoser: Trainable) -> int:
        free = diagnoser.problem().free
        return diagnoser.size.n_learners * free.shape[1] + int(free.sum()) + diagnoser.size.n_samples


def solve(
    diagnoser: HasProblem, layout: Layout, rng: np.random.Generator, watch: Watch,
    *, start: Factors | None = None, max_steps: int = 3000, polish: bool = True,
) -> Solution:  # fmt: skip
    """The posterior mode, from `start` if given; `converged` is False when the steps ran out.

    Without `polish` the fit stops where predictions have settled to 1e-4; where exactly depends on the last
    bits of every sum, and so on the CPU.
    """
    problem = diagnoser.problem()
    if isinstance(layout, DenseLayout) and _is_large(layout) and _by_turns(problem):
        return _solve_by_turns(
            problem, layout, _start(problem, layout, rng) if start is None else start, watch
        )
    first = _start(problem, layout, rng) if start is None else start
    fresh = start is None
    found = _mode(problem, layout, first, watch, fresh=fresh, max_steps=max_steps, polish=polish)
    if problem.standardise and layout.n_learners * layout.n_samples <= PLACE_CELLS:
        return found._replace(params=placed_in_pool(problem, found.params, layout))
    return found


def solve_explained(
    diagnoser: HasProblem, layout: Layout, rng: np.random.Generator, watch: Watch,
    *, start: Factors | None = None,
) -> Solution:  # fmt: skip
    """The posterior mode with weights of features, whose strengths are chosen at the mode without any.

    There the factors owe nothing to the features. Chosen again at the new mode, strengths would confirm
    themselves where responses are few.
    """
    problem, designs = diagnoser.problem(), explained.Designs.of(diagnoser.size)
    plain = solve(explained.without_features(diagnoser), layout, rng, watch, start=start).params
    watch("weights of features")
    plain = designs.centred(plain)
    strengths = explained.strengths_of(problem, designs, plain, layout)
    held = explained.held_by(problem, designs, strengths, layout.n_learners)
    found = _mode(held, layout, plain, watch)
    place = problem.standardise and layout.n_learners * layout.n_samples <= PLACE_CELLS
    params = explained.regressed(held, designs, strengths, found.params, layout, place=place)
    return found._replace(params=params)


def _mode(
    problem: Bilinear, layout: Layout, start: Factors, watch: Watch,
    *, fresh: bool = False, max_steps: int = 3000, polish: bool = True,
) -> Solution:  # fmt: skip
    """The posterior mode by L-BFGS, then Newton; guessing of a `fresh` start is a logit."""
    packing = _Packing(problem, layout.n_learners)

    def objective(x: Floats) -> tuple[float, Floats]:
        loss, gradient = _loss_and_gradient(problem, layout, packing.unpack(x))
        return loss / layout.total_weight, packing.pack(gradient) / layout.total_weight

    first = packing.pack(start) if fresh else packing.again(start)
    with one_blas_thread():
        found = minimize(
            objective, first, jac=True, method="L-BFGS-B", bounds=packing.bounds(),
            options={"maxiter": max_steps, "maxfun": 2 * max_steps, "maxcor": 20, "ftol": 1e-11,
                     "gtol": GRADIENT_TOLERANCE / 10},
        )  # fmt: skip
        x, value, slope = found.x, float(found.fun), found.jac
        if polish and found.status == 0 and layout.n_learners * layout.n_samples <= PLACE_CELLS:
            x, value, slope = _polished(problem, packing, layout, objective, x)
    norm = float(np.max(np.abs(packing.projected(x, slope))))
    converged = bool(found.status == 0 or norm < GRADIENT_TOLERANCE)
    watch(f"{int(found.nit)} steps, loss {value:.4f}")
    return Solution(packing.unpack(x), value, norm, int(found.nit), converged)


def _is_large(layout: DenseLayout) -> bool:
    return layout.weight.size > PLACE_CELLS or layout.n_learners > MANY_LEARNERS


def _by_turns(problem: Bilinear) -> bool:
    """Whether turns can fit it: no guessing, no bound on loadings, no mask over them."""
    return (
        not problem.guessing_limit
        and not problem.positive
        and bool(problem.free.all() or not problem.free.any())
    )


def _solve_by_turns(problem: Bilinear, layout: DenseLayout, start: Factors, watch: Watch) -> Solution:
    """The mode by Newton's method for samples and learners in turn: of a large table sooner and nearer."""
    ends = np.linspace(0, layout.n_samples, (os.cpu_count() or 1) + 1).astype(int)
    parts = [slice(low, high) for low, high in pairwise(ends) if high > low]
    workers = Threads([LayoutShard(layout.weight[rows], layout.right[rows]) for rows in parts])
    first = State(
        0, start.ability, tuple(SampleState(start.loading[rows], start.intercept[rows]) for rows in parts)
    )
    keeper = InMemory()
    keeper.keep(first)
    reached = fit_by_turns(problem, workers, start.ability, watch, keeper=keeper)
    loading, intercept = (np.concatenate(part) for part in zip(*reached.samples, strict=True))
    at = Factors(reached.ability, loading, intercept)
    loss = _loss_and_gradient(problem, layout, at)[0] / layout.total_weight
    if problem.standardise and layout.weight.size <= PLACE_CELLS:
        at = placed_in_pool(problem, at, layout)
    return Solution(at, loss, reached.change, reached.sweeps, reached.converged)


POLISHED = 1e-8  # of the summed loss: what a prior of precision 1 holds then moves by no more
NEWTON_STEPS = 50
CG_STEPS = 200  # of conjugate gradients in each
CG_SHARE = 0.1  # of the slope left by them
HALVINGS = 20


def _polished(
    problem: Bilinear, packing: "_Packing", layout: Layout,
    objective: Callable[[Floats], tuple[float, Floats]], x: Floats,
) -> tuple[Floats, float, Floats]:  # fmt: skip
    """(x, loss, slope) at the mode itself, by Newton's method from nearby."""
    value, slope = objective(x)
    for _ in range(NEWTON_STEPS):
        open_slope = packing.projected(x, slope)
        if np.max(np.abs(open_slope)) * layout.total_weight < POLISHED:
            break
        step = _newton_step(_Curvature(problem, packing, layout, x), open_slope)
        for _ in range(HALVINGS):
            trial = packing.inside(x + step)
            trial_value, trial_slope = objective(trial)
            if trial_value <= value + 1e-4 * (slope @ step) + 1e-13 * abs(value):
                break
            step = step / 2
        else:
            break
        x, value, slope = trial, trial_value, trial_slope
    return x, value, slope


def _newton_step(curvature: "_Curvature", slope: Floats) -> Floats:
    """−H⁻¹ slope by conjugate gradients, scaled by the diagonal of H, up to where H bends down.

    What has no slope because a bound holds it does not move.
    """
    moving = slope != 0
    scale = np.where(moving, 1 / curvature.diagonal, 0.0)
    step, rest = np.zeros_like(slope), -slope
    direction = z = scale * rest
    first = size = rest @ z
    for count in range(CG_STEPS):
        image = curvature.times(direction)
        bend = direction @ image
        if bend <= 0:
            return step if count else direction
        step = step + size / bend * direction
        rest = np.where(moving, rest - size / bend * image, 0.0)
        z = scale * rest
        before, size = size, rest @ z
        if size <= CG_SHARE**2 * first:
            break
        direction = z + size / before * direction
    return step


class _Curvature:
    """The second derivatives of the mean loss at x: their diagonal, and their product with a direction.

    In float32, which halves the time: Newton's method asks for a step that is about right, and the slope, in
    float64, says when to stop.
    """

    def __init__(self, problem: Bilinear, packing: "_Packing", layout: Layout, x: Floats) -> None:
        self.problem, self.packing, self.total = problem, packing, layout.total_weight
        self.at = packing.unpack(x.astype(np.float32))
        weight, right = (part.astype(np.float32) for part in layout.block(np.arange(layout.n_samples)))
        s = sigmoid(self.at.loading @ self.at.ability.T + self.at.intercept[:, None])
        self.bend = s * (1 - s)  # by the logit, twice: [samples, learners]
        self.by_both: Floats | None = None  # by the logit and by the logit of guessing
        self.by_guessing: Floats | None = None  # by the logit of guessing, twice: [samples]
        if self.at.guessing is None:
            self.bend *= weight
            self.slope = weight * s - right  # by the logit
        else:
            self._guess(self.at.guessing, s, weight, right)
        self.precision = problem.ability_precision.astype(np.float32)
        if problem.held is not None:
            self.problem = problem._replace(held=problem.held.astype(np.float32))
        self.diagonal = self._diagonal()

    def _guess(self, guessing: Floats, s: Floats, weight: Floats, right: Floats) -> None:
        """With p = g + (1 − g) s: ∂loss/∂l = ws − rs/p, ∂loss/∂g = (w − r/p) / (1 − g)."""
        limit, (a, b) = self.problem.guessing_limit, self.problem.guessing_prior
        g, rest = guessing[:, None], 1 - guessing
        p = g + (1 - g) * s
        rate = guessing * (1 - guessing / limit)  # ∂g by its logit
        self.slope = weight * s - right * s / p
        self.by_both = self.bend * right / p**2 * rate[:, None]
        self.bend *= weight - right * g / p**2
        first = (weight - right / p).sum(axis=1) / rest - (a - 1) / guessing + (b - 1) / rest
        second = (weight + right * (1 - 2 * p) / p**2).sum(axis=1) / rest**2
        second += (a - 1) / guessing**2 + (b - 1) / rest**2
        self.by_guessing = second * rate**2 + first * rate * (1 - 2 * guessing / limit)

    def _diagonal(self) -> Floats:
        """Cells that bend down, as guessing makes some, are left out: a scale must be positive."""
        at, bend = self.at, np.maximum(self.bend, 0)
        return self._packed(
            bend.T @ at.loading**2 + np.diag(self.precision),
            bend @ at.ability**2 + self.problem.loading_precision,
            bend.sum(axis=1) + self.problem.intercept_precision,
            None if self.by_guessing is None else np.maximum(self.by_guessing, 1.0),
        )

    def times(self, direction: Floats) -> Floats:
        at, d = self.at, self.packing.shaped(direction.astype(np.float32))
        change = d.loading @ at.ability.T + at.loading @ d.ability.T + d.intercept[:, None]
        slope, guessing = self.bend * change, None
        if d.guessing is not None and self.by_both is not None and self.by_guessing is not None:
            guessing = (self.by_both * change).sum(axis=1) + self.by_guessing * d.guessing
            slope += self.by_both * d.guessing[:, None]
        image = Factors(
            slope.T @ at.loading + self.slope.T @ d.loading + d.ability @ self.precision,
            slope @ at.ability + self.slope @ d.ability + self.problem.loading_precision * d.loading,
            slope.sum(axis=1) + self.problem.intercept_precision * d.intercept,
            guessing,
        )
        if self.problem.held is not None:
            image = _less(image, _explained_pull(self.problem, d))
        return self._packed(*image[:4])

    def _packed(self, ability: Floats, loading: Floats, intercept: Floats, guessing: Floats | None) -> Floats:
        return (
            self.packing.pack(Factors(ability, loading, intercept, guessing)).astype(np.float64) / self.total
        )


class _Packing:
    """Factors as one vector of the free numbers only, and back; guessing travels as a logit."""

    def __init__(self, problem: Bilinear, n_learners: int) -> None:
        self.problem = problem
        self.free = np.flatnonzero(problem.free)
        self.n_samples, self.n_dims = problem.free.shape
        self.n_learners = n_learners
        self.n_ability = n_learners * self.n_dims

    def pack(self, factors: Factors) -> Floats:
        parts = [factors.ability.ravel(), factors.loading.ravel()[self.free], factors.intercept]
        return np.concatenate(parts if factors.guessing is None else [*parts, factors.guessing])

    def again(self, factors: Factors) -> Floats:
        """What `unpack` handed out, packed."""
        if factors.guessing is None:
            return self.pack(factors)
        share = factors.guessing / self.problem.guessing_limit
        return self.pack(factors._replace(guessing=np.log(share) - np.log1p(-share)))

    def unpack(self, x: Floats) -> Factors:
        """Guessing is handed out as a probability."""
        at, limit = self.shaped(x, fixed=self.problem.fixed), self.problem.guessing_limit
        return at if at.guessing is None else at._replace(guessing=limit / (1 + np.exp(-at.guessing)))

    def shaped(self, x: Floats, *, fixed: float = 0.0) -> Factors:
        """The numbers as they are, in the shape of factors, `fixed` where a loading is not free."""
        ability, free, intercept, guess = np.split(
            x, np.cumsum([self.n_ability, len(self.free), self.n_samples])
        )
        loading = np.full((self.n_samples, self.n_dims), fixed, dtype=x.dtype)
        loading.ravel()[self.free] = free
        return Factors(
            ability.reshape(self.n_learners, self.n_dims), loading, intercept,
            guess if self.problem.guessing_limit else None,
        )  # fmt: skip

    def bounds(self) -> list[tuple[float | None, float | None]] | None:
        if not self.problem.positive:
            return None
        rest = self.n_samples * (2 if self.problem.guessing_limit else 1)
        unbound: list[tuple[float | None, float | None]] = [(None, None)]
        return unbound * self.n_ability + [(0.0, None)] * len(self.free) + unbound * rest

    def inside(self, x: Floats) -> Floats:
        """x, with what is beyond a bound at the bound."""
        if self.problem.positive:
            inner = slice(self.n_ability, self.n_ability + len(self.free))
            x[inner] = np.maximum(x[inner], 0)
        return x

    def projected(self, x: Floats, gradient: Floats) -> Floats:
        """The gradient without what pushes against a bound."""
        if not self.problem.positive:
            return gradient
        inner = slice(self.n_ability, self.n_ability + len(self.free))
        held = np.zeros(len(x), bool)
        held[inner] = (x[inner] <= 0) & (gradient[inner] > 0)
        return np.where(held, 0, gradient)


def _start(problem: Bilinear, layout: Layout, rng: np.random.Generator) -> Factors:
    """Learners at the logit of their mean if there is one dimension, else near 0; samples likewise."""
    n_samples, n_dims = problem.free.shape
    right, weight = layout.sample_totals()
    easy = (right + 0.5) / (weight + 1)
    ability = rng.normal(0, 0.1, (layout.n_learners, n_dims))
    if n_dims == 1:
        ability = start_of(layout, informed=True).learner[:, None]
    loading = problem.loading_mean + rng.normal(0, 0.1, (n_samples, n_dims))
    if problem.positive:
        loading = np.maximum(loading, 0.05)
    guessing = np.full(n_samples, -1.0) if problem.guessing_limit else None
    return Factors(ability, loading, np.log(easy / (1 - easy)), guessing)


def _loss_and_gradient(problem: Bilinear, layout: Layout, at: Factors) -> tuple[float, Factors]:
    slopes = layout.slopes(at.ability, at.loading, at.intercept, at.guessing)
    pull = at.ability @ problem.ability_precision
    off = np.where(problem.free, at.loading - problem.loading_mean, 0)
    prior = 0.5 * float(
        np.vdot(pull, at.ability)
        + problem.loading_precision * np.vdot(off, off)
        + problem.intercept_precision * np.vdot(at.intercept, at.intercept)
    )
    by_guessing = None
    if at.guessing is not None and slopes.guessing is not None:
        a, b = problem.guessing_prior
        prior -= float(np.sum((a - 1) * np.log(at.guessing) + (b - 1) * np.log1p(-at.guessing)))
        by_value = slopes.guessing - (a - 1) / at.guessing + (b - 1) / (1 - at.guessing)
        by_guessing = by_value * at.guessing * (1 - at.guessing / problem.guessing_limit)
    gradient = Factors(
        slopes.ability + pull,
        slopes.loading + problem.loading_precision * off,
        slopes.intercept + problem.intercept_precision * at.intercept,
        by_guessing,
    )
    if problem.held is not None:
        away = at._replace(loading=off)
        pulled = _explained_pull(problem, away)
        prior -= 0.5 * sum(
            float(np.vdot(one, other)) for one, other in zip(pulled[:3], away[:3], strict=True)
        )
        gradient = _less(gradient, pulled)
    return slopes.loss + prior, gradient


def _explained_pull(problem: Bilinear, away: Factors) -> Factors:
    """The part of the prior's pull that features account for: P H (b − m)."""
    if problem.held is None:
        return away
    ability, loading, intercept = problem.held.explained(away.ability, away.loading, away.intercept)
    precision = problem.ability_precision.astype(ability.dtype)
    loading = np.where(problem.free, problem.loading_precision * loading, 0)
    return Factors(ability @ precision, loading, problem.intercept_precision * intercept)


def _less(one: Factors, other: Factors) -> Factors:
    return one._replace(
        ability=one.ability - other.ability, loading=one.loading - other.loading,
        intercept=one.intercept - other.intercept,
    )  # fmt: skip
