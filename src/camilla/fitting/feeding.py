"""Responses as training takes them: all on the device, or drawn from shards, half a million at a time."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.extras import NEURAL_WORK, needing
from camilla.fitting.compiling import shared_size
from camilla.fitting.drawing import Stream
from camilla.fitting.layout import Layout
from camilla.fitting.training import Neural, Training

with needing(NEURAL_WORK):
    import jax
    import jax.numpy as jnp

DRAWN_HERE = 50_000_000  # cells up to which NumPy draws their order; an accelerator shuffles more in a second
DRAWN_CELLS = 1 << 19  # of shards, on the device at a time


class DeviceCells(NamedTuple):
    """Observed cells on the device, with what the prior of a cell's learner and sample is divided by."""

    learner: jax.Array
    sample: jax.Array
    response: jax.Array
    weight: jax.Array  # mean 1
    learner_count: jax.Array  # [learners]
    sample_count: jax.Array  # [samples]
    mask: jax.Array | None  # [samples, skills]


class Piece(NamedTuple):
    """Some steps of an epoch."""

    rows: DeviceCells
    batches: Any  # [steps, batch], indices into the rows
    seed: np.uint32


class AllCells:
    """All cells on the device; an epoch is one piece."""

    def __init__(self, layout: Layout, params: Any, mask: Any, diagnoser: Neural) -> None:
        self.rows, self.n_cells = _rows(layout, params, mask, diagnoser)
        self.order = _Order(diagnoser.training, self.n_cells)
        self.n_steps = self.order.n_steps
        self.steps = [self.n_steps]

    def epoch(self, rng: np.random.Generator) -> Iterator[Piece]:
        """Every cell, as often as an epoch passes over them."""
        seed = np.uint32(rng.integers(2**31))
        yield Piece(self.rows, self.order.drawn(rng), seed)

    def kept(self, run: Any, rng: np.random.Generator) -> Any:
        """Nothing is kept of fits in memory."""
        return run

    def keep(self, run: Any, rng: np.random.Generator) -> None:
        """Nothing is."""


class DrawnCells:
    """Cells drawn from shards, half a million on the device at a time; the state is kept after an epoch."""

    def __init__(self, layout: Any, params: Any, mask: Any, diagnoser: Neural) -> None:
        plan = diagnoser.training
        self.layout, self.mask, self.n_cells = layout, mask, layout.n_cells
        order = _Order(plan, self.n_cells)
        self.batch = order.batch
        each = max(1, min(DRAWN_CELLS, self.n_cells) // self.batch)  # a piece has no cell twice
        n_pieces = -(-order.n_steps // each)
        each = -(-order.n_steps // n_pieces)
        self.steps = [each] * n_pieces
        if not plan.averaged:
            self.steps[-1] = order.n_steps - each * (n_pieces - 1)
        self.n_steps = sum(self.steps)
        sizes = _sizes(diagnoser, params)
        self.counts = (
            _divisor(layout.learner_totals()[1], sizes["learner"]),
            _divisor(layout.sample_totals()[1], sizes["sample"]),
        )
        self.weight = jnp.ones(each * self.batch, jnp.float32)

    def epoch(self, rng: np.random.Generator) -> Iterator[Piece]:
        """So many cells as an epoch takes, one pass after the other."""
        stream = Stream(cells for _ in count() for cells in self.layout.draws(rng))
        for steps in self.steps:
            n = steps * self.batch
            cells = stream.take(n)
            learner, sample, response = map(jnp.asarray, cells)
            rows = DeviceCells(learner, sample, response, self.weight[:n], *self.counts, self.mask)
            batches = np.arange(n, dtype=np.int32).reshape(steps, self.batch)  # the stream is in random order
            yield Piece(rows, batches, np.uint32(rng.integers(2**31)))

    def kept(self, run: Any, rng: np.random.Generator) -> Any:
        """The run as it was kept, and the generator at its place; else the run as it begins."""
        kept = None if self.layout.keeper is None else self.layout.keeper.kept()
        leaves, kind = jax.tree.flatten(run)
        names = [str(k) for k in range(len(leaves))]
        shapes = {name: np.shape(leaf) for name, leaf in zip(names, leaves, strict=True)}
        if kept is None or {name: kept[name].shape for name in names if name in kept} != shapes:
            return run
        rng.bit_generator.state = json.loads(str(kept["random"]))
        plain = [
            type(leaf)(kept[name]) if isinstance(leaf, int | float) else kept[name]
            for name, leaf in zip(names, leaves, strict=True)
        ]
        return jax.tree.unflatten(kind, plain)

    def keep(self, run: Any, rng: np.random.Generator) -> None:
        """After an epoch."""
        if self.layout.keeper is not None:
            leaves = {str(k): np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(run))}
            self.layout.keeper.keep(leaves | {"random": np.array(json.dumps(rng.bit_generator.state))})


def _divisor(total: Floats, size: int) -> jax.Array:
    """What the prior of each learner, or sample, is divided by; 1 for the rows that were added."""
    return jnp.asarray(np.maximum(np.pad(total, (0, size - len(total))), 1), jnp.float32)


class _Order:
    """The order in which epochs see the responses."""

    def __init__(self, plan: Training, n_cells: int) -> None:
        """Averaged weights do not mind an epoch somewhat longer than a pass, so that its length is shared."""
        self.n_cells, self.batch = n_cells, plan.batch_for(n_cells)
        exact = max(1, n_cells // self.batch) * plan.passes_for(n_cells)
        self.n_steps = shared_size(exact, 2) if plan.averaged else exact

    def drawn(self, rng: np.random.Generator) -> Any:
        """[steps, batch] of an epoch: as many passes in random order as it takes."""
        wanted = self.n_steps * self.batch
        if self.n_cells > DRAWN_HERE:
            keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), -(-wanted // self.n_cells))
            order = jnp.concatenate([jax.random.permutation(key, self.n_cells) for key in keys])
            return order[:wanted].reshape(self.n_steps, self.batch)
        passes = [rng.permutation(self.n_cells).astype(np.int32) for _ in range(-(-wanted // self.n_cells))]
        return np.concatenate(passes)[:wanted].reshape(self.n_steps, self.batch)


def _rows(layout: Layout, params: Any, mask: Any, diagnoser: Neural) -> tuple[DeviceCells, int]:
    """The cells, and what is divided by for each row of the parameters; added ones have no weight."""
    learner, sample, weight, right = layout.cells()
    sizes = _sizes(diagnoser, params)
    per_learner = np.bincount(learner, weight, sizes["learner"])
    per_sample = np.bincount(sample, weight, sizes["sample"])
    scale = weight.mean()
    more = 0 if diagnoser.exact_sizes else shared_size(len(learner), 1) - len(learner)

    def column(values: Any, dtype: Any) -> jax.Array:
        return jnp.asarray(np.pad(values.astype(dtype), (0, more)))

    return DeviceCells(
        column(learner, np.int32), column(sample, np.int32),
        column(right / weight, np.float32), column(weight / scale, np.float32),
        jnp.asarray(np.maximum(per_learner / scale, 1) * scale, jnp.float32),
        jnp.asarray(np.maximum(per_sample / scale, 1) * scale, jnp.float32),
        mask,
    ), len(learner)  # fmt: skip


def _sizes(diagnoser: Neural, params: Any) -> dict[str, int]:
    """How many rows of learners and of samples the parameters have, with those that were added."""
    arrays = [(axis[0], getattr(params, name)) for name, axis in diagnoser.axes.items()]
    return {axis: len(rows) for axis, rows in arrays if axis in ("learner", "sample") and rows is not None}
