"""Learners of a board against each other: who is told apart, ranks they may have, ties. Arrays only.

The places that decide it: responses of learners that answered the same samples, else draws where the fit is a
posterior, else standard errors. `docs/design/told-apart.md` says which, and why.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from camilla.arrays import Floats
from camilla.statistics.intervals import LEVEL, Z
from camilla.statistics.multiplicity import rank_bounds, tied_sets
from camilla.statistics.posterior import chance_better, ranks
from camilla.statistics.ranks import best_chances, shrunk, student_draws
from camilla.statistics.step_down import MOST_TESTED as MOST_PAIRS
from camilla.statistics.step_down import PairFlips, over_pairs, pair_blocks, step_down
from camilla.statistics.wald import board_told_apart, differences

MOST_TESTED = 2000  # learners; above, the tests of all pairs would fill the memory of a small machine


class Standing(NamedTuple):
    """Possible ranks and ties of learners, in the order of their leaderboard.

    With 95 % probability no two learners are told apart wrongly, so all possible ranks hold together.

    Attributes
    ----------
    rank_low : array
        Best rank that each learner may have.
    rank_high : array
        Worst rank that each learner may have.
    ties : list of tuple
        Sets of places of learners of which no two are told apart. Any two that are not are in one of them.
    p_best : array or None
        Probability that each learner is the best; None without draws or shared samples.
    with_first : tuple of int
        Places of the learners that are not told apart from the first, itself included.

    Examples
    --------
    >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
    >>> diagnosis.told_apart().rank_high.tolist()
    [2, 4, 6, 6, 6, 6]
    """

    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    ties: list[tuple[int, ...]]
    p_best: Floats | None
    with_first: tuple[int, ...]

    @property
    def first_is_sure(self) -> bool:
        """Whether the first is told apart from every other one."""
        return len(self.with_first) == 1


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


def standing_of(apart: NDArray[np.bool_], above: NDArray[np.bool_], p_best: Floats | None) -> Standing:
    """From what is told apart; `above[i, j]` says that j stands above i."""
    found = rank_bounds(apart, above)
    return Standing(found.low, found.high, tied_sets(apart), p_best, (0, *_places(~apart[0, 1:])))


def _places(tied: NDArray[np.bool_]) -> list[int]:
    """Places after the first."""
    return (np.flatnonzero(tied) + 1).tolist()


def on_board(n: int) -> NDArray[np.bool_]:
    """Which places of a board stand above which: [learners, learners]."""
    return np.tri(n, k=-1, dtype=bool)


def best_by_responses(pairs: PairFlips, n_samples: int) -> Floats:
    """How probably each learner is the best, from means over samples that all answered."""
    units, total = pairs.units, pairs.total
    stretched = np.sqrt(units / (units - 1)) / n_samples
    if not pairs.kept:
        covariance = (pairs.product - np.outer(total, total) / units) * stretched**2
    else:
        sums, size = (np.concatenate(part, axis=-1) for part in zip(*pairs.kept, strict=True))
        own = sums - sums.mean(axis=0)
        factor = (own - np.outer(own.sum(axis=1) / n_samples, size)) * stretched
        covariance = shrunk(factor).dense() if pairs.is_few else factor @ factor.T
    return best_chances(total / n_samples, covariance, units - 1, pairs.same())


def standing_by_draws(draws: Floats, same: NDArray[np.integer], level: float = LEVEL) -> Standing:
    """From draws of scores [draws, learners], best first: pairs by step-down max-t with their covariance.

    Learners with equal `same` answered alike: they are one learner, whose score is the mean of theirs.
    """
    drawn = _merged(draws, same)
    n = drawn.shape[1]
    found = ranks(drawn, level)
    if n > MOST_PAIRS:  # one at a time: ranges of the draws' ranks, and who is better than whom in most draws
        behind = (drawn[:, [0]] > drawn[:, 1:]).mean(axis=0) > level
        return Standing(found.low, found.high, [], found.best, (0, *_places(~behind)))
    mean = drawn.mean(axis=0)
    chance = student_draws((drawn - mean).T / np.sqrt(max(len(drawn) - 1, 1)), np.inf)
    i, j = np.triu_indices(n, 1)
    inverse = np.where(same[i] == same[j], 0.0, chance.inverse[i, j])
    p = step_down(np.abs(mean[i] - mean[j]) * inverse, pair_blocks(chance.drawn, inverse))
    above = mean[None, :] > mean[:, None]
    apart = (over_pairs(p, n) < 1 - level) & (above == on_board(n))
    return standing_of(apart, on_board(n), found.best)


def _merged(draws: Floats, same: NDArray[np.integer]) -> Floats:
    """The mean of the draws of learners with equal `same`, for each of them."""
    _, of, size = np.unique(same, return_inverse=True, return_counts=True)
    if len(size) == len(same):
        return draws
    total = np.zeros((len(draws), len(size)))
    np.add.at(total.T, of, draws.T)
    return np.asarray((total / size)[:, of])


def standing_by_errors(ability: Floats, se: Floats) -> Standing | None:
    """Wald tests of all pairs with Holm's adjustment; None without errors or of too many learners."""
    if not np.isfinite(se).all() or not 2 <= len(ability) <= MOST_TESTED:
        return None
    return standing_of(board_told_apart(ability, se, LEVEL), on_board(len(ability)), None)


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
