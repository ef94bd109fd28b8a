"""Folders and files to data sets of a pool."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from camilla.data.names import nearest, quoted
from camilla.errors import DataError
from camilla.loaders.frames import read_frame
from camilla.pools.description import DataSet

ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl")


def read_classification(paths: Sequence[Path], *, target: str | None = None) -> list[DataSet]:
    """One data set a file; of a folder, every table whose name does not begin with _ or a dot."""
    files = [file for path in paths for file in _files(path)]
    return [binary_data_set(read_frame(file), file.stem, target=target) for file in files]


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder.")
    if path.is_file():
        return [path]
    found = [one for one in sorted(path.iterdir()) if one.suffix in ENDINGS and one.name[0] not in "_."]
    if not found:
        raise DataError(f"{path}: holds no table; files ending in {', '.join(ENDINGS)} were wanted.")
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
            f"{name}: {target!r} has {counts.height} classes in {complete.height} complete rows"
            f" ({quoted(counts[target].to_list())}); two were wanted."
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
