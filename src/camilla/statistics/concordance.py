"""Concordant and discordant pairs by the million, exactly: what the pooled DOA and DOC are made of."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats

Whole = NDArray[Any]  # whole numbers, int64 or, where they suffice, int32
BLOCK = 1 << 20  # values that are worked on at a time
DIRECT = 16  # up to here all pairs are compared, beyond it halves are merged


class PairCounts(NamedTuple):
    """Pairs of learners on each sample and each of its skills [samples, skills]; 0 elsewhere."""

    concordant: Whole  # more mastery, better response
    discordant: Whole  # more mastery, worse response

    def doa(self) -> Floats:
        """DOA of each skill as a ratio of sums: concordant pairs over all that count; NaN where none does."""
        return _share(self.concordant.sum(axis=0), self.discordant.sum(axis=0))

    def doc(self) -> Floats:
        """DOC of each sample as a ratio of sums."""
        return _share(self.concordant.sum(axis=1), self.discordant.sum(axis=1))


def pair_counts(responses: Floats, mastery: Floats, skill_mask: NDArray[np.bool_]) -> PairCounts:
    """Counts for responses [learners, samples], NaN where missing, and mastery [learners, skills].

    Discordant pairs are the inversions of the responses in the order of mastery, counted by merging
    (Knight 1966); concordant ones are the rest but for ties. Sorting makes it O(|Q| N log² N), and a sort of
    a few hundred whole numbers is nearly free.
    """
    n = len(responses)
    sample, skill = np.nonzero(skill_mask)
    seen = ~np.isnan(responses)
    small: Any = np.int32 if (n + 1) ** 2 < 2**31 else np.int64
    response_rank, mastery_rank = dense_ranks(responses).astype(small), dense_ranks(mastery).astype(small)
    response_ties = tied_pairs(np.sort(np.where(seen, response_rank, n).T, axis=1))
    mastery_ties = tied_pairs(np.sort(mastery_rank.T, axis=1))
    counts = PairCounts(np.zeros(skill_mask.shape, np.int64), np.zeros(skill_mask.shape, np.int64))
    step = max(1, BLOCK // n)
    for rows in pairwise([*range(0, len(sample), step), len(sample)]):
        j, k = sample[slice(*rows)], skill[slice(*rows)]
        there = seen.T[j]
        by_response, by_mastery = response_rank.T[j], mastery_rank.T[k]
        ties, count = mastery_ties[k], np.full(len(j), n)
        if not there.all():
            by_response, by_mastery = (np.where(there, ranks, n) for ranks in (by_response, by_mastery))
            ties, count = tied_pairs(np.sort(by_mastery, axis=1)), there.sum(axis=1)
        key = np.sort(by_mastery * small(n + 1) + by_response, axis=1)
        tied = response_ties[j] + ties - tied_pairs(key) - _pairs(n - count)
        told = _pairs(count) - tied
        counts.discordant[j, k] = inversions(key % (n + 1))
        counts.concordant[j, k] = told - counts.discordant[j, k]
    return counts


def dense_ranks(values: Floats) -> Whole:
    """0 for a column's least value, 1 for the next distinct one …; NaN comes last."""
    rows = np.ascontiguousarray(values.T)
    order = np.argsort(rows, axis=1)
    ranked = np.take_along_axis(rows, order, axis=1)
    step = np.zeros(rows.shape, np.int32)
    np.not_equal(ranked[:, 1:], ranked[:, :-1], out=step[:, 1:], casting="unsafe")
    ranks = np.empty(rows.shape, np.int32)
    np.put_along_axis(ranks, order, np.cumsum(step, axis=1, out=step), axis=1)
    return ranks.T


def tied_pairs(ranked: Whole) -> Whole:
    """Pairs of equal values in each sorted row: every value is tied with those before it in its run."""
    place = np.arange(ranked.shape[1])
    starts = np.zeros(ranked.shape, ranked.dtype)
    np.multiply(ranked[:, 1:] != ranked[:, :-1], place[1:].astype(ranked.dtype), out=starts[:, 1:])
    np.maximum.accumulate(starts, axis=1, out=starts)
    return _pairs(len(place)) - starts.sum(axis=1, dtype=np.int64)


def inversions(values: Whole) -> Whole:
    """Pairs in each row of whole numbers ≥ 0 whose first is the larger.

    Sixteen neighbours are compared directly. Then halves are merged: in a sorted block the places of the h
    values from the left half add up to h(h − 1)/2 plus the right-half values that came before them.
    """
    n_rows, n = values.shape
    size = DIRECT
    while size < n:
        size *= 2
    padded = np.full((n_rows, size), values.max(initial=0), values.dtype)
    padded[:, :n] = values
    total = _direct_inversions(padded)
    half = DIRECT
    while half < size:
        blocks = padded.reshape(-1, 2 * half)
        key = np.sort(2 * blocks + (np.arange(2 * half) >= half).astype(values.dtype), axis=1)
        places = (key % 2 == 0) @ np.arange(2.0 * half)
        before = places.astype(np.int64) - _pairs(half)
        total += before.reshape(n_rows, -1).sum(axis=1)
        padded = key // 2
        half *= 2
    return total


def _direct_inversions(padded: Whole) -> Whole:
    """Inversions inside each sixteen, and so of each row."""
    columns = np.ascontiguousarray(padded.reshape(-1, DIRECT).T)
    count = np.zeros(columns.shape[1], np.uint8)  # at most 120
    for later in range(1, DIRECT):
        for earlier in range(later):
            count += columns[earlier] > columns[later]
    return count.reshape(len(padded), -1).sum(axis=1, dtype=np.int64)


def _pairs(count: Any) -> Any:
    return count * (count - 1) // 2


def _share(concordant: Whole, discordant: Whole) -> Floats:
    told = concordant + discordant
    return np.divide(concordant, told, out=np.full(len(told), np.nan), where=told > 0)
