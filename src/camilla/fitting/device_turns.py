"""The turns of `alternating` on an accelerator, where JAX finds one: bytes on the device, float32 passes.

As `shards.Threads`, with all shards as one: a pass over blocks of samples for their own sums, one Newton step
of all of them, a pass for what they say of the learners. Only sums come back, a few numbers per learner.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from camilla.arrays import Floats
from camilla.extras import needing
from camilla.fitting.alternating import LearnerSums, Move, SampleState, SampleSums, pairs_of, shortened
from camilla.fitting.factors import Bilinear
from camilla.fitting.shards import SamplePrior, Totals, dense_codes, first_state
from camilla.table.shards import MISSING, Shard

with needing("fitting on an accelerator"):
    import jax
    import jax.numpy as jnp

BLOCK_CELLS = 20_000_000  # whose float32 temporaries, a few times 80 MB, the device must hold
SETTLED = 1e-4  # float32 sums leave a noise below a tenth of this in abilities
EXACT = "highest"  # products in float32 proper: slopes decide where a fit ends, information only how fast


class Device:
    """Shards on an accelerator."""

    settled = SETTLED

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards, self.n_learners = shards, shards[0].shape[1]
        self.n_samples = sum(one.shape[0] for one in shards)
        step = max(1, min(self.n_samples, BLOCK_CELLS // self.n_learners))
        self.shape = (-(-self.n_samples // step), step)
        codes = dense_codes(shards, self.shape[0] * step)
        self.codes = jnp.asarray(codes.reshape(*self.shape, self.n_learners)).block_until_ready()

    def start(self, problem: Bilinear, ability: Floats, states: Sequence[SampleState] | None) -> None:
        self.prior = SamplePrior(*(part.astype(np.float32) for part in SamplePrior.of(problem)))
        if states is None:
            count, right = (
                np.asarray(part, np.float64).ravel()[: self.n_samples] for part in _totals(self.codes)
            )
            states = [first_state(problem, Totals(count, right))]
        self.factor = self._padded(np.concatenate([np.column_stack(state) for state in states]))
        free = np.column_stack([problem.free, np.ones(self.n_samples, bool)])
        self.free = None if free.all() else self._padded(free)

    def _padded(self, rows: Floats) -> jax.Array:
        out = np.zeros((self.shape[0] * self.shape[1], rows.shape[1]), np.float32)
        out[: len(rows)] = rows
        return jnp.asarray(out.reshape(*self.shape, rows.shape[1]))

    def sweep(self, ability: Floats, move: Move | None) -> tuple[LearnerSums, SampleSums]:
        dims = ability.shape[1]
        turn = np.eye(dims + 1)  # (loading, intercept) @ turn are the moved ones
        if move is not None:
            turn[:dims, :dims], turn[:dims, dims] = move.inverse.T, move.origin
        self.factor, slope, information, square, total, step = _sweep(
            self.codes, self.factor, turn.astype(np.float32), ability.astype(np.float32), self.prior,
            self.free, self.n_samples,
        )  # fmt: skip
        sums = LearnerSums(np.asarray(slope, np.float64), np.asarray(information, np.float64))
        square, total = np.asarray(square, np.float64), np.asarray(total, np.float64)
        return sums, SampleSums(total[:dims], square[:dims, :dims], square[:dims, dims], float(step))

    def states(self) -> tuple[SampleState, ...]:
        rows = np.asarray(self.factor, np.float64).reshape(-1, self.factor.shape[-1])[: self.n_samples]
        ends = np.cumsum([one.shape[0] for one in self.shards])[:-1]
        return tuple(SampleState(part[:, :-1], part[:, -1]) for part in np.split(rows, ends))

    def close(self) -> None:
        """Frees the device's memory."""
        self.codes.delete()


def room() -> int:
    """Bytes of memory that JAX's accelerator has; 0 where there is none."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        return 0
    return int((device.memory_stats() or {}).get("bytes_limit", 8_000_000_000))


@jax.jit
def _totals(codes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """How many responses each sample has, and their sum: [blocks, samples]."""

    def of_block(_: None, block: jax.Array) -> tuple[None, tuple[jax.Array, jax.Array]]:
        weight, right = _decoded(block)
        return None, (weight.sum(axis=1), right.sum(axis=1))

    return jax.lax.scan(of_block, None, codes)[1]


def _decoded(codes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weight and weight × response of every cell."""
    if codes.dtype == jnp.uint8:
        return (codes != MISSING).astype(jnp.float32), (codes == 1).astype(jnp.float32)
    return (~jnp.isnan(codes)).astype(jnp.float32), jnp.nan_to_num(codes)


@jax.jit
def _sweep(
    codes: jax.Array, factor: jax.Array, turn: jax.Array, ability: jax.Array, prior: SamplePrior,
    free: jax.Array | None, n_samples: int,
) -> tuple[jax.Array, ...]:  # fmt: skip
    """Newton steps of all samples, what they say then of the learners, and the sums that a move needs."""
    factor = jnp.matmul(factor, turn, precision=EXACT)
    design = jnp.column_stack([ability, jnp.ones(len(ability), ability.dtype)])
    design_pairs = pairs_of(jnp, design)

    def of_samples(_: None, block: tuple[jax.Array, jax.Array]) -> tuple[None, tuple[jax.Array, jax.Array]]:
        off, bend = _errors(*block, design)
        return None, (jnp.matmul(off, design, precision=EXACT), bend @ design_pairs)

    _, (slope, pairs) = jax.lax.scan(of_samples, None, (codes, factor))
    there = (jnp.arange(factor.shape[0] * factor.shape[1]) < n_samples).reshape(*factor.shape[:2], 1)
    slope -= prior.precision * (factor - prior.mean)
    information = _symmetric(pairs, factor.shape[-1]) + jnp.diag(prior.precision)
    if free is not None:
        slope, information = slope * free, information * (free[..., None] * free[..., None, :])
        information += jnp.eye(factor.shape[-1]) * (1 - free)[..., None]
    step = jnp.where(there, shortened(jnp, _solved(information, slope)), 0)
    factor += step

    def of_learners(
        sums: tuple[jax.Array, jax.Array], block: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, jax.Array], None]:
        off, bend = _errors(*block, design)
        loading = block[1][:, :-1]
        slope = jnp.matmul(off.T, loading, precision=EXACT)
        return (sums[0] + slope, sums[1] + bend.T @ pairs_of(jnp, loading)), None

    dims = ability.shape[1]
    zero = (jnp.zeros_like(ability), jnp.zeros((len(ability), dims * (dims + 1) // 2), ability.dtype))
    (by_learner, bend), _ = jax.lax.scan(of_learners, zero, (codes, factor))
    rows = jnp.where(there, factor, 0).reshape(-1, factor.shape[-1])
    square = jnp.matmul(rows.T, rows, precision=EXACT)
    return factor, by_learner, bend, square, rows.sum(axis=0), jnp.abs(step).max()


def _errors(codes: jax.Array, factor: jax.Array, design: jax.Array) -> tuple[jax.Array, jax.Array]:
    """x − p and p(1 − p) of a block, 0 where a response is missing."""
    if factor.shape[-1] == 2:  # one dimension: cheaper without a product of matrices
        logit = factor[:, :1] * design[:, 0] + factor[:, 1:]
    else:
        logit = jnp.matmul(factor, design.T, precision=EXACT)
    p = jax.nn.sigmoid(logit)
    weight, right = _decoded(codes)
    return right - weight * p, weight * p * (1 - p)


def _symmetric(pairs: jax.Array, width: int) -> jax.Array:
    """Matrices of their upper triangles."""
    place = np.empty((width, width), int)
    first, second = np.triu_indices(width)
    place[first, second] = place[second, first] = np.arange(len(first))
    return pairs[..., place]


def _solved(matrix: jax.Array, right: jax.Array) -> jax.Array:
    """x of matrix · x = right for many small positive matrices: Gauss, a step for all of them at once."""
    width = right.shape[-1]
    rows = [jnp.concatenate([matrix[..., k, :], right[..., k : k + 1]], axis=-1) for k in range(width)]
    for k in range(width):
        rows[k] = rows[k] / rows[k][..., k : k + 1]
        for other in range(k + 1, width):
            rows[other] = rows[other] - rows[other][..., k : k + 1] * rows[k]
    out: list[Any] = [None] * width
    for k in reversed(range(width)):
        out[k] = rows[k][..., -1] - sum((rows[k][..., j] * out[j] for j in range(k + 1, width)), start=0.0)
    return jnp.stack(out, axis=-1)
