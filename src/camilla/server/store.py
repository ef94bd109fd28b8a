"""The store: its tables, migrations and transactions, with the same SQL over SQLite and PostgreSQL."""

import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from camilla.errors import DataError, SettingError
from camilla.extras import needing

with needing("a server"):
    import sqlalchemy as sa
    from sqlalchemy import event
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

BUSY = 30  # seconds that SQLite waits for another writer
MIGRATING = 7_246_301  # the advisory lock of PostgreSQL under which a schema changes
POOL = 12  # connections
PAGES = 256  # kilobytes of a SQLite file that each connection keeps; the system keeps the rest for all


class RefusedError(DataError):
    """A request that cannot be answered as asked; `status` is how HTTP says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class AwayError(DataError):
    """The database does not answer."""


class Migration(NamedTuple):
    """Statements that bring a schema one version up, and back down."""

    up: tuple[str, ...]
    down: tuple[str, ...]


# What stands in braces is spelled as the database wants it. Times are UTC, as text that sorts.
FIRST = Migration(
    (
        """CREATE TABLE benchmarks (
            id {id}, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, created TEXT NOT NULL,
            diagnoser TEXT NOT NULL, settings TEXT NOT NULL, seed {int} NOT NULL, secret TEXT NOT NULL,
            data_hash TEXT NOT NULL, revision {int} NOT NULL){strict}""",
        """CREATE TABLE boards (
            id {id}, benchmark_id {int} NOT NULL REFERENCES benchmarks (id), number {int} NOT NULL,
            created TEXT NOT NULL, submissions_hash TEXT NOT NULL, n_submissions {int} NOT NULL,
            seconds {real} NOT NULL, UNIQUE (benchmark_id, number)){strict}""",
        """CREATE TABLE board_files (
            board_id {int} NOT NULL REFERENCES boards (id), name TEXT NOT NULL, content {bytes} NOT NULL,
            PRIMARY KEY (board_id, name)){strict}""",
        """CREATE TABLE board_rows (
            board_id {int} NOT NULL REFERENCES boards (id), learner TEXT NOT NULL, rank {int} NOT NULL,
            rank_low {int}, rank_high {int}, ability {real} NOT NULL, se {real}, low {real}, high {real},
            accuracy {real}, n {int} NOT NULL, PRIMARY KEY (board_id, learner)){strict}""",
        "CREATE INDEX board_rows_of_learner ON board_rows (learner)",
        """CREATE TABLE tokens (
            id {id}, account TEXT NOT NULL, role TEXT NOT NULL, sha256 TEXT NOT NULL UNIQUE,
            created TEXT NOT NULL, expires TEXT, revoked TEXT){strict}""",
        """CREATE TABLE logins (
            sha256 TEXT PRIMARY KEY, token_id {int} NOT NULL REFERENCES tokens (id), created TEXT NOT NULL,
            expires TEXT NOT NULL){strict}""",
        """CREATE TABLE submissions (
            id {id}, benchmark_id {int} NOT NULL REFERENCES benchmarks (id), account TEXT NOT NULL,
            token_id {int} REFERENCES tokens (id), learner TEXT NOT NULL, created TEXT NOT NULL,
            digest TEXT NOT NULL, content {bytes} NOT NULL, n_responses {int} NOT NULL,
            n_unknown {int} NOT NULL, source TEXT NOT NULL,
            board_id {int} NOT NULL REFERENCES boards (id), withdrawn TEXT, withdrawn_by TEXT,
            reason TEXT){strict}""",
        """CREATE UNIQUE INDEX one_active_submission ON submissions (benchmark_id, learner)
            WHERE withdrawn IS NULL""",
        """CREATE TABLE board_submissions (
            board_id {int} NOT NULL REFERENCES boards (id),
            submission_id {int} NOT NULL REFERENCES submissions (id),
            PRIMARY KEY (board_id, submission_id)){strict}""",
        """CREATE TABLE placements (
            submission_id {int} NOT NULL REFERENCES submissions (id),
            board_id {int} NOT NULL REFERENCES boards (id), placed TEXT NOT NULL,
            PRIMARY KEY (submission_id, board_id)){strict}""",
        "CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires {real} NOT NULL){strict}",
    ),
    tuple(
        f"DROP TABLE {name}"
        for name in (
            "leases", "placements", "board_submissions", "submissions", "logins", "tokens", "board_rows",
            "board_files", "boards", "benchmarks",
        )
    ),
)  # fmt: skip
SESSIONS = Migration(
    (
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY, board_id {int} NOT NULL REFERENCES boards (id), account TEXT NOT NULL,
            token_id {int} REFERENCES tokens (id), learner TEXT NOT NULL, created TEXT NOT NULL,
            settings TEXT NOT NULL, submission_id {int} REFERENCES submissions (id)){strict}""",
        """CREATE TABLE session_answers (
            session_id TEXT NOT NULL REFERENCES sessions (id), position {int} NOT NULL, sample TEXT NOT NULL,
            response {real}, trials {int} NOT NULL, PRIMARY KEY (session_id, position),
            UNIQUE (session_id, sample)){strict}""",
    ),
    ("DROP TABLE session_answers", "DROP TABLE sessions"),
)
LEAST_SHARE = Migration(
    ("ALTER TABLE benchmarks ADD COLUMN least_share {real} NOT NULL DEFAULT 1",),
    ("ALTER TABLE benchmarks DROP COLUMN least_share",),
)
MIGRATIONS = (FIRST, SESSIONS, LEAST_SHARE)  # columns come with a default, so that older dumps can be loaded
# Parents first, so that a dump can be loaded in this order.
TABLES = (
    "benchmarks", "boards", "board_files", "board_rows", "tokens", "logins", "submissions",
    "board_submissions", "placements", "sessions", "session_answers",
)  # fmt: skip
SPELLINGS = {
    "sqlite": {
        "id": "INTEGER PRIMARY KEY AUTOINCREMENT", "int": "INTEGER", "bytes": "BLOB", "real": "REAL",
        "strict": " STRICT",
    },
    "postgresql": {
        "id": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "int": "BIGINT", "bytes": "BYTEA",
        "real": "DOUBLE PRECISION", "strict": "",
    },
}  # fmt: skip


def now() -> str:
    """The time as the store writes it: UTC to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def log_line(event: str, **values: Any) -> None:
    """One line of JSON on standard error."""
    sys.stderr.write(json.dumps({"time": now(), "event": event} | values) + "\n")


class Store:
    """Connections to one database, whose schema is brought up to date when it is opened.

    Transactions that write are serialised: SQLite has one writer at a time, and threads of this process take
    turns before they ask for it.
    """

    def __init__(self, place: str, *, migrate: bool = True) -> None:
        self.url = url_of(place)
        self._writing = threading.Lock()
        self.engine = _engine(self.url)
        self.dialect = self.engine.dialect.name
        if not migrate:
            return
        try:
            self.migrate()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Where the store is, without a password."""
        return self.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator["Transaction"]:
        """A transaction that changes nothing."""
        with self._connected() as connection, connection.begin():
            yield Transaction(connection)

    @contextmanager
    def writing(self) -> Iterator["Transaction"]:
        """A transaction whose changes are there, and safe, once this ends without an error."""
        with self._writing, self._connected() as connection:
            connection.execution_options(writing=True)
            with connection.begin():
                yield Transaction(connection)

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        try:
            connection = self.engine.connect()
        except DBAPIError as error:
            raise AwayError(f"{self.name}: the store cannot be opened: {_first_line(error)}.") from None
        with connection:
            yield connection

    def version(self) -> int:
        """Of the schema; 0 where there is none."""
        with self.reading() as transaction:
            return self._version(transaction)

    def _version(self, transaction: "Transaction") -> int:
        if not sa.inspect(transaction.connection).has_table("schema_version"):
            return 0
        return int(transaction.value("SELECT version FROM schema_version"))

    def migrate(self, target: int = len(MIGRATIONS)) -> None:
        """Brings the schema to a version, up or down, in one transaction."""
        if (current := self.version()) == target:
            return
        with self.writing() as transaction:
            if self.dialect == "postgresql":
                transaction.run("SELECT pg_advisory_xact_lock(:lock)", lock=MIGRATING)
            current = self._version(transaction)
            if current > len(MIGRATIONS):
                raise DataError(
                    f"{self.name}: the store has schema version {current}; this version of camilla knows "
                    f"{len(MIGRATIONS)}. Update camilla."
                )
            if current == 0:
                transaction.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
                transaction.run("DELETE FROM schema_version")
                transaction.run("INSERT INTO schema_version (version) VALUES (0)")
            up = [line for one in MIGRATIONS[current:target] for line in one.up]
            down = [line for one in reversed(MIGRATIONS[target:current]) for line in one.down]
            for line in up + down:
                transaction.run(line.format(**SPELLINGS[self.dialect]))
            transaction.run("UPDATE schema_version SET version = :version", version=target)

    def close(self) -> None:
        """Ends all connections."""
        self.engine.dispose()


@contextmanager
def opened(place: str) -> Iterator[Store]:
    """A store until the block ends. If the block fails, a file made for it that is still empty is removed."""
    url = url_of(place)
    file = Path(url.database or "") if url.drivername == "sqlite" else None
    made = file is not None and not file.exists()
    store = Store(place)
    try:
        yield store
    except BaseException:
        with store.reading() as transaction:
            made = made and not any(transaction.counts().values())
        store.close()
        if file is not None and made:
            file.unlink(missing_ok=True)
        raise
    finally:
        store.close()


class Transaction:
    """Statements with named values, `:name` in the SQL."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection

    def run(self, sql: str, **values: Any) -> int:
        """How many rows the statement changed."""
        return self.connection.execute(sa.text(sql), values).rowcount

    def run_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """The statement for each row of values."""
        if rows:
            self.connection.execute(sa.text(sql), list(rows))

    def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        """All rows, as mappings."""
        return [dict(row) for row in self.connection.execute(sa.text(sql), values).mappings()]

    def row(self, sql: str, **values: Any) -> dict[str, Any] | None:
        """The first row, or None."""
        found = self.connection.execute(sa.text(sql), values).mappings().first()
        return None if found is None else dict(found)

    def value(self, sql: str, **values: Any) -> Any:
        """The first column of the first row, or None."""
        return self.connection.execute(sa.text(sql), values).scalar()

    def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        return {table: int(self.value(f"SELECT COUNT(*) FROM {table}")) for table in TABLES}

    def insert(self, table: str, **values: Any) -> None:
        """One row."""
        self.run(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({_colons(values)})", **values)

    def insert_numbered(self, table: str, **values: Any) -> int:
        """One row of a table whose rows are numbered; its number."""
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({_colons(values)}) RETURNING id"
        return int(self.value(sql, **values))

    def next_revision(self, benchmark_id: int) -> None:
        """Says that a benchmark changed; until this transaction ends no other can change it.

        It comes first in every transaction that writes, so that times of rows follow the order of commits.
        """
        self.run("UPDATE benchmarks SET revision = revision + 1 WHERE id = :id", id=benchmark_id)


def _colons(names: Mapping[str, Any]) -> str:
    return ", ".join(f":{name}" for name in names)


def url_of(place: str) -> sa.URL:
    """A path is a file of SQLite; a URL is sqlite:///… or postgresql://…."""
    if not re.match(r"^[a-z0-9+]+:", place):
        return sa.URL.create("sqlite", database=place)
    try:
        url = sa.make_url(place)
    except ArgumentError:
        raise SettingError("the store must be a path or a URL.") from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise SettingError(
            f"a store of kind {url.drivername!r} is not known; expected sqlite:///FILE or postgresql://…."
        )
    return url


def _engine(url: sa.URL) -> sa.Engine:
    if url.drivername == "sqlite":
        if not url.database or url.database == ":memory:":
            raise SettingError("a store in SQLite is a file; give it a path.")
        if not (folder := Path(url.database).resolve().parent).is_dir():
            raise DataError(f"{url.database}: there is no folder {folder}. Make it first.")
        engine = sa.create_engine(
            url, connect_args={"timeout": BUSY}, pool_size=POOL, max_overflow=POOL, poolclass=sa.QueuePool
        )
        event.listen(engine, "connect", _sqlite_settings)
        event.listen(engine, "begin", _sqlite_begin)
        return engine
    try:
        with needing("a store in PostgreSQL"):
            return sa.create_engine(url, pool_size=POOL, max_overflow=POOL, pool_pre_ping=True)
    except NoSuchModuleError as error:
        raise SettingError(str(error)) from None


def _sqlite_settings(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # BEGIN is ours to say
    settings = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", f"cache_size = {-PAGES}")
    for line in settings:
        connection.execute(f"PRAGMA {line}")


def _sqlite_begin(connection: sa.Connection) -> None:
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _first_line(error: Exception) -> str:
    return str(error.__cause__ or error).strip().splitlines()[0].rstrip(".")
