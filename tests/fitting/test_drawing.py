"""Cells drawn from shards: each once in a pass, in random order, a tenth of them held out."""

from typing import NamedTuple

import numpy as np
import pytest

from camilla.fitting.drawing import Listed, Stream
from camilla.fitting.engines import ENGINES
from camilla.fitting.fit import fit
from camilla.fitting.layout import DenseLayout, Size, SparseLayout
from camilla.fitting.shard_layout import ShardLayout, compact
from camilla.fitting.training import Training
from camilla.models.camilla import Camilla
from camilla.table.shards import MISSING, DenseShard, Shard, SparseShard

N_LEARNERS, N_SAMPLES = 37, 90


class World(NamedTuple):
    """Responses [samples, learners], NaN where missing, and shards that hold them."""

    response: np.ndarray
    shards: list[Shard]


def world(kind: str) -> World:
    """dense or sparse, of bytes or fractional; three shards."""
    rng = np.random.default_rng(3)
    response = rng.integers(0, 2, (N_SAMPLES, N_LEARNERS)).astype(np.float32)
    if "fractional" in kind:
        response = rng.random(response.shape, dtype=np.float32)
    response[rng.random(response.shape) < (0.8 if "sparse" in kind else 0.3)] = np.nan
    make = listed if "sparse" in kind else coded
    return World(response, [make(part, "fractional" in kind) for part in np.split(response, [20, 21])])


def coded(part: np.ndarray, fractional: bool) -> DenseShard:
    return DenseShard(part if fractional else np.where(np.isnan(part), MISSING, part).astype(np.uint8))


def listed(part: np.ndarray, fractional: bool) -> SparseShard:
    sample, learner = np.nonzero(~np.isnan(part))
    values = part[sample, learner]
    starts = np.searchsorted(sample, np.arange(len(part) + 1)).astype(np.int64)
    right = np.zeros(len(values), np.uint32) if fractional else values.astype(np.uint32)
    return SparseShard(
        starts, 2 * learner.astype(np.uint32) + right, part.shape[1], values if fractional else None
    )


KINDS = ["dense", "sparse", "dense fractional", "sparse fractional"]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that make many pieces of a small table."""
    for name, size in (("drawing.PLACES", 320), ("shard_layout.PLACES", 320), ("shard_layout.AT_ONCE", 50)):
        monkeypatch.setattr(f"camilla.fitting.{name}", size)
    monkeypatch.setattr("camilla.fitting.drawing.STRIP", 8)


def filled(cells: list[Listed]) -> np.ndarray:
    """The matrix of what was drawn; an error if a cell came twice."""
    out = np.full((N_SAMPLES, N_LEARNERS), np.nan, np.float32)
    for learner, sample, response in cells:
        for i, j, x in zip(learner, sample, response, strict=True):
            assert np.isnan(out[j, i])
            out[j, i] = x
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small_pieces")
def test_a_pass_draws_every_response_once(kind: str) -> None:
    response, shards = world(kind)
    layout = ShardLayout(shards)
    first, second = (list(layout.draws(np.random.default_rng(seed))) for seed in (0, 1))
    assert len(first) >= 3
    for drawn in (first, second):
        np.testing.assert_array_equal(filled(drawn), response)
    assert not np.array_equal(first[0].sample[:20], second[0].sample[:20])
    again = next(iter(layout.draws(np.random.default_rng(0))))
    assert all(np.array_equal(*both) for both in zip(first[0], again, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small_pieces")
def test_what_is_held_out_and_the_rest_are_the_table(kind: str) -> None:
    """Of n cells n/10 are held out, give or take five binomial standard deviations."""
    response, shards = world(kind)
    inner, outer = ShardLayout(shards).parted(5)
    kept, out = (filled(list(part.draws(np.random.default_rng(0)))) for part in (inner, outer))
    assert not np.any(~np.isnan(kept) & ~np.isnan(out))
    np.testing.assert_array_equal(np.where(np.isnan(kept), out, kept), response)
    n = np.count_nonzero(~np.isnan(response))
    assert inner.n_cells + outer.n_cells == n
    assert abs(outer.n_cells - n / 10) < 5 * np.sqrt(0.09 * n)
    other = filled(list(ShardLayout(shards).parted(6)[1].draws(np.random.default_rng(0))))
    assert not np.array_equal(np.isnan(other), np.isnan(out))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["all", "inner", "outer"])
@pytest.mark.usefixtures("small_pieces")
def test_blocks_pieces_and_totals_are_of_the_same_cells(kind: str, part: str) -> None:
    _, shards = world(kind)
    whole = ShardLayout(shards)
    inner, outer = whole.parted(5)
    layout = {"all": whole, "inner": inner, "outer": outer}[part]
    response = filled(list(layout.draws(np.random.default_rng(0))))
    there = ~np.isnan(response)
    right = np.where(there, response, 0)
    rows = np.array([3, 19, 20, 21, 80])
    for found, wanted in zip(layout.block(rows), (there[rows], right[rows]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    some = slice(30, 40)  # beyond the last learner
    for found, wanted in zip(layout.of_learners(some), (there[:, some].T, right[:, some].T), strict=True):
        np.testing.assert_array_equal(found, wanted)
    pieces = [Listed(learner, sample, scored) for learner, sample, _, scored in layout.pieces()]
    np.testing.assert_array_equal(filled(pieces), response)
    assert all(np.all(np.diff(one.sample) >= 0) for one in pieces)
    for found, axis in ((layout.sample_totals(), 1), (layout.learner_totals(), 0)):
        np.testing.assert_allclose(found[0], right.sum(axis=axis, dtype=np.float64), rtol=1e-6)
        np.testing.assert_array_equal(found[1], there.sum(axis=axis))
    assert layout.n_cells == there.sum()


def test_the_first_cells_drawn_are_of_all_samples_and_learners() -> None:
    """Means of the first 2,000 of 90,000: with standard errors of so many, and twice that for strips."""
    codes = np.zeros((900, 100), np.uint8)
    drawn = next(iter(ShardLayout([DenseShard(codes)]).draws(np.random.default_rng(0)))).take(slice(0, 2000))
    for index, size in ((drawn.sample, 900), (drawn.learner, 100)):
        assert abs(index.mean() - (size - 1) / 2) < 2 * 5 * size / np.sqrt(12 * 2000)


def test_held_out_cells_are_of_all_samples_and_learners_alike() -> None:
    """A tenth of each, χ² of 900 and of 100 counts: mean their number, standard deviation √(2 × number)."""
    codes = np.zeros((900, 100), np.uint8)
    _, outer = ShardLayout([DenseShard(codes)]).parted(0)
    for count, size in ((outer.by_sample.n, 100), (outer.by_learner.n, 900)):
        chi = float(np.sum((count - 0.1 * size) ** 2 / (0.09 * size)))
        assert abs(chi - len(count)) < 5 * np.sqrt(2 * len(count))


def test_of_four_responses_one_is_held_out() -> None:
    for seed in range(20):
        inner, outer = ShardLayout([DenseShard(np.eye(2, dtype=np.uint8))]).parted(seed)
        assert inner.n_cells + outer.n_cells == 4
        assert min(inner.n_cells, outer.n_cells) > 0


def test_a_stream_gives_all_lists_in_their_order() -> None:
    lists = [Listed(*(np.arange(a, b),) * 3) for a, b in ((0, 3), (3, 4), (4, 11), (11, 20))]
    stream = Stream(iter(lists))
    found = [stream.take(n).sample.tolist() for n in (2, 6, 1, 11)]
    assert found == [[0, 1], [2, 3, 4, 5, 6, 7], [8], list(range(9, 20))]


def test_layouts_in_memory_come_in_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("camilla.fitting.layout.PIECE_CELLS", 100)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, (N_SAMPLES, N_LEARNERS)) * (rng.random((N_SAMPLES, N_LEARNERS)) < 0.5)
    response = rng.random(weight.shape)
    sample, learner = np.nonzero(weight)
    cells = weight[sample, learner], response[sample, learner]
    sparse = SparseLayout(learner, sample, *cells, n_learners=N_LEARNERS, n_samples=N_SAMPLES)
    for layout in (DenseLayout(weight, response), sparse):
        joined = [np.concatenate(parts) for parts in zip(*layout.pieces(), strict=True)]
        for found, wanted in zip(joined, (learner, sample, cells[0], cells[0] * cells[1]), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
        of_some = layout.of_learners(slice(5, 9))
        for found, wanted in zip(of_some, (weight, weight * response), strict=True):
            np.testing.assert_allclose(found, wanted[:, 5:9].T, rtol=1e-12)
        right, total = layout.learner_totals()
        np.testing.assert_allclose(right, (weight * response).sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(total, weight.sum(axis=0), rtol=1e-12)
        assert layout.n_cells == len(learner)


@pytest.mark.parametrize("kind", KINDS)
def test_layouts_in_memory_are_compacted(kind: str) -> None:
    response, _ = world(kind)
    sample, learner = np.nonzero(~np.isnan(response))
    ones = np.ones(len(sample))
    layout = SparseLayout(
        learner, sample, ones, response[sample, learner].astype(float),
        n_learners=N_LEARNERS, n_samples=N_SAMPLES,
    )  # fmt: skip
    found = compact(layout)
    assert isinstance(found, ShardLayout)
    np.testing.assert_array_equal(filled(list(found.draws(np.random.default_rng(0)))), response)
    size = sum(part.nbytes for part in found.shards[0] if isinstance(part, np.ndarray))
    each = (8 if "sparse" in kind else 6) if "fractional" in kind else (4 if "sparse" in kind else 2)
    assert size <= each * len(sample) + 8 * (N_SAMPLES + 1)
    layout.weight[3] = 2  # a cell of two trials cannot be a byte
    assert compact(layout) is layout


def test_a_large_table_in_memory_is_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """2PL responses of 40 learners to 500 samples: ability overall against the mean true probability.

    A mean of 500 responses has a standard error of at most .0224; of 40 the largest is below four of them.
    """
    rng = np.random.default_rng(1)
    p = 1 / (1 + np.exp(-rng.normal(1, 0.3, (500, 1)) * rng.normal(size=40) - rng.normal(size=(500, 1))))
    layout = DenseLayout(np.ones(p.shape), (rng.random(p.shape) < p).astype(float))
    monkeypatch.setattr("camilla.fitting.neural_engine.LISTED_CELLS", 1000)
    monkeypatch.setattr("camilla.fitting.neural_engine.may_accelerate", lambda: False)
    settings = {"dimensions": 2, "precision": 1.0, "training": Training(epochs=12, rate=0.02, pass_steps=64)}
    said: list[str] = []
    size = Size(40, 500)
    found = fit(Camilla, size, layout, settings=settings, seed=0, valid=None, watch=said.append)
    readout = found.readout(layout)
    level, _ = ENGINES["neural"].expected(
        found.diagnoser, found.solution.params, readout, readout.ability, readout.covariance, np.arange(500)
    )
    assert np.abs(level - p.mean(axis=0)).max() < 4 * 0.0224
    assert np.corrcoef(level, p.mean(axis=0))[0, 1] > 0.98
