"""How well strengths explain the matches: deviance, and wins beside predicted ones."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import sigmoid
from camilla.ranking.matches import Array, WinMatrix
from camilla.ranking.solve import log_likelihood
from camilla.statistics.wald import chi_p_values


class GoodnessOfFit(NamedTuple):
    """Deviance of a leaderboard from the saturated model that gives each pair its own probability."""

    deviance: float
    df: int
    standardised: float  # (deviance − df) / √(2 df): comparable across sets of players; NaN if df = 0
    p_value: float  # χ² on df; NaN if df = 0


def goodness_of_fit(matrix: WinMatrix, strength: Array) -> GoodnessOfFit:
    """D = 2 Σ_{i<j} w_ij log(w_ij / m_ij p_ij) + w_ji log(w_ji / m_ij p_ji), each match counted once.

    df = pairs that met less n − 1: (n−1)(n−2)/2 when all have met. The paper's m(m−2) counts every
    match twice.
    """
    wins, played = matrix
    share = np.divide(wins, played, out=np.ones_like(wins), where=wins > 0)
    np.log(share, out=share)
    share *= wins
    saturated = float(share.sum())
    deviance = 2 * max(saturated - log_likelihood(matrix, strength), 0.0)
    df = int(np.count_nonzero(played)) // 2 - (len(strength) - 1)
    return fit_of(deviance, max(df, 0))


def fit_of(deviance: float, df: int) -> GoodnessOfFit:
    """The standardised deviance and p-value that belong to a deviance."""
    if df == 0:
        return GoodnessOfFit(deviance, 0, np.nan, np.nan)
    return GoodnessOfFit(
        deviance, df, float((deviance - df) / np.sqrt(2 * df)), float(chi_p_values(deviance, df=df))
    )


class PredictedWins(NamedTuple):
    """One entry for each pair that met: how often the first won, and how often it should have."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    played: Array
    empirical: Array
    predicted: Array


def empirical_and_predicted(matrix: WinMatrix, strength: Array) -> PredictedWins:
    """Empirical against predicted probability of winning for all pairs that met (Figure 5)."""
    first, second = np.nonzero(np.triu(matrix.played, 1))
    played = matrix.played[first, second]
    predicted = sigmoid(strength[first] - strength[second])
    return PredictedWins(
        first.astype(np.int64),
        second.astype(np.int64),
        played,
        matrix.wins[first, second] / played,
        predicted,
    )
