"""Read latency of a live leaderboard while large and hostile files are uploaded to it.

    python benchmarks/serve_uploads.py

It serves the embedded digits (42 learners × 1797 samples). Eight readers ask for pages, four times a second
each; one submitter sends files of about 50 MB, one after the other, and a small one that unpacks to 360 MB.
"""

import gzip
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/server"))

import numpy as np
from running_server import Server

import camilla
from camilla.server.accounts import add_token
from camilla.server.store import Store
from serve_load import memory

READERS, PER_SECOND = 8, 4
PATHS = ["/benchmarks/digits", "/api/benchmarks/digits/leaderboard", "/benchmarks/digits/submissions"]
EDGE = "edge-of-a-part"
TABLE = camilla.digits()
SAMPLES, RIGHT = TABLE.samples, TABLE.matrix().astype(int)


def many_learners() -> tuple[bytes, str]:
    rows = (
        f"up {i},{sample},{value},{'x' * 110}\n"
        for i in range(200)
        for sample, value in zip(SAMPLES, RIGHT[i % len(RIGHT)], strict=True)
    )
    return ("learner,sample,response,note\n" + "".join(rows)).encode(), "a.csv"


def unknown_samples() -> tuple[bytes, str]:
    known = (f"one,{sample},{value}\n" for sample, value in zip(SAMPLES, RIGHT[0], strict=True))
    unknown = (f"one,unknown sample {i},1\n" for i in range(1_800_000))
    return ("learner,sample,response\n" + "".join([*known, *unknown])).encode(), "a.csv"


def json_lines() -> tuple[bytes, str]:
    row = {"learner": "two", "response": 1, "why": "y" * 20}
    return "\n".join(json.dumps(row | {"sample": f"s {i}"}) for i in range(600_000)).encode(), "a.jsonl"


def json_body() -> tuple[bytes, str]:
    given = dict.fromkeys(SAMPLES, 1.0) | {f"unknown sample {i}": 1.0 for i in range(1_700_000)}
    return json.dumps({"learner": "three", "responses": given}).encode(), ""


def unpacks_large() -> tuple[bytes, str]:
    return gzip.compress(b"learner,sample,response\n" + b"a,b,1\n" * 60_000_000, 1), "a.csv.gz"


class Readers:
    """Threads that ask for pages, and when each answer was asked for and how long it took."""

    def __init__(self, server: Server) -> None:
        self.server, self.ended = server, threading.Event()
        self.times: list[tuple[float, float]] = []
        self.threads = [threading.Thread(target=self._read, args=(seed,)) for seed in range(READERS)]
        for one in self.threads:
            one.start()

    def _read(self, seed: int) -> None:
        chance = random.Random(seed)
        while not self.ended.wait(chance.expovariate(PER_SECOND)):
            started = time.perf_counter()
            self.server.get(chance.choice(PATHS))
            self.times.append((started, time.perf_counter() - started))

    def stop(self) -> None:
        self.ended.set()
        for one in self.threads:
            one.join()

    def said(self, start: float, end: float) -> str:
        inside = [1000 * took for at, took in self.times if at < end and at + took > start]
        p50, p99 = np.percentile(inside, [50, 99])
        return f"{len(inside)} reads, p50 {p50:.0f} ms, p99 {p99:.0f} ms, longest {max(inside):.0f} ms"


def send(server: Server, token: str, content: bytes, filename: str) -> str:
    kind = "application/json"
    if filename:
        head = f'--{EDGE}\r\nContent-Disposition: form-data; name="file"; filename="{filename}"\r\n\r\n'
        content = head.encode() + content + f"\r\n--{EDGE}--\r\n".encode()
        kind = f"multipart/form-data; boundary={EDGE}"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
    connection.request("POST", "/api/benchmarks/digits/submissions", content, headers)
    return str(connection.getresponse().status)


def main() -> None:
    uploads: list[Callable[[], tuple[bytes, str]]] = [
        many_learners, unknown_samples, json_lines, json_body, unpacks_large
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        found = camilla.diagnose(TABLE, "camilla-base", skill_correlation=0.8, precision=3.0)
        found.save(folder / "digits")
        store = Store(str(folder / "store.db"))
        token = add_token(store, "ann", "submitter").secret
        words = ("--no-report", "--quiet", "--reads", 1e9, "--largest", 80, "--refit-seconds", 10**6)
        words += ("--refit-after", 10**6)
        server = Server(folder, folder / "digits", "--store", folder / "store.db", *words)
        contents = [(make.__name__, *make()) for make in uploads]
        server.start()
        readers = Readers(server)
        assert server.process is not None
        for name, content, filename in [("nothing", b"", ""), *contents]:
            time.sleep(1)
            started = time.perf_counter()
            status = send(server, token, content, filename) if content else time.sleep(6)
            end = time.perf_counter()
            print(
                f"{name} ({len(content) / 1e6:.0f} MB): {status}, {end - started:.1f} s; "
                f"{readers.said(started, end)}; server {memory(server.process.pid):.0f} MB; "
                f"load of the machine {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        readers.stop()
        server.stop()
        store.close()


if __name__ == "__main__":
    main()
