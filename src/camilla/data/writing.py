"""Response tables back to files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from camilla.errors import DataError, SettingError

if TYPE_CHECKING:
    from camilla.data.responses import ResponseTable

COLUMNS = ("learner", "sample", "response", "trial", "weight", "task", "cluster")


def has_written_header(columns: list[str]) -> bool:
    """Whether a header is as response tables are written with: these names, in this order, no others."""
    return columns[:3] == list(COLUMNS[:3]) and columns == [name for name in COLUMNS if name in columns]


def long_frame(table: "ResponseTable") -> pl.DataFrame:
    """One row a response, names in full."""
    frame = pl.DataFrame(
        {
            "learner": pl.Series(table.learners, dtype=pl.String)[table.learner],
            "sample": pl.Series(table.samples, dtype=pl.String)[table.sample],
            "response": table.response,
        }
    )
    rowwise = {name: getattr(table, name) for name in ("trial", "weight") if getattr(table, name) is not None}
    samplewise = {
        name: pl.Series(getattr(table, name), dtype=pl.String)[table.sample]
        for name in ("task", "cluster")
        if getattr(table, name) is not None
    }
    return frame.with_columns(**{name: pl.Series(column) for name, column in (rowwise | samplewise).items()})


def checked_ending(path: Path) -> str:
    """The ending of a table to be written, if it is known."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"):
        raise SettingError(
            f"{path}: the ending {ending!r} is not known; wanted .csv, .tsv, .jsonl or .parquet."
        )
    return ending


def write_frame(frame: pl.DataFrame, path: Path, notes: dict[str, str] | None = None) -> Path:
    """Writes a table by the file name's ending; a reader never meets half a file.

    `notes` go into the metadata of a Parquet file; the other endings have no place for them.
    """
    ending = checked_ending(path)
    with whole_file(path) as draft:
        match ending:
            case ".csv":
                frame.write_csv(draft)
            case ".tsv":
                frame.write_csv(draft, separator="\t")
            case ".parquet":
                frame.write_parquet(draft, metadata=notes)
            case _:
                frame.write_ndjson(draft)
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write in that takes the target's place when all is written, and only then."""
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}. Make it first.")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
