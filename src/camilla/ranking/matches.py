"""Scores to matches, without building pairs: a record counts wins and splits the score by round.

A record answers two questions, whatever the matches came from. `count`: how often did i beat j?
`residuals`: how much did each round push each player's strength, at given strengths? The first is
all that the estimate needs, the second is all that honest standard errors need.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from camilla.arrays import sigmoid
from camilla.errors import SettingError
from camilla.table.score_tables import MatchList
from camilla.table.tournament import Tournament

Array = NDArray[np.float64]
MATCHES = ("same_round", "all_rounds")


class WinMatrix(NamedTuple):
    """Wins of row over column, a tie as one half to each, and matches played; zero diagonals."""

    wins: Array  # [players, players]
    played: Array  # [players, players], symmetric


class Record(Protocol):
    """What the estimate and its uncertainty ask of a tournament."""

    @property
    def n_rounds(self) -> int: ...
    def count(self, weights: NDArray[np.int64] | None = None) -> WinMatrix: ...
    def residuals(self, strength: Array) -> Array | csr_array: ...


def record_of(tournament: Tournament, matches: str) -> Record:
    """The tournament's record when matches are made within a round, or across all rounds."""
    if matches not in MATCHES:
        raise SettingError(f"matches {matches!r} is not known; wanted one of {', '.join(MATCHES)}.")
    if tournament.matches is not None:
        if matches == "all_rounds":
            raise SettingError("a list of matches has no scores to compare across rounds; use same_round.")
        return Listed(tournament.matches, len(tournament.players))
    merit = tournament.merit
    needed = 2 if matches == "same_round" else 1
    merit = merit[:, np.isfinite(merit).sum(axis=0) >= needed]
    return SameRound(merit) if matches == "same_round" else AllRounds(merit)


@dataclass(frozen=True, eq=False)
class SameRound:
    """One match for each pair and round."""

    merit: Array  # [players, rounds], higher is better, NaN where not played

    @property
    def n_rounds(self) -> int:
        return int(self.merit.shape[1])

    def count(self, weights: NDArray[np.int64] | None = None) -> WinMatrix:
        """Wins over rounds; round r counts `weights[r]` times."""
        n = len(self.merit)
        if weights is None:
            weights = np.ones(self.n_rounds, np.int64)
        narrow = np.uint16 if weights.sum() < 2**16 else np.uint32
        wins, ties = np.zeros((n, n), narrow), np.zeros((n, n), narrow)
        for round_ in np.flatnonzero(weights):
            rank = _ranks(self.merit[:, round_])
            beats = rank.as_winner[:, None] > rank.as_loser[None, :]
            wins += beats if weights[round_] == 1 else beats * narrow(weights[round_])
            if rank.tied:
                ties += (rank.as_winner[:, None] == rank.as_loser[None, :]) * narrow(weights[round_])
        seen = np.isfinite(self.merit).astype(np.float64)
        return _off_diagonal(wins + 0.5 * ties, (seen * weights) @ seen.T)

    def residuals(self, strength: Array) -> Array:
        """g[i, r] = Σ_j (y_ijr − p_ij): wins of i in round r less what its strength foresees."""
        seen = np.isfinite(self.merit)
        won = np.zeros(self.merit.shape)
        for round_ in range(self.n_rounds):
            there = seen[:, round_]
            won[there, round_] = beaten(self.merit[there, round_])
        return won - seen * (win_probability(strength) @ seen)


@dataclass(frozen=True, eq=False)
class AllRounds:
    """Every score of i against every score of j: R × R matches for each pair, never built."""

    merit: Array  # [players, rounds], higher is better, NaN where not played

    @property
    def n_rounds(self) -> int:
        return int(self.merit.shape[1])

    def count(self, weights: NDArray[np.int64] | None = None) -> WinMatrix:
        """Walks the scores in increasing order with a running count for each player.

        When a score of i passes, row i gains the count of scores already passed. The count goes up
        by one half before and one half after its own value, so ties share; all numbers are doubled
        to stay whole.
        """
        n = len(self.merit)
        if weights is None:
            weights = np.ones(self.n_rounds, np.int64)
        player, round_ = np.nonzero(np.isfinite(self.merit) & (weights > 0))
        weight = weights[round_].astype(np.int32)
        merit = self.merit[player, round_]
        order = np.argsort(merit, kind="stable")
        player, weight, merit = player[order], weight[order], merit[order]
        starts = np.flatnonzero(np.concatenate(([True], np.diff(merit) > 0)))
        twice = _walk(player, weight, [*starts.tolist(), len(merit)], n)
        total = np.bincount(player, weight.astype(np.float64), n)
        return _off_diagonal(0.5 * twice, np.asarray(np.outer(total, total), np.float64))

    def residuals(self, strength: Array) -> Array:
        """g[i, r] = Σ_j Σ_s (y_ir,js − p_ij) + (y_is,jr − p_ij): what round r adds from either side.

        The estimate is a function of pairs of rounds; this is its derivative in round r's weight,
        so Σ_r g gᵀ is the infinitesimal jackknife over rounds.
        """
        seen = np.isfinite(self.merit)
        foreseen = win_probability(strength) @ seen  # [players, rounds]
        expected = seen * foreseen.sum(axis=1, keepdims=True) + seen.sum(axis=1, keepdims=True) * foreseen
        return np.asarray(_pushes(self.merit, seen) - expected)


@dataclass(frozen=True, eq=False)
class Listed:
    """Matches as they were played; those of one round depend on each other."""

    matches: MatchList
    n_players: int

    @property
    def n_rounds(self) -> int:
        return int(self.matches.round.max()) + 1

    def count(self, weights: NDArray[np.int64] | None = None) -> WinMatrix:
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


def _walk(player: NDArray[np.int64], weight: NDArray[np.int32], bounds: list[int], n: int) -> Array:
    """Twice the wins [players, players]; scores between two bounds are tied."""
    twice = np.zeros((n, n), np.int64 if weight.sum() > 30_000 else np.int32)
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
    """A round's ranks from 1, as integers; a missing score neither beats nor is beaten."""

    as_winner: NDArray[np.uint32]  # 0 where missing
    as_loser: NDArray[np.uint32]  # the largest integer where missing
    tied: bool


def _ranks(merit: Array) -> _Ranks:
    seen = np.isfinite(merit)
    values, rank = np.unique(merit[seen], return_inverse=True)
    winner = np.zeros(len(merit), np.uint32)
    loser = np.full(len(merit), np.iinfo(np.uint32).max, np.uint32)
    winner[seen] = loser[seen] = rank + 1
    return _Ranks(winner, loser, len(values) < seen.sum())


def _off_diagonal(wins: Array, played: Array) -> WinMatrix:
    np.fill_diagonal(wins, 0.0)
    np.fill_diagonal(played, 0.0)
    return WinMatrix(wins, played)


def beaten(merit: Array) -> Array:
    """How many of the others each merit beats; a tie counts one half."""
    order = np.sort(merit)
    return np.asarray(0.5 * (order.searchsorted(merit, "left") + order.searchsorted(merit, "right") - 1))


def _pushes(merit: Array, seen: NDArray[np.bool_]) -> Array:
    """[i, r]: scores of others, any round, that i's score of round r beats, plus scores of others in
    round r that i's scores of any round beat; ties one half."""
    values, place = np.unique(merit[seen], return_inverse=True)
    rank = np.zeros(merit.shape, np.int64)
    rank[seen] = place
    pushes = np.zeros(merit.shape)
    for other in range(merit.shape[1]):
        there = np.bincount(rank[seen[:, other], other], minlength=len(values))
        midrank = np.cumsum(there) - 0.5 * there
        own = merit[:, [other]]
        won = seen * (midrank[rank] - (merit > own) - 0.5 * (merit == own))  # [i, rounds of i]
        pushes += won
        pushes[:, other] += won.sum(axis=1)
    return pushes
