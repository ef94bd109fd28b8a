"""Any table file to a Polars frame, or an error that says what came and what was wanted."""

from pathlib import Path

import polars as pl

from camilla.errors import DataError

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


def read_frame(path: str | Path) -> pl.DataFrame:
    """The table in a CSV, TSV, JSONL or Parquet file, all columns as they are stored."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path}: no such file. Give the path of a {', '.join(ENDINGS)} table.")
    if path.is_dir():
        raise DataError(f"{path}: is a folder; a {', '.join(ENDINGS)} table was wanted.")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty; a header and at least one row were wanted.")
    frame = _parse(path)
    if frame.height == 0:
        raise DataError(f"{path}: has a header but no rows.")
    return frame


def _parse(path: Path) -> pl.DataFrame:
    try:
        match path.suffix.lower():
            case ".csv":
                return pl.read_csv(path, infer_schema_length=10_000)
            case ".tsv":
                return pl.read_csv(path, separator="\t", infer_schema_length=10_000)
            case ".jsonl" | ".ndjson":
                return pl.read_ndjson(path, infer_schema_length=10_000)
            case ".parquet":
                return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0][:200]
        raise DataError(f"{path}: cannot be read as {path.suffix}: {reason}") from error
    raise DataError(f"{path}: the ending {path.suffix!r} is not known; wanted one of {', '.join(ENDINGS)}.")
