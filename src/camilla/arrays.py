"""Numerics that every room shares."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Floats = NDArray[Any]  # float64 in NumPy, float32 from JAX
Watch = Callable[[str], None]  # takes a line of progress


def sigmoid(x: Any, xp: Any = np) -> Any:
    """1 / (1 + e⁻ˣ) through tanh, which overflows nowhere."""
    return 0.5 * (xp.tanh(0.5 * x) + 1)


def softmax(x: Any, xp: Any = np) -> Any:
    """eˣ / Σ eˣ over the last axis."""
    up = xp.exp(x - x.max(axis=-1, keepdims=True))
    return up / up.sum(axis=-1, keepdims=True)


TELLING_BITS = 20  # six significant digits


def rounded(values: Any) -> Any:
    """Values to six significant digits, for choices between them: what agrees so far is a tie.

    The last bits of a sum depend on the CPU. A choice compares rounded values and takes the first of the
    best, so that it does not.
    """
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, TELLING_BITS)), exponent - TELLING_BITS)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """On the small matrices of a fit, threads cost up to ten times what they help."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Finding the BLAS of this process takes 15 ms, so it is found once."""
    return ThreadpoolController()
