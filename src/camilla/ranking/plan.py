"""How many rounds or tasks tell a difference apart, and which rounds of a pilot say something.

What unit u (a round, or a task with its folds) says of a difference has variance σ² over units, and N units
tell d apart by Student's t on N − 1 degrees of freedom with shift d √N / σ. A task with k folds has
σ² = between + within/k: more folds help no further than `between`.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import chdtri, stdtrit

from camilla.display import brief, percent
from camilla.errors import DataError, SettingError
from camilla.names import name_index
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.matches import Array, Clustered, SameRound, beaten, record_of
from camilla.ranking.solve import EppSolution, contrast_solver
from camilla.statistics.power import fewest
from camilla.table.tournament import Tournament

FOLDS = (1, 2, 3, 5, 10)
RANGE = 0.8  # of pilots have the right number inside the range


class Plan(NamedTuple):
    """Rounds, or tasks, that tell a difference apart, with the range that the pilot leaves."""

    difference: float  # of EPP
    power: float
    of: str  # whose difference: two players, or the average pair
    units: str  # rounds or clusters
    needed: int | None  # None: more than ten million
    low: int | None
    high: int | None
    by_folds: dict[int, int | None]  # folds per cluster → clusters; empty without clusters
    between: float  # variance between units that no fold takes away
    within: float  # variance within a cluster, of one fold; 0 without clusters

    def line(self) -> str:
        """The plan in one or two sentences."""
        p_win = 1 / (1 + np.exp(-self.difference))
        if self.needed is None:
            return f"Plan: no number of {self.units} detects a difference of {self.difference:g} EPP."
        text = (
            f"Plan: {self.needed} {self.units} tell a difference of {self.difference:g} (P(win) {p_win:.2f}) "
            f"of {brief(self.of)} apart with power {self.power:g}; a pilot of this size leaves "
            f"{self.low} to {self.high} ({percent(RANGE)} range)."
        )
        if self.by_folds:
            counts = ", ".join(f"{k}: {n}" for k, n in self.by_folds.items())
            text += f" {self.units.capitalize()} needed, by number of folds in each: {counts}."
            if self.by_folds[5] and self.by_folds[10]:
                saved = 1 - self.by_folds[10] / self.by_folds[5]
                text += f" Ten folds instead of five save {percent(saved)} of them at twice the runs."
        return text


def units_for(variance: float, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The fewest units whose two-sided t-test finds `difference` with this power."""
    if not (0 < alpha < power < 1):
        raise SettingError(f"expected 0 < alpha < power < 1; got alpha {alpha:g} and power {power:g}.")
    if difference == 0 or not np.isfinite(difference):
        raise SettingError(f"a difference of EPP other than 0 can be planned for; got {difference:g}.")

    def enough(n: int) -> bool:
        from scipy.stats import nct  # here, for it loads slowly

        shift, reach = abs(difference) * np.sqrt(n / variance), stdtrit(n - 1, 1 - alpha / 2)
        return float(np.sum(nct.sf(reach, n - 1, [shift, -shift]))) >= power

    return fewest(enough)


class Says(NamedTuple):
    """What each round says of the strengths, and which unit it belongs to."""

    influence: Array  # [players, rounds], on the scale of one unit
    unit: NDArray[np.int64]  # [rounds]


def _says(board: Leaderboard, tournament: Tournament) -> Says:
    came = board.provenance
    record = record_of(tournament, str(came["matches"]), came.get("failed", "not_played"))
    if board.spread is None or came["compat"] or tournament.scores is None:
        raise SettingError("a plan needs a board with intervals, made from scores.")
    place = name_index(tournament.players)
    epp = np.empty(len(place))
    epp[[place[name] for name in board.players]] = board.epp
    solution = EppSolution(epp, float(came["origin"]), 0, 0.0)
    if isinstance(record, Clustered):
        pushes, unit = record.by_round(epp), record.cluster
    else:
        pushes, unit = np.asarray(record.residuals(epp)), np.arange(record.n_rounds)
    influence = contrast_solver(record.count(), solution, board.prior)(pushes) * record.n_units
    influence -= influence.mean(axis=0)
    return Says(influence[[place[name] for name in board.players]], unit)


class Components(NamedTuple):
    """Variances of what units say, and how well the pilot knows their sum."""

    between: float
    within: float
    total: float  # of a unit as it was played
    df: float  # of a χ² that varies as much


def _components(rows: Array, unit: NDArray[np.int64]) -> Components:
    """Variances summed over rows [rows, rounds]."""
    size = np.bincount(unit)
    sums = np.stack([np.bincount(unit, row) for row in rows])
    means = sums / size
    units = len(size)
    centred = means - means.mean(axis=1, keepdims=True)
    by_unit = (centred**2).sum(axis=0) * units / (units - 1)
    total = float(by_unit.mean())
    if len(rows) == 1:
        df = units - 1.0
    else:
        df = 2 * total**2 / (by_unit.var(ddof=1) / units) * (units - 1) / units
    if len(unit) == units:
        return Components(total, 0.0, total, df)
    left = rows - means[:, unit]
    within = float((left**2).sum() / (len(unit) - units))
    return Components(max(total - within * float((1 / size).mean()), 0.0), within, total, df)


def plan(
    board: Leaderboard,
    tournament: Tournament,
    difference: float,
    *,
    pair: tuple[str, str] | None = None,
    power: float = 0.8,
) -> Plan:
    """How many rounds or clusters tell a difference of EPP apart, from this board as the pilot.

    By the variance of `pair`, or pooled over all pairs, which a small pilot knows better.
    """
    says = _says(board, tournament)
    n_units = len(np.unique(says.unit))
    if n_units < 3:
        raise DataError(
            f"a pilot of {n_units} rounds says nothing about how rounds vary; at least 3 are needed."
        )
    if pair is None:
        rows = says.influence * np.sqrt(2 / (len(board.players) - 1))
    else:
        i, j = (board.place(name) for name in pair)
        rows = (says.influence[i] - says.influence[j])[None, :]
    parts = _components(rows, says.unit)
    if parts.total <= 0:
        raise DataError("rounds of this pilot do not differ at all; there is no variance to plan with.")
    tail = (1 - RANGE) / 2
    ends = [parts.total * parts.df / float(chdtri(parts.df, q)) for q in (tail, 1 - tail)]
    clustered = len(says.unit) > n_units
    return Plan(
        difference=difference,
        power=power,
        of="the average pair" if pair is None else f"{pair[0]} and {pair[1]}",
        units="clusters" if board.provenance.get("clusters") else "rounds",
        needed=units_for(parts.total, difference, power=power),
        low=units_for(ends[0], difference, power=power),
        high=units_for(ends[1], difference, power=power),
        by_folds={
            k: units_for(parts.between + parts.within / k, difference, power=power)
            for k in FOLDS
            if clustered and parts.between + parts.within > 0
        },
        between=parts.between,
        within=parts.within,
    )


def telling_rounds(board: Leaderboard, tournament: Tournament) -> pl.DataFrame:
    """Rounds by how far they agree with the EPPs of the other rounds, most telling first.

    `agreement` is the correlation of a round's win shares with the EPPs less what its own unit adds (one step
    of the jackknife); `ties` is the share of matches that are ties. A round near 0 ranks players by chance.
    """
    came = board.provenance
    if came["matches"] != "same_round" or tournament.scores is None:
        raise SettingError("telling rounds need scores and matches within rounds.")
    says = _says(board, tournament)
    record = record_of(tournament, "same_round", came.get("failed", "not_played"), every_round=True)
    rounds = record.rounds if isinstance(record, Clustered) else record
    assert isinstance(rounds, SameRound)
    place = name_index(tournament.players)
    merit = rounds.merit[[place[name] for name in board.players]]
    kept = ((~np.isnan(merit)).sum(axis=0) >= 2) & np.isfinite(merit).any(axis=0)
    names = [name for name, here in zip(tournament.rounds, kept, strict=True) if here]
    units = int(says.unit.max()) + 1
    rows = []
    for k, (name, scores) in enumerate(zip(names, merit[:, kept].T, strict=True)):
        there = ~np.isnan(scores)
        own = says.influence[:, says.unit == says.unit[k]].mean(axis=1) / (units - 1)
        others = (board.epp - own)[there]
        won = beaten(scores[there])
        flat = np.ptp(won) == 0 or np.ptp(others) == 0
        pairs = there.sum() * (there.sum() - 1) / 2
        _, counts = np.unique(scores[there], return_counts=True)
        rows.append(
            {
                "round": name,
                "agreement": 0.0 if flat else float(np.corrcoef(won, others)[0, 1]),
                "ties": float((counts * (counts - 1) / 2).sum() / pairs),
            }
        )
    return pl.DataFrame(rows).sort("agreement", descending=True)
