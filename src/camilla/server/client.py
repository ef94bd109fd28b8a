"""The leaderboard's client: submits a table to a server, with nothing but the standard library."""

import io
import json
import os
import secrets
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import polars as pl

from camilla.errors import DataError, SettingError
from camilla.names import quoted
from camilla.table.responses import ResponseTable

TOKEN_VARIABLE = "CAMILLA_TOKEN"
SECONDS = 120
SENT = ("learner", "sample", "response", "trial", "weight")  # answers and keys stay here
SHOWN = ("submission", "learner", "rank", "rank_low", "rank_high", "ability", "low", "high", "accuracy", "n")


def token_from(file: Path | None) -> str:
    """The token in a file, or in the environment: a command line can be seen by others."""
    if file is not None:
        try:
            token = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{file}: the token cannot be read: {error}.") from None
    else:
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise SettingError(
            f"a token is needed: put it into the variable {TOKEN_VARIABLE}, or name --token-file."
        )
    return token


class Client:
    """A leaderboard at an address."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingError(f"an address is written http://… or https://…; got {address!r}.")
        self.address, self._token = address.rstrip("/"), token

    def only_benchmark(self) -> str:
        """The name of the benchmark, where there is one only."""
        names = [one["name"] for one in self._ask("/api/benchmarks")["benchmarks"]]
        if len(names) != 1:
            raise SettingError(
                f"the server has {len(names)} benchmarks: {quoted(names)}. Choose one: --benchmark."
            )
        return str(names[0])

    def submit(self, benchmark: str, table: ResponseTable) -> dict[str, Any]:
        """Sends responses of all learners of a table; what the server answers once they are safe."""
        frame, content = table.to_long(), io.BytesIO()
        frame.select([name for name in SENT if name in frame.columns]).write_parquet(content)
        edge = secrets.token_hex(16)
        head = (
            f"--{edge}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"responses.parquet\"\r\n"
            "Content-Type: application/vnd.apache.parquet\r\n\r\n"
        )  # fmt: skip
        body = head.encode() + content.getvalue() + f"\r\n--{edge}--\r\n".encode()
        kind = f"multipart/form-data; boundary={edge}"
        return self._ask(f"/api/benchmarks/{quote(benchmark, safe='')}/submissions", body, kind)

    def _ask(self, path: str, body: bytes | None = None, kind: str = "") -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}"} | ({"Content-Type": kind} if kind else {})
        request = urllib.request.Request(self.address + path, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                document = json.load(answer)
        except urllib.error.HTTPError as error:
            raise DataError(f"{self.address} answers {error.code}: {_reason(error)}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise DataError(f"{self.address}: no leaderboard answers there: {reason}.") from None
        if not isinstance(document, dict):
            raise DataError(f"{self.address}: answers, but not as a leaderboard does.")
        return document

    @staticmethod
    def rows(answer: dict[str, Any]) -> pl.DataFrame:
        """Where the learners of a submission stand."""
        rows = [one["row"] for one in answer["received"] if one["row"] is not None]
        return pl.DataFrame(rows, infer_schema_length=None).select(SHOWN)


def _reason(error: urllib.error.HTTPError) -> str:
    """What the server says is wrong."""
    try:
        return str(json.loads(error.read(100_000))["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return str(error.reason)
