"""What the page carries, read back by the layout the module states."""

import base64
import json
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from camilla.show.report.packing import Bits, Rounded, packed


def unpacked(text: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Header and arrays, by the description at the head of packing.py."""
    raw = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4 : 4 + length])
    start = -(-(4 + length) // 8) * 8
    arrays = []
    for column in header["$"]:
        at, n = start + column["at"], column["length"]
        assert at % 8 == 0
        if column["type"] == "bits":
            arrays.append(np.unpackbits(np.frombuffer(raw, np.uint8, -(-n // 8), at))[:n])
        elif column["type"] == "rounded":
            low, high = np.frombuffer(raw, np.uint8, 2 * n, at).reshape(2, n).astype(np.int64)
            stored = (low + 256 * high + 32768) % 65536 - 32768
            arrays.append(np.where(stored == -32768, np.nan, column["zero"] + column["step"] * stored))
        else:
            arrays.append(np.frombuffer(raw, np.dtype(column["type"]).newbyteorder("<"), n, at))
    return header["document"], arrays


def test_arrays_come_back_where_they_were() -> None:
    document = {"a": np.array([[1.5, -2.0]]), "b": {"c": [np.arange(3, dtype=np.uint16), "<b>", None]},
                "d": Bits(np.array([True, False, True])), "e": float("nan"), "f": np.int64(3)}  # fmt: skip
    header, arrays = unpacked(packed(document))
    assert header == {
        "a": {"$": 0},
        "b": {"c": [{"$": 1}, "<b>", None]},
        "d": {"$": 2},
        "e": None,
        "f": 3,
    }
    assert [array.tolist() for array in arrays] == [[1.5, -2.0], [0, 1, 2], [1, 0, 1]]


@given(st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=50), st.integers(1, 3))
def test_rounded_numbers_are_right_to_the_decimals_they_promise(values: list[float], digits: int) -> None:
    """Off by half a step at most, and a step is at most half the last decimal; float32 beyond has 24 bits."""
    numbers = np.array(values)
    _, (back,) = unpacked(packed({"x": Rounded(numbers, digits)}))
    assert np.array_equal(np.isnan(back), np.isnan(numbers))
    allowed = np.maximum(0.25 * 10.0**-digits, np.abs(numbers) * 2.0**-24) * 1.001
    assert (np.abs(back - numbers)[~np.isnan(numbers)] <= allowed[~np.isnan(numbers)]).all()


@pytest.mark.parametrize("column", [np.array([1, 2], np.int64), np.array([True]), np.array([], np.float64)])
def test_every_kind_of_column_is_taken(column: np.ndarray) -> None:
    _, (back,) = unpacked(packed({"x": column}))
    assert back.tolist() == column.tolist()
