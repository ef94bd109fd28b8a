"""Parquet files that are parts of one long table: a folder or a glob of them, as one frame.

They are one table where all have the same columns, learner, sample and response among them, and no learner
and sample that one file pairs is paired in another. Files in which a pair occurs again may be several
benchmarks that number their samples alike; `namesakes` decides about those.
"""

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from camilla.errors import DataError
from camilla.names import nearest
from camilla.reading.tables import LONG_NAMES
from camilla.table.files import KEY
from camilla.table.frame_files import UNREADABLE, literally
from camilla.table.responses import ResponseTable
from camilla.table.shards import LongColumns, check_columns, table_files

MAGIC = "*?["
APART = ("trial", "judge")  # columns that tell apart what else would be one response given twice


def expanded(paths: Sequence[Path]) -> list[Path]:
    """The paths, a glob in place of which no file has that very name as what it matches."""
    found: list[Path] = []
    for path in paths:
        text = str(path)
        matched = [] if path.exists() or not set(MAGIC) & set(text) else glob.glob(text, recursive=True)
        found += [Path(one) for one in sorted(matched)] or [path]
    return found


def parts_under(paths: Sequence[Path], given: Mapping[str, Any]) -> list[Path]:
    """The files under these paths if they are parts of one long table, else none."""
    if len(paths) == 1 and not paths[0].is_dir():
        return []
    files = [file for path in paths for file in _files(path)]
    if not files or any(file.suffix.lower() != ".parquet" for file in files):
        return []
    try:
        headers = [list(pl.read_parquet_schema(literally(file))) for file in files]
        written = any(KEY in pl.read_parquet_metadata(literally(file)) for file in files)
    except UNREADABLE:
        return []
    roles = [_role(role, headers[0], given) for role in LONG_NAMES]
    alike = all(sorted(header) == sorted(headers[0]) for header in headers)
    if written or not alike or not all(roles):
        return []
    keys = [*roles[:2], *(given.get(name) or name for name in APART)]
    return [] if _repeated(files, [str(key) for key in keys if key in headers[0]]) else files


def _files(path: Path) -> list[Path]:
    """Every file below a path; what begins with a dot or an underscore is no part, as _SUCCESS."""
    if not path.is_dir():
        return [path]
    below = (file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file())
    return [path / one for one in below if not any(part.startswith((".", "_")) for part in one.parts)]


def _role(role: str, header: Sequence[str], given: Mapping[str, Any]) -> str | None:
    names = (given[role],) if role in given else LONG_NAMES[role]
    return next((name for name in names if name in header), None)


def _repeated(files: Sequence[Path], keys: Sequence[str]) -> bool:
    """Whether a pair of one file occurs in another too."""
    scans = [
        pl.scan_parquet(literally(file)).select(pl.col(keys).cast(pl.String).hash()).unique()
        for file in files
    ]
    pairs = pl.concat(scans).select(pl.struct(pl.all()).hash().alias("pair")).collect(engine="streaming")
    return bool(pairs["pair"].is_duplicated().any())


def together(files: Sequence[Path]) -> pl.DataFrame:
    """The rows of all files, one after the other."""
    frames = [pl.read_parquet(literally(file)) for file in files]
    return pl.concat([frame.select(frames[0].columns) for frame in frames], how="vertical_relaxed")


def read_learners(
    source: Path, names: Sequence[str], *, learner: str, sample: str, response: str
) -> ResponseTable:
    """The responses of some learners in Parquet files, the others passed over: what a comparison needs."""
    files = table_files(source)
    check_columns(files, LongColumns(learner, sample, response))
    scans = [pl.scan_parquet(literally(file)).select(learner, sample, response) for file in files]
    named = [scan.with_columns(pl.col(learner).cast(pl.String)) for scan in scans]
    frame = pl.concat([scan.filter(pl.col(learner).is_in(list(names))) for scan in named]).collect(
        engine="streaming"
    )
    there = set(frame[learner].unique())
    if unknown := [name for name in names if name not in there]:
        every = pl.concat([scan.select(pl.col(learner).unique()) for scan in named]).collect(
            engine="streaming"
        )
        raise DataError(
            f"{source}: no learner {unknown[0]!r}. {nearest(unknown[0], every[learner].unique().to_list())}"
        )
    return ResponseTable.from_long(frame, learner=learner, sample=sample, response=response)
