"""Independent tasks on processes of this machine or of a Ray cluster; where they run changes no result."""

import os
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from camilla.errors import SettingError
from camilla.extras import needing

BATCH = 4  # tasks that each process is given at a time, by backends that do not hand them over one by one
MOST_LOST = 3  # times that a task is repeated if its process dies
HERE = "loky"  # processes of this machine
RAY = "ray"
CONNECTING = 10.0  # seconds that a cluster may take to accept a connection
ONE_CHAIN = (
    "a diagnosis with one chain cannot be split over processes. Draw several chains with bayes:chains=4, "
    "or leave"
)
Result = TypeVar("Result")


class Where(NamedTuple):
    """Where tasks run: a backend, and how many processes of it; None or -1 is every core there is."""

    backend: str
    jobs: int | None


AROUND: ContextVar[Where | None] = ContextVar("where_tasks_run", default=None)


class LostWorkError(BrokenProcessPool):
    """A task took its process with it each time that it was tried."""

    def __init__(self, place: int) -> None:
        super().__init__(f"task {place} was tried {MOST_LOST + 1} times, and its process died every time")
        self.place = place


def check_where(jobs: int, backend: str, idle: str | None = None) -> None:
    """Refuses no process at all, and processes where there is nothing for them, which `idle` then says."""
    if jobs == 0:
        raise SettingError("jobs is a number of processes, or -1 for one per core; got 0.")
    if idle is not None and (jobs, backend) != (1, HERE):
        raise SettingError(f"{idle} jobs and backend out.")


@contextmanager
def parallel(backend: str, jobs: int | None = None) -> Iterator[None]:
    """Where tasks run inside the block; `ray` joins the cluster of RAY_ADDRESS or starts one here."""
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
    check_address()
    try:
        ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
    except Exception as error:  # a slow start raises no other class
        raise _unreachable(str(error)) from error
    try:
        yield
    finally:
        ray.shutdown()


def check_address() -> None:
    """Refuses a RAY_ADDRESS where nothing listens: Ray itself tries for minutes before it says so."""
    import ray

    if ray.is_initialized():
        return
    host, _, port = os.environ.get("RAY_ADDRESS", "").rpartition("/")[2].rpartition(":")
    if not host or not port.isdecimal():
        return  # none, "auto", "local", or something that Ray refuses at once
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECTING).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(f"nothing answers at {host}:{port} ({error})") from error


def _unreachable(reason: str) -> SettingError:
    return SettingError(
        f"no Ray cluster could be reached: {reason.removesuffix('.')}. The environment variable RAY_ADDRESS "
        "says where the cluster is. Correct it, or unset it to start Ray on this machine."
    )


def processes_of(jobs: int | None, cores: int) -> int:
    """How many processes `jobs` asks for: −1 is one for each core, −2 one fewer, as joblib has it."""
    return jobs if jobs is not None and jobs > 0 else max(1, cores + 1 + (jobs or -1))


def each(
    function: Callable[..., Result], tasks: Sequence[Sequence[Any]], jobs: int | None = None
) -> Iterator[Result]:
    """What the function makes of each task, in the order of finishing.

    One by one, or batch by batch where the backend hands nothing over before the end.
    """
    around = AROUND.get()
    if around is not None and around.backend == RAY:
        yield from _on_cluster(function, tasks, around.jobs if jobs is None else jobs)
        return
    import joblib
    from joblib.parallel import get_active_backend

    one_by_one = get_active_backend()[0].supports_return_generator
    how = "generator_unordered" if one_by_one else "list"
    with joblib.Parallel(n_jobs=jobs, return_as=how) as processes:
        size = len(tasks) if one_by_one else BATCH * joblib.effective_n_jobs(jobs)
        for start in range(0, len(tasks), max(size, 1)):
            yield from processes(joblib.delayed(function)(*task) for task in tasks[start : start + size])


def _on_cluster(
    function: Callable[..., Result], tasks: Sequence[Sequence[Any]], jobs: int | None
) -> Iterator[Result]:
    """As `each`; Ray repeats what a worker had that died, on another one."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    at_once = processes_of(jobs, cores)
    remote = ray.remote(num_cpus=1, max_retries=MOST_LOST)(function)
    left, running = iter(enumerate(_sent_once(tasks, ray.put))), dict[Any, int]()
    try:
        while True:
            for place, task in islice(left, at_once - len(running)):
                running[remote.remote(*task)] = place
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


def _sent_once(tasks: Sequence[Sequence[Any]], put: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """The arguments of each task; what several tasks share is put on the cluster once."""
    times = Counter(id(part) for task in tasks for part in task)
    sent: dict[int, Any] = {}
    for task in tasks:
        for part in task:
            if times[id(part)] > 1 and id(part) not in sent:
                sent[id(part)] = put(part)
        yield [sent.get(id(part), part) for part in task]


def in_turn(function: Callable[..., Result], tasks: Sequence[Sequence[Any]]) -> Iterator[tuple[int, Result]]:
    """The place of each task and what the function makes of it, in the order of finishing.

    They run where the `parallel` block around says, else here one after the other. Where a process dies, what
    it had is repeated.
    """
    around = AROUND.get()
    if around is None or around == (HERE, 1):
        yield from ((place, function(*task)) for place, task in enumerate(tasks))
    else:
        yield from _repeated(function, tasks, around.jobs)


def _repeated(
    function: Callable[..., Result], tasks: Sequence[Sequence[Any]], jobs: int | None
) -> Iterator[tuple[int, Result]]:
    left, died = dict(enumerate(tasks)), 0
    while left:
        try:
            for place, result in each(
                _answer, [(function, place, *task) for place, task in left.items()], jobs
            ):
                del left[place]
                yield place, result
        except BrokenProcessPool as error:
            died += 1
            if died > MOST_LOST or isinstance(error, LostWorkError):
                raise SettingError(
                    f"a process died {MOST_LOST + 1} times, with {len(left)} of {len(tasks)} tasks left. "
                    "If it ran out of memory, use fewer --jobs, or machines with more of it."
                ) from error


def _answer(function: Callable[..., Result], place: int, *task: Any) -> tuple[int, Result]:
    """A task in its process; tasks that it starts itself run there one after the other."""
    token = AROUND.set(None)
    try:
        return place, function(*task)
    finally:
        AROUND.reset(token)


def in_order(
    function: Callable[..., Result],
    tasks: Sequence[Sequence[Any]],
    ended: Callable[[int], None] = lambda count: None,
) -> list[Result]:
    """As `in_turn`, in the order of the tasks; `ended` receives how many are done."""
    results: dict[int, Result] = {}
    for place, result in in_turn(function, tasks):
        results[place] = result
        ended(len(results))
    return [results[place] for place in range(len(tasks))]
