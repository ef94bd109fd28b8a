"""Independent works on processes of this machine or of a Ray cluster; where they run changes no result."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from camilla.errors import SettingError
from camilla.extras import needing

BATCH = 4  # works for each process at a time where they cannot be handed over one by one
MOST_LOST = 3  # times that works are repeated whose process died
HERE = "loky"  # processes of this machine
RAY = "ray"
ONE_CHAIN = (
    "a diagnosis with one chain cannot be split over processes. Draw several chains with bayes:chains=4, "
    "or leave"
)
Result = TypeVar("Result")


class Where(NamedTuple):
    """Where works run: a backend, and how many processes of it; None or -1 is every core there is."""

    backend: str
    jobs: int | None


AROUND: ContextVar[Where | None] = ContextVar("where_works_run", default=None)


class LostWorkError(BrokenProcessPool):
    """A work took its process with it each time that it was tried."""

    def __init__(self, place: int) -> None:
        super().__init__(f"work {place} was tried {MOST_LOST + 1} times, and its process died each time")
        self.place = place


def check_where(jobs: int, backend: str, idle: str | None = None) -> None:
    """Refuses no process at all, and processes where there is nothing for them, which `idle` then says."""
    if jobs == 0:
        raise SettingError("jobs is a number of processes, or -1 for one per core; got 0.")
    if idle is not None and (jobs, backend) != (1, HERE):
        raise SettingError(f"{idle} jobs and backend out.")


@contextmanager
def parallel(backend: str, jobs: int | None = None) -> Iterator[None]:
    """Where works run inside the block; `ray` joins the cluster of RAY_ADDRESS or starts one here."""
    token = AROUND.set(Where(backend, jobs))
    try:
        if backend == RAY:
            with cluster():
                yield
        elif (backend, jobs) == (HERE, 1):
            yield
        else:
            with _joblib(backend, jobs):
                yield
    finally:
        AROUND.reset(token)


@contextmanager
def _joblib(backend: str, jobs: int | None) -> Iterator[None]:
    with needing("work on several processes (jobs other than 1)"):
        import joblib

    try:
        joblib.parallel_config(backend=backend).unregister()
    except ValueError:
        raise SettingError(
            f"joblib has no backend {backend!r}; expected loky, threading, multiprocessing or ray."
        ) from None
    with joblib.parallel_config(backend=backend, n_jobs=jobs):
        yield


@contextmanager
def cluster() -> Iterator[None]:
    """Ray, as it is if it is there; else the cluster of RAY_ADDRESS, or one of this machine for the block."""
    with needing("the backend ray"):
        import ray
    if ray.is_initialized():
        yield
        return
    try:
        ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    except Exception as error:  # a slow start raises no other class
        raise SettingError(
            f"no Ray cluster could be reached: {error}. The environment variable RAY_ADDRESS says where it "
            "is; without it one is started on this machine."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def each(
    task: Callable[..., Result], works: Sequence[Sequence[Any]], jobs: int | None = None
) -> Iterator[Result]:
    """What the task makes of each work, in the order of finishing.

    One by one, or batch by batch where the backend hands nothing over before the end.
    """
    around = AROUND.get()
    if around is not None and around.backend == RAY:
        yield from _on_cluster(task, works, around.jobs if jobs is None else jobs)
        return
    import joblib
    from joblib.parallel import get_active_backend

    one_by_one = get_active_backend()[0].supports_return_generator
    how = "generator_unordered" if one_by_one else "list"
    with joblib.Parallel(n_jobs=jobs, return_as=how) as processes:
        size = len(works) if one_by_one else BATCH * joblib.effective_n_jobs(jobs)
        for start in range(0, len(works), max(size, 1)):
            yield from processes(joblib.delayed(task)(*work) for work in works[start : start + size])


def _on_cluster(
    task: Callable[..., Result], works: Sequence[Sequence[Any]], jobs: int | None
) -> Iterator[Result]:
    """As `each`; Ray repeats what a worker had that died, on another one."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    at_once = jobs if jobs is not None and jobs > 0 else max(1, cores + 1 + (jobs or -1))
    remote = ray.remote(num_cpus=1, max_retries=MOST_LOST)(task)
    left, running = iter(enumerate(_sent_once(works, ray.put))), dict[Any, int]()
    try:
        while True:
            for place, work in islice(left, at_once - len(running)):
                running[remote.remote(*work)] = place
            if not running:
                return
            (ended,), _ = ray.wait(list(running), num_returns=1)
            place = running.pop(ended)
            try:
                result = ray.get(ended)
            except RayTaskError as error:
                raise (error.cause if isinstance(error.cause, Exception) else error) from None
            except RayError:
                raise LostWorkError(place) from None
            yield result
    finally:
        for waiting in running:
            ray.cancel(waiting, force=True)


def _sent_once(works: Sequence[Sequence[Any]], put: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """The arguments of each work; what several works share is put on the cluster once."""
    times = Counter(id(part) for work in works for part in work)
    sent: dict[int, Any] = {}
    for work in works:
        for part in work:
            if times[id(part)] > 1 and id(part) not in sent:
                sent[id(part)] = put(part)
        yield [sent.get(id(part), part) for part in work]


def in_turn(task: Callable[..., Result], works: Sequence[Sequence[Any]]) -> Iterator[tuple[int, Result]]:
    """The place of each work and what the task makes of it, in the order of finishing.

    They run where the `parallel` block around says, else here one after the other. Where a process dies, what
    it had is repeated.
    """
    around = AROUND.get()
    if around is None or around == (HERE, 1):
        yield from ((place, task(*work)) for place, work in enumerate(works))
    else:
        yield from _repeated(task, works, around.jobs)


def _repeated(
    task: Callable[..., Result], works: Sequence[Sequence[Any]], jobs: int | None
) -> Iterator[tuple[int, Result]]:
    left, died = dict(enumerate(works)), 0
    while left:
        try:
            for place, result in each(_answer, [(task, place, *work) for place, work in left.items()], jobs):
                del left[place]
                yield place, result
        except BrokenProcessPool as error:
            died += 1
            if died > MOST_LOST or isinstance(error, LostWorkError):
                raise SettingError(
                    f"a process died {MOST_LOST + 1} times, with {len(left)} of {len(works)} works left. If "
                    "it ran out of memory, use fewer --jobs, or machines with more of it."
                ) from error


def _answer(task: Callable[..., Result], place: int, *work: Any) -> tuple[int, Result]:
    """A work inside its process, where works of its own run one after the other."""
    token = AROUND.set(None)
    try:
        return place, task(*work)
    finally:
        AROUND.reset(token)


def in_order(
    task: Callable[..., Result],
    works: Sequence[Sequence[Any]],
    ended: Callable[[int], None] = lambda count: None,
) -> list[Result]:
    """As `in_turn`, in the order of the works; `ended` receives how many are done."""
    results: dict[int, Result] = {}
    for place, result in in_turn(task, works):
        results[place] = result
        ended(len(results))
    return [results[place] for place in range(len(works))]
