"""Many tests at once: Holm, Benjamini–Hochberg, sure ranks, groups not told apart. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats

MOST_LISTED = 1400  # rows whose tied sets are all listed


def holm(p: Floats) -> Floats:
    """Holm's (1979) step-down adjustment along the last axis: strong control for any dependence."""
    order = np.argsort(p, axis=-1)
    m = p.shape[-1]
    stepped = np.take_along_axis(p, order, axis=-1) * np.arange(m, 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0)
    result = np.empty_like(p)
    np.put_along_axis(result, order, adjusted, axis=-1)
    return result


def holm_reached(p: Floats, alpha: float) -> NDArray[np.bool_]:
    """Which tests Holm rejects at `alpha`, along the last axis."""
    return np.asarray(holm(p) < alpha)


def benjamini_hochberg(p: Floats) -> Floats:
    """False discovery rates at which each test would be rejected (1995); NaN stays, and does not count."""
    out = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")[::-1]]
    m = len(order)
    out[order] = np.minimum(np.minimum.accumulate(p[order] * m / np.arange(m, 0, -1)), 1.0)
    return out


def holm_over_pairs(p: Floats) -> Floats:
    """Holm over all n(n−1)/2 pairs, symmetric, 1 on the diagonal."""
    upper = np.triu(np.ones(p.shape, bool), 1)
    adjusted = np.ones_like(p)
    adjusted[upper] = holm(p[upper])
    return np.minimum(adjusted, adjusted.T)


class RankIntervals(NamedTuple):
    """Best and worst rank each row of a board may have."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


def rank_bounds(sure: NDArray[np.bool_], above: NDArray[np.bool_]) -> RankIntervals:
    """1 + those surely above, to n − those surely below; `above[i, j]` says that j stands above i."""
    return RankIntervals(1 + (sure & above).sum(axis=1), len(sure) - (sure & ~above).sum(axis=1))


def tie_groups(differ: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Maximal runs [first, last] of a board in which no two differ; `differ` follows the board's order.

    A row may be in several runs: not being told apart is not transitive.
    """
    n = len(differ)
    runs: list[tuple[int, int]] = []
    last = 0
    for first in range(n):
        last = max(last, first)
        while last + 1 < n and not differ[first : last + 1, last + 1].any():
            last += 1
        if not runs or last > runs[-1][1]:
            runs.append((first, last))
    return runs


def tied_sets(differ: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Sets of places of which no two differ, such that every two that do not differ are in one of them.

    The maximal runs of two or more, then for each pair in no run the largest set that takes its other
    members in the order of the board. Not being told apart is not transitive, so that sets overlap.
    Of more than MOST_LISTED rows there are the runs alone.
    """
    n = len(differ)
    found = [tuple(range(first, last + 1)) for first, last in tie_groups(differ) if last > first]
    if n > MOST_LISTED:
        return found
    tied = ~differ
    np.fill_diagonal(tied, False)
    left = np.triu(tied)
    for places in found:
        left[places[0] : places[-1] + 1, places[0] : places[-1] + 1] = False
    for i in range(n):
        while left[i].any():
            members = [i, int(np.argmax(left[i]))]
            open_ = tied[members[0]] & tied[members[1]]
            while open_.any():
                members.append(int(np.argmax(open_)))
                open_ &= tied[members[-1]]
            members.sort()
            left[np.ix_(members, members)] = False
            found.append(tuple(members))
    whole = [set(places) for places in found]
    return sorted(
        places for places, own in zip(found, whole, strict=True) if not any(own < other for other in whole)
    )
