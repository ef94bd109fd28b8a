"""What is sent is read apart from the server, within limits; the server's own memory stays small."""

import gzip
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import active_children

import board_worlds
import pytest
from board_worlds import Live

from camilla.errors import DataError
from camilla.server import submissions, uploads
from camilla.server.application import SMALL
from camilla.server.uploads import Known, Upload, UploadLimits, read_apart

SUBMIT = "/api/benchmarks/small/submissions"
GIVEN = board_worlds.responses(0.5, seed=1)
SAMPLES = list(GIVEN)


def read(content: bytes, filename: str, limits: UploadLimits | None = None, **fields: str) -> Known:
    with uploads.new_file(filename) as file:
        file.write(content)
        return read_apart(Upload(file, fields), SAMPLES, limits or UploadLimits())


def test_a_file_is_read_in_another_process_and_comes_back_as_it_was() -> None:
    rows = [f"one,sample {j:02},{j % 2}" for j in range(60)] + ["two,sample 07,1", "two,other,0"]
    found = read(("learner,sample,response\n" + "\n".join(rows)).encode(), "a.csv")
    assert found.table.learners == ("one", "two")
    assert found.n_unknown == [0, 1]
    assert found.table.samples == tuple(SAMPLES)
    cells = list(zip(found.table.learner, found.table.sample, found.table.response, strict=True))
    assert cells == [(0, j, j % 2) for j in range(60)] + [(1, 7, 1)]


def test_a_small_file_that_holds_a_large_table_is_refused() -> None:
    """300 MB in less than one; the process may take half a gigabyte."""
    bomb = gzip.compress(b"learner,sample,response\n" + b"one,sample 07,1\n" * 20_000_000, 1)
    assert len(bomb) < 3_000_000
    with pytest.raises(DataError, match=r"takes more than 0\.5 GB of memory or 30 seconds"):
        read(bomb, "a.csv.gz", UploadLimits(memory=500_000_000))
    assert read(b"sample,response\nsample 07,1\n", "a.csv", learner="next").table.learners == ("next",)


def test_a_file_that_takes_too_long_is_given_up_and_its_process_ended() -> None:
    before = {process.pid for process in active_children()}
    with pytest.raises(DataError, match="reading it takes more than"):
        read(b"learner,sample,response\none,sample 07,1\n", "a.csv", UploadLimits(seconds=0.0))
    assert {process.pid for process in active_children()} <= before


def test_what_no_benchmark_has_is_counted_and_not_kept(live: Callable[..., Live]) -> None:
    """A long body of JSON is read apart, and says the same as a short one."""
    server = live()
    more = {f"a sample of another benchmark {i}": 1.0 for i in range(40_000)}
    assert len(json.dumps(more)) > SMALL
    numbers = []
    for learner, given in (("short", GIVEN), ("long", GIVEN | more)):
        received = server.submit(server.token("ann"), learner, given)["received"][0]
        assert received["submission"]["n_responses"] == len(GIVEN)
        assert received["submission"]["n_unknown"] == len(given) - len(GIVEN)
        numbers.append(received["submission"]["id"])
    rows = server.rows()
    assert rows["short"]["ability"] == rows["long"]["ability"]
    with server.site.store.reading() as transaction:
        kept = submissions.responses_of(transaction, numbers)
    assert {table.samples for table in kept.values()} == {tuple(SAMPLES)}


def test_long_bodies_are_for_submissions_only(live: Callable[..., Live]) -> None:
    server = live()
    token = server.token("ann")
    number = server.number(token, "new", GIVEN)
    answer = server.post(f"/api/submissions/{number}/withdraw", token, {"reason": "x" * (SMALL + 1)})
    assert answer.status_code == 413
    answer = server.post(SUBMIT, token, content=b'{"learner": "' + b"x" * SMALL, headers=AS_JSON)
    assert answer.status_code == 422
    assert "the body cannot be used" in answer.json()["error"]


AS_JSON = {"Content-Type": "application/json"}


def test_a_client_cannot_say_how_its_submission_came(live: Callable[..., Live]) -> None:
    server = live(least_share=0.0)
    answer = server.post(
        SUBMIT, server.token("ann"), data={"source": "session", "learner": "new"},
        files={"file": ("a.csv", b"sample,response\nsample 07,1\n")},
    )  # fmt: skip
    assert answer.json()["received"][0]["submission"]["source"] == "file"


ARENAS = """
import ctypes, sys, threading
from camilla.server import memory
if sys.argv[1] == "small":
    memory.keep_small()
C = ctypes.CDLL(None)
C.malloc.restype = ctypes.c_void_p
together = threading.Barrier(12)
def work():
    C.malloc(3000)
    together.wait()
threads = [threading.Thread(target=work) for _ in range(12)]
for one in threads: one.start()
for one in threads: one.join()
memory.give_back()
C.fdopen.restype = ctypes.c_void_p
out = C.fdopen(1, b"w")
C.malloc_info(0, ctypes.c_void_p(out))
C.fflush(ctypes.c_void_p(out))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
def test_threads_of_a_server_share_two_arenas() -> None:
    def arenas(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", ARENAS, how], capture_output=True, text=True, check=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        return done.stdout.count("<heap nr=")

    assert arenas("as it is") > 2
    assert arenas("small") <= 2
