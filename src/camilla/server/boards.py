"""Boards: versions of a leaderboard that never change, and what stands on the newest one since."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from camilla.diagnosis import DECIMALS, Diagnosis
from camilla.errors import DataError, SettingError
from camilla.learners.standing import decide
from camilla.names import in_quotes, name_index, nearest
from camilla.server.store import RefusedError, Store, Transaction, now
from camilla.statistics.standing import Standing, standing_by_errors
from camilla.statistics.step_down import MOST_TESTED
from camilla.table.cells import zero_or_one
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap

LONGEST_BENCHMARK = 60
FILES = ("diagnosis.json", "arrays.safetensors", "responses.parquet", "learners.parquet", "samples.parquet",
         "skills.parquet")  # fmt: skip
CONTENT = "content.parquet"
REPORT, FLAGS, BANK = "report.html", "flags.json", "bank.bin"  # what the background adds to a board
COLUMNS = ("learner", "ability", "se", "low", "high", "accuracy", "accuracy_low", "accuracy_high", "n")
END_OF_TIME = "9999"


class Benchmark(NamedTuple):
    """What a leaderboard is of, and how its boards are fitted."""

    id: int
    name: str
    title: str
    created: str
    diagnoser: str
    settings: dict[str, Any]
    seed: int
    secret: bool | tuple[str, ...]  # all samples, or those named
    data_hash: str
    revision: int
    least_share: float  # of the samples, that a submission must answer

    def hides(self, sample: str) -> bool:
        """Whether what a sample asks, and its right answer, stay on the server."""
        return self.secret is True or (self.secret is not False and sample in self.secret)


class Board(NamedTuple):
    """A version: what it was made of, and when. `number` counts from 1, which has no submission."""

    id: int
    benchmark_id: int
    number: int
    created: str
    submissions_hash: str
    n_submissions: int
    seconds: float


def add_benchmark(
    store: Store, folder: Path, *, name: str | None = None, title: str | None = None,
    secret: bool | Sequence[str] = False,
) -> str:  # fmt: skip
    """Makes a saved diagnosis the first board of a benchmark; one that is there already stays as it is.

    `secret` is of a new benchmark from the start; `restrict` also hides samples of those that are there.
    """
    found = Diagnosis.load(folder)
    found.require_responses()
    name = folder.resolve().name if name is None else name
    if not name or len(name) > LONGEST_BENCHMARK or not set(name) <= ALLOWED:
        raise SettingError(
            f"a benchmark is named by at most {LONGEST_BENCHMARK} letters, digits, '.', '_' and '-'; "
            f"got {in_quotes(name)}. Give it another name with --name."
        )
    if secret is not False and secret is not True:
        _known(secret, found.sample_names)
    made = found.provenance
    with store.writing() as transaction:
        known = transaction.value("SELECT data_hash FROM benchmarks WHERE name = :name", name=name)
        if known is not None:
            if known != made["data_hash"]:
                raise SettingError(
                    f"the store has a benchmark {name!r} of other responses. Serve {folder} under another "
                    "name with --name, or into another store."
                )
            return name
        number = transaction.insert_numbered(
            "benchmarks", name=name, title=title or name, created=now(), seed=made["seed"],
            diagnoser="auto" if made["combined"] else made["diagnoser"],
            settings=msgspec.json.encode({} if made["combined"] else made["settings"]).decode(),
            secret=msgspec.json.encode(secret).decode(), data_hash=made["data_hash"], revision=0,
        )  # fmt: skip
        insert_board(transaction, number, found, _files(folder), [], seconds=0.0)
    return name


ALLOWED = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def _known(secret: Iterable[str], samples: Sequence[str]) -> None:
    known = set(samples)
    if unknown := [name for name in secret if name not in known]:
        raise SettingError(f"no sample {unknown[0]!r} to keep secret. {nearest(unknown[0], samples)}")


def restrict(
    store: Store, samples: Mapping[str, Sequence[str]], *, secret: bool | Sequence[str] = False,
    least_share: float | None = None,
) -> None:  # fmt: skip
    """Keeps what samples of the store's benchmarks ask on the server, beside what it kept there before.

    `samples` are those of each benchmark. Reports that were drawn with what is now secret are removed, and
    drawn again in the background. `least_share` is of submissions from now on; None leaves it as it is.
    """
    if secret is not False and secret is not True:
        _known(secret, [name for names in samples.values() for name in names])
    with store.writing() as transaction:
        for one in benchmarks(transaction):
            hidden = _secret_with(one.secret, secret, samples[one.name])
            if hidden != one.secret:
                transaction.next_revision(one.id)
                transaction.run(
                    "UPDATE benchmarks SET secret = :secret WHERE id = :id",
                    secret=msgspec.json.encode(hidden).decode(),
                    id=one.id,
                )
                transaction.run(
                    """DELETE FROM board_files WHERE name = :report
                    AND board_id IN (SELECT id FROM boards WHERE benchmark_id = :id)""",
                    report=REPORT,
                    id=one.id,
                )
            if least_share is not None and least_share != one.least_share:
                transaction.next_revision(one.id)
                transaction.run(
                    "UPDATE benchmarks SET least_share = :share WHERE id = :id", share=least_share, id=one.id
                )


def _secret_with(
    kept: bool | tuple[str, ...], asked: bool | Sequence[str], samples: Sequence[str]
) -> bool | tuple[str, ...]:
    """What was secret stays secret; of the names asked for, those that the benchmark has come to it."""
    if kept is True or asked is True:
        return True
    here = set(samples)
    named = [name for name in (asked or ()) if name in here]
    return tuple(dict.fromkeys([*(kept or ()), *named])) or False


def _files(folder: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.name in (*FILES, CONTENT)
    }


def insert_board(
    transaction: Transaction, benchmark_id: int, found: Diagnosis, files: Mapping[str, bytes],
    included: Sequence[Mapping[str, Any]], *, seconds: float,
) -> int:  # fmt: skip
    """Writes the next board of a benchmark: its files, its rows, and which submissions it is made of."""
    transaction.next_revision(benchmark_id)
    newest = transaction.value("SELECT MAX(number) FROM boards WHERE benchmark_id = :id", id=benchmark_id)
    number = transaction.insert_numbered(
        "boards", benchmark_id=benchmark_id, number=(newest or 0) + 1, created=now(),
        submissions_hash=hash_of(included), n_submissions=len(included), seconds=seconds,
    )  # fmt: skip
    for name, content in files.items():
        transaction.insert("board_files", board_id=number, name=name, content=content)
    rows = ranked(in_order(fitted_rows(found)), found.told_apart()).rows.select(
        "learner", "rank", "rank_low", "rank_high", "ability", "se", "low", "high", "accuracy", "n"
    )
    transaction.run_many(
        f"""INSERT INTO board_rows (board_id, {", ".join(rows.columns)})
        VALUES ({number}, {", ".join(f":{name}" for name in rows.columns)})""",
        rows.to_dicts(),
    )
    transaction.run_many(
        "INSERT INTO board_submissions (board_id, submission_id) VALUES (:board, :submission)",
        [{"board": number, "submission": one["id"]} for one in included],
    )
    return number


def hash_of(included: Sequence[Mapping[str, Any]]) -> str:
    """SHA-256 of the submissions a board is made of: numbers, learners and hashes of their responses."""
    named = sorted((one["id"], one["learner"], one["digest"]) for one in included)
    return hashlib.sha256(msgspec.json.encode(named)).hexdigest()


class Ranked(NamedTuple):
    """Rows in the order of their ranks, and ties."""

    rows: pl.DataFrame
    ties: list[tuple[int, ...]]  # sets of places


def fitted_rows(found: Diagnosis) -> pl.DataFrame:
    """A diagnosis' own learners."""
    return found.learners.select(COLUMNS).with_columns(pl.col("n").cast(pl.Int64))


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of a board, the best first."""
    rows = rows.sort(pl.col("ability").round(DECIMALS), "learner", descending=[True, False])
    return rows.with_columns(pl.col(pl.Float64).fill_nan(None))


def ranked(rows: pl.DataFrame, decided: Standing | None) -> Ranked:
    """Ranks, possible ranks and ties of rows in order, as decided for them, else by tests of all pairs."""
    ability, se = (rows[name].fill_null(np.nan).to_numpy() for name in ("ability", "se"))
    tests = standing_by_errors(ability, se) if decided is None else decided
    low, high = (None, None) if tests is None else (tests.rank_low, tests.rank_high)
    rank = (-pl.col("ability").round(DECIMALS)).rank("min").cast(pl.Int64).alias("rank")
    rows = rows.select(rank, pl.all()).with_columns(
        pl.lit(low if low is None else pl.Series(low), pl.Int64).alias("rank_low"),
        pl.lit(high if high is None else pl.Series(high), pl.Int64).alias("rank_high"),
    )
    return Ranked(rows, [] if tests is None else tests.ties)


def decided_by_responses(found: Diagnosis, table: ResponseTable, names: Sequence[str]) -> Standing | None:
    """Who is told apart among learners in order, as the report of their responses will say it.

    None where abilities are no scores, or learners have not answered the same samples.
    """
    scores = found.readout.unit_scale and found.readout.skill_weight is None
    if not scores or not 2 <= len(names) <= MOST_TESTED:
        return None
    place = name_index(table.learners)
    matrix = table.matrix()[[place[name] for name in names]]
    if np.isnan(matrix).any():
        return None
    group = None if table.cluster is None else np.unique(np.array(table.cluster), return_inverse=True)[1]
    return decide(matrix, table.samples, group).on_board()


def table_of(found: Diagnosis) -> ResponseTable:
    """The responses that a diagnosis was made from; of trials, as many right and wrong as there were."""
    cells, made = found.cells, found.provenance
    learner, sample, response, weight = cells.learner, cells.sample, cells.response, cells.weight
    if not made["fractional"] and not zero_or_one(response).all():
        right, wrong = weight * response, weight * (1 - response)
        learner, sample = np.tile(learner, 2), np.tile(sample, 2)
        response, weight = np.repeat([1.0, 0.0], len(right)), np.concatenate([right, wrong])
        kept = weight > 1e-9
        learner, sample, response, weight = learner[kept], sample[kept], response[kept], weight[kept]
    mask, edges = found.diagnoser.size.skill_mask, made.get("skill_graph")
    return ResponseTable(
        found.learner_names, found.sample_names, learner, sample, response,
        None if (weight == 1).all() else weight, cluster=found.clusters,
        skill_map=None if mask is None else SkillMap(found.skill_names, mask),
        skill_graph=None if edges is None else SkillGraph(tuple(map(tuple, edges))),
    )  # fmt: skip


def joined_table(own: ResponseTable, parts: Sequence[ResponseTable]) -> ResponseTable:
    """The benchmark's own responses and those of submissions; samples it does not know are left out."""
    known = name_index(own.samples)
    learner, sample, response, weight = [own.learner], [own.sample], [own.response], [_weights(own)]
    names = list(own.learners)
    for part in parts:
        place = np.array([known.get(name, -1) for name in part.samples], np.int64)[part.sample]
        inside = place >= 0
        learner.append(np.full(int(inside.sum()), len(names), np.int32))
        sample.append(place[inside].astype(np.int32))
        response.append(part.response[inside])
        weight.append(_weights(part)[inside])
        names.append(part.learners[0])
    total = np.concatenate(weight)
    return ResponseTable(
        tuple(names), own.samples, np.concatenate(learner), np.concatenate(sample), np.concatenate(response),
        None if (total == 1).all() else total, cluster=own.cluster, skill_map=own.skill_map,
        skill_graph=own.skill_graph,
    )  # fmt: skip


def _weights(table: ResponseTable) -> np.ndarray:
    return np.ones(table.n_responses) if table.weight is None else table.weight


def benchmark_of(row: Mapping[str, Any]) -> Benchmark:
    secret = msgspec.json.decode(row["secret"])
    return Benchmark(
        **dict(row)
        | {
            "settings": msgspec.json.decode(row["settings"]),
            "secret": secret if isinstance(secret, bool) else tuple(secret),
        }
    )


def benchmarks(transaction: Transaction) -> list[Benchmark]:
    """All benchmarks, by name."""
    return [benchmark_of(row) for row in transaction.rows("SELECT * FROM benchmarks ORDER BY name")]


def board_at(transaction: Transaction, benchmark_id: int, at: str) -> Board:
    row = transaction.row(
        """SELECT * FROM boards WHERE benchmark_id = :id AND created <= :at
        ORDER BY number DESC LIMIT 1""",
        id=benchmark_id,
        at=at,
    )
    if row is None:
        raise RefusedError(404, "there was no board then; the first one was made later.")
    return Board(**row)


def newest_board(transaction: Transaction, benchmark_id: int) -> Board:
    """The board that is served."""
    return board_at(transaction, benchmark_id, END_OF_TIME)


def board_numbered(store: Store, benchmark: Benchmark, number: int) -> Board:
    """A board by its number."""
    with store.reading() as transaction:
        row = transaction.row(
            "SELECT * FROM boards WHERE benchmark_id = :id AND number = :number",
            id=benchmark.id,
            number=number,
        )
    if row is None:
        raise RefusedError(404, f"benchmark {benchmark.name!r} has no board {number}.")
    return Board(**row)


def included_in(transaction: Transaction, board_id: int) -> list[dict[str, Any]]:
    """id, learner, digest of the submissions that a board was fitted to."""
    return transaction.rows(
        """SELECT id, learner, digest FROM submissions
        JOIN board_submissions ON submission_id = id WHERE board_submissions.board_id = :id ORDER BY id""",
        id=board_id,
    )


def all_boards(store: Store, benchmark: Benchmark) -> list[Board]:
    """Every board of a benchmark, newest first."""
    with store.reading() as transaction:
        rows = transaction.rows(
            "SELECT * FROM boards WHERE benchmark_id = :id ORDER BY number DESC", id=benchmark.id
        )
    return [Board(**row) for row in rows]


def history(store: Store, benchmark: Benchmark, learner: str) -> list[dict[str, Any]]:
    """A learner on every board it was fitted on, oldest first."""
    with store.reading() as transaction:
        return transaction.rows(
            """SELECT number AS board, boards.created AS created, rank, rank_low, rank_high, ability, low,
            high, accuracy, n FROM board_rows JOIN boards ON boards.id = board_id
            WHERE benchmark_id = :id AND learner = :learner ORDER BY number""",
            id=benchmark.id,
            learner=learner,
        )


def difference(store: Store, benchmark: Benchmark, before: int, after: int) -> list[dict[str, Any]]:
    """Every learner of either board: rank and ability on both, by its rank on the later one."""
    ids = [board_numbered(store, benchmark, number).id for number in (before, after)]
    with store.reading() as transaction:
        rows = [
            {
                row["learner"]: row
                for row in transaction.rows("SELECT * FROM board_rows WHERE board_id = :id", id=number)
            }
            for number in ids
        ]
    old, new = rows
    names = sorted({*old, *new}, key=lambda name: (new.get(name, {"rank": 10**9})["rank"], name))
    return [
        {"learner": name}
        | {
            f"{column}_{side}": (part.get(name) or {}).get(column)
            for side, part in (("before", old), ("after", new))
            for column in ("rank", "ability", "low", "high")
        }
        for name in names
    ]


def end_of_day(text: str) -> str:
    """A day, YYYY-MM-DD, as the last moment of it; a moment as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise DataError(f"a day is written as YYYY-MM-DD; got {in_quotes(text)}.") from None
    if len(text) == len("2026-01-31"):
        return f"{moment:%Y-%m-%d}T23:59:59.999999Z"
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
