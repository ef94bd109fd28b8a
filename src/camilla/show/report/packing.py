"""A document with arrays in it as one compressed text: what the page carries.

Layout before compression: the length of the header (uint32, little-endian), the header (JSON in which every
array is {"$": number}, and "$" lists where each lies), then the arrays, each starting on a multiple of 8.
"""

import base64
import json
import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = -32768  # of a rounded column


@dataclass(frozen=True, eq=False)
class Rounded:
    """Numbers of which `digits` decimals are read: stored in 16 bits where that is enough for them."""

    values: NDArray[Any]
    digits: int


@dataclass(frozen=True, eq=False)
class Bits:
    """True and False, eight to a byte, the first in the highest bit."""

    values: NDArray[np.bool_]


def packed(document: dict[str, Any]) -> str:
    """The document as base64 of zlib; `unpacked` of the page's script reads it back."""
    columns: list[dict[str, Any]] = []
    parts: list[bytes] = []
    header = {"document": _without_arrays(document, columns, parts), "$": columns}
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    head = len(text).to_bytes(4, "little") + text
    padding = b"\0" * (-len(head) % 8)
    return base64.b64encode(zlib.compress(head + padding + b"".join(parts), 9)).decode()


def _without_arrays(value: Any, columns: list[dict[str, Any]], parts: list[bytes]) -> Any:
    match value:
        case np.ndarray() | Rounded() | Bits():
            column, content = _column(value)
            columns.append(column | {"at": sum(map(len, parts))})
            parts.append(content + b"\0" * (-len(content) % 8))
            return {"$": len(columns) - 1}
        case dict():
            return {key: _without_arrays(one, columns, parts) for key, one in value.items()}
        case list() | tuple():
            return [_without_arrays(one, columns, parts) for one in value]
        case float() if not math.isfinite(value):
            return None
        case np.generic():
            return _without_arrays(value.item(), columns, parts)
        case _:
            return value


def _column(value: Any) -> tuple[dict[str, Any], bytes]:
    if isinstance(value, Bits):
        flat = np.ravel(value.values)
        return {"type": "bits", "length": len(flat)}, np.packbits(flat).tobytes()
    if isinstance(value, Rounded):
        return _rounded(np.ravel(np.asarray(value.values, np.float64)), value.digits)
    flat = np.ravel(value)
    kind = {"f": "float32", "u": f"uint{8 * flat.itemsize}", "b": "uint8", "i": "int32"}[flat.dtype.kind]
    return {"type": kind, "length": len(flat)}, flat.astype(np.dtype(kind).newbyteorder("<")).tobytes()


def _rounded(flat: NDArray[np.float64], digits: int) -> tuple[dict[str, Any], bytes]:
    """value = zero + step · stored; float32 where 65,535 steps of half the last decimal do not reach.

    Stored as all low bytes, then all high bytes: alike bytes stand together and compress.
    """
    known = flat[np.isfinite(flat)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    step = max((high - low) / 65534, 10.0 ** -(digits + 1))
    if step > 0.5 * 10.0**-digits:
        return {"type": "float32", "length": len(flat)}, flat.astype("<f4").tobytes()
    stored = np.full(len(flat), MISSING, np.int16)
    finite = np.isfinite(flat)
    stored[finite] = np.rint((flat[finite] - low) / step) - 32767
    planes = stored.astype("<i2").view(np.uint8).reshape(-1, 2).T
    column = {"type": "rounded", "length": len(flat), "zero": float(low + 32767 * step), "step": float(step)}
    return column, planes.tobytes()
