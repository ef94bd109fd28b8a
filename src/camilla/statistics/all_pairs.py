"""Every learner against every other on the samples both answered: matrix products, block by block."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, sigmoid
from camilla.statistics.clusters import ClusterPart, MeanSpread, clustered_spread, plain_spread
from camilla.statistics.intervals import Ends, tango
from camilla.statistics.paired import difference_ends, mcnemar_p, mcnemar_table, student_p

BLOCK = 1 << 20  # pairs held at once
FEWEST_ALIKE = 20  # shared samples on which other learners differ, that copies need
FEWEST_OTHERS = 5  # learners whose agreement on a sample says that everybody answers it so
LEFT_OVER = 0.02  # share of the expected differences that copies may still have
MOST_SCREENED = 500  # samples on which pairs are looked for; those found are then compared on all
CHANCE = 0.05  # that any pair of a table is called alike by chance, at most
EXACT_COUNTS = 1 << 24  # below, single precision counts without rounding
ROUNDING = 1e-12  # share of Σa² + Σb² up to which what is left of Σ(a − b)² is rounding


class BlockSums(NamedTuple):
    """Sums over blocks of samples, of which those over all pairs follow: they are large and not kept."""

    total: NDArray[np.floating]  # [learners, blocks of samples], Σ response, less what is the same for all
    seen: NDArray[np.floating]  # [learners, blocks], 1 where answered
    size: NDArray[np.floating]  # [blocks], samples

    def own(self) -> NDArray[np.floating]:
        """Σ response of the row over the samples that the column answered too [learners, learners]."""
        return self.total.astype(np.float64) @ self.seen.astype(np.float64).T

    def shared(self) -> NDArray[np.floating]:
        """Samples both answered [learners, learners]."""
        return self.seen * self.size @ self.seen.T


class KeptSums(NamedTuple):
    """The same sums over all pairs, kept because the responses are not."""

    of_row: NDArray[np.floating]  # [learners, learners]
    both: NDArray[np.floating]

    def own(self) -> NDArray[np.floating]:
        """Σ response of the row over the samples that the column answered too."""
        return self.of_row

    def shared(self) -> NDArray[np.floating]:
        """Samples both answered."""
        return self.both


class PairTests(NamedTuple):
    """Row less column for all pairs of learners."""

    p_value: Floats  # two-sided; 1 where nothing can be told, and on the diagonal
    is_below: NDArray[np.bool_]  # where the difference is below 0
    sums: BlockSums | KeptSums

    @property
    def difference(self) -> Floats:
        """Of means over shared samples [learners, learners]; NaN where there are none. Not kept: large."""
        own = self.sums.own()
        with np.errstate(invalid="ignore"):
            return np.asarray((own - own.T).astype(np.float64) / self.shared())

    def shared(self) -> NDArray[np.floating]:
        """Samples both answered [learners, learners]."""
        return self.sums.shared()


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


class Products(NamedTuple):
    """Sums over shared samples for a block of pairs, rows against columns."""

    both: NDArray[np.floating]  # Σ xy
    of_row: NDArray[np.floating]  # Σ x
    of_column: NDArray[np.floating]  # Σ y
    shared: NDArray[np.floating]  # samples
    squares: NDArray[np.floating]  # Σ x² + y², where scores are tested; else empty


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
    return _tested(test, n_learners, BlockSums(side.total, side.seen, side.size), watch)


def _tested(
    test: Callable[[slice, slice], Tested], n_learners: int, sums: BlockSums | KeptSums, watch: Watch
) -> PairTests:
    """All pairs, block by block."""
    p_value, is_below = np.ones((n_learners, n_learners)), np.zeros((n_learners, n_learners), bool)
    for rows, columns in _pair_blocks(n_learners):
        watch(f"pairs of learner {rows.start + 1} of {n_learners}")
        block = test(rows, columns)
        is_below[rows, columns], is_below[columns, rows] = block.difference < 0, block.difference.T > 0
        p_value[rows, columns], p_value[columns, rows] = block.p_value, block.p_value.T
    np.fill_diagonal(p_value, 1)
    return PairTests(p_value, is_below, sums)


def _pair_blocks(n_learners: int) -> Iterator[tuple[slice, slice]]:
    """Some rows at a time, with the columns from the first of them on."""
    step = max(1, BLOCK // n_learners)
    for start in range(0, n_learners, step):
        yield slice(start, min(start + step, n_learners)), slice(start, n_learners)


class PairTotals:
    """Products of all pairs, added up over stretches of samples, for tests of tables larger than memory.

    What is held grows with the square of the learners, not with the samples.
    """

    def __init__(self, n_learners: int, n_samples: int, *, fractional: bool) -> None:
        self.n_learners, self.n_samples, self.fractional = n_learners, n_samples, fractional
        square = (n_learners, n_learners)
        counts = np.float32 if n_samples < EXACT_COUNTS else np.float64
        self.both, self.own, self.shared = (np.zeros(square, counts) for _ in range(3))
        if fractional:
            self.fractions = np.zeros(square, counts)
            self.score_both, self.score_own, self.score_squares = (np.zeros(square) for _ in range(3))

    def add(self, response: NDArray[np.floating], seen: NDArray[np.bool_]) -> None:
        """Responses [learners, samples], 0 where missing, and which there are."""
        if not self.fractional:
            self._add_to(self.both, self.own, self.shared, side_of(response.astype(np.float32), seen))
            return
        fraction = (response != 0) & (response != 1)
        right = side_of(np.where(fraction, 0, response).astype(np.float32), seen)
        self._add_to(self.both, self.own, self.shared, right)
        self._add_to(None, self.fractions, None, side_of(fraction.astype(np.float32), seen))
        score = _centred(np.where(seen, response.astype(np.float64), np.nan), seen)
        self._add_to(self.score_both, self.score_own, None, score)
        squares = score._replace(total=score.square)
        self._add_to(None, self.score_squares, None, squares)

    def _add_to(
        self,
        both: NDArray[np.floating] | None,
        own: NDArray[np.floating],
        shared: NDArray[np.floating] | None,
        side: Side,
    ) -> None:
        for rows, columns in _pair_blocks(self.n_learners):
            one, other = side.rows(rows), side.rows(columns)
            if both is not None:
                both[rows, columns] += one.response @ other.response.T
            if shared is not None:
                shared[rows, columns] += one.seen * one.size @ other.seen.T
            own[rows, columns] += one.total @ other.seen.T
            later = slice(rows.stop, self.n_learners)
            own[later, rows] += side.rows(later).total @ one.seen.T

    def tests(self, watch: Watch = lambda line: None) -> PairTests:
        """`pair_tests` of the responses that were added."""
        lookup = mcnemar_table(self.n_samples) if self.n_samples**2 < self.n_learners**2 else None

        def exact(rows: slice, columns: slice) -> Tested:
            return _right_or_wrong(self._products(rows, columns), lookup)

        def test(rows: slice, columns: slice) -> Tested:
            plain = self.fractions[rows, columns] + self.fractions[columns, rows].T == 0
            scores = _judged(_plain(self._scores(rows, columns)))
            return _either(plain, lambda: exact(rows, columns), scores)

        lower = np.tril_indices(self.n_learners, -1)
        self.shared[lower] = self.shared.T[lower]
        sums = KeptSums(self.score_own if self.fractional else self.own, self.shared)
        return _tested(test if self.fractional else exact, self.n_learners, sums, watch)

    def _products(self, rows: slice, columns: slice) -> Products:
        own, other = self.own[rows, columns], self.own[columns, rows].T
        return Products(self.both[rows, columns], own, other, self.shared[rows, columns], np.empty(0))

    def _scores(self, rows: slice, columns: slice) -> Products:
        own, other = self.score_own[rows, columns], self.score_own[columns, rows].T
        squares = self.score_squares[rows, columns] + self.score_squares[columns, rows].T
        shared = self.shared[rows, columns].astype(np.float64)
        return Products(self.score_both[rows, columns], own, other, shared, squares)


def products(one: Side, other: Side, *, squares: bool = False) -> Products:
    """The sums of a block of pairs."""
    return Products(
        one.response @ other.response.T,
        one.total @ other.seen.T,
        one.seen @ other.total.T,
        one.seen * one.size @ other.seen.T,
        one.square @ other.seen.T + one.seen @ other.square.T if squares else np.empty(0),
    )


def _of_samples(matrix: Floats, seen: NDArray[np.bool_]) -> Testing:
    """Where no response is a fraction, all pairs are exact and scores are not gone into."""
    filled = np.where(seen, matrix, 0)
    n_learners, n_samples = matrix.shape
    fraction = (filled != 0) & (filled != 1)
    right = side_of(np.where(fraction, 0, filled).astype(np.float32), seen)
    lookup = mcnemar_table(n_samples) if n_samples**2 < n_learners**2 else None
    if not fraction.any():
        return Testing(
            right,
            lambda rows, columns: _right_or_wrong(products(right.rows(rows), right.rows(columns)), lookup),
        )
    score = _centred(matrix, seen)
    between = side_of(fraction.astype(np.float32), seen)

    def test(rows: slice, columns: slice) -> Tested:
        one, other = between.rows(rows), between.rows(columns)
        exact = one.total @ other.seen.T + one.seen @ other.total.T == 0
        scores = _judged(_plain(products(score.rows(rows), score.rows(columns), squares=True)))

        def binary() -> Tested:
            return _right_or_wrong(products(right.rows(rows), right.rows(columns)), lookup)

        return _either(exact, binary, scores)

    return Testing(score, test)


def _either(exact: NDArray[np.bool_], binary: Callable[[], Tested], scores: Tested) -> Tested:
    """The exact test where all shared responses of a pair are right or wrong, Student's t elsewhere."""
    if not exact.any():
        return scores
    return Tested(*(np.where(exact, here, there) for here, there in zip(binary(), scores, strict=True)))


def _of_clusters(matrix: Floats, seen: NDArray[np.bool_], group: NDArray[np.integer]) -> Testing:
    side = _centred(matrix, seen)

    def test(rows: slice, columns: slice) -> Tested:
        return _judged(clustered_spread(_parts(side.response, seen, group, rows, columns)))

    return Testing(side, test)


def _centred(matrix: Floats, seen: NDArray[np.bool_]) -> Side:
    """Less the mean of each sample, for the digits that squares lose."""
    easy = np.where(seen, matrix, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return side_of(np.where(seen, matrix - easy, 0), seen)


def _right_or_wrong(sums: Products, lookup: Floats | None) -> Tested:
    won, lost = sums.of_row - sums.both, sums.of_column - sums.both
    if lookup is None:
        p = mcnemar_p(lost, won)
    else:
        p = lookup[np.minimum(lost, won).astype(np.int32), (lost + won).astype(np.int32)]
    with np.errstate(invalid="ignore"):
        return Tested((won - lost).astype(np.float64) / sums.shared, p)


def pair_ends(matrix: Floats, level: float) -> Ends:
    """The intervals of `paired.estimate` of all pairs of rows, row less column, without clusters."""
    seen = ~np.isnan(matrix)
    filled = np.where(seen, matrix, 0.0)
    score = _centred(matrix, seen)
    ends = difference_ends(_plain(products(score, score, squares=True)), level)
    fraction = side_of(((filled != 0) & (filled != 1)).astype(np.float64), seen)
    scored = fraction.total @ fraction.seen.T + fraction.seen @ fraction.total.T > 0
    won = filled @ (seen - filled).T
    shared = seen.astype(np.float64) @ seen.T
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = tango(np.where(scored, 0, won), np.where(scored, 0, won.T), shared, level)
    return Ends(*(np.clip(np.where(scored, a, b), -1, 1) for a, b in zip(ends, exact, strict=True)))


def _judged(spread: MeanSpread) -> Tested:
    return Tested(spread.mean, student_p(spread))


def _plain(sums: Products) -> MeanSpread:
    """Over samples. A difference that is the same everywhere leaves rounding of Σa² + Σb² − 2Σab: it is 0."""
    scale = sums.squares
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (sums.of_row - sums.of_column) / sums.shared
        square = scale - 2 * sums.both - sums.shared * mean**2
    return plain_spread(mean, np.where(square > ROUNDING * scale, square, 0.0), sums.shared)


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


class Alike(NamedTuple):
    """Learners that answer as one: more alike than learners of their levels would by chance."""

    learners: NDArray[np.int64]
    shared: int  # samples that all of them answered
    same: int  # of these, samples on which all have the same response


def copies(matrix: Floats) -> list[Alike]:
    """Sets of rows of a matrix [learners, samples], NaN where missing, that answer alike.

    Two rows are alike if they differ on at most LEFT_OVER of the samples on which independent learners of
    their levels would, and so rarely that chance, Bonferroni over all pairs, does not explain it. How hard a
    sample is comes from the other learners; samples on which all others agree tell nothing. Scores are alike
    where they are equal; for chance they count as above or below the sample's mean.
    """
    seen = ~np.isnan(matrix)
    n_seen = seen.sum(axis=0)
    filled = np.where(seen, matrix, 0)
    right = seen & (filled >= np.maximum(filled.sum(axis=0) / np.maximum(n_seen, 1), 1e-9))
    answers = _Answers(filled, seen, right, n_seen, right.sum(axis=0))
    limit = np.log(CHANCE / max(len(matrix) * (len(matrix) - 1) / 2, 1))
    if matrix.shape[1] * np.log(2) < -limit:  # even coins that agree on all samples would be no surprise
        return []
    pairs = [pair for pair in _nearly_equal(answers) if _chance(answers, *pair) < limit]
    return [_alike(answers, rows) for rows in _chained(pairs)]


class _Answers(NamedTuple):
    response: Floats  # [learners, samples], 0 where missing
    seen: NDArray[np.bool_]
    right: NDArray[np.bool_]  # not below the sample's mean
    n_seen: NDArray[np.integer]  # [samples]
    n_right: NDArray[np.integer]


def _nearly_equal(answers: _Answers) -> Iterator[tuple[int, int]]:
    """Pairs that differ rarely enough for their levels, whatever the samples: few, unless they are copies.

    Where there are many samples only some are looked at, with twice the share of differences allowed.
    """
    n = len(answers.seen)
    few = n < FEWEST_OTHERS + 2  # whose agreement does not say that a sample tells nothing
    varies = np.flatnonzero(((answers.n_right > 0) & (answers.n_right < answers.n_seen)) | few)
    thin = max(1, -(-len(varies) // MOST_SCREENED))
    looked_at = varies[::thin]
    there, up, exact = (
        part[:, looked_at].astype(np.float32) for part in (answers.seen, answers.right, answers.response)
    )
    square = exact**2
    step = max(1, BLOCK // n)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        shared = there[rows] @ there.T
        one, other = up[rows] @ there.T, there[rows] @ up.T
        expected = (one * (shared - other) + other * (shared - one)) / np.maximum(shared, 1)
        apart = square[rows] @ there.T + there[rows] @ square.T - 2 * exact[rows] @ exact.T
        close = (shared >= FEWEST_ALIKE / thin) & (apart <= 2 * LEFT_OVER * expected + 1e-3)
        for a, b in zip(*np.nonzero(close), strict=True):
            if start + a < b:
                yield int(start + a), int(b)


def _chance(answers: _Answers, a: int, b: int) -> float:
    """log of a bound on P(two independent learners of these levels differ as rarely); 0 where not alike.

    P(right) has the log-odds of the sample among the other learners plus those of the learner's level. With
    q the chance to differ on a sample, P(no difference) is Π(1 − q), and P(at most d of Σq expected)
    ≤ exp(d − Σq − d log(d/Σq)) (Chernoff 1952).
    """
    pair = [a, b]
    both = answers.seen[pair].all(axis=0)
    n_others = answers.n_seen - answers.seen[pair].sum(axis=0)
    n_right = answers.n_right - answers.right[pair].sum(axis=0)
    unanimous = (n_others >= FEWEST_OTHERS) & ((n_right == 0) | (n_right == n_others))
    used = np.flatnonzero(both & ~unanimous)
    if len(used) < FEWEST_ALIKE:
        return 0.0
    level = answers.right[pair][:, used].mean(axis=1)
    easy = (n_right[used] + level.mean()) / (n_others[used] + 1)
    edge = 0.5 / len(used)
    shares = (np.clip(part, edge, 1 - edge) for part in (easy, level, easy.mean()))
    sample, learner, centre = (np.log(share / (1 - share)) for share in shares)
    p, q = sigmoid(sample + learner[:, None] - centre)
    differ = p * (1 - q) + q * (1 - p)
    apart = int(np.sum(answers.response[a, both] != answers.response[b, both]))
    expected = float(differ.sum())
    if apart == 0:
        return float(np.log1p(-differ).sum())
    return 0.0 if apart > LEFT_OVER * expected else apart - expected - apart * np.log(apart / expected)


def _chained(pairs: list[tuple[int, int]]) -> list[NDArray[np.int64]]:
    """Pairs with a common member taken together, each set in the order of the rows."""
    first: dict[int, int] = {}
    for a, b in sorted(pairs):
        first[b] = first.setdefault(a, first.get(b, a))
    members = np.array(sorted(first), np.int64)
    of = np.array([first[i] for i in members], np.int64)
    return [members[of == k] for k in dict.fromkeys(of.tolist())]


def _alike(answers: _Answers, rows: NDArray[np.int64]) -> Alike:
    shared = answers.seen[rows].all(axis=0)
    responses = answers.response[rows][:, shared]
    same = (responses == responses[0]).all(axis=0)
    return Alike(rows, int(shared.sum()), int(same.sum()))
