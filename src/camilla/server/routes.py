"""How a route is declared: what it takes and answers, checked on each request and described as OpenAPI."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import msgspec

import camilla
from camilla.server.accounts import Caller, Role
from camilla.server.refitting import Worker
from camilla.server.sessions import Sessions
from camilla.server.store import RefusedError, Store
from camilla.server.uploads import Upload
from camilla.server.views import Boards

JSON, PARQUET, TEXT = "application/json", "application/vnd.apache.parquet", "text/plain; charset=utf-8"
LARGEST_NUMBER = 2**53 - 1  # that JavaScript can count to
Number = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_NUMBER)]


class Problem(msgspec.Struct):
    """Why a request was refused."""

    error: str


@dataclass(frozen=True)
class Site:
    """What answers are made from."""

    store: Store
    boards: Boards
    sessions: Sessions
    worker: Worker | None  # None: nothing can be submitted
    private: bool = False  # reading needs a token
    prefix: str = ""  # of all paths, behind a proxy
    title: str = "Camilla"
    counts: dict[str, float] = field(default_factory=dict)


class Ask(NamedTuple):
    """A request, after it was checked."""

    site: Site
    caller: Caller
    params: Any
    body: Any = None
    upload: Upload | None = None


class Params(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Of a route without parameters; others add theirs."""


@dataclass(frozen=True)
class ApiRoute:
    """One method of one path. `status` is that of success; `refuses` are the other answers it has."""

    method: str
    path: str
    call: Callable[[Ask], Any]
    answer: Any
    summary: str
    params: type[Params] = Params
    body: Any = None
    takes_file: bool = False
    role: Role | None = None  # None: who may read
    status: int = 200
    refuses: tuple[int, ...] = ()
    media: str = JSON
    cached: bool = False  # the answer changes with the benchmark's revision only

    @property
    def in_path(self) -> list[str]:
        """Names of the parameters that are part of the path."""
        return re.findall(r"{(\w+)}", self.path)


def checked_params(kind: type[Params], path: Mapping[str, str], query: Iterable[tuple[str, str]]) -> Params:
    """Parameters of path and query as the route declares them."""
    given: dict[str, str] = {}
    for name, value in query:
        if name in given or name in path:
            raise RefusedError(400, f"the parameter {name!r} is given twice; give it once.")
        given[name] = value
    try:
        found = msgspec.convert({**given, **path}, type=kind, strict=False)
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"the parameters cannot be used: {error}.") from None
    if any("\x00" in value for value in (*given.values(), *path.values())):
        raise RefusedError(400, "a parameter contains the character NUL, which no name has.")
    return found


def checked_body(kind: Any, content: bytes) -> Any:
    """The JSON that was sent, as the route declares it."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(400, f"the body cannot be used: {error}.") from None


ALWAYS = (400, 408, 413, 429, 500, 503)  # what any request may be answered with
MEANINGS = {
    200: "As asked.",
    201: "Made.",
    400: "The request is not as described here.",
    401: "A token is missing or not valid.",
    403: "The token does not allow it.",
    404: "There is no such thing.",
    408: "The body arrived too slowly.",
    409: "It conflicts with what exists.",
    413: "The body is too large.",
    415: "The body has another content type than described here.",
    422: "The data cannot be used; the error says why.",
    429: "Too many requests; Retry-After says how long to wait.",
    500: "Something went wrong in the server.",
    503: "The store does not answer; Retry-After says when to ask again.",
}


def openapi(routes: Iterable[ApiRoute], *, private: bool, prefix: str) -> dict[str, Any]:
    """The description of all routes, from the declarations that check requests."""
    routes = list(routes)
    kinds = [route.answer for route in routes if isinstance(route.answer, type)]
    kinds += [route.body for route in routes if route.body is not None]
    kinds += [route.params for route in routes] + [Problem]
    unique = list(dict.fromkeys(kinds))
    schemas, components = msgspec.json.schema_components(unique, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(unique, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        own = components[route.params.__name__]
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, own, schema_of, private)
    shown = {name: one for name, one in components.items() if name not in {r.params.__name__ for r in routes}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Camilla leaderboard", "version": camilla.__version__},
        "servers": [{"url": prefix or "/"}],
        "paths": paths,
        "components": {
            "schemas": shown,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(
    route: ApiRoute, params: dict[str, Any], schema_of: dict[Any, Any], private: bool
) -> dict[str, Any]:
    needs_token = route.role is not None or private
    required = set(params.get("required", ()))
    refuses = {*route.refuses, *ALWAYS} | ({401, 403} if route.role is not None else {401})
    problem = {JSON: {"schema": schema_of[Problem]}}
    success = {"schema": schema_of[route.answer]} if isinstance(route.answer, type) else {"schema": {}}
    responses: dict[str, Any] = {
        str(status): {"description": MEANINGS[status], "content": problem} for status in sorted(refuses)
    }
    responses[str(route.status)] = {
        "description": MEANINGS[route.status],
        "content": {route.media.partition(";")[0]: success},
    }
    if route.status == 201:
        responses["200"] = {"description": "It existed already.", "content": {JSON: success}}
    operation = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}_{re.sub(r'[^a-z]+', '_', route.path.strip('/'))}".rstrip("_"),
        "parameters": [
            {
                "name": name,
                "in": "path" if name in route.in_path else "query",
                "required": name in required,
                "schema": {key: value for key, value in schema.items() if key != "default"},
            }
            for name, schema in params.get("properties", {}).items()
        ],
        "security": [{"token": []}] if needs_token else [{}, {"token": []}],
        "responses": dict(sorted(responses.items())),
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _bodies(route, schema_of)}
    return operation


def _bodies(route: ApiRoute, schema_of: dict[Any, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {JSON: {"schema": schema_of[route.body]}}
    if route.takes_file:
        content["multipart/form-data"] = {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary"},
                    "learner": {"type": "string", "minLength": 1, "maxLength": 500},
                },
            }
        }
    return content
