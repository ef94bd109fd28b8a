"""Learners of a neural diagnoser placed with the samples frozen, by damped Fisher scoring in JAX.

With J the slope of every logit by the learner's raw row r and D = diag w p (1 − p):
r ← r + (J'DJ + τI + μI)⁻¹ (J'(x − p)w − τ(r − r̄)), μ falling while the objective falls.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from camilla.diagnoser import Floats
from camilla.engine.training import Neural, no_drop

ROUNDS = 40
WEAK_PRIOR = 1e-2  # precision where the fit had none, so that an all-right learner stays finite


class _Prior(NamedTuple):
    mean: jax.Array  # [numbers]
    precision: jax.Array  # [numbers]


def place_rows(
    diagnoser: Neural,
    params: Any,
    weight: Floats,
    right: Floats,
    *,
    start: bool = False,
    rounds: int = ROUNDS,
) -> tuple[Floats, Floats, Floats]:
    """Raw rows, their covariances and the largest slope left; weight, right: [learners, samples].

    `start`: begin at the learners' present rows instead of the prior's mean; with no `rounds` they stay.
    """
    learner_names = tuple(name for name, axis in diagnoser.axes.items() if axis[0] == "learner")
    present = np.concatenate(
        [getattr(params, name).reshape(len(params[0]), -1) for name in learner_names], axis=1
    )
    prior = _prior(diagnoser, present)
    begin = present if start else np.tile(prior.mean, (len(weight), 1))
    mask = diagnoser.size.skill_mask
    device = jax.tree.map(jnp.asarray, params)
    one = device._replace(**{name: getattr(device, name)[:1] for name in learner_names})
    device_mask = None if mask is None else jnp.asarray(mask, jnp.float32)
    placed = [
        _place(
            one, jnp.asarray(begin[i], jnp.float32), prior, jnp.asarray(weight[i], jnp.float32),
            jnp.asarray(right[i], jnp.float32), device_mask, rounds, model=type(diagnoser),
        )
        for i in range(len(weight))
    ]  # fmt: skip
    rows, covariance, slope = (np.array(part, np.float64) for part in zip(*placed, strict=True))
    return rows, covariance, slope


def _prior(diagnoser: Neural, present: Floats) -> _Prior:
    """The prior of the fit; where there was none, the pool's own mean and variance."""
    width = present.shape[1]
    if diagnoser.precision > 0:
        return _Prior(jnp.zeros(width), jnp.full(width, diagnoser.precision))
    spread = np.maximum(present.var(axis=0), 1e-6)
    return _Prior(jnp.asarray(present.mean(axis=0)), jnp.maximum(1 / jnp.asarray(spread), WEAK_PRIOR))


@partial(jax.jit, static_argnames=("model",))
def _place(
    params: Any, begin: jax.Array, prior: _Prior, weight: jax.Array, right: jax.Array, mask: jax.Array | None,
    rounds: int, *, model: Any,
) -> tuple[jax.Array, jax.Array, jax.Array]:  # fmt: skip
    names = [name for name, axis in model.axes.items() if axis[0] == "learner"]
    one = {name: getattr(params, name)[0] for name in names}
    _, unravel = ravel_pytree(one)
    samples = {name: getattr(params, name) for name, axis in model.axes.items() if axis[0] == "sample"}

    def cell_logit(row: jax.Array, sample: dict[str, jax.Array], mask_row: jax.Array | None) -> jax.Array:
        learner = {name: value[None] for name, value in unravel(row).items()}
        at = params._replace(**learner, **{name: value[None] for name, value in sample.items()})
        return model.logit(at, None if mask_row is None else mask_row[None], jnp, no_drop)[0]

    over_samples = (None, 0, None if mask is None else 0)
    logits = jax.vmap(cell_logit, over_samples)
    both = jax.vmap(jax.value_and_grad(cell_logit), over_samples)

    def objective(row: jax.Array) -> jax.Array:
        logit = logits(row, samples, mask)
        held = 0.5 * jnp.sum(prior.precision * (row - prior.mean) ** 2)
        softplus = jnp.maximum(logit, 0) + jnp.log1p(jnp.exp(-jnp.abs(logit)))
        return jnp.sum(weight * softplus - right * logit) + held

    def terms(row: jax.Array) -> tuple[jax.Array, jax.Array]:
        logit, jacobian = both(row, samples, mask)
        p = jax.nn.sigmoid(logit)
        slope = jacobian.T @ (weight * p - right) + prior.precision * (row - prior.mean)
        information = (jacobian * (weight * p * (1 - p))[:, None]).T @ jacobian + jnp.diag(prior.precision)
        return slope, information

    def unfinished(carry: tuple[Any, ...]) -> jax.Array:
        _, _, damping, count = carry
        return (count < rounds) & (damping < 1e6)

    def improve(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        row, value, damping, count = carry
        slope, information = terms(row)
        step = jnp.linalg.solve(information + damping * jnp.eye(len(row)), slope)
        trial = objective(row - step)
        better = trial < value
        small = (jnp.max(jnp.abs(step)) < 1e-4) | (better & (value - trial < 1e-6 * jnp.abs(value)))
        after = jnp.where(small, jnp.inf, jnp.where(better, damping / 5, damping * 5 + 1e-3))
        return jnp.where(better, row - step, row), jnp.where(better, trial, value), after, count + 1

    row, _, _, _ = jax.lax.while_loop(unfinished, improve, (begin, objective(begin), jnp.float32(0.1), 0))
    slope, information = terms(row)
    return row, jnp.linalg.inv(information), jnp.max(jnp.abs(slope))
