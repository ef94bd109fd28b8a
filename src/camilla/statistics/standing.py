"""Learners of a board against each other: ranks they may have, ties, who is above whom. Arrays only.

The one place that decides it: from draws where the fit is a posterior, else from standard errors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from camilla.arrays import Floats
from camilla.statistics.intervals import LEVEL, Z
from camilla.statistics.posterior import chance_better, ranks, tie_groups
from camilla.statistics.wald import board_standing, differences

MOST_TESTED = 2000  # learners; above, the tests of all pairs would fill the memory of a small machine


class Standing(NamedTuple):
    """Possible ranks and ties of learners, in the order of their leaderboard.

    Attributes
    ----------
    rank_low : array
        Best rank that each learner may have.
    rank_high : array
        Worst rank that each learner may have.
    ties : list
        First and last place of each run of learners that cannot be told apart.
    p_best : array or None
        Probability that each learner is the best; None without draws.

    Examples
    --------
    >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
    >>> diagnosis.told_apart().rank_high.tolist()
    [2, 3, 6, 6, 6, 6]
    """

    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    ties: list[tuple[int, int]]  # first and last place of each run of two or more
    p_best: Floats | None  # how probably each is the best; None where there are no draws

    @property
    def tied_with_first(self) -> int:
        """How many the leader's tie holds, itself included."""
        return next((last + 1 for first, last in self.ties if first == 0), 1)

    @property
    def first_is_sure(self) -> bool:
        """Whether the leader is the best at 95 %: by its probability, else by a test of each other one."""
        return bool(self.rank_high[0] == 1 if self.p_best is None else self.p_best[0] >= LEVEL)


class PairChances(NamedTuple):
    """Comparisons of every pair of learners, as matrices [learners, learners].

    Attributes
    ----------
    better : array
        Probability that the ability of the row's learner is above that of the column's.
    half : array
        Half the width of the 95 % interval of their difference.

    Examples
    --------
    >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "bayes", draws=100)
    >>> diagnosis.pair_chances().better.shape
    (6, 6)
    """

    better: Floats  # P(the row's ability is above the column's)
    half: Floats  # half the 95 % interval of the difference of the two


def standing_by_draws(draws: Floats) -> Standing:
    """From draws of scores, [draws, learners]: each learner against the first of its group, pair by pair.

    A tie holds those that its first is better than with a probability of at most 95 %.
    """
    found, group = ranks(draws), tie_groups(draws)
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    ends = np.append(starts[1:], len(group)) - 1
    ties = [(int(first), int(last)) for first, last in zip(starts, ends, strict=True) if last > first]
    return Standing(found.low, found.high, ties, found.best)


def standing_by_errors(ability: Floats, se: Floats) -> Standing | None:
    """Wald tests of all pairs with Holm's adjustment; None without errors or of too many learners."""
    if not np.isfinite(se).all() or not 2 <= len(ability) <= MOST_TESTED:
        return None
    return Standing(*board_standing(ability, se, LEVEL), None)


def chances_by_draws(draws: Floats) -> PairChances:
    """Shares of the draws, and ± 1.96 standard deviations of the differences."""
    n = draws.shape[1]
    better, half = np.full((n, n), 0.5), np.zeros((n, n))
    for i in range(n):
        half[i] = Z * (draws[:, [i]] - draws).std(axis=0)
        better[i, i + 1 :] = [chance_better(draws, i, j) for j in range(i + 1, n)]
        better[i + 1 :, i] = 1 - better[i, i + 1 :]
    return PairChances(better, half)


def chances_by_errors(ability: Floats, se: Floats) -> PairChances:
    """Normal, the errors of two learners independent; NaN where they are not known."""
    difference, spread = differences(ability, np.diag(se**2))
    with np.errstate(invalid="ignore", divide="ignore"):
        better = np.where(difference == 0, 0.5, ndtr(difference / spread))
    return PairChances(np.where(np.isfinite(spread), better, np.nan), Z * spread)
