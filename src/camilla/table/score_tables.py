"""Frames of scores and of matches as the arrays of a tournament."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError
from camilla.names import quoted
from camilla.table.columns import check_not_empty, codes, number_column, plain_names
from camilla.table.frames import as_polars

if TYPE_CHECKING:
    from camilla.table.responses import ResponseTable

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
TWO_METRICS = re.compile(r"(?P<task>.+)[_-](?P<metric>[ab])$")


class ScoreTable(NamedTuple):
    """Scores with the names of their rows and columns."""

    players: tuple[str, ...]
    rounds: tuple[str, ...]
    scores: NDArray[np.float64]  # [players, rounds], NaN where missing


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
    frame: Any, player: str, round_: str, score: str, tournament: str | None
) -> dict[str, ScoreTable]:
    """Score tables by tournament, in order of appearance; without that column one table named ''."""
    table = check_not_empty(as_polars(frame))
    players = plain_names(table, player, "player")
    rounds = plain_names(table, round_, "round")
    scores = number_column(table, score, "score")
    if tournament is None:
        return {"": _one_table(players, rounds, scores)}
    belongs = plain_names(table, tournament, "tournament")
    return {
        name: _one_table(*(column.filter(belongs == name) for column in (players, rounds, scores)))
        for name in belongs.unique(maintain_order=True)
    }


def _one_table(player: pl.Series, round_: pl.Series, score: pl.Series) -> ScoreTable:
    players, row = codes(player)
    rounds, column = codes(round_)
    cell = row * len(rounds) + column
    counts = np.bincount(cell, minlength=len(players) * len(rounds))
    if counts.max() > 1:
        first = int(np.argmax(counts))
        p, r = divmod(first, len(rounds))
        raise DataError(
            f"player {players[p]!r} has {counts[first]} scores in round {rounds[r]!r}; one was wanted. "
            f"{int((counts > 1).sum())} (player, round) pairs are repeated. "
            "Average them, or name the rounds apart."
        )
    scores = np.full((len(players), len(rounds)), np.nan)
    scores[row, column] = score.to_numpy()
    return ScoreTable(players, rounds, scores)


def wide_table(frame: Any, player: str, ignore: Sequence[str], average_metrics: bool) -> ScoreTable:
    """One row a player; every column that is neither `player` nor ignored is a round."""
    table = check_not_empty(as_polars(frame))
    if unknown := [name for name in ignore if name not in table.columns]:
        raise SettingError(
            f"columns to ignore {quoted(unknown)} are not in the table: {quoted(table.columns)}."
        )
    players = tuple(plain_names(table, player, "player"))
    rounds = [name for name in table.columns if name != player and name not in set(ignore)]
    if not rounds:
        raise DataError("the wide table has no column besides the player; one column a round was wanted.")
    columns = {name: _round_column(table.get_column(name), average_metrics) for name in rounds}
    if average_metrics:
        columns = _joined(columns)
    return ScoreTable(players, tuple(columns), np.column_stack(list(columns.values())))


def _round_column(column: pl.Series, average_metrics: bool) -> NDArray[np.float64]:
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return _missing_as_nan(column)
    text = column.cast(pl.String)
    two = text.str.contains(r"^\s*-?[\d.]+\s*/\s*-?[\d.]+\s*$").fill_null(False)
    if not two.any():
        return _missing_as_nan(number_column(pl.DataFrame({column.name: text}), column.name, "round"))
    if not average_metrics:
        raise DataError(
            f"column {column.name!r} holds two metrics in one cell ({text.filter(two)[0]!r}). "
            "Ask for their mean with --average-metrics (average_metrics=True), or split the column."
        )
    halves = text.str.split("/").list
    ends = [
        _missing_as_nan(number_column(pl.DataFrame({column.name: end}), column.name, "round"))
        for end in (halves.first(), halves.last())
    ]
    return np.asarray(np.mean(ends, axis=0), np.float64)


def _missing_as_nan(column: pl.Series) -> NDArray[np.float64]:
    return np.asarray(column.cast(pl.Float64).fill_null(np.nan).to_numpy(), np.float64)


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
            place = {name: index for index, name in enumerate(names)}
            column = np.array([place[name] for name in table.task])[table.sample]
        case "sample":
            names, column = table.samples, table.sample
        case "trial":
            if table.trial is None:
                raise SettingError("the table has no trials; use rounds='task' or 'sample'.")
            values, column = np.unique(table.trial, return_inverse=True)
            names = tuple(str(value) for value in values)
        case _:
            raise SettingError(f"rounds {rounds!r} is not known; wanted 'task', 'sample' or 'trial'.")
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
) -> MatchTable:
    """The matches of a table; exactly one of `winner` and `probability` names the result's column."""
    if (winner is None) == (probability is None):
        raise SettingError("give the column of the winner or the column of player_a's probability, not both.")
    table = check_not_empty(as_polars(frame))
    first = plain_names(table, player_a, "first player")
    second = plain_names(table, player_b, "second player")
    players, both = codes(pl.concat([first.rename("name"), second.rename("name")]))
    a, b = both[: len(first)], both[len(first) :]
    if (a == b).any():
        row = int(np.argmax(a == b))
        raise DataError(f"row {row} has {first[row]!r} playing itself; a match needs two players. Remove it.")
    if winner is not None:
        outcome = _outcomes(plain_names(table, winner, "winner"), first, second)
    else:
        outcome = _probabilities(table, str(probability))
    if round_ is None:
        rounds, cluster = tuple(str(row) for row in range(len(a))), np.arange(len(a), dtype=np.int64)
    else:
        rounds, cluster = codes(plain_names(table, round_, "round"))
    return MatchTable(players, rounds, MatchList(a, b, outcome, cluster))


def _outcomes(winner: pl.Series, first: pl.Series, second: pl.Series) -> NDArray[np.float64]:
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
            f"winner {winner[row]!r} in row {row} is neither {first[row]!r} nor {second[row]!r}, nor one of "
            f"a, b, left, right, {first.name}, {second.name}, tie, draw ({int(unknown.sum())} of "
            f"{len(winner)} rows). Correct it or remove the rows."
        )
    return np.where(tie, 0.5, is_a.astype(np.float64))


def _probabilities(table: pl.DataFrame, column: str) -> NDArray[np.float64]:
    outcome = number_column(table, column, "probability").to_numpy()
    wrong = ~((outcome >= 0) & (outcome <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"probability must lie in [0, 1]; row {row} of column {column!r} has {outcome[row]:g} "
            f"({int(wrong.sum())} of {len(outcome)} rows). Correct it or remove the rows."
        )
    return outcome
