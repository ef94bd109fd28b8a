"""Learners of a neural diagnoser with its samples frozen: placed, balanced, and how sure they are."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.extras import NEURAL_WORK, needing
from camilla.fitting.compiling import shared_size
from camilla.fitting.layout import Layout
from camilla.fitting.protocol import Level, Spread
from camilla.fitting.training import READING, Neural, neural_logit

with needing(NEURAL_WORK):
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

ROUNDS = 40
SPREAD_CELLS = 4_000_000  # of some learners, or samples, whose errors are computed together
WEAK_PRIOR = 1e-2  # precision where the fit had none, so that an all-right learner stays finite


class Prior(NamedTuple):
    """Of a raw row."""

    mean: Any  # [numbers]
    precision: Any  # [numbers]


class Told(NamedTuple):
    """What there is to place one learner by."""

    prior: Prior
    weight: jax.Array  # [samples]
    right: jax.Array
    mask: jax.Array | None  # [samples, skills]


def place_rows(
    diagnoser: Neural,
    params: Any,
    weight: Floats,
    right: Floats,
    *,
    start: bool = False,
    rounds: int = ROUNDS,
    level: bool = False,
    first: int = 0,
) -> tuple[Floats, Floats, Floats]:
    """Raw rows, their covariances and the largest slope left; weight, right: [learners, samples].

    `start`: begin at the present rows, from learner `first` on; with no `rounds` they stay. Else each begins
    at the row of the pool, or the prior's mean, that fits it best: there may be several modes. `level`: rows
    are only raised or lowered as a whole.
    """
    present = learner_rows(diagnoser, params)
    width = present.shape[1]
    along = np.ones((width, 1), np.float32) if level else np.eye(width, dtype=np.float32)
    prior = row_prior(diagnoser, present)
    device, mask = on_device(diagnoser, params)
    own = np.vstack([present, prior.mean]).astype(np.float32)
    known = own if start else jnp.asarray(_filled(own, shared_size(len(own)), own[-1]))
    placed: list[tuple[jax.Array, ...]] = []
    many = (_wide(part, device, diagnoser) for part in (weight, right))
    for weighed, scored in zip(*many, strict=True):
        told = Told(prior, weighed, scored, mask)
        begin = known[first + len(placed)] if start else _best_row(device, known, told, model=diagnoser.model)
        placed.append(_place(device, begin, told, along, rounds, model=diagnoser.model))
    rows, covariance, slope = (np.array(part, np.float64) for part in zip(*placed, strict=True))
    return rows, covariance, slope


def levels(diagnoser: Neural, params: Any, rows: Floats, covariance: Floats) -> Level:
    """Mastery of raw rows, and its covariance by the delta method."""
    mastery = diagnoser.model.mastery(with_learner_rows(diagnoser, params, rows.astype(np.float64)), np)
    device, _ = on_device(diagnoser, params)
    several = _filled(rows.astype(np.float32), shared_size(len(rows)), 0)
    slope = np.asarray(_mastery_slopes(device, several, model=diagnoser.model))[: len(rows)]
    return Level(mastery, np.einsum("nkr,nrs,nls->nkl", slope, covariance, slope.astype(np.float64)))


def on_device(diagnoser: Neural, params: Any) -> tuple[Any, jax.Array | None]:
    """Parameters and skill mask with rows added up to sizes that tables of like size share.

    Nobody answers for the rows added; a sample added asks for every skill.
    """
    mask = diagnoser.size.skill_mask
    if diagnoser.exact_sizes:
        return jax.tree.map(jnp.asarray, params), None if mask is None else jnp.asarray(mask, jnp.float32)
    fields = {
        name: jnp.asarray(_filled(np.asarray(value), shared_size(len(value)), 0))
        for name, axis in diagnoser.axes.items()
        if axis[0] in ("learner", "sample") and (value := getattr(params, name)) is not None
    }
    device = jax.tree.map(jnp.asarray, params._replace(**fields))
    if mask is None:
        return device, None
    return device, jnp.asarray(_filled(mask.astype(np.float32), shared_size(len(mask)), 1))


def off_device(diagnoser: Neural, params: Any) -> Any:
    """Parameters in NumPy without the rows that were added."""
    own = {"learner": diagnoser.size.n_learners, "sample": diagnoser.size.n_samples}
    plain = jax.tree.map(np.asarray, params)
    return plain._replace(
        **{
            name: getattr(plain, name)[: own[axis[0]]]
            for name, axis in diagnoser.axes.items()
            if axis[0] in own and getattr(plain, name) is not None
        }
    )


def _filled(rows: Any, size: int, value: Any) -> Any:
    """Rows, with more of this value up to a size."""
    more = np.empty((size - len(rows), *rows.shape[1:]), rows.dtype)
    more[...] = value
    return np.concatenate([rows, more])


def _wide(of_learners: Floats, params: Any, diagnoser: Neural) -> Any:
    """[learners, samples] in single precision, with 0 for samples that were added."""
    n_samples = next(
        len(getattr(params, name)) for name, axis in diagnoser.axes.items() if axis[0] == "sample"
    )
    more = np.zeros((len(of_learners), n_samples - of_learners.shape[1]), np.float32)
    return np.concatenate([of_learners.astype(np.float32), more], axis=1)


def learner_rows(model: Any, params: Any) -> Floats:
    """All numbers of each learner in one raw row: [learners, numbers]."""
    parts = [getattr(params, name) for name in _learner_fields(model)]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def with_learner_rows(model: Any, params: Any, rows: Any) -> Any:
    """Parameters whose learner side is these raw rows, in NumPy or JAX."""
    fields, at = {}, 0
    for name in _learner_fields(model):
        shape = getattr(params, name).shape[1:]
        width = int(np.prod(shape))
        fields[name] = rows[:, at : at + width].reshape(len(rows), *shape)
        at += width
    return params._replace(**fields)


def _learner_fields(model: Any) -> list[str]:
    return [name for name, axis in model.axes.items() if axis[0] == "learner"]


def row_prior(diagnoser: Neural, present: Floats) -> Prior:
    """The prior of the fit; where there was none, the pool's own mean and variance."""
    width = present.shape[1]
    if diagnoser.precision > 0:
        return Prior(np.zeros(width, np.float32), np.full(width, diagnoser.precision, np.float32))
    spread = np.maximum(present.var(axis=0), 1e-6)
    precision = np.maximum(1 / spread, WEAK_PRIOR).astype(np.float32)
    return Prior(present.mean(axis=0).astype(np.float32), precision)


@partial(jax.jit, static_argnames=("model",))
def _mastery_slopes(params: Any, rows: jax.Array, *, model: Any) -> jax.Array:
    def mastery(row: jax.Array) -> jax.Array:
        return model.mastery(with_learner_rows(model, params, row[None]), jnp)[0]

    return jax.vmap(jax.jacobian(mastery))(rows)


@partial(jax.jit, static_argnames=("model",))
def _best_row(params: Any, known: jax.Array, told: Told, *, model: Any) -> jax.Array:
    """Of the rows known, the one that the responses make most likely."""
    return known[jnp.argmin(jax.lax.map(partial(_objective, params, told, model), known))]


@partial(jax.jit, static_argnames=("model",))
def _place(
    params: Any, begin: jax.Array, told: Told, along: jax.Array, rounds: int, *, model: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    prior, weight, right, mask = told

    def terms(row: jax.Array) -> tuple[jax.Array, jax.Array]:
        def logits(everywhere: jax.Array) -> jax.Array:
            return model.compare(everywhere, params, mask, jnp, READING)

        everywhere = jnp.tile(_mastery(params, row, model), (len(weight), 1))
        logit, slopes = jax.vjp(logits, everywhere)
        by_mastery = slopes(jnp.ones_like(logit))[0]
        by_row = jax.jacobian(partial(_mastery, params, model=model))(row)
        charge = partial(_charge, params, told, model)
        p = jax.nn.sigmoid(logit)
        slope = by_row.T @ (by_mastery.T @ (weight * p - right)) + prior.precision * (row - prior.mean)
        curve = (by_mastery * (weight * p * (1 - p))[:, None]).T @ by_mastery
        information = by_row.T @ curve @ by_row + jnp.diag(prior.precision)
        return slope + jax.grad(charge)(row), information + jax.hessian(charge)(row)

    row = _descended(partial(_objective, params, told, model), terms, begin, along, rounds)
    slope, information = terms(row)
    return row, jnp.linalg.inv(information), jnp.max(jnp.abs(slope))


def learner_logits(
    params: Any, row: jax.Array, mask: jax.Array | None, n_samples: int, model: Any
) -> jax.Array:
    """The logits of a learner of this raw row on every sample."""
    everywhere = jnp.tile(_mastery(params, row, model), (n_samples, 1))
    return jnp.asarray(model.compare(everywhere, params, mask, jnp, READING))


def _mastery(params: Any, row: jax.Array, model: Any) -> jax.Array:
    return jnp.asarray(model.mastery(with_learner_rows(model, params, row[None]), jnp)[0])


def _charge(params: Any, told: Told, model: Any, row: jax.Array) -> jax.Array:
    """The model's own penalty of a row."""
    one = with_learner_rows(model, params, row[None])
    return told.weight.sum() * jnp.asarray(model.penalty(params, one, told.mask, jnp), jnp.float32)


def _objective(params: Any, told: Told, model: Any, row: jax.Array) -> jax.Array:
    """−log posterior of a row, up to a constant."""
    logit = learner_logits(params, row, told.mask, len(told.weight), model)
    held = 0.5 * jnp.sum(told.prior.precision * (row - told.prior.mean) ** 2)
    softplus = jnp.maximum(logit, 0) + jnp.log1p(jnp.exp(-jnp.abs(logit)))
    return jnp.sum(told.weight * softplus - told.right * logit) + held + _charge(params, told, model, row)


def _descended(objective: Any, terms: Any, begin: jax.Array, along: jax.Array, rounds: int) -> jax.Array:
    """Where damped Newton steps from `begin` end, each taken only if the objective falls.

    along: [numbers, directions] in which to step.
    """

    def unfinished(carry: tuple[Any, ...]) -> jax.Array:
        _, _, damping, count = carry
        return (count < rounds) & (damping < 1e6)

    def improve(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        row, value, damping, count = carry
        slope, information = terms(row)
        damped = along.T @ information @ along + damping * jnp.eye(along.shape[1])
        step = along @ jnp.linalg.solve(damped, along.T @ slope)
        trial = objective(row - step)
        better = trial < value
        small = (jnp.max(jnp.abs(step)) < 1e-4) | (better & (value - trial < 1e-6 * jnp.abs(value)))
        after = jnp.where(small, jnp.inf, jnp.where(better, damping / 5, damping * 5 + 1e-3))
        return jnp.where(better, row - step, row), jnp.where(better, trial, value), after, count + 1

    return jax.lax.while_loop(unfinished, improve, (begin, objective(begin), jnp.float32(0.1), 0))[0]


LEAST = 0.01  # weight of a sample that tells nobody apart: an ability on it alone is still a number
WEIGHED_CELLS = 3_000_000  # slopes are taken over learners that have at most so many, evenly spaced
LEVEL_REACH = 8.0  # raw units a level may move
BALANCE_ROUNDS = 40


class SampleCurves(NamedTuple):
    """A fit read in one dimension: at level ℓ, the pool's mean being 0, sample j has the logit aⱼ + gⱼℓ."""

    weight: Floats  # [samples] gⱼ, 1 on average but for those at LEAST
    logit: Floats  # [samples] aⱼ


def curves_of(diagnoser: Neural, params: Any) -> SampleCurves:
    """Least squares of every sample's expected logits on the learners' mean logits."""
    n, m = len(learner_rows(diagnoser, params)), diagnoser.size.n_samples
    some = np.unique(np.linspace(0, n - 1, max(2, WEIGHED_CELLS // m)).astype(np.int64))
    learner, sample = np.repeat(some, m), np.tile(np.arange(m), len(some))
    logits = neural_logit(diagnoser, params, learner, sample).reshape(len(some), m)
    level = logits.mean(axis=1) - logits.mean()
    spread = np.sum(level**2)
    apart = spread > 1e-6 * len(some)
    slope = np.maximum(level @ logits / spread, LEAST) if apart else np.ones(m)
    return SampleCurves(slope, logits.mean(axis=0))


def balanced(
    diagnoser: Neural, params: Any, rows: Floats, weight: Floats, right: Floats, sample_weight: Floats
) -> Floats:
    """Raw rows raised or lowered to where they keep the count; weight, right: [learners, samples]."""
    device, mask = on_device(diagnoser, params)
    prior = row_prior(diagnoser, learner_rows(diagnoser, params))
    counts = _wide(sample_weight[None], device, diagnoser)[0]
    many = (_wide(part, device, diagnoser) for part in (weight, right))
    moves = []
    for row, weighed, scored in zip(rows.astype(np.float32), *many, strict=True):
        told = Told(prior, weighed, scored, mask)
        moves.append(_move(device, row, told, counts, sample_weight.size, model=diagnoser.model))
    return rows + np.array(moves, np.float64)[:, None]


@partial(jax.jit, static_argnames=("model",))
def _move(
    params: Any, row: jax.Array, told: Told, sample_weight: jax.Array, n_samples: int, *, model: Any
) -> jax.Array:
    """The root of a falling function of the level, by Newton's steps kept inside a bracket."""
    prior, weight, right, mask = told

    def logits(level: jax.Array) -> jax.Array:
        return learner_logits(params, row + level, mask, len(weight), model)

    zero, one = jnp.float32(0), jnp.float32(1)
    own = jnp.arange(len(weight)) < n_samples
    scale = jnp.mean(jax.jvp(logits, (zero,), (one,))[1], where=own)

    def excess(level: jax.Array) -> jax.Array:
        missed = right - weight * jax.nn.sigmoid(logits(level))
        return scale * jnp.sum(sample_weight * missed) - jnp.sum(prior.precision * (row + level - prior.mean))

    def unfinished(carry: tuple[Any, ...]) -> jax.Array:
        *_, step, count = carry
        return (jnp.abs(step) > 1e-6) & (count < BALANCE_ROUNDS)

    def improve(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        level, low, high, _, count = carry
        value, slope = jax.jvp(excess, (level,), (one,))
        low, high = jnp.where(value > 0, level, low), jnp.where(value > 0, high, level)
        newton = level - value / slope
        after = jnp.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        return after, low, high, after - level, count + 1

    begin = (zero, jnp.float32(-LEVEL_REACH), jnp.float32(LEVEL_REACH), one, 0)
    return jax.lax.while_loop(unfinished, improve, begin)[0]


NEURAL_KIND = "Laplace, samples and network held fixed"


def neural_spread(diagnoser: Neural, params: Any, layout: Layout) -> Spread:
    """Mastery and sample factors with their standard errors."""
    raw_covariance = _raw_covariance(diagnoser, params, layout)
    scale = _neural_dispersion(diagnoser, params, layout) if diagnoser.size.fractional else 1.0
    read = levels(diagnoser, params, learner_rows(diagnoser, params), raw_covariance)
    factors, errors = _factors_of_all(diagnoser, params, layout)
    difficulty_se, discrimination_se = np.sqrt(scale) * errors
    return Spread(
        read.ability,
        scale * read.covariance,
        NEURAL_KIND,
        factors[0],
        difficulty_se,
        factors[1],
        discrimination_se,
        scale,
        *(curves_of(diagnoser, params) if diagnoser.weighs_samples else ()),
    )


def _raw_covariance(diagnoser: Neural, params: Any, layout: Layout) -> Floats:
    """Of every learner's raw row where it stands: [learners, numbers, numbers]."""
    parts = [
        place_rows(diagnoser, params, weight, right, start=True, rounds=0, first=first)[1]
        for first, weight, right in blocks_of_learners(layout)
    ]
    return np.concatenate(parts)


def blocks_of_learners(layout: Layout) -> Iterator[tuple[int, Floats, Floats]]:
    """(first learner, weight, weight × response) of some learners at a time."""
    step = max(1, SPREAD_CELLS // layout.n_samples)
    for first in range(0, layout.n_learners, step):
        yield first, *layout.of_learners(slice(first, first + step))


def _factors_of_all(diagnoser: Neural, params: Any, layout: Layout) -> tuple[Floats, Floats]:
    """(difficulty, discrimination) of the samples and their standard errors: each [2, samples]."""
    device, mask = on_device(diagnoser, params)
    n_learners = len(getattr(device, _learner_fields(diagnoser)[0]))
    fields = {name: getattr(device, name) for name, axis in diagnoser.axes.items() if axis[0] == "sample"}
    samples = {name: value for name, value in fields.items() if value is not None}
    n_rows = len(next(iter(samples.values())))
    step = min(n_rows, max(1, SPREAD_CELLS // n_learners))
    parts = []
    for first in range(0, layout.n_samples, step):
        weight, _ = layout.block(np.arange(first, min(first + step, layout.n_samples)))
        answered = np.zeros((step, n_learners), np.float32)
        answered[: len(weight), : layout.n_learners] = weight
        rows = np.minimum(np.arange(first, first + step), n_rows - 1)
        found = _sample_factors(
            device, {name: value[rows] for name, value in samples.items()}, jnp.asarray(answered),
            None if mask is None else mask[rows], layout.n_learners, max(diagnoser.precision, 1e-2),
            model=diagnoser.model,
        )  # fmt: skip
        parts.append(np.asarray(found, np.float64)[:, :, : len(weight)])
    factors, errors = np.concatenate(parts, axis=2)
    return factors, errors


@partial(jax.jit, static_argnames=("model",))
def _sample_factors(
    params: Any, samples: dict[str, Any], weight: jax.Array, mask: jax.Array | None, n_learners: int,
    precision: float, *, model: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """(difficulty, discrimination) of these samples and their standard errors."""
    mastery = model.mastery(params, jnp)
    own = jnp.arange(len(mastery)) < n_learners
    _, unravel = ravel_pytree({name: value[0] for name, value in samples.items()})

    def filled(row: jax.Array) -> Any:
        return params._replace(**{name: value[None] for name, value in unravel(row).items()})

    def cell_logit(row: jax.Array, level: jax.Array, mask_row: jax.Array | None) -> jax.Array:
        return model.compare(level[None], filled(row), _mask_row(mask_row), jnp, READING)[0]

    def read(row: jax.Array, mask_row: jax.Array | None) -> jax.Array:
        difficulty, discrimination = model.sample_factors(filled(row), _mask_row(mask_row), jnp)
        if difficulty is None:
            logits = jax.vmap(cell_logit, (None, 0, None))(row, mastery, mask_row)
            difficulty = 1 - jax.nn.sigmoid(logits).mean(keepdims=True, where=own)
        return jnp.stack([difficulty[0], discrimination[0]])

    def one(given: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
        sample, w, mask_row = given
        row, _ = ravel_pytree(sample)
        p = jax.nn.sigmoid(jax.vmap(cell_logit, (None, 0, None))(row, mastery, mask_row))
        slope = jax.vmap(jax.grad(cell_logit), (None, 0, None))(row, mastery, mask_row)
        information = (slope * (w * p * (1 - p))[:, None]).T @ slope + precision * jnp.eye(row.shape[0])
        by_row = jax.jacobian(read)(row, mask_row)
        variance = jnp.einsum("fk,kf->f", by_row, jnp.linalg.solve(information, by_row.T))
        return read(row, mask_row), jnp.sqrt(variance)

    factors, errors = jax.lax.map(one, (samples, weight, mask))
    return (factors[:, 0], factors[:, 1]), (errors[:, 0], errors[:, 1])


def _mask_row(mask_row: jax.Array | None) -> jax.Array | None:
    return None if mask_row is None else mask_row[None]


def _neural_dispersion(diagnoser: Neural, params: Any, layout: Layout) -> float:
    """Pearson χ² per degree of freedom; the fitted numbers count for at most half of the responses."""
    total, n = 0.0, 0
    for learner, sample, w, r in layout.pieces():
        p = 1 / (1 + np.exp(-neural_logit(diagnoser, params, learner, sample)))
        total += np.sum((r - w * p) ** 2 / (w * p * (1 - p)))
        n += len(w)
    used = min(sum(np.size(leaf) for leaf in jax.tree.leaves(params)), n // 2)
    return float(total / (n - used))
