"""Passes over shards of responses, and the shards as a layout.

A pass decodes a block of samples, computes p = σ(ability · loading + intercept) in float32, and sums what it
needs in float64. Blocks are small enough for the second-level cache; several threads work on several shards.
"""

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from camilla.arrays import Floats, one_blas_thread
from camilla.fitting.alternating import (
    SETTLED,
    LearnerSums,
    Move,
    SampleState,
    SampleSums,
    full,
    moved_samples,
    pairs_of,
    shortened,
)
from camilla.fitting.drawing import (
    PLACES,
    ArrayKeeper,
    Listed,
    Part,
    Places,
    joined,
    listed,
    n_places,
    strips,
)
from camilla.fitting.factors import Bilinear
from camilla.fitting.layout import CellArrays, Layout, Slopes
from camilla.table.cells import zero_or_one
from camilla.table.shards import DENSE_SHARE, MISSING, DenseShard, Shard, SparseShard

BLOCK_CELLS = 131_072
AT_ONCE = 65_536  # places whose temporaries stay in the second-level cache
LET_GO = 16  # blocks after which the pages that were read go back to the system
T = TypeVar("T")


class LayoutShard(NamedTuple):
    """Some samples of a dense layout, weights and all."""

    weight: Floats  # [samples, learners]
    right: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.weight.shape[0], self.weight.shape[1]


class Errors(NamedTuple):
    """x − p and p(1 − p) of a block, 0 where a response is missing; [samples, learners], dense or sparse."""

    off: Any
    bend: Any


class _DenseCells(NamedTuple):
    weight: Floats
    right: Floats

    def errors(self, ability: Floats, loading: Floats, intercept: Floats) -> Errors:
        p = loading @ ability.T
        p += intercept[:, None]
        p *= 0.5
        np.tanh(p, out=p)
        p += 1
        p *= 0.5
        off = p * self.weight
        p *= off
        np.subtract(off, p, out=p)  # w p (1 − p)
        np.subtract(self.right, off, out=off)
        return Errors(off, p)

    def ratio(self, over: Floats, under: Floats) -> Floats:
        """One matrix over another."""
        return over / np.maximum(under, 1e-12)


class _SparseCells(NamedTuple):
    starts: NDArray[np.int64]
    learner: NDArray[np.integer]
    sample: NDArray[np.integer]
    right: Floats
    n_learners: int

    def errors(self, ability: Floats, loading: Floats, intercept: Floats) -> Errors:
        logit = np.einsum("ck,ck->c", ability[self.learner], loading[self.sample]) + intercept[self.sample]
        p = 0.5 * (np.tanh(0.5 * logit) + 1)
        return Errors(self.matrix(self.right - p), self.matrix(p * (1 - p)))

    def matrix(self, values: Floats) -> Any:
        """A number for each response."""
        shape = (len(self.starts) - 1, self.n_learners)
        return sparse.csr_array((values, self.learner, self.starts), shape=shape)

    def ratio(self, over: Any, under: Any) -> Any:
        """One matrix over another, both of these responses."""
        return self.matrix(over.data / np.maximum(under.data, 1e-12))


AnyShard = Shard | LayoutShard


def blocks(shard: AnyShard) -> Iterator[tuple[slice, _DenseCells | _SparseCells]]:
    """Stretches of samples of a shard, decoded."""
    n_samples, n_learners = shard.shape
    if not isinstance(shard, SparseShard):
        step = max(1, BLOCK_CELLS // max(n_learners, 1))
        for start in range(0, n_samples, step):
            rows = slice(start, min(start + step, n_samples))
            if isinstance(shard, DenseShard):
                yield rows, _decoded(np.asarray(shard.codes[rows]))
            else:
                yield rows, _DenseCells(*(part[rows].astype(np.float32, copy=False) for part in shard))
            if start % (LET_GO * step) == 0:
                let_go(shard)
        return
    wanted = np.arange(0, len(shard.codes) + BLOCK_CELLS, BLOCK_CELLS)
    ends = np.unique(np.append(np.searchsorted(shard.starts[1:], wanted), n_samples))
    for number, (start, end) in enumerate(zip(np.append(0, ends), ends, strict=False)):
        if end > start:
            yield slice(int(start), int(end)), _listed(shard, int(start), int(end))
        if number % LET_GO == 0:
            let_go(shard)


def let_go(shard: AnyShard) -> None:
    """Gives the pages of a mapped file back: they stay in the system's cache, not in this process."""
    for part in shard:
        if isinstance(part, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            part._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


def matrices(shard: Shard, most: int = BLOCK_CELLS) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
    """Responses [learners, samples], 0 where missing, and which there are, so many cells at a time."""
    n_samples, n_learners = shard.shape
    step = max(1, most // max(n_learners, 1))
    for start in range(0, n_samples, step):
        weight, right = rows_of(shard, np.arange(start, min(start + step, n_samples)))
        yield right.T, weight.T > 0
        let_go(shard)


def dense_codes(shards: Sequence[Shard], n_rows: int) -> NDArray[Any]:
    """All shards as one matrix [n_rows, learners], what is beyond their samples missing."""
    fractional = any(
        shard.codes.dtype == np.float32 or getattr(shard, "values", None) is not None for shard in shards
    )
    out = np.full(
        (n_rows, shards[0].shape[1]),
        np.nan if fractional else MISSING,
        np.float32 if fractional else np.uint8,
    )
    start = 0
    for shard in shards:
        rows = out[start : start + shard.shape[0]]
        if isinstance(shard, DenseShard):
            rows[:] = shard.codes
        else:
            for part, cells in blocks(shard):
                rows[part][cells.sample, cells.learner] = cells.right  # type: ignore[union-attr]
        start += shard.shape[0]
    return out


def _decoded(codes: NDArray[Any]) -> _DenseCells:
    if codes.dtype == np.uint8:
        return _DenseCells((codes != MISSING).astype(np.float32), (codes == 1).astype(np.float32))
    there = ~np.isnan(codes)
    return _DenseCells(there.astype(np.float32), np.where(there, codes, np.float32(0)))


def _listed(shard: SparseShard, start: int, end: int) -> _SparseCells:
    starts = shard.starts[start : end + 1]
    codes = np.asarray(shard.codes[starts[0] : starts[-1]])
    sample = np.repeat(np.arange(end - start), np.diff(starts))
    learner = (codes >> 1).astype(np.int32)
    values = (codes & 1).astype(np.float32) if shard.values is None else shard.values[starts[0] : starts[-1]]
    return _SparseCells(starts - starts[0], learner, sample, values, shard.n_learners)


class Totals(NamedTuple):
    """How many responses each sample, or learner, has, and their sum."""

    n: Floats
    right: Floats


def totals(shard: AnyShard) -> tuple[Totals, Totals]:
    """By sample, and by learner."""
    n_samples, n_learners = shard.shape
    count, right = np.zeros(n_samples), np.zeros(n_samples)
    of_learner = Totals(np.zeros(n_learners), np.zeros(n_learners))
    for rows, cells in blocks(shard):
        if isinstance(cells, _DenseCells):
            count[rows], right[rows] = cells.weight.sum(axis=1), cells.right.sum(axis=1)
            of_learner.n[:] += cells.weight.sum(axis=0)
            of_learner.right[:] += cells.right.sum(axis=0)
        else:
            n = rows.stop - rows.start
            count[rows], right[rows] = np.diff(cells.starts), np.bincount(cells.sample, cells.right, n)
            of_learner.n[:] += np.bincount(cells.learner, minlength=n_learners)
            of_learner.right[:] += np.bincount(cells.learner, cells.right, n_learners)
    return Totals(count, right), of_learner


class Held:
    """A shard with the factors of its samples: what a worker has."""

    def __init__(self, shard: AnyShard) -> None:
        self.shard = shard

    def start(self, problem: Bilinear, free: NDArray[np.bool_], state: SampleState | None) -> None:
        """problem: of the whole table; free: the rows of its `free` that are of this shard."""
        self.problem, self.free = problem, free
        self.state = first_state(problem, totals(self.shard)[0]) if state is None else state

    def sweep(self, ability: Floats, move: Move | None) -> tuple[LearnerSums, SampleSums]:
        state = moved_samples(self.state, move)
        prior = SamplePrior.of(self.problem)
        loading, intercept = state.loading.copy(), state.intercept.copy()
        n, dims = ability.shape
        design = np.column_stack([ability, np.ones(n)]).astype(np.float32)
        design_pairs = pairs_of(np, design)
        u = design[:, :-1]
        sums = LearnerSums(np.zeros((n, dims)), np.zeros((n, dims * (dims + 1) // 2)))
        longest = 0.0
        for rows, cells in blocks(self.shard):
            v, c = loading[rows].astype(np.float32), intercept[rows].astype(np.float32)
            off, bend = cells.errors(u, v, c)
            at = np.column_stack([loading[rows], intercept[rows]])
            step = prior.step(at, off @ design, bend @ design_pairs, self.free[rows])
            longest = max(longest, float(np.abs(step).max(initial=0)))
            loading[rows] += step[:, :-1]
            intercept[rows] += step[:, -1]
            v, c = loading[rows].astype(np.float32), intercept[rows].astype(np.float32)
            off, bend = cells.errors(u, v, c)
            sums.slope[:] += off.T @ v
            sums.information[:] += bend.T @ pairs_of(np, v)
        self.state = SampleState(loading, intercept)
        return sums, SampleSums(loading.sum(axis=0), loading.T @ loading, loading.T @ intercept, longest)


def first_state(problem: Bilinear, of: Totals) -> SampleState:
    """Loadings at their prior mean, intercepts at the logit of the sample's mean."""
    easy = (of.right + 0.5) / (of.n + 1)
    n_samples = len(easy)
    loading = np.where(problem.free[:1], problem.loading_mean, problem.fixed)
    return SampleState(np.tile(loading, (n_samples, 1)).astype(np.float64), np.log(easy / (1 - easy)))


class SamplePrior(NamedTuple):
    """N(mean, 1 / precision) of each loading and of the intercept, which comes last."""

    mean: Floats
    precision: Floats

    @classmethod
    def of(cls, problem: Bilinear) -> "SamplePrior":
        dims = len(problem.loading_mean)
        precision = np.append(np.full(dims, problem.loading_precision), problem.intercept_precision)
        return cls(np.append(problem.loading_mean, 0.0), precision)

    def step(self, at: Floats, slope: Floats, pairs: Floats, free: NDArray[np.bool_]) -> Floats:
        """One Newton step of every sample: [samples, dims + 1]; what is not free does not move."""
        width = at.shape[1]
        slope = slope.astype(np.float64) - self.precision * (at - self.mean)
        information = full(pairs, width) + np.diag(self.precision)
        held = np.column_stack([~free, np.zeros(len(free), bool)])
        if held.any():
            slope[held] = 0
            information[held[:, :, None] | held[:, None, :]] = 0
            sample, which = np.nonzero(held)
            information[sample, which, which] = 1
        return shortened(np, np.linalg.solve(information, slope[..., None])[..., 0])


class Threads:
    """Shards of one machine, several threads at work."""

    settled = SETTLED

    def __init__(self, shards: Sequence[AnyShard], threads: int | None = None) -> None:
        self.held = [Held(shard) for shard in shards]
        self.n_learners = shards[0].shape[1]
        self.threads = threads or os.cpu_count() or 1

    def start(self, problem: Bilinear, ability: Floats, states: Sequence[SampleState] | None) -> None:
        ends = np.cumsum([0] + [one.shard.shape[0] for one in self.held])
        each = [None] * len(self.held) if states is None else list(states)
        self._all(lambda k: self.held[k].start(problem, problem.free[ends[k] : ends[k + 1]], each[k]))

    def sweep(self, ability: Floats, move: Move | None) -> tuple[LearnerSums, SampleSums]:
        return added(self._all(lambda k: self.held[k].sweep(ability, move)))

    def states(self) -> tuple[SampleState, ...]:
        return tuple(one.state for one in self.held)

    def close(self) -> None:
        """Nothing is held but memory."""

    def _all(self, task: Callable[[int], T]) -> list[T]:
        return self.over(task, len(self.held), self.threads)

    @staticmethod
    def over(task: Callable[[int], T], n: int, threads: int | None = None) -> list[T]:
        """The task for 0 … n − 1, one thread for each core."""
        with one_blas_thread(), ThreadPoolExecutor(threads or os.cpu_count()) as pool:
            return list(pool.map(task, range(n)))


def added(parts: Sequence[tuple[LearnerSums, SampleSums]]) -> tuple[LearnerSums, SampleSums]:
    """The sums of all shards, in their order."""
    learner = LearnerSums(
        *(sum(each[1:], each[0].copy()) for each in zip(*(part[0] for part in parts), strict=True))
    )
    first, *rest = (part[1] for part in parts)
    for one in rest:
        first = SampleSums(
            first.loading + one.loading, first.square + one.square, first.intercept + one.intercept,
            max(first.step, one.step),
        )  # fmt: skip
    return learner, first


class ShardLayout:
    """Shards as a `Layout`, for what looks at blocks of samples or draws cells; slopes are left to turns."""

    drawn: ClassVar[bool] = True

    def __init__(
        self, shards: Sequence[Shard], part: Part | None = None, keeper: ArrayKeeper | None = None
    ) -> None:
        """part: the cells that are held out, or those that are not; None: all. keeper: of fits to them."""
        self.shards, self.part, self.keeper = tuple(shards), part, keeper
        self.n_learners = shards[0].shape[1]
        self.starts = np.cumsum([0] + [one.shape[0] for one in shards])
        self.n_samples = int(self.starts[-1])
        self.firsts = np.cumsum([0] + [n_places(one) for one in shards])

    @cached_property
    def _totals(self) -> tuple[Totals, Totals]:
        if self.part is None:
            each = [totals(one) for one in self.shards]
            of_samples = (np.concatenate(parts) for parts in zip(*(one[0] for one in each), strict=True))
            of_learners = (np.sum(parts, axis=0) for parts in zip(*(one[1] for one in each), strict=True))
            return Totals(*of_samples), Totals(*of_learners)
        sizes = self.n_samples, self.n_learners
        by_sample, by_learner = (Totals(np.zeros(size), np.zeros(size)) for size in sizes)
        for learner, sample, weight, right in self.pieces():
            for of, group in ((by_sample, sample), (by_learner, learner)):
                of.n[:] += np.bincount(group, weight, len(of.n))
                of.right[:] += np.bincount(group, right, len(of.n))
        return by_sample, by_learner

    @property
    def by_sample(self) -> Totals:
        return self._totals[0]

    @property
    def by_learner(self) -> Totals:
        return self._totals[1]

    @property
    def total_weight(self) -> float:
        return float(self.by_sample.n.sum())

    @property
    def n_cells(self) -> int:
        return int(self.by_sample.n.sum())

    def block(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """(weight, weight × response) of these samples, each [samples, learners]."""
        weight = np.zeros((len(rows), self.n_learners), np.float32)
        right = np.zeros_like(weight)
        number = np.searchsorted(self.starts, rows, side="right") - 1
        for k in np.unique(number):
            here = np.flatnonzero(number == k)
            weight[here], right[here] = self._rows_of(k, rows[here] - self.starts[k])
        return weight, right

    def _rows_of(self, k: int, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """(weight, weight × response) of these samples of a shard."""
        shard = self.shards[k]
        if self.part is None:
            return rows_of(shard, rows)
        weight = np.zeros((len(rows), self.n_learners), np.float32)
        right = np.zeros_like(weight)
        for place, row in enumerate(rows):
            ends = row * self.n_learners, (row + 1) * self.n_learners
            if isinstance(shard, SparseShard):
                ends = shard.starts[row], shard.starts[row + 1]
            cells = listed(shard, np.arange(*ends), self.firsts[k], self.part)
            weight[place, cells.learner], right[place, cells.learner] = 1, cells.response
        return weight, right

    def of_learners(self, learners: slice) -> tuple[Floats, Floats]:
        """(weight, weight × response) of these learners, each [learners, samples]."""
        first, stop, _ = learners.indices(self.n_learners)
        weight = np.zeros((stop - first, self.n_samples), np.float32)
        right = np.zeros_like(weight)
        for k, shard in enumerate(self.shards):
            for places in _places_of(shard, first, stop):
                cells = listed(shard, places, self.firsts[k], self.part)
                at = cells.learner - first, cells.sample + self.starts[k]
                weight[at], right[at] = 1, cells.response
            let_go(shard)
        return weight, right

    def slopes(
        self, ability: Floats, loading: Floats, intercept: Floats, guessing: Floats | None = None
    ) -> Slopes:
        raise TypeError("shards are fitted by turns")

    def cells(self) -> CellArrays:
        raise TypeError("the responses of shards are too many to be listed")

    def pieces(self) -> Iterator[CellArrays]:
        for start in range(0, int(self.firsts[-1]), PLACES):
            learner, sample, response = self._at(np.arange(start, min(start + PLACES, self.firsts[-1])))
            yield learner, sample, np.broadcast_to(np.float32(1), len(response)), response

    def draws(self, rng: np.random.Generator) -> Iterator[Listed]:
        """Every cell once, about a million at a time, those of one time in random order."""
        for places in strips(int(self.firsts[-1]), rng):
            cells = self._at(places)
            yield cells.take(rng.permutation(np.arange(len(cells.response), dtype=np.int32)))

    def _at(self, places: Places) -> Listed:
        """The cells at these ascending places."""
        ends = np.searchsorted(places, self.firsts)
        parts = []
        for k in np.flatnonzero(np.diff(ends)):
            for start in range(ends[k], ends[k + 1], AT_ONCE):
                of_shard = places[start : min(start + AT_ONCE, ends[k + 1])] - self.firsts[k]
                found = listed(self.shards[k], of_shard, int(self.firsts[k]), self.part)
                parts.append(found._replace(sample=found.sample + np.int32(self.starts[k])))
                let_go(self.shards[k])
        return joined(parts)

    def sample_totals(self) -> tuple[Floats, Floats]:
        return self.by_sample.right, self.by_sample.n

    def learner_totals(self) -> tuple[Floats, Floats]:
        return self.by_learner.right, self.by_learner.n

    def parted(self, seed: int) -> "tuple[ShardLayout, ShardLayout]":
        """The cells without a tenth of them, about, and that tenth; neither is empty."""
        keeper = None if self.keeper is None else self.keeper.of("part")
        for more in count():
            inner, outer = (ShardLayout(self.shards, Part(seed, more, held_out=out)) for out in (False, True))
            if 0 < outer.n_cells < self.n_cells:
                break
        inner.keeper = keeper
        return inner, outer


def compact(layout: Layout) -> Layout:
    """Responses in memory as one shard; the layout itself where weights differ, or for a shard too large."""
    n_cells, shape = layout.n_cells, (layout.n_samples, layout.n_learners)
    fractional = False
    for _, _, weight, right in layout.pieces():
        if (weight != 1).any() or shape[0] * shape[1] >= 2**32:
            return layout
        fractional |= not zero_or_one(right).all()
    kind, missing = (np.float32, np.nan) if fractional else (np.uint8, MISSING)
    if n_cells >= DENSE_SHARE * shape[0] * shape[1]:
        codes = np.full(shape, missing, kind)
        for learner, sample, _, right in layout.pieces():
            codes[sample, learner] = right
        return ShardLayout([DenseShard(codes)])
    listed, values = np.empty(n_cells, np.uint32), np.empty(n_cells if fractional else 0, np.float32)
    first = 0
    for learner, _, _, right in layout.pieces():
        rows = slice(first, first + len(learner))
        listed[rows] = 2 * learner if fractional else 2 * learner + right
        if fractional:
            values[rows] = right
        first = rows.stop
    starts = np.append(0, np.cumsum(layout.sample_totals()[1])).astype(np.int64)
    return ShardLayout([SparseShard(starts, listed, shape[1], values if fractional else None)])


def _places_of(shard: Shard, first: int, stop: int) -> Iterator[Places]:
    """Where the responses of these learners are, some at a time, ascending."""
    n_samples, n_learners = shard.shape
    if isinstance(shard, DenseShard):
        step = max(1, PLACES // (stop - first))
        for start in range(0, n_samples, step):
            rows = np.arange(start, min(start + step, n_samples))
            yield (rows[:, None] * n_learners + np.arange(first, stop)).ravel()
        return
    for start in range(0, len(shard.codes), PLACES):
        learner = shard.codes[start : start + PLACES] >> 1
        yield start + np.flatnonzero((learner >= first) & (learner < stop))


def rows_of(shard: Shard, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """(weight, weight × response) of these samples of a shard."""
    if isinstance(shard, DenseShard):
        return _decoded(np.asarray(shard.codes[rows]))
    weight = np.zeros((len(rows), shard.n_learners), np.float32)
    right = np.zeros_like(weight)
    for place, row in enumerate(rows):
        cells = _listed(shard, int(row), int(row) + 1)
        weight[place, cells.learner], right[place, cells.learner] = 1, cells.right
    return weight, right


class Seen(NamedTuple):
    """Sums over responses beside what the fit expects: of samples, then of learners."""

    fit: Floats  # [samples, 3]: Σ w (x − p)², Σ w p(1 − p), Σ w (x − p)² / p(1 − p)
    expected: Floats | None  # [samples], the mean of p over all learners, answered or not
    square: Floats  # [samples], Σ w x²
    of_learner: Floats  # [learners, 4]: Σ w (x − p), Σ w p(1 − p), Σ w (x − p)², Σ w x²
    everywhere: Floats | None  # [learners, 1 + dims]: Σ p and Σ p(1 − p) v over all samples


def seen_of(shard: Shard, ability: Floats, state: SampleState, *, everywhere: bool) -> Seen:
    """One pass over a shard; `everywhere` asks for the sums over cells without a response too."""
    n_samples, n_learners = shard.shape
    u = ability.astype(np.float32)
    out = Seen(
        np.zeros((n_samples, 3)), np.zeros(n_samples) if everywhere else None, np.zeros(n_samples),
        np.zeros((n_learners, 4)), np.zeros((n_learners, 1 + u.shape[1])) if everywhere else None,
    )  # fmt: skip
    for rows, cells in blocks(shard):
        v, c = state.loading[rows].astype(np.float32), state.intercept[rows].astype(np.float32)
        if out.expected is not None and out.everywhere is not None:
            p = 0.5 * (np.tanh(0.5 * (v @ u.T + c[:, None])) + 1)
            out.expected[rows] = p.mean(axis=1)
            out.everywhere[:, 0] += p.sum(axis=0)
            out.everywhere[:, 1:] += (p * (1 - p)).T @ v
        off, bend = cells.errors(u, v, c)
        right = cells.right if isinstance(cells, _DenseCells) else cells.matrix(cells.right)
        squares = off * off
        ratio = cells.ratio(squares, bend)
        out.fit[rows] = np.column_stack([_sum(one, 1) for one in (squares, bend, ratio)])
        out.square[rows] = _sum(right * right, 1)
        out.of_learner[:] += np.column_stack([_sum(one, 0) for one in (off, bend, squares, right * right)])
    return out


def add_seen(out: Seen, rows: NDArray[np.intp], p: Floats, weight: Floats, right: Floats) -> None:
    """Adds some samples whose expected responses are known: each [samples, learners]."""
    off, bend, square = (right - p) * weight, p * (1 - p) * weight, right**2
    squares = off**2
    ratio = squares / np.maximum(p * (1 - p), 1e-12)
    out.fit[rows] = np.column_stack([_sum(one, 1) for one in (squares, bend, ratio)])
    out.square[rows] = _sum(square, 1)
    out.of_learner[:] += np.column_stack([_sum(one, 0) for one in (off, bend, squares, square)])
    if out.expected is not None:
        out.expected[rows] = p.mean(axis=1)


def _sum(matrix: Any, axis: int) -> Floats:
    return np.asarray(matrix.sum(axis=axis), np.float64).ravel()
