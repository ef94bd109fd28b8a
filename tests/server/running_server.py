"""`camilla serve` in a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-c", "from camilla.cli.main import main; main()"]
PATIENCE = 120  # seconds, on a busy machine


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Server:
    """A server that can be killed and started again over the same store."""

    def __init__(self, folder: Path, *words: object, port: int | None = None) -> None:
        self.folder, self.words, self.port = folder, list(map(str, words)), port or free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it answers."""
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "serve", *self.words, "--port", str(self.port)], cwd=self.folder, stdout=log,
                stderr=log, env=os.environ | {"OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}:\n{self.log()[-3000:]}")
            try:
                self.get("/healthz")
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
                continue
            return
        raise RuntimeError(f"the server did not start:\n{self.log()[-3000:]}")

    def kill(self) -> None:
        """As the kernel or a power cut would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """As systemd would; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)

    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    def events(self) -> list[dict[str, Any]]:
        lines = [line for line in self.log().splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines]

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.address + path, timeout=PATIENCE) as answer:
            return bytes(answer.read())

    def json(self, path: str) -> Any:
        return json.loads(self.get(path))

    def until(self, what: Any, seconds: float = PATIENCE) -> Any:
        """What a function returns once that is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := what():
                return found
            time.sleep(0.1)
        raise AssertionError(f"never came true:\n{self.log()[-3000:]}")


@contextmanager
def running(folder: Path, *words: object) -> Iterator[Server]:
    """A server that ends with the block."""
    server = Server(folder, *words)
    server.start()
    try:
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
