"""How long a fit of large files would take here and how much memory, from a few seconds of measuring."""

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from camilla.diagnosing import AUTO, contender
from camilla.errors import DataError
from camilla.fitting.alternating import fit_by_turns
from camilla.fitting.layout import Size
from camilla.fitting.shards import Threads
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
LATENT = 10  # dimensions that are assumed where none are given
MORE = 8  # sweeps that standard errors and expected scores cost as much as
BASE = 400_000_000  # bytes of Python, NumPy, Polars and one batch of rows
MEASURED_CELLS = 4_000_000
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
        sure = "" if self.surveyed == self.files else f", reckoned from {self.surveyed} of the files"
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
    wanted = contender(diagnoser)
    dims = 1 if wanted.name == "irt" else int(wanted.settings.get("dimensions", LATENT))
    cells = learners * samples
    dense = rows >= DENSE_SHARE * cells
    pace = _pace(dims, learners)
    sweeps = SWEEPS["irt" if dims == 1 else "mirt"]
    work = cells if dense else 8 * rows
    factors = 8 * (learners + samples) * (dims + 1) * 4 + 8 * learners * dims * dims * 4
    return FitPlan(
        len(files), rows, learners, samples, surveyed, dense, dims, cells if dense else 4 * rows,
        BASE + factors, 4 * reading * rows, pace * work * (sweeps + MORE),
    )  # fmt: skip


def _pace(dims: int, n_learners: int) -> float:
    """Seconds of wall time per cell and sweep on all cores, measured on made-up responses."""
    n_learners = int(min(max(n_learners, 2), MEASURED_CELLS // 8))
    n_samples = max(8, MEASURED_CELLS // n_learners)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (n_samples, n_learners)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.3] = MISSING
    size = Size(n_learners, n_samples)
    problem = (IRT(size) if dims == 1 else MIRT(size, dimensions=dims)).problem()
    parts = np.array_split(codes, os.cpu_count() or 1)
    workers = Threads([DenseShard(part) for part in parts])
    ability = rng.normal(0, 1, (n_learners, dims))
    start = time.perf_counter()
    sweeps = fit_by_turns(problem, workers, ability, lambda line: None, most=3).sweeps
    return (time.perf_counter() - start) / sweeps / codes.size


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
