"""Rows of a second table in the order of the samples of the first."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.columns import Encoded, Origin, name_column
from camilla.data.names import quoted
from camilla.errors import DataError

ID_NAMES = ("sample", "sample_id", "id", "item")


class Alignment(NamedTuple):
    """`rows[i]` is the row of the second table that speaks of sample i; `notes` say what was assumed."""

    id: str | None
    rows: NDArray[np.int64]
    notes: tuple[str, ...]


def align(
    frame: pl.DataFrame, samples: Sequence[str], id: str | None, values: Collection[str], origin: Origin
) -> Alignment:
    """Matches rows to samples by name; by order only where the table has nothing to match by.

    The names stand in the column `id`; when that is not given, in one called sample, sample_id,
    id or item, else in the first column that is none of the `values`. Without a column so called,
    a table of as many rows as there are samples is taken in order if it has no other column or
    its first one merely counts rows (a, a+1, a+2, …); a note says so.
    """
    known = id if id is not None else next((name for name in ID_NAMES if name in frame.columns), None)
    column = (
        known if known is not None else next((name for name in frame.columns if name not in values), None)
    )
    if column is None:
        if frame.height != len(samples):
            raise DataError(
                f"{origin.name}: has {frame.height} rows for {len(samples)} samples and no column of sample "
                "names. Add a column 'sample'."
            )
        return _in_order(None, len(samples), origin)
    names = name_column(frame, column, origin)
    missed = sorted(set(samples).difference(names.names))
    if missed and known is None and frame.height == len(samples) and _counts_rows(frame[column]):
        return _in_order(column, len(samples), origin)
    if missed:
        raise DataError(
            f"{origin.name}: misses {len(missed)} of {len(samples)} samples: {quoted(missed)}; "
            f"column {column!r} was read as the sample names. Add their rows, or remove them from the table."
        )
    return _by_name(column, names, samples, origin)


def _by_name(column: str, names: Encoded, samples: Sequence[str], origin: Origin) -> Alignment:
    row_of = np.full(len(names.names), -1, np.int64)
    row_of[names.codes[::-1]] = np.arange(len(names.codes))[::-1]
    if len(names.names) < len(names.codes):
        second = int(np.argmax(row_of[names.codes] != np.arange(len(names.codes))))
        code = names.codes[second]
        raise DataError(
            f"{origin.name}: sample {names.names[code]!r} has two rows, {origin.place(int(row_of[code]))} "
            f"and {origin.place(second)}. Keep one."
        )
    place = dict(zip(names.names, row_of.tolist(), strict=True))
    extra = len(names.names) - len(samples)
    notes = (f"{extra} samples of {origin.name} are not in the table and were ignored",) if extra else ()
    return Alignment(column, np.array([place[sample] for sample in samples], np.int64), notes)


def _in_order(column: str | None, count: int, origin: Origin) -> Alignment:
    note = f"{origin.name} names no samples; its {count} rows were matched to the samples in order"
    return Alignment(column, np.arange(count), (note,))


def _counts_rows(series: pl.Series) -> bool:
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.null_count() == 0 and bool((numbers.diff().drop_nulls() == 1).all())
