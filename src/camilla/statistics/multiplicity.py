"""Many tests at once: Holm, Benjamini–Hochberg, sure ranks, groups not told apart. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats


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
    upper = np.triu_indices(len(p), 1)
    adjusted = np.ones_like(p)
    adjusted[upper] = holm(p[upper])
    adjusted.T[upper] = adjusted[upper]
    return adjusted


def holm_reach(p: NDArray[np.floating], n_tests: int, alpha: float) -> float:
    """The largest p-value that Holm rejects at `alpha`, −1 if none; `p` holds all of n_tests up to alpha."""
    ordered = np.sort(p)
    kept = ordered > alpha / (n_tests - np.arange(len(ordered)))
    rejected = int(np.argmax(kept)) if kept.any() else len(ordered)
    return float(ordered[rejected - 1]) if rejected else -1.0


def told_apart_by_holm(p: NDArray[np.floating], alpha: float) -> NDArray[np.bool_]:
    """Pairs whose p-value Holm rejects over all pairs of a symmetric matrix."""
    n = len(p)
    n_pairs = n * (n - 1) // 2
    sure = int(np.count_nonzero(p <= alpha / n_pairs)) // 2  # Holm rejects these at once
    unsure = [
        row[i + 1 :][(row[i + 1 :] > alpha / n_pairs) & (row[i + 1 :] <= alpha)] for i, row in enumerate(p)
    ]
    reach = holm_reach(np.concatenate(unsure), n_pairs - sure, alpha)
    return p <= max(reach, alpha / n_pairs)


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
