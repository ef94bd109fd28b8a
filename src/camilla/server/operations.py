"""A store as one file and back, and whether a store is consistent."""

import hashlib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import camilla
from camilla.diagnosis import Diagnosis
from camilla.errors import CamillaError, DataError, FormatError
from camilla.server.boards import (
    Benchmark,
    benchmarks,
    fitted_rows,
    hash_of,
    included_in,
    newest_board,
)
from camilla.server.refitting import fitted_to
from camilla.server.store import MIGRATIONS, TABLES, Store, Transaction
from camilla.server.submissions import unpacked
from camilla.server.views import Boards
from camilla.table.files import whole_file

DUMP_FORMAT = 1
MANIFEST = "manifest.json"
LEFT_OUT = ("logins",)  # who is logged in is nobody's backup
BLOBS = {"board_files": "content", "submissions": "content"}
NUMBERED = ("benchmarks", "boards", "tokens", "submissions")
Watch = Callable[[str], None]


class Manifest(msgspec.Struct):
    """What a dump holds."""

    format: int
    camilla: str
    schema: int
    rows: dict[str, int]
    sha256: dict[str, str]  # of each table's lines; a blob is named by its own


def dump(store: Store, path: Path) -> dict[str, int]:
    """Writes every row into one ZIP file, as of one moment; how many rows each table has."""
    rows, hashes = {}, {}
    with (
        whole_file(path) as draft,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive,
        store.reading() as transaction,
    ):
        if store.dialect == "postgresql":
            transaction.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for table in TABLES:
            if table in LEFT_OUT:
                continue
            lines = list(_lines(transaction, table, archive))
            content = b"\n".join(lines)
            archive.writestr(f"{table}.jsonl", content)
            rows[table], hashes[table] = len(lines), hashlib.sha256(content).hexdigest()
        manifest = Manifest(DUMP_FORMAT, camilla.__version__, len(MIGRATIONS), rows, hashes)
        archive.writestr(MANIFEST, msgspec.json.encode(manifest))
    return rows


def _lines(transaction: Transaction, table: str, archive: zipfile.ZipFile) -> Iterator[bytes]:
    """Rows as JSON; what is binary is a file of the archive, named by its hash."""
    known = set(archive.namelist())
    for row in transaction.rows(f"SELECT * FROM {table}"):
        if column := BLOBS.get(table):
            content = bytes(row[column])
            row[column] = hashlib.sha256(content).hexdigest()
            if (name := f"blobs/{row[column]}") not in known:
                archive.writestr(name, content)
                known.add(name)
        yield msgspec.json.encode(row)


def load(store: Store, path: Path) -> dict[str, int]:
    """Fills an empty store from a dump, all of it or nothing."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive, path)
            with store.writing() as transaction:
                if any(transaction.counts().values()):
                    raise DataError(f"{store.name}: the store is not empty. Load a dump into a new one.")
                for table in manifest.rows:
                    for row in _rows_of(archive, table, manifest, path):
                        transaction.insert(table, **row)
                if store.dialect == "postgresql":
                    _advance_numbers(transaction)
    except (zipfile.BadZipFile, KeyError, msgspec.MsgspecError, OSError) as error:
        raise FormatError(f"{path}: is not a dump of a store, or is damaged: {error}.") from None
    return manifest.rows


def _manifest(archive: zipfile.ZipFile, path: Path) -> Manifest:
    manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
    if manifest.format != DUMP_FORMAT or manifest.schema > len(MIGRATIONS):
        raise FormatError(
            f"{path}: is a dump of format {manifest.format} with schema {manifest.schema}; this version "
            f"reads format {DUMP_FORMAT} up to schema {len(MIGRATIONS)}. Use camilla {manifest.camilla}."
        )
    if not set(manifest.rows) <= set(TABLES):
        raise FormatError(f"{path}: contains tables that a store does not have.")
    return manifest


def _rows_of(
    archive: zipfile.ZipFile, table: str, manifest: Manifest, path: Path
) -> Iterator[dict[str, Any]]:
    content = archive.read(f"{table}.jsonl")
    if hashlib.sha256(content).hexdigest() != manifest.sha256[table]:
        raise FormatError(f"{path}: table {table} is damaged.")
    for line in content.splitlines():
        row = msgspec.json.decode(line, type=dict[str, Any])
        if column := BLOBS.get(table):
            blob = archive.read(f"blobs/{row[column]}")
            if hashlib.sha256(blob).hexdigest() != row[column]:
                raise FormatError(f"{path}: a blob of table {table} is damaged.")
            row[column] = blob
        yield row


def _advance_numbers(transaction: Transaction) -> None:
    """Numbers that come next are above all that were loaded."""
    for table in NUMBERED:
        transaction.run(
            f"""SELECT setval(pg_get_serial_sequence('{table}', 'id'),
            (SELECT COALESCE(MAX(id), 0) + 1 FROM {table}), false)"""
        )


class Checked(NamedTuple):
    """What was looked at, and what is wrong."""

    counts: dict[str, int]
    faults: list[str]


def check(store: Store, *, refit: bool = False, watch: Watch = lambda line: None) -> Checked:
    """Whether all rows fit together; with `refit`, whether newest boards are what a new fit gives."""
    faults = _structure(store)
    with store.reading() as transaction:
        counts = transaction.counts()
        found = benchmarks(transaction)
    faults += _submission_faults(store)
    for benchmark in found:
        watch(f"benchmark {benchmark.name}")
        faults += _board_faults(store, benchmark)
        if refit:
            faults += _refit_faults(store, benchmark)
    return Checked(counts, faults)


def _structure(store: Store) -> list[str]:
    if store.dialect != "sqlite":
        return []
    with store.reading() as transaction:
        whole = [row["integrity_check"] for row in transaction.rows("PRAGMA integrity_check")]
        keys = transaction.rows("PRAGMA foreign_key_check")
    return [f"SQLite: {line}" for line in whole if line != "ok"] + [
        f"a row of {row['table']} refers to a row of {row['parent']} that is not there" for row in keys
    ]


def _submission_faults(store: Store) -> list[str]:
    """Every submission can be read and is what its hash says; no learner counts twice."""
    faults = []
    with store.reading() as transaction:
        numbers = [row["id"] for row in transaction.rows("SELECT id FROM submissions ORDER BY id")]
        twice = transaction.rows(
            """SELECT learner FROM submissions WHERE withdrawn IS NULL GROUP BY benchmark_id, learner
            HAVING COUNT(*) > 1"""
        )
        for number in numbers:
            row = transaction.row(
                "SELECT learner, digest, content FROM submissions WHERE id = :id", id=number
            )
            try:
                same = row is not None and unpacked(row["learner"], row["content"]).digest() == row["digest"]
            except CamillaError as error:
                faults.append(f"submission {number} cannot be read: {error}")
                continue
            if not same:
                faults.append(f"submission {number} is not what its hash says")
    return faults + [f"learner {row['learner']!r} counts more than once" for row in twice]


def _board_faults(store: Store, benchmark: Benchmark) -> list[str]:
    """Every board can be loaded, and its rows and submissions are those it was made of."""
    faults, boards = [], Boards(store)
    with store.reading() as transaction:
        rows = transaction.rows(
            "SELECT * FROM boards WHERE benchmark_id = :id ORDER BY number", id=benchmark.id
        )
        included = {row["id"]: included_in(transaction, row["id"]) for row in rows}
        learners = {
            row["id"]: transaction.rows(
                "SELECT learner, ability FROM board_rows WHERE board_id = :id", id=row["id"]
            )
            for row in rows
        }
    if [row["number"] for row in rows] != list(range(1, len(rows) + 1)):
        faults.append(f"the boards of {benchmark.name} are not numbered 1, 2, 3 …")
    for row in rows:
        name = f"board {row['number']} of {benchmark.name}"
        try:
            found = boards.diagnosis(row["id"])
        except CamillaError as error:
            faults.append(f"{name} cannot be loaded: {error}")
            continue
        own = dict(fitted_rows(found).select("learner", "ability").iter_rows())
        if own != {one["learner"]: one["ability"] for one in learners[row["id"]]}:
            faults.append(f"the rows of {name} are not those of its diagnosis")
        if hash_of(included[row["id"]]) != row["submissions_hash"]:
            faults.append(f"the submissions of {name} are not those that its hash says")
    boards.close()
    return faults


def _refit_faults(store: Store, benchmark: Benchmark) -> list[str]:
    """Whether the newest board is what its submissions give from nothing, to the last bit."""
    with store.reading() as transaction:
        board = newest_board(transaction, benchmark.id)
        included = included_in(transaction, board.id)
    if board.number == 1:  # made elsewhere, by any version on any machine
        return []
    boards = Boards(store)
    stored, fresh = boards.diagnosis(board.id), fitted_to(store, benchmark, included)
    boards.close()
    return (
        []
        if same_board(stored, fresh)
        else [f"board {board.number} of {benchmark.name} is not what a new fit gives"]
    )


def same_board(one: Diagnosis, other: Diagnosis) -> bool:
    """Whether two diagnoses say the same of learners, samples and skills, bit for bit."""
    return all(getattr(one, name).equals(getattr(other, name)) for name in ("learners", "samples", "skills"))
