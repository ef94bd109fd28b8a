"""How long a fit of large files would take here and how much memory, from a few seconds of measuring."""

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from camilla.diagnosing import AUTO, Contender, contender, diagnoser_named
from camilla.diagnosing_large import check_fitted
from camilla.errors import DataError
from camilla.fitting import fit as fitting
from camilla.fitting.alternating import fit_by_turns
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Solution
from camilla.fitting.shard_layout import ShardLayout
from camilla.fitting.shards import Threads
from camilla.fitting.training import QUICK
from camilla.models.camilla import Camilla
from camilla.models.irt import IRT
from camilla.models.mirt import MIRT
from camilla.table.shards import (
    DENSE_SHARE,
    MISSING,
    DenseShard,
    LongColumns,
    count_rows,
    survey,
    table_files,
)

SWEEPS = {"irt": 10, "mirt": 16}  # that fits of simulated and real tables took, rounded up
EPOCHS = 40  # of camilla: the fit with a tenth held out, and the one to all responses
LATENT = 10  # dimensions that are assumed where none are given
MORE = 8  # sweeps that standard errors and expected scores cost as much as
BASE = 400_000_000  # bytes of Python, NumPy, Polars and one batch of rows
NETWORK = 300_000_000  # bytes of JAX, compiled programs and the cells that are drawn at a time
COPIES = 14  # of a network's parameters: averages, moments, slopes and what is kept of them
MEASURED_CELLS = 4_000_000
TRAINED_CELLS = 1_000_000
SPREAD = 2.0  # times are given from half to double: disks and neighbours differ


class FitPlan(NamedTuple):
    """What a fit would take."""

    files: int
    rows: int
    learners: int
    samples: int
    surveyed: int  # files whose names were read for this
    dense: bool
    dimensions: int
    disk: int  # bytes of shards
    memory: int  # bytes at the peak, mapped shards not counted
    reading: float  # seconds of wall time
    fitting: float

    def document(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {"verdict": "planned"} | self._asdict()

    def text(self) -> str:
        """The same in words."""
        low, high = (self.reading + self.fitting) / SPREAD, (self.reading + self.fitting) * SPREAD
        sure = "" if self.surveyed == self.files else f", estimated from {self.surveyed} of the files"
        kind = "one byte per cell" if self.dense else "four bytes per response"
        return (
            f"{self.rows:,} responses of about {self.learners:,} learners to about {self.samples:,} samples "
            f"in {self.files} files{sure}.\n"
            f"Expected here with {self.dimensions} dimension{'s' if self.dimensions > 1 else ''}: "
            f"{_span(low)} to {_span(high)} ({_span(self.reading)} reading, {_span(self.fitting)} fitting), "
            f"{self.memory / 1e9:.1f} GB of memory and {self.disk / 1e9:.1f} GB of disk ({kind})."
        )


def plan_fit(
    source: str | Path, diagnoser: str = AUTO, *, learner: str = "learner", sample: str = "sample",
    response: str = "response",
) -> FitPlan:  # fmt: skip
    """What `diagnose_large` would take on this machine, from about ten seconds of reading and fitting."""
    check_fitted(diagnoser)
    wanted = contender(diagnoser)
    files = table_files(Path(source))
    if not files:
        raise DataError(f"{source}: no Parquet file was found there; a plan needs Parquet files.")
    columns = LongColumns(learner, sample, response)
    rows = count_rows(files)
    start, known, surveyed = time.perf_counter(), 0, 0
    names: dict[str, set[str]] = {"learner": set(), "sample": set()}
    for file in files:
        found = survey(file, columns)
        surveyed += 1
        known += found.n_rows
        for part, seen in names.items():
            seen.update(found.names[part])
        if time.perf_counter() - start > 5:
            break
    reading = (time.perf_counter() - start) / max(known, 1)
    # where the names seen so far cannot hold all rows, the files left are taken to hold further samples
    share = max(1.0, rows / max(known, 1))
    learners, samples = len(names["learner"]), len(names["sample"])
    if learners * samples < rows:
        samples = int(samples * share)
    cells = learners * samples
    dense = rows >= DENSE_SHARE * cells
    kind = diagnoser_named("mirt" if wanted.name == AUTO else wanted.name)
    cost = COSTS[kind.engine](wanted, learners, samples, rows, dense=dense)
    return FitPlan(
        len(files), rows, learners, samples, surveyed, dense, cost.dimensions, cells if dense else 4 * rows,
        cost.memory, 4 * reading * rows, cost.seconds,
    )  # fmt: skip


class _Cost(NamedTuple):
    dimensions: int
    memory: int  # bytes
    seconds: float


def _of_turns(wanted: Contender, learners: int, samples: int, rows: int, *, dense: bool) -> _Cost:
    dims = 1 if wanted.name == "irt" else int(wanted.settings.get("dimensions", LATENT))
    sweeps = SWEEPS["irt" if dims == 1 else "mirt"]
    work = learners * samples if dense else 8 * rows
    factors = 8 * (learners + samples) * (dims + 1) * 4 + 8 * learners * dims * dims * 4
    return _Cost(dims, BASE + factors, _pace(dims, learners) * work * (sweeps + MORE))


def _of_batches(wanted: Contender, learners: int, samples: int, rows: int, *, dense: bool) -> _Cost:
    dims = int(wanted.settings.get("dimensions", LATENT))
    numbers = learners * dims + samples * (2 * dims + 1)
    strips = learners * samples // 8 if dense else rows // 8  # four bytes for 32 of them
    seconds = _training_pace(wanted.settings, learners) * rows * EPOCHS
    return _Cost(dims, BASE + NETWORK + 4 * COPIES * numbers + strips, seconds)


COSTS = {"bilinear": _of_turns, "neural": _of_batches}


def _pace(dims: int, n_learners: int) -> float:
    """Seconds of wall time per cell and sweep on all cores, measured on made-up responses."""
    codes = _made_up(n_learners, MEASURED_CELLS)
    size = Size(codes.shape[1], codes.shape[0])
    problem = (IRT(size) if dims == 1 else MIRT(size, dimensions=dims)).problem()
    workers = Threads([DenseShard(part) for part in np.array_split(codes, os.cpu_count() or 1)])
    ability = np.random.default_rng(1).normal(0, 1, (size.n_learners, dims))
    start = time.perf_counter()
    sweeps = fit_by_turns(problem, workers, ability, lambda line: None, most=3).sweeps
    return (time.perf_counter() - start) / sweeps / codes.size


def _training_pace(settings: dict[str, Any], n_learners: int) -> float:
    """Seconds of wall time per response and epoch, measured on made-up responses; compiling left out."""
    codes = _made_up(n_learners, TRAINED_CELLS)
    layout = ShardLayout([DenseShard(codes)])
    network = Camilla(Size(codes.shape[1], codes.shape[0]), training=QUICK, **settings)
    told: list[float] = []
    twice = Solution(None, 0.0, 0.0, 2, True)
    fitting.solve(
        network, layout, 0, lambda line: told.append(time.perf_counter()), earlier=twice, settle=False
    )
    return (told[1] - told[0]) / layout.n_cells


def _made_up(n_learners: int, n_cells: int) -> Any:
    """Bytes [samples, learners], 30 % missing."""
    n_learners = int(min(max(n_learners, 2), n_cells // 8))
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (max(8, n_cells // n_learners), n_learners)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.3] = MISSING
    return codes


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
