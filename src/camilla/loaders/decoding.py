"""Bytes of a log to checked values, within bounds of size, depth and time."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

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
    return DataError(f"{where}: is not what this format holds: {reason}. The file may be damaged or cut off.")


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
        raise DataError(f"{where}: {what} is {str(value)[:40]!r}; a name was wanted.")
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
