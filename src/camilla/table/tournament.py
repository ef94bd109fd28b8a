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
    """Scores of players in rounds, or a list of matches between two players.

    A tournament has either `scores` or `matches`. The words are those of the Unified Benchmark Ontology
    (Gosiewska, Woźnica and Biecek, 2022).

    Parameters
    ----------
    players, rounds : tuple of str
        Names.
    scores : array of float, optional
        [players, rounds], NaN where a player did not play or failed.
    matches : MatchList, optional
        Matches that were played one by one.
    lower_is_better : bool
        Whether the lower score wins.
    scheme : {"Model/CV", "Model/Task", "Dataset/Model"}
        What plays the part of player and round.
    name : str
        Name of the tournament.
    clusters : tuple of str, optional
        For each round, its cluster. Rounds of one cluster, such as the folds of a task, depend on each other.

    Examples
    --------
    >>> scores = {"model": ["a", "b"], "t1": [0.9, 0.8], "t2": [0.7, 0.8], "t3": [0.6, 0.5]}
    >>> camilla.Tournament.from_wide(pl.DataFrame(scores), player="model")
    Tournament(2 players × 3 rounds, Model/Task)
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
            raise SettingError(f"scheme {self.scheme!r} is not known; expected one of {', '.join(SCHEMES)}.")
        _check_names(self)
        if (self.scores is None) == (self.matches is None):
            raise DataError("a tournament contains either scores or matches; give exactly one of them.")
        if self.scores is not None:
            object.__setattr__(self, "scores", np.asarray(self.scores, np.float64))
            _check_scores(self)
        if self.clusters is not None and (self.scores is None or len(self.clusters) != len(self.rounds)):
            raise DataError(
                f"got {len(self.clusters)} clusters for {len(self.rounds)} rounds of scores; name the "
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
        """Makes a tournament from a dataframe with one row per player and round.

        Parameters
        ----------
        frame : dataframe
            Polars, pandas, PyArrow, or anything else that narwhals takes.
        player, score : str
            Columns of the player and the score.
        round : str or list of str
            Column of the round, or several columns, such as task and fold.
        tournament : str, optional
            Column that names the tournament. Use `split` where it names several.
        cluster : str, optional
            Column of the round's cluster. Rounds of one cluster depend on each other.
        lower_is_better : bool, optional
            The direction of the score. Scores called rmse, mae, error or loss need it.
        missing : str or list of str
            Texts that stand for a missing score.
        scheme : {"Model/CV", "Model/Task", "Dataset/Model"}
            What plays the part of player and round.

        Returns
        -------
        Tournament
            The scores.

        Examples
        --------
        >>> frame = pl.DataFrame({"player": ["a", "b"] * 2, "round": [1, 1, 2, 2], "score": [3, 2, 5, 6]})
        >>> camilla.Tournament.from_long(frame)
        Tournament(2 players × 2 rounds, Model/CV)
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
        """Makes a tournament of a checked table of scores.

        Parameters
        ----------
        table : ScoreTable
            Players, rounds, scores and clusters.
        **settings
            `lower_is_better`, `scheme` and `name`.

        Returns
        -------
        Tournament
            The scores.

        Examples
        --------
        >>> from camilla.table.score_tables import ScoreTable
        >>> table = ScoreTable(("a", "b"), ("t1",), np.array([[3.0], [2.0]]))
        >>> camilla.Tournament.of(table, scheme="Model/Task")
        Tournament(2 players × 1 rounds, Model/Task)
        """
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
        """Makes one tournament for each name in a column of a long dataframe.

        Parameters
        ----------
        frame : dataframe
            One row per tournament, player and round.
        tournament : str
            Column that names the tournament.
        player, round, score, cluster
            As in `from_long`.
        lower_is_better, missing, scheme
            As in `from_long`.

        Returns
        -------
        dict of str to Tournament
            In order of appearance.

        Raises
        ------
        DataError
            One of the tournaments cannot be used.

        Examples
        --------
        >>> frame = pl.DataFrame({"tournament": ["x", "x", "y", "y"], "player": ["a", "b"] * 2,
        ...                       "round": [1, 1, 1, 1], "score": [3, 2, 5, 6]})
        >>> list(camilla.Tournament.split(frame))
        ['x', 'y']
        """
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
        """Makes a tournament of each table that can be used.

        Parameters
        ----------
        tables : mapping of str to ScoreTable
            Tables by name; an error in place of a table is passed on.
        lower_is_better : bool
            The direction of the scores.
        scheme : {"Model/CV", "Model/Task", "Dataset/Model"}
            What plays the part of player and round.

        Returns
        -------
        Tournaments
            `usable` by name, and `problems`: why the others cannot be used.

        Examples
        --------
        >>> from camilla.table.score_tables import ScoreTable
        >>> tables = {"x": ScoreTable(("a", "b"), ("t1",), np.array([[3.0], [2.0]]))}
        >>> camilla.Tournament.each(tables, lower_is_better=False).usable["x"]
        Tournament('x', 2 players × 1 rounds, Model/CV)
        """
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
        """Makes a tournament from a dataframe with one row per player and one column per round.

        Parameters
        ----------
        frame : dataframe
            Polars, pandas, PyArrow, or anything else that narwhals takes.
        player : str
            Column of the player. Without it the index of a pandas frame names the players.
        ignore : list of str
            Columns that are not scores.
        average_metrics : bool
            Whether columns such as `task_a` and `task_b`, and cells such as `91.0/88.5`, are several metrics
            of one task and become their mean, so that every task counts once.
        lower_is_better : bool, optional
            The direction of the scores.
        missing : str or list of str
            Texts that stand for a missing score.
        scheme : {"Model/CV", "Model/Task", "Dataset/Model"}
            What plays the part of player and round.

        Returns
        -------
        Tournament
            The scores.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
        >>> tournament.rounds
        ('t1', 't2', 't3', 't4')
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
        """Makes a tournament from a dataframe with one row per match, such as a chatbot arena.

        Parameters
        ----------
        frame : dataframe
            Polars, pandas, PyArrow, or anything else that narwhals takes.
        player_a, player_b : str
            Columns of the two players.
        winner : str, optional
            Column of the winner: a player's name, `a`, `b`, the name of a column, or `tie`.
        probability : str, optional
            Column of P(player_a wins), instead of a winner.
        round : str, optional
            Column of the round. Matches of one round (a prompt, a judge) depend on each other. Without it
            every match is a round of its own.
        scheme : {"Model/CV", "Model/Task", "Dataset/Model"}
            What plays the part of player and round.

        Returns
        -------
        Tournament
            The matches.

        Examples
        --------
        >>> frame = pl.DataFrame({"player_a": ["x", "y"], "player_b": ["y", "z"], "winner": ["a", "tie"]})
        >>> camilla.Tournament.from_matches(frame, winner="winner")
        Tournament(3 players × 2 rounds, 2 matches, Model/Task)
        """
        table = score_tables.read_matches(frame, player_a, player_b, winner, probability, round)
        return cls(table.players, table.rounds, matches=table.matches, scheme=scheme)

    @classmethod
    def from_responses(cls, table: "ResponseTable", *, rounds: str = "task") -> Self:
        """Makes a tournament of a response table. Learners become players.

        Parameters
        ----------
        table : ResponseTable
            Responses.
        rounds : {"task", "sample", "trial"}
            What a round is. The score is the learner's mean response in it.

        Returns
        -------
        Tournament
            The scores.

        Examples
        --------
        >>> camilla.Tournament.from_responses(camilla.simulate(5, 20, seed=1).table, rounds="sample")
        Tournament(5 players × 20 rounds, Model/Task)
        """
        return cls.of(score_tables.response_table(table, rounds), scheme="Model/Task")

    def append(self, other: "Tournament") -> Self:
        """Adds the rounds of another tournament.

        Parameters
        ----------
        other : Tournament
            Other rounds of the same direction. Players that are in one tournament only have missing scores in
            the other.

        Returns
        -------
        Tournament
            The rounds of both.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
        >>> more = camilla.Tournament.from_wide(pl.DataFrame({"player": ["a", "d"], "t5": [3, 4]}))
        >>> tournament.append(more)
        Tournament(4 players × 5 rounds, Model/Task)
        """
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
        """Adds one player to the same rounds.

        Parameters
        ----------
        name : str
            Name of the player.
        scores : mapping of str to float
            Scores by round. The player did not play the rounds that are left out.

        Returns
        -------
        Tournament
            The tournament with one more player.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
        >>> tournament.with_player("d", {"t1": 8, "t2": 9}).players
        ('a', 'b', 'c', 'd')
        """
        if self.scores is None:
            raise SettingError("a player joins a list of matches by its own rows; add them to the table.")
        if unknown := sorted(set(scores) - set(self.rounds)):
            raise DataError(f"rounds {quoted(unknown)} are not in this tournament; append them first.")
        row = np.array([[scores.get(one, np.nan) for one in self.rounds]], np.float64)
        return replace(self, players=(*self.players, name), scores=np.vstack([self.scores, row]))

    def digest(self) -> str:
        """Returns a fingerprint of the data: the SHA-256 of names, direction, and scores or matches.

        Returns
        -------
        str
            64 hexadecimal digits.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> tournament = camilla.Tournament.from_wide(pl.DataFrame(wins))
        >>> len(tournament.digest())
        64
        """
        seen = [self.players, self.rounds, self.lower_is_better]
        if self.clusters is not None:
            seen.append(self.clusters)
        sha = hashlib.sha256(json.dumps(seen).encode())
        parts = [self.scores] if self.matches is None else self.matches
        for numbers in parts:
            sha.update(np.ascontiguousarray(numbers, "<f8").tobytes())
        return sha.hexdigest()


class Tournaments(NamedTuple):
    """The tournaments of a table by name, and what is wrong with those that cannot be used.

    Attributes
    ----------
    usable : dict
        The tournaments that can be ranked, by name.
    problems : dict
        What is wrong with the others, by name.

    Examples
    --------
    >>> from camilla.table.score_tables import ScoreTable
    >>> tables = {"x": ScoreTable(("a", "b"), ("t1",), np.array([[3.0], [2.0]]))}
    >>> tournaments = camilla.Tournament.each(tables, lower_is_better=False)
    >>> list(tournaments.usable)
    ['x']
    """

    usable: dict[str, Tournament]
    problems: dict[str, str]

    def report(self) -> str:
        """Returns the first problem with its tournament's name, and how many others there are.

        Returns
        -------
        str
            A sentence.

        Examples
        --------
        >>> from camilla.table.score_tables import ScoreTable
        >>> tables = {"x": ScoreTable(("a", "b"), ("t1",), np.array([[3.0], [2.0]]))}
        >>> tournaments = camilla.Tournament.each(tables, lower_is_better=False)
        >>> type(tournaments)({}, {"x": "it has one player"}).report()[:40]
        "tournament 'x': it has one player"
        """
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
        raise DataError(f"scores have shape {came}; expected [players, rounds] = {wanted}.")
    if np.isinf(scores).any():
        player, round_ = np.argwhere(np.isinf(scores))[0]
        raise DataError(
            f"a score must be finite or missing; {tournament.players[player]!r} in round "
            f"{tournament.rounds[round_]!r} has {scores[player, round_]:g}. Leave such a score empty."
        )
