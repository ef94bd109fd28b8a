"""How sure a neural fit is: Fisher information of each learner's and each sample's raw row, in JAX.

A learner's covariance holds the samples and the network fixed, a sample's holds the learners fixed;
the kind says so. What is read is a function of the raw row; its variance follows by the delta method.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from camilla.diagnoser import Spread
from camilla.engine.balance import curves_of
from camilla.engine.layout import Layout
from camilla.engine.learner_rows import learner_rows, levels, place_rows
from camilla.engine.training import READING, Neural, neural_logit

KIND = "Laplace, samples and network held fixed"


def spread(diagnoser: Neural, params: Any, layout: Layout) -> Spread:
    """Mastery and sample factors with their standard errors."""
    weight, right = layout.block(np.arange(layout.n_samples))
    _, raw_covariance, _ = place_rows(diagnoser, params, weight.T, right.T, start=True, rounds=0)
    scale = _dispersion(diagnoser, params, weight, right) if diagnoser.size.fractional else 1.0
    read = levels(diagnoser, params, learner_rows(diagnoser, params), raw_covariance)
    mask = diagnoser.size.skill_mask
    factors, errors = _samples(
        jax.tree.map(jnp.asarray, params), jnp.asarray(weight, jnp.float32),
        None if mask is None else jnp.asarray(mask, jnp.float32),
        max(diagnoser.precision, 1e-2), model=diagnoser.model,
    )  # fmt: skip
    difficulty, discrimination = (np.asarray(f, np.float64) for f in factors)
    difficulty_se, discrimination_se = (np.sqrt(scale) * np.asarray(e, np.float64) for e in errors)
    return Spread(
        read.ability,
        scale * read.covariance,
        KIND,
        difficulty,
        difficulty_se,
        discrimination,
        discrimination_se,
        scale,
        *(curves_of(diagnoser, params) if diagnoser.weighs_samples else ()),
    )


@partial(jax.jit, static_argnames=("model",))
def _samples(
    params: Any, weight: jax.Array, mask: jax.Array | None, precision: float, *, model: Any
) -> tuple[Any, Any]:
    """(difficulty, discrimination) of every sample and their standard errors."""
    mastery = model.mastery(params, jnp)
    samples = {name: getattr(params, name) for name, axis in model.axes.items() if axis[0] == "sample"}
    _, unravel = ravel_pytree({name: value[0] for name, value in samples.items()})

    def filled(row: jax.Array) -> Any:
        return params._replace(**{name: value[None] for name, value in unravel(row).items()})

    def cell_logit(row: jax.Array, level: jax.Array, mask_row: jax.Array | None) -> jax.Array:
        return model.compare(level[None], filled(row), _row(mask_row), jnp, READING)[0]

    def read(row: jax.Array, mask_row: jax.Array | None) -> jax.Array:
        difficulty, discrimination = model.sample_factors(filled(row), _row(mask_row), jnp)
        if difficulty is None:
            logits = jax.vmap(cell_logit, (None, 0, None))(row, mastery, mask_row)
            difficulty = 1 - jax.nn.sigmoid(logits).mean(keepdims=True)
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


def _row(mask_row: jax.Array | None) -> jax.Array | None:
    return None if mask_row is None else mask_row[None]


def _dispersion(diagnoser: Neural, params: Any, weight: Any, right: Any) -> float:
    """Pearson χ² per degree of freedom; the fitted numbers count for at most half of the responses."""
    sample, learner = np.nonzero(weight)
    w, r = weight[sample, learner], right[sample, learner]
    p = 1 / (1 + np.exp(-neural_logit(diagnoser, params, learner, sample)))
    used = min(sum(np.size(leaf) for leaf in jax.tree.leaves(params)), len(w) // 2)
    return float(np.sum((r - w * p) ** 2 / (w * p * (1 - p))) / (len(w) - used))
