"""Abilities in which samples count by how well they tell learners apart, and levels that keep the count.

A network has several abilities a learner, and the mean of its expected responses is no steadier than plain
accuracy. A one-dimensional reading is: sample j counts with gⱼ, the slope of its expected logit on the mean
logit over the learners, which is what such a reading has for a discrimination (the mean of g is 1). The row
of a learner stands where the responses it gave and those expected of it have the same weighted sum,
c Σⱼ gⱼ wᵢⱼ (xᵢⱼ − pᵢⱼ) = Σₖ τₖ (rᵢₖ − r̄ₖ): the equation of the posterior's mode along the row's height, each
slope of the learner's own logits replaced by c gⱼ, where c is their mean. What is read is the mean response
at the level where the reading has that sum (`scale.unweighted`), which can be compared with accuracy.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from camilla.diagnoser import Floats
from camilla.engine.learner_rows import Told, learner_logits, learner_rows, row_prior
from camilla.engine.training import Neural, neural_logit

LEAST = 0.01  # weight of a sample that tells nobody apart: an ability on it alone is still a number
WEIGHED_CELLS = 3_000_000  # slopes are taken over learners that have at most so many, evenly spaced
REACH = 8.0  # raw units a level may move
ROUNDS = 40


class Curves(NamedTuple):
    """A fit read in one dimension: at level ℓ, the pool's mean being 0, sample j has the logit aⱼ + gⱼℓ."""

    weight: Floats  # [samples] gⱼ, 1 on average but for those at LEAST
    logit: Floats  # [samples] aⱼ


def curves_of(diagnoser: Neural, params: Any) -> Curves:
    """Least squares of every sample's expected logits on the learners' mean logits."""
    n, m = len(learner_rows(diagnoser, params)), diagnoser.size.n_samples
    some = np.unique(np.linspace(0, n - 1, max(2, WEIGHED_CELLS // m)).astype(np.int64))
    learner, sample = np.repeat(some, m), np.tile(np.arange(m), len(some))
    logits = neural_logit(diagnoser, params, learner, sample).reshape(len(some), m)
    level = logits.mean(axis=1) - logits.mean()
    spread = np.sum(level**2)
    apart = spread > 1e-6 * len(some)
    slope = np.maximum(level @ logits / spread, LEAST) if apart else np.ones(m)
    return Curves(slope, logits.mean(axis=0))


def balanced(
    diagnoser: Neural, params: Any, rows: Floats, weight: Floats, right: Floats, sample_weight: Floats
) -> Floats:
    """Raw rows raised or lowered to where they keep the count; weight, right: [learners, samples]."""
    single = partial(jnp.asarray, dtype=jnp.float32)
    device = jax.tree.map(jnp.asarray, params)
    mask = None if diagnoser.size.skill_mask is None else single(diagnoser.size.skill_mask)
    prior = row_prior(diagnoser, learner_rows(diagnoser, params))
    moves = []
    for row, w, r in zip(rows, weight, right, strict=True):
        told = Told(prior, single(w), single(r), mask)
        moves.append(_move(device, single(row), told, single(sample_weight), model=diagnoser.model))
    return rows + np.array(moves, np.float64)[:, None]


@partial(jax.jit, static_argnames=("model",))
def _move(params: Any, row: jax.Array, told: Told, sample_weight: jax.Array, *, model: Any) -> jax.Array:
    """The root of a falling function of the level, by Newton's steps kept inside a bracket."""
    prior, weight, right, mask = told

    def logits(level: jax.Array) -> jax.Array:
        return learner_logits(params, row + level, mask, len(weight), model)

    zero, one = jnp.float32(0), jnp.float32(1)
    scale = jnp.mean(jax.jvp(logits, (zero,), (one,))[1])

    def excess(level: jax.Array) -> jax.Array:
        missed = right - weight * jax.nn.sigmoid(logits(level))
        return scale * jnp.sum(sample_weight * missed) - jnp.sum(prior.precision * (row + level - prior.mean))

    def unfinished(carry: tuple[Any, ...]) -> jax.Array:
        *_, step, count = carry
        return (jnp.abs(step) > 1e-6) & (count < ROUNDS)

    def improve(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        level, low, high, _, count = carry
        value, slope = jax.jvp(excess, (level,), (one,))
        low, high = jnp.where(value > 0, level, low), jnp.where(value > 0, high, level)
        newton = level - value / slope
        after = jnp.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        return after, low, high, after - level, count + 1

    begin = (zero, jnp.float32(-REACH), jnp.float32(REACH), one, 0)
    return jax.lax.while_loop(unfinished, improve, begin)[0]
