"""All pairs of a board tested at once, with the dependence between them: step-down max-t. Arrays only.

Romano and Wolf (2005): a pair is told apart if its statistic is above those that chance gives to the largest
of all pairs that are not ahead of it. Chance comes from draws in which no two rows differ. Between the
responses of learners these are sign flips of samples (or clusters), the same for all learners: each pair
alone then has the distribution of its own exact test (McNemar's for right/wrong responses), and pairs that
differ on few samples, which no test could tell apart, do not count. docs/design/told-apart.md.
"""

from collections.abc import Iterable, Iterator
from hashlib import shake_128

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats

DRAWS = 2048
WORK = 250_000_000  # pairs × draws; more pairs get fewer draws
FEWEST_DRAWS = 256
BLOCK = 4_000_000  # pairs × draws held at once
FEW_UNITS = 4  # for each learner
FEWEST_UNITS = 12  # samples or clusters, whose 2¹² flips are enough to judge by
MOST_TESTED = 1400  # learners, whose pairs get FEWEST_DRAWS
MOST_HELD = 50_000_000  # learners² × draws of responses with gaps
MOST_PRODUCTS = 20_000_000_000  # learners² × samples × draws of responses with gaps
ALIKE = 1e-5  # share by which statistics are taken to be equal: single precision


def step_down(statistic: Floats, drawn: Iterable[NDArray[np.floating]]) -> Floats:
    """Adjusted p-values of statistics [pairs], from draws of them under equality [draws, pairs] in blocks.

    The share of draws in which the largest statistic of all pairs not ahead is as large, and never below
    that of a pair which is ahead (Westfall and Young, 1993, algorithm 2.8).
    """
    order = np.argsort(statistic, kind="stable")
    reached = statistic[order] * (1 - ALIKE)
    count, n_draws = np.zeros(len(order)), 0
    for block in drawn:
        largest = np.maximum.accumulate(block[:, order], axis=1)
        count += (largest >= reached).sum(axis=0)
        n_draws += len(block)
    p = (1 + count) / (1 + n_draws)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[::-1])[::-1]
    return adjusted


def over_pairs(values: Floats, n: int) -> Floats:
    """Values of the pairs i < j as a symmetric matrix, 1 on the diagonal."""
    matrix = np.ones((n, n))
    upper = np.triu_indices(n, 1)
    matrix[upper] = values
    matrix.T[upper] = values
    return matrix


def pair_blocks(drawn: Floats, inverse: Floats) -> Iterator[Floats]:
    """|z_i − z_j| / se_ij of the pairs i < j [draws, pairs] from draws of all rows [draws, rows], in blocks.

    `inverse` is 1/se of each pair.
    """
    i, j = np.triu_indices(drawn.shape[1], 1)
    step = max(1, BLOCK // max(len(i), 1))
    scale = inverse.astype(drawn.dtype)
    for start in range(0, len(drawn), step):
        some = drawn[start : start + step]
        yield np.abs(some[:, i] - some[:, j]) * scale


def flips_of(names: Iterable[str]) -> NDArray[np.uint8]:
    """A coin for each draw and unit [units, DRAWS/8], packed. From the unit's name: no order matters."""
    tossed = b"".join(shake_128(name.encode(errors="surrogatepass")).digest(DRAWS // 8) for name in names)
    return np.frombuffer(tossed, np.uint8).reshape(-1, DRAWS // 8)


def _draws(n_learners: int) -> int:
    """As many as the pairs leave room for, whole bytes of coins."""
    pairs = max(n_learners * (n_learners - 1) // 2, 1)
    return int(np.clip(WORK / pairs, FEWEST_DRAWS, DRAWS)) // 8 * 8


class PairFlips:
    """Sums over samples that all learners answered, and the same sums with the signs of samples flipped.

    Stretches of samples may be added one after the other, whole clusters each. Sums of right and wrong
    responses are whole numbers, exact in single precision; those of fractions need double.
    """

    def __init__(self, n_learners: int, *, fractional: bool) -> None:
        self.n_draws = _draws(n_learners)
        self.kind = np.float64 if fractional else np.float32
        self.units = 0
        self.total = np.zeros(n_learners)
        self.product = np.zeros((n_learners, n_learners))  # Σ over units of products of two learners
        self.drawn = np.zeros((self.n_draws, n_learners), self.kind)
        self.kept: list[tuple[Floats, Floats]] = []  # sums and sizes of units, of clusters or where few

    def add(self, sums: Floats, flips: NDArray[np.uint8], size: Floats | None = None) -> None:
        """Sums of responses over each unit [learners, units]; what is the same for all may be taken off.

        `size` is the samples of each cluster.
        """
        self.units += sums.shape[1]
        if size is not None or self.is_few:
            self.kept.append((sums, np.ones(sums.shape[1]) if size is None else size))
        else:
            self.kept = []
        self.total += sums.sum(axis=1)
        self.product += sums @ sums.T
        step = max(8, BLOCK // self.n_draws)
        for start in range(0, sums.shape[1], step):
            part: Floats = np.ascontiguousarray(sums[:, start : start + step].T, self.kind)
            coins: Floats = np.unpackbits(flips[start : start + step, : self.n_draws // 8], axis=1).astype(
                self.kind
            )
            self.drawn += 2 * (coins.T @ part) - part.sum(axis=0)

    @property
    def is_few(self) -> bool:
        """Whether units are too few to know a covariance of all learners by."""
        return self.units < FEW_UNITS * len(self.total)

    def same(self) -> NDArray[np.intp]:
        """The first learner with the same sums over every unit as each learner."""
        square = np.diag(self.product)
        apart = square[:, None] + square[None, :] - 2 * self.product
        np.fill_diagonal(apart, 0)
        return np.asarray((apart < ALIKE**2).argmax(axis=1))

    def adjusted(self, p_value: Floats) -> Floats:
        """Adjusted p-values of all pairs, never below the p-values of their own tests."""
        n = len(self.total)
        i, j = np.triu_indices(n, 1)
        square = np.diag(self.product)
        spread = np.sqrt(np.maximum(square[i] + square[j] - 2 * self.product[i, j], 0))
        inverse = np.divide(1, spread, out=np.zeros_like(spread), where=spread > ALIKE)
        found = step_down(np.abs(self.total[i] - self.total[j]) * inverse, pair_blocks(self.drawn, inverse))
        return np.maximum(over_pairs(found, n), p_value)


class GapFlips:
    """The same for responses with gaps: each pair on the samples that both answered."""

    def __init__(self, n_learners: int, *, fractional: bool) -> None:
        self.n_draws = _draws(n_learners)
        self.kind = np.float64 if fractional else np.float32
        self.pairs = np.triu_indices(n_learners, 1)
        self.total = np.zeros(len(self.pairs[0]))
        self.square = np.zeros(len(self.pairs[0]))
        self.drawn = np.zeros((self.n_draws, len(self.pairs[0])), self.kind)

    @staticmethod
    def is_possible(n_learners: int, n_samples: int) -> bool:
        """Whether there is time and memory for them."""
        n_draws = _draws(n_learners)
        return n_learners**2 * n_draws <= MOST_HELD and n_learners**2 * n_samples * n_draws <= MOST_PRODUCTS

    def add(
        self, centred: Floats, seen: NDArray[np.bool_], flips: NDArray[np.uint8],
        group: NDArray[np.integer] | None = None,
    ) -> None:  # fmt: skip
        """Responses [learners, samples], 0 where missing; `flips` has a row for each sample or cluster."""
        there, value = seen.T.astype(self.kind), centred.astype(self.kind)
        self.total += self._over(value, there)
        self.square += _pair_squares(centred, seen, group)[self.pairs]
        for start in range(0, self.n_draws, 8):
            signs = 2 * np.unpackbits(flips[:, start // 8, None], axis=1).T.astype(self.kind) - 1
            for draw, sign in enumerate(signs if group is None else signs[:, group], start):
                self.drawn[draw] += self._over(value * sign, there)

    def _over(self, value: Floats, there: Floats) -> Floats:
        own = value @ there
        return np.asarray(own[self.pairs] - own.T[self.pairs])

    def adjusted(self, p_value: Floats) -> Floats:
        """Adjusted p-values of all pairs, never below the p-values of their own tests."""
        known = self.square > ALIKE**2
        inverse = np.divide(1, np.sqrt(self.square), out=np.zeros_like(self.square), where=known)
        step = max(1, BLOCK // max(len(self.total), 1))
        scale = inverse.astype(self.kind)
        blocks = (np.abs(self.drawn[start : start + step]) * scale for start in range(0, self.n_draws, step))
        found = step_down(np.abs(self.total) * inverse, blocks)
        return np.maximum(over_pairs(found, len(p_value)), p_value)


def levelled(response: Floats, seen: NDArray[np.bool_]) -> Floats:
    """Fractions [learners, samples] less the mean of each sample, for the digits that squares lose."""
    mean = response.sum(axis=0) / seen.sum(axis=0).clip(1)
    return np.asarray(np.where(seen, response - mean, 0.0))


def _pair_squares(centred: Floats, seen: NDArray[np.bool_], group: NDArray[np.integer] | None) -> Floats:
    """Σ over units of (Σ over the unit's shared samples of a − b)² [learners, learners]."""
    there = seen.astype(np.float64)
    if group is None:
        own = centred**2 @ there.T
        return np.maximum(own + own.T - 2 * centred @ centred.T, 0)
    out = np.zeros((len(centred), len(centred)))
    for unit in np.unique(group):
        inside = group == unit
        own = centred[:, inside] @ there[:, inside].T
        out += (own - own.T) ** 2
    return out
