"""Passes over shards of responses, and the shards as a layout.

A pass decodes a block of samples, computes p = σ(ability · loading + intercept) in float32, and sums what it
needs in float64. Blocks are small enough for the second-level cache; several threads work on several shards.
"""

import mmap
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

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
    solved,
)
from camilla.fitting.factors import Bilinear
from camilla.fitting.layout import Slopes
from camilla.table.shards import MISSING, DenseShard, Shard, SparseShard

BLOCK_CELLS = 131_072
FEW_COLUMNS = 3  # up to which products of a matrix and each column are sooner done than one of all
FEW_DIMENSIONS = 10  # whose products over listed responses are sooner summed one dimension after the other
LET_GO = 4  # blocks after which the pages that were read go back to the system
T = TypeVar("T")


class LayoutShard(NamedTuple):
    """Some samples of a dense layout, weights and all."""

    weight: Floats  # [samples, learners]
    right: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.weight.shape[0], self.weight.shape[1]


_ROOMS = threading.local()


def _room(use: str, shape: tuple[int, ...]) -> Floats:
    """Two matrices to work in, the same at each use: fresh memory costs more than what is done in it."""
    size = 2 * shape[0] * shape[1]
    if getattr(_ROOMS, use, np.empty(0)).size < size:
        setattr(_ROOMS, use, np.empty(size, np.float32))
    return np.asarray(getattr(_ROOMS, use)[:size].reshape(2, *shape))


class Errors(NamedTuple):
    """Of a block, 0 where a response is missing; [samples, learners], dense or sparse."""

    off: Any  # x − p
    bend: Any  # 2 p(1 − p)


class _DenseCells(NamedTuple):
    weight: Floats
    right: Floats

    def halved(self) -> "_HalvedCells":
        """In the memory of these cells, which are no more."""
        half = np.multiply(self.weight, np.float32(0.5), out=self.weight)
        return _HalvedCells(half, np.subtract(self.right, half, out=self.right))

    def ratio(self, over: Floats, under: Floats) -> Floats:
        """One matrix over another."""
        return over / np.maximum(under, 1e-12)


class _HalvedCells(NamedTuple):
    """Cells as σ(2z) = ½ + ½ tanh z likes them, so that few passes over them are left."""

    half: Floats  # w / 2
    centred: Floats  # w x − w / 2

    def errors(self, design: Floats, factor: Floats) -> Errors:
        """In memory that the next errors take over."""
        p, off = _room("errors", self.half.shape)
        np.matmul(np.float32(0.5) * factor, design.T, out=p)
        np.tanh(p, out=p)
        np.multiply(self.half, p, out=off)
        p *= off
        np.subtract(self.half, p, out=p)
        return Errors(np.subtract(self.centred, off, out=off), p)

    def ratio(self, over: Floats, under: Floats) -> Floats:
        """One matrix over another."""
        return over / np.maximum(under, 1e-12)


class _SparseCells(NamedTuple):
    starts: NDArray[np.int64]
    learner: NDArray[np.integer]
    sample: NDArray[np.integer]
    right: Floats
    n_learners: int

    def halved(self) -> "_SparseCells":
        return self

    def errors(self, design: Floats, factor: Floats) -> Errors:
        """Few dimensions are summed one by one, which costs a tenth of a sum over rows of them."""
        (*abilities, _), (*loadings, intercept) = (np.ascontiguousarray(part.T) for part in (design, factor))
        logit = intercept[self.sample]
        if len(loadings) > FEW_DIMENSIONS:
            logit += np.einsum("ck,ck->c", design[:, :-1][self.learner], factor[:, :-1][self.sample])
            return self._at(logit)
        for ability, loading in zip(abilities, loadings, strict=True):
            logit += ability[self.learner] * loading[self.sample]
        return self._at(logit)

    def _at(self, logit: Floats) -> Errors:
        p = 0.5 * (np.tanh(0.5 * logit) + 1)
        return Errors(self.matrix(self.right - p), self.matrix(2 * p * (1 - p)))

    def matrix(self, values: Floats) -> Any:
        """A number for each response."""
        shape = (len(self.starts) - 1, self.n_learners)
        return sparse.csr_array((values, self.learner, self.starts), shape=shape)

    def ratio(self, over: Any, under: Any) -> Any:
        """One matrix over another, both of these responses."""
        return self.matrix(over.data / np.maximum(under.data, 1e-12))


AnyShard = Shard | LayoutShard


def blocks(shard: AnyShard) -> Iterator[tuple[slice, _DenseCells | _SparseCells]]:
    """Stretches of samples of a shard, decoded, each in the memory of the one before."""
    n_samples, n_learners = shard.shape
    if not isinstance(shard, SparseShard):
        step = max(1, BLOCK_CELLS // max(n_learners, 1))
        for start in range(0, n_samples, step):
            rows = slice(start, min(start + step, n_samples))
            if isinstance(shard, DenseShard):
                codes = np.asarray(shard.codes[rows])
                yield rows, _decoded(codes, _room("cells", codes.shape))
            else:
                yield rows, _DenseCells(*(part[rows].astype(np.float32) for part in shard))
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


def _decoded(codes: NDArray[Any], out: Floats) -> _DenseCells:
    """out: [2, *codes.shape], float32, which the cells take."""
    weight, right = out
    if codes.dtype == np.uint8:
        np.not_equal(codes, MISSING, out=weight)
        np.equal(codes, 1, out=right)
    else:
        np.equal(codes, codes, out=weight)
        right[:] = codes
        right[np.isnan(codes)] = 0
    return _DenseCells(weight, right)


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
    everyone = np.ones(n_learners, np.float32)
    of_learner = Totals(np.zeros(n_learners), np.zeros(n_learners))
    for rows, cells in blocks(shard):
        if isinstance(cells, _DenseCells):
            count[rows], right[rows] = cells.weight @ everyone, cells.right @ everyone
            each = np.ones(rows.stop - rows.start, np.float32)
            of_learner.n[:] += each @ cells.weight
            of_learner.right[:] += each @ cells.right
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
        factor = np.column_stack(moved_samples(self.state, move))
        prior = SamplePrior.of(self.problem)
        n, dims = ability.shape
        design = np.column_stack([ability, np.ones(n)]).astype(np.float32)
        pairs = np.float32(0.5) * pairs_of(np, design)  # halves, because errors bend twice as much
        sums = LearnerSums(np.zeros((n, dims)), np.zeros((n, dims * (dims + 1) // 2)))
        longest = 0.0
        for rows, decoded in blocks(self.shard):
            cells = decoded.halved()
            off, bend = cells.errors(design, factor[rows].astype(np.float32))
            step = prior.step(factor[rows], product(off, design), product(bend, pairs), self.free[rows])
            longest = max(longest, float(np.abs(step).max(initial=0)))
            factor[rows] += step
            now = factor[rows].astype(np.float32)
            off, bend = cells.errors(design, now)
            loading = now[:, :-1]
            sums.slope[:] += product(off.T, loading)
            sums.information[:] += product(bend.T, np.float32(0.5) * pairs_of(np, loading))
        self.state = SampleState(factor[:, :-1], factor[:, -1])
        square = factor.T @ factor
        return sums, SampleSums(self.state.loading.sum(axis=0), square[:-1, :-1], square[:-1, -1], longest)


def product(matrix: Any, columns: Floats) -> Floats:
    """matrix @ columns; of few columns one by one, which OpenBLAS does several times sooner."""
    if columns.shape[1] > FEW_COLUMNS or not isinstance(matrix, np.ndarray):
        return np.asarray(matrix @ columns)
    out = np.empty((columns.shape[1], len(matrix)), np.float32)
    for row, column in zip(out, np.ascontiguousarray(columns.T), strict=True):
        np.dot(matrix, column, out=row)
    return out.T


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
        slope = slope.T - self.precision[:, None] * (at - self.mean).T
        information = full(pairs, at.shape[1])
        each = np.arange(at.shape[1])
        information[each, each] += self.precision[:, None]
        if not free.all():
            held = np.column_stack([~free, np.zeros(len(free), bool)]).T
            slope[held] = 0
            information[held[:, None] | held[None]] = 0
            which, sample = np.nonzero(held)
            information[which, which, sample] = 1
        return shortened(np, solved(information, slope).T)


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
        threads = min(threads or os.cpu_count() or 1, n)
        with one_blas_thread():
            if threads == 1:
                return [task(k) for k in range(n)]
            with ThreadPoolExecutor(threads) as pool:
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
    """Shards as a `Layout`, for what looks at blocks of samples; slopes are left to turns."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = tuple(shards)
        self.n_learners = shards[0].shape[1]
        self.starts = np.cumsum([0] + [one.shape[0] for one in shards])
        self.n_samples = int(self.starts[-1])
        each = [totals(one) for one in shards]
        self.by_sample = Totals(
            *(np.concatenate(parts) for parts in zip(*(one[0] for one in each), strict=True))
        )
        self.by_learner = Totals(
            *(np.sum(parts, axis=0) for parts in zip(*(one[1] for one in each), strict=True))
        )
        self.total_weight = float(self.by_sample.n.sum())

    def block(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """(weight, weight × response) of these samples, each [samples, learners]."""
        weight = np.zeros((len(rows), self.n_learners), np.float32)
        right = np.zeros_like(weight)
        number = np.searchsorted(self.starts, rows, side="right") - 1
        for k in np.unique(number):
            here = np.flatnonzero(number == k)
            weight[here], right[here] = rows_of(self.shards[k], rows[here] - self.starts[k])
        return weight, right

    def slopes(
        self, ability: Floats, loading: Floats, intercept: Floats, guessing: Floats | None = None
    ) -> Slopes:
        raise TypeError("shards are fitted by turns")

    def cells(self) -> tuple[NDArray[np.integer], NDArray[np.integer], Floats, Floats]:
        raise TypeError("the responses of shards are too many to be listed")

    def sample_totals(self) -> tuple[Floats, Floats]:
        return self.by_sample.right, self.by_sample.n


def rows_of(shard: Shard, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """(weight, weight × response) of these samples of a shard."""
    if isinstance(shard, DenseShard):
        codes = np.asarray(shard.codes[rows])
        return _decoded(codes, np.empty((2, *codes.shape), np.float32))
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
    design = np.column_stack([ability, np.ones(n_learners)]).astype(np.float32)
    factor = np.column_stack(state).astype(np.float32)
    out = Seen(
        np.zeros((n_samples, 3)), np.zeros(n_samples) if everywhere else None, np.zeros(n_samples),
        np.zeros((n_learners, 4)), np.zeros((n_learners, design.shape[1])) if everywhere else None,
    )  # fmt: skip
    for rows, cells in blocks(shard):
        if out.expected is not None and out.everywhere is not None:
            p = 0.5 * (np.tanh((0.5 * factor[rows]) @ design.T) + 1)
            out.expected[rows] = p.mean(axis=1)
            out.everywhere[:, 0] += p.sum(axis=0)
            out.everywhere[:, 1:] += product((p * (1 - p)).T, factor[rows, :-1])
        right = cells.right if isinstance(cells, _DenseCells) else cells.matrix(cells.right)
        right = right * right
        off, bend = cells.halved().errors(design, factor[rows])
        bend, squares = 0.5 * bend, off * off
        ratio = cells.ratio(squares, bend)
        out.fit[rows] = np.column_stack([_sum(one, 1) for one in (squares, bend, ratio)])
        out.square[rows] = _sum(right, 1)
        out.of_learner[:] += np.column_stack([_sum(one, 0) for one in (off, bend, squares, right)])
    return out


def _sum(matrix: Any, axis: int) -> Floats:
    return np.asarray(matrix.sum(axis=axis), np.float64).ravel()
