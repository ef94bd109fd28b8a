"""Two servers over one PostgreSQL: submissions to both, one refit at a time, the same board on both."""

import json
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import board_worlds
import pytest
from board_worlds import Live
from running_server import running

from camilla.server.accounts import add_token
from camilla.server.operations import check
from camilla.server.refitting import end_lease, new_holder, take_lease
from camilla.server.store import Store

N_EACH = 6


def submitted(address: str, token: str, learner: str, seed: int) -> int:
    given = board_worlds.responses(seed / 5 - 1, seed)
    request = urllib.request.Request(
        f"{address}/api/benchmarks/small/submissions",
        json.dumps({"learner": learner, "responses": given}).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(json.load(answer)["received"][0]["submission"]["id"])


def work_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] == "job"]


@pytest.mark.slow
def test_two_servers_take_turns_and_show_the_same_board(
    small_diagnosis: Path, new_place: Callable[[str], str], tmp_path: Path
) -> None:
    place = new_place("postgresql")
    store = Store(place)
    tokens = [add_token(store, name, "submitter").secret for name in ("ann", "bob")]
    words = (small_diagnosis, "--name", "small", "--store", place, "--no-report", "--refit-seconds", 0.5)
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    with running(folders[0], *words) as one, running(folders[1], *words) as other:
        numbers: list[int] = []

        def send(address: str, token: str, who: str) -> None:
            for turn in range(N_EACH):
                numbers.append(submitted(address, token, f"{who} {turn}", turn))

        threads = [
            threading.Thread(target=send, args=(server.address, token, name))
            for server, token, name in zip((one, other), tokens, ("ann", "bob"), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(numbers)) == 2 * N_EACH

        def settled() -> bool:
            boards = [server.json("/api/benchmarks/small/leaderboard") for server in (one, other)]
            rows = boards[0]["rows"]
            whole = len(rows) == board_worlds.N_LEARNERS + 2 * N_EACH
            return boards[0] == boards[1] and whole and all(row["state"] == "fitted" for row in rows)

        def idle() -> bool:
            """Whether the process that fitted has ended too; a server that stops would end it."""
            with store.reading() as transaction:
                return bool(transaction.value("SELECT expires FROM leases") == 0)

        one.until(settled)
        one.until(idle)
        assert [server.stop() for server in (one, other)] == [0, 0]
    done = [work_of(server.events()) for server in (one, other)]
    with store.reading() as transaction:
        boards = transaction.rows("SELECT created, seconds FROM boards WHERE number > 1 ORDER BY number")
    jobs = [job for jobs in done for job in jobs]
    assert all(job["code"] == 0 for job in jobs)
    assert len(jobs) == len(boards)
    assert check(store, refit=True).faults == []
    store.close()


def test_a_lease_is_of_one_holder_until_it_ends(live: Callable[..., Live]) -> None:
    store = live().site.store
    one, other = new_holder(), "elsewhere 1 x"
    assert take_lease(store, one)
    assert take_lease(store, one)
    assert not take_lease(store, other)
    end_lease(store, one)
    assert take_lease(store, other, seconds=-1)
    assert take_lease(store, one)
    dead = " ".join([one.split()[0], "4194305", "x"])  # above the largest number of a process
    end_lease(store, one)
    assert take_lease(store, dead)
    assert take_lease(store, one)
