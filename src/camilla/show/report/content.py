"""What samples ask and what learners answered, for the page: cut, checked, and packed into pieces.

All of it is untrusted. Text stays text; an image is shown only if its own bytes say what it is, and a link
only if it is http or https. Pieces are packed alone, so that the page unpacks one when a sample is opened.
"""

import base64
import binascii
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.show.report.diagnosed import Diagnosed
from camilla.table.content import ANSWERED, SHORT, KeptContent

MOST_EMBEDDED = 2_000_000  # characters of packed pieces in the page; what follows lies beside it
MOST_BESIDE = 200_000_000  # characters of packed pieces beside the page; what follows is left out
PIECE = 1_000_000  # characters of a piece before it is packed, about
LONGEST = {"prompt": 10_000, "reference": 4000, "answer": 4000, "extracted": 1000, "reason": 2000}
MOST_CHOICES, LONGEST_CHOICE = 40, 1000
MOST_IMAGE = 300_000  # bytes
MOST_PIXELS = 4_000_000  # a picture of few bytes can have so many that no browser holds them
SEARCHED = 1_000_000  # characters of all prompts together that the list can search and show
FIRST = 1000  # flagged samples, and as many that decide between the first two, that come before others

IMAGES = {
    "png": re.compile(rb"\x89PNG\r\n\x1a\n....IHDR", re.DOTALL),
    "jpeg": re.compile(rb"\xff\xd8\xff"),
    "gif": re.compile(rb"GIF8[79]a"),
    "webp": re.compile(rb"RIFF....WEBPVP8[ LX]", re.DOTALL),
}
DATA = re.compile(r"data:([^;,]{0,60})(?:;[^;,]{0,60})*;base64,(.*)", re.IGNORECASE | re.DOTALL)
LINK = re.compile(r"https?://[^\s\x00-\x1f\x7f]+", re.IGNORECASE)


def image(text: str, folder: Path | None = None) -> dict[str, str]:
    """How an image is shown: as a picture, a link, or the text that names it with what is wrong with it.

    A path is followed only below `folder`, which the user named: a table must not choose files to be sent.
    """
    text = text.strip()
    found = DATA.fullmatch(text)
    if found is not None:
        try:
            return _checked(base64.b64decode(found[2], validate=True), f"embedded as {found[1] or 'no type'}")
        except (binascii.Error, ValueError):
            return {"refused": "an embedded image that is cut or damaged"}
    if LINK.fullmatch(text):
        return {"link": shortened(text, 2000)}
    file = None if folder is None else _below(folder, text)
    if file is None:
        return {"text": shortened(text, 2000)}
    try:
        with file.open("rb") as opened:
            return _checked(opened.read(MOST_IMAGE + 1), shortened(text, 200))
    except OSError as error:
        return {"refused": f"an image file that cannot be read: {error.strerror} ({shortened(text, 200)})"}


def _below(folder: Path, text: str) -> Path | None:
    """The file of this name in a folder, links followed; None if it is not in it."""
    try:
        file = (folder / text).resolve()
        return file if file.is_relative_to(folder.resolve()) and file.is_file() else None
    except (OSError, ValueError):  # a name too long, or with a null character
        return None


def _checked(data: bytes, named: str) -> dict[str, str]:
    """The picture, if its bytes are those of one and not too many."""
    kind = next((name for name, start in IMAGES.items() if start.match(data)), None)
    if kind is None:
        return {"refused": f"a file that is not PNG, JPEG, GIF or WebP ({named})"}
    if len(data) > MOST_IMAGE:
        return {"refused": f"an image of more than {MOST_IMAGE:,} bytes ({named})"}
    width, height = SIZES[kind](data)
    if not 0 < width * height <= MOST_PIXELS:
        size = f"{width:,} × {height:,} pixels"
        return {"refused": f"an image of {size}, more than {MOST_PIXELS:,} ({named})"}
    return {"source": f"data:image/{kind};base64,{base64.b64encode(data).decode()}"}


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Of the first frame; segments before it are skipped by their lengths."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    match data[15:16]:
        case b"X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF


SIZES: dict[str, Callable[[bytes], tuple[int, int]]] = {
    "png": lambda data: (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")),
    "jpeg": _jpeg_size,
    "gif": lambda data: (int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")),
    "webp": _webp_size,
}


def shortened(text: str, longest: int) -> str:
    """At most so many characters: of a longer text the middle goes, and a mark says so."""
    if len(text) <= longest:
        return text
    head, tail = longest - longest // 3, longest // 3
    return f"{text[:head]} … [{len(text) - head - tail:,} characters left out] … {text[-tail:]}"


class Piece(NamedTuple):
    """The content of some samples, by their places on the page, packed as base64 of zlib."""

    samples: list[int]
    text: str

    @property
    def name(self) -> str:
        """Of the file beside the page: another content has another name."""
        return f"{hashlib.sha256(self.text.encode()).hexdigest()[:16]}.html"


class Asked(NamedTuple):
    """What the list of samples shows and searches, one entry per sample of the page."""

    prompt: list[str]
    key: list[str]
    other: list[str]  # the most frequent wrong answer
    votes: NDArray[np.uint32]
    known: NDArray[np.uint32]  # learners whose answers are counted


class PackedContent:
    """The content of one diagnosis; iterate over its pieces first, then the list is complete."""

    def __init__(self, of: Diagnosed, content: KeptContent, images: Path | None = None) -> None:
        self.of, self.content, self.images = of, content, images
        self.names = [of.samples[j] for j in of.kept]
        self.place = {name: at for at, name in enumerate(self.names)}
        self.learner = {name: at for at, name in enumerate(of.learners)}
        n = len(self.names)
        counts = np.zeros((2, n), np.uint32)
        self.asked = Asked([""] * n, [""] * n, [""] * n, counts[0], counts[1])
        self.head = max(SEARCHED // max(n, 1), 40)

    def pieces(self) -> Iterator[Piece]:
        """The samples to look at first, then the others, each in the order of their names."""
        first = self._first()
        waiting: list[tuple[int, str]] = []
        size = 0
        for names in (first, set(self.names) - first):
            for block in self.content.blocks(names) if names else ():
                for at, record in self._records(block):
                    waiting.append((at, json.dumps(record, ensure_ascii=False, separators=(",", ":"))))
                    size += len(waiting[-1][1])
                    if size >= PIECE:
                        yield _packed(waiting)
                        waiting, size = [], 0
        if waiting:
            yield _packed(waiting)

    def _first(self) -> set[str]:
        """The most suspicious samples, and those that decide between the first two learners."""
        of = self.of
        found = [of.samples[j] for j in of.suspects[:FIRST]]
        if len(of.learners) > 1:
            found += [of.samples[j] for j in deciding(of.responses[0], of.responses[1], _weight(of))[:FIRST]]
        return set(found) & self.place.keys()

    def _records(self, block: pl.DataFrame) -> Iterator[tuple[int, dict[str, Any]]]:
        """Rows are taken as lists: a frame for each of 50,000 samples would take minutes."""
        who = pl.col("learner").replace_strict(self.learner, default=-1, return_dtype=pl.Int32)
        rows = _cut(block).with_columns(who=who)
        self._count(rows)
        lists = {name: rows[name].to_list() for name in ("who", "trial", *ANSWERED)}
        asked = {row["sample"]: row for row in rows.filter(pl.col("learner").is_null()).iter_rows(named=True)}
        runs = rows["sample"].rle().struct.unnest()
        names, starts = runs["value"].to_list(), (runs["len"].cum_sum() - runs["len"]).to_list()
        for name, start, end in zip(names, starts, [*starts[1:], rows.height], strict=True):
            at = self.place.get(name)
            if at is None:
                continue
            record: dict[str, Any] = {"sample": name}
            known = name in asked
            if known:
                record |= _what_is_asked(asked[name], self.images)
            self._list(at, record)
            said = {k: lists[k][start + known : end] for k in ("who", "trial", *ANSWERED)}
            if said["who"]:
                record |= _answers(said)
            yield at, record

    def _list(self, at: int, record: dict[str, Any]) -> None:
        self.asked.prompt[at] = _ends(record.get("prompt", ""), self.head)
        reference = record.get("reference", "").strip()
        if len(reference) <= SHORT:
            self.asked.key[at] = reference

    def _count(self, rows: pl.DataFrame) -> None:
        """Short answers are votes; of a learner with several trials only one that is all wrong counts."""
        text = pl.coalesce("extracted", "answer").str.strip_chars().alias("text")
        place = pl.col("sample").replace_strict(self.place, default=-1, return_dtype=pl.Int32)
        votes = rows.select("who", text, at=place).filter(
            pl.col("who") >= 0, pl.col("at") >= 0, pl.col("text").str.len_chars() > 0
        )
        given = self.of.responses[votes["who"].to_numpy(), self.of.kept[votes["at"].to_numpy()]]
        votes = votes.with_columns(response=pl.Series(given)).filter(pl.col("response").is_not_nan())
        votes = votes.filter((pl.col("text").str.len_chars() <= SHORT).all().over("at"))
        limit = pl.when(pl.len().over("at", "who") > 1).then(1e-9).otherwise(0.5)
        wrong = votes.filter(pl.col("response") < limit).group_by("at", "text").agg(pl.col("who").n_unique())
        wrong = wrong.sort("who", "text", descending=[True, False])
        leading = wrong.unique("at", keep="first", maintain_order=True)
        known = votes.group_by("at").agg(pl.col("who").n_unique())
        self.asked.known[known["at"].to_numpy()] = known["who"].to_numpy()
        self.asked.votes[leading["at"].to_numpy()] = leading["who"].to_numpy()
        for at, answer in leading.select("at", "text").iter_rows():
            self.asked.other[at] = answer


def _cut(block: pl.DataFrame) -> pl.DataFrame:
    """The block with texts of at most LONGEST characters."""
    for name, longest in LONGEST.items():
        lengths = block[name].str.len_chars()
        if (lengths > longest).any():
            texts = [None if text is None else shortened(text, longest) for text in block[name]]
            block = block.with_columns(pl.Series(name, texts, dtype=pl.String))
    return block


def deciding(one: Floats, other: Floats, weight: Floats) -> list[int]:
    """Samples that one of two learners solved and the other did not, by how much they count, most first."""
    apart = np.flatnonzero(np.abs(one - other) > 0.5)
    return apart[np.argsort(-np.nan_to_num(weight[apart], nan=-np.inf), kind="stable")].tolist()


def _weight(of: Diagnosed) -> Floats:
    return of.column("samples", "discrimination")


def _packed(waiting: list[tuple[int, str]]) -> Piece:
    text = f"[{','.join(record for _, record in waiting)}]"
    packed = zlib.compress(text.encode("utf-8", "backslashreplace"), 6)
    return Piece([at for at, _ in waiting], base64.b64encode(packed).decode())


def _what_is_asked(row: dict[str, Any], images: Path | None = None) -> dict[str, Any]:
    found = {name: row[name] for name in ("prompt", "reference") if row[name]}
    choices = [shortened(str(one), LONGEST_CHOICE) for one in row["choices"] or ()]
    if len(choices) > MOST_CHOICES:
        choices = [*choices[:MOST_CHOICES], f"… and {len(choices) - MOST_CHOICES:,} more"]
    if choices:
        found["choices"] = choices
    if row["image"]:
        found["image"] = image(row["image"], images)
    return found


def _answers(said: dict[str, list[Any]]) -> dict[str, Any]:
    """Columns over the answers; each text is stored once, and its index stands for it; −1: none."""
    texts: dict[str, int] = {}
    columns: dict[str, Any] = {"learner": said["who"]}
    if len(set(said["trial"])) > 1:
        columns["trial"] = said["trial"]
    for name in ANSWERED:
        if any(said[name]):
            columns[name] = [texts.setdefault(text, len(texts)) if text else -1 for text in said[name]]
    return {"texts": list(texts), "answers": columns}


def _ends(text: str, longest: int) -> str:
    """Start and end of a prompt: worked examples stand before a question."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} … {text[-half:]}"


def of_comparison(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The samples that `camilla compare --json --show N` wrote, as records of the page."""
    learner = {document["a"]: 0, document["b"]: 1}
    records = []
    for one in document.get("shown", ()):
        asked = {name: shortened(one[name] or "", LONGEST[name]) for name in ("prompt", "reference")}
        asked |= {name: one[name] for name in ("choices", "image")}
        record = {"sample": one["sample"], "why": one["why"]} | _what_is_asked(asked)
        rows = one["answers"]
        said: dict[str, list[Any]] = {
            "who": [learner[row["learner"]] for row in rows], "trial": [row["trial"] for row in rows]
        }  # fmt: skip
        for name in ANSWERED:
            said[name] = [shortened(row[name], LONGEST[name]) if row[name] else None for row in rows]
        if rows:
            record |= _answers(said)
        response = {row["learner"]: row["response"] for row in one["answers"]}
        records.append(record | {"response": [response.get(name) for name in learner]})
    return records
