"""The first sheet of an Excel workbook as text, by fastexcel, which comes with an extra."""

import io
import zipfile
import zlib
from typing import Any

import polars as pl

from camilla.errors import DataError
from camilla.extras import needing

LARGEST_WORKBOOK = 1 << 30  # bytes, unpacked
SUSPICIOUS_RATIO = 250  # sheets shrink tenfold; bombs a thousandfold
HARMLESS = 16 << 20  # bytes that may shrink as they like
PIECE = 1 << 20
NO_ARCHIVE = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
    RuntimeError, OverflowError, IndexError,
)  # fmt: skip


def sheet_as_csv(data: bytes, name: str) -> bytes:
    """The first sheet of a workbook as CSV, its cells as text."""
    with needing(f"reading {name}"):
        import fastexcel
    _check_archive(data, name)
    frame = _sheet(fastexcel, data, name)
    if frame.width == 0:
        raise DataError(f"{name}: its first sheet is empty; expected a header and at least one row.")
    return frame.write_csv(None).encode()


def _sheet(fastexcel: Any, data: bytes, name: str) -> pl.DataFrame:
    try:
        sheet = fastexcel.read_excel(data).load_sheet(0, dtypes="string")
        return pl.DataFrame(sheet.to_polars())
    except BaseException as error:
        # A damaged workbook can make the reader panic, which is not even an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = (str(error).splitlines() or ["no reason given"])[0][:200]
        raise DataError(
            f"{name}: cannot be read as an Excel workbook: {reason}. Save its sheet as CSV."
        ) from error


def _check_archive(data: bytes, name: str) -> None:
    """Refuses what is no archive, is damaged, or unpacks to more than a table can be."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > LARGEST_WORKBOOK or (size > HARMLESS and size > SUSPICIOUS_RATIO * len(data)):
                raise DataError(
                    f"{name}: unpacks from {len(data):,} to {size:,} bytes, as no table does. It is not read."
                )
            for entry in archive.infolist():
                with archive.open(entry) as stream:
                    while stream.read(PIECE):
                        pass
    except NO_ARCHIVE as error:
        reason = str(error)[:120] or type(error).__name__
        raise DataError(
            f"{name}: cannot be read as an Excel workbook: {reason}. It may be damaged or cut off."
        ) from error
