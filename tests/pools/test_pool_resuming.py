"""A killed run goes on where it was, and ends as if nothing had happened."""

import importlib.util
import linecache
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import polars as pl
import pytest
from lightgbm import LGBMClassifier
from pool_learners import Unlucky
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from camilla.errors import DataError, SettingError
from camilla.pools import journal
from camilla.pools.description import DataSet, Folds, Learner, Pool
from camilla.pools.journal import key_of
from camilla.pools.results import write_pool
from camilla.pools.running import Clock, run, seconds_guessed

HERE = Path(__file__).parent


def start(folder: Path, table: Path, log: Path) -> "subprocess.Popen[str]":
    """The command, with twelve slow learners."""
    command = [
        sys.executable, "-c", "from camilla.cli.main import main; main()", "pool", "classifiers", str(table),
        "-o", str(folder), "--learners", "pool_learners:SLOW", "--folds", "3", "--jobs", "1",
    ]  # fmt: skip
    return subprocess.Popen(
        command, cwd=HERE, env=os.environ | {"FITS_LOG": str(log)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def outcomes(folder: Path) -> int:
    return len(list((folder / "outcomes").glob("*.msgpack"))) if (folder / "outcomes").exists() else 0


def test_killed_at_any_moment_it_resumes_and_ends_with_the_same_files(
    frame: pl.DataFrame, tmp_path: Path
) -> None:
    """SIGKILL after 2 and after 7 of 12 outcomes. Only what was in flight is done again: at most one
    learner a kill, three fits."""
    table, log = tmp_path / "small.csv", tmp_path / "fits.log"
    frame.write_csv(table)
    unbroken = start(tmp_path / "unbroken", table, tmp_path / "other.log")
    assert unbroken.wait() == 0, unbroken.communicate()[1]
    for wanted in (2, 7):
        running = start(tmp_path / "broken", table, log)
        while outcomes(tmp_path / "broken") < wanted and running.poll() is None:
            time.sleep(0.005)
        running.send_signal(signal.SIGKILL)
        running.communicate()
    assert outcomes(tmp_path / "broken") < 12
    assert not (tmp_path / "broken/scores.parquet").exists()
    last = start(tmp_path / "broken", table, log)
    assert last.wait() == 0, last.communicate()[1]
    last.communicate()
    unbroken.communicate()
    for name in ("scores.parquet", "folds.parquet", "learners.parquet"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "unbroken" / name).read_bytes()
    fits = log.read_text().splitlines()
    assert set(fits) == {f"slow-{i}" for i in range(12)}
    assert 36 <= len(fits) <= 36 + 2 * 3


def logged(data: DataSet, folder: Path, *learners: Learner) -> list[str]:
    lines: list[str] = []
    run(Pool("test", "scores", [data], learners, Folds(3)), folder, watch=lines.append)
    return lines


def test_only_what_is_new_or_changed_is_computed(data: DataSet, tmp_path: Path) -> None:
    one = Learner("one", KNeighborsClassifier(3))
    assert len(logged(data, tmp_path, one)) == 1
    assert logged(data, tmp_path, one) == ["1 of 1 outcomes exist already"]
    lines = logged(data, tmp_path, one, Learner("two", KNeighborsClassifier(5)))
    assert lines[0] == "1 of 2 outcomes exist already"
    assert len(lines) == 2
    assert "already" not in logged(data, tmp_path, Learner("one", KNeighborsClassifier(9)))[0]


def test_a_package_costs_the_learners_it_makes_and_no_other(
    data: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """catboost is named in the note of a pool without it: installed later, it must not void what was done."""
    inside = Pipeline([("scale", StandardScaler()), ("last", LGBMClassifier())])
    estimators = {"plain": KNeighborsClassifier(3), "boosted": LGBMClassifier(), "inside": inside}
    pool = Pool("test", "scores", [data], [Learner(*named) for named in estimators.items()], Folds(3))

    def keys(*renewed: str) -> dict[str, str]:
        """Of every learner, with another version of these packages."""
        other = dict.fromkeys(renewed, "99")
        monkeypatch.setattr(journal, "_version", lambda name: other.get(name) or version(name))
        return {learner.name: key_of(pool, "data", "rows", learner) for learner in pool.learners}

    def changed(*renewed: str) -> set[str]:
        before, after = keys(), keys(*renewed)
        return {name for name in before if before[name] != after[name]}

    assert changed("catboost", "xgboost-cpu", "ray") == set()
    assert changed("lightgbm") == {"boosted", "inside"}
    assert changed("numpy") == changed("scikit-learn") == set(estimators)


def test_a_failed_fit_is_tried_again_and_leaves_no_trace(data: DataSet, tmp_path: Path) -> None:
    """Out of memory once, then not: the files are those of a run in which nothing failed."""
    full = tmp_path / "full"
    pool = Pool(
        "test", "scores", [data],
        [Learner("unlucky", Unlucky(str(full))), Learner("near", KNeighborsClassifier())], Folds(3),
    )  # fmt: skip
    write_pool(run(pool, tmp_path / "smooth"), tmp_path / "smooth")
    full.touch()
    first = write_pool(run(pool, tmp_path / "rough"), tmp_path / "rough")
    assert [one["error"] for one in first["failed"]] == ["MemoryError: no room left"]
    lines: list[str] = []
    still = run(pool, tmp_path / "rough", watch=lines.append)
    assert lines[0] == "1 of 2 outcomes exist already; 1 more failed before and is tried again"
    assert still.n_computed == 1
    full.unlink()
    assert write_pool(run(pool, tmp_path / "rough"), tmp_path / "rough")["failed"] == []
    for name in ("scores.parquet", "folds.parquet", "learners.parquet"):
        assert (tmp_path / "rough" / name).read_bytes() == (tmp_path / "smooth" / name).read_bytes()
    assert run(pool, tmp_path / "rough").n_computed == 0


def test_learners_that_differ_in_their_name_alone_share_an_outcome(data: DataSet, tmp_path: Path) -> None:
    """Two names for one classifier, then a third: computed once, told under every name, bit for bit."""
    near, same, new = (Learner(name, KNeighborsClassifier(3)) for name in ("near", "same", "new"))
    both = run(Pool("test", "scores", [data], [near, same], Folds(3)), tmp_path)
    assert both.n_computed == 1
    frame = both.predictions()
    assert frame["near"].to_list() == frame["same"].to_list()
    assert both.duplicates() == {"same": "near"}
    renamed = run(Pool("test", "scores", [data], [new], Folds(3)), tmp_path)
    assert renamed.n_computed == 0
    assert renamed.predictions()["new"].to_list() == frame["near"].to_list()
    assert set(renamed.fits()["learner"]) == {"new"}


def test_a_cost_of_nothing_is_refused_before_anything_runs() -> None:
    for cost in (0, -1, float("nan"), float("inf")):
        with pytest.raises(SettingError, match="'free': its cost"):
            Learner("free", KNeighborsClassifier(), cost=cost)


def test_changed_code_of_an_own_learner_is_run_again(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class without a package has no version; its code stands for it."""
    code = "from pool_learners import Centroids\nclass Mine(Centroids):\n    factor = {}\n"
    for factor in (1, 2):
        (tmp_path / "mine.py").write_text(code.format(factor))
        spec = importlib.util.spec_from_file_location("mine", tmp_path / "mine.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        monkeypatch.setitem(sys.modules, "mine", module)
        linecache.checkcache()
        lines = logged(data, tmp_path, Learner("mine", module.Mine()))
        assert "already" not in lines[0]
    assert logged(data, tmp_path, Learner("mine", module.Mine())) == ["1 of 1 outcomes exist already"]


def test_a_damaged_outcome_is_computed_again(data: DataSet, tmp_path: Path) -> None:
    one = Learner("one", LogisticRegression())
    pool = Pool("test", "scores", [data], [one], Folds(3))
    before = run(pool, tmp_path).predictions()
    (file,) = (tmp_path / "outcomes").glob("*.msgpack")
    file.write_bytes(file.read_bytes()[:100])
    assert run(pool, tmp_path).predictions().equals(before)


def test_a_file_in_the_way_of_the_folder_is_said(data: DataSet, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match="cannot be made a folder"):
        logged(data, tmp_path / "taken", Learner("one", LogisticRegression()))


def test_time_left_is_learned_family_by_family(data: DataSet, tmp_path: Path) -> None:
    """After a fit of `fast` that took as guessed and one of `slow` that took ten times its guess, what is
    left (one of each) takes 1 + 10 guesses, at one wall second a second of work."""
    from camilla.pools.fitting import LearnerFit, Outcome
    from camilla.pools.running import prepare, works

    learners = [
        Learner(f"{family}{i}", KNeighborsClassifier(), family) for family in ("fast", "slow") for i in (0, 1)
    ]
    pool = Pool("test", "scores", [data], learners, Folds(3))
    left = list(works(pool, prepare(pool)))
    guess = seconds_guessed(left[0])
    clock = Clock(left, 0)
    for work, factor in ((left[0], 1), (left[2], 10)):
        clock.after(Outcome(work.learner.name, "small", work.key, [LearnerFit(0, factor * guess, [])], b""))
    clock.started = time.monotonic() - 11 * guess
    assert clock.seconds_left() == pytest.approx(11 * guess, rel=0.05)
