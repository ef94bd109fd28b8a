"""What loaders of entries share: rows in the making, trials of repeated samples, the words of a message."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import (
    decode_file,
    decode_lines,
    digest,
    number_in,
    plain,
    read_bytes,
    shortened,
)
from camilla.reading.runs import About, Answered, Asked, Content, Row, Why
from camilla.table.frame_files import SEPARATOR, WORKBOOK
from camilla.table.spreadsheets import sheet_as_csv

MOST_SKILLS = 20
MOST_METRICS = 200
NOT_A_NUMBER = "not a single number"
OUTSIDE = "outside 0 to 1"
LONGEST_NUMBER = 40  # characters
LONGEST_CELL = 1 << 28  # characters; prompts are longer than Python's csv module takes by itself
ENCODER = msgspec.json.Encoder()
RECORD = msgspec.json.Decoder(dict[str, Any])
RECORDS = msgspec.json.Decoder(list[dict[str, Any]])


@dataclass
class Draft:
    """The rows of a run while its log is read, and what it says about its samples.

    A metric that ever has a value which is no score is noted in `left_out`, and then has no rows at all.
    """

    _rows: list[Row] = field(default_factory=list)
    about: dict[str, About] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _trials: Counter[str] = field(default_factory=Counter)
    _samples: dict[str, str] = field(default_factory=dict)  # content → sample

    def trial(self, sample: str) -> int:
        """How many times the sample came before."""
        self._trials[sample] += 1
        return self._trials[sample] - 1

    def by_content(self, content: str) -> str:
        """The sample with this content: numbered in order of appearance."""
        return self._samples.setdefault(content, str(len(self._samples)))

    def add(
        self, sample: str, metric: str, value: Any, trial: int = 0, content: str | None = None,
        why: Why | None = None,
    ) -> None:  # fmt: skip
        """A score of the sample; what is none is missing, and says why."""
        number = number_in(value)
        if value is not None and not (number is not None and 0 <= number <= 1):
            self.left_out.setdefault(metric, NOT_A_NUMBER if number is None else OUTSIDE)
            number = None
        if number is None and why is None:
            why = "unscored"
        self._rows.append(Row(sample, number, metric, "", trial, content, why))

    def unscored(self, sample: str, trial: int, content: str | None, why: Why = "unscored") -> None:
        """A sample for which no metric has a value."""
        self._rows.append(Row(sample, None, "", "", trial, content, why))

    def rows(self) -> list[Row]:
        """The rows of all metrics that are scores; a sample that only others scored is unscored."""
        kept = [row for row in self._rows if row.metric not in self.left_out]
        if len(kept) == len(self._rows):
            return kept
        there = {(row.sample, row.trial) for row in kept}
        for row in self._rows:
            if (row.sample, row.trial) not in there:
                there.add((row.sample, row.trial))
                kept.append(row._replace(score=None, metric="", why=row.why or "unscored"))
        return kept

    def metrics(self) -> list[str]:
        """The metrics that are scores, in the order of the log."""
        named = dict.fromkeys(row.metric for row in self._rows)
        return [name for name in named if name and name not in self.left_out]


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table of entries: CSV, TSV, a workbook, a JSON array of objects, or JSON lines.

    Cells of text and workbooks are text, and null where they are empty: `value_in` says what they hold.
    """
    ending = path.suffix.lower()
    if ending == WORKBOOK:
        yield from _text_rows(sheet_as_csv(read_bytes(path), str(path)), ",", str(path))
    elif ending in SEPARATOR:
        yield from _text_rows(read_bytes(path), SEPARATOR[ending], str(path))
    elif ending == ".json":
        yield from decode_file(path, RECORDS)
    else:
        for _, row in decode_lines(path, RECORD):
            yield row


def _text_rows(data: bytes, separator: str, name: str) -> Iterator[dict[str, Any]]:
    """By Python's csv module: Polars takes minutes over a long cell whose quotes are damaged."""
    try:
        text = data.decode("utf-8-sig")
        with _long_cells():
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            header = next(rows, [])
            for row in rows:
                if len(row) > len(header):
                    raise DataError(
                        f"{name}: line {rows.line_num} has {len(row)} cells, the header {len(header)}. "
                        "The file may be damaged."
                    )
                yield dict(zip(header, (cell or None for cell in row), strict=False))
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{name}: cannot be read as a table: {error}. It may be damaged.") from error


@contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def value_in(cell: Any) -> Any:
    """The number or truth value that a cell of text holds; anything else as it is."""
    if not isinstance(cell, str) or len(cell) > LONGEST_NUMBER:
        return cell
    if cell in ("True", "False", "true", "false"):
        return cell in ("True", "true")
    try:
        return float(cell)
    except ValueError:
        return cell


def means(stated: Mapping[str, Any], metrics: Iterable[str]) -> dict[str, float]:
    """The means that a harness states of these metrics."""
    found = {metric: number_in(stated.get(metric)) for metric in metrics}
    return {metric: mean for metric, mean in found.items() if mean is not None}


def words(value: Any) -> str:
    """A text; the texts of messages or of several values, one below the other; anything else as JSON."""
    while isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(one, str | dict) for one in value):
        return "\n".join(_message(one) for one in value)
    return _as_json(value)


def _message(one: Any) -> str:
    if isinstance(one, str):
        return one
    content = one.get("content", one.get("text"))
    return content if isinstance(content, str) else _as_json(one if content is None else content)


def _as_json(value: Any) -> str:
    try:
        return ENCODER.encode(value).decode("utf-8", "replace")
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return ""


def fingerprint(*values: Any) -> str:
    """A hash of what was asked, whatever its shape."""
    return digest(*map(words, values))


def described(text: str, labels: Any = None) -> About:
    """The start of a text, and the labels among a sample's metadata that are short and not nested."""
    given = labels.items() if isinstance(labels, dict) else ()
    skills = [(plain(name), plain(value)) for name, value in list(given)[:MOST_SKILLS]]
    return About(shortened(text), tuple((name, value) for name, value in skills if name and value))


def settings(values: Any) -> dict[str, str]:
    """The settings among a log's configuration that are short and not nested."""
    given = values.items() if isinstance(values, dict) else ()
    found = {plain(name): plain(value) for name, value in list(given)[:MOST_METRICS]}
    return {name: value for name, value in found.items() if name and value}


def kept_content(
    entries: Iterable[tuple[Asked, Answered]] | Callable[[], Iterable[tuple[Asked, Answered]]],
) -> Content:
    """What was asked and answered, of all entries; of a sample that comes again the first question counts."""
    asked: dict[str, Asked] = {}
    answers: list[Answered] = []
    for question, answer in entries() if callable(entries) else entries:
        asked.setdefault(answer.sample, question)
        answers.append(answer)
    return Content(asked, answers)
