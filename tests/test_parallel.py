"""Tasks on processes: in order, the same anywhere, repeated where a process dies, and errors as they are."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import camilla
from camilla.errors import DataError, SettingError
from camilla.parallel import MOST_LOST, in_order, parallel, processes_of

BACKENDS = ("loky", "threading", "multiprocessing")


def squared() -> Callable[[int, list[int]], int]:
    """A function that travels by value: workers cannot import this file."""

    def square(number: int, shared: list[int]) -> int:
        return number**2 + len(shared)

    return square


def dying(folder: Path, times: int) -> Callable[[int], int]:
    """A task that takes its process with it, so many times, where its number is 3."""

    def task(number: int) -> int:
        before = len(list(folder.iterdir()))
        if number == 3 and before < times:
            (folder / str(before)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 10 * number

    return task


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, which another test may have loaded
@pytest.mark.parametrize("backend", BACKENDS)
def test_results_come_in_the_order_of_the_tasks(backend: str) -> None:
    ended: list[int] = []
    with parallel(backend, 2):
        found = in_order(divmod, [(number, 4) for number in range(9)], ended.append)
    assert found == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0)]
    assert ended == list(range(1, 10))


def test_without_a_block_tasks_run_here() -> None:
    process = os.getpid
    assert in_order(process, [(), ()]) == [os.getpid()] * 2
    with parallel("loky", 1):
        assert in_order(process, [(), ()]) == [os.getpid()] * 2
    with parallel("loky", 2):
        assert os.getpid() not in in_order(process, [(), ()])
    assert in_order(process, [()]) == [os.getpid()]


def test_tasks_inside_a_task_run_in_its_process() -> None:
    def outer() -> bool:
        from camilla.parallel import in_order

        return in_order(os.getpid, [(), ()]) == [os.getpid()] * 2

    with parallel("loky", 2):
        assert in_order(outer, [(), ()]) == [True, True]


def test_what_a_process_had_that_died_is_repeated(tmp_path: Path) -> None:
    with parallel("loky", 2):
        assert in_order(dying(tmp_path, 2), [(number,) for number in range(6)]) == [0, 10, 20, 30, 40, 50]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_task_that_always_dies_is_an_error(tmp_path: Path) -> None:
    with parallel("loky", 2), pytest.raises(SettingError, match="a process died 4 times") as error:
        in_order(dying(tmp_path, 100), [(3,)])
    assert "1 of 1 tasks left" in str(error.value)
    assert len(list(tmp_path.iterdir())) == MOST_LOST + 1


def test_an_error_in_a_process_is_the_error_that_is_seen() -> None:
    def refuse() -> None:
        from camilla.errors import DataError

        raise DataError("three rows are wrong")

    with parallel("loky", 2), pytest.raises(DataError, match="three rows are wrong"):
        in_order(refuse, [(), ()])


def test_a_bootstrap_is_the_same_on_processes() -> None:
    """A round is drawn or not by one stream, whoever refits."""
    scores = {"player": list("abcd")} | {f"round {k}": [k % 3, (k * 7) % 5, k % 2, 1] for k in range(20)}
    tournament = camilla.Tournament.from_wide(pl.DataFrame(scores))
    here, there = (
        camilla.epp(tournament, se="bootstrap", replicates=50, prior=1, jobs=jobs).rows() for jobs in (1, 2)
    )
    assert here.equals(there)
    with pytest.raises(SettingError, match="without se=bootstrap"):
        camilla.epp(tournament, jobs=2)


def test_splits_of_a_replay_are_the_same_on_processes() -> None:
    table = camilla.simulate(20, 40, seed=1).table
    here, there = (
        camilla.replay(table, shares=0.25, splits=2, dimensions=1, jobs=jobs).splits for jobs in (1, 2)
    )
    assert here.equals(there)


def test_jobs_below_zero_leave_cores_free() -> None:
    assert [processes_of(jobs, 8) for jobs in (None, -1, -2, -8, -20, 3, 12)] == [8, 8, 7, 1, 1, 3, 12]


@pytest.mark.parametrize("form", ["{}", "ray://{}"])
def test_an_address_where_nothing_listens_is_refused_at_once(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray alone tries for more than eight minutes. The port is one that was free a moment ago."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'camilla[cluster]'")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", form.format(address))
    with pytest.raises(SettingError, match=f"nothing answers at {address}"), parallel("ray", 2):
        pass
