"""A new player on an existing leaderboard, without refitting the others."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from camilla.arrays import sigmoid
from camilla.errors import DataError
from camilla.ranking.epp import WEAK_PRIOR
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.matches import Array, Record, record_of
from camilla.ranking.solve import MAX_STEPS, STEP_CAP, EppSolution, contrast_solver
from camilla.table.tournament import Tournament


class Newcomer(NamedTuple):
    """The EPP of a new player among players whose EPPs do not change.

    Attributes
    ----------
    player : str
        Name of the new player.
    epp : float
        Its EPP; the mean of the players on the board stays 0.
    se : float
        Standard error.
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.
    p_beats_average : float
        Probability of beating the average player.
    note : str
        Empty, or that the newcomer won or lost everything.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
    >>> with_d = tournament.with_player("d", {"t1": 8, "t2": 6, "t3": 1, "t4": 7})
    >>> newcomer = camilla.place_newcomer(camilla.epp(tournament), with_d, "d")
    >>> newcomer.low < newcomer.epp < newcomer.high
    True
    """

    player: str
    epp: float  # the board's players keep mean 0 without the newcomer
    se: float
    low: float
    high: float
    p_beats_average: float
    note: str  # empty, or that the newcomer won or lost everything


def place_newcomer(board: Leaderboard, tournament: Tournament, player: str) -> Newcomer:
    """Places a new player on a leaderboard without refitting the others.

    It solves Σ_j m_j σ(b − b_j) = wins for b alone, with the other players fixed at their EPPs. The standard
    error includes the newcomer's rounds and the others' uncertainty in the same rounds:
    ψ_r = (g_r + Σ_j m_j p_j q_j ψ_jr) / Σ_j m_j p_j q_j.

    Parameters
    ----------
    board : Leaderboard
        The leaderboard.
    tournament : Tournament
        The leaderboard's own tournament with the newcomer's scores; see `Tournament.with_player`.
    player : str
        The newcomer.

    Returns
    -------
    Newcomer
        `epp`, `se`, `low`, `high`, `p_beats_average`, `note`.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
    >>> with_d = tournament.with_player("d", {"t1": 8, "t2": 6, "t3": 1, "t4": 7})
    >>> camilla.place_newcomer(camilla.epp(tournament), with_d, "d").player
    'd'
    """
    new = _row_of(board, tournament, player)
    everyone = _record(board, tournament)
    others = _record(board, _without(tournament, new))
    order = [board.place(name) for name in tournament.players if name != player]
    opponents = board.epp[order]

    matrix = everyone.count()
    played = np.delete(matrix.played[new], new)
    wins = float(matrix.wins[new].sum())
    separated = wins in (0.0, float(played.sum()))
    strength = _strength(opponents, played, wins, WEAK_PRIOR if separated else 0.0)

    p = sigmoid(strength - opponents)
    pull = played * p * (1 - p)
    pushes = np.asarray(others.residuals(opponents))
    solution = EppSolution(opponents, float(board.provenance["origin"]), 0, 0.0)
    influence = contrast_solver(others.count(), solution, board.prior)(pushes - pushes.mean(axis=1)[:, None])
    influence -= influence.mean(axis=0)
    own = np.asarray(everyone.residuals(np.insert(opponents, new, strength)))[new]
    psi = (own - own.mean() + pull @ influence) / pull.sum()
    met = int((np.abs(pushes).sum(axis=0) + np.abs(own) > 0).sum())
    variance = psi @ psi * met / (met - 1) + (1 / pull.sum() if separated else 0.0)
    return _placed(player, strength, float(np.sqrt(variance)), board.critical, separated)


def _record(board: Leaderboard, tournament: Tournament) -> Record:
    came = board.provenance
    return record_of(tournament, came["matches"], came.get("failed", "not_played"), every_round=True)


def _without(tournament: Tournament, row: int) -> Tournament:
    players = tuple(np.delete(np.array(tournament.players, object), row))
    return replace(
        tournament, players=players, scores=np.delete(tournament.merit, row, axis=0), lower_is_better=False
    )


def _row_of(board: Leaderboard, tournament: Tournament, player: str) -> int:
    if player not in tournament.players:
        raise DataError(f"{player!r} is not in the tournament; add its scores with Tournament.with_player.")
    if set(tournament.players) - {player} != set(board.players):
        raise DataError(
            f"the tournament must contain the board's {len(board.players)} players and {player!r}; it has "
            f"{len(tournament.players)}. Refit with epp() if more players changed."
        )
    if board.covariance is None:
        raise DataError("the board has one round and no standard errors; refit with epp() instead.")
    return tournament.players.index(player)


def _strength(opponents: Array, played: Array, wins: float, prior: float) -> float:
    strength = 0.0
    for _ in range(MAX_STEPS):
        p = sigmoid(strength - opponents)
        middle = float(sigmoid(np.asarray(strength)))
        gradient = wins - played @ p + prior * (0.5 - middle)
        information = (played * p) @ (1 - p) + prior * middle * (1 - middle)
        step = float(np.clip(gradient / information, -STEP_CAP, STEP_CAP))
        strength += step
        if abs(step) < 1e-10:
            break
    return strength


def _placed(player: str, epp: float, se: float, critical: float, separated: bool) -> Newcomer:
    note = ""
    if separated:
        note = f"{player!r} won or lost every match; it was given 1 drawn match against the average player."
    return Newcomer(
        player,
        epp,
        se,
        epp - critical * se,
        epp + critical * se,
        1 / (1 + float(np.exp(-epp))),
        note,
    )
