"""The ASGI application: requests checked and limited, answers cached, guarded by headers, counted, logged."""

import asyncio
import hashlib
import json
import shutil
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from importlib import resources
from typing import IO, Any

import msgspec

from camilla.errors import CamillaError, FormatError
from camilla.extras import needing
from camilla.server import accounts, api, markup, pages, uploads
from camilla.server.accounts import NOBODY, Caller, RateLimit
from camilla.server.boards import REPORT
from camilla.server.guard import BROKEN, Guard, Limits, code_lines
from camilla.server.routes import (
    JSON,
    TEXT,
    ApiRoute,
    Ask,
    Params,
    Problem,
    Site,
    checked_body,
    checked_params,
    openapi,
)
from camilla.server.shapes import InBenchmark, OfNumber, Withdrawal
from camilla.server.store import AwayError, RefusedError, log_line
from camilla.server.uploads import Upload

with needing("a server"):
    import anyio
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.formparsers import MultiPartException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import RedirectResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp

HTML = "text/html; charset=utf-8"
COOKIE = "camilla_login"
CACHE = 64_000_000  # bytes of answers that are kept
LARGEST_CACHED = 2_000_000  # bytes of an answer
SMALL = 2**20  # bytes of JSON that are decoded between other requests; longer bodies are uploads
RETRY = "5"  # seconds
REPORT_POLICY = b'http-equiv="Content-Security-Policy" content="'  # what stands before it in a report


class Application:
    """Everything between a request and its answer."""

    def __init__(self, site: Site, limits: Limits, *, log: Callable[..., None] | None = None) -> None:
        self.site, self.limits = site, limits
        self.log = log or log_line
        self._reads, self._writes = RateLimit(limits.reads), RateLimit(limits.writes)
        self._cache: OrderedDict[tuple[Any, ...], tuple[bytes, str]] = OrderedDict()
        self._cached_bytes = 0
        self._making: dict[tuple[Any, ...], asyncio.Future[bytes]] = {}
        self._threads: dict[str, anyio.CapacityLimiter] = {}
        self._api = api.READ_ROUTES + (() if site.worker is None else api.WRITE_ROUTES)
        self._description = msgspec.json.encode(openapi(self._api, private=site.private, prefix=site.prefix))
        self._style = resources.files("camilla.server").joinpath("static", "site.css").read_bytes()

    def asgi(self) -> ASGIApp:
        """The application as a server calls it."""
        by_path: dict[str, dict[str, Callable[..., Any]]] = {}
        for route in self._api:
            by_path.setdefault(route.path, {})[route.method] = partial(self._answer_api, route)
        for page in pages.PAGES:
            if page.draw is not pages.submit_form or self.site.worker is not None:
                by_path.setdefault(page.path, {})["GET"] = partial(self._answer_page, page)
        of = pages.OF
        by_path |= {
            f"{of}/leaderboard.parquet": {"GET": self._parquet},
            f"{of}/report": {"GET": self._report},
            "/static/site.css": {"GET": self._stylesheet},
            "/openapi.json": {"GET": self._openapi},
            "/metrics": {"GET": self._metrics},
            "/healthz": {"GET": self._healthz},
        }
        if self.site.worker is not None:
            by_path[f"{of}/submit"]["POST"] = self._submit
            by_path["/submissions/{id}/withdraw"] = {"POST": self._withdraw}
        if self.site.worker is not None or self.site.private:
            by_path["/login"] = {"GET": self._login_form, "POST": self._login}
            by_path["/logout"] = {"POST": self._logout}
        routes = [
            Route(path, partial(self._dispatch, methods), methods=list(methods))
            for path, methods in by_path.items()
        ]
        refuse = {404: self._not_there, 405: self._not_there}
        return Guard(Starlette(routes=routes, exception_handlers=refuse), self.site, self.limits, self.log)

    async def _dispatch(self, methods: dict[str, Callable[..., Any]], request: Request) -> Response:
        """Calls the method's handler; whatever is refused becomes an answer that says why."""
        method = "GET" if request.method == "HEAD" else request.method
        request.state.caller, request.state.files = NOBODY, []
        try:
            return await methods[method](request)
        except ClientDisconnect:
            raise
        except MultiPartException as error:
            return self._refusal(request, 400, f"the form cannot be read: {error.message}")
        except HTTPException as error:  # of Starlette's parsers
            return self._refusal(request, error.status_code, str(error.detail))
        except Exception as error:  # noqa: BLE001 - a client is told what it can mend, the log everything
            return self._failed(request, error)
        finally:
            for file in request.state.files:
                file.close()

    def _failed(self, request: Request, error: Exception) -> Response:
        """What a client can mend is an answer that says so; what it cannot is in the log."""
        if isinstance(error, RefusedError):
            return self._refusal(request, error.status, str(error))
        if isinstance(error, CamillaError) and not isinstance(error, AwayError | FormatError):
            return self._refusal(request, 422, str(error))
        self.log("error", error=repr(error), path=request.url.path, at=code_lines(error))
        if isinstance(error, AwayError):
            return self._refusal(request, 503, "the store does not answer.")
        return self._refusal(request, 500, BROKEN)

    def _refusal(self, request: Request, status: int, message: str) -> Response:
        headers = {"Retry-After": RETRY} if status in (429, 503) else {}
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if status in (400, 408, 413):
            headers["Connection"] = "close"  # what is left of the body is not read
        if request.url.path.startswith(("/api/", "/openapi", "/metrics", "/healthz")):
            return Response(msgspec.json.encode(Problem(message)), status, headers, JSON)
        page = markup.problem(self.site, request.state.caller, status, message)
        return Response(page, status, headers, HTML)

    async def _not_there(self, request: Request, error: Exception) -> Response:
        request.state.caller = NOBODY
        status = getattr(error, "status_code", 404)
        message = (
            "there is nothing at this address."
            if status == 404
            else "this address does not take that method."
        )
        answer = self._refusal(request, status, message)
        answer.headers.update(getattr(error, "headers", None) or {})
        return answer

    async def _thread(self, call: Callable[..., Any], *args: Any, kind: str = "readers") -> Any:
        """Runs what waits for the store or computes, off the event loop; few at a time."""
        if kind not in self._threads:
            self._threads[kind] = anyio.CapacityLimiter(getattr(self.limits, kind))
        return await anyio.to_thread.run_sync(partial(call, *args), limiter=self._threads[kind])

    async def _caller(self, request: Request, role: accounts.Role | None) -> Caller:
        """Who asks, by token or cookie; refused where that is not enough, or too often."""
        bearer = request.headers.get("authorization", "")
        address = request.client.host if request.client else "?"
        writing = request.method not in ("GET", "HEAD")
        self._count(address, writing)
        caller = NOBODY
        if bearer:
            kind, _, secret = bearer.partition(" ")
            if kind.lower() != "bearer" or not secret.strip():
                raise RefusedError(401, "the header Authorization is written: Bearer TOKEN.")
            caller = await self._thread(accounts.caller_of_token, self.site.store, secret.strip())
            self._count(f"token {caller.token_id}", writing)
        elif cookie := request.cookies.get(COOKIE):
            caller = await self._thread(accounts.caller_of_login, self.site.store, cookie)
        request.state.caller = caller
        request.state.account = caller.account
        if role is not None or self.site.private:
            accounts.need(caller, role or "reader")
        return caller

    def _count(self, who: str, writing: bool) -> None:
        early = (self._writes if writing else self._reads).wait(who)
        if early:
            raise RefusedError(429, f"too many requests; wait {early:.1f} seconds.")

    async def _answer_api(self, route: ApiRoute, request: Request) -> Response:
        caller = await self._caller(request, route.role)
        if request.method not in ("GET", "HEAD") and caller.login is not None:
            raise RefusedError(401, "this needs a token in the header Authorization; a cookie is for forms.")
        params = checked_params(route.params, request.path_params, request.query_params.multi_items())
        body, upload = await self._body(route, request)
        ask = Ask(self.site, caller, params, body, upload)
        if route.method == "GET":
            make = partial(_encoded, route.call, ask)
            key = (request.method, request.url.path, request.url.query)
            return await self._cached(request, key, make, route.media, cached=route.cached)
        answer = await self._thread(route.call, ask, kind="writers" if upload is None else "uploads")
        status, document = answer if isinstance(answer, tuple) else (route.status, answer)
        self._tally(f"camilla_writes_total{{route={json.dumps(route.path)}}}")
        return Response(msgspec.json.encode(document), status, {"Cache-Control": "no-store"}, JSON)

    async def _body(self, route: ApiRoute, request: Request) -> tuple[Any, Upload | None]:
        if route.method in ("GET", "DELETE"):
            return None, None
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if route.body is None:
            await _sent(request, most=SMALL)
            return None, None
        if route.takes_file and kind == "multipart/form-data":
            return None, await _upload(request)
        if kind != JSON:
            raise RefusedError(
                415, f"the body must be {JSON}{' or multipart/form-data' if route.takes_file else ''}."
            )
        sent = await _sent(request, most=self.limits.body if route.takes_file else SMALL)
        return (None, sent) if isinstance(sent, Upload) else (checked_body(route.body, sent), None)

    async def _answer_page(self, page: pages.PageRoute, request: Request) -> Response:
        caller = await self._caller(request, None)
        params = checked_params(page.params, request.path_params, request.query_params.multi_items())
        ask = Ask(self.site, caller, params)

        def make() -> bytes:
            return page.draw(ask).encode("utf-8", "replace")

        key = (request.url.path, request.url.query)
        return await self._cached(request, key, make, HTML, cached=page.cached and caller.login is None)

    async def _cached(
        self, request: Request, key: tuple[Any, ...], make: Callable[[], bytes], media: str, *, cached: bool
    ) -> Response:
        """An answer with its ETag, from memory where the benchmark has not changed since."""
        shared = "private, no-cache" if self.site.private else "no-cache"
        kept = shared if request.state.caller.login is None else "no-store"
        headers = {"Cache-Control": kept, "Vary": "Cookie, Authorization"}
        content, tag = b"", ""
        if cached:
            name = request.path_params["benchmark"]
            benchmark = self.site.boards.known(name) or await self._thread(self.site.boards.benchmark, name)
            key = (benchmark.id, benchmark.revision, *key)
            content, tag = self._cache.get(key, (b"", ""))
        if not tag:
            content = await (self._made_once(key, make) if cached else self._thread(make))
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            if cached and len(content) <= LARGEST_CACHED and key not in self._cache:
                self._keep(key, content, tag)
        headers["ETag"] = tag
        if tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
            return Response(b"", 304, headers)
        return Response(content, 200, headers, media)

    async def _made_once(self, key: tuple[Any, ...], make: Callable[[], bytes]) -> bytes:
        """What `make` gives; whoever asks for the same meanwhile waits for the same answer."""
        if key not in self._making:
            task = asyncio.ensure_future(self._thread(make))
            self._making[key] = task
            task.add_done_callback(lambda _: self._making.pop(key, None))
        return await asyncio.shield(self._making[key])

    def _keep(self, key: tuple[Any, ...], content: bytes, tag: str) -> None:
        """Keeps an answer; forgets those of earlier revisions, and the oldest ones where that is too much."""
        benchmark, revision, *_ = key
        for old in [one for one in self._cache if one[0] == benchmark and one[1] < revision]:
            self._cached_bytes -= len(self._cache.pop(old)[0])
        self._cache[key] = (content, tag)
        self._cached_bytes += len(content)
        while self._cached_bytes > CACHE:
            _, (gone, _) = self._cache.popitem(last=False)
            self._cached_bytes -= len(gone)

    async def _parquet(self, request: Request) -> Response:
        """The board as a file, from the page."""
        route = next(one for one in self._api if one.path.endswith("/leaderboard.parquet"))
        return await self._answer_api(route, request)

    async def _report(self, request: Request) -> Response:
        """The report of the newest board that has one; its own policy allows its own script."""
        await self._caller(request, None)
        params = checked_params(InBenchmark, request.path_params, request.query_params.multi_items())
        page = await self._thread(report_of, self.site, params)
        policy = page.partition(REPORT_POLICY)[2].partition(b'"')[0].decode()
        answer = await self._cached(request, (), lambda: page, HTML, cached=False)
        answer.headers["Content-Security-Policy"] = f"{policy}; frame-ancestors 'none'"
        return answer

    async def _stylesheet(self, request: Request) -> Response:
        return await self._cached(request, (), lambda: self._style, "text/css; charset=utf-8", cached=False)

    async def _openapi(self, request: Request) -> Response:
        await self._caller(request, None)
        return await self._cached(request, (), lambda: self._description, JSON, cached=False)

    async def _healthz(self, request: Request) -> Response:
        """Whether the store answers."""
        try:
            version = await self._thread(self.site.store.version)
        except Exception as error:  # noqa: BLE001 - whatever it is, the store does not answer
            self.log("store_failed", error=repr(error))
            raise RefusedError(503, "the store does not answer.") from None
        return Response(msgspec.json.encode({"store": "ok", "schema": version}), 200, {}, JSON)

    async def _metrics(self, request: Request) -> Response:
        await self._caller(request, None)
        failures = 0 if self.site.worker is None else self.site.worker.failures
        known = {"camilla_background_failures_total": float(failures)} | self.site.counts
        kinds = sorted({name.partition("{")[0] for name in known})
        lines = []
        for kind in kinds:
            lines.append(f"# TYPE {kind} {'gauge' if kind.endswith('_seconds') else 'counter'}")
            lines += [
                f"{name} {value:g}" for name, value in sorted(known.items()) if name.partition("{")[0] == kind
            ]
        return Response("\n".join(lines) + "\n", 200, {}, TEXT)

    def _tally(self, name: str, amount: float = 1.0) -> None:
        self.site.counts[name] = self.site.counts.get(name, 0.0) + amount

    async def _login_form(self, request: Request) -> Response:
        self._count(request.client.host if request.client else "?", writing=False)
        return Response(pages.login_form(self.site, NOBODY), 200, {"Cache-Control": "no-store"}, HTML)

    async def _login(self, request: Request) -> Response:
        """A token becomes a cookie that other sites cannot send."""
        _same_site(request)
        self._count(request.client.host if request.client else "?", writing=True)
        form = await request.form(max_files=0, max_fields=5)
        try:
            caller = await self._thread(accounts.log_in, self.site.store, str(form.get("token", "")).strip())
        except RefusedError as refused:
            page = pages.login_form(self.site, NOBODY, error=str(refused))
            return Response(page, 401, {"Cache-Control": "no-store"}, HTML)
        answer = RedirectResponse(f"{self.site.prefix}/", 303)
        answer.set_cookie(
            COOKIE, caller.login or "", max_age=accounts.LOGIN_HOURS * 3600, path=f"{self.site.prefix}/",
            secure=request.url.scheme == "https", httponly=True, samesite="strict",
        )  # fmt: skip
        return answer

    async def _form(self, request: Request, role: accounts.Role) -> tuple[Caller, Upload]:
        """The fields of a form, once it is sure that a page of this login sent it."""
        _same_site(request)
        caller = await self._caller(request, role)
        upload = await _upload(request, file_needed=False)
        accounts.check_form(caller, upload.fields.get("csrf", ""))
        return caller, upload

    async def _logout(self, request: Request) -> Response:
        caller, _ = await self._form(request, "reader")
        await self._thread(accounts.log_out, self.site.store, caller.login)
        answer = RedirectResponse(f"{self.site.prefix}/", 303)
        answer.delete_cookie(COOKIE, path=f"{self.site.prefix}/", httponly=True, samesite="strict")
        return answer

    async def _submit(self, request: Request) -> Response:
        caller, upload = await self._form(request, "submitter")
        params = checked_params(InBenchmark, request.path_params, ())
        ask = Ask(self.site, caller, params, None, upload._replace(source="form"))
        try:
            _, answer = await self._thread(api.submit, ask, kind="uploads")
        except CamillaError as error:
            page = pages.submit_form(ask, error=str(error))
            return Response(page, getattr(error, "status", 422), {"Cache-Control": "no-store"}, HTML)
        learner = answer["received"][0]["submission"]["learner"]
        links = markup.Links(self.site, ask.params.benchmark)
        return RedirectResponse(links.to("/learner", learner=learner), 303)

    async def _withdraw(self, request: Request) -> Response:
        caller, upload = await self._form(request, "submitter")
        params = checked_params(OfNumber, request.path_params, ())
        body = Withdrawal(upload.fields.get("reason", "")[:500])
        ask = Ask(self.site, caller, params, body)
        answer = await self._thread(api.withdraw, ask, kind="writers")
        return RedirectResponse(markup.Links(self.site, answer["benchmark"]).to("/submissions"), 303)


def report_of(site: Site, params: Params) -> bytes:
    """The report of the newest board that was drawn."""
    benchmark = site.boards.benchmark(params.benchmark)  # type: ignore[attr-defined]
    with site.store.reading() as transaction:
        content = transaction.value(
            """SELECT content FROM board_files JOIN boards ON boards.id = board_id
            WHERE benchmark_id = :id AND board_files.name = :name ORDER BY number DESC LIMIT 1""",
            id=benchmark.id,
            name=REPORT,
        )
    if content is None:
        raise RefusedError(503, "the report is being drawn; look again in a moment.")
    return bytes(content)


def _encoded(call: Callable[[Ask], Any], ask: Ask) -> bytes:
    answer = call(ask)
    return answer if isinstance(answer, bytes) else msgspec.json.encode(answer)


def _same_site(request: Request) -> None:
    """Refuses a form that another site's page sends; browsers say so, and programs say nothing."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusedError(403, "the form comes from another site.")


def _new_file(request: Request, filename: str = "") -> IO[bytes]:
    """A file that is removed when the request was answered."""
    file = uploads.new_file(filename)
    request.state.files.append(file)
    return file


async def _sent(request: Request, *, most: int) -> bytes | Upload:
    """What a body holds; in a file where that is much."""
    start, file = bytearray(), None
    async for chunk in request.stream():
        start += chunk
        if len(start) > most:
            raise RefusedError(413, f"a body has at most {most} bytes here.")
        if len(start) > SMALL:
            file = file or _new_file(request)
            file.write(start)
            start.clear()
    if file is None:
        return bytes(start)
    file.write(start)
    return Upload(file, source="json")


async def _upload(request: Request, *, file_needed: bool = True) -> Upload:
    """The file and the fields of a form."""
    async with request.form(max_files=1, max_fields=10, max_part_size=2**16) as form:
        file = form.get("file")
        fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        if file is None or isinstance(file, str):
            if file_needed:
                raise RefusedError(400, "the form has no file. Send it in the field called file.")
            return Upload(_new_file(request), fields)
        copy = _new_file(request, file.filename or "")
        await anyio.to_thread.run_sync(shutil.copyfileobj, file.file, copy)
        return Upload(copy, fields)
