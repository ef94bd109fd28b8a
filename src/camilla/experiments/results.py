"""The one file results go to: tidy rows that say where they came from, never half written."""

import json
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

import camilla
from camilla.data.writing import write_frame
from camilla.errors import FormatError

SCHEMA: dict[str, Any] = {
    "experiment": pl.String,
    "table": pl.String,
    "data_hash": pl.String,
    "diagnoser": pl.String,
    "seed": pl.Int64,
    "size": pl.Int64,  # samples of a partition
    "comparison": pl.String,  # what abilities are held against
    "learner": pl.String,
    "other": pl.String,
    "skill": pl.String,
    "score": pl.String,
    "value": pl.Float64,
    "chosen": pl.String,  # diagnoser and settings, as JSON
    "converged": pl.Boolean,
    "seconds": pl.Float64,  # CPU seconds of the task, in every row of it
    "camilla": pl.String,
    "versions": pl.String,  # as JSON
}
ORDER = (
    "experiment", "table", "data_hash", "diagnoser", "size", "seed", "camilla",
    "comparison", "learner", "other", "skill", "score",
)  # fmt: skip


def empty() -> pl.DataFrame:
    """No rows yet."""
    return pl.DataFrame(schema=SCHEMA)


def read_results(path: Path) -> pl.DataFrame:
    """What is stored so far; nothing where there is no file."""
    if not path.exists():
        return empty()
    try:
        frame = pl.read_parquet(path, glob=False)
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{path}: cannot be read as Parquet ({error}). Give another file.") from error
    if dict(frame.schema) != SCHEMA:
        raise FormatError(
            f"{path}: is no file of experiments: its columns are {', '.join(frame.columns)}. "
            "Give another file."
        )
    return frame


def write_results(frame: pl.DataFrame, path: Path) -> None:
    """Sorted by key, so that the order in which tasks ended leaves no trace."""
    write_frame(frame.sort(ORDER, nulls_last=False), path)


def rows_of(
    key: dict[str, Any], rows: list[dict[str, Any]],
    *, chosen: dict[str, Any], converged: bool | None, seconds: float,
) -> pl.DataFrame:  # fmt: skip
    """A task's rows with its key and provenance."""
    made = key | {"chosen": json.dumps(chosen), "converged": converged, "seconds": seconds, **provenance()}
    return pl.DataFrame([made | row for row in rows], schema=SCHEMA)


@cache
def provenance() -> dict[str, str]:
    """Versions of what computes."""
    packages = {name: version(name) for name in ("numpy", "scipy", "jax", "polars")}
    return {
        "camilla": camilla.__version__,
        "versions": json.dumps({"python": platform.python_version(), **packages}),
    }
