"""One BLAS thread where many would wait for each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """On the small matrices of a fit, threads cost up to ten times what they help."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Finding the BLAS of this process takes 15 ms, so it is found once."""
    return ThreadpoolController()
