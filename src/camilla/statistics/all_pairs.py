"""Every learner against every other on the samples both answered: matrix products, block by block."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.statistics.clusters import ClusterPart, MeanSpread, clustered_spread, plain_spread
from camilla.statistics.intervals import Ends, tango
from camilla.statistics.paired import difference_ends, mcnemar_p, mcnemar_table, student_p

BLOCK = 1 << 20  # pairs held at once
ROUNDING = 1e-12  # share of Σa² + Σb² up to which what is left of Σ(a − b)² is rounding


class PairTests(NamedTuple):
    """Row less column for all pairs of learners."""

    p_value: Floats  # two-sided; 1 where nothing can be told, and on the diagonal
    is_below: NDArray[np.bool_]  # where the difference is below 0
    total: NDArray[np.floating]  # [learners, blocks of samples], Σ response, less what is the same for all
    seen: NDArray[np.floating]  # [learners, blocks], 1 where answered
    size: NDArray[np.floating]  # [blocks], samples

    @property
    def difference(self) -> Floats:
        """Of means over shared samples [learners, learners]; NaN where there are none. Not kept: large."""
        total, seen = self.total.astype(np.float64), self.seen.astype(np.float64)
        own = total @ seen.T
        with np.errstate(invalid="ignore"):
            return (own - own.T) / self.shared()

    def shared(self) -> NDArray[np.floating]:
        """Samples both answered [learners, learners]."""
        return self.seen * self.size @ self.seen.T


class Tested(NamedTuple):
    """A block of pairs."""

    difference: Floats
    p_value: Floats


class Side(NamedTuple):
    """Responses with samples that the same learners answered taken together.

    For a table without gaps that is one block of samples, for one with whole tasks missing a few.
    """

    response: NDArray[np.floating]  # [learners, samples], 0 where missing
    total: NDArray[np.floating]  # [learners, blocks], Σ response
    square: NDArray[np.floating]  # [learners, blocks], Σ response²
    seen: NDArray[np.floating]  # [learners, blocks], 1 or 0
    size: NDArray[np.floating]  # [blocks], samples

    def rows(self, part: slice) -> "Side":
        return Side(self.response[part], self.total[part], self.square[part], self.seen[part], self.size)


class Testing(NamedTuple):
    """Responses made ready, and the test of a block of pairs: rows against columns."""

    side: Side
    test: Callable[[slice, slice], Tested]


def side_of(response: NDArray[np.floating], seen: NDArray[np.bool_]) -> Side:
    """Blocks are found by equal columns of `seen`."""
    packed = np.ascontiguousarray(np.packbits(seen, axis=0).T)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, block = np.unique(keys, return_index=True, return_inverse=True)
    member = np.zeros((seen.shape[1], len(first)), response.dtype)
    member[np.arange(len(block)), block] = 1
    return Side(
        response,
        response @ member,
        response**2 @ member,
        seen[:, first].astype(response.dtype),
        member.sum(axis=0),
    )


def pair_tests(
    matrix: Floats, group: NDArray[np.integer] | None, watch: Watch = lambda line: None
) -> PairTests:
    """`paired.paired_test` of all pairs of rows of a matrix [learners, samples], NaN where missing."""
    seen = ~np.isnan(matrix)
    n_learners = len(matrix)
    side, test = _of_samples(matrix, seen) if group is None else _of_clusters(matrix, seen, group)
    p_value, is_below = np.ones((n_learners, n_learners)), np.zeros((n_learners, n_learners), bool)
    step = max(1, BLOCK // n_learners)
    for start in range(0, n_learners, step):
        watch(f"pairs of learner {start + 1} of {n_learners}")
        rows, columns = slice(start, start + step), slice(start, n_learners)
        block = test(rows, columns)
        is_below[rows, columns], is_below[columns, rows] = block.difference < 0, block.difference.T > 0
        p_value[rows, columns], p_value[columns, rows] = block.p_value, block.p_value.T
    np.fill_diagonal(p_value, 1)
    return PairTests(p_value, is_below, side.total, side.seen, side.size)


def _of_samples(matrix: Floats, seen: NDArray[np.bool_]) -> Testing:
    """Where no response is a fraction, all pairs are exact and scores are not gone into."""
    filled = np.where(seen, matrix, 0)
    n_learners, n_samples = matrix.shape
    fraction = (filled != 0) & (filled != 1)
    right = side_of(np.where(fraction, 0, filled).astype(np.float32), seen)
    lookup = mcnemar_table(n_samples) if n_samples**2 < n_learners**2 else None
    if not fraction.any():
        return Testing(
            right, lambda rows, columns: _right_or_wrong(right.rows(rows), right.rows(columns), lookup)
        )
    score = _centred(matrix, seen)
    between = side_of(fraction.astype(np.float32), seen)

    def test(rows: slice, columns: slice) -> Tested:
        one, other = between.rows(rows), between.rows(columns)
        exact = one.total @ other.seen.T + one.seen @ other.total.T == 0
        scores = _judged(_plain(score.rows(rows), score.rows(columns)))
        if not exact.any():
            return scores
        binary = _right_or_wrong(right.rows(rows), right.rows(columns), lookup)
        return Tested(*(np.where(exact, here, there) for here, there in zip(binary, scores, strict=True)))

    return Testing(score, test)


def _of_clusters(matrix: Floats, seen: NDArray[np.bool_], group: NDArray[np.integer]) -> Testing:
    side = _centred(matrix, seen)

    def test(rows: slice, columns: slice) -> Tested:
        return _judged(clustered_spread(_parts(side.response, seen, group, rows, columns)))

    return Testing(side, test)


def _centred(matrix: Floats, seen: NDArray[np.bool_]) -> Side:
    """Less the mean of each sample, for the digits that squares lose."""
    easy = np.where(seen, matrix, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return side_of(np.where(seen, matrix - easy, 0), seen)


def _right_or_wrong(one: Side, other: Side, lookup: Floats | None) -> Tested:
    both = one.response @ other.response.T
    won = one.total @ other.seen.T - both
    lost = one.seen @ other.total.T - both
    shared = one.seen * one.size @ other.seen.T
    if lookup is None:
        p = mcnemar_p(lost, won)
    else:
        p = lookup[np.minimum(lost, won).astype(np.int32), (lost + won).astype(np.int32)]
    with np.errstate(invalid="ignore"):
        return Tested((won - lost).astype(np.float64) / shared, p)


def pair_ends(matrix: Floats, level: float) -> Ends:
    """The intervals of `paired.estimate` of all pairs of rows, row less column, without clusters."""
    seen = ~np.isnan(matrix)
    filled = np.where(seen, matrix, 0.0)
    score = _centred(matrix, seen)
    ends = difference_ends(_plain(score, score), level)
    fraction = side_of(((filled != 0) & (filled != 1)).astype(np.float64), seen)
    scored = fraction.total @ fraction.seen.T + fraction.seen @ fraction.total.T > 0
    won = filled @ (seen - filled).T
    shared = seen.astype(np.float64) @ seen.T
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = tango(np.where(scored, 0, won), np.where(scored, 0, won.T), shared, level)
    return Ends(*(np.clip(np.where(scored, a, b), -1, 1) for a, b in zip(ends, exact, strict=True)))


def _judged(spread: MeanSpread) -> Tested:
    return Tested(spread.mean, student_p(spread))


def _plain(one: Side, other: Side) -> MeanSpread:
    """Over samples. A difference that is the same everywhere leaves rounding of Σa² + Σb² − 2Σab: it is 0."""
    total = one.total @ other.seen.T - one.seen @ other.total.T
    shared = one.seen * one.size @ other.seen.T
    scale = one.square @ other.seen.T + one.seen @ other.square.T
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / shared
        square = scale - 2 * (one.response @ other.response.T) - shared * mean**2
    return plain_spread(mean, np.where(square > ROUNDING * scale, square, 0.0), shared)


def _parts(
    response: NDArray[np.floating],
    seen: NDArray[np.bool_],
    group: NDArray[np.integer],
    rows: slice,
    columns: slice,
) -> Callable[[], Iterator[ClusterPart]]:
    """The clusters of all pairs of a block."""
    inside = [np.flatnonzero(group == k) for k in np.unique(group)]

    def each() -> Iterator[ClusterPart]:
        for samples in inside:
            one, other = response[rows][:, samples], response[columns][:, samples]
            answered, too = (seen[part][:, samples].astype(np.float64) for part in (rows, columns))
            yield ClusterPart(one @ too.T - answered @ other.T, answered @ too.T)

    return each
