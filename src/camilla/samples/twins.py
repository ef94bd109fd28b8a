"""Pairs of samples whose responses agree beyond what ability explains. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, rounded
from camilla.statistics.intervals import correlation_ends, critical_value

FEWEST = 5  # right responses, and wrong ones, of learners that answered both, that two samples need each
MOST_PAIRS = 200  # handed out, the closest first
ALIKE = 0.7  # residual correlation below which two samples are related, not alike
BLOCK = 1_000
TILTS = 2.0 ** np.arange(-1, 7.5, 0.5)


class Twins(NamedTuple):
    """The MOST_PAIRS closest pairs of sample indices, with Yen's Q3 and its 95 % interval; and all twins."""

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    correlation: Floats
    low: Floats
    high: Floats
    is_twin: NDArray[np.bool_]  # [samples], of any pair, handed out or not
    n_pairs: int  # in all


_NOBODY, _NOTHING = np.empty(0, np.int64), np.empty(0)
NO_TWINS = Twins(_NOBODY, _NOBODY, _NOTHING, _NOTHING, _NOTHING, np.empty(0, bool), 0)


def log_chance(p: Floats, q: Floats, both: NDArray[np.bool_], product: NDArray[np.floating]) -> Floats:
    """log of Chernoff's bound on P(Σ rs ≥ product) for independent right/wrong responses of chance p and q.

    [learners, pairs]: min over tilts t of Σ log E exp(t rs) − t product. Fractional responses spread less.
    """
    tails = [
        np.sum(
            np.log(
                p * q * np.exp(t * (1 - p) * (1 - q)) + (1 - p) * (1 - q) * np.exp(t * p * q)
                + p * (1 - q) * np.exp(-t * (1 - p) * q) + (1 - p) * q * np.exp(-t * p * (1 - q))
            ),
            axis=0, where=both,
        ) - t * product
        for t in TILTS
    ]  # fmt: skip
    return np.min(tails, axis=0)


def twins(matrix: Floats, predicted: Floats, *, rate: float = 0.05) -> Twins:
    """Pairs whose residuals x − p correlate by at least ALIKE (Q3, Yen 1984), surely above 0.

    Sure means: on Fisher's scale, Bonferroni over all pairs, with as many learners as carry the
    correlation, (Σ rs)² / Σ (rs)²: one learner that surprised twice is no evidence. Where these are few
    Fisher's scale promises too much, and the chance of so large a Σ rs is bounded beside it. A sample that
    nearly everybody gets right, or wrong, agrees with every other such sample and is left out, and so is a
    pair that looks like that to the learners who answered both.
    """
    seen = ~np.isnan(matrix)
    right, wrong = np.nansum(matrix, axis=0), np.nansum(1 - matrix, axis=0)
    fit = np.flatnonzero((right >= FEWEST) & (wrong >= FEWEST))
    weight = seen[:, fit].astype(np.float32)
    right, wrong = (np.where(seen, part, 0)[:, fit].astype(np.float32) for part in (matrix, 1 - matrix))
    residual = np.where(seen, np.where(seen, matrix, 0.0) - predicted, 0.0)[:, fit].astype(np.float32)
    square = residual**2
    n_pairs = max(len(fit) * (len(fit) - 1) / 2, 1)
    needed = critical_value(1 - rate / n_pairs, np.inf) if len(fit) > 1 else np.inf
    is_twin, n_found, found = np.zeros(matrix.shape[1], bool), 0, np.empty((0, 4))
    for start in range(0, len(fit), BLOCK):
        part = slice(start, start + BLOCK)
        product = residual[:, part].T @ residual
        with np.errstate(invalid="ignore", divide="ignore"):
            n = product**2 / (square[:, part].T @ square)
            q = product / np.sqrt((square[:, part].T @ weight) * (weight[:, part].T @ square))
            q = np.minimum(q, 1 - 1e-6)
            sure = (q >= ALIKE) & (np.arctanh(q) * np.sqrt(np.maximum(n - 3, 0)) > needed)
        for side in (right, wrong):
            sure &= np.minimum(side[:, part].T @ weight, weight[:, part].T @ side) >= FEWEST - 1e-3
        rows, columns = np.nonzero(sure)
        later = columns > rows + start
        rows, columns = rows[later], columns[later]
        held = n[rows, columns] > 2 * np.log(n_pairs / rate)  # Efron (1969): exp(−n/2), n = (Σ rs)² / Σ (rs)²
        for pairs in np.array_split(np.flatnonzero(~held), max(np.sum(~held) // BLOCK, 1)):
            i, j = fit[rows[pairs] + start], fit[columns[pairs]]
            log_p = log_chance(
                predicted[:, i],
                predicted[:, j],
                seen[:, i] & seen[:, j],
                product[rows[pairs], columns[pairs]],
            )
            held[pairs] = log_p < np.log(rate / n_pairs)
        rows, columns = rows[held], columns[held]
        one, other = fit[rows + start], fit[columns]
        is_twin[one] = is_twin[other] = True
        n_found += len(one)
        found = np.vstack([found, np.column_stack([one, other, q[rows, columns], n[rows, columns]])])
        found = found[np.argsort(-rounded(found[:, 2]), kind="stable")][:MOST_PAIRS]
    one, other = (found[:, k].astype(np.int64) for k in (0, 1))
    ends = correlation_ends(found[:, 2], found[:, 3])
    return Twins(one, other, found[:, 2], ends.low, ends.high, is_twin, n_found)
