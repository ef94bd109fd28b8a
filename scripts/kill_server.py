"""Kills a live leaderboard again and again while it writes and refits; nothing acknowledged may be lost.

    python scripts/kill_server.py 50 [--store postgresql://…] [--seed 0]

Six submitters send learners, replace and withdraw them. After each kill with SIGKILL, of the server alone or
of its background process too, it is started anew. At the end every acknowledged submission must be in the
store once, `camilla store check --refit` must find nothing, and the board must equal one fitted from nothing.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/server"))

import board_worlds
from running_server import Server

import camilla
from camilla.server.accounts import add_token
from camilla.server.boards import benchmarks, newest_board
from camilla.server.operations import check, same_board
from camilla.server.refitting import RefitPolicy, changes_since, fitted_to
from camilla.server.store import Store, now
from camilla.server.submissions import active
from camilla.server.views import Boards

SUBMITTERS = 6
POLICY = RefitPolicy(changes=2, seconds=1.0, reports=False)


class Submitter(threading.Thread):
    """Sends learners until it is told to stop, and remembers what was acknowledged."""

    def __init__(self, number: int, address: str, token: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.number, self.address, self.token = number, address, token
        self.random = random.Random(seed)
        self.kept: dict[int, str] = {}  # submission: learner
        self.withdrawn: set[int] = set()
        self.unsure = 0
        self.ended = threading.Event()

    def run(self) -> None:
        turn = 0
        while not self.ended.is_set():
            turn += 1
            name = f"learner of {self.number}, {turn % 4}"
            given = board_worlds.responses(self.random.gauss(0, 1), self.random.randrange(10**6))
            body = {"learner": name, "responses": given}
            answer = self.ask("/api/benchmarks/small/submissions", body)
            if answer is not None:
                self.kept[answer["received"][0]["submission"]["id"]] = name
            if self.kept and self.random.random() < 0.2:
                chosen = self.random.choice(sorted(self.kept))
                if self.ask(f"/api/submissions/{chosen}/withdraw", {}) is not None:
                    self.withdrawn.add(chosen)
            time.sleep(self.random.random() * 0.2)

    def ask(self, path: str, body: dict[str, Any]) -> Any:
        """The answer of success; None where none came."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{path}: {error.code} {error.read()!r}") from None
        except (OSError, ValueError):
            self.unsure += 1
            time.sleep(0.1)
            return None


def kill(server: Server, chance: random.Random) -> None:
    """The server, and every other time its background process at the same moment."""
    assert server.process is not None
    if chance.random() < 0.5:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
    server.kill()


def another_board(store: Store, seconds: float) -> None:
    """Waits until there is one board more, or some time has passed."""
    until, before = time.monotonic() + seconds, n_boards(store)
    while n_boards(store) == before and time.monotonic() < until:
        time.sleep(0.2)


def n_boards(store: Store) -> int:
    with store.reading() as transaction:
        return int(transaction.value("SELECT COUNT(*) FROM boards"))


def settled(store: Store, seconds: float) -> None:
    """Waits until the newest board has every change."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with store.reading() as transaction:
            one = benchmarks(transaction)[0]
            if not changes_since(transaction, one, newest_board(transaction, one.id)):
                return
        time.sleep(0.2)
    raise SystemExit("the board did not settle")


def verdict(store: Store, submitters: list[Submitter]) -> list[str]:
    """Everything that is wrong."""
    with store.reading() as transaction:
        benchmark = benchmarks(transaction)[0]
        rows = {row["id"]: row for row in transaction.rows("SELECT * FROM submissions")}
        counted = active(transaction, benchmark.id, now())
    faults = list(check(store, refit=True).faults)
    for one in submitters:
        for number, learner in one.kept.items():
            if number not in rows or rows[number]["learner"] != learner:
                faults.append(f"submission {number} of {learner} was acknowledged and is not there")
        faults += [f"{n} was withdrawn and counts" for n in one.withdrawn if rows[n]["withdrawn"] is None]
    if len({row["learner"] for row in counted}) != len(counted):
        faults.append("a learner counts twice")
    boards = Boards(store)
    served = boards.view("small")
    fresh = fitted_to(store, benchmark, counted)
    if served.placed or not same_board(served.found, fresh):
        faults.append("the board is not the one that a fit from nothing gives")
    boards.close()
    return faults


def main(kills: int, place: str | None, seed: int) -> int:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        diagnosis = folder / "small"
        camilla.diagnose(board_worlds.world(), "camilla-base", **board_worlds.SETTINGS).save(diagnosis)
        place = place or str(folder / "store.db")
        store = Store(place)
        tokens = [add_token(store, f"account {i}", "submitter").secret for i in range(SUBMITTERS)]
        server = Server(
            folder, diagnosis, "--store", place, "--no-report", "--quiet", "--refit-after", POLICY.changes,
            "--refit-seconds", POLICY.seconds, "--writes", 1e6,
        )  # fmt: skip
        submitters = [Submitter(i, server.address, token, seed + i) for i, token in enumerate(tokens)]
        server.start()
        for one in submitters:
            one.start()
        for number in range(kills):
            if number % 5 == 4:  # a machine may be too busy to make a board in six seconds
                another_board(store, 120)
            time.sleep(chance.uniform(0.2, 6.0))
            kill(server, chance)
            server.start()
        for one in submitters:
            one.ended.set()
        for one in submitters:
            one.join()
        settled(store, 300)
        code = server.stop()
        faults = verdict(store, submitters) + ([] if code == 0 else [f"the server ended with {code}"])
        kept = sum(len(one.kept) for one in submitters)
        lost = sum(one.unsure for one in submitters)
        print(
            f"{kills} kills: {kept} submissions acknowledged, {lost} requests without an answer, "
            f"{n_boards(store)} boards. Faults: {faults or 'none'}"
        )
        store.close()
        return 1 if faults else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kills", type=int)
    parser.add_argument("--store")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.exit(main(given.kills, given.store, given.seed))
