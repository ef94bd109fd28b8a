"""A real Ray on this machine: the same results as here, also when a worker is killed."""

import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import DataError, SettingError
from camilla.parallel import MOST_LOST, cluster, in_order, parallel
from camilla.table.responses import ResponseTable

pytestmark = [
    pytest.mark.slow,  # Ray takes half a minute to come up
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def ray_here() -> Iterator[None]:
    """One Ray of two cores for all tests of this file."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'camilla[cluster]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of Ray's own processes
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
        with cluster():
            yield
        ray.shutdown()
        gc.collect()


@pytest.fixture(scope="module")
def table() -> ResponseTable:
    """Responses of a Rasch model."""
    rng = np.random.default_rng(3)
    p = 1 / (1 + np.exp(-(rng.normal(size=(15, 1)) - rng.normal(size=60))))
    return camilla.ResponseTable.from_matrix((rng.random(p.shape) < p) * 1.0)


def ray_workers() -> Iterator[int]:
    """Processes of Ray at a task that this process has under it."""
    parents, named = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if words.startswith(b"ray::_answer"):  # Ray calls a process by the task that it is at
            named.append(int(folder.name))
    for process in named:
        above = process
        while above > 1 and above != os.getpid():
            above = parents.get(above, 0)
        if above == os.getpid():
            yield process


def kill_one(killed: list[int]) -> None:
    """The first worker that is found at work, a moment after it began."""
    for _ in range(2000):
        for process in ray_workers():
            time.sleep(0.3)
            os.kill(process, signal.SIGKILL)
            killed.append(process)
            return
        time.sleep(0.02)


@contextmanager
def one_killed() -> Iterator[None]:
    """Within the block a worker is killed."""
    killed: list[int] = []
    killer = threading.Thread(target=kill_one, args=(killed,))
    killer.start()
    yield
    killer.join()
    assert len(killed) == 1


def test_order_and_errors_are_those_of_this_machine() -> None:
    shared = list(range(1000))

    def counted(number: int, there: list[int]) -> int:
        return number**2 + len(there)

    def refuse() -> None:
        raise DataError("three rows are wrong")

    with parallel("ray", -1):
        found = in_order(counted, [(number, shared) for number in range(5)])
        assert found == [1000, 1001, 1004, 1009, 1016]
        assert os.getpid() not in in_order(os.getpid, [(), ()])
        with pytest.raises(DataError, match="three rows are wrong"):
            in_order(refuse, [()])


def test_a_task_whose_worker_dies_is_repeated_until_it_is_hopeless(tmp_path: Path) -> None:
    def dying(folder: Path, times: int, number: int) -> int:
        before = len(list(folder.iterdir()))
        if number == 3 and before < times:
            (folder / str(before)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 10 * number

    twice, always = tmp_path / "twice", tmp_path / "always"
    twice.mkdir()
    always.mkdir()
    with parallel("ray", 2):
        found = in_order(dying, [(twice, 2, number) for number in range(5)])
        assert found == [0, 10, 20, 30, 40]
        with pytest.raises(SettingError, match="a process died 4 times"):
            in_order(dying, [(always, 100, 3)])
    assert (len(list(twice.iterdir())), len(list(always.iterdir()))) == (2, MOST_LOST + 1)


def test_chains_are_the_same_when_a_worker_is_killed(table: ResponseTable) -> None:
    """Bit for bit, with SIGKILL in the middle of a chain."""
    here = camilla.diagnose(table, "bayes", chains=4, draws=4000)
    with one_killed():
        there = camilla.diagnose(table, "bayes", chains=4, draws=4000, jobs=2, backend="ray")
    assert np.array_equal(here.params.scores, there.params.scores)
    assert np.array_equal(here.params.factor, there.params.factor)
    assert np.array_equal(here.params.logit, there.params.logit)
    assert here.learners.equals(there.learners)


def test_seeds_of_an_experiment_are_the_same_when_a_worker_is_killed(table: ResponseTable) -> None:
    def rows(**where: object) -> pl.DataFrame:
        found = camilla.experiment("reliability", table, diagnosers=["bayes"], seeds=(1, 21, 42), **where)
        return found.drop("seconds")

    here = rows()
    with one_killed():
        there = rows(jobs=2, backend="ray")
    assert here["seed"].n_unique() == 3
    assert here.equals(there)


def test_shards_ask_for_no_more_workers_than_the_cluster_has_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker more would wait for a core that the others never give back."""
    monkeypatch.setattr("camilla.table.shards.SHARD_BYTES", 300)
    path = camilla.simulate(30, 60, seed=1).table.write(tmp_path / "runs.parquet")
    asked = {"diagnoser": "irt:precision=1", "shards": tmp_path / "shards", "device": "cpu"}
    here = camilla.diagnose_large(path, **asked)
    assert len(list((tmp_path / "shards").glob("*.npy"))) == 6
    (tmp_path / "shards" / "state.npz").unlink(missing_ok=True)
    there = camilla.diagnose_large(path, **asked, jobs=6, backend="ray")
    np.testing.assert_allclose(there.learners["ability"], here.learners["ability"], atol=1e-6)


def test_a_bootstrap_is_the_same() -> None:
    scores = {"player": list("abcd")} | {f"round {k}": [k % 3, (k * 7) % 5, k % 2, 1] for k in range(20)}
    tournament = camilla.Tournament.from_wide(pl.DataFrame(scores))
    here = camilla.epp(tournament, se="bootstrap", replicates=50, prior=1)
    there = camilla.epp(tournament, se="bootstrap", replicates=50, prior=1, jobs=2, backend="ray")
    assert here.rows().equals(there.rows())
