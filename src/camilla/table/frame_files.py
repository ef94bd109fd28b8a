"""Files to data frames, with the line of the file that every row came from."""

import csv
import glob
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import polars as pl

from camilla.errors import DataError
from camilla.names import nearest, quoted, repeated

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
SEPARATOR = {".csv": ",", ".tsv": "\t"}

# A damaged Parquet file can make Polars panic, which is no PolarsError and not even an Exception.
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, UnicodeDecodeError)


def read_frame(
    path: str | Path, *, columns: Collection[str] | None = None, text: Collection[str] | bool = False
) -> pl.DataFrame:
    """The table in a CSV, TSV, JSONL or Parquet file: all columns, or only those named.

    `text` names columns (True: all) that a text file is to give as written, so that 007 stays 007
    and a mistyped number can be shown; Parquet gives every column as it is stored.
    """
    path = Path(path)
    names = column_names(path)
    for column in columns or ():
        if column not in names:
            raise DataError(f"{path}: no column {column!r}. {nearest(column, names)}")
    wanted = names if columns is None else [name for name in names if name in columns]
    as_text = wanted if text is True else [name for name in wanted if text and name in text]
    try:
        frame = _parse(path, wanted, as_text)
    except UNREADABLE as error:
        raise _unreadable(path, error) from error
    if frame.height == 0:
        raise DataError(f"{path}: has a header but no rows.")
    return frame


def column_names(path: str | Path) -> list[str]:
    """The header of a table file as it is written; a name that occurs twice is an error."""
    path = Path(path)
    _check_file(path)
    try:
        names = _header(path)
    except UNREADABLE as error:
        raise _unreadable(path, error) from error
    if any("\r" in name for name in names) and b"\n" not in path.read_bytes():
        raise DataError(f"{path}: its lines end in a carriage return alone. Save it with line feeds.")
    if twice := repeated(names):
        raise DataError(
            f"{path}: column {quoted(twice)} occurs more than once in the header. Rename one of them."
        )
    return names


def _check_file(path: Path) -> None:
    endings = ", ".join(ENDINGS)
    if not path.exists():
        raise DataError(f"{path}: no such file. Give the path of a {endings} table.")
    if path.is_dir():
        raise DataError(f"{path}: is a folder; a {endings} table was wanted.")
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path}: the ending {path.suffix!r} is not known; wanted one of {endings}.")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty; a header and at least one row were wanted.")


def literally(path: Path) -> str:
    """A path in which Polars takes [, * and ? for what they are."""
    return glob.escape(str(path))


def _header(path: Path) -> list[str]:
    match path.suffix.lower():
        case ".csv" | ".tsv" as ending:
            first = pl.read_csv(
                literally(path), separator=SEPARATOR[ending], has_header=False, n_rows=1, infer_schema=False
            )
            return ["" if name is None else name for name in first.row(0)] if first.height else []
        case ".parquet":
            return list(pl.read_parquet_schema(literally(path)))
        case _:
            return list(pl.scan_ndjson(literally(path), infer_schema_length=None).collect_schema())


def _parse(path: Path, columns: list[str], text: list[str]) -> pl.DataFrame:
    match path.suffix.lower():
        case ".csv" | ".tsv" as ending:
            return pl.read_csv(
                literally(path),
                separator=SEPARATOR[ending],
                columns=columns,
                schema_overrides=dict.fromkeys(text, pl.String),
                infer_schema_length=10_000,
            )
        case ".parquet":
            return pl.read_parquet(literally(path), columns=columns)
        case _:
            overrides = dict.fromkeys(text, pl.String)
            frame = pl.read_ndjson(literally(path), schema_overrides=overrides, infer_schema_length=None)
            return frame.select(columns)


def _unreadable(path: Path, error: BaseException) -> DataError:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        place = _broken_line(path)
        if place is not None:
            return DataError(f"{path}: {place}")
    elif path.suffix.lower() != ".parquet" and (place := _longer_line(path)) is not None:
        return DataError(f"{path}: {place}")
    reason = (str(error).splitlines() or ["no reason given"])[0][:200]
    hint = " Save the file as UTF-8." if "utf-8" in reason.lower() else ""
    return DataError(f"{path}: cannot be read as {path.suffix}: {reason}.{hint}")


def _longer_line(path: Path) -> str | None:
    """The first line with more cells than the header has, if there is one."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=SEPARATOR[path.suffix.lower()])
            n_columns = len(next(rows))
            for row in rows:
                if len(row) > n_columns:
                    return (
                        f"line {rows.line_num} has {len(row)} cells, the header {n_columns}. "
                        "Put a cell that holds a separator into quotes."
                    )
    except (OSError, UnicodeDecodeError, csv.Error, StopIteration):
        return None
    return None


def _broken_line(path: Path) -> str | None:
    """What is wrong with the first line that is not a JSON object."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line or b"{}", parse_constant=_refuse_constant) if line.strip() else {}
            except (ValueError, RecursionError) as error:
                return f"line {number} is not JSON: {error}. One object a line was wanted."
            if not isinstance(row, dict):
                return f"line {number} is {str(row)[:40]!r}; one object {{column: value}} a line was wanted."
    return None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number; write null for a missing value")


class PlacedFrame(NamedTuple):
    """A frame without blank lines, and the place of each of its rows in the file, in words."""

    frame: pl.DataFrame
    place: Callable[[int], str]


def frame_with_lines(frame: pl.DataFrame, path: Path) -> PlacedFrame:
    """Lines of a text file, counted from 1 with the header as line 1; rows of Parquet, from 1.

    A line break inside quotes counts as a line, as an editor counts it, if its column was read.
    """
    if path.suffix.lower() not in (".csv", ".tsv"):
        word = "row" if path.suffix.lower() == ".parquet" else "line"
        return PlacedFrame(frame, lambda row: f"{word} {row + 1}")
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    kept = (~blank).arg_true() if blank.any() else None

    def place(row: int) -> str:
        before = row if kept is None else int(kept[row])
        text = frame.head(before).select(pl.col(pl.String).str.count_matches("\n").sum())
        header = sum(name.count("\n") for name in frame.columns)
        return f"line {before + 2 + header + sum(count or 0 for count in text.row(0))}"

    return PlacedFrame(frame if kept is None else frame.filter(~blank), place)
