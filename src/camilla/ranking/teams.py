"""Strength of a player inside ensembles, when matches are between sets of players.

The additive part of TrueSkill (Herbrich, Minka and Graepel, 2007): a team's strength is the sum, or
the mean, of its members', b = M c with M the membership matrix. That is EPP under a linear
constraint, so the win matrix of the teams, exact maximum likelihood and the round-cluster sandwich
carry over. Whether strengths do add up is tested, not assumed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import fdtrc

from camilla.arrays import sigmoid
from camilla.display import Grid, Part, counted, intervals, percent
from camilla.errors import ConvergenceError, DataError, SettingError
from camilla.names import name_index, quoted
from camilla.ranking.epp import WEAK_PRIOR
from camilla.ranking.inference import cluster_spread
from camilla.ranking.matches import Array, Record, WinMatrix, record_of
from camilla.ranking.solve import MAX_STEPS, STEP_CAP, derivatives, separated_groups, solve
from camilla.statistics.intervals import critical_value
from camilla.table.columns import Origin, name_column
from camilla.table.frame_files import called, read_frame
from camilla.table.tournament import Tournament

TEAM_STRENGTHS = ("mean", "sum")


class TeamBoard(NamedTuple):
    """The strength of members inside their teams, on the logit scale.

    Attributes
    ----------
    players : tuple of str
        Names of the members, strongest first.
    epp : array
        Strength of each member.
    se : array
        Standard errors.
    low : array
        Lower ends of the intervals.
    high : array
        Upper ends of the intervals.
    centred : bool
        Whether 0 is the average member; otherwise 0 is a member that changes nothing.
    additive_p : float or None
        p-value of the hypothesis that strengths add up; None where it cannot be tested.
    notes : tuple of str
        Sentences that a reader must know before using the result.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
    >>> teams = camilla.team_epp(tournament, {"a": ("x", "y"), "b": ("y", "z"), "c": ("x", "z")})
    >>> teams.players
    ('y', 'x', 'z')
    """

    players: tuple[str, ...]
    epp: Array
    se: Array
    low: Array
    high: Array
    centred: bool  # False: 0 is a member that changes nothing, which mixed team sizes can tell
    additive_p: float | None  # p of "member strengths add up"; None if there is nothing to test it with
    notes: tuple[str, ...]

    def parts(self, level: float) -> list[Part]:
        """Returns what the command prints: members by strength, whether strengths add up, the notes.

        Parameters
        ----------
        level : float
            Coverage of the intervals.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
        >>> teams = camilla.team_epp(tournament, {"a": ("x", "y"), "b": ("y", "z"), "c": ("x", "z")})
        >>> len(teams.parts(0.95)) > 0
        True
        """
        interval = f"{percent(level)} CI"
        frame = pl.DataFrame({"member": self.players, "EPP": self.epp, "se": self.se})
        ends = pl.DataFrame({"low": self.low, "high": self.high})
        frame = frame.with_columns(pl.Series(interval, intervals(ends, "low", "high", 2), pl.String))
        zero = "0 is the average member" if self.centred else "0 is a member that changes nothing"
        added = "" if self.additive_p is None else f"Strengths of members add up: p = {self.additive_p:.3g}."
        title = f"Members of teams by EPP ({zero})"
        parts: list[Part] = [Grid(title, frame, fixed=(interval,)), added]
        return [part for part in [*parts, *(f"note: {note}" for note in self.notes)] if part]


def read_members(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Members by team, from a table with the columns team and member."""
    origin = Origin(called(path))
    frame = read_frame(path, text=True)
    teams, members = (name_column(frame, name, origin) for name in ("team", "member"))
    found: dict[str, tuple[str, ...]] = {}
    for team, member in zip(teams.column("team"), members.column("member"), strict=True):
        found[team] = (*found.get(team, ()), member)
    return found


def team_epp(
    tournament: Tournament,
    members: Mapping[str, Sequence[str]],
    *,
    strength: str = "mean",
    matches: str = "same_round",
    level: float = 0.95,
) -> TeamBoard:
    """Estimates the strength of the members of teams, such as the models of an ensemble.

    Parameters
    ----------
    tournament : Tournament
        A tournament whose players are teams.
    members : mapping of str to list of str
        The members of every team. A player alone is a team of one.
    strength : {"mean", "sum"}
        How members make up a team. "mean" suits ensembles that average, "sum" teams whose members add.
    matches : {"same_round", "all_rounds"}
        As in `epp`.
    level : float
        Confidence level.

    Returns
    -------
    TeamBoard
        `players` (the members, best first), `epp`, `se`, `low`, `high`, `additive_p`, `notes`.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
    >>> teams = {"a": ("x", "y"), "b": ("y", "z"), "c": ("x", "z")}
    >>> camilla.team_epp(tournament, teams).players
    ('y', 'x', 'z')
    """
    players, membership = _membership(tournament, members, strength)
    centred = _identified(membership, players, strength)
    record = record_of(tournament, matches)
    if record.n_units < 3:
        units = counted(record.n_units, "round" if tournament.clusters is None else "cluster")
        raise DataError(f"got {units}; strengths inside teams need at least 3.")
    matrix = record.count()
    prior = WEAK_PRIOR if len(separated_groups(matrix)) > 1 else 0.0
    c, information = _solve(matrix, membership, prior, centred=centred)

    pushes = record.residuals(membership @ c)
    pushes = pushes if isinstance(pushes, np.ndarray) else pushes.toarray()
    turned = membership.T @ (pushes - pushes.mean(axis=1)[:, None])  # [members, rounds]
    influence = np.linalg.pinv(information, hermitian=True) @ turned
    n_rounds = record.n_units
    se = np.sqrt((influence**2).sum(axis=1) * n_rounds / (n_rounds - 1))
    reach = critical_value(level, n_rounds - 1) * se
    order = np.argsort(-c, kind="stable")
    note = f"Some teams won or lost everything; every member was given {prior:g} drawn match(es)."
    return TeamBoard(
        players=tuple(players[i] for i in order),
        epp=c[order],
        se=se[order],
        low=(c - reach)[order],
        high=(c + reach)[order],
        centred=centred,
        additive_p=None if prior else _additive_p(record, matrix, membership),
        notes=(note,) if prior else (),
    )


def _membership(
    tournament: Tournament, members: Mapping[str, Sequence[str]], strength: str
) -> tuple[tuple[str, ...], Array]:
    if strength not in TEAM_STRENGTHS:
        raise SettingError(
            f"strength {strength!r} is not known; expected one of {', '.join(TEAM_STRENGTHS)}."
        )
    unknown = [team for team in tournament.players if not members.get(team)]
    if unknown:
        raise DataError(f"teams {quoted(unknown)} have no members. Name the players of every team.")
    players = tuple(dict.fromkeys(one for team in tournament.players for one in members[team]))
    place = name_index(players)
    matrix = np.zeros((len(tournament.players), len(players)))
    for row, team in enumerate(tournament.players):
        for one in members[team]:
            matrix[row, place[one]] += 1.0
    if strength == "mean":
        matrix /= matrix.sum(axis=1, keepdims=True)
    return players, matrix


def _identified(membership: Array, players: tuple[str, ...], strength: str) -> bool:
    """True when only differences of members are identified, False when all strengths are."""
    contrasts = membership - membership.mean(axis=0)
    _, size, directions = np.linalg.svd(contrasts)
    rank = int((size > 1e-9 * size[0]).sum())
    free = directions[rank:]
    if len(free) == 0:
        return False
    if len(free) == 1 and np.ptp(free[0]) < 1e-9:
        return True
    bent = np.abs(free - free.mean(axis=1, keepdims=True)).max(axis=0)
    loose = [players[i] for i in np.flatnonzero(bent > 1e-9)]
    raise DataError(
        f"the teams do not tell players {quoted(loose)} apart (strength={strength!r}): they always play "
        "together, or teams of different sizes never share them. Add matches of other line-ups."
    )


def _solve(matrix: WinMatrix, membership: Array, prior: float, *, centred: bool) -> tuple[Array, Array]:
    """Damped Newton in the members' strengths; returns them with their information."""
    n = membership.shape[1]
    total = matrix.wins.sum(axis=1)
    c = np.zeros(n)
    for _ in range(MAX_STEPS):
        gradient, curvature = derivatives(membership @ c, total, matrix.played, 0.0)
        p = sigmoid(c)
        slope = membership.T @ gradient + prior * (0.5 - p)
        information = membership.T @ curvature.dense() @ membership + np.diag(prior * p * (1 - p))
        fixed = information + (np.trace(information) / n**2 if centred and not prior else 0.0)
        step = np.linalg.solve(fixed, slope)
        step *= min(1.0, STEP_CAP / max(np.abs(step).max(), 1e-300))
        c = c + step
        if np.abs(step).max() < 1e-9:
            return (c - c.mean() if centred else c), information
    raise ConvergenceError("strengths inside teams did not converge; add rounds or drop teams that won all.")


def _additive_p(record: Record, matrix: WinMatrix, membership: Array) -> float | None:
    """Hotelling's test that free team strengths lie in the space the members span."""
    n, n_rounds = len(membership), record.n_units
    contrasts = membership - membership.mean(axis=0)
    left, size, _ = np.linalg.svd(np.column_stack([np.ones(n), contrasts]))
    spare = left[:, int((size > 1e-9 * size[0]).sum()) :]  # team strengths no sum of members can reach
    q = spare.shape[1]
    if q == 0 or q >= n_rounds - 1:
        return None
    free = solve(matrix)
    away = spare.T @ free.strength
    covariance = spare.T @ cluster_spread(record, matrix, free, 0.0).dense() @ spare
    statistic = away @ np.linalg.solve(covariance, away) * (n_rounds - q) / (q * (n_rounds - 1))
    return float(fdtrc(q, n_rounds - q, statistic))
