"""The posterior of a logit-bilinear model by Gibbs sampling, samples and hyper-parameters included.

logit = cⱼ + vⱼ·θᵢ with θᵢ ~ N(0, I) and bⱼ = (cⱼ, vⱼ) ~ N(μ, Σ). Pólya–Gamma weights make the likelihood
Gaussian (Polson, Scott and Windle 2013), so that learners, samples and (μ, Σ) are each drawn exactly. The
standard deviations in Σ are half-t (Huang and Wand 2013): dimensions a table does not need shrink to
nothing, so that their number need not be chosen (docs/design/posterior.md).
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.fitting.regression import Regression
from camilla.fitting.skill_effects import SkillEffects
from camilla.fitting.systems import normal_draws, products, unpacked

INTERCEPT_SCALE, FIRST_SCALE, OTHER_SCALE = 2.0, 1.0, 0.3  # of the half-t standard deviations
FREEDOM = 2  # of the half-t: correlations between loadings are then uniform
ABILITY_SCALE = 1.0  # of the half-t deviations of learners' weights
FURTHEST = 40.0  # of an intercept or a loading: where responses separate perfectly, nothing else stops them
DOUBLE_CELLS = 300_000  # up to here chains run in float64, in which a CPU's last bits change no draw

# PG(1, z) is drawn from its quantiles: STEPS values of |z|, BINS of equal probability each.
STEPS, WIDTH, BINS = 128, 0.125, 4096
SUMMED = 4  # PG(b, z) is a sum of draws for b below, and a gamma with its moments above


@cache
def quantiles() -> Floats:
    """Mean of PG(1, z) within each bin over its mean in all, [STEPS × BINS] in float32."""
    grid = np.exp(np.linspace(np.log(2e-3), np.log(3.0), 6000))
    k = np.arange(40)[:, None] + 0.5
    sign = np.where(np.arange(40) % 2, -1.0, 1.0)[:, None]
    x = 4 * grid  # J*(1, 0) = 4 PG(1, 0); its series converges fast in one form or in the other
    with np.errstate(under="ignore"):
        small = (sign * np.pi * k * (2 / (np.pi * x)) ** 1.5 * np.exp(-2 * k**2 / x)).sum(axis=0)
        large = (sign * np.pi * k * np.exp(-(k**2) * np.pi**2 * x / 2)).sum(axis=0)
    density = np.log(np.maximum(np.where(x < 0.64, small, large), 1e-300))
    z = (np.arange(STEPS) + 0.5) * WIDTH
    tilted = density - 0.5 * z[:, None] ** 2 * grid
    mass = np.exp(tilted - tilted.max(axis=1, keepdims=True)) * np.gradient(grid)
    mass /= mass.sum(axis=1, keepdims=True)
    share, moment = np.cumsum(mass, axis=1), np.cumsum(mass * grid, axis=1)
    edges = np.arange(BINS + 1) / BINS
    rows = [
        np.diff(np.interp(edges, np.append(0, s), np.append(0, m)))
        for s, m in zip(share, moment, strict=True)
    ]
    return np.concatenate([row / row.mean() for row in rows]).astype(np.float32)


def _half_tanh_over(z: Floats) -> Floats:
    """The mean of PG(1, z): tanh(z/2) / 2z."""
    z = np.maximum(z, np.asarray(1e-3, z.dtype))
    return 0.5 * np.tanh(0.5 * z) / z


def polya_gamma(rng: np.random.Generator, logit: Floats) -> Floats:
    """PG(1, z) for every logit: the exact mean times a quantile drawn from the nearest |z|."""
    z = np.abs(logit)
    row = np.minimum(z * (1 / WIDTH), STEPS - 1).astype(np.int32)
    draw = quantiles().take(row * BINS + rng.integers(0, BINS, size=z.shape, dtype=np.uint16))
    return np.asarray(draw * _half_tanh_over(z))


def polya_gamma_sum(rng: np.random.Generator, count: Floats, logit: Floats) -> Floats:
    """PG(b, z) for any b ≥ 0: whole draws as long as b is small, the rest a gamma with mean and variance."""
    z = np.maximum(np.abs(logit), np.asarray(0.02, logit.dtype))
    mean = _half_tanh_over(z)
    slope = np.tanh(0.5 * z)
    variance = (slope - 0.5 * z * (1 - slope**2)) / (2 * z**3)
    total, rest = np.zeros_like(logit), np.array(count, logit.dtype)
    top = float(rest.max(initial=0))
    for _ in range(int(top + 1e-6) if top < SUMMED else 0):
        whole = rest >= 1 - 1e-6
        total += np.where(whole, polya_gamma(rng, logit), 0)
        rest -= whole
    if rest.max(initial=0) > 1e-3:
        total += rng.standard_gamma(np.maximum(rest, 0) * mean**2 / variance) * (variance / mean)
    return total


class Responses(NamedTuple):
    """What a chain is run on: [samples, learners] each; a response under weight 0 is ignored."""

    weight: Floats
    response: Floats
    fractional: bool


class Conditional(NamedTuple):
    """Factors of every sample given the learners': bⱼ ~ N(mean, root root')."""

    mean: Floats  # [samples, 1 + dims]
    root: Floats  # [samples, 1 + dims, 1 + dims]


class Sums(NamedTuple):
    """Over the draws that were counted in."""

    chance: Floats  # [samples, learners]
    logit: Floats
    square: Floats  # of the logit
    slopes: Floats  # [5, samples]: slope along the learners' mean logit, mean logit, squares, product


class Hyper(NamedTuple):
    """The distribution of samples: bⱼ ~ N(mean, precision⁻¹)."""

    mean: Floats
    precision: Floats


class Prior:
    """Of the distribution of samples: half-t standard deviations, the first loading about 1."""

    def __init__(self, n_dims: int) -> None:
        self.scale = np.append([INTERCEPT_SCALE, FIRST_SCALE], np.full(n_dims - 1, OTHER_SCALE))
        self.centre = np.append([0.0, 1.0], np.zeros(n_dims - 1))  # of μ: one dimension leans to 1

    def first(self, factor: Floats) -> Hyper:
        """Where a chain starts."""
        return Hyper(factor.mean(axis=0), np.diag(1 / (factor.var(axis=0) + 0.5 * self.scale**2)))

    def log_density(self, hyper: Hyper) -> float:
        """Of μ and Σ, but for a constant; the half-t deviations without their auxiliary numbers."""
        width, away = len(hyper.mean), hyper.mean - self.centre
        size = float(np.linalg.slogdet(hyper.precision)[1])
        rates = np.log(FREEDOM * np.diag(hyper.precision) + 1 / self.scale**2).sum()
        return float(
            0.5 * (FREEDOM + 2 * width + 1) * size
            - 0.5 * (FREEDOM + width) * rates
            - 0.5 * away @ hyper.precision @ away
        )

    def draw(
        self, rng: np.random.Generator, n_samples: int, middle: Floats, scatter: Floats, last: Hyper
    ) -> Hyper:
        """(μ, Σ) given the mean of samples and their scatter about it: normal and inverse Wishart."""
        width = len(middle)
        rate = FREEDOM * np.diag(last.precision) + 1 / self.scale**2
        auxiliary = rate / rng.standard_gamma((FREEDOM + width) / 2, size=width)
        off = middle - self.centre
        scale = np.diag(2 * FREEDOM / auxiliary + 1e-9) + scatter
        scale += n_samples / (1 + n_samples) * np.outer(off, off)
        freedom = FREEDOM + width - 1 + n_samples
        bartlett = np.tril(rng.standard_normal((width, width)), -1)
        bartlett[np.diag_indices(width)] = np.sqrt(rng.chisquare(freedom - np.arange(width)))
        factor = np.linalg.cholesky(np.linalg.inv(scale)) @ bartlett
        mean = (self.centre + n_samples * middle) / (1 + n_samples)
        noise = rng.standard_normal(width) / np.sqrt(1 + n_samples)
        return Hyper(mean + np.linalg.solve(factor.T, noise), factor @ factor.T)


class Design(NamedTuple):
    """Columns of features, each of mean 0, and the block of each: those that share a standard deviation."""

    columns: Floats  # [rows, columns]
    block: NDArray[np.intp]  # [columns]
    n_orthogonal: int = 0  # columns at the end that are orthogonal to one another


class Designs(NamedTuple):
    """What samples and learners are known by before any response."""

    samples: Design | None = None
    learners: Design | None = None
    skills: Floats | None = None  # [samples, skills], shares of the skills that each sample needs

    def regressions(self, scale: Floats) -> "Regressions":
        """At their start; `scale` is that of the samples' factors."""
        samples, learners, skills = self
        return Regressions(
            None if samples is None else _regression(samples, scale),
            None if learners is None else _regression(learners, np.full(len(scale) - 1, ABILITY_SCALE)),
            None if skills is None else _by_skill(skills, scale),
        )


def _by_skill(share: Floats, scale: Floats) -> Regression:
    """Skills differ in how easy their samples are: without it, effects of skills would take that up."""
    return Regression(share - share.mean(axis=0), np.zeros(share.shape[1], np.intp), scale, n_explained=1)


def _regression(design: Design, scale: Floats) -> Regression:
    return Regression(design.columns, design.block, scale, design.n_orthogonal)


NO_DESIGNS = Designs()


class Move(NamedTuple):
    """A change of scale that leaves every logit as it is: θ + shift, then θ / stretch and v · stretch."""

    shift: Floats  # [dims], c falls by v·shift
    stretch: Floats  # [dims]
    hyper: Hyper


class Regressions(NamedTuple):
    """Features that the means of samples' factors, or of abilities, are regressed on."""

    samples: Regression | None = None  # on features
    learners: Regression | None = None
    skills: Regression | None = None  # of the samples' intercepts, on the skills that they need

    @property
    def of_samples(self) -> "list[Regression]":
        """Those that the samples' factors have the sum of as their mean."""
        return [one for one in (self.samples, self.skills) if one is not None]

    def shift_gain(self, shift: Floats) -> float:
        """What another origin makes of the density of the samples' weights; the learners' stay."""
        return sum(one.shift_gain(shift) for one in self.of_samples)

    def stretch_gain(self, dimension: int, by: float) -> float:
        """What another unit of a dimension makes of the densities of all."""
        gain = sum(one.stretch_gain(1 + dimension, by) for one in self.of_samples)
        return gain + (0.0 if self.learners is None else self.learners.stretch_gain(dimension, 1 / by))


NONE = Regressions()


def moved(
    prior: Prior, rng: np.random.Generator, hyper: Hyper, n_learners: int, total: Floats, square: Floats,
    regressions: Regressions = NONE,
) -> Move:  # fmt: skip
    """Another origin and unit of the abilities, from their sums and sums of squares in each dimension.

    Of abilities with a regression these are of what it leaves over.

    Learners and samples hold one another in place, so that with few learners a chain hardly moves along them.
    Such a move is drawn given the learners and accepted by what the samples' distribution makes of it, which
    changes with the samples (generalised Gibbs, Liu and Sabatti 2000).
    """
    n_dims = len(total)
    width = n_dims + 1
    shift = -total / n_learners + rng.standard_normal(n_dims) / np.sqrt(n_learners)
    back, forth = np.eye(width), np.eye(width)
    forth[0, 1:], back[0, 1:] = -shift, shift
    tried = Hyper(forth @ hyper.mean, back.T @ hyper.precision @ back)
    gain = prior.log_density(tried) - prior.log_density(hyper) + regressions.shift_gain(shift)
    if np.log(rng.random()) < gain:
        hyper = tried
        square = square + 2 * shift * total + n_learners * shift**2
    else:
        shift = np.zeros(n_dims)
    stretch = np.ones(n_dims)
    for k in {0, int(rng.integers(n_dims))}:
        factor = np.ones(width)
        factor[1 + k] = np.sqrt(max(float(square[k]), 1e-12) / rng.chisquare(n_learners))
        tried = Hyper(hyper.mean * factor, hyper.precision / np.outer(factor, factor))
        gain = prior.log_density(tried) - prior.log_density(hyper) + (width + 2) * np.log(factor[1 + k])
        gain += regressions.stretch_gain(k, float(factor[1 + k]))
        if np.log(rng.random()) < gain:
            hyper, stretch[k] = tried, factor[1 + k]
    return Move(shift, stretch, hyper)


class Chain:
    """A Gibbs chain: `sweep` draws everything once, from what the attributes hold."""

    def __init__(
        self, data: Responses, n_dims: int, rng: np.random.Generator, designs: Designs = NO_DESIGNS
    ) -> None:
        self.shape = data.weight.shape
        self.kind: Any = np.float64 if data.weight.size <= DOUBLE_CELLS else np.float32
        self.weight: Floats = data.weight.astype(self.kind)
        self.response: Floats = data.response.astype(self.kind)
        self.plain = not data.fractional and bool(np.isin(data.weight, (0, 1)).all())
        self.complete = bool((data.weight == 1).all())
        self.fractional, self.dispersion = data.fractional, 1.0
        self.pull = self.weight * (self.response - 0.5)
        self.rng, self.n_dims = rng, n_dims
        skills = designs.skills
        self.effects = None if skills is None else SkillEffects(skills, self.shape[1], self.kind)
        self._offset: Floats | float = 0.0  # what effects add to logits, [samples, learners]
        self.ability, self.factor = self._start()
        self.prior = Prior(n_dims)
        self.hyper = self.prior.first(self.factor)
        self.regressions = designs.regressions(self.prior.scale)
        self._chance, self._logit, self._square = (np.zeros(self.weight.shape, self.kind) for _ in range(3))
        self._slopes = np.zeros((5, len(self.weight)))

    def _start(self) -> tuple[Floats, Floats]:
        """Logits of means, and the leading directions of what they leave over."""

        def shrunk_logit(axis: int) -> Floats:
            right = (self.weight * self.response).sum(axis=axis, dtype=np.float64) + 0.5
            wrong = (self.weight * (1 - self.response)).sum(axis=axis, dtype=np.float64) + 0.5
            return np.log(right) - np.log(wrong)

        level, easiness = shrunk_logit(0), shrunk_logit(1)
        n_samples, n_learners = self.weight.shape
        ability = np.zeros((n_learners, self.n_dims))
        ability[:, 0] = (level - level.mean()) / max(float(level.std()), 1e-6)
        factor = np.zeros((n_samples, self.n_dims + 1))
        factor[:, 0], factor[:, 1] = easiness, 1.0
        if self.n_dims > 1:
            expected = 1 / (1 + np.exp(-(easiness[:, None] + ability[:, 0])))
            left = self.weight * (self.response - expected)
            inner = left @ left.T if n_samples < n_learners else left.T @ left
            value, vector = np.linalg.eigh(inner.astype(np.float64))
            lead = (
                vector[:, ::-1][:, : self.n_dims - 1]
                * np.where(vector.sum(axis=0) < 0, -1, 1)[::-1][: self.n_dims - 1]
            )
            if n_samples < n_learners:
                root = np.sqrt(np.maximum(value[::-1][: self.n_dims - 1], 1e-12))
                ability[:, 1 : 1 + lead.shape[1]] = left.T @ lead / root * np.sqrt(n_learners)
            else:
                ability[:, 1 : 1 + lead.shape[1]] = lead * np.sqrt(n_learners)
            factor[:, 2:] = 2 * left @ ability[:, 1:] / n_learners
        return ability, factor

    def scatter(self) -> None:
        """Moves the start away, as far as the prior is wide: chains that agree then found the same."""
        self.factor = self.factor + self.rng.standard_normal(self.factor.shape) * self.prior.scale
        self.hyper = self.prior.first(self.factor)

    def logit(self) -> Floats:
        """[samples, learners]"""
        return self.factor.astype(self.kind) @ self._design().T + self._offset

    def _design(self) -> Floats:
        return np.column_stack([np.ones(len(self.ability)), self.ability]).astype(self.kind)

    def sweep(self, *, keep_conditional: bool = False) -> Conditional | None:
        """Weights, learners, samples and hyper-parameters, each given all others.

        `keep_conditional` asks for the samples' distribution that their factors were drawn from.
        """
        logit = self.logit()
        omega = self.weights(logit)
        self.draw_learners(omega)
        conditional = self._draw_samples(omega, keep_conditional)
        self._draw_hyper()
        if conditional is None:  # which holds for the learners as they were drawn
            self._move()
        return conditional

    def weights(self, logit: Floats) -> Floats:
        """Pólya–Gamma draws that make the likelihood of these logits Gaussian."""
        if self.plain:
            omega = polya_gamma(self.rng, logit)
            return omega if self.complete else omega * self.weight
        if self.fractional:  # as far from a draw's expectations as a response is from its own
            p = 0.5 + 0.5 * np.tanh(0.5 * logit)
            square = float(np.sum(self.weight * (self.response - p) ** 2, dtype=np.float64))
            self.dispersion = square / float(np.sum(self.weight * p * (1 - p), dtype=np.float64))
            self.dispersion = min(max(self.dispersion, 1e-3), 1.0)
            self.pull = self.weight * (self.response - 0.5) / np.asarray(self.dispersion, self.kind)
        return polya_gamma_sum(self.rng, self.weight / np.asarray(self.dispersion, self.kind), logit)

    def draw_learners(self, omega: Floats) -> None:
        """All abilities given the samples, and what learners make of skills."""
        loading = self.factor[:, 1:].astype(self.kind)
        pull = self.pull - omega * self.factor[:, :1].astype(self.kind)
        of_learners = self.regressions.learners
        expected = np.zeros((1, self.n_dims)) if of_learners is None else of_learners.mean
        if self.effects is not None:
            self.ability = self.effects.draw(self.rng, omega, pull, loading, expected)
            self._offset = self.effects.offset()
            return
        linear = (loading.T @ pull).astype(np.float64) + expected.T
        information = products(loading) @ omega
        self.ability = normal_draws(self.rng, information, np.eye(self.n_dims), linear).T

    def _draw_samples(self, omega: Floats, keep_conditional: bool) -> Conditional | None:
        design, precision = self._design(), self.hyper.precision
        information = products(design) @ omega.T
        pull = self.pull if self.effects is None else self.pull - omega * self._offset
        linear = (design.T @ pull.T).astype(np.float64) + (precision @ self.hyper.mean)[:, None]
        for regression in self.regressions.of_samples:
            linear += precision @ regression.mean.T
        drawn = normal_draws(self.rng, information, precision, linear)
        self.factor = np.clip(drawn.T, -FURTHEST, FURTHEST)
        if not keep_conditional:
            return None
        root = np.linalg.cholesky(unpacked(information, self.n_dims + 1) + precision)
        inverse = np.linalg.inv(root).transpose(0, 2, 1)
        return Conditional(np.einsum("jkl,jml,mj->jk", inverse, inverse, linear, optimize=True), inverse)

    def _draw_hyper(self) -> None:
        means = [one.mean for one in self.regressions.of_samples]
        factor = self.factor - sum(means) if means else self.factor
        middle = factor.mean(axis=0)
        away = factor - middle
        self.hyper = self.prior.draw(self.rng, len(away), middle, away.T @ away, self.hyper)
        for one in self.regressions.of_samples:
            others = sum(other.mean for other in self.regressions.of_samples if other is not one)
            one.draw(self.rng, self.factor - self.hyper.mean - others, self.hyper.precision)
        if self.regressions.learners is not None:
            self.regressions.learners.draw(self.rng, self.ability, np.eye(self.n_dims))

    def _move(self) -> None:
        of_learners = self.regressions.learners
        left = self.ability if of_learners is None else self.ability - of_learners.mean
        total, square = left.sum(axis=0), (left**2).sum(axis=0)
        move = moved(self.prior, self.rng, self.hyper, len(left), total, square, self.regressions)
        self.ability = (self.ability + move.shift) / move.stretch
        self.factor[:, 0] -= self.factor[:, 1:] @ move.shift
        self.factor[:, 1:] *= move.stretch
        self.hyper = move.hyper
        for one in self.regressions.of_samples:
            one.shifted(move.shift)
            one.stretched(np.append(1.0, move.stretch))
        if of_learners is not None:
            of_learners.stretched(1 / move.stretch)
        self._move_effects()

    def _move_effects(self) -> None:
        """Takes the learners' mean out of the effects of each skill, into how easy its samples are.

        No logit changes, and chains hardly move this way by themselves: see `moved`.
        """
        effects, by_skill = self.effects, self.regressions.skills
        if effects is None or by_skill is None:
            return
        n_learners, n_skills = effects.value.shape
        noise = self.rng.standard_normal(n_skills) * np.sqrt(effects.variance / n_learners)
        shift = effects.value.mean(axis=0) + noise
        gain, share = by_skill.intercept_gain(shift), np.asarray(effects.weight.mean(axis=0))
        precision, mean = self.hyper.precision, self.hyper.mean.copy()
        slope = float(precision[0] @ (mean - self.prior.centre))
        for k, luck in enumerate(np.log(self.rng.random(n_skills))):  # each skill by itself
            step = share[k] * shift[k]
            if luck < gain[k] - step * slope - 0.5 * step**2 * precision[0, 0]:
                slope += step * precision[0, 0]
                mean[0] += step
            else:
                shift[k] = 0.0
        by_sample = np.asarray(effects.weight @ shift)
        effects.value -= shift
        self._offset = self._offset - by_sample[:, None].astype(self.kind)
        self.factor[:, 0] += by_sample
        self.hyper = self.hyper._replace(mean=mean)
        by_skill.intercept_shifted(shift)

    def tally(self) -> Floats:
        """Counts the present draw in, and gives its expected scores on all samples."""
        logit = self.logit()
        chance = 0.5 + 0.5 * np.tanh(0.5 * logit)
        self._chance += chance
        self._logit += logit
        self._square += logit**2
        level = logit.mean(axis=0, dtype=np.float64)
        level = (level - level.mean()) / max(float(level.std()), 1e-9)
        slope, middle = logit @ level.astype(self.kind) / len(level), logit.mean(axis=1, dtype=np.float64)
        self._slopes += np.stack([slope, middle, slope**2, middle**2, slope * middle])
        return chance.mean(axis=0, dtype=np.float64)

    def sums(self) -> Sums:
        """Of the draws that were counted in."""
        return Sums(self._chance, self._logit, self._square, self._slopes)
