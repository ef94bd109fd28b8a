"""Scores to matches, without building pairs: a record counts wins and splits the score by round.

A record answers two questions, whatever the matches came from. `count`: how often did i beat j?
`residuals`: how much did each round push each player's strength, at given strengths? The first is
all that the estimate needs, the second is all that honest standard errors need.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from camilla.arrays import sigmoid
from camilla.errors import DataError, SettingError
from camilla.names import quoted
from camilla.table.score_tables import MatchList
from camilla.table.tournament import Tournament

Array = NDArray[np.float64]
Weights = NDArray[np.int64] | NDArray[np.float64]  # [rounds], or [clusters]
MATCHES = ("same_round", "all_rounds")


class WinMatrix(NamedTuple):
    """Wins of row over column, a tie as one half to each, and matches played; zero diagonals."""

    wins: Array  # [players, players]
    played: Array  # [players, players], symmetric


class Record(Protocol):
    """What the estimate and its uncertainty ask of a tournament.

    Units are what was drawn independently: rounds, or clusters of rounds.
    """

    @property
    def n_units(self) -> int: ...
    @property
    def n_rounds(self) -> int: ...
    def count(self, weights: Weights | None = None) -> WinMatrix: ...
    def residuals(self, strength: Array) -> Array | csr_array: ...


def record_of(
    tournament: Tournament, matches: str, failed: str = "not_played", *, every_round: bool = False
) -> Record:
    """The tournament's record when matches are made within a round, or across all rounds.

    `failed` says what a cell without a score is. Rounds without a match are left out unless `every_round`.
    """
    if matches not in MATCHES:
        raise SettingError(f"matches {matches!r} is not known; expected one of {', '.join(MATCHES)}.")
    if tournament.matches is not None:
        if matches == "all_rounds":
            raise SettingError("a list of matches has no scores to compare across rounds; use same_round.")
        if failed != "not_played":
            raise SettingError("a list of matches has no cells that failed; leave failed out.")
        return Listed(tournament.matches, len(tournament.players))
    merit = _with_failures(tournament, matches, failed)
    kept = np.full(merit.shape[1], fill_value=True)
    if not every_round:
        needed = 2 if matches == "same_round" else 1
        kept = ((~np.isnan(merit)).sum(axis=0) >= needed) & np.isfinite(merit).any(axis=0)
    record = SameRound(merit[:, kept]) if matches == "same_round" else AllRounds(merit[:, kept])
    if tournament.clusters is None:
        return record
    names = np.array(tournament.clusters)[kept]
    return Clustered(record, np.unique(names, return_inverse=True)[1].astype(np.int64))


def _with_failures(tournament: Tournament, matches: str, failed: str) -> Array:
    """Merit with the cells that have no score filled as `failed` says; −∞ loses to every score."""
    merit = tournament.merit
    if failed == "not_played":
        absent = np.isnan(merit).all(axis=1)
        if absent.any():
            names = [tournament.players[i] for i in np.flatnonzero(absent)]
            raise DataError(
                f"players {quoted(names)} have no score in any round. Remove their rows, or, if their runs "
                "failed, count those as lost: --failed lost (failed='lost')."
            )
        return merit
    if failed == "lost":
        if matches == "all_rounds":
            raise SettingError(
                "failed='lost' needs matches within rounds; use same_round, or impute=PLAYER over all rounds."
            )
        return np.where(np.isnan(merit), -np.inf, merit)
    kind, _, player = failed.partition("=")
    if kind != "impute" or not player:
        raise SettingError(f"failed {failed!r} is not known; expected not_played, lost or impute=PLAYER.")
    if player not in tournament.players:
        raise DataError(
            f"there is no player {player!r} whose scores could stand for failed cells; there are "
            f"{quoted(tournament.players)}. Check the spelling."
        )
    standing_in = merit[tournament.players.index(player)]
    if np.isnan(standing_in).all():
        raise DataError(
            f"{player!r} has no score in any round that could stand for failed cells. Name another."
        )
    return np.where(np.isnan(merit), standing_in, merit)


@dataclass(frozen=True, eq=False)
class SameRound:
    """One match for each pair and round."""

    merit: Array  # [players, rounds], higher is better, NaN where not played, −∞ where lost to every score

    @property
    def n_rounds(self) -> int:
        return int(self.merit.shape[1])

    @property
    def n_units(self) -> int:
        return self.n_rounds

    def count(self, weights: Weights | None = None) -> WinMatrix:
        """Wins over rounds; round r counts `weights[r]` times."""
        n = len(self.merit)
        if weights is None:
            weights = np.ones(self.n_rounds, np.int64)
        narrow: Any = np.uint16 if weights.sum() < 2**16 else np.uint32
        if weights.dtype.kind == "f":
            narrow = np.float64
        wins, ties = np.zeros((n, n), narrow), np.zeros((n, n), narrow)
        for round_ in np.flatnonzero(weights):
            rank = _ranks(self.merit[:, round_])
            beats = rank.as_winner[:, None] > rank.as_loser[None, :]
            wins += beats if weights[round_] == 1 else beats * narrow(weights[round_])
            if rank.tied:
                ties += (rank.as_winner[:, None] == rank.as_loser[None, :]) * narrow(weights[round_])
        there, lost = (part.astype(np.float64) for part in self._cells())
        played = (there * weights) @ there.T
        if lost.any():
            played -= (lost * weights) @ lost.T
        return _off_diagonal(wins + 0.5 * ties, played)

    def _cells(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Who takes part in each round, and who of them failed and loses; two who failed have no match."""
        return ~np.isnan(self.merit), np.isneginf(self.merit)

    def met(self, i: int) -> NDArray[np.bool_]:
        """Rounds in which player i has a match with each of the players before it [i, rounds]."""
        there, lost = self._cells()
        return np.asarray(there[i] & there[:i] & ~(lost[i] & lost[:i]))

    def residuals(self, strength: Array) -> Array:
        """g[i, r] = Σ_j (y_ijr − p_ij): wins of i in round r less what its strength foresees."""
        there, lost = self._cells()
        won = np.zeros(self.merit.shape)
        for round_ in range(self.n_rounds):
            here = there[:, round_]
            won[here, round_] = beaten(self.merit[here, round_])
        won[lost] = 0.0
        probability = win_probability(strength)
        foreseen = there * (probability @ there)
        if lost.any():
            foreseen -= lost * (probability @ lost)
        return won - foreseen


@dataclass(frozen=True, eq=False)
class AllRounds:
    """Every score of i against every score of j: R × R matches for each pair, never built."""

    merit: Array  # [players, rounds], higher is better, NaN where not played

    @property
    def n_rounds(self) -> int:
        return int(self.merit.shape[1])

    @property
    def n_units(self) -> int:
        return self.n_rounds

    def count(self, weights: Weights | None = None) -> WinMatrix:
        """Walks the scores in increasing order with a running count for each player.

        When a score of i passes, row i gains the count of scores already passed. The count goes up
        by one half before and one half after its own value, so ties share; all numbers are doubled
        to stay whole.
        """
        n = len(self.merit)
        if weights is None:
            weights = np.ones(self.n_rounds, np.int64)
        player, round_ = np.nonzero(np.isfinite(self.merit) & (weights > 0))
        weight = weights[round_].astype(np.float64 if weights.dtype.kind == "f" else np.int32)
        merit = self.merit[player, round_]
        order = np.argsort(merit, kind="stable")
        player, weight, merit = player[order], weight[order], merit[order]
        starts = np.flatnonzero(np.concatenate(([True], np.diff(merit) > 0)))
        twice = _walk(player, weight, [*starts.tolist(), len(merit)], n)
        total = np.bincount(player, weight.astype(np.float64), n)
        return _off_diagonal(0.5 * twice, np.asarray(np.outer(total, total), np.float64))

    def residuals(
        self, strength: Array, weights: Weights | None = None, foreseen: Array | None = None
    ) -> Array:
        """g[i, r] = Σ_j Σ_s w_s [(y_ir,js − p_ij) + (y_is,jr − p_ij)]: what round r adds from either side.

        The estimate is a function of pairs of rounds; this is its derivative in round r's weight,
        so Σ_r g gᵀ is the infinitesimal jackknife over rounds. `foreseen` holds Σ_j p_ij over the players
        of each round where that is known already.
        """
        seen = np.isfinite(self.merit)
        if weights is None:
            weights = np.ones(self.n_rounds)
        if foreseen is None:
            foreseen = win_probability(strength) @ seen  # [players, rounds]
        expected = seen * (foreseen @ weights)[:, None] + (seen @ weights)[:, None] * foreseen
        return np.asarray(_pushes(self.merit, seen, weights) - expected)

    def total_wins(self, weights: Weights | None = None) -> Array:
        """Wins of each player over all others, without counting pairs."""
        if weights is None:
            weights = np.ones(self.n_rounds)
        seen = np.isfinite(self.merit)
        weight = np.broadcast_to(weights, self.merit.shape)[seen]
        values, place = np.unique(self.merit[seen], return_inverse=True)
        here = np.bincount(place, weight, len(values))
        won = np.zeros(self.merit.shape)
        won[seen] = (np.cumsum(here) - 0.5 * here)[place]
        return np.asarray(won @ weights - 0.5 * (seen @ weights) ** 2)


@dataclass(frozen=True, eq=False)
class Clustered:
    """Rounds that depend on each other, such as the folds of a task: each cluster counts once.

    A round weighs 1/(rounds of its cluster), and what the rounds of a cluster say is summed.
    """

    rounds: SameRound | AllRounds
    cluster: NDArray[np.int64]  # [rounds], from 0

    @property
    def n_units(self) -> int:
        return int(self.cluster.max()) + 1

    @property
    def n_rounds(self) -> int:
        return self.rounds.n_rounds

    @property
    def weights(self) -> Array:
        return np.asarray(1 / np.bincount(self.cluster)[self.cluster])

    @property
    def summing(self) -> Array:
        """[rounds, clusters]: turns what rounds say into what clusters say."""
        return np.asarray(np.eye(self.n_units)[self.cluster] * self.weights[:, None])

    def count(self, weights: Weights | None = None) -> WinMatrix:
        """Wins over clusters; cluster c counts `weights[c]` times."""
        return self.rounds.count(self.weights if weights is None else self.weights * weights[self.cluster])

    def residuals(self, strength: Array) -> Array:
        """g[i, c]: wins of i in cluster c less what its strength foresees."""
        return np.asarray(self.by_round(strength) @ self.summing)

    def by_round(self, strength: Array) -> Array:
        """The same for each round by itself, not weighted."""
        if isinstance(self.rounds, AllRounds):
            return self.rounds.residuals(strength, self.weights)
        return self.rounds.residuals(strength)


def in_order(
    counted: "WinMatrix | AllRounds | Clustered", order: NDArray[np.int64]
) -> "WinMatrix | AllRounds | Clustered":
    """The same with the players in another order."""
    if isinstance(counted, WinMatrix):
        square = np.ix_(order, order)
        return WinMatrix(*(part[square] for part in counted))
    if isinstance(counted, Clustered):
        return Clustered(type(counted.rounds)(counted.rounds.merit[order]), counted.cluster)
    return AllRounds(counted.merit[order])


@dataclass(frozen=True, eq=False)
class Listed:
    """Matches as they were played; those of one round depend on each other."""

    matches: MatchList
    n_players: int

    @property
    def n_rounds(self) -> int:
        return int(self.matches.round.max()) + 1

    @property
    def n_units(self) -> int:
        return self.n_rounds

    def count(self, weights: Weights | None = None) -> WinMatrix:
        """Wins over matches; a match of round r counts `weights[r]` times."""
        a, b, outcome, round_ = self.matches
        weight = np.ones(len(a)) if weights is None else weights[round_].astype(np.float64)
        n = self.n_players
        cells = np.concatenate([a * n + b, b * n + a])
        taken = np.concatenate([weight * outcome, weight * (1 - outcome)])
        wins: Array = np.asarray(np.bincount(cells, taken, n * n), np.float64).reshape(n, n)
        return WinMatrix(wins, wins + wins.T)

    def residuals(self, strength: Array) -> csr_array:
        """g[i, r] = Σ (y − p) over the matches of i in round r; sparse, most players sit a round out."""
        a, b, outcome, round_ = self.matches
        surprise = outcome - sigmoid(strength[a] - strength[b])
        entries = np.concatenate([surprise, -surprise])
        places = (np.concatenate([a, b]), np.concatenate([round_, round_]))
        return csr_array((entries, places), shape=(self.n_players, self.n_rounds))


def win_probability(strength: Array) -> Array:
    """σ(b_i − b_j) for every pair, 0 on the diagonal."""
    probability: Array = strength[:, None] - strength[None, :]
    np.negative(probability, out=probability)
    np.exp(probability, out=probability)
    probability += 1
    np.reciprocal(probability, out=probability)
    np.fill_diagonal(probability, 0.0)
    return probability


def _walk(player: NDArray[np.int64], weight: NDArray[Any], bounds: list[int], n: int) -> Array:
    """Twice the wins [players, players]; scores between two bounds are tied."""
    whole = np.int64 if weight.sum() > 30_000 else np.int32
    twice = np.zeros((n, n), np.float64 if weight.dtype.kind == "f" else whole)
    rows = list(twice)
    passed = np.zeros(n, twice.dtype)
    players, weights = player.tolist(), weight.tolist()
    for start, stop in pairwise(bounds):
        if stop == start + 1:
            i, w = players[start], weights[start]
            rows[i] += passed if w == 1 else passed * w
            passed[i] += 2 * w
        else:
            tied = np.bincount(player[start:stop], weight[start:stop], n).astype(twice.dtype)
            here = np.flatnonzero(tied)
            passed += tied
            twice[here] += tied[here, None] * passed
            passed += tied
    return twice


class _Ranks(NamedTuple):
    """A round's ranks from 3, as integers; a missing score neither beats nor is beaten."""

    as_winner: NDArray[np.uint32]  # 0 where missing, 1 where lost to every score
    as_loser: NDArray[np.uint32]  # the largest integer where missing, 2 where lost to every score
    tied: bool


def _ranks(merit: Array) -> _Ranks:
    seen = np.isfinite(merit)
    values, rank = np.unique(merit[seen], return_inverse=True)
    winner = np.zeros(len(merit), np.uint32)
    loser = np.full(len(merit), np.iinfo(np.uint32).max, np.uint32)
    winner[seen] = loser[seen] = rank + 3
    lost = np.isneginf(merit)
    winner[lost], loser[lost] = 1, 2
    return _Ranks(winner, loser, len(values) < seen.sum())


def _off_diagonal(wins: Array, played: Array) -> WinMatrix:
    np.fill_diagonal(wins, 0.0)
    np.fill_diagonal(played, 0.0)
    return WinMatrix(wins, played)


def beaten(merit: Array) -> Array:
    """How many of the others each merit beats; a tie counts one half."""
    order = np.sort(merit)
    return np.asarray(0.5 * (order.searchsorted(merit, "left") + order.searchsorted(merit, "right") - 1))


def _pushes(merit: Array, seen: NDArray[np.bool_], weights: Weights) -> Array:
    """[i, r]: scores of others, any round, that i's score of round r beats, plus scores of others in
    round r that i's scores of any round beat; ties one half. The other round counts by its weight."""
    values, place = np.unique(merit[seen], return_inverse=True)
    rank = np.zeros(merit.shape, np.int64)
    rank[seen] = place
    pushes = np.zeros(merit.shape)
    for other in range(merit.shape[1]):
        there = np.bincount(rank[seen[:, other], other], minlength=len(values))
        midrank = np.cumsum(there) - 0.5 * there
        own = merit[:, [other]]
        won = seen * (midrank[rank] - (merit > own) - 0.5 * (merit == own))  # [i, rounds of i]
        pushes += weights[other] * won
        pushes[:, other] += won @ weights
    return pushes
