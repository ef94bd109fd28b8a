"""Who is told apart from whom, first or tied: decided here for `rank`, `diagnose` and all that they feed.

Where all learners answered the same samples, their responses decide it: paired tests of all pairs on samples
like these, adjusted by step-down max-t. What a diagnoser makes of the responses changes nothing in that.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.statistics.all_pairs import PairTests, pair_tests
from camilla.statistics.clusters import stacked_parts
from camilla.statistics.intervals import LEVEL
from camilla.statistics.multiplicity import holm_over_pairs
from camilla.statistics.standing import Standing, best_by_responses, on_board, standing_of
from camilla.statistics.step_down import FEWEST_UNITS, MOST_TESTED, GapFlips, PairFlips, flips_of, levelled
from camilla.table.cells import zero_or_one

ADJUSTED = "step-down max-t over all pairs"
BY_HOLM = "Holm over all pairs"


class Decision(NamedTuple):
    """Paired tests of all pairs, their adjusted p-values, and what follows; rows as they were given."""

    tests: PairTests
    adjusted: Floats  # [learners, learners]
    standing: Standing
    method: str  # ADJUSTED or BY_HOLM
    p_best: Floats | None
    same: list[list[int]]  # sets of rows with the same response on every sample, where all are answered

    def on_board(self, level: float = LEVEL) -> Standing:
        """The same for a board in the order of the rows: what contradicts its order is not told apart."""
        above = on_board(len(self.adjusted))
        return standing_of((self.adjusted < 1 - level) & (self.tests.is_below == above), above, self.p_best)


def decide(
    matrix: Floats, samples: Sequence[str], group: NDArray[np.integer] | None = None, level: float = LEVEL,
    watch: Watch = lambda line: None,
) -> Decision:  # fmt: skip
    """From responses [learners, samples], NaN where missing; `group` is the cluster of each sample.

    Ranks are those of the order of the rows. P(best) needs samples that all learners answered.
    """
    tests = pair_tests(matrix, group, watch)
    watch("signs of samples flipped")
    n, m = matrix.shape
    seen = ~np.isnan(matrix)
    units = list(samples) if group is None else _first_of_each(samples, group)
    complete = bool(seen.all())
    response = np.where(seen, matrix, 0.0)
    if fractional := not zero_or_one(response).all():
        response = levelled(response, seen)
    pairs = PairFlips(n, fractional=fractional) if complete and n <= MOST_TESTED else None
    p_best = None
    if pairs is not None:
        if group is None:
            pairs.add(response, flips_of(units))
        else:
            sums, size = stacked_parts(response, group)
            pairs.add(sums, flips_of(units), size)
        if pairs.units > 1:
            p_best = best_by_responses(pairs, m)
    found = None
    if n <= MOST_TESTED and len(units) >= FEWEST_UNITS:
        if pairs is not None:
            found = pairs.adjusted(tests.p_value)
        elif not complete and GapFlips.is_possible(n, m):
            gaps = GapFlips(n, fractional=fractional)
            gaps.add(response, seen, flips_of(units), group)
            found = gaps.adjusted(tests.p_value)
    return decision_of(tests, level, pairs, found, p_best)


def decision_of(
    tests: PairTests, level: float, pairs: PairFlips | None = None, adjusted: Floats | None = None,
    p_best: Floats | None = None,
) -> Decision:  # fmt: skip
    """What follows from adjusted p-values; Holm's where there are none."""
    method = BY_HOLM if adjusted is None else ADJUSTED
    p = holm_over_pairs(tests.p_value) if adjusted is None else adjusted
    standing = standing_of(p < 1 - level, tests.is_below, p_best)
    return Decision(tests, p, standing, method, p_best, [] if pairs is None else _sets(pairs.same()))


def _sets(same: NDArray[np.integer]) -> list[list[int]]:
    """Rows that share a number with another one."""
    return [np.flatnonzero(same == k).tolist() for k in np.flatnonzero(np.bincount(same) > 1)]


def _first_of_each(samples: Sequence[str], group: NDArray[np.integer]) -> list[str]:
    """A name for each cluster that does not depend on what the cluster is called, or on order."""
    first: dict[int, str] = {}
    for name, unit in zip(samples, group.tolist(), strict=True):
        first[unit] = min(name, first.get(unit, name))
    return [first[unit] for unit in sorted(first)]
