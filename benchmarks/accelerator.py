"""Fits of up to a billion cells on an accelerator

python benchmarks/accelerator.py [ROW …], where JAX finds an accelerator. `make bench` leaves it out.

Right or wrong answers of 10,000 learners to 100,000 samples, 30 % missing, from a world with as many
dimensions as are fitted. Times are wall-clock seconds of a fit that is already compiled. Compiling (the first
fit less the second) and the transfer of responses to the device are separate; for camilla's network they are
one number. For the posterior, seconds are those of the sweeps alone. Every row has a process of its own, and
with it the whole device. The last two rows compare diagnoses of 10⁷ cells with those of the CPU, from the
same Parquet files.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from jobs import Row, print_table

SHAPE, SMALLER, COMMON = (10_000, 100_000), (10_000, 10_000), (1_000, 10_000)  # learners × samples
OBSERVED = 0.7
SHARDS = 20
EPOCHS = 4
SWEEPS = 300


def codes_of(shape: tuple[int, int], dims: int) -> Iterator[Any]:
    """Blocks of bytes [samples, learners], drawn on the device."""
    import jax
    import jax.numpy as jnp

    n, m = shape
    rows = m // SHARDS
    mean, spread = (1.0, 0.4) if dims == 1 else (0.5, 0.5)

    @jax.jit
    def block(key: Any, ability: Any) -> Any:
        keys = jax.random.split(key, 4)
        loading = mean + spread * jax.random.normal(keys[0], (rows, dims))
        logit = loading @ ability.T + jax.random.normal(keys[1], (rows, 1))
        right = jax.random.uniform(keys[2], logit.shape) < jax.nn.sigmoid(logit)
        seen = jax.random.uniform(keys[3], logit.shape) < OBSERVED
        return jnp.where(seen, right.astype(jnp.uint8), jnp.uint8(255))

    first, *others = jax.random.split(jax.random.key(0), SHARDS + 1)
    ability = jax.random.normal(first, (n, dims))
    for key in others:
        yield np.asarray(block(key, ability))


def turns(dims: int) -> Row:
    """2PL, or MIRT of so many dimensions."""
    from camilla.diagnosing_large import start_of_shards
    from camilla.fitting.alternating import fit_by_turns
    from camilla.fitting.device_turns import Device
    from camilla.fitting.layout import Size
    from camilla.fitting.shard_layout import ShardLayout
    from camilla.models.irt import IRT
    from camilla.models.mirt import MIRT
    from camilla.table.shards import DenseShard

    shards = tuple(DenseShard(codes) for codes in codes_of(SHAPE, dims))
    size = Size(*SHAPE)
    model: Any = IRT(size, precision=1.0) if dims == 1 else MIRT(size, dimensions=dims, precision=3.0)
    start = start_of_shards(ShardLayout(shards), dims, 0)
    began = time.perf_counter()
    device = Device(shards)
    moved, took = time.perf_counter() - began, []
    for _ in range(3):
        began = time.perf_counter()
        reached = fit_by_turns(model.problem(), device, start, lambda line: None)
        took.append(time.perf_counter() - began)
    return _row(min(took[1:]), reached.sweeps, moved, took[0] - min(took[1:]))


class Listed:
    """A layout in memory of bytes: what the neural engine asks of one."""

    drawn = False

    def __init__(self, blocks: list[Any]) -> None:
        self.n_learners, self.n_samples = SHAPE
        parts = [np.nonzero(block != 255) for block in blocks]
        starts = np.cumsum([0] + [len(block) for block in blocks[:-1]])
        sample = [row.astype(np.int32) + start for (row, _), start in zip(parts, starts, strict=True)]
        self._learner = np.concatenate([column.astype(np.int32) for _, column in parts])
        self._sample = np.concatenate(sample).astype(np.int32)
        pairs = zip(parts, blocks, strict=True)
        self._right = np.concatenate([block[at].astype(np.float32) for at, block in pairs])
        self.n_cells, self.total_weight = len(self._right), float(len(self._right))

    def cells(self) -> tuple[Any, ...]:
        return self._learner, self._sample, np.ones_like(self._right), self._right

    def learner_totals(self) -> tuple[Any, Any]:
        return self._totals(self._learner, self.n_learners)

    def sample_totals(self) -> tuple[Any, Any]:
        return self._totals(self._sample, self.n_samples)

    def _totals(self, rows: Any, n_rows: int) -> tuple[Any, Any]:
        n = np.bincount(rows, minlength=n_rows)
        return np.bincount(rows, self._right, n_rows), n.astype(np.float64)


def camilla_epochs(dims: int) -> Row:
    """Epochs of Camilla's network; the first one compiles."""
    from camilla.fitting import fit as engine
    from camilla.fitting.layout import Size
    from camilla.fitting.protocol import Solution
    from camilla.models.camilla import Camilla

    layout: Any = Listed(list(codes_of(SHAPE, dims)))
    diagnoser = Camilla(Size(*SHAPE), dimensions=dims, precision=1.0)
    ends = [time.perf_counter()]
    so_many = Solution(None, 0.0, 0.0, EPOCHS, True)

    def watch(line: str) -> None:
        ends.append(time.perf_counter())
        print(line, file=sys.stderr)

    engine.solve(diagnoser, layout, 0, watch, earlier=so_many, settle=False)
    steps = np.diff(ends)
    return _row(float(np.median(steps[1:])), 1, None, float(steps[0] - np.median(steps[1:])))


def posterior(shape: tuple[int, int], dims: int) -> Row:
    """Sweeps of the Gibbs sampler."""
    from camilla.fitting.device_chain import DeviceChain
    from camilla.fitting.sampler import Responses

    codes = np.concatenate(list(codes_of(shape, dims)))
    weight = (codes != 255).astype(np.float32)
    began = time.perf_counter()
    data = Responses(weight, (codes == 1).astype(np.float32), False)
    chain = DeviceChain(data, dims, np.random.default_rng(0))
    moved, took = time.perf_counter() - began, []
    for _ in range(SWEEPS + 1):
        began = time.perf_counter()
        chain.sweep()
        took.append(time.perf_counter() - began)
    whole = float(sum(took[1:]))
    return _row(whole, SWEEPS, moved, took[0] - whole / SWEEPS)


def agreement(text: str, dims: int) -> Row:
    """Diagnoses of the same files on the device and on the CPU."""
    import polars as pl

    import camilla

    with tempfile.TemporaryDirectory() as folder:
        for part, codes in enumerate(codes_of(COMMON, dims)):
            sample, learner = np.nonzero(codes != 255)
            sample_names = pl.Series([f"s{part:02}-{j:04}" for j in range(len(codes))])
            learner_names = pl.Series([f"m{i:04}" for i in range(COMMON[0])])
            columns = {"learner": learner_names[learner.astype(np.uint32)]}
            columns |= {"sample": sample_names[sample.astype(np.uint32)]}
            columns |= {"response": pl.Series(codes[sample, learner])}
            pl.DataFrame(columns).write_parquet(f"{folder}/part-{part:02}.parquet")
        on = {
            device: camilla.diagnose_large(
                folder, text, shards=f"{folder}.{device}", device=device, watch=lambda line: None
            )
            for device in ("gpu", "cpu")
        }
    gpu, cpu = (one.learners.sort("learner")["ability"].to_numpy() for one in on.values())
    return {"learners": len(gpu), "largest difference of an ability": f"{np.abs(gpu - cpu).max():.1e}"}


def _row(seconds: float, sweeps: int, moved: float | None, compiling: float) -> Row:
    return {
        "seconds": f"{seconds:.3f}",
        "sweeps": sweeps,
        "ms per sweep": f"{1e3 * seconds / sweeps:.1f}",
        "transfer, s": "–" if moved is None else f"{moved:.1f}",
        "compiling, s": f"{compiling:.1f}",
    }


ROWS: dict[str, Any] = {
    "2PL": lambda: turns(1),
    "MIRT, 8 dimensions": lambda: turns(8),
    "camilla, an epoch": lambda: camilla_epochs(5),
    "posterior, 20 dimensions, 10⁸ cells": lambda: posterior(SMALLER, 20),
    "posterior, 20 dimensions": lambda: posterior(SHAPE, 20),
    "2PL, 10⁷ cells, beside the CPU": lambda: agreement("irt:precision=1", 1),
    "MIRT, 8 dimensions, 10⁷ cells, beside the CPU": lambda: agreement("mirt:dimensions=8:precision=3", 8),
}


def main() -> None:
    """The rows named, or each in a process of its own."""
    if len(sys.argv) > 1:
        for name in sys.argv[1:]:
            print_table(name, [{"fit": name} | ROWS[name]()])
        return
    for name in ROWS:
        began = time.perf_counter()
        subprocess.run([sys.executable, __file__, name], check=False)
        print(f"{name}: {time.perf_counter() - began:.0f} s in all", flush=True)


if __name__ == "__main__":
    main()
