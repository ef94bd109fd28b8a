"""Numerics that every room shares."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import ThreadpoolController

Floats = NDArray[Any]  # float64 in NumPy, float32 from JAX
Watch = Callable[[str], None]  # takes a line of progress


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ), exact to the last digits in both tails."""
    return np.asarray(expit(x))


def log_loss(response: Floats, logit: Floats, weight: Floats | None = None) -> float:
    """Mean of −[x log p + (1 − x) log(1 − p)], from logits so that nothing is clipped."""
    return float(np.average(np.logaddexp(0, logit) - response * logit, weights=weight))


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


class _BlasController(ThreadpoolController):  # type: ignore[misc]
    """Looks into libraries of linear algebra alone, not into all hundred that a process has loaded."""

    def _make_controller_from_path(self, filepath: str) -> None:
        if any(part in filepath.lower() for part in ("blas", "blis", "mkl", "lapack", "flame", "accelerate")):
            super()._make_controller_from_path(filepath)


@cache
def _controller() -> ThreadpoolController:
    """Finding the BLAS of this process takes milliseconds, so it is found once."""
    return _BlasController()
