"""Fits by turns: at the mode, whoever holds the shards, killed or not."""

import os
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from camilla.fitting.alternating import InMemory, SampleSums, State, best_move, fit_by_turns, full, solved
from camilla.fitting.layout import Size
from camilla.fitting.shards import LayoutShard, Threads, product
from camilla.models.irt import IRT
from camilla.models.mirt import MIRT
from camilla.table.shards import MISSING, DenseShard, LongColumns, SparseShard, make_shards


def world(n_learners: int, n_samples: int, dims: int = 1, missing: float = 0.3, seed: int = 0):
    """Bytes [samples, learners] of a bilinear world."""
    rng = np.random.default_rng(seed)
    ability, loading = rng.normal(size=(n_learners, dims)), 0.5 * rng.normal(size=(n_samples, dims))
    loading[:, 0] += 1
    p = 1 / (1 + np.exp(-(loading @ ability.T + rng.normal(size=(n_samples, 1)))))
    codes = (rng.random(p.shape) < p).astype(np.uint8)
    codes[rng.random(p.shape) < missing] = MISSING
    return codes


def start(codes, dims: int = 1):
    right, count = (codes == 1).sum(axis=0), (codes != MISSING).sum(axis=0)
    first = np.log(right + 0.5) - np.log(count - right + 0.5)
    first = (first - first.mean()) / first.std()
    return np.column_stack([first, np.random.default_rng(1).normal(0, 0.1, (len(first), dims - 1))])


def listed(codes) -> SparseShard:
    sample, learner = np.nonzero(codes != MISSING)
    starts = np.searchsorted(sample, np.arange(len(codes) + 1)).astype(np.int64)
    return SparseShard(starts, (2 * learner + codes[sample, learner]).astype(np.uint32), codes.shape[1])


def negative_log_posterior(model, codes, ability, loading, intercept) -> float:
    """The formula: Σ log(1 + eˡ) − x l, and Gaussian priors."""
    logit = loading @ ability.T + intercept[:, None]
    there = codes != MISSING
    loss = np.sum((np.logaddexp(0, logit) - (codes == 1) * logit)[there])
    problem = model.problem()
    off = loading - problem.loading_mean
    return float(
        loss
        + 0.5 * np.sum(ability**2)
        + 0.5 * problem.loading_precision * np.sum(off**2)
        + 0.5 * problem.intercept_precision * np.sum(intercept**2)
    )


def slopes_at(model, codes, reached):
    """Central differences of the formula by some of the numbers."""
    ability = reached.ability
    loading = np.concatenate([one.loading for one in reached.samples])
    intercept = np.concatenate([one.intercept for one in reached.samples])
    at = [ability, loading, intercept]
    rng, out = np.random.default_rng(0), []
    for part, array in enumerate(at):
        for _ in range(8):
            place = tuple(rng.integers(0, size) for size in array.shape)
            values = []
            for change in (1e-4, -1e-4):
                moved = [one.copy() for one in at]
                moved[part][place] += change
                values.append(negative_log_posterior(model, codes, *moved))
            out.append((values[0] - values[1]) / 2e-4)
    return np.array(out)


@pytest.mark.parametrize("dims", [1, 2])
def test_turns_end_where_the_formula_is_flat(dims: int) -> None:
    codes = world(60, 300, dims)
    size = Size(60, 300)
    model = IRT(size, precision=1.0) if dims == 1 else MIRT(size, dimensions=dims, precision=3.0)
    reached = fit_by_turns(
        model.problem(), Threads([DenseShard(codes[:70]), DenseShard(codes[70:])]), start(codes, dims), print
    )
    assert reached.converged
    assert np.abs(slopes_at(model, codes, reached)).max() < 1e-3
    early = fit_by_turns(model.problem(), Threads([DenseShard(codes)]), start(codes, dims), print, most=2)
    assert np.abs(slopes_at(model, codes, early)).max() > 1e-2


def test_who_holds_the_responses_changes_nothing() -> None:
    codes = world(30, 120)
    problem = IRT(Size(30, 120), precision=1.0).problem()
    shares = np.where(codes == MISSING, np.nan, codes).astype(np.float32)
    weight, right = (codes != MISSING).astype(float), (codes == 1).astype(float)
    fits = [
        fit_by_turns(problem, Threads(shards), start(codes), print).ability
        for shards in (
            [DenseShard(codes)],
            [DenseShard(codes[:50]), DenseShard(codes[50:])],
            [listed(codes[:50]), listed(codes[50:])],
            [DenseShard(shares)],
            [LayoutShard(weight, right)],
        )
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other, fits[0], atol=1e-5)


def test_without_discriminations_only_the_origin_moves() -> None:
    codes = world(30, 120)
    problem = IRT(Size(30, 120), form="1pl").problem()
    reached = fit_by_turns(problem, Threads([DenseShard(codes)]), start(codes), print)
    assert reached.converged
    assert np.all(reached.samples[0].loading == 1)


def test_a_move_is_the_best_of_its_kind() -> None:
    rng = np.random.default_rng(3)
    ability, loading = rng.normal(0.5, 1.3, (50, 1)), rng.normal(0.8, 0.3, (80, 1))
    intercept = rng.normal(size=80)
    problem = IRT(Size(50, 80), precision=2.0).problem()
    sums = SampleSums(loading.sum(axis=0), loading.T @ loading, loading.T @ intercept, 0.0)
    move = best_move(problem, ability, sums, 80)

    def held(origin: float, unit: float) -> float:
        u, v, c = (ability - origin) * unit, loading / unit, intercept + loading[:, 0] * origin
        return 0.5 * np.sum(u**2) + np.sum((v - 1) ** 2) + 0.1 * np.sum(c**2)

    best = minimize(lambda x: held(x[0], np.clip(x[1], 0.5, 2)), [0, 1], method="Nelder-Mead",
                    options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 5000})  # fmt: skip
    assert held(move.origin[0], move.unit[0, 0]) == pytest.approx(best.fun, rel=1e-4)


def test_a_move_of_two_dimensions_is_the_best_of_its_kind() -> None:
    """By BFGS on the formula; dimensions with unlike prior means may also be turned into each other."""
    rng = np.random.default_rng(4)
    ability, loading = rng.normal(0.3, 1.2, (50, 2)), rng.normal(0.6, 0.4, (80, 2))
    intercept = rng.normal(size=80)
    problem = MIRT(Size(50, 80), dimensions=2, precision=3.0).problem()
    mean = problem.loading_mean
    assert mean[0] != mean[1]
    sums = SampleSums(loading.sum(axis=0), loading.T @ loading, loading.T @ intercept, 0.0)
    move = best_move(problem, ability, sums, 80)

    def held(x) -> float:
        origin, unit = x[:2], x[2:].reshape(2, 2)
        u, v = (ability - origin) @ unit, loading @ np.linalg.inv(unit).T
        c = intercept + loading @ origin
        return float(0.5 * np.sum(u**2) + 1.5 * np.sum((v - mean) ** 2) + 0.1 * np.sum(c**2))

    best = minimize(held, [0, 0, 1, 0, 0, 1], method="BFGS", options={"gtol": 1e-7})
    found = np.concatenate([move.origin, move.unit.ravel()])
    assert held(found) == pytest.approx(best.fun, rel=1e-6)
    assert held(found) < 0.95 * held(np.array([0, 0, 1, 0, 0, 1.0]))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 9])
def test_many_small_matrices_are_solved(width: int) -> None:
    rng = np.random.default_rng(width)
    root = rng.normal(size=(20, width, width))
    matrix, right = root @ root.transpose(0, 2, 1) + np.eye(width), rng.normal(size=(20, width))
    first, second = np.triu_indices(width)
    whole = full(matrix[:, first, second], width)
    np.testing.assert_allclose(whole.transpose(2, 0, 1), matrix)
    expected = np.array([np.linalg.inv(one) @ two for one, two in zip(matrix, right, strict=True)])
    np.testing.assert_allclose(solved(whole, right.T.copy()).T, expected, rtol=1e-9)


@pytest.mark.parametrize("columns", [1, 3, 5])
def test_products_column_by_column_are_products(columns: int) -> None:
    """float32 sums of 40 numbers near 1: a millionth each way."""
    rng = np.random.default_rng(columns)
    matrix, right = (rng.normal(size=shape).astype(np.float32) for shape in ((30, 40), (40, columns)))
    np.testing.assert_allclose(product(matrix, right), np.einsum("ij,jk->ik", matrix, right), atol=2e-5)
    np.testing.assert_allclose(product(matrix.T, right[:30]), np.einsum("ji,jk->ik", matrix, right[:30]),
                               atol=2e-5)  # fmt: skip


@pytest.mark.parametrize("dims", [1, 2])
def test_blocks_share_their_memory_without_harm(dims: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten blocks of each shard, two threads, and responses in memory, which a fit must leave as they are."""
    codes = world(30, 120, dims)
    problem = MIRT(Size(30, 120), dimensions=dims, precision=3.0).problem()
    weight, right = (codes != MISSING).astype(np.float32), (codes == 1).astype(np.float32)
    whole = fit_by_turns(problem, Threads([DenseShard(codes)]), start(codes, dims), print).ability
    monkeypatch.setattr("camilla.fitting.shards.BLOCK_CELLS", 200)
    for shards in ([DenseShard(codes[:50]), DenseShard(codes[50:])], [LayoutShard(weight, right)]):
        parts = fit_by_turns(problem, Threads(shards, 2), start(codes, dims), print).ability
        np.testing.assert_allclose(parts, whole, atol=1e-5)
    np.testing.assert_array_equal(weight, codes != MISSING)
    np.testing.assert_array_equal(right, codes == 1)


def test_a_fit_goes_on_from_a_state_that_was_kept() -> None:
    codes = world(30, 120)
    problem = IRT(Size(30, 120), precision=1.0).problem()
    kept: list[State] = []

    class Keeper(InMemory):
        def keep(self, state: State) -> None:
            kept.append(state)

    whole = fit_by_turns(problem, Threads([DenseShard(codes)]), start(codes), print, keeper=Keeper())
    again = InMemory()
    again.keep(kept[0])
    resumed = fit_by_turns(problem, Threads([DenseShard(codes)]), np.zeros((30, 1)), print, keeper=again)
    np.testing.assert_array_equal(resumed.ability, whole.ability)
    assert resumed.sweeps == whole.sweeps


def test_an_accelerator_takes_the_same_turns() -> None:
    """JAX on the CPU runs the same program as on an accelerator."""
    pytest.importorskip("jax")
    from camilla.fitting.device_turns import Device

    codes = world(60, 250, 2)
    problem = MIRT(Size(60, 250), dimensions=2, precision=3.0).problem()
    shards = [DenseShard(codes[:100]), listed(codes[100:])]
    one = fit_by_turns(problem, Threads(shards), start(codes, 2), print)
    other = fit_by_turns(problem, Device(shards), start(codes, 2), print)
    assert other.converged
    np.testing.assert_allclose(other.ability, one.ability, atol=2e-3)


@pytest.mark.slow  # Ray takes half a minute to come up
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_gives_the_same_and_survives_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real actors of a real Ray on this machine; one is killed in the middle of the fit."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'camilla[cluster]'")
    monkeypatch.setattr("camilla.table.shards.SHARD_BYTES", 2000)
    from camilla.fitting.cluster import RayWorkers

    codes = world(30, 200)
    sample, learner = np.nonzero(codes != MISSING)
    frame = pl.DataFrame({"learner": learner, "sample": sample, "response": codes[sample, learner]})
    frame.write_parquet(tmp_path / "runs.parquet")
    folder = make_shards([tmp_path / "runs.parquet"], tmp_path / "shards", LongColumns(), print)
    assert len(folder.shards) == 4
    problem = IRT(Size(30, 200), precision=1.0).problem()
    first = np.random.default_rng(0).normal(size=(30, 1))
    here = fit_by_turns(problem, Threads(folder.shards), first, print)
    workers = RayWorkers(folder, jobs=2)
    lines: list[str] = []

    def watch(line: str) -> None:
        lines.append(line)
        if len(lines) == 7:
            os.kill(workers.processes()[1], signal.SIGKILL)

    try:
        there = fit_by_turns(problem, workers, first, watch)
    finally:
        workers.close()
    assert workers.replaced == 1
    assert any("lost" in line for line in lines)
    np.testing.assert_allclose(there.ability, here.ability, atol=1e-6)
