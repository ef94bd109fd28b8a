"""Match lists: player_a, player_b and who won, as arenas publish them."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.dataframes import as_polars
from camilla.data.table_columns import check_rows, codes, name_column, number_column
from camilla.errors import DataError, SettingError

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
    table = check_rows(as_polars(frame))
    first = name_column(table, player_a, "first player")
    second = name_column(table, player_b, "second player")
    players, both = codes(pl.concat([first.rename("name"), second.rename("name")]))
    a, b = both[: len(first)], both[len(first) :]
    if (a == b).any():
        row = int(np.argmax(a == b))
        raise DataError(f"row {row} has {first[row]!r} playing itself; a match needs two players. Remove it.")
    if winner is not None:
        outcome = _outcomes(name_column(table, winner, "winner"), first, second)
    else:
        outcome = _probabilities(table, str(probability))
    if round_ is None:
        rounds, cluster = tuple(str(row) for row in range(len(a))), np.arange(len(a), dtype=np.int64)
    else:
        rounds, cluster = codes(name_column(table, round_, "round"))
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
