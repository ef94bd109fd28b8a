"""What stands on a board now, or stood on it at a time; kept in memory until it is old."""

import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import polars as pl

from camilla.diagnosis import Diagnosis
from camilla.names import in_quotes, name_index, nearest
from camilla.server.boards import (
    COLUMNS,
    CONTENT,
    END_OF_TIME,
    FILES,
    Benchmark,
    Board,
    benchmark_of,
    board_at,
    decided_by_responses,
    fitted_rows,
    in_order,
    included_in,
    joined_table,
    ranked,
    table_of,
)
from camilla.server.memory import give_back
from camilla.server.store import RefusedError, Store
from camilla.server.submissions import Target, active, keep_placements, placement, responses_of
from camilla.table.content import in_file
from camilla.table.responses import ResponseTable

Value = TypeVar("Value")
KEPT_DIAGNOSES = 3  # in memory
KEPT_VIEWS = 4
FRESH = 0.2  # seconds for which a revision is believed without looking again


class View(NamedTuple):
    """A board with those submissions placed on it that it was not fitted to, without withdrawn ones."""

    benchmark: Benchmark
    board: Board
    found: Diagnosis
    rows: pl.DataFrame  # rank, rank_low, rank_high, COLUMNS, state, submission, account
    ties: list[tuple[int, ...]]  # sets of places of rows of which no two are told apart
    placed: dict[str, int]  # learner: submission, of those the board was not fitted to
    submitted: dict[str, int]  # learner: submission, of all

    def row(self, learner: str) -> dict[str, Any]:
        """One learner's row."""
        rows = self.rows.filter(pl.col("learner") == learner)
        if rows.is_empty():
            names = self.rows["learner"].to_list()
            raise RefusedError(
                404, f"no learner {in_quotes(learner)} is on this board. {nearest(learner, names)}"
            )
        return rows.to_dicts()[0]


class Boards:
    """Boards as they are asked for, with what was computed kept in memory until it is old."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.RLock()
        self._diagnoses: OrderedDict[Hashable, Diagnosis] = OrderedDict()
        self._views: OrderedDict[Hashable, View] = OrderedDict()
        self._known: dict[str, tuple[float, Benchmark]] = {}
        self._scratch = tempfile.TemporaryDirectory(prefix="camilla-boards-")

    def close(self) -> None:
        """Removes the files that diagnoses were read from."""
        self._scratch.cleanup()

    def names(self) -> list[str]:
        """Names of all benchmarks."""
        with self.store.reading() as transaction:
            return [row["name"] for row in transaction.rows("SELECT name FROM benchmarks ORDER BY name")]

    def benchmark(self, name: str) -> Benchmark:
        """As it is in the store now."""
        with self.store.reading() as transaction:
            row = transaction.row("SELECT * FROM benchmarks WHERE name = :name", name=name)
        if row is None:
            raise RefusedError(404, f"there is no benchmark {in_quotes(name)}. {nearest(name, self.names())}")
        found = benchmark_of(row)
        self._known[name] = (time.monotonic(), found)
        return found

    def known(self, name: str) -> Benchmark | None:
        """As it was a moment ago, without asking the store; None where that is too long ago."""
        at, found = self._known.get(name, (0.0, None))
        return found if time.monotonic() - at < FRESH else None

    def diagnosis(self, board_id: int) -> Diagnosis:
        """The diagnosis that a board is."""
        return self._kept(self._diagnoses, board_id, KEPT_DIAGNOSES, lambda: self._loaded(board_id))

    def _loaded(self, board_id: int) -> Diagnosis:
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            with self.store.reading() as transaction:
                rows = transaction.rows(
                    "SELECT name, content FROM board_files WHERE board_id = :id", id=board_id
                )
            for row in rows:
                if row["name"] in FILES:
                    (Path(folder) / row["name"]).write_bytes(row["content"])
                if row["name"] == CONTENT:  # read when asked for, so that it must stay
                    kept = Path(self._scratch.name) / f"content-{board_id}.parquet"
                    kept.write_bytes(row["content"])
                    (Path(folder) / CONTENT).symlink_to(kept)
            found = Diagnosis.load(folder)
            if found.content is None:
                return found
            return replace(found, content=in_file(Path(self._scratch.name) / f"content-{board_id}.parquet"))

    def first_board(self, benchmark: Benchmark) -> int:
        """The board of the benchmark's own responses."""
        with self.store.reading() as transaction:
            return int(
                transaction.value(
                    "SELECT id FROM boards WHERE benchmark_id = :id AND number = 1", id=benchmark.id
                )
            )

    def own(self, benchmark: Benchmark) -> Diagnosis:
        """The diagnosis of the benchmark's own responses, with what its samples ask if that was kept."""
        return self.diagnosis(self.first_board(benchmark))

    def target(self, name: str) -> Target:
        """Where a submission goes now."""
        benchmark = self.benchmark(name)
        with self.store.reading() as transaction:
            board = board_at(transaction, benchmark.id, END_OF_TIME)
        own = frozenset(self.own(benchmark).learner_names)
        return Target(benchmark.id, board.id, self.diagnosis(board.id), own, benchmark.least_share)

    def view(self, name: str, at: str | None = None) -> View:
        """The board of now, or as it was at a time."""
        benchmark = self.benchmark(name)
        key = (benchmark.id, benchmark.revision, at)
        return self._kept(self._views, key, KEPT_VIEWS, lambda: self._viewed(benchmark, at or END_OF_TIME))

    def _viewed(self, benchmark: Benchmark, at: str) -> View:
        with self.store.reading() as transaction:
            board = board_at(transaction, benchmark.id, at)
            counted = {one["learner"]: one for one in active(transaction, benchmark.id, at)}
            included = included_in(transaction, board.id)
        found = self.diagnosis(board.id)
        of_board = {one["learner"]: one["id"] for one in included}
        stale = {name for name, number in of_board.items() if counted.get(name, {}).get("id") != number}
        extra = {one["id"]: name for name, one in counted.items() if of_board.get(name) != one["id"]}
        placed = self._placements(board.id, found, list(extra))
        fitted = fitted_rows(found).filter(~pl.col("learner").is_in(list(stale)))
        rows = pl.concat([fitted.with_columns(state=pl.lit("fitted")), _placed_rows(placed)])
        who = {name: (one["id"], one["account"]) for name, one in counted.items()}
        names = rows["learner"].to_list()
        rows = rows.with_columns(
            pl.Series("submission", [who.get(name, (None, None))[0] for name in names], pl.Int64),
            pl.Series("account", [who.get(name, (None, None))[1] for name in names], pl.String),
        )
        rows = in_order(rows)
        view = View(
            benchmark, board, found, rows, [],
            {name: number for number, name in extra.items()},
            {name: one["id"] for name, one in counted.items()},
        )  # fmt: skip
        if not stale and not extra:
            decided = found.told_apart()
        else:
            decided = decided_by_responses(found, self.table(view), rows["learner"].to_list())
        result = ranked(rows, decided)
        return view._replace(rows=result.rows, ties=result.ties)

    def _placements(self, board_id: int, found: Diagnosis, numbers: list[int]) -> dict[int, dict[str, Any]]:
        """Where submissions stand on a board: as stored, or placed now and stored."""
        with self.store.reading() as transaction:
            rows = transaction.rows(
                "SELECT submission_id, placed FROM placements WHERE board_id = :id", id=board_id
            )
            stored = {row["submission_id"]: msgspec.json.decode(row["placed"]) for row in rows}
            new = [number for number in numbers if number not in stored]
            tables = responses_of(transaction, new)
        placed = {number: placement(found, table) for number, table in tables.items()}
        if placed:
            with self.store.writing() as transaction:
                keep_placements(transaction, board_id, placed)
        return {number: (stored | placed)[number] for number in numbers}

    def table(self, view: View, learners: Sequence[str] | None = None) -> ResponseTable:
        """The responses of all learners on a board, or of those named."""
        own = table_of(self.own(view.benchmark))
        wanted = list(view.rows["learner"]) if learners is None else list(learners)
        inside = name_index(own.learners)
        base = own.take_learners([inside[name] for name in wanted if name in inside])
        with self.store.reading() as transaction:
            numbers = [view.submitted[name] for name in wanted if name in view.submitted]
            parts = list(responses_of(transaction, numbers).values())
        return joined_table(base, parts)

    def _kept(
        self, cache: "OrderedDict[Hashable, Value]", key: Hashable, most: int, make: Callable[[], Value]
    ) -> Value:
        """What is kept under a key; made by one thread at a time where it is not."""
        with self._lock:
            if key not in cache:
                cache[key] = make()
                while len(cache) > most:
                    cache.popitem(last=False)
                    if cache is self._diagnoses:
                        give_back()
            cache.move_to_end(key)
            return cache[key]


def _placed_rows(placed: Mapping[int, Mapping[str, Any]]) -> pl.DataFrame:
    schema = dict.fromkeys(COLUMNS, pl.Float64) | {"learner": pl.String, "n": pl.Int64}
    rows = [{name: row[name] for name in COLUMNS} for row in placed.values()]
    return pl.DataFrame(rows, schema={name: schema[name] for name in COLUMNS}).with_columns(
        state=pl.lit("placed")
    )
