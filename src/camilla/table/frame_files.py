"""Files to data frames, with the line of the file that every row came from."""

import csv
import glob
import gzip
import io
import itertools
import re
import sys
import zlib
from collections.abc import Callable, Collection
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import msgspec
import polars as pl

from camilla.errors import DataError, LayoutError
from camilla.names import in_quotes, nearest, quoted, repeated
from camilla.table.spreadsheets import sheet_as_csv

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")  # of files that can only be tables
WORKBOOK = ".xlsx"
READABLE = (*ENDINGS, ".json", WORKBOOK)  # .json may be a log as well
SEPARATOR = {".csv": ",", ".tsv": "\t"}
SEPARATORS = (",", ";", "\t")
SPREADSHEETS = (".xls", ".xlsm", ".ods", ".numbers")
URL = re.compile(r"^[a-z][a-z0-9+]+:/", re.IGNORECASE)
STANDARD_INPUT = Path("-")
HEAD = 1 << 16
LARGEST = 4 << 30  # bytes; a packed file of a few kilobytes can unpack to more than any memory holds
UTF_16 = (b"\xff\xfe", b"\xfe\xff")

# A damaged Parquet file can make Polars panic, which is no PolarsError and not even an Exception.
POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
UNREADABLE = (*POLARS, OSError, UnicodeDecodeError, EOFError, zlib.error)


class TableFile(NamedTuple):
    """A table file as Polars takes it: a path, or its bytes where they had to be unpacked or rewritten."""

    path: Path
    ending: str  # without .gz; of standard input, what its bytes look like
    source: Path | bytes
    separator: str = ","

    def readable(self) -> Any:
        """What Polars reads: [, * and ? in a path are what they are."""
        return literally(self.source) if isinstance(self.source, Path) else io.BytesIO(self.source)

    def content(self) -> bytes:
        """All bytes."""
        return self.source.read_bytes() if isinstance(self.source, Path) else self.source


def read_frame(
    path: str | Path, *, columns: Collection[str] | None = None, text: Collection[str] | bool = False
) -> pl.DataFrame:
    """The table in a CSV, TSV, JSONL, JSON, Parquet or Excel file: all columns, or only those named.

    The file may be packed with gzip; - is standard input. `text` names columns (True: all) that a text file
    is to give as written, so that 007 stays 007 and a mistyped number can be shown; Parquet gives every
    column as it is stored.
    """
    file = _opened(Path(path))
    names = _checked_header(file)
    for column in columns or ():
        if column not in names:
            raise DataError(f"{called(path)}: no column {column!r}. {nearest(column, names)}")
    wanted = names if columns is None else [name for name in names if name in columns]
    as_text = wanted if text is True else [name for name in wanted if text and name in text]
    try:
        frame = _parse(file, wanted, as_text)
    except UNREADABLE as error:
        raise _unreadable(file, error) from error
    if frame.height == 0:
        raise DataError(f"{called(path)}: has a header but no rows.")
    return frame


def column_names(path: str | Path) -> list[str]:
    """The header of a table file as it is written; a name that occurs twice is an error."""
    return _checked_header(_opened(Path(path)))


def called(path: str | Path) -> str:
    """How messages call a file."""
    return "standard input" if Path(path) == STANDARD_INPUT else str(path)


def ending_of(path: str | Path) -> str:
    """The ending that says how a table is laid out: .csv of t.csv.gz; of standard input, what it holds."""
    path = Path(path)
    if path == STANDARD_INPUT:
        return _looks_like(_unpacked(_standard_input(), "standard input"))
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


class FileColumns(NamedTuple):
    """A file, or None for the table's own, and the columns that were named in it."""

    file: Path | None
    columns: tuple[str, ...]


def file_and_columns(text: str | Path, what: str) -> FileColumns:
    """FILE[:column,column], or :column,column for columns of the table itself; `what` they are of.

    The file ends at the first colon that leaves an existing one, so C:\\skills.csv:label works. A
    column with a comma in its name stands in double quotes.
    """
    text = str(text)
    if Path(text).is_file():
        return FileColumns(Path(text), ())
    for at, letter in enumerate(text):
        if letter == ":" and (at == 0 or Path(text[:at]).is_file()):
            columns = tuple(next(csv.reader([text[at + 1 :]], skipinitialspace=True), ()))
            if not all(columns) or not columns:
                raise DataError(
                    f"{what} {text!r} name no column behind the colon; expected FILE:column,column."
                )
            return FileColumns(Path(text[:at]) if at else None, columns)
    raise DataError(
        f"{text}: no such file of {what}. Give FILE, FILE:column,column, or :column of the table itself."
    )


def is_written_text(path: str | Path) -> bool:
    """Whether cells of the file are text as somebody wrote it, numbers and names alike."""
    return ending_of(path) in (*SEPARATOR, WORKBOOK)


def literally(path: Path) -> str:
    """A path in which Polars takes [, * and ? for what they are."""
    return glob.escape(str(path))


def whole_content(path: Path) -> bytes:
    """All bytes of a file or of standard input, unpacked if they are packed with gzip."""
    name = called(path)
    try:
        if path == STANDARD_INPUT:
            return _unpacked(_standard_input(), name)
        if path.stat().st_size > LARGEST:
            raise DataError(f"{name}: has more than {LARGEST >> 30} GiB. Split it.")
        return _unpacked(path.read_bytes(), name)
    except UNREADABLE as error:
        raise DataError(f"{name}: cannot be read: {error}.") from error


def _opened(path: Path) -> TableFile:
    if path != STANDARD_INPUT:
        _check_file(path)
    elif not _standard_input():
        raise DataError("standard input: is empty; expected a table.")
    try:
        ending = ending_of(path)
        source: Path | bytes = path
        if path == STANDARD_INPUT:
            source = _unpacked(_standard_input(), called(path))
        elif path.suffix.lower() == ".gz":
            source = _unpacked(path.read_bytes(), called(path))
        return _rewritten(TableFile(path, ending, source))
    except UNREADABLE as error:
        raise _unreadable(TableFile(path, path.suffix.lower(), b""), error) from error


def _rewritten(file: TableFile) -> TableFile:
    """The file as Polars reads it: JSON as lines, a workbook as CSV, text with its separator."""
    if file.ending == ".json":
        return _opened_json(file)
    if file.ending == WORKBOOK:
        return file._replace(ending=".csv", source=sheet_as_csv(file.content(), called(file.path)))
    return _opened_text(file) if file.ending in SEPARATOR else file


def _check_file(path: Path) -> None:
    endings = ", ".join(READABLE)
    if URL.match(str(path)) and not path.exists():
        url = str(path).replace(":/", "://", 1)  # a path has one slash where there were two
        raise DataError(
            f"{url}: is a URL, and only files on this machine are read. Download it first "
            f"(curl -LO {url}) and give the path of the file."
        )
    if not path.exists():
        raise DataError(f"{path}: no such file. Give the path of a {endings} table, or - for standard input.")
    if path.is_dir():
        raise DataError(f"{path}: is a folder; expected a {endings} table.")
    if path.suffix.lower() in SPREADSHEETS:
        raise DataError(
            f"{path}: is a spreadsheet. Save its sheet as CSV (in Excel: Save As, CSV UTF-8) and give "
            "that file."
        )
    if ending_of(path) not in READABLE:
        raise DataError(
            f"{path}: the ending {ending_of(path) or path.suffix!r} is not known; expected one of "
            f"{endings}, also with .gz."
        )
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty; expected a header and at least one row.")


def _standard_input() -> bytes:
    """All of standard input."""
    return b"" if sys.stdin is None else _read_once(sys.stdin)


@lru_cache(maxsize=1)
def _read_once(stream: TextIO) -> bytes:
    """All of a stream, for everything that asks for it."""
    return stream.buffer.read()


def _unpacked(data: bytes, name: str) -> bytes:
    """The bytes behind gzip, if they are packed."""
    if data[:2] != b"\x1f\x8b":
        return data
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        found = file.read(LARGEST + 1)
    if len(found) > LARGEST:
        raise DataError(f"{name}: unpacks to more than {LARGEST >> 30} GiB. Unpack it first: gunzip FILE.")
    return found


def _looks_like(data: bytes) -> str:
    """The ending that bytes without a file name should have."""
    start = data[:HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    if data[:4] == b"PAR1":
        return ".parquet"
    if start[:1] == b"[":
        return ".json"
    if start[:1] == b"{":
        return ".jsonl" if _is_object(start.split(b"\n", 1)[0]) else ".json"
    return ".csv"


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _opened_text(file: TableFile) -> TableFile:
    """A CSV or TSV file with the separator its lines have; UTF-16 is turned into UTF-8."""
    if isinstance(file.source, Path):
        with file.source.open("rb") as opened:
            head = opened.read(HEAD)
    else:
        head = file.source[:HEAD]
    if head[:2] in UTF_16:
        file = file._replace(source=file.content().decode("utf-16").encode())
        head = file.source[:HEAD]  # type: ignore[index]
    if b"\0" in head:
        raise DataError(
            f"{called(file.path)}: cannot be read as text: it contains NUL bytes. Save it as CSV in UTF-8."
        )
    return file._replace(separator=_separator(head, SEPARATOR[file.ending]))


def _separator(head: bytes, usual: str) -> str:
    """The usual separator, unless the first lines show that the table has another one."""
    lines = head.decode("utf-8-sig", "replace").splitlines(keepends=True)
    lines = lines[:-1] if len(head) == HEAD and len(lines) > 1 else lines
    widths = {}
    for separator in (usual, *SEPARATORS):
        try:
            rows = itertools.islice(csv.reader(lines, delimiter=separator), 20)
            widths[separator] = [len(row) for row in rows if row]
        except csv.Error:
            return usual
    fitting = [one for one, found in widths.items() if len(set(found)) == 1 and found[0] > 1]
    if fitting:
        return fitting[0]
    split = [one for one, found in widths.items() if found and found[0] > 1]
    return split[0] if split else usual


def _opened_json(file: TableFile) -> TableFile:
    """The records of a JSON document, one per line."""
    data = file.content().removeprefix(b"\xef\xbb\xbf")
    try:
        rows = _records(msgspec.json.decode(data), called(file.path))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if _is_object(data.lstrip().split(b"\n", 1)[0]):
            return file._replace(ending=".jsonl", source=data)
        raise DataError(f"{called(file.path)}: is not JSON: {error}.") from error
    return file._replace(source=msgspec.json.Encoder().encode_lines(rows))


def _records(document: Any, name: str) -> list[dict[str, Any]]:
    """The rows of a JSON table: an array of records, or what pandas writes by column, by row or split."""
    rows = _rows_of(document)
    if rows is None:
        keys = f" with the keys {quoted(list(document))}" if isinstance(document, dict) else ""
        raise LayoutError(
            f"{name}: holds JSON{keys}, but no table. Wanted is an array of records, "
            '[{"learner": …, "sample": …, "response": …}, …], or columns, {"learner": […], …}.'
        )
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(
                f"{name}: row {number} is {in_quotes(row)}; expected an object {{column: value}}."
            )
    if not rows:
        raise DataError(f"{name}: contains an empty JSON array; expected at least one row.")
    return rows


def _rows_of(document: Any) -> list[Any] | None:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict) or not document:
        return None
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list):  # pandas: orient="split"
        square = all(isinstance(row, list) and len(row) == len(columns) for row in data)
        return [dict(zip(map(str, columns), row, strict=True)) for row in data] if square else None
    if isinstance(data, list) and "schema" in document:  # pandas: orient="table"
        return data
    values = list(document.values())
    if all(isinstance(one, list) for one in values) and len({len(one) for one in values}) == 1:
        return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]
    if all(isinstance(one, dict) for one in values) and len({tuple(one) for one in values}) == 1:
        return _rows_by_key(document)
    return None


def _rows_by_key(document: dict[str, dict[str, Any]]) -> list[Any] | None:
    """Columns of {row: value}, or rows of {column: value}: the side that counts 0, 1, 2, … are the rows."""
    inner = list(next(iter(document.values())))
    if inner == [str(number) for number in range(len(inner))]:
        return [{column: values[key] for column, values in document.items()} for key in inner]
    if list(document) == [str(number) for number in range(len(document))]:
        return list(document.values())
    return None


def _checked_header(file: TableFile) -> list[str]:
    name = called(file.path)
    try:
        names = _header(file)
    except UNREADABLE as error:
        raise _unreadable(file, error) from error
    if any("\r" in one for one in names) and b"\n" not in file.content():
        raise DataError(f"{name}: its lines end in a carriage return alone. Save it with line feeds.")
    if twice := repeated(names):
        raise DataError(
            f"{name}: column {quoted(twice)} occurs more than once in the header. Rename one of them."
        )
    return names


def _header(file: TableFile) -> list[str]:
    match file.ending:
        case ".csv" | ".tsv":
            first = pl.read_csv(
                file.readable(), separator=file.separator, has_header=False, n_rows=1, infer_schema=False
            )
            return ["" if name is None else name for name in first.row(0)] if first.height else []
        case ".parquet":
            return list(pl.read_parquet_schema(file.readable()))
        case _:
            return list(pl.scan_ndjson(file.readable(), infer_schema_length=None).collect_schema())


def _parse(file: TableFile, columns: list[str], text: list[str]) -> pl.DataFrame:
    match file.ending:
        case ".csv" | ".tsv":
            return pl.read_csv(
                file.readable(),
                separator=file.separator,
                columns=columns,
                schema_overrides=dict.fromkeys(text, pl.String),
                infer_schema_length=10_000,
            )
        case ".parquet":
            return pl.read_parquet(file.readable(), columns=columns)
        case _:
            overrides = dict.fromkeys(text, pl.String)
            frame = pl.read_ndjson(file.readable(), schema_overrides=overrides, infer_schema_length=None)
            return frame.select(columns)


def _unreadable(file: TableFile, error: BaseException) -> DataError:
    name, place = called(file.path), None
    if isinstance(error, OSError) and error.errno is not None:
        return DataError(f"{name}: cannot be read: {error.strerror}.")
    if file.ending in (".jsonl", ".ndjson"):
        place = _broken_line(file)
    elif file.ending in SEPARATOR:
        place = _foreign_line(file) or _longer_line(file)
    if place is not None:
        return DataError(f"{name}: {place}")
    reason = (str(error).splitlines() or ["no reason given"])[0][:200]
    return DataError(f"{name}: cannot be read as {file.ending}: {reason}.")


def _foreign_line(file: TableFile) -> str | None:
    """The first line that is not UTF-8, if there is one."""
    data = file.content()
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return (
            f"cannot be read as UTF-8: line {line} has the byte 0x{data[error.start]:02x}, as Latin-1 and "
            "Windows files have. Save it as UTF-8: iconv -f latin1 -t utf-8 OLD > NEW."
        )
    return None


def _longer_line(file: TableFile) -> str | None:
    """The first line with more cells than the header has, if there is one."""
    try:
        lines = io.StringIO(file.content().decode("utf-8-sig"), newline="")
        rows = csv.reader(lines, delimiter=file.separator)
        n_columns = len(next(rows))
        for row in rows:
            if len(row) > n_columns:
                return (
                    f"line {rows.line_num} has {len(row)} cells, the header {n_columns}. Put a cell that "
                    "contains a separator into quotes."
                )
    except (UnicodeDecodeError, csv.Error, StopIteration):
        return None
    return None


def _broken_line(file: TableFile) -> str | None:
    """What is wrong with the first line that is not a JSON object."""
    for number, line in enumerate(file.content().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if b"NaN" in line:
                return f"line {number} is not JSON: NaN is not a JSON number; write null for a missing value."
            return f"line {number} is not JSON: {error}. Expected one object per line."
        if not isinstance(row, dict):
            return f"line {number} is {str(row)[:40]!r}; expected one object {{column: value}} per line."
    return None


class PlacedFrame(NamedTuple):
    """A frame without blank lines, and the place of each of its rows in the file, in words."""

    frame: pl.DataFrame
    place: Callable[[int], str]


def frame_with_lines(frame: pl.DataFrame, path: Path) -> PlacedFrame:
    """Lines of a text file, counted from 1 with the header as line 1; rows of Parquet and JSON, from 1.

    A line break inside quotes counts as a line, as an editor counts it, if its column was read.
    """
    ending = ending_of(path)
    if ending not in SEPARATOR:
        word = "line" if ending in (".jsonl", ".ndjson") else "row"
        return PlacedFrame(frame, lambda row: f"{word} {row + 1}")
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    kept = (~blank).arg_true() if blank.any() else None

    def place(row: int) -> str:
        before = row if kept is None else int(kept[row])
        text = frame.head(before).select(pl.col(pl.String).str.count_matches("\n").sum())
        header = sum(name.count("\n") for name in frame.columns)
        return f"line {before + 2 + header + sum(count or 0 for count in text.row(0))}"

    return PlacedFrame(frame if kept is None else frame.filter(~blank), place)
