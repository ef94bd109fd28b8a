"""Shards as a layout: blocks, pieces in order, cells drawn at random, a part held out."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
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
from camilla.fitting.layout import CellArrays, Layout, Slopes
from camilla.fitting.shards import Totals, let_go, rows_of, totals
from camilla.table.cells import zero_or_one
from camilla.table.shards import DENSE_SHARE, MISSING, DenseShard, Shard, SparseShard

AT_ONCE = 65_536  # places whose temporaries stay in the second-level cache


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
        lists = []
        for k in np.flatnonzero(np.diff(ends)):
            for start in range(ends[k], ends[k + 1], AT_ONCE):
                of_shard = places[start : min(start + AT_ONCE, ends[k + 1])] - self.firsts[k]
                cells = listed(self.shards[k], of_shard, int(self.firsts[k]), self.part)
                lists.append(cells._replace(sample=cells.sample + np.int32(self.starts[k])))
                let_go(self.shards[k])
        return joined(lists)

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
