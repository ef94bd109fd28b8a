"""Around the application: limits on bodies, headers that guard every answer, counts and the log."""

import asyncio
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from camilla.extras import needing
from camilla.server.routes import JSON, Problem, Site
from camilla.server.store import RefusedError

with needing("a server"):
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
METHODS = ("GET", "HEAD", "POST", "DELETE")
BROKEN = "something went wrong in the server; its log says what."


class Limits(NamedTuple):
    """What one request, one token and one address may cost."""

    body: int = 32 * 2**20  # bytes
    seconds: float = 30.0  # for a body to arrive
    reads: float = 3000.0  # requests per minute of a token or address
    writes: float = 120.0
    readers: int = 8  # threads
    writers: int = 2
    uploads: int = 2


def code_lines(error: Exception) -> list[str]:
    """Files and lines that an error came through, the last ones."""
    return [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-6:]]


class Guard:
    """Around the application: the prefix taken off, bodies limited, headers added, requests logged."""

    def __init__(self, inner: ASGIApp, site: Site, limits: Limits, log: Callable[..., None]) -> None:
        self.inner, self.site, self.limits, self.log = inner, site, limits, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        started = time.perf_counter()
        status, size = 500, 0
        prefix = self.site.prefix
        if prefix and (scope["path"] == prefix or scope["path"].startswith(prefix + "/")):
            scope = dict(scope) | {"path": scope["path"][len(prefix) :] or "/"}
        scope.setdefault("state", {})

        async def sent(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _guarded(message["headers"])}
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._limited(scope, receive, sent)
        except Exception as error:  # noqa: BLE001 - the client is told nothing of it, the log everything
            self.log("error", error=repr(error), path=scope["path"], at=code_lines(error))
            if not size:
                await _plain(500, BROKEN)(scope, receive, sent)
        finally:
            self._told(scope, status, size, time.perf_counter() - started)

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        limits = self.limits
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > limits.body:
            await _too_large(limits.body)(scope, receive, send)
            return
        taken, until = 0, time.monotonic() + limits.seconds

        async def received() -> Message:
            nonlocal taken
            try:
                async with asyncio.timeout(max(until - time.monotonic(), 0.001)):
                    message = await receive()
            except TimeoutError:
                raise RefusedError(
                    408, f"the body did not arrive within {limits.seconds:g} seconds."
                ) from None
            taken += len(message.get("body", b""))
            if taken > limits.body:
                raise RefusedError(413, f"a body has at most {limits.body} bytes.")
            return message

        try:
            await self.inner(scope, received, send)
        except RefusedError as refused:
            await _plain(refused.status, str(refused))(scope, receive, send)
        except ClientDisconnect:
            return

    def _told(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        client = scope.get("client") or ("?",)
        counts = self.site.counts
        method = scope["method"] if scope["method"] in METHODS else "other"
        labels = f'{{method="{method}",status="{status}"}}'
        for name, amount in (("camilla_requests_total", 1.0), ("camilla_request_duration_seconds", seconds)):
            counts[name + labels] = counts.get(name + labels, 0.0) + amount
        self.log(
            "request", method=scope["method"], path=scope["path"], status=status, bytes=size,
            ms=round(1000 * seconds, 1), address=client[0], account=scope["state"].get("account"),
        )  # fmt: skip


def _guarded(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """An answer's headers with those that guard it; its own win."""
    there = {name.lower() for name, _ in headers}
    more = HEADERS | {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
    return [
        *headers,
        *((k.lower().encode(), v.encode()) for k, v in more.items() if k.lower().encode() not in there),
    ]


def _plain(status: int, message: str) -> Response:
    return Response(msgspec.json.encode(Problem(message)), status, {"Connection": "close"}, JSON)


def _too_large(most: int) -> Response:
    return _plain(413, f"a body has at most {most} bytes.")
