"""Frames of scores and of matches as the arrays of a tournament."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError
from camilla.names import in_quotes, name_index, quoted
from camilla.table.columns import (
    PROBABILITY,
    SCORE,
    Encoded,
    Origin,
    holds_words,
    name_column,
    number_column,
    pick,
)
from camilla.table.frames import as_polars, indexed

if TYPE_CHECKING:
    from camilla.table.responses import ResponseTable

SCORES = Origin("the scores")
MATCHES = Origin("the matches")
LOWER_WORDS = {
    "brier",
    "cer",
    "crossentropy",
    "deviance",
    "error",
    "errors",
    "logloss",
    "loss",
    "mae",
    "mse",
    "nll",
    "perplexity",
    "ppl",
    "rmse",
    "wer",
}
TWO_IN_A_CELL = r"^\s*-?[\d.]+\s*/\s*-?[\d.]+\s*$"
TWO_METRICS = re.compile(r"(?P<task>.+)[_-](?P<metric>[ab])$")


class ScoreTable(NamedTuple):
    """Scores with the names of their rows and columns."""

    players: tuple[str, ...]
    rounds: tuple[str, ...]
    scores: NDArray[np.float64]  # [players, rounds], NaN where missing
    clusters: tuple[str, ...] | None = None  # [rounds]: rounds of one cluster depend on each other


def direction(names: Iterable[str], lower_is_better: bool | None) -> bool:
    """Whether lower is better; it must be said when a name sounds like an error."""
    if lower_is_better is not None:
        return lower_is_better
    for name in names:
        if LOWER_WORDS & set(re.split(r"[^a-z]+", name.lower())):
            raise SettingError(
                f"scores called {name!r} may be better when lower. Say which: --lower-is-better or "
                "--higher-is-better (lower_is_better=True or False)."
            )
    return False


def long_tables(
    frame: Any,
    player: str,
    round_: str | Sequence[str],
    score: str,
    tournament: str | None,
    origin: Origin = SCORES,
    *,
    cluster: str | None = None,
) -> dict[str, "ScoreTable | DataError"]:
    """Score tables by tournament, in order of appearance; without that column one table named ''.

    A tournament whose scores cannot be used has the error in place of its table, so that others can.
    Several columns name a round together. A round that occurs in several clusters is one round in each.
    """
    table = _not_empty(as_polars(frame), origin)
    players = name_column(table, player, origin)
    rounds = _round_names(table, round_, origin)
    clusters = None if cluster is None else name_column(table, cluster, origin)
    if clusters is not None and not _is_inside(rounds, clusters):
        rounds = _joined_names([clusters, rounds])
    scores = pick(table, score, origin)
    if tournament is None:
        return {"": _usable_table(players, rounds, clusters, scores, origin)}
    belongs = name_column(table, tournament, origin)
    order = np.argsort(belongs.codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(belongs.codes))[:-1])
    return {
        name: _usable_table(
            players.take(rows),
            rounds.take(rows),
            clusters and clusters.take(rows),
            scores.gather(rows),
            origin.at(rows),
        )
        for name, rows in zip(belongs.names, parts, strict=True)
    }


def streamed_table(
    batches: Callable[[], Iterable[tuple[pl.DataFrame, Origin]]], player: str, round_: str, score: str
) -> ScoreTable:
    """The score table of a long table that comes in stretches of rows, gone through twice.

    Nine bytes are held for each player and round; rows are not.
    """
    names: tuple[dict[str, int], dict[str, int]] = {}, {}
    for frame, origin in batches():
        for known, encoded in zip(names, _both_names(frame, player, round_, origin), strict=True):
            for name in encoded.names:
                known.setdefault(name, len(known))
    n_rounds = len(names[1])
    scores = np.full(len(names[0]) * n_rounds, np.nan)
    given = np.zeros(len(scores), bool)
    for frame, origin in batches():
        row, column = (
            np.array([known[name] for name in encoded.names], np.int64)[encoded.codes]
            for known, encoded in zip(names, _both_names(frame, player, round_, origin), strict=True)
        )
        cell = row * n_rounds + column
        again = given[cell]
        if not again.any():
            order = np.argsort(cell, kind="stable")
            again = np.zeros(len(cell), bool)
            again[order[1:]] = cell[order][1:] == cell[order][:-1]
        if again.any():
            p, r = divmod(int(cell[again.argmax()]), n_rounds)
            raise DataError(
                f"{origin.name}: player {list(names[0])[p]!r} has another score in round "
                f"{list(names[1])[r]!r}, {origin.place(int(again.argmax()))}; expected one. Average them, "
                "or name the rounds apart."
            )
        given[cell] = True
        scores[cell] = number_column(pick(frame, score, origin), SCORE, origin)
    return ScoreTable(tuple(names[0]), tuple(names[1]), scores.reshape(len(names[0]), n_rounds))


def _both_names(frame: pl.DataFrame, player: str, round_: str, origin: Origin) -> tuple[Encoded, Encoded]:
    return name_column(frame, player, origin), _round_names(frame, round_, origin)


def _round_names(table: pl.DataFrame, columns: str | Sequence[str], origin: Origin) -> Encoded:
    """The round of each row; `task,fold` are two columns unless one column is called so."""
    if isinstance(columns, str):
        columns = [columns] if columns in table.columns else columns.split(",")
    return _joined_names([name_column(table, name, origin) for name in columns])


def _joined_names(parts: Sequence[Encoded]) -> Encoded:
    """Names of several columns as one: adult and 0 are adult/0."""
    if len(parts) == 1:
        return parts[0]
    columns = [part.column(str(k)) for k, part in enumerate(parts)]
    joined = pl.DataFrame(columns).select(name=pl.concat_str(pl.all(), separator="/"))
    return name_column(joined, "name", SCORES)


def _is_inside(rounds: Encoded, clusters: Encoded) -> bool:
    """Whether every round lies in one cluster."""
    pairs = rounds.codes.astype(np.int64) * len(clusters.names) + clusters.codes
    return len(np.unique(pairs)) == len(rounds.names)


def usable(table: "ScoreTable | DataError") -> "ScoreTable":
    """The table, or what is wrong with it as an error."""
    if isinstance(table, DataError):
        raise table
    return table


def _usable_table(
    players: Encoded, rounds: Encoded, clusters: Encoded | None, scores: pl.Series, origin: Origin
) -> "ScoreTable | DataError":
    try:
        table = _one_table(players, rounds, number_column(scores, SCORE, origin), origin)
    except DataError as error:
        return error
    if clusters is None:
        return table
    of_round = np.empty(len(rounds.names), np.int64)
    of_round[rounds.codes] = clusters.codes
    return table._replace(clusters=tuple(clusters.names[code] for code in of_round))


def _one_table(players: Encoded, rounds: Encoded, score: NDArray[np.float64], origin: Origin) -> "ScoreTable":
    row, column = players.codes.astype(np.int64), rounds.codes.astype(np.int64)
    cell = row * len(rounds.names) + column
    counts = np.bincount(cell, minlength=len(players.names) * len(rounds.names))
    if counts.max() > 1:
        first = int(np.argmax(counts))
        p, r = divmod(first, len(rounds.names))
        places = [origin.place(int(at)) for at in np.flatnonzero(cell == first)[:2]]
        raise DataError(
            f"{origin.name}: player {players.names[p]!r} has {counts[first]} scores in round "
            f"{rounds.names[r]!r}, first in {' and '.join(places)}; expected one. {int((counts > 1).sum())} "
            "(player, round) pairs are repeated. Average them, or name the rounds apart."
        )
    scores = np.full((len(players.names), len(rounds.names)), np.nan)
    scores[row, column] = score
    return ScoreTable(players.names, rounds.names, scores)


def wide_table(
    frame: Any, player: str, ignore: Sequence[str], average_metrics: bool, origin: Origin = SCORES
) -> "ScoreTable":
    """One row per player; every column that is neither `player` nor ignored is a round.

    Where no column is called as `player` says, the index of a pandas frame names the players.
    """
    found = indexed(frame)
    table = _not_empty(found.frame, origin)
    if player in table.columns or not found.levels:
        table = table.drop(name for name in found.levels if name != player)
    else:
        table, player = found.named_by(None, origin)
    if unknown := [name for name in ignore if name not in table.columns]:
        raise SettingError(
            f"columns to ignore {quoted(unknown)} are not in the table: {quoted(table.columns)}."
        )
    players = name_column(table, player, origin).column(player)
    rounds = [name for name in table.columns if name != player and name not in set(ignore)]
    if not rounds:
        raise DataError(f"{origin.name}: has no column besides {player!r}; expected one column per round.")
    columns = {name: _round_column(table.get_column(name), average_metrics, origin) for name in rounds}
    if average_metrics:
        columns = _joined(columns)
    return ScoreTable(tuple(players), tuple(columns), np.column_stack(list(columns.values())))


def _not_empty(table: pl.DataFrame, origin: Origin) -> pl.DataFrame:
    if table.height == 0:
        raise DataError(f"{origin.name}: the table has no rows; expected scores of at least two players.")
    return table


def _round_column(column: pl.Series, average_metrics: bool, origin: Origin) -> NDArray[np.float64]:
    text = column.cast(pl.String) if column.dtype == pl.String else None
    two = None if text is None else text.str.contains(TWO_IN_A_CELL).fill_null(value=False)
    if text is None or two is None or not two.any():
        words = f"If {in_quotes(column.name)} contains no scores, pass over it: ignore=… (--ignore)."
        return number_column(column, SCORE, origin, remedy=words if holds_words(column) else "")
    if not average_metrics:
        raise DataError(
            f"{origin.name}: column {column.name!r} contains two metrics in one cell "
            f"({text.filter(two)[0]!r}). Ask for their mean with --average-metrics (average_metrics=True), "
            "or split the column."
        )
    halves = text.str.split("/").list
    ends = [number_column(end, SCORE, origin) for end in (halves.first(), halves.last())]
    return np.asarray(np.mean(ends, axis=0), np.float64)


def _joined(columns: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """`CB_a` and `CB_b` to their mean `CB`; a column without its twin stays."""
    parts: dict[str, list[str]] = {}
    for name in columns:
        found = TWO_METRICS.match(name)
        parts.setdefault(found["task"] if found else name, []).append(name)
    joined = {}
    for task, names in parts.items():
        key = task if len(names) == 2 else names[0]
        joined[key] = np.mean([columns[name] for name in names], axis=0)
    return joined


def response_table(table: "ResponseTable", rounds: str) -> ScoreTable:
    """Mean response of every learner in every task, sample or trial; NaN where it has none."""
    match rounds:
        case "task":
            if table.task is None:
                raise SettingError("the table has no tasks; use rounds='sample' or give a task column.")
            names = tuple(dict.fromkeys(table.task))
            place = name_index(names)
            column = np.array([place[name] for name in table.task])[table.sample]
        case "sample":
            names, column = table.samples, table.sample
        case "trial":
            if table.trial is None:
                raise SettingError("the table has no trials; use rounds='task' or 'sample'.")
            values, column = np.unique(table.trial, return_inverse=True)
            names = tuple(str(value) for value in values)
        case _:
            raise SettingError(f"rounds {rounds!r} is not known; expected 'task', 'sample' or 'trial'.")
    return ScoreTable(table.learners, names, _cell_means(table, column, len(names)))


def _cell_means(table: "ResponseTable", column: NDArray[Any], n_rounds: int) -> NDArray[np.float64]:
    weight = np.ones(len(table.response)) if table.weight is None else table.weight
    cell = table.learner.astype(np.int64) * n_rounds + column
    size = len(table.learners) * n_rounds
    total = np.bincount(cell, weight, size)
    means = np.full(size, np.nan)
    np.divide(np.bincount(cell, weight * table.response, size), total, out=means, where=total > 0)
    return means.reshape(len(table.learners), n_rounds)


A_WORDS = ("a", "player_a", "model_a", "left")
B_WORDS = ("b", "player_b", "model_b", "right")
TIE_WORDS = ("tie", "draw", "tie (bothbad)", "both_bad", "bothbad")


class MatchList(NamedTuple):
    """Matches played one by one, as arrays."""

    player_a: NDArray[np.int64]  # [matches]
    player_b: NDArray[np.int64]  # [matches]
    outcome: NDArray[np.float64]  # [matches], what player_a took: 1 win, 0.5 tie, 0 loss
    round: NDArray[np.int64]  # [matches]


class MatchTable(NamedTuple):
    """A match list with the names of its players and rounds."""

    players: tuple[str, ...]
    rounds: tuple[str, ...]
    matches: MatchList


def read_matches(
    frame: Any,
    player_a: str,
    player_b: str,
    winner: str | None,
    probability: str | None,
    round_: str | None,
    origin: Origin = MATCHES,
) -> MatchTable:
    """The matches of a table; exactly one of `winner` and `probability` names the result's column."""
    if (winner is None) == (probability is None):
        raise SettingError("give the column of the winner or the column of player_a's probability, not both.")
    table = _not_empty(as_polars(frame), origin)
    first = name_column(table, player_a, origin).column(player_a)
    second = name_column(table, player_b, origin).column(player_b)
    both = pl.DataFrame({"player": pl.concat([first.rename("player"), second.rename("player")])})
    players, codes = name_column(both, "player", origin)
    a, b = np.split(codes.astype(np.int64), 2)
    if (a == b).any():
        row = int(np.argmax(a == b))
        raise DataError(
            f"{origin.name}: {origin.place(row)} has {first[row]!r} playing itself; a match needs two "
            "players. Remove it."
        )
    if winner is not None:
        outcome = _outcomes(name_column(table, winner, origin).column(winner), first, second, origin)
    else:
        remedy = "Correct it or remove the rows."
        column = pick(table, str(probability), origin)
        outcome = number_column(column, PROBABILITY, origin, required=True, remedy=remedy)
    if round_ is None:
        return MatchTable(
            players, tuple(map(str, range(len(a)))), MatchList(a, b, outcome, np.arange(len(a)))
        )
    rounds = name_column(table, round_, origin)
    return MatchTable(players, rounds.names, MatchList(a, b, outcome, rounds.codes.astype(np.int64)))


def _outcomes(winner: pl.Series, first: pl.Series, second: pl.Series, origin: Origin) -> NDArray[np.float64]:
    """1, 0.5 or 0 for player_a; a player's own name counts before any keyword."""
    word = winner.str.strip_chars().str.to_lowercase()
    is_a, is_b = (winner == first).to_numpy(), (winner == second).to_numpy()
    named = is_a | is_b
    is_a |= ~named & word.is_in([*A_WORDS, first.name.lower()]).to_numpy()
    is_b |= ~named & word.is_in([*B_WORDS, second.name.lower()]).to_numpy()
    tie = ~named & word.is_in(TIE_WORDS).to_numpy()
    unknown = ~(is_a | is_b | tie)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise DataError(
            f"{origin.name}: winner {winner[row]!r} in {origin.place(row)} is neither {first[row]!r} nor "
            f"{second[row]!r}, nor one of a, b, left, right, {first.name}, {second.name}, tie, draw "
            f"({int(unknown.sum())} of {len(winner)} rows). Correct it or remove the rows."
        )
    return np.where(tie, 0.5, is_a.astype(np.float64))
