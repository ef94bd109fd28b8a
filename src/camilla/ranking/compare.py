"""Several tournaments side by side: which leaderboard fits better, and where two disagree."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtr

from camilla.data.names import quoted
from camilla.errors import DataError
from camilla.metrics.multiplicity import holm
from camilla.ranking.leaderboard import Leaderboard


def compare_fits(boards: Mapping[str, Leaderboard]) -> pl.DataFrame:
    """Tournaments by standardised deviance, best fit first (Properties 3.8–3.10).

    Deviances compare directly only for the same players and rounds; standardised ones also for
    different sets of players.
    """
    rows = [
        {
            "tournament": name,
            "players": len(board.players),
            "rounds": board.provenance["rounds"],
            "deviance": board.fit.deviance,
            "df": board.fit.df,
            "standardised_deviance": board.fit.standardised,
            "p_value": board.fit.p_value,
        }
        for name, board in boards.items()
    ]
    return pl.DataFrame(rows).sort("standardised_deviance", nulls_last=True)


class Agreement(NamedTuple):
    """Two leaderboards on the players they share."""

    kendall: float  # rank correlation of the shared players
    rows: pl.DataFrame  # player, epp_a, epp_b, difference, se, p_value, holm_p


def agreement(board_a: Leaderboard, board_b: Leaderboard) -> Agreement:
    """Where two tournaments differ: EPPs of the shared players, each centred on those players.

    The tournaments must have been played apart; then variances add.
    """
    shared = [name for name in board_a.players if name in set(board_b.players)]
    if len(shared) < 2:
        raise DataError(
            f"the leaderboards share {len(shared)} player(s); two are needed. "
            f"One has {quoted(board_a.players)}, the other {quoted(board_b.players)}."
        )
    (a, variance_a), (b, variance_b) = (_on(board, shared) for board in (board_a, board_b))
    difference, se = a - b, np.sqrt(variance_a + variance_b)
    p_value = 2 * ndtr(-np.abs(difference) / se)
    rows = {"epp_a": a, "epp_b": b, "difference": difference, "se": se, "p_value": p_value}
    frame = pl.DataFrame({"player": shared, **rows, "holm_p": holm(np.asarray(p_value))})
    from scipy.stats import kendalltau  # half a second to load, and needed here alone

    return Agreement(float(kendalltau(a, b).statistic), frame)


class _Shared(NamedTuple):
    epp: np.ndarray[tuple[int], np.dtype[np.float64]]
    variance: np.ndarray[tuple[int], np.dtype[np.float64]]


def _on(board: Leaderboard, players: list[str]) -> _Shared:
    rows = [board.place(name) for name in players]
    epp = board.epp[rows]
    if board.covariance is None:
        return _Shared(epp - epp.mean(), np.full(len(rows), np.nan))
    centre = np.eye(len(rows)) - 1 / len(rows)
    covariance = centre @ board.covariance[np.ix_(rows, rows)] @ centre
    return _Shared(epp - epp.mean(), np.diag(covariance))
