"""Files to tournaments."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from camilla.errors import DataError, SettingError
from camilla.names import quoted
from camilla.reading.formats.arena import matches
from camilla.table.frame_files import read_frame
from camilla.table.tournament import Tournament

USED = {
    "list of matches": {"player_a", "player_b", "winner", "probability", "round"},
    "long table": {"player", "round", "score", "tournament", "lower_is_better"},
    "wide table": {"player", "ignore", "lower_is_better", "average_metrics"},
}
PLAYER_PAIRS = (("player_a", "player_b"), ("model_a", "model_b"), ("left", "right"))


@dataclass(frozen=True)
class Columns:
    """Which columns of a file hold what; None is found by its usual name."""

    player: str | None = None
    round: str | None = None
    score: str | None = None
    tournament: str | None = None
    player_a: str | None = None
    player_b: str | None = None
    winner: str | None = None
    probability: str | None = None
    ignore: tuple[str, ...] = ()


def read_tournaments(
    path: str | Path,
    columns: Columns | None = None,
    *,
    lower_is_better: bool | None = None,
    average_metrics: bool = False,
) -> dict[str, Tournament]:
    """The tournaments of a file by name; a file without a tournament column holds one named ''.

    A table with two players a row is a list of matches; one with a round and a score a row is long;
    anything else is wide, one column a round.
    """
    frame, columns = _frame(Path(path), columns or Columns())
    given = vars(columns) | {"lower_is_better": lower_is_better, "average_metrics": average_metrics or None}
    if pair := _player_pair(frame, columns):
        _refuse_idle(given, "list of matches")
        return {"": _from_matches(frame, columns, pair)}
    named = (columns.player, columns.round, columns.score)
    player, round_, score = (
        one or word for one, word in zip(named, ("player", "round", "score"), strict=True)
    )
    if columns.round or columns.score or {round_, score} <= set(frame.columns):
        _refuse_idle(given, "long table")
        names = {"player": player, "round": round_, "score": score}
        if columns.tournament is None:
            return {"": Tournament.from_long(frame, lower_is_better=lower_is_better, **names)}
        return Tournament.split(
            frame, tournament=columns.tournament, lower_is_better=lower_is_better, **names
        )
    if player not in frame.columns:
        raise DataError(
            f"{path}: which column is the player? It has {quoted(frame.columns)}. Give --player, "
            "with --round and --score for one row a score, or --player alone for one column a round."
        )
    _refuse_idle(given, "wide table")
    wide = Tournament.from_wide(
        frame,
        player=player,
        ignore=columns.ignore,
        average_metrics=average_metrics,
        lower_is_better=lower_is_better,
    )
    return {"": wide}


def _refuse_idle(given: Mapping[str, object], shape: str) -> None:
    """What was said and has no part in reading a file of this shape is an error."""
    idle = [name for name, value in given.items() if value not in (None, ()) and name not in USED[shape]]
    if idle:
        there = [other for other, used in USED.items() if idle[0] in used]
        raise SettingError(
            f"--{idle[0].replace('_', '-')} does nothing with a {shape}, as which the file is read; "
            f"it is for a {' or a '.join(there)}."
        )


def _frame(path: Path, columns: Columns) -> tuple[pl.DataFrame, Columns]:
    """The table in a file; a JSON array of battles or of AlpacaEval's annotations is a list of matches."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return read_frame(path), columns
    frame = matches(path)
    if "probability" not in frame.columns:
        return frame, columns
    return frame, replace(columns, probability="probability", round=columns.round or "round")


def _player_pair(frame: pl.DataFrame, columns: Columns) -> tuple[str, str] | None:
    if columns.player_a or columns.player_b:
        return columns.player_a or "player_a", columns.player_b or "player_b"
    if columns.player or columns.score:
        return None
    result = columns.winner or columns.probability or "winner"
    for a, b in PLAYER_PAIRS:
        if {a, b, result} <= set(frame.columns):
            return a, b
    return None


def _from_matches(frame: pl.DataFrame, columns: Columns, pair: tuple[str, str]) -> Tournament:
    winner = columns.winner
    if winner is None and columns.probability is None:
        winner = "winner"
    return Tournament.from_matches(
        frame,
        player_a=pair[0],
        player_b=pair[1],
        winner=winner,
        probability=columns.probability,
        round=columns.round,
    )
