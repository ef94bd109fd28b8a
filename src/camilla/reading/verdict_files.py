"""Verdicts of a person on samples, read from a mapping, a dataframe or a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.arrays import Floats
from camilla.display import counted
from camilla.errors import DataError
from camilla.names import name_index, nearest, quoted, repeated
from camilla.table.columns import Origin, Wanted, name_column, number_column, pick
from camilla.table.frame_files import frame_with_lines, read_frame
from camilla.table.frames import as_polars
from camilla.table.responses import ResponseTable

VERDICT = Wanted("a verdict must be 1 (the sample is broken) or 0 (it is sound)", 0, 1)


def verdicts(judged: Any, samples: Sequence[str]) -> Floats:
    """1 for a broken sample, 0 for a sound one, NaN where nobody looked."""
    origin, frame = _opened(judged)
    named = name_column(frame, "sample", origin)
    remedy = "Write 1, 0, true or false, and leave the cell empty if nobody has checked the sample."
    errors = number_column(pick(frame, "error", origin), VERDICT, origin, remedy=remedy)
    if len(between := np.flatnonzero((errors > 0) & (errors < 1))):
        raise DataError(
            f"{origin.name}: {VERDICT.what}; {origin.place(int(between[0]))} has {errors[between[0]]:g}. "
            f"{remedy}"
        )
    place_of = _places([named.names[code] for code in named.codes], samples, origin)
    if np.isnan(errors).all():
        raise DataError(f"{origin.name}: contains no verdict; fill in the column 'error' for some samples.")
    verdict = np.full(len(samples), np.nan)
    verdict[place_of] = errors
    return verdict


class LeftOut(NamedTuple):
    """A table without some of its samples, and a sentence about it."""

    table: ResponseTable
    note: str


def without_samples(table: ResponseTable, source: Any) -> LeftOut:
    """The table without the samples of a list, or those that verdicts call broken.

    `source` is a mapping or a table with the column sample; where it has a column error, samples with 1 go.
    """
    origin, frame = _opened(source)
    if "error" in frame.columns:
        gone = np.flatnonzero(verdicts(source, table.samples) == 1)
    else:
        named = name_column(frame, "sample", origin)
        gone = np.array(_places([named.names[code] for code in named.codes], table.samples, origin))
    if len(gone) == table.n_samples:
        raise DataError(f"{origin.name}: leaves out every sample of the table. Leave some in.")
    kept = np.setdiff1d(np.arange(table.n_samples), gone)
    note = f"{len(gone)} of {counted(table.n_samples, 'sample')} were left out, as listed in {origin.name}."
    return LeftOut(table.take_samples(kept), note)


def _opened(source: Any) -> tuple[Origin, pl.DataFrame]:
    if isinstance(source, str | Path):
        frame, place = frame_with_lines(read_frame(Path(source), text=True), Path(source))
        return Origin(str(source), place), frame
    if isinstance(source, Mapping):
        columns = {"sample": list(map(str, source)), "error": list(source.values())}
        return Origin("the verdicts"), pl.DataFrame(columns, strict=False)
    return Origin("the verdicts"), as_polars(source)


def _places(given: Sequence[str], samples: Sequence[str], origin: Origin) -> list[int]:
    place_of = name_index(samples)
    if unknown := [name for name in given if name not in place_of]:
        raise DataError(
            f"{origin.name}: {counted(len(unknown), 'sample')} not in the table, such as {unknown[0]!r}. "
            f"{nearest(unknown[0], samples)}"
        )
    if twice := repeated(given):
        raise DataError(f"{origin.name}: {quoted(twice)} are judged more than once. Keep one row per sample.")
    return [place_of[name] for name in given]
