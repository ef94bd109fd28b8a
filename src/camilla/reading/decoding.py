"""Bytes to values: JSON, lines, zip archives, with limits on what hostile files can cost."""

import hashlib
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
import zstandard

from camilla.errors import DataError

LARGEST_FILE = 2 << 30
LONGEST_LINE = 256 << 20
BATCH = 4 << 20
LONGEST_NAME = 500
LONGEST_TEXT = 120

Value = TypeVar("Value")
# Depth ends at Python's recursion limit; an integer of thousands of digits is a ValueError.
UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, OverflowError)
ANY_JSON = msgspec.json.Decoder()
NOT_A_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b', re.DOTALL)


def read_bytes(path: Path) -> bytes:
    """A whole file, if it is not larger than 2 GiB."""
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise DataError(f"{path}: has {size:,} bytes; logs up to {LARGEST_FILE:,} are read. Split it.")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from error


def decode(data: bytes | msgspec.Raw, decoder: "msgspec.json.Decoder[Value]", where: str) -> Value:
    """JSON of the declared shape; NaN and Infinity, which some harnesses write, are null."""
    try:
        return decoder.decode(data)
    except UNDECODABLE as error:
        text = bytes(data)
        if b"NaN" not in text and b"Infinity" not in text:
            raise _undecodable(where, error) from error
    try:
        return decoder.decode(NOT_A_NUMBER.sub(_null, text))
    except UNDECODABLE as error:
        raise _undecodable(where, error) from error


def _null(match: "re.Match[bytes]") -> bytes:
    return match[0] if match[0].startswith(b'"') else b"null"


def _undecodable(where: str, error: BaseException) -> DataError:
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
    return DataError(
        f"{where}: does not have the content of this format: {reason}. The file may be damaged or cut off."
    )


def decode_file(path: Path, decoder: "msgspec.json.Decoder[Value]") -> Value:
    """The JSON document in a file."""
    return decode(read_bytes(path).removeprefix(b"\xef\xbb\xbf"), decoder, str(path))


def decode_lines(path: Path, decoder: "msgspec.json.Decoder[Value]") -> Iterator[tuple[int, Value]]:
    """Line number and value of each line that is not blank."""
    for number, line in numbered_lines(path):
        yield number, decode(line, decoder, f"{path}: line {number}")


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, counted from 1."""
    number = 0
    for batch in _batches(path):
        if number == 0:
            batch[0] = batch[0].removeprefix(b"\xef\xbb\xbf")
        for line in batch:
            number += 1
            if line and not line.isspace():
                yield number, line


def _batches(path: Path) -> Iterator[list[bytes]]:
    """Lines in batches of some megabytes; of a file that could be one endless line, one by one."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size <= LONGEST_LINE:
                while batch := file.readlines(BATCH):
                    yield batch
                return
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise DataError(f"{path}: a line has more than {LONGEST_LINE:,} bytes.")
                yield [line]
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from error


def number_in(value: Any) -> float | None:
    """A number, true or false as a float; anything else, and what is not finite, is None."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number - number == 0 else None


def is_score(number: float | None) -> bool:
    """Whether a number is a response as it is."""
    return number is not None and 0 <= number <= 1


def name_in(value: Any, *, where: str, what: str) -> str:
    """A name as text, short enough to be one; an error where there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(f"{where}: {what} is {str(value)[:40]!r}; expected a name.")
    try:
        text = str(value)
    except ValueError as error:
        raise DataError(f"{where}: {what} is a number of thousands of digits.") from error
    if len(text) > LONGEST_NAME:
        return f"{text[: LONGEST_NAME - 18]}…{digest(text)}"
    return text


def plain(value: Any) -> str:
    """A setting or label as short text; nothing for what is nested."""
    if isinstance(value, bool | str | float) or (isinstance(value, int) and abs(value) < 2**63):
        return shortened(str(value))
    return ""


def as_text(value: Any) -> str:
    """A text as it is, anything else as JSON; nothing for null and for what cannot be written as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return ""


def shortened(text: str) -> str:
    """The start of a text, with single spaces."""
    start = start_of(text[: 8 * LONGEST_TEXT], LONGEST_TEXT + 1)
    return start if len(start) <= LONGEST_TEXT else start[: LONGEST_TEXT - 1] + "…"


def start_of(text: str, most: int) -> str:
    """The first characters of a text with single spaces; what comes behind them is not gone through."""
    start = " ".join(text[: most + most // 2].split())
    if len(start) < most < len(text):
        start = " ".join(text.split())
    return start[:most]


def digest(*texts: str) -> str:
    """16 hexadecimal digits of SHA-256 over the texts."""
    sha = hashlib.sha256()
    for text in texts:
        sha.update(text.encode("utf-8", "surrogatepass") + b"\x00")
    return sha.hexdigest()[:16]


LARGEST_ENTRY = 1 << 30
LARGEST_DIRECTORY = 256 << 20
SUSPICIOUS_RATIO = 250  # JSON logs shrink twenty-fold; bombs a thousandfold
HARMLESS = 16 << 20  # bytes that may shrink as they like
PIECE = 1 << 20
ZSTD = 93
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
UNREADABLE_ARCHIVE = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, zstandard.ZstdError, struct.error, EOFError,
    OSError, ValueError, NotImplementedError, RuntimeError, OverflowError, MemoryError,
)  # fmt: skip


class Archive:
    """An open zip file and where it came from."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.path = path
        self._file = file
        _check_directory(file, path)
        self._zip = zipfile.ZipFile(file)
        self._entries = {entry.filename: entry for entry in self._zip.infolist()}

    def names(self) -> list[str]:
        """Names of entries, a repeated one once."""
        return list(self._entries)

    def read(self, name: str) -> bytes:
        """One entry, if it neither says nor turns out to be larger than a log can be."""
        entry = self._entries[name]
        self._check_size(name, entry.file_size, entry.compress_size)
        data = self._zstd(entry) if entry.compress_type == ZSTD else self._inflated(entry)
        self._check_size(name, len(data), entry.compress_size)
        return data

    def _check_size(self, name: str, size: int, compressed: int) -> None:
        if size > LARGEST_ENTRY:
            raise DataError(
                f"{self.path}: entry {name!r} has {size:,} bytes; {LARGEST_ENTRY:,} are the most."
            )
        if size > HARMLESS and size > SUSPICIOUS_RATIO * max(compressed, 1):
            raise DataError(
                f"{self.path}: entry {name!r} grows from {compressed:,} to {size:,} bytes, as no log does. "
                "It may be a zip bomb and is not read."
            )

    def _inflated(self, entry: zipfile.ZipInfo) -> bytes:
        """Piece by piece: asked for all at once, zipfile unpacks more than the entry says it holds."""
        pieces, size = [], 0
        with self._zip.open(entry) as stream:
            while piece := stream.read(PIECE):
                pieces.append(piece)
                size += len(piece)
                self._check_size(entry.filename, size, entry.compress_size)
        return b"".join(pieces)

    def _zstd(self, entry: zipfile.ZipInfo) -> bytes:
        """All frames of an entry; the local header says where its bytes start."""
        self._file.seek(entry.header_offset)
        header = LOCAL_HEADER.unpack(self._file.read(LOCAL_HEADER.size))
        if header[0] != b"PK\x03\x04":
            raise zipfile.BadZipFile("an entry has no local header")
        self._file.seek(header[-2] + header[-1], 1)
        limit = max(HARMLESS, min(LARGEST_ENTRY, SUSPICIOUS_RATIO * entry.compress_size)) + 1
        packed = self._file.read(min(entry.compress_size, LARGEST_ENTRY))
        unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        with unpacker.stream_reader(packed, read_across_frames=True) as stream:
            data = stream.read(limit)
        if len(data) < limit and zlib.crc32(data) != entry.CRC:
            raise zipfile.BadZipFile(f"entry {entry.filename!r} has a wrong checksum")
        return data


def _check_directory(file: BinaryIO, path: Path) -> None:
    """Refuses a list of entries that would fill memory before a single one is read."""
    file.seek(0, 2)
    size = file.tell()
    file.seek(max(0, size - (1 << 16) - 22))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at >= 0 and len(tail) >= at + 22:
        directory = struct.unpack_from("<I", tail, at + 12)[0]
        if directory > LARGEST_DIRECTORY and size > LARGEST_DIRECTORY:
            raise DataError(f"{path}: its list of entries alone is larger than {LARGEST_DIRECTORY:,} bytes.")
    file.seek(0)


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The archive at a path; what is wrong with it is one error."""
    try:
        with path.open("rb") as file:
            yield Archive(file, path)
    except UNREADABLE_ARCHIVE as error:
        reason = str(error)[:120] or type(error).__name__
        raise DataError(
            f"{path}: cannot be read as a zip archive: {reason}. It may be damaged or cut off."
        ) from error
