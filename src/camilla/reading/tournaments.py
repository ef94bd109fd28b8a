"""Files to tournaments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError
from camilla.names import quoted
from camilla.reading.formats import FORMATS, mt_bench_pairs
from camilla.reading.formats.arena import matches
from camilla.reading.formats.mteb import tournament_scores
from camilla.reading.sniffing import Peek, files_under, peek
from camilla.table import score_tables
from camilla.table.columns import Origin, pick, texts
from camilla.table.frame_files import called, frame_with_lines, is_written_text, literally, read_frame
from camilla.table.shards import BATCH_ROWS, count_rows, is_large, table_files
from camilla.table.tournament import Tournament, Tournaments

USED = {
    "list of matches": {"player_a", "player_b", "winner", "probability", "round"},
    "long table": {"player", "round", "score", "tournament", "cluster", "lower_is_better", "missing"},
    "wide table": {"player", "ignore", "lower_is_better", "average_metrics", "missing"},
}
BATTLE_KEYS = {"model_a", "generator_1"}
PLAYER_PAIRS = (("player_a", "player_b"), ("model_a", "model_b"), ("left", "right"))


@dataclass(frozen=True)
class Columns:
    """Which columns of a file hold what; None is found by its usual name. `round` may be `task,fold`."""

    player: str | None = None
    round: str | None = None
    score: str | None = None
    tournament: str | None = None
    player_a: str | None = None
    player_b: str | None = None
    winner: str | None = None
    probability: str | None = None
    ignore: tuple[str, ...] = ()
    cluster: str | None = None


def read_tournaments(
    path: str | Path,
    columns: Columns | None = None,
    *,
    lower_is_better: bool | None = None,
    average_metrics: bool = False,
    missing: str | Sequence[str] = (),
) -> dict[str, Tournament]:
    """Reads the tournaments of a file: scores per player and round, or matches.

    A table with two players per row is a list of matches. A table with a round and a score per row is long.
    Any other table is wide: one column per round. A folder of MTEB results is one tournament, with models
    as players and subsets of tasks as rounds.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, JSONL, JSON or Parquet file, or a folder of MTEB results.
    columns : Columns, optional
        Which columns hold what, where they do not have the usual names.
    lower_is_better : bool, optional
        The direction of the scores. Scores called rmse, mae, error or loss need it.
    average_metrics : bool
        Whether several metrics of one task in a wide table become their mean.
    missing : str or list of str
        Texts that stand for a missing score.

    Returns
    -------
    dict of str to Tournament
        The tournaments by name. A file without a tournament column holds one, called "".

    Raises
    ------
    DataError
        The file cannot be read, or one of its tournaments cannot be used.

    Examples
    --------
    >>> scores = {"player": ["a", "b", "a", "b"], "round": [1, 1, 2, 2], "score": [0.9, 0.8, 0.7, 0.6]}
    >>> pl.DataFrame(scores).write_csv("scores.csv")
    >>> camilla.read_tournaments("scores.csv")
    {'': Tournament(2 players × 2 rounds, Model/CV)}
    """
    found = usable_tournaments(
        path, columns, lower_is_better=lower_is_better, average_metrics=average_metrics, missing=missing
    )
    if found.problems:
        raise DataError(found.report())
    return found.usable


def usable_tournaments(
    path: str | Path,
    columns: Columns | None = None,
    *,
    lower_is_better: bool | None = None,
    average_metrics: bool = False,
    missing: str | Sequence[str] = (),
) -> Tournaments:
    """The tournaments of a file that can be ranked, and what is wrong with those that cannot."""
    if is_large(Path(path)):
        options = {"average_metrics": average_metrics or None}
        return _from_many(
            table_files(Path(path)), columns or Columns(), texts(missing), lower_is_better, options
        )
    frame, columns, origin = _frame(Path(path), columns or Columns(), texts(missing))
    given = vars(columns) | {
        "lower_is_better": lower_is_better,
        "average_metrics": average_metrics or None,
        "missing": origin.missing,
    }
    if pair := _player_pair(frame, columns):
        _refuse_idle(given, "list of matches")
        return Tournaments({"": _from_matches(frame, columns, pair, origin)}, {})
    player = columns.player or "player"
    if columns.round or columns.score or columns.cluster or {"round", "score"} <= set(frame.columns):
        _refuse_idle(given, "long table")
        return _from_long(frame, columns, origin, lower_is_better)
    if player not in frame.columns:
        raise DataError(
            f"{origin.name}: which column is the player? It has {quoted(frame.columns)}. Give --player, "
            "with --round and --score for one row per score, or --player alone for one column per round."
        )
    _refuse_idle(given, "wide table")
    table = score_tables.wide_table(frame, player, columns.ignore, average_metrics, origin)
    lower = score_tables.direction(table.rounds, lower_is_better)
    return _placed(Tournament.each({"": table}, lower_is_better=lower, scheme="Model/Task"), origin)


def _placed(found: Tournaments, origin: Origin) -> Tournaments:
    """Every problem with the name of the file."""
    problems = {
        name: problem if problem.startswith(origin.name) else f"{origin.name}: {problem}"
        for name, problem in found.problems.items()
    }
    return found._replace(problems=problems)


def _from_long(
    frame: pl.DataFrame, columns: Columns, origin: Origin, lower_is_better: bool | None
) -> Tournaments:
    score = columns.score or "score"
    lower = score_tables.direction([score], lower_is_better)
    tables = score_tables.long_tables(
        frame,
        columns.player or "player",
        columns.round or "round",
        score,
        columns.tournament,
        origin,
        cluster=columns.cluster,
    )
    return _placed(Tournament.each(tables, lower_is_better=lower), origin)


def _from_many(
    files: Sequence[Path], columns: Columns, missing: tuple[str, ...], lower_is_better: bool | None,
    options: Mapping[str, object],
) -> Tournaments:  # fmt: skip
    """The tournament of a long table larger than memory, read in stretches."""
    given = {**vars(columns), **options}
    _refuse_idle(given, "long table")
    for name in ("tournament", "cluster"):
        if given[name] is not None:
            raise SettingError(
                f"--{name} needs all rows in memory, and these files have too many. Split them by {name}, or "
                "leave it out."
            )
    player, round_, score = (str(given[name] or name) for name in ("player", "round", "score"))
    wanted = [player, *([round_] if round_ in read_header(files[0]) else round_.split(",")), score]

    def batches() -> Iterator[tuple[pl.DataFrame, Origin]]:
        for file in files:
            for start in range(0, count_rows([file]), BATCH_ROWS):
                frame = pl.scan_parquet(literally(file)).slice(start, BATCH_ROWS)
                here = Origin(str(file), partial(_row_from, start), missing)
                for name in wanted:
                    pick(frame.head(0).collect(), name, here)
                yield frame.select(wanted).collect(), here

    lower = score_tables.direction([score], lower_is_better)
    table = score_tables.streamed_table(batches, player, round_, score)
    return Tournament.each({"": table}, lower_is_better=lower)


def _row_from(start: int, row: int) -> str:
    return f"row {start + row + 1}"


def read_header(file: Path) -> list[str]:
    """The columns of a Parquet file."""
    return list(pl.read_parquet_schema(literally(file)))


def _refuse_idle(given: Mapping[str, object], shape: str) -> None:
    """An option that has no part in reading a file of this shape is an error."""
    idle = [name for name, value in given.items() if value not in (None, ()) and name not in USED[shape]]
    if idle:
        there = [other for other, used in USED.items() if idle[0] in used]
        raise SettingError(
            f"--{idle[0].replace('_', '-')} does nothing with a {shape}, as which the file is read; "
            f"it is for a {' or a '.join(there)}."
        )


class _Source(NamedTuple):
    """The table in a file, which of its columns hold what, and where it came from."""

    frame: pl.DataFrame
    columns: Columns
    origin: Origin


def _frame(path: Path, columns: Columns, missing: tuple[str, ...]) -> _Source:
    """The table in a file; battles, AlpacaEval's annotations and MT-Bench's pairs are lists of matches.

    A folder of results of MTEB is a long table: models are players, the subsets of tasks rounds.
    """
    if parts := _parquet_parts(path):
        frames = [pl.read_parquet(literally(file)) for file in parts]
        if any(sorted(frame.columns) != sorted(frames[0].columns) for frame in frames):
            raise DataError(
                f"{path}: its Parquet files have different columns; those of one table are alike."
            )
        frame = pl.concat([one.select(frames[0].columns) for one in frames], how="vertical_relaxed")
        ends = np.cumsum([one.height for one in frames])
        return _Source(frame, columns, Origin(str(path), partial(_row_of_part, parts, ends), missing))
    if path.is_dir():
        files = [one.path for one in files_under([path]) if _is_mteb(one)]
        scores = tournament_scores(files, path)
        return _Source(scores.frame, columns, Origin(str(path), lambda row: scores.files[row], missing))
    if path.suffix.lower() == ".json" and path.is_file() and BATTLE_KEYS & peek(path).keys:
        origin = Origin(str(path), lambda row: f"row {row + 1}", missing)
        frame = matches(path)
        if "probability" in frame.columns:
            columns = replace(columns, probability="probability", round=columns.round or "round")
        return _Source(frame, columns, origin)
    if path.suffix.lower() in (".jsonl", ".ndjson") and path.is_file() and "g1_winner" in peek(path).keys:
        origin = Origin(str(path), lambda row: f"row {row + 1}", missing)
        return _Source(mt_bench_pairs.matches(path), columns, origin)
    read = read_frame(path, text=is_written_text(path))
    frame, place = frame_with_lines(read, path)
    return _Source(frame, columns, Origin(called(path), place, missing))


def _row_of_part(parts: Sequence[Path], ends: NDArray[np.int64], row: int) -> str:
    part = int(np.searchsorted(ends, row, side="right"))
    return f"row {row - (int(ends[part - 1]) if part else 0) + 1} of {parts[part]}"


def _parquet_parts(path: Path) -> list[Path]:
    """The files of a folder or a glob of Parquet files and nothing else; of a single file none."""
    if path.is_file():
        return []
    files = table_files(path)
    other = path.is_dir() and any(one.is_file() and one not in files for one in path.rglob("*"))
    return [] if other else files


def _is_mteb(one: Peek) -> bool:
    return FORMATS["mteb"].sniff(one) is not None


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


def _from_matches(frame: pl.DataFrame, columns: Columns, pair: tuple[str, str], origin: Origin) -> Tournament:
    winner = columns.winner
    if winner is None and columns.probability is None:
        winner = "winner"
    table = score_tables.read_matches(frame, *pair, winner, columns.probability, columns.round, origin)
    return Tournament(table.players, table.rounds, matches=table.matches, scheme="Model/Task")
