"""Decisions as JSON files: how a route and a committee are written, read back, and refused when damaged."""

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from camilla.errors import DataError, FormatError, SettingError
from camilla.names import in_quotes
from camilla.table.files import require_folder, whole_file

Saved = TypeVar("Saved", bound=msgspec.Struct)
Decision = TypeVar("Decision")
DAMAGED = (SettingError, FormatError, ValueError, KeyError, IndexError, TypeError, zlib.error)


class DecisionFile(NamedTuple):
    """A kind of decision that is saved: what it is called, its format, and the command that writes it."""

    noun: str  # "route"
    format: str  # "camilla route"
    version: int  # the newest that can be read
    command: str  # "camilla route TABLE -o FILE.json"

    def check_name(self, path: Path) -> None:
        """Refuses a name that does not end in .json, or a folder that is not there."""
        if path.suffix.lower() != ".json":
            raise SettingError(f"{path}: a {self.noun} is written as .json.")
        require_folder(path)

    def write(self, path: str | Path, document: Mapping[str, Any]) -> Path:
        """Writes a decision as JSON; the file is written completely or not at all."""
        path = Path(path)
        self.check_name(path)
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
        with whole_file(path) as draft:
            draft.write_text(text + "\n", encoding="utf-8")
        return path

    def read(self, path: str | Path, kind: type[Saved], restored: Callable[[Saved], Decision]) -> Decision:
        """The decision that a file holds; what is damaged, of another kind or newer is refused."""
        path = Path(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}.") from error
        head = self._decoded(path, data, _Head)
        if head.format != self.format or head.version > self.version:
            raise FormatError(
                f"{path}: contains {in_quotes(head.format)} of version {head.version}; expected "
                f"{in_quotes(self.format)} up to version {self.version}."
            )
        saved = self._decoded(path, data, kind)
        try:
            return restored(saved)
        except DAMAGED as error:
            raise FormatError(f"{path}: the {self.noun} is damaged: {error}") from error

    def _decoded(self, path: Path, data: bytes, kind: type[Saved]) -> Saved:
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise FormatError(
                f"{path}: is not a {self.noun}: {error}. A {self.noun} is written by {self.command}."
            ) from error


class _Head(msgspec.Struct):
    """What every saved decision begins with."""

    format: str
    version: int


ROUTE = DecisionFile("route", "camilla route", 1, "camilla route TABLE -o FILE.json")
COMMITTEE = DecisionFile("committee", "camilla committee", 1, "camilla ensemble TABLE -o FILE.json")
