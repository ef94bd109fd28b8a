"""Files under given paths, each with its first bytes: all that telling formats apart needs."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from camilla.errors import DataError

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
                    raise DataError(f"{root}: holds more than {MOST_FILES:,} files; give a folder below it.")
                yield peek(Path(folder, name), beside)
