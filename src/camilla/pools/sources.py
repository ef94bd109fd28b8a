"""Data sets and learners of your own, and predictions made elsewhere."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from camilla.errors import DataError, SettingError
from camilla.names import nearest, quoted
from camilla.pools.description import DataSet, Learner
from camilla.pools.grids import Grid, imported
from camilla.table.frame_files import read_frame
from camilla.table.responses import ResponseTable

SAME = 0.005  # published truths are rounded to two decimals


def join_predictions(predictions: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Adds learners of a wide table of predictions: sample (or id), truth (or label), one column per learner.

    A learner that the pool has already stays the pool's.
    """
    other = read_frame(file)
    sample = next((name for name in ("sample", "id") if name in other.columns), None)
    truth = next((name for name in ("truth", "label") if name in other.columns), None)
    if sample is None or truth is None:
        raise DataError(f"{file}: expected the columns sample (or id) and truth (or label).")
    learners = [name for name in other.columns if name not in (sample, truth, *predictions.columns)]
    given = other.select(
        pl.col(sample).cast(pl.String).alias("sample"), pl.col(truth).alias("\0truth"), *learners
    )
    joined = predictions.select("sample", "truth").join(given, on="sample", how="left", validate="1:1")
    apart = np.abs(joined["truth"].to_numpy() - joined["\0truth"].to_numpy())
    if not (apart < SAME).all():
        at = int(np.argmin(apart < SAME))
        raise DataError(
            f"{file}: the truth of sample {joined['sample'][at]!r} is {joined['truth'][at]} in the pool and "
            f"{joined[chr(0) + 'truth'][at]} there; {(~(apart < SAME)).sum()} of {len(apart)} samples differ "
            "or are missing. The samples of both must be the same."
        )
    return predictions.hstack(joined.select(learners))


def error_responses(predictions: pl.DataFrame) -> ResponseTable:
    """Relative errors of every column that holds a learner's predictions."""
    learners = predictions.drop("data_set", "sample", "truth", "fold")
    return ResponseTable.from_errors(learners, predictions["truth"], samples=predictions["sample"].to_list())


def own_learners(path: str) -> tuple[Learner, ...]:
    """What `module:name` holds: learners, a grid, estimators by name, one estimator, or a function that makes
    one of these. The working folder is looked in first."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = imported(path)
    except ImportError as error:
        raise SettingError(f"{path!r}: cannot be imported: {error}.") from None
    if callable(found) and not hasattr(found, "fit"):
        try:
            found = found()
        except TypeError as error:
            raise SettingError(f"{path!r}: cannot be called without arguments: {error}.") from error
    learners = as_learners(found, name=path.partition(":")[2])
    if strange := [learner.name for learner in learners if not hasattr(learner.estimator, "fit")]:
        raise SettingError(f"{path!r}: {strange[0]!r} has no fit(); expected an estimator.")
    return learners


def as_learners(found: Any, *, name: str) -> tuple[Learner, ...]:
    """Learners from what a user hands over."""
    if isinstance(found, Learner):
        return (found,)
    if isinstance(found, Grid):
        return found.learners()
    if isinstance(found, Mapping):
        return tuple(Learner(str(key), estimator) for key, estimator in found.items())
    if isinstance(found, Sequence) and not isinstance(found, str):
        return tuple(one for part in found for one in as_learners(part, name=type(part).__name__))
    estimator = found() if isinstance(found, type) else found
    return (Learner(name, estimator),)


ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl")


def read_classification(paths: Sequence[Path], *, target: str | None = None) -> list[DataSet]:
    """One data set per file; of a folder, every table whose name does not begin with _ or a dot."""
    files = [file for path in paths for file in _files(path)]
    return [binary_data_set(read_frame(file), file.stem, target=target) for file in files]


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder.")
    if path.is_file():
        return [path]
    found = [one for one in sorted(path.iterdir()) if one.suffix in ENDINGS and one.name[0] not in "_."]
    if not found:
        raise DataError(f"{path}: contains no table; expected files ending in {', '.join(ENDINGS)}.")
    return found


def binary_data_set(frame: pl.DataFrame, name: str, *, target: str | None = None) -> DataSet:
    """Complete rows; the target, the last column unless named, has two classes: the rarer is positive.

    Samples are called by their row in the file, from 0.
    """
    target = frame.columns[-1] if target is None else target
    if target not in frame.columns:
        raise DataError(f"{name}: there is no column {target!r}. {nearest(target, frame.columns)}")
    numbered = frame.with_row_index("\0row").with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))
    complete = numbered.drop_nulls()
    labels = complete[target].cast(pl.String)
    counts = labels.value_counts().sort("count", target, descending=[True, False])
    if counts.height != 2:
        raise DataError(
            f"{name}: {target!r} has {counts.height} classes in {complete.height} complete rows "
            f"({quoted(counts[target].to_list())}); expected two."
        )
    classes = tuple(counts[target].to_list())
    return DataSet(
        name,
        complete.drop("\0row", target),
        (labels == classes[1]).to_numpy().astype(np.float64),
        tuple(complete["\0row"].cast(pl.String).to_list()),
        classes,
        n_incomplete=frame.height - complete.height,
    )
