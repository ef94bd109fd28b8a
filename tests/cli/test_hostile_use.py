"""What a careless or hostile user may do: one clear error, the right exit code, nothing half-written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import CAMILLA, ENVIRONMENT, camilla

HEADER = "learner,sample,response"
ROWS = [f"m{i},s{j},{int((i * 7 + j * 3) % 5 > 1)}" for i in range(9) for j in range(12)]
TABLE = "\n".join([HEADER, *ROWS]) + "\n"


def run(*arguments: object, cwd: Path, shell: str = "") -> subprocess.CompletedProcess[bytes]:
    """The command; with what follows it on a shell's line, `shell`, in a process of its own."""
    if not shell:
        done = camilla(*arguments, cwd=cwd)
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.encode(), done.stderr.encode()
        )
    command = ["sh", "-c", f'"$@" {shell}', "sh", *CAMILLA, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, timeout=300, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text(TABLE)
    return tmp_path


FILES = {
    "wide characters without a mark": (TABLE.encode("utf-16-le"), "cannot be read as text"),
    "Latin-1": (TABLE.replace("m0", "mé").encode("latin-1"), "Save it as UTF-8"),
    "old line ends": (TABLE.replace("\n", "\r").encode(), "end in a carriage return alone"),
    "too many cells": (f"{TABLE}m0,s99,1,2,3\n".encode(), "line 110 has 5 cells, the header 3"),
    "a cell of megabytes": (f"{TABLE}m0,s99,{'9' * 2_000_000}\n".encode(), "a number in [0, 1]; line 110"),
    "a name of megabytes": (f"{HEADER},{'x' * 2_000_000}\n".encode(), "has a header but no rows"),
    "binary": (bytes(range(256)) * 40, "bad.csv: "),
    "empty": (b"", "the file is empty"),
    "control characters": (f"{TABLE}m0,s99,\x1b[2Jyes\n".encode(), r"'\x1b[2Jyes'"),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("command", ["rank", "load"])
def test_a_bad_table_is_one_short_error_that_says_what_is_wrong(
    folder: Path, command: str, what: str
) -> None:
    data, said = FILES[what]
    (folder / "bad.csv").write_bytes(data)
    done = run(command, "bad.csv", cwd=folder)
    text = done.stderr.decode()
    assert done.returncode == 1
    assert text.startswith("error: ")
    assert text.count("\n") == 1
    assert said in text
    assert len(text) < 1000
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("load", "table.csv", "-o", "table.csv"), 2, "table.csv: is an input of this command"),
        (("skills", "table.csv", "-o", "./table.csv"), 2, "table.csv: is an input of this command"),
        (("diagnose", "table.csv", "-o", "table.csv"), 1, "exists and is not a diagnosis"),
        (("diagnose", "table.csv", "-o", "table.csv/x"), 1, "no folder table.csv can be made"),
        (("demo", "-o", "table.csv"), 1, "no folder table.csv can be made"),
        (("load", "table.csv", "-o", "nowhere/x.csv"), 1, "there is no folder nowhere"),
    ],
)  # fmt: skip
def test_a_place_that_cannot_be_written_is_refused_and_what_is_there_kept(
    folder: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert said in done.stderr.decode()
    assert done.stdout == b""
    assert [one.name for one in folder.iterdir()] == ["table.csv"]
    assert (folder / "table.csv").read_text() == TABLE


def test_names_of_files_are_neither_patterns_nor_orders_to_the_terminal(folder: Path) -> None:
    """Polars would take [1] and ? for patterns and read other files than the one named."""
    strange = folder / "run [1] \x1b[2J*"
    strange.mkdir()
    for file, text in (("t?.csv", TABLE), ("ta.csv", HEADER)):
        (strange / file).write_text(text)
    assert run("load", strange / "t?.csv", "-o", strange / "t[2].parquet", cwd=folder).returncode == 0
    for file in ("t?.csv", "t[2].parquet"):
        ranked = run("rank", strange / file, "--json", cwd=folder)
        assert ranked.returncode == 0, ranked.stderr
        assert len(json.loads(ranked.stdout)["learners"]) == 9
    made = run("diagnose", strange / "t[2].parquet", "-o", strange / "d", "--with", "irt", cwd=folder)
    assert made.returncode == 0, made.stderr
    assert run("show", strange / "d", cwd=folder).returncode == 0
    missing = run("rank", strange / "none.csv", cwd=folder)
    assert missing.returncode == 1
    assert b"\x1b" not in missing.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("power --samples -3 --sd 1", 2, "-3 samples are too few; expected at least 2"),
        ("diagnose table.csv -o out --seed -1", 2, "a seed is a whole number from 0 to 4294967295; got -1"),
        ("experiment reliability table.csv --seeds 1,-1", 2, "a seed is a whole number"),
        ("experiment reliability table.csv --with ,", 2, "--with takes comma-separated names"),
        ("experiment reliability table.csv --jobs 0", 2, "--jobs is a number of processes"),
        ("pool classifiers table.csv -o out --jobs 0", 2, "--jobs is a number of processes"),
        ("pool classifiers table.csv -o out --learners math:sqrt", 2, "cannot be called without arguments"),
        (
            "rank table.csv --learner sample",
            1,
            "column 'sample' cannot be two of learner, sample",
        ),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(folder: Path, arguments: str, code: int, said: str) -> None:
    done = run(*arguments.split(), cwd=folder)
    assert done.returncode == code, done.stderr
    assert done.stderr.decode().startswith("error: ")
    assert said in done.stderr.decode()
    assert [one.name for one in folder.iterdir()] == ["table.csv"]


INTERRUPTED = """
import os, signal
from camilla.fitting import neural
signal.signal(signal.SIGINT, signal.default_int_handler)
validation = neural._validation
neural._validation = lambda *fit: (os.kill(os.getpid(), signal.SIGINT), validation(*fit))[1]
"""  # the signal comes after the first epoch, however slow the machine is


def test_an_interrupted_diagnosis_leaves_nothing_behind(folder: Path) -> None:
    arguments = ["diagnose", "table.csv", "-o", "out", "--with", "camilla"]
    command = [sys.executable, "-c", INTERRUPTED + CAMILLA[2], *arguments]
    quickly = ENVIRONMENT | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}  # one epoch is run
    running = subprocess.run(command, cwd=folder, env=quickly, capture_output=True, timeout=120, check=False)
    assert running.returncode == 130
    assert b"Traceback" not in running.stderr
    assert [one.name for one in folder.iterdir()] == ["table.csv"]
