"""Independent works on many processes, of this machine or of a Ray cluster, by joblib."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from camilla.errors import SettingError
from camilla.extras import needing

BATCH = 4  # works for each process at a time where they cannot be handed over one by one
Result = TypeVar("Result")


@contextmanager
def parallel(backend: str) -> Iterator[None]:
    """The backend joblib uses inside the block; `ray` joins the cluster of RAY_ADDRESS or starts one."""
    import joblib

    if backend == "ray":
        with needing("the backend ray"):
            from ray.util.joblib import register_ray
        register_ray()
    try:
        joblib.parallel_config(backend=backend).unregister()
    except ValueError:
        raise SettingError(
            f"joblib has no backend {backend!r}; loky, threading, multiprocessing or ray were wanted."
        ) from None
    with joblib.parallel_config(backend=backend):
        yield


def each(task: Callable[..., Result], works: Sequence[Sequence[Any]], jobs: int | None) -> Iterator[Result]:
    """What the task makes of each work, in the order of finishing.

    One by one, or batch by batch where the backend hands nothing over before the end.
    """
    import joblib
    from joblib.parallel import get_active_backend

    one_by_one = get_active_backend()[0].supports_return_generator
    how = "generator_unordered" if one_by_one else "list"
    with joblib.Parallel(n_jobs=jobs, return_as=how) as processes:
        size = len(works) if one_by_one else BATCH * joblib.effective_n_jobs(jobs)
        for start in range(0, len(works), max(size, 1)):
            yield from processes(joblib.delayed(task)(*work) for work in works[start : start + size])
