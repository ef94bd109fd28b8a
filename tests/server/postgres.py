"""PostgreSQL in a temporary folder, for tests and benchmarks."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
FAST = "-c fsync=off -c full_page_writes=off"  # of tests, whose machines do not lose power


def missing() -> str | None:
    """Why PostgreSQL cannot be started here; None where it can."""
    if not PLACES and shutil.which("initdb") is None:
        return "there is no PostgreSQL; apt-get install postgresql brings it"
    if os.getuid() == 0 and not _has_user("postgres"):
        return "initdb refuses root, and there is no user postgres"
    return None


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _run(*words: str) -> str:
    command = ["runuser", "-u", "postgres", "--", *words] if os.getuid() == 0 else list(words)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", timeout=120)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def started(*, settings: str = FAST) -> Iterator[str]:
    """The folder of a running server's socket; it is gone afterwards."""
    programs = PLACES[0] if PLACES else Path(shutil.which("initdb") or "").parent
    folder = Path(tempfile.mkdtemp(prefix="camilla-pg-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    control = [str(programs / "pg_ctl"), "-D", str(data), "-w", "-t", "60"]
    try:
        _run(
            str(programs / "initdb"),
            "-D",
            str(data),
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--no-sync",
        )
        options = f"-k {folder} -c listen_addresses='' -c max_connections=200 {settings}"
        _run(*control, "-l", str(folder / "log"), "-o", options, "start")
        yield str(folder)
    finally:
        if data.exists():
            _run(*control, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def new_database(socket: str, name: str) -> str:
    """The URL of a new database."""
    import psycopg

    with psycopg.connect(f"host={socket} user=postgres dbname=postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"postgresql://postgres@/{name}?host={socket}"
