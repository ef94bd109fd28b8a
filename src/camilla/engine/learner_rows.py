"""Learners of a neural diagnoser placed with the samples frozen, by damped Fisher scoring in JAX.

A learner's raw row r meets the samples only through its mastery m(r). With S the slope of every
logit by mastery, M = ∂m/∂r, J = SM and D = diag w p (1 − p):
r ← r + (J'DJ + τI + H + μI)⁻¹ (J'(x − p)w − τ(r − r̄) − h), μ falling while the objective falls; h and
H are slope and curvature of the model's own penalty.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from camilla.diagnoser import Floats
from camilla.engine.training import READING, Neural

ROUNDS = 40
WEAK_PRIOR = 1e-2  # precision where the fit had none, so that an all-right learner stays finite


class Prior(NamedTuple):
    """Of a raw row."""

    mean: jax.Array  # [numbers]
    precision: jax.Array  # [numbers]


class Told(NamedTuple):
    """What there is to place one learner by."""

    prior: Prior
    weight: jax.Array  # [samples]
    right: jax.Array
    mask: jax.Array | None  # [samples, skills]


class Level(NamedTuple):
    """Learners on the scale abilities are read on."""

    ability: Floats  # [learners, skills]
    covariance: Floats  # [learners, skills, skills]


def place_rows(
    diagnoser: Neural,
    params: Any,
    weight: Floats,
    right: Floats,
    *,
    start: bool = False,
    rounds: int = ROUNDS,
    level: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Raw rows, their covariances and the largest slope left; weight, right: [learners, samples].

    `start`: begin at the learners' present rows; with no `rounds` they stay. Else each begins at the row of
    the pool, or the prior's mean, that fits it best: there may be several modes. `level`: rows are only
    raised or lowered as a whole.
    """
    present = learner_rows(diagnoser, params)
    width = present.shape[1]
    along = jnp.ones((width, 1)) if level else jnp.eye(width)
    prior = row_prior(diagnoser, present)
    mask = diagnoser.size.skill_mask
    device = jax.tree.map(jnp.asarray, params)
    single = partial(jnp.asarray, dtype=jnp.float32)
    device_mask = None if mask is None else single(mask)
    known = single(np.vstack([present, prior.mean]))
    placed = []
    for i in range(len(weight)):
        told = Told(prior, single(weight[i]), single(right[i]), device_mask)
        begin = known[i] if start else _best_row(device, known, told, model=diagnoser.model)
        placed.append(_place(device, begin, told, along, rounds, model=diagnoser.model))
    rows, covariance, slope = (np.array(part, np.float64) for part in zip(*placed, strict=True))
    return rows, covariance, slope


def levels(diagnoser: Neural, params: Any, rows: Floats, covariance: Floats) -> Level:
    """Mastery of raw rows, and its covariance by the delta method."""
    mastery = diagnoser.model.mastery(with_learner_rows(diagnoser, params, rows.astype(np.float64)), np)
    device = jax.tree.map(jnp.asarray, params)
    slope = np.asarray(_mastery_slopes(device, jnp.asarray(rows, jnp.float32), model=diagnoser.model))
    return Level(mastery, np.einsum("nkr,nrs,nls->nkl", slope, covariance, slope.astype(np.float64)))


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
        return Prior(jnp.zeros(width), jnp.full(width, diagnoser.precision))
    spread = np.maximum(present.var(axis=0), 1e-6)
    return Prior(jnp.asarray(present.mean(axis=0)), jnp.maximum(1 / jnp.asarray(spread), WEAK_PRIOR))


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
