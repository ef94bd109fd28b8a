"""Experiments: what they measure, and that nothing is lost or done twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import kendalltau, spearmanr, t

import camilla
from camilla.experiments.contenders import drawn_settings
from camilla.experiments.protocols import split
from camilla.experiments.results import told_apart
from camilla.experiments.running import EXPERIMENTS
from camilla.fitting.layout import Size
from camilla.models.camilla import Camilla
from camilla.table.responses import ResponseTable

TABLE = camilla.simulate(30, 80, missing=0.1, seed=5).table
RUN = """
import camilla
table = camilla.simulate(30, 80, missing=0.1, seed=5).table
camilla.experiment("reliability", {"made": table}, diagnosers=["vanilla", "irt", "mirt"], seeds=range(4),
                   store="results.parquet")
"""


def scores(results: pl.DataFrame, **where: object) -> dict[str, float]:
    return dict(results.filter(**where).select("score", "value").iter_rows())


def means(table: ResponseTable) -> np.ndarray:
    """Of each learner, straight from the rows."""
    return np.array([table.response[table.learner == i].mean() for i in range(table.n_learners)])


def test_plain_accuracys_scores_are_those_of_the_formula() -> None:
    found = scores(camilla.experiment("reliability", TABLE, diagnosers=["vanilla"], seeds=[3]))
    train, _, test = split(TABLE, by="cell", proportions=(6, 2, 2), seed=3)
    error = test.response - means(train)[test.learner]
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), abs=1e-12)
    assert found["mae"] == pytest.approx(np.mean(np.abs(error)), abs=1e-12)


def test_consistency_is_with_cells_no_fit_saw_and_with_all() -> None:
    results = camilla.experiment("rank-consistency", TABLE, diagnosers=["irt"], seeds=[3])
    train, _, test = split(TABLE, by="cell", proportions=(6, 2, 2), seed=3)
    for comparison, cells in (("held out", test), ("all", TABLE)):
        found = scores(results, diagnoser="vanilla", comparison=comparison)
        assert found["kendall"] == pytest.approx(kendalltau(means(train), means(cells)).statistic)
        assert found["spearman"] == pytest.approx(spearmanr(means(train), means(cells)).statistic)
        one, other = means(train), means(cells)
        signs = np.sign(one[:, None] - one) * np.sign(other[:, None] - other)
        assert found["tau_a"] == pytest.approx(signs.sum() / (len(one) * (len(one) - 1)))
    assert set(results["diagnoser"]) == {"vanilla", "irt"}


def test_partitions_are_disjoint_and_of_their_size() -> None:
    """Learner i is right on sample j where j < i in all samples, and everywhere in a marked one.

    Whatever the partitions, plain accuracies are in the same order, up to ties of small partitions.
    """
    right = (np.arange(40)[None, :] % 20 < np.arange(1, 20)[:, None]).astype(float)
    results = camilla.experiment(
        "rank-stability",
        ResponseTable.from_matrix(right),
        diagnosers=["vanilla"],
        seeds=[1, 2],
        sizes=[10, 20],
    )
    assert set(results["comparison"]) == {"n v n", "n v rest"}
    halves = results.filter(size=20, seed=1)
    one, other = (scores(halves, comparison=c)["kendall"] for c in ("n v n", "n v rest"))
    assert one == other  # the rest of a half is the other half
    assert results.filter(score="kendall")["value"].min() > 0.8  # type: ignore[operator]
    assert results.filter(score="spearman")["value"].min() > 0.8  # type: ignore[operator]


def test_stability_of_pure_noise_is_nothing() -> None:
    """Kendall of 30 unrelated learners has a standard deviation of .13; the mean of 20 one of .03."""
    noise = ResponseTable.from_matrix(np.random.default_rng(0).integers(0, 2, (30, 400)).astype(float))
    results = camilla.experiment(
        "rank-stability", noise, diagnosers=["vanilla"], seeds=range(20), sizes=[200]
    )
    assert abs(results.filter(score="kendall", comparison="n v n")["value"].mean()) < 0.1  # type: ignore[operator, arg-type]


def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    store = tmp_path / "results.parquet"
    first = camilla.experiment("reliability", TABLE, diagnosers=["irt"], seeds=[1], store=store)
    said: list[str] = []
    again = camilla.experiment(
        "reliability", TABLE, diagnosers=["vanilla", "irt"], seeds=[1], store=store, watch=said.append
    )
    assert said[0] == "1 of 2 runs exist already"
    assert_frame_equal(again.filter(diagnoser="irt"), first)
    other = TABLE.keep(np.arange(TABLE.n_responses) > 0)
    camilla.experiment("reliability", other, diagnosers=["irt"], seeds=[1], store=store, watch=said.append)
    assert said[-2] == "0 of 1 runs exist already"  # another table, whatever it is called
    assert pl.read_parquet(store)["data_hash"].n_unique() == 2


def test_a_diagnoser_named_twice_is_counted_and_run_once() -> None:
    said: list[str] = []
    camilla.experiment(
        "rank-consistency", TABLE, diagnosers=["vanilla"], seeds=[1, 2], watch=said.append
    )  # fmt: skip
    assert said[0] == "0 of 2 runs exist already"
    assert len(said) == 3


def test_processes_find_what_one_finds(tmp_path: Path) -> None:
    alone = camilla.experiment("reliability", TABLE, diagnosers=["vanilla", "irt"], seeds=[1, 2])
    together = camilla.experiment("reliability", TABLE, diagnosers=["vanilla", "irt"], seeds=[1, 2], jobs=2)
    assert_frame_equal(together.drop("seconds"), alone.drop("seconds"))


@pytest.mark.slow
def test_killed_at_any_moment_it_resumes_and_ends_with_the_same_file(tmp_path: Path) -> None:
    """Killed as soon as the file is there, then as soon as it grows, then left alone."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    subprocess.run([sys.executable, "-c", RUN], cwd=whole, check=True)
    store = killed / "results.parquet"
    for _ in range(3):
        before = store.stat().st_mtime_ns if store.exists() else None
        process = subprocess.Popen([sys.executable, "-c", RUN], cwd=killed, start_new_session=True)
        while process.poll() is None and (not store.exists() or store.stat().st_mtime_ns == before):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()
    stopped = pl.read_parquet(store)
    assert 0 < stopped.height < pl.read_parquet(whole / "results.parquet").height
    subprocess.run([sys.executable, "-c", RUN], cwd=killed, check=True)
    assert_frame_equal(
        pl.read_parquet(store).drop("seconds"), pl.read_parquet(whole / "results.parquet").drop("seconds")
    )
    kept = pl.read_parquet(store).join(stopped, on=stopped.columns, how="semi", nulls_equal=True)
    assert kept.height == stopped.height  # what was done before the kill was not done again


def test_every_row_says_where_it_came_from(tmp_path: Path) -> None:
    results = camilla.experiment("reliability", {"made": TABLE}, diagnosers=["irt"], seeds=[1])
    row = results.row(0, named=True)
    assert row["data_hash"] == TABLE.digest()
    assert row["camilla"] == camilla.__version__
    assert '"precision"' in row["chosen"]
    assert '"numpy"' in row["versions"]
    assert row["seconds"] > 0


def test_intervals_over_seeds_are_students() -> None:
    results = camilla.experiment("reliability", TABLE, diagnosers=["vanilla"], seeds=range(4))
    values = results.filter(score="rmse")["value"].to_numpy()
    half = t.ppf(0.975, 3) * values.std(ddof=1) / 2
    row = camilla.experiment_summary(results).filter(score="rmse").row(0, named=True)
    assert row["mean"] == pytest.approx(values.mean())
    assert (row["low"], row["high"]) == pytest.approx((values.mean() - half, values.mean() + half))


def test_intervals_end_where_their_score_ends() -> None:
    """Two seeds, τ of .9 and 1: .95 ± 12.7 × .05 is cut to [.315, 1]; a log loss may be above 1, not below
    0."""
    rows = camilla.experiment("rank-consistency", TABLE, diagnosers=["vanilla"], seeds=[1, 2])
    one = rows.filter(score="kendall", comparison="all")
    for name, values, low, high in (
        ("kendall", (0.9, 1.0), 0.95 - t.ppf(0.975, 1) * 0.05, 1),
        ("spearman", (-0.9, -1.0), -1, -0.95 + t.ppf(0.975, 1) * 0.05),
        ("rmse", (0.4, 0.6), 0, 1),
        ("log_loss", (0.5, 0.9), 0, 0.7 + t.ppf(0.975, 1) * 0.2),
    ):
        named = one.with_columns(score=pl.lit(name), value=pl.Series(values))
        row = camilla.experiment_summary(named).row(0, named=True)
        assert (row["low"], row["high"]) == pytest.approx((low, high)), name


def test_other_data_and_other_versions_are_not_averaged_together(tmp_path: Path) -> None:
    """Two seeds on a table, two on a part of it, two as if by an older version: three means over two each."""
    store = tmp_path / "results.parquet"
    other = TABLE.keep(np.arange(TABLE.n_responses) > 300)
    for table in (TABLE, other):
        camilla.experiment("reliability", table, diagnosers=["vanilla"], seeds=[1, 2], store=store)
    rows = pl.read_parquet(store).filter(score="rmse")
    rows = pl.concat([rows, rows.filter(data_hash=TABLE.digest()).with_columns(camilla=pl.lit("0.0.1"))])
    found = camilla.experiment_summary(rows)
    assert found["seeds"].to_list() == [2, 2, 2]
    for row in found.to_dicts():
        values = rows.filter(data_hash=row["data_hash"], camilla=row["camilla"])["value"].to_numpy()
        assert row["mean"] == pytest.approx(values.mean())
    apart = told_apart(rows)["table"].unique().sort().to_list()
    assert apart == sorted(
        f"data {digest[:8]}, camilla {version}, table"
        for digest, version in (
            (TABLE.digest(), camilla.__version__),
            (TABLE.digest(), "0.0.1"),
            (other.digest(), camilla.__version__),
        )
    )


def test_a_search_draws_from_the_papers_grid() -> None:
    results = camilla.experiment("reliability", TABLE, diagnosers=["irt:as_published:search=2"], seeds=[1])
    assert any(f'"rate": {rate},' in results["chosen"][0] for rate in (0.0001, 0.001, 0.005, 0.01))
    drawn = drawn_settings(Camilla.as_published(Size(30, 80)), 40, np.random.default_rng(0))
    assert {settings["dimensions"] for settings in drawn} == {5, 10, 20, 50}
    assert {settings["hidden"][1] for settings in drawn} == {16, 32, 64}


def test_what_cannot_be_run_is_said_before_anything_runs(tmp_path: Path) -> None:
    for name, settings, words in (
        ("dance", {}, "reliability"),
        ("rank-stability", {"sizes": [80]}, "sizes run from 2"),
        ("reliability", {"sizes": [20]}, "sizes apply only to rank-stability"),
        ("reliability", {"store": tmp_path / "results.csv"}, "kept in Parquet"),
        ("reliability", {"diagnosers": ["auto:precision=3"]}, "takes only chains and draws"),
        ("reliability", {"diagnosers": ["irt:search=3"]}, "as_published"),
        ("reliability", {"diagnosers": ["irt", "oracle"]}, "no diagnoser"),
    ):
        with pytest.raises(camilla.SettingError, match=words):
            camilla.experiment(name, TABLE, **settings)  # type: ignore[arg-type]
    with pytest.raises(camilla.DataError, match="skill map"):
        camilla.experiment("reliability", TABLE, diagnosers=["camilla-base"])
    assert "rank-stability" in EXPERIMENTS


@pytest.mark.parametrize("content", [b"not parquet", None])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, content: bytes | None) -> None:
    store = tmp_path / "results.parquet"
    if content is None:
        pl.DataFrame({"a": [1]}).write_parquet(store)
    else:
        store.write_bytes(content)
    before = store.read_bytes()
    with pytest.raises(camilla.FormatError, match=r"results\.parquet"):
        camilla.experiment("reliability", TABLE, store=store)
    assert store.read_bytes() == before
