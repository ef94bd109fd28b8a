"""Migrations, dump, load and check, over SQLite and PostgreSQL."""

import hashlib
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import board_worlds
import pytest
import sqlalchemy
from board_worlds import Live

from camilla.errors import DataError, FormatError, SettingError
from camilla.server.accounts import add_token
from camilla.server.operations import check, dump, load
from camilla.server.store import MIGRATIONS, TABLES, Store, opened
from camilla.server.views import Boards
from command_line import camilla as run

KINDS = ["sqlite", "postgresql"]


def tables(store: Store) -> set[str]:
    with store.reading() as transaction:
        return set(sqlalchemy.inspect(transaction.connection).get_table_names())


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_goes_up_and_down_version_by_version(kind: str, new_place: Callable[[str], str]) -> None:
    store = Store(new_place(kind), migrate=False)
    seen = []
    for version in (*range(len(MIGRATIONS) + 1), *reversed(range(len(MIGRATIONS)))):
        store.migrate(version)
        assert store.version() == version
        seen.append(tables(store) - {"schema_version"})
    assert seen == seen[::-1]
    assert seen[0] == set()
    assert seen[len(MIGRATIONS)] == {*TABLES, "leases"}
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_an_older_schema_stay_when_it_goes_up(kind: str, new_place: Callable[[str], str]) -> None:
    store = Store(new_place(kind), migrate=False)
    store.migrate(1)
    with store.writing() as transaction:
        transaction.insert("tokens", account="ann", role="owner", sha256="x", created="2026")
    store.migrate()
    with store.reading() as transaction:
        assert transaction.value("SELECT account FROM tokens") == "ann"
    store.close()


def test_a_store_of_a_newer_version_is_refused(new_place: Callable[[str], str]) -> None:
    place = new_place("sqlite")
    store = Store(place)
    with store.writing() as transaction:
        transaction.run("UPDATE schema_version SET version = 99")
    store.close()
    with pytest.raises(DataError, match="schema version 99; this version of camilla knows 3"):
        Store(place)


def test_tables_of_sqlite_are_strict_and_keys_are_checked(new_place: Callable[[str], str]) -> None:
    place = new_place("sqlite")
    store = Store(place)
    with store.reading() as transaction:
        strict = {row["name"]: row["strict"] for row in transaction.rows("PRAGMA table_list")}
        assert all(strict[name] for name in TABLES)
        assert transaction.value("PRAGMA journal_mode") == "wal"
    with pytest.raises(sqlalchemy.exc.IntegrityError), store.writing() as transaction:
        transaction.insert("logins", sha256="x", token_id=7, created="2026", expires="2027")
    store.close()


@pytest.mark.parametrize("place", ["mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_what_is_no_store_is_said_to_be_none(place: str) -> None:
    with pytest.raises(SettingError):
        Store(place)


def test_a_password_is_not_shown() -> None:
    with pytest.raises(DataError) as refused:
        Store("postgresql://ann:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(refused.value)
    assert "the store cannot be opened" in str(refused.value)


@pytest.fixture
def filled(live: Callable[..., Live]) -> Live:
    """Three submissions, one of them withdrawn, and two boards."""
    server = live()
    token = server.token("ann")
    server.submit(token, "one", board_worlds.responses(0.5, seed=1))
    server.refit()
    gone = server.number(token, "two", board_worlds.responses(1.0, seed=2))
    server.post(f"/api/submissions/{gone}/withdraw", token, {})
    server.submit(token, "three", board_worlds.responses(-0.5, seed=3))
    return server


@pytest.mark.parametrize(("first", "second"), [("sqlite", "postgresql"), ("postgresql", "sqlite")])
def test_a_dump_of_one_database_fills_the_other_and_shows_the_same_board(
    first: str, second: str, filled: Live, live: Callable[..., Live],
    new_place: Callable[[str], str], tmp_path: Path,
) -> None:  # fmt: skip
    rows = filled.rows()
    dump(filled.site.store, tmp_path / "start.zip")
    for kind in (first, second):
        place = new_place(kind)
        store = Store(place)
        load(store, tmp_path / "start.zip")
        dump(store, tmp_path / "start.zip")
        assert check(store).faults == []
        store.close()
    server = live(place)
    assert server.rows() == rows
    assert server.number(server.token("bob"), "four", board_worlds.responses(0.0, seed=4)) == 4


def test_a_dump_of_an_older_schema_is_loaded(
    filled: Live, new_place: Callable[[str], str], tmp_path: Path
) -> None:
    """As version 2 wrote it, without the column that version 3 added."""
    dump(filled.site.store, tmp_path / "new.zip")
    with zipfile.ZipFile(tmp_path / "new.zip") as new, zipfile.ZipFile(tmp_path / "old.zip", "w") as old:
        manifest = json.loads(new.read("manifest.json"))
        for name in new.namelist():
            content = new.read(name)
            if name == "benchmarks.jsonl":
                rows = [json.loads(line) for line in content.splitlines()]
                content = b"\n".join(
                    json.dumps({key: row[key] for key in row if key != "least_share"}).encode()
                    for row in rows
                )
                manifest["sha256"]["benchmarks"] = hashlib.sha256(content).hexdigest()
            if name != "manifest.json":
                old.writestr(name, content)
        old.writestr("manifest.json", json.dumps(manifest | {"schema": 2}))
    other = Store(new_place("sqlite"))
    load(other, tmp_path / "old.zip")
    boards = Boards(other)
    assert boards.benchmark("small").least_share == 1
    assert boards.view("small").rows.equals(filled.site.boards.view("small").rows)
    boards.close()
    other.close()


def test_a_dump_is_not_loaded_over_a_store_that_is_in_use(filled: Live, tmp_path: Path) -> None:
    dump(filled.site.store, tmp_path / "dump.zip")
    with pytest.raises(DataError, match="is not empty"):
        load(filled.site.store, tmp_path / "dump.zip")


def test_a_damaged_dump_loads_nothing(filled: Live, new_place: Callable[[str], str], tmp_path: Path) -> None:
    dump(filled.site.store, tmp_path / "dump.zip")
    with zipfile.ZipFile(tmp_path / "dump.zip") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["submissions.jsonl"] = parts["submissions.jsonl"].replace(b'"ann"', b'"bob"')
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    store = Store(new_place("sqlite"))
    with pytest.raises(FormatError, match="table submissions is damaged"):
        load(store, tmp_path / "other.zip")
    with store.reading() as transaction:
        assert transaction.value("SELECT COUNT(*) FROM benchmarks") == 0
    store.close()
    (tmp_path / "half.zip").write_bytes((tmp_path / "dump.zip").read_bytes()[:3000])
    with (
        closing(Store(new_place("sqlite"))) as other,
        pytest.raises(FormatError, match="not a dump of a store, or is damaged"),
    ):
        load(other, tmp_path / "half.zip")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE submissions SET digest = 'x' WHERE id = 1", "submission 1 is not what its hash says"),
        ("UPDATE submissions SET content = x'00' WHERE id = 1", "submission 1 cannot be read"),
        ("UPDATE board_rows SET ability = ability + 1e-9 WHERE board_id = 2", "rows of board 2 of small"),
        ("DELETE FROM board_submissions", "submissions of board 2 of small"),
        (
            "UPDATE board_files SET content = x'00' WHERE name = 'arrays.safetensors'",
            "cannot be loaded",
        ),
        ("UPDATE boards SET number = 3 WHERE number = 2", "not numbered 1, 2, 3"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM tokens", "refers to a row of tokens"),
    ],
)
def test_check_finds_what_is_wrong_and_where(filled: Live, damage: str, says: str) -> None:
    store = filled.site.store
    assert check(store).faults == []
    with closing(sqlite3.connect(str(store.url.database))) as connection:
        connection.executescript(damage)
        connection.commit()
    faults = check(store).faults
    assert any(says in fault for fault in faults), faults


def test_check_fits_the_newest_board_anew_and_compares_it(filled: Live, tmp_path: Path) -> None:
    place = str(filled.site.store.url.database)
    done = run("store", "check", place, "--refit", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 submissions, 2 boards and 1 token." in done.stdout
    with filled.site.store.writing() as transaction:
        transaction.run("UPDATE benchmarks SET settings = :settings", settings='{"precision": 1.0}')
    done = run("store", "check", place, "--refit", cwd=tmp_path)
    assert done.returncode == 1
    assert "fault: board 2 of small is not what a new fit gives" in done.stdout


def test_commands_name_a_store_that_is_not_there(tmp_path: Path) -> None:
    for command in ("tokens", "check", "dump"):
        more = ["-o", "dump.zip"] if command == "dump" else []
        done = run("store", command, "nowhere.db", *more, cwd=tmp_path)
        assert done.returncode == 1
        assert "there is no such store" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_leaves_no_store_behind(small_diagnosis: Path, tmp_path: Path) -> None:
    """The last one is refused too, but the file was there before, with a token in it."""
    (tmp_path / "half.zip").write_bytes(b"PK\x03\x04")
    (tmp_path / "names.txt").write_text("no such sample\n")
    refused: list[tuple[Any, ...]] = [
        ("serve", "--store", "new.db"),
        ("serve", "nowhere", "--store", "new.db"),
        ("serve", small_diagnosis, "--name", "a b", "--store", "new.db"),
        ("serve", small_diagnosis, "--secret-samples", "names.txt", "--store", "new.db"),
        ("store", "load", "new.db", "half.zip"),
        ("store", "add-token", "new.db", "--account", "ann", "--role", "king"),
    ]
    before = {*tmp_path.iterdir()}
    for words in refused:
        done = run(*words, cwd=tmp_path)
        assert done.returncode in (1, 2), done.stdout + done.stderr
        assert {*tmp_path.iterdir()} == before, words
    store = Store(str(tmp_path / "new.db"))
    add_token(store, "ann", "owner")
    store.close()
    assert run("serve", "--store", "new.db", cwd=tmp_path).returncode == 1
    with opened(str(tmp_path / "new.db")) as store, store.reading() as transaction:
        assert transaction.counts()["tokens"] == 1
