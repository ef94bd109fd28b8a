"""The Unified Benchmark Ontology as data: players, scores with a direction, rounds, matches, tournaments.

Gosiewska, Woźnica and Biecek (2022), Tables 1–3, give each word one meaning:

player       who is compared                      a model
score        one number, with a stated direction  AUC, higher is better
round        one environment all players meet     a cross-validation split
match        two players' scores in one round     the higher score wins, equal scores tie
tournament   a set of replicated rounds           a data set
meta-score   strength over all rounds             EPP
leaderboard  players ordered by meta-score
scheme       who plays which part                 Model/CV, Model/Task, Dataset/Model
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.display import IN_NOTEBOOK, Grid, as_html
from camilla.errors import DataError, SettingError
from camilla.names import name_index, quoted, repeated
from camilla.table import score_tables
from camilla.table.columns import texts

if TYPE_CHECKING:
    from camilla.table.responses import ResponseTable


class Scheme(NamedTuple):
    """Which part of machine learning plays which part of the ontology."""

    player: str
    score: str
    round: str
    tournament: str
    leaderboard: str


SCHEMES = {
    "Model/CV": Scheme(
        player="model",
        score="performance measure",
        round="cross-validation split",
        tournament="data set",
        leaderboard="one ranking of models for each data set",
    ),
    "Model/Task": Scheme(
        player="model",
        score="defined by each task",
        round="task",
        tournament="the one set of tasks",
        leaderboard="one ranking of all models",
    ),
    "Dataset/Model": Scheme(
        player="data set",
        score="performance measure",
        round="model",
        tournament="set of models",
        leaderboard="one ranking of all data sets",
    ),
}


@dataclass(frozen=True, eq=False)
class Tournament:
    """Players × rounds of scores, or a list of matches that were played one by one.

    Exactly one of `scores` and `matches` is there. A NaN score is a match not played. What came in
    is checked here once; the ranking trusts it.
    """

    players: tuple[str, ...]
    rounds: tuple[str, ...]
    scores: NDArray[np.float64] | None = None  # [players, rounds], NaN where not played
    matches: score_tables.MatchList | None = None
    lower_is_better: bool = False
    scheme: str = "Model/CV"
    name: str = ""
    clusters: tuple[str, ...] | None = None  # [rounds]: rounds of one cluster depend on each other

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise SettingError(f"scheme {self.scheme!r} is not known; wanted one of {', '.join(SCHEMES)}.")
        _check_names(self)
        if (self.scores is None) == (self.matches is None):
            raise DataError("a tournament holds either scores or matches; give exactly one of them.")
        if self.scores is not None:
            object.__setattr__(self, "scores", np.asarray(self.scores, np.float64))
            _check_scores(self)
        if self.clusters is not None and (self.scores is None or len(self.clusters) != len(self.rounds)):
            raise DataError(
                f"{len(self.clusters)} clusters came for {len(self.rounds)} rounds of scores; name the "
                "cluster of every round. Matches that belong together share a round instead."
            )

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        kind = "" if self.matches is None else f", {len(self.matches.outcome)} matches"
        return (
            f"Tournament({name}{len(self.players)} players × {len(self.rounds)} rounds{kind}, {self.scheme})"
        )

    def _repr_html_(self) -> str:
        """Its size, and the players with the best mean score; of matches the number alone."""
        if self.scores is None:
            return as_html([repr(self)])
        played = np.isfinite(self.scores)
        mean = np.where(played, self.scores, 0).sum(axis=1) / np.maximum(played.sum(axis=1), 1)
        mean[~played.any(axis=1)] = np.nan
        first = np.argsort(mean if self.lower_is_better else -mean, kind="stable")[:IN_NOTEBOOK]
        frame = pl.DataFrame(
            {
                "player": [self.players[i] for i in first],
                "mean score": mean[first],
                "rounds": played.sum(axis=1)[first],
            }
        ).fill_nan(None)
        tail = f"; the first {len(first)} by mean score" if len(self.players) > len(first) else ""
        return as_html([Grid(f"{self!r}{tail}", frame)])

    @property
    def merit(self) -> NDArray[np.float64]:
        """Scores [players, rounds] turned so that more is better."""
        if self.scores is None:
            raise SettingError(
                "this tournament is a list of matches and has no scores. "
                "Use matches='same_round', and pictures that need no score."
            )
        return -self.scores if self.lower_is_better else self.scores

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        player: str = "player",
        round: str | Sequence[str] = "round",
        score: str = "score",
        tournament: str | None = None,
        cluster: str | None = None,
        lower_is_better: bool | None = None,
        missing: str | Sequence[str] = (),
        scheme: str = "Model/CV",
    ) -> Self:
        """One row per (player, round); any dataframe. A table of several tournaments: `split`.

        `round` may be several columns, such as task and fold. Rounds with the same `cluster`, such as the
        folds of one task, depend on each other. `missing` are texts that stand for a missing score.
        """
        origin = score_tables.SCORES._replace(missing=texts(missing))
        found = score_tables.long_tables(frame, player, round, score, tournament, origin, cluster=cluster)
        if len(found) > 1:
            raise DataError(
                f"column {tournament!r} names {len(found)} tournaments: {quoted(list(found))}. "
                "One tournament has one leaderboard; use Tournament.split for all of them."
            )
        lower = score_tables.direction([score], lower_is_better)
        ((name, table),) = found.items()
        return cls.of(score_tables.usable(table), lower_is_better=lower, scheme=scheme, name=name)

    @classmethod
    def of(cls, table: score_tables.ScoreTable, **settings: Any) -> Self:
        """The tournament of a table of scores."""
        return cls(table.players, table.rounds, table.scores, clusters=table.clusters, **settings)

    @classmethod
    def split(
        cls,
        frame: Any,
        *,
        tournament: str = "tournament",
        player: str = "player",
        round: str | Sequence[str] = "round",
        score: str = "score",
        cluster: str | None = None,
        lower_is_better: bool | None = None,
        missing: str | Sequence[str] = (),
        scheme: str = "Model/CV",
    ) -> dict[str, Self]:
        """The tournaments of a long table by name, in order of appearance; all of them must be usable."""
        lower = score_tables.direction([score], lower_is_better)
        origin = score_tables.SCORES._replace(missing=texts(missing))
        tables = score_tables.long_tables(frame, player, round, score, tournament, origin, cluster=cluster)
        found = cls.each(tables, lower_is_better=lower, scheme=scheme)
        if found.problems:
            raise DataError(found.report())
        return found.usable  # type: ignore[return-value]

    @classmethod
    def each(
        cls,
        tables: "Mapping[str, score_tables.ScoreTable | DataError]",
        *,
        lower_is_better: bool,
        scheme: str = "Model/CV",
    ) -> "Tournaments":
        """A tournament for each table that can be used, and what is wrong with the others."""
        found = Tournaments({}, {})
        for name, table in tables.items():
            try:
                found.usable[name] = cls.of(
                    score_tables.usable(table), lower_is_better=lower_is_better, scheme=scheme, name=name
                )
            except DataError as error:
                found.problems[name] = str(error)
        return found

    @classmethod
    def from_wide(
        cls,
        frame: Any,
        *,
        player: str = "player",
        ignore: Sequence[str] = (),
        average_metrics: bool = False,
        lower_is_better: bool | None = None,
        missing: str | Sequence[str] = (),
        scheme: str = "Model/Task",
    ) -> Self:
        """One row per player, one column per round; `ignore` names columns that are no scores.

        Where no column is called as `player` says, the index of a pandas frame names the players. With
        `average_metrics`, columns `task_a` and `task_b` and cells `91.0/88.5` are two metrics of one task and
        become their mean, so that every task counts once. `missing` are texts that stand for a missing score.
        """
        origin = score_tables.SCORES._replace(missing=texts(missing))
        table = score_tables.wide_table(frame, player, ignore, average_metrics, origin)
        lower = score_tables.direction(table.rounds, lower_is_better)
        return cls.of(table, lower_is_better=lower, scheme=scheme)

    @classmethod
    def from_matches(
        cls,
        frame: Any,
        *,
        player_a: str = "player_a",
        player_b: str = "player_b",
        winner: str | None = None,
        probability: str | None = None,
        round: str | None = None,
        scheme: str = "Model/Task",
    ) -> Self:
        """One row per match: who won (a name, `a`, `b`, a column's name, `tie`), or P(player_a wins).

        Matches with the same `round` (a prompt, a judge) depend on each other; without that column
        every match is a round of its own.
        """
        table = score_tables.read_matches(frame, player_a, player_b, winner, probability, round)
        return cls(table.players, table.rounds, matches=table.matches, scheme=scheme)

    @classmethod
    def from_responses(cls, table: "ResponseTable", *, rounds: str = "task") -> Self:
        """Learners become players; a score is a learner's mean response in a task, sample or trial."""
        return cls.of(score_tables.response_table(table, rounds), scheme="Model/Task")

    def append(self, other: "Tournament") -> Self:
        """The rounds of both; a player absent from one of them has missing scores there."""
        if self.scores is None or other.scores is None:
            raise SettingError("only tournaments with scores can be appended; concatenate the match tables.")
        if self.lower_is_better != other.lower_is_better:
            raise DataError("one tournament says lower is better, the other higher; turn one of them.")
        if shared := sorted(set(self.rounds) & set(other.rounds)):
            raise DataError(f"rounds {quoted(shared)} are in both tournaments. Rename the new ones.")
        if (self.clusters is None) != (other.clusters is None):
            raise DataError("one tournament names clusters of rounds, the other does not; name them in both.")
        players = tuple(dict.fromkeys(self.players + other.players))
        scores = np.full((len(players), len(self.rounds) + len(other.rounds)), np.nan)
        place = name_index(players)
        scores[[place[name] for name in self.players], : len(self.rounds)] = self.scores
        scores[[place[name] for name in other.players], len(self.rounds) :] = other.scores
        clusters = None if self.clusters is None else self.clusters + (other.clusters or ())
        return replace(
            self, players=players, rounds=self.rounds + other.rounds, scores=scores, clusters=clusters
        )

    def with_player(self, name: str, scores: Mapping[str, float]) -> Self:
        """The same rounds with one more player; rounds left out of `scores` were not played."""
        if self.scores is None:
            raise SettingError("a player joins a list of matches by its own rows; add them to the table.")
        if unknown := sorted(set(scores) - set(self.rounds)):
            raise DataError(f"rounds {quoted(unknown)} are not in this tournament; append them first.")
        row = np.array([[scores.get(one, np.nan) for one in self.rounds]], np.float64)
        return replace(self, players=(*self.players, name), scores=np.vstack([self.scores, row]))

    def digest(self) -> str:
        """SHA-256 of what a fit sees: names, direction, scores or matches."""
        seen = [self.players, self.rounds, self.lower_is_better]
        if self.clusters is not None:
            seen.append(self.clusters)
        sha = hashlib.sha256(json.dumps(seen).encode())
        parts = [self.scores] if self.matches is None else self.matches
        for numbers in parts:
            sha.update(np.ascontiguousarray(numbers, "<f8").tobytes())
        return sha.hexdigest()


class Tournaments(NamedTuple):
    """The tournaments of a table by name, and what is wrong with those that cannot be used."""

    usable: dict[str, Tournament]
    problems: dict[str, str]

    def report(self) -> str:
        """The first problem with its tournament's name, and how many others there are."""
        (name, problem), *others = self.problems.items()
        more = (
            f" {len(others)} more cannot be used: {quoted([other for other, _ in others])}." if others else ""
        )
        return f"tournament {name!r}: {problem}{more}" if name else problem


def _check_names(tournament: Tournament) -> None:
    for kind, names in (("player", tournament.players), ("round", tournament.rounds)):
        if len(set(names)) < len(names):
            raise DataError(
                f"{kind} {quoted(repeated(names))} occurs more than once; each {kind} is one row. "
                "Give different names, or average repeated runs."
            )
    if len(tournament.players) < 2:
        came = f"one player, {tournament.players[0]!r}" if tournament.players else "no player"
        raise DataError(f"the tournament has {came}; a match needs two. Check the player column.")


def _check_scores(tournament: Tournament) -> None:
    scores = tournament.scores
    wanted = (len(tournament.players), len(tournament.rounds))
    if scores is None or scores.shape != wanted:
        came = None if scores is None else scores.shape
        raise DataError(f"scores have shape {came}; [players, rounds] = {wanted} was wanted.")
    if np.isinf(scores).any():
        player, round_ = np.argwhere(np.isinf(scores))[0]
        raise DataError(
            f"a score must be finite or missing; {tournament.players[player]!r} in round "
            f"{tournament.rounds[round_]!r} has {scores[player, round_]:g}. Leave such a score empty."
        )
    absent = np.flatnonzero(np.isnan(scores).all(axis=1))
    if len(absent):
        names = [tournament.players[i] for i in absent]
        raise DataError(f"players {quoted(names)} have no score in any round. Remove their rows.")
