"""Rows of lm-evaluation-harness's samples, decoded no further than they are looked at.

Logs since 0.4.7 list their metrics, so that one struct with just these fields reads most of a file; older
rows, and those that list other metrics than the first, are read key by key.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.errors import DataError
from camilla.loaders.decoding import (
    ANY_JSON,
    UNDECODABLE,
    decode,
    decode_file,
    number_in,
    numbered_lines,
    plain,
    shortened,
)
from camilla.loaders.runs import About

HASHES = ("doc_hash", "prompt_hash", "target_hash")
ANSWERS = ("target", "arguments", "resps", "filtered_resps")
RESERVED = frozenset((*HASHES, *ANSWERS, "doc_id", "doc", "filter", "metrics", "scores_per_repeat"))
TEXTS = ("question", "problem", "query", "instruction", "prompt", "goal", "ctx", "input", "text", "sentence")
SKILLS = ("subject", "category", "level", "topic", "domain", "type", "language")
MOST_METRICS = 200

Fields = dict[str, msgspec.Raw]
FIELDS = msgspec.json.Decoder(Fields)
ARRAY = msgspec.json.Decoder(list[Fields])
DOC = msgspec.json.Decoder(
    msgspec.defstruct("Doc", [(name, Any, None) for name in TEXTS + SKILLS], omit_defaults=True)
)
UNSET = msgspec.Raw(b"null")


class Entry(NamedTuple):
    """A row: the document it is about, the filter behind which it was scored, and its scores."""

    doc_id: Any
    filter: str
    content: str | None
    scores: list[tuple[str, Any]]  # metric, value; a list of values are repeats
    doc: msgspec.Raw
    number: int  # of its line, or of its place in an array


def entries(path: Path) -> Iterator[Entry]:
    """The rows of a file: a row a line, or the one array of 0.4.0."""
    seen: Counter[Any] = Counter()
    with path.open("rb") as file:
        is_array = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    if is_array:
        array: list[Fields] = decode_file(path, ARRAY)
        for at, fields in enumerate(array):
            yield _by_key(fields, seen, at, f"{path}: entry {at}")
        return
    quick: Quick | None = None
    for number, line in numbered_lines(path):
        entry = None if quick is None else quick.read(line, number)
        if entry is None:
            place = f"{path}: line {number}"
            fields = decode(line, FIELDS, place)
            entry = _by_key(fields, seen, number, place)
            quick = quick or _quick(fields, place)
        yield entry


class Quick:
    """One struct for rows that list exactly these metrics."""

    def __init__(self, metrics: tuple[str, ...]) -> None:
        self.metrics = list(metrics)
        self.decoder = _struct(metrics)

    def read(self, line: bytes, number: int) -> Entry | None:
        """The row, or None if it is not of this kind."""
        try:
            row = self.decoder.decode(line)
        except UNDECODABLE:
            return None
        doc_id, filter, metrics, doc_hash, repeats, doc, *values = msgspec.structs.astuple(row)
        if metrics != self.metrics or repeats is not None:
            return None
        scores = list(zip(metrics, values, strict=True))
        return Entry(doc_id, filter, doc_hash[:16] or None, scores, doc, number)


@lru_cache(maxsize=64)
def _struct(metrics: tuple[str, ...]) -> "msgspec.json.Decoder[Any]":
    fields: list[Any] = [("doc_id", Any), ("filter", str), ("metrics", Any), ("doc_hash", str)]
    fields += [("scores_per_repeat", Any, None), ("doc", msgspec.Raw, UNSET)]
    fields += [(f"score_{at}", Any, None) for at in range(len(metrics))]
    rename = {f"score_{at}": metric for at, metric in enumerate(metrics)}
    return msgspec.json.Decoder(msgspec.defstruct("Line", fields, rename=rename))


def _quick(fields: Fields, place: str) -> Quick | None:
    if not {"filter", "metrics", "doc_hash", "doc"} <= fields.keys():
        return None
    metrics = tuple(_metrics(fields, place))
    odd = not all(metric.isprintable() and "\\" not in metric and '"' not in metric for metric in metrics)
    if odd or len(set(metrics)) < len(metrics) or RESERVED & set(metrics):
        return None
    return Quick(metrics)


def _by_key(fields: Fields, seen: Counter[Any], number: int, where: str) -> Entry:
    doc_id = decode(fields.get("doc_id", UNSET), ANY_JSON, where)
    if "filter" in fields:
        filter = plain(decode(fields["filter"], ANY_JSON, where))
    else:
        key = str(doc_id)[:100]
        seen[key] += 1
        filter = "none" if seen[key] == 1 else f"filter {seen[key]}"
    repeats = decode(fields["scores_per_repeat"], ANY_JSON, where) if "scores_per_repeat" in fields else None
    scores = []
    for metric in _metrics(fields, where):
        value = decode(fields[metric], ANY_JSON, where) if metric in fields else None
        again = repeats.get(metric) if isinstance(repeats, dict) else None
        scores.append((metric, Repeats(again) if isinstance(again, list) and again else value))
    return Entry(doc_id, filter, _content(fields, where), scores, fields.get("doc", UNSET), number)


class Repeats(list[Any]):
    """Scores of the repeats of one sample, as opposed to a metric whose value is a list."""


def _metrics(fields: Fields, where: str) -> list[str]:
    """The row's own list of metrics, else every key that is nothing else."""
    if "metrics" in fields:
        listed = decode(fields["metrics"], ANY_JSON, where)
        if isinstance(listed, list):
            return _few([metric for metric in listed if isinstance(metric, str)], where)
    return _few([key for key in fields if key not in RESERVED], where)


def _few(metrics: list[str], where: str) -> list[str]:
    if len(metrics) > MOST_METRICS:
        raise DataError(f"{where}: lists {len(metrics)} metrics; {MOST_METRICS} are the most.")
    return metrics


def _content(fields: Fields, where: str) -> str | None:
    """The harness's hash of the document, or the same made here for logs older than it."""
    if "doc_hash" in fields:
        return plain(decode(fields["doc_hash"], ANY_JSON, where))[:16] or None
    if "doc" not in fields:
        return None
    doc = decode(fields["doc"], ANY_JSON, where)
    try:
        text = json.dumps(doc, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Described(Mapping[str, About]):
    """What the documents of a log say, read when it is asked for: most are known from another log."""

    def __init__(self, path: Path, shared: tuple[tuple[str, str], ...]) -> None:
        self.path = path
        self.shared = shared
        self.entries: dict[str, Entry] = {}

    def __getitem__(self, sample: str) -> About:
        entry = self.entries[sample]
        raw = bytes(entry.doc).lstrip()
        if not raw.startswith(b"{"):
            return About(skills=self.shared)
        text, skills = "", []
        for name, value in self._said(raw, entry.number).items():
            if name not in SKILLS:
                text = text or (value if isinstance(value, str) else "")
            elif label := plain(value):
                skills.append((name, label))
        return About(shortened(text), (*skills, *self.shared))

    def _said(self, raw: bytes, number: int) -> dict[str, Any]:
        """The texts and skills that a document has, in this order."""
        try:
            doc = DOC.decode(raw)
        except UNDECODABLE:
            doc = decode(raw, DOC, f"{self.path}: row {number}")
        said: dict[str, Any] = msgspec.to_builtins(doc)
        return said

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def score_of(value: Any, metric: str, left_out: dict[str, str]) -> float | None:
    """A number in [0, 1] or nothing; a metric that ever has anything else is noted as no score."""
    number = value if type(value) is float else number_in(value)
    if number is not None and 0 <= number <= 1:
        return number
    if value is not None and metric not in left_out:
        left_out[metric] = "not a single number" if number is None else "outside 0 to 1"
    return None
