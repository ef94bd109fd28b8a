"""Jobs that are measured: each in a process of its own, on one thread.

A benchmark names its jobs in `serve`; `measured` runs one and reads what it cost. The process that
measures stays small, because on Linux a child's peak memory starts at its parent's.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}

Row = dict[str, Any]  # column → value: one line of a printed table

_phases: dict[str, float] = {}


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Notes the CPU seconds of this process that pass inside."""
    start = time.process_time()
    yield
    _phases[name] = _phases.get(name, 0.0) + time.process_time() - start


def serve(jobs: Sequence[Callable[..., Row]], main: Callable[[], list[Row]]) -> None:
    """Runs the job that the command line names, or `main` if it names none."""
    if len(sys.argv) == 1:
        main()
        return
    found = {job.__name__: job for job in jobs}[sys.argv[1]](*sys.argv[2:])
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"phases": _phases, "peak_mb": peak / 1024, "found": found}))


class Cost:
    """What a job found and what it cost."""

    def __init__(self, answer: Row, process: float) -> None:
        self.found: Row = answer["found"]
        self.phases: dict[str, float] = answer["phases"]
        self.peak_mb: float = answer["peak_mb"]
        self.process = process  # CPU seconds, user + system, children and start-up included


def measured(script: str, job: str, *arguments: object) -> Cost:
    """Runs a job of a benchmark's script to its end."""
    before = _children()
    done = subprocess.run(
        [sys.executable, script, job, *map(str, arguments)],
        env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return Cost(json.loads(done.stdout.splitlines()[-1]), _children() - before)


def best_of_three(phase_name: str, script: str, job: str, *arguments: object) -> Cost:
    """The run whose phase was quickest, of three processes: other work on the machine only adds."""
    runs = [measured(script, job, *arguments) for _ in range(3)]
    return min(runs, key=lambda run: run.phases[phase_name])


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def data_folder(benchmark: str) -> Path | None:
    """Where the real tables are; without them a benchmark says so and is skipped."""
    if "CAMILLA_DATA" not in os.environ:
        print(f"{benchmark}: skipped; CAMILLA_DATA, the folder of real tables, is not set")
        return None
    return Path(os.environ["CAMILLA_DATA"])


def versions(*packages: str) -> str:
    """The packages with their versions, "numpy 2.4.6, scipy 1.17.1"."""
    return ", ".join(f"{name} {version(name)}" for name in packages)


def print_table(title: str, rows: list[Row]) -> None:
    """The rows in aligned columns."""
    print(f"\n{title}")
    lines = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def markdown_table(rows: list[Row]) -> str:
    """The rows as a table of a Markdown page."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def seconds(value: float) -> str:
    """Fewer decimals as the seconds grow."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def times(peer: float, ours: float) -> str:
    """How many times less ours is."""
    return f"{peer / ours:.0f}×" if peer / ours >= 10 else f"{peer / ours:.1f}×"
