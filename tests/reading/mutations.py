"""Damage to logs: cut off, wrong types, deep nesting, huge numbers, zip bombs, climbing names, noise."""

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import log_seeds
import polars as pl
import zstandard

DEEP = ("[" * 100_000 + "]" * 100_000, "[" * 1_500, '{"a":' * 2_000 + "1" + "}" * 2_000)
NUMBERS = (
    "1e999", "-1e308", "9" * 5_000, "18446744073709551616", "-0.0", "1.0000000001", "NaN", "-Infinity",
    "1e-320",
)  # fmt: skip
TEXTS = (
    "", "\x00", "../../../../etc/passwd", "\ud800", "x" * 70_000, "\u202e\x1b[31m", "C", "nan", "{", "2026",
)  # fmt: skip
NAMES = (
    "../../../tmp/evil.json", "/etc/passwd", "samples/..", "header.json", "samples/\x00.json",
    "_journal/summaries/9.json",
)  # fmt: skip


def mutated(rng: Random, data: bytes) -> bytes:
    """One to three injuries of kinds that fit the file."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(_fitting(data))(rng, data)
    return data


Injury = Callable[[Random, bytes], bytes]


def _fitting(data: bytes) -> tuple[Injury, ...]:
    noise = (cut, flipped, without_a_piece, with_noise, doubled)
    if data[:2] == b"PK":
        return (*noise, rezipped, rezipped, rezipped, bombed)
    if data[:4] == b"PAR1":
        return (*noise, retabled)
    if data.lstrip()[:1] in (b"{", b"["):
        return (*noise, retyped, retyped, retyped, retyped, literal, literal)
    return (*noise, reworded, reworded)


def cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def flipped(rng: Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randrange(1, 20)):
        if out:
            out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def without_a_piece(rng: Random, data: bytes) -> bytes:
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[end:]


def with_noise(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(1, 200)) + data[at:]


def doubled(rng: Random, data: bytes) -> bytes:
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:end] + data[end:]


def reworded(rng: Random, data: bytes) -> bytes:
    """Another cell of a text table, or another word of a header."""
    parts = data.replace(b"\n", b"\x00\n\x00").replace(b",", b"\x00,\x00").split(b"\x00")
    at = rng.randrange(len(parts))
    parts[at] = rng.choice((*TEXTS, *NUMBERS, "'", '"', "@data", "%")).encode("utf-8", "surrogatepass")
    return b"".join(parts)


def retyped(rng: Random, data: bytes) -> bytes:
    """Somewhere in the document another value, a key less, or a key of another name."""
    documents, is_lines = _parsed(data)
    if not documents:
        return flipped(rng, data)
    at = rng.randrange(len(documents))
    documents[at] = _hurt(rng, documents[at])
    if is_lines:
        return b"".join(_dumped(one) + b"\n" for one in documents)
    return _dumped(documents[0])


def _parsed(data: bytes) -> tuple[list[Any], bool]:
    try:
        return [json.loads(data)], False
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()], True
    except (ValueError, RecursionError):
        return [], False


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _hurt(rng: Random, value: Any) -> Any:
    """The value with one of its parts changed; how deep is a matter of luck."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        kind = rng.random()
        if kind < 0.1:
            return {name: part for name, part in value.items() if name != key}
        if kind < 0.2:
            return {(rng.choice(TEXTS) if name == key else name): part for name, part in value.items()}
        return value | {key: _hurt(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        return [*value[:at], _hurt(rng, value[at]), *value[at + 1 :]]
    other = [None, True, False, 0, -1, 2, 0.5, 10**400, 1e308, [], {}, [[]], {"": {}}, [None] * 50, *TEXTS]
    return rng.choice(other)


def literal(rng: Random, data: bytes) -> bytes:
    """A value replaced by text that a decoder may choke on: too deep, too large, no number."""
    at = data.find(b":", rng.randrange(len(data) + 1)) + 1
    if at == 0:
        return with_noise(rng, data)
    end = min((found for found in (data.find(b",", at), data.find(b"}", at)) if found > 0), default=len(data))
    weight = rng.random()
    text = rng.choice(DEEP) if weight < 0.05 else rng.choice(NUMBERS)
    return data[:at] + text.encode() + data[end:]


def rezipped(rng: Random, data: bytes) -> bytes:
    """The archive again with an entry hurt, renamed, doubled or missing, packed another way."""
    entries = _entries(data)
    if not entries:
        return flipped(rng, data)
    name = rng.choice(list(entries))
    kind = rng.random()
    if kind < 0.6:
        entries[name] = rng.choice((retyped, literal, cut, flipped))(rng, entries[name])
    elif kind < 0.75:
        entries[rng.choice(NAMES)] = entries.pop(name)
    elif kind < 0.9:
        entries[rng.choice(NAMES)] = entries[name]
    else:
        del entries[name]
    return log_seeds.zip_of(entries, rng.choice((0, 8, 93)))


def _entries(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            small = [e for e in archive.infolist() if e.file_size < 1 << 20 and e.compress_size < 1 << 16]
            return {entry.filename: archive.read(entry) for entry in small}
    except UNZIPPABLE:
        return {}


UNZIPPABLE = (
    zipfile.BadZipFile, NotImplementedError, ValueError, RuntimeError, OSError, EOFError, zlib.error,
)  # fmt: skip
BLOCK = b" " * (1 << 20)
N_BLOCKS = 512


@cache
def bombs() -> tuple[bytes, ...]:
    """A summary of half a gigabyte of spaces, by deflate and by zstd, told truly and not."""
    header = log_seeds.packed(json.dumps(log_seeds.HEADER).encode(), 8)
    crc = 0
    for _ in range(N_BLOCKS):
        crc = zlib.crc32(BLOCK, crc)
    made = []
    for method, packer in ((8, zlib.compressobj(wbits=-15)), (93, zstandard.ZstdCompressor().compressobj())):
        data = b"".join(packer.compress(BLOCK) for _ in range(N_BLOCKS)) + packer.flush()
        for size in (N_BLOCKS * len(BLOCK), 100):
            entries = {"header.json": header, "summaries.json": log_seeds.Packed(data, size, crc, method)}
            made.append(log_seeds.zip_of_packed(entries))
    return tuple(made)


def bombed(rng: Random, data: bytes) -> bytes:
    """One in twenty is a bomb, for they are slow to write; the others are hurt like any archive."""
    return rng.choice(bombs()) if rng.random() < 0.05 else rezipped(rng, data)


def retabled(rng: Random, data: bytes) -> bytes:
    """The Parquet table again with a column renamed, missing, or of another type."""
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return flipped(rng, data)
    if frame.width == 0 or frame.height > 1000 or "other" in frame.columns:
        return flipped(rng, data)
    column = rng.choice(frame.columns)
    values = [rng.choice((None, 7, "x", 0.5)) for _ in range(frame.height)]
    other = pl.Series(column, values, strict=False)
    changed = (frame.rename({column: "other"}), frame.drop(column), frame.with_columns(other), frame.head(0))
    buffer = io.BytesIO()
    rng.choice(changed).write_parquet(buffer)
    return buffer.getvalue()
