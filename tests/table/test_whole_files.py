"""Files and folders appear whole or not at all: on a full disk, and when the writer is killed."""

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from camilla.diagnosing import diagnose
from camilla.errors import DataError
from camilla.experiments.results import empty, write_results
from camilla.ranking.epp import epp
from camilla.samples import forms
from camilla.samples.select import select
from camilla.table.examples import simulate
from camilla.table.files import whole_file, whole_folder, write_frame
from camilla.table.tournament import Tournament

LARGE = pl.DataFrame({"x": np.random.default_rng(0).random(40_000)})


@pytest.fixture(scope="module")
def made():
    """Things that can be saved, made while there is space."""
    table = simulate(30, 400, fractional=True, seed=0).table
    scores = np.random.default_rng(1).normal(size=(60, 20))
    players = tuple(f"player {i}" for i in range(60))
    return {
        "table": table,
        "diagnosis": diagnose(table, "vanilla"),
        "board": epp(Tournament(players, tuple(map(str, range(20))), scores)),
    }


WRITERS = {
    **{f"table{ending}": (lambda made, place, ending=ending: made["table"].write(place.with_suffix(ending)))
       for ending in (".csv", ".tsv", ".jsonl", ".parquet")},
    "diagnosis": lambda made, place: made["diagnosis"].save(place),
    "leaderboard": lambda made, place: made["board"].save(place),
    "frame": lambda made, place: write_frame(LARGE, place.with_suffix(".parquet")),
}  # fmt: skip


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 16 KiB; it takes root to mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here; limits on file size are tested below")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_said_and_leaves_nothing(small_disk, made, name):
    with pytest.raises(
        DataError, match=r"out.*: cannot be written: no space left on device\. Free some space"
    ):
        WRITERS[name](made, small_disk / "out")
    assert list(small_disk.iterdir()) == []


@pytest.fixture
def small_files():
    """No file of this process can grow beyond 4 KiB, as with `ulimit -f`."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", WRITERS)
def test_what_was_there_before_stays_when_writing_fails(tmp_path, made, name, request):
    WRITERS[name](made, tmp_path / "out")
    (place,) = tmp_path.iterdir()
    files = [place] if place.is_file() else sorted(place.iterdir())
    before = [file.read_bytes() for file in files]
    request.getfixturevalue("small_files")
    with pytest.raises(DataError, match=r"out.*: cannot be written: file too large\..*ulimit -f.*unchanged"):
        WRITERS[name](made, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [place]
    assert [file.read_bytes() for file in files] == before


def test_the_command_line_ends_with_one_message_and_exit_code_1(tmp_path, made):
    made["table"].write(tmp_path / "t.csv")
    code = (
        "import resource; from camilla.cli.main import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)); main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "load", "t.csv", "-o", "copy.parquet"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert "error: copy.parquet: cannot be written: file too large." in run.stderr
    assert "Traceback" not in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_results_of_experiments_and_subsets_are_written_whole_too(tmp_path, made, small_files):
    rows = pl.concat([empty()] * 2)
    write_results(rows, tmp_path / "few.parquet")
    with pytest.raises(DataError, match="cannot be written"):
        forms.write(select(made["table"], 40, repeats=1), tmp_path / "subset")
    assert [path.name for path in tmp_path.iterdir()] == ["few.parquet"]


def test_a_folder_that_may_not_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    wanted = r"cannot be written: (not a directory|file exists)\."
    with pytest.raises(DataError, match=wanted), whole_folder(tmp_path / "file" / "out"):
        pass
    with pytest.raises(DataError, match=r"cannot be written: file name too long\. Give it a shorter name"):
        write_frame(LARGE, tmp_path / f"{'x' * 300}.csv")


def test_an_error_of_the_caller_is_not_blamed_on_the_disk(tmp_path):
    with pytest.raises(pl.exceptions.ColumnNotFoundError), whole_file(tmp_path / "x"):
        LARGE["no such column"]
    assert list(tmp_path.iterdir()) == []


HANGS = """
import sys, time
from pathlib import Path
from camilla.table.files import whole_file, whole_folder
place = Path(sys.argv[2])
with (whole_folder if sys.argv[1] == "folder" else whole_file)(place) as draft:
    (draft / "half" if sys.argv[1] == "folder" else draft).write_text("half of it")
    print("writing", flush=True)
    time.sleep(600)
"""


@contextmanager
def writer(kind: str, place: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has begun to write, and never ends by itself."""
    command = [sys.executable, "-c", HANGS, kind, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        try:
            yield process
        finally:
            process.kill()


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def save(kind: str, place: Path) -> None:
    with (whole_folder if kind == "folder" else whole_file)(place) as draft:
        (draft / "all" if kind == "folder" else draft).write_text("all of it")


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_writer_left_is_removed_by_the_next_save(tmp_path, kind):
    with writer(kind, tmp_path / "out") as killed, writer(kind, tmp_path / "out.2"):
        kill(killed)
        assert len(hidden(tmp_path)) == 2
        (tmp_path / ".out.notes").write_text("of somebody else")
        save(kind, tmp_path / "out")
        left = hidden(tmp_path)
        assert len(left) == 2
        assert ".out.notes" in left
        assert any(name.startswith(".out.2.") for name in left)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_living_writer_keeps_its_draft(tmp_path, kind):
    with writer(kind, tmp_path / "out"):
        (draft,) = hidden(tmp_path)
        save(kind, tmp_path / "out")
        assert hidden(tmp_path) == [draft]


def test_a_folder_moved_out_by_a_killed_writer_is_put_back(tmp_path):
    """The moment between two renames: the old folder is in the draft, and nothing is at the target."""
    with writer("folder", tmp_path / "out") as killed:
        kill(killed)
    (draft,) = [tmp_path / name for name in hidden(tmp_path)]
    (draft / "old").mkdir()
    (draft / "old" / "kept").write_text("earlier result")
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "out"):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "kept").read_text() == "earlier result"


def test_drafts_of_another_machine_are_left_alone(tmp_path):
    """Its processes cannot be seen from here, so whether they live is unknown."""
    with writer("file", tmp_path / "out") as killed:
        kill(killed)
    (name,) = hidden(tmp_path)
    _, _, machine, *_ = name.split(".")
    elsewhere = name.replace(machine, "0123abcd")
    (tmp_path / name).rename(tmp_path / elsewhere)
    save("file", tmp_path / "out")
    assert hidden(tmp_path) == [elsewhere]
