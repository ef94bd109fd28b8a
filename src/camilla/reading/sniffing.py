"""Which format a file is of: its first bytes, and the signature that fits them best."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import polars as pl

from camilla.errors import CamillaError, DataError
from camilla.table.frame_files import ENDINGS, UNREADABLE, column_names, literally

if TYPE_CHECKING:
    from camilla.reading.runs import Run

HEAD = 1 << 16
MOST_FILES = 1_000_000
FIELD = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class Peek:
    """A file's path, its first 64 KiB, and the names beside it."""

    path: Path
    head: bytes
    beside: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def ending(self) -> str:
        return self.path.suffix.lower()

    @cached_property
    def lowered(self) -> bytes:
        """The first bytes in lower case."""
        return self.head.lower()

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the first JSON object: of the file, of its first line, or of its first array entry."""
        return frozenset(self.fields)

    @cached_property
    def fields(self) -> dict[str, msgspec.Raw]:
        """Key and raw value of the first JSON object, as far as the head reaches."""
        text = self.head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if text[:1] == b"[":
            text = text[1:].lstrip()
        if text[:1] != b"{":
            return {}
        try:
            return FIELD.decode(text.split(b"\n", 1)[0].rstrip(b"\r, "))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return dict.fromkeys(_top_keys(text), msgspec.Raw(b"null"))

    @cached_property
    def columns(self) -> frozenset[str]:
        """The header of a table file, where it can be read; of anything else the keys."""
        if not self.head or self.ending not in ENDINGS or self.ending in (".jsonl", ".ndjson"):
            return self.keys
        try:
            return frozenset(column_names(self.path))
        except CamillaError:
            return frozenset()

    @cached_property
    def structs(self) -> frozenset[str]:
        """The columns of a Parquet file that hold several values each."""
        if self.ending != ".parquet" or self.head[:4] != b"PAR1":
            return frozenset()
        try:
            schema = pl.read_parquet_schema(literally(self.path))
        except UNREADABLE:
            return frozenset()
        return frozenset(name for name, kind in schema.items() if isinstance(kind, pl.Struct))

    @cached_property
    def is_array(self) -> bool:
        """Whether the file starts as a JSON array."""
        return self.head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["


TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"|[{}\[\],]', re.DOTALL)


def _top_keys(text: bytes) -> Iterator[str]:
    """The keys at the first level of a JSON object that may break off."""
    depth, is_key = 0, False
    for token in TOKEN.finditer(text):
        letter = token[0][:1]
        if letter == b'"':
            if depth == 1 and is_key:
                yield token[1].decode("utf-8", "replace")
            is_key = False
        elif letter == b",":
            is_key = depth == 1
        else:
            depth += 1 if letter in b"{[" else -1
            is_key = depth == 1 and letter == b"{"
        if depth == 0:
            return


def peek(path: Path, beside: frozenset[str] | None = None) -> Peek:
    """The head of one file."""
    try:
        names = frozenset(os.listdir(path.parent)) if beside is None else beside
        with path.open("rb") as file:
            return Peek(path, file.read(HEAD), names)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from error


def files_under(paths: Sequence[Path]) -> Iterator[Peek]:
    """Every file at or below the paths, in the order of names; hidden ones are passed over.

    Links to folders are not followed, so no circle is walked.
    """
    count = 0
    for root in paths:
        if not root.exists():
            raise DataError(f"{root}: no such file or folder.")
        if not root.is_dir():
            yield peek(root)
            continue
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            beside = frozenset(names) | frozenset(folders)
            for name in sorted(names):
                if name.startswith(".") or not Path(folder, name).is_file():
                    continue
                count += 1
                if count > MOST_FILES:
                    raise DataError(
                        f"{root}: contains more than {MOST_FILES:,} files; give a folder below it."
                    )
                yield peek(Path(folder, name), beside)


class Sniffed(NamedTuple):
    """How sure a loader is that a file is its own, from 0 to 1, and what it saw.

    `companion` files belong to the format but are read with the file beside them.
    """

    confidence: float
    reason: str
    companion: bool = False


class Signature(NamedTuple):
    """What a file of a format looks like; a file fits if all of it holds."""

    confidence: float
    reason: str  # {columns} stands for the columns that were found
    companion: bool = False
    endings: tuple[str, ...] = ()
    name: str = ""  # a regular expression for the whole file name
    folder: str = ""  # the name of the folder two above the file
    beside: frozenset[str] = frozenset()  # at least one of these lies in the same folder
    object_only: bool = False  # a JSON array does not fit
    keys: frozenset[str] = frozenset()  # all of these, of the first JSON object
    some_keys: frozenset[str] = frozenset()  # `least` of these
    least: int = 1
    without: frozenset[str] = frozenset()  # none of these
    key_with: str = ""  # some key has this in it
    starts: bytes = b""
    head: tuple[bytes, ...] = ()  # all of these occur in the first 64 KiB
    lowered: tuple[bytes, ...] = ()  # and these, whatever the case
    structs: frozenset[str] = frozenset()  # columns of a Parquet file that are structs
    columns: tuple[tuple[str, ...], ...] = ()  # for each role one of its names, of a header or of keys


def fits(peek: Peek, one: Signature) -> Sniffed | None:
    """What the signature says of the file if it fits; what takes more reading is looked at last."""
    if (one.endings and peek.ending not in one.endings) or (one.object_only and peek.is_array):
        return None
    if one.name and not re.fullmatch(one.name, peek.name):
        return None
    if one.folder and peek.path.parent.parent.name != one.folder:
        return None
    found = (
        (not one.beside or bool(one.beside & peek.beside))
        and peek.head.startswith(one.starts)
        and all(text in peek.head for text in one.head)
        and all(text in peek.lowered for text in one.lowered)
        and _has_keys(peek, one)
        and one.structs <= peek.structs
    )
    columns = _columns(peek, one) if found else None
    if columns is None:
        return None
    reason = one.reason.replace("{columns}", ", ".join(columns))
    return Sniffed(one.confidence, reason, one.companion)


def _has_keys(peek: Peek, one: Signature) -> bool:
    if not (one.keys or one.some_keys or one.key_with):
        return True
    enough = not one.some_keys or len(one.some_keys & peek.keys) >= one.least
    enough = enough and not one.without & peek.keys
    return enough and one.keys <= peek.keys and any(one.key_with in key for key in peek.keys)


def _columns(peek: Peek, one: Signature) -> list[str] | None:
    """The column of each role, or None where one has none."""
    found = [next((name for name in usual if name in peek.columns), None) for usual in one.columns]
    return None if None in found else [str(name) for name in found]


class Loader(NamedTuple):
    """A format that another package brings: how to know it, and how to read one file of it."""

    sniff: Callable[[Peek], Sniffed | None]
    runs: "Callable[[Path], Iterable[Run]]"
    matches: Callable[[Path], pl.DataFrame] | None = None  # player_a, player_b, winner or probability


class Format(NamedTuple):
    """A format of this package: what its files look like, and the module that reads them."""

    module: str  # below camilla.reading.formats
    signatures: tuple[Signature, ...]

    def sniff(self, peek: Peek) -> Sniffed | None:
        """What the first signature that fits says."""
        return next((found for one in self.signatures if (found := fits(peek, one)) is not None), None)


class Match(NamedTuple):
    """The format that is surest of a file."""

    format: str
    sniffed: Sniffed


def match(peek: Peek, formats: Mapping[str, Format | Loader]) -> Match | None:
    """The surest format, or None if none knows the file."""
    found = [
        Match(name, sniffed)
        for name, one in formats.items()
        if (sniffed := one.sniff(peek)) is not None and sniffed.confidence > 0
    ]
    return max(found, key=lambda one: one.sniffed.confidence, default=None)
