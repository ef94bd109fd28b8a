"""Entries of a zip archive, read in memory within bounds; nothing is ever unpacked to disk.

Names of entries only ever choose what to read. Python before 3.14 cannot read entries compressed with zstd
(method 93), so those are read here.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard

from camilla.errors import DataError

LARGEST_ENTRY = 1 << 30
LARGEST_DIRECTORY = 256 << 20
SUSPICIOUS_RATIO = 250  # JSON logs shrink twenty-fold; bombs a thousandfold
HARMLESS = 16 << 20  # bytes that may shrink as they like
PIECE = 1 << 20
ZSTD = 93
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
UNREADABLE = (
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
    except UNREADABLE as error:
        reason = str(error)[:120] or type(error).__name__
        raise DataError(
            f"{path}: cannot be read as a zip archive: {reason}. It may be damaged or cut off."
        ) from error
