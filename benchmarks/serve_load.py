"""Load on a live leaderboard: readers and submitters over loopback, with latencies and memory.

    python benchmarks/serve_load.py [--seconds 60] [--readers 200] [--submitters 20] [--store postgresql]

It serves the embedded digits (42 learners × 1797 samples). Readers ask for the leaderboard, learners, samples
and the JSON, each again as soon as it was answered, `--pause` seconds apart on average; submitters send new
learners. At the end every acknowledged submission must be in the store once. `--cores 2` keeps the server to
two cores where there are more.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/server"))

import numpy as np
import postgres
from running_server import Server

import camilla
from camilla.server.accounts import add_token
from camilla.server.operations import check
from camilla.server.store import Store

PATHS = [
    ("/benchmarks/digits", 6),
    ("/api/benchmarks/digits/leaderboard", 4),
    ("/benchmarks/digits/learner?learner=knn+5", 2),
    ("/benchmarks/digits/skills", 1),
    ("/benchmarks/digits/submissions", 1),
    ("/api/benchmarks/digits/learner?learner=svm+rbf", 1),
]


async def ask(port: int, head: str, body: bytes = b"") -> tuple[int, bytes]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head.encode() + body)
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(), 60)
    finally:
        writer.close()
    first, _, rest = answer.partition(b"\r\n")
    return int(first.split()[1]), rest.partition(b"\r\n\r\n")[2]


class Load:
    """What was asked, how long it took, what failed."""

    def __init__(self, port: int, seconds: float, pause: float) -> None:
        self.port, self.pause = port, pause
        self.until = time.monotonic() + seconds
        self.reads: list[float] = []
        self.writes: list[float] = []
        self.errors: list[str] = []
        self.kept: list[int] = []

    async def reader(self, seed: int) -> None:
        chance = random.Random(seed)
        names, weights = zip(*PATHS, strict=True)
        while await self._rested(chance.expovariate(1 / self.pause)):
            path = chance.choices(names, weights)[0]
            await self._timed(self.reads, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    async def submitter(self, number: int, token: str, responses: np.ndarray, samples: list[str]) -> None:
        chance = random.Random(number)
        turn = 0
        while await self._rested(chance.expovariate(1 / (10 * self.pause))):
            turn += 1
            row = responses[chance.randrange(len(responses))].copy()
            flipped = chance.sample(range(len(row)), 40)
            row[flipped] = 1 - row[flipped]
            document = {
                "learner": f"load {number} {turn % 5}",
                "responses": dict(zip(samples, row.tolist(), strict=True)),
            }
            body = json.dumps(document).encode()
            head = (
                "POST /api/benchmarks/digits/submissions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            answer = await self._timed(self.writes, head, body)
            if answer is not None:
                self.kept += [one["submission"]["id"] for one in json.loads(answer)["received"]]

    async def _rested(self, seconds: float) -> bool:
        """Waits; whether the load goes on after that."""
        await asyncio.sleep(max(0.0, min(seconds, self.until - time.monotonic())))
        return time.monotonic() < self.until

    async def _timed(self, times: list[float], head: str, body: bytes = b"") -> bytes | None:
        started = time.perf_counter()
        try:
            status, answer = await ask(self.port, head, body)
        except (OSError, TimeoutError, IndexError) as error:
            self.errors.append(repr(error))
            return None
        times.append(time.perf_counter() - started)
        if status not in (200, 201):
            self.errors.append(f"{status} {answer[:200]!r}")
            return None
        return answer


def memory(process: int) -> float:
    """Resident megabytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def watched(process: int, load: "Load", seconds: float, said: list[dict[str, float]]) -> None:
    """Memory over time, beside how many submissions were acknowledged by then."""
    started = time.monotonic()
    while (now := time.monotonic() - started) < seconds:
        said.append(
            {
                "second": round(now, 1),
                "mb": round(memory(process), 1),
                "submissions": len(load.kept),
                "machine_load": round(os.getloadavg()[0], 1),
            }
        )
        await asyncio.sleep(max(seconds / 60, 1.0))


async def run(
    load: Load, given: argparse.Namespace, tokens: list[str], process: int
) -> list[dict[str, float]]:
    table = camilla.digits()
    matrix, samples = table.matrix(), list(table.samples)
    said: list[dict[str, float]] = []
    await asyncio.gather(
        *(load.reader(i) for i in range(given.readers)),
        *(load.submitter(i, token, matrix, samples) for i, token in enumerate(tokens)),
        watched(process, load, given.seconds, said),
    )
    return said


def main(given: argparse.Namespace) -> int:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        diagnosis = folder / "digits"
        camilla.diagnose(camilla.digits(), "camilla-base", skill_correlation=0.8, precision=3.0).save(
            diagnosis
        )
        place = str(folder / "store.db")
        if given.store == "postgresql":
            socket = stack.enter_context(postgres.started(settings=""))
            place = postgres.new_database(socket, "load")
        store = Store(place)
        tokens = [add_token(store, f"account {i}", "submitter").secret for i in range(given.submitters)]
        words = ("--no-report", "--quiet", "--reads", 1e9, "--writes", 1e9, "--refit-after", 20)
        server = Server(folder, diagnosis, "--store", place, *words)
        everything = os.sched_getaffinity(0)
        if given.cores:
            os.sched_setaffinity(0, set(sorted(everything)[: given.cores]))  # the server inherits it
        server.start()
        os.sched_setaffinity(0, everything)
        assert server.process is not None
        time.sleep(1)
        load = Load(server.port, given.seconds, given.pause)
        used = asyncio.run(run(load, given, tokens, server.process.pid))
        server.stop()
        report(given, load, used, store)
        return 1 if load.errors else 0


def report(given: argparse.Namespace, load: Load, used: list[dict[str, float]], store: Store) -> None:
    with store.reading() as transaction:
        there = {row["id"] for row in transaction.rows("SELECT id FROM submissions")}
        boards = transaction.value("SELECT COUNT(*) FROM boards")
    lost = set(load.kept) - there
    reads, writes = np.array(load.reads), np.array(load.writes)
    each_minute = {int(one["second"] // 60): one for one in reversed(used)}
    document = {
        "store": given.store, "seconds": given.seconds, "cores": given.cores or os.cpu_count(),
        "readers": given.readers, "submitters": given.submitters,
        "reads_per_second": round(len(reads) / given.seconds, 1),
        "read_ms": {f"p{q}": round(1000 * float(np.percentile(reads, q)), 1) for q in (50, 95, 99)},
        "writes_per_second": round(len(writes) / given.seconds, 2),
        "write_ms": {f"p{q}": round(1000 * float(np.percentile(writes, q)), 1) for q in (50, 95, 99)}
        if len(writes) else {},
        "acknowledged": len(load.kept), "lost": len(lost), "boards": boards, "errors": len(load.errors),
        "first_errors": load.errors[:3], "faults": check(store).faults,
        "memory": [*reversed(each_minute.values()), used[-1]],
        "load_of_machine": os.getloadavg()[0],
    }  # fmt: skip
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--submitters", type=int, default=20)
    parser.add_argument("--pause", type=float, default=1.0, help="Seconds that a reader waits on average.")
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--cores", type=int, default=0)
    sys.exit(main(parser.parse_args()))
