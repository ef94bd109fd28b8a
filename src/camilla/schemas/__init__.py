"""JSON Schema of every document that a command prints: `NAME.json` here, parts of several in `shared.json`.

The files are the one declaration. A document carries the name and the version of its schema, and tests check
each command's output against it.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from camilla.errors import SettingError
from camilla.names import nearest

SHARED = "shared"
REFERENCE = f"{SHARED}.json#/$defs/"
REMEDY = re.compile(  # how a sentence begins that says what to do
    "(Add|Ask|Check|Choose|Close|Did you mean|Drop|Fill|Fit|Give|Have|Install|Join|Leave|Load|Log|Make"
    "|Map|Merge|Name|Pass|Put|Read|Remove|Rename|Rescale|Run|Save|Say|See|Set|Split|Take|To |Try|Use|Was"
    "|Write)\\b"
)


def schema_names() -> list[str]:
    """The names of all documents."""
    found = (
        path.name.removesuffix(".json") for path in files(__name__).iterdir() if path.name.endswith(".json")
    )
    return sorted(name for name in found if name != SHARED)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a document that `camilla … --json` prints, in one piece.

    Parameters
    ----------
    name : str
        The name in the document's `schema.name`, such as "compare".

    Returns
    -------
    dict
        A schema of JSON Schema 2020-12. Every field has a description.

    Examples
    --------
    >>> camilla.schema("compare")["properties"]["verdict"]["enum"][:2]
    ['better', 'worse']
    """
    if name not in schema_names():
        raise SettingError(f"no document is called {name!r}. {nearest(name, schema_names())}")
    document, parts = _read(name), _read(SHARED)["$defs"]
    used: dict[str, Any] = {}
    bundled = _with_local_references(document, parts, used)
    return bundled | ({"$defs": dict(sorted(used.items()))} if used else {})


def stamped(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The document with the name and version of its schema and its verdict in front."""
    version = _read(name)["properties"]["schema"]["properties"]["version"]["const"]
    first = {"schema": {"name": name, "version": version}, "verdict": document["verdict"]}
    return first | document


def error_document(kind: str, message: str, exit_code: int) -> dict[str, Any]:
    """An error as plain data; `remedy` is the last sentence if it says what to do."""
    last = re.split(r"(?<=[.?!])\s+(?=[A-Z\"'])", message.strip())[-1]
    remedy = last if REMEDY.match(last) else None
    return {"verdict": "error", "error": message, "kind": kind, "exit_code": exit_code, "remedy": remedy}


def _with_local_references(value: Any, parts: dict[str, Any], used: dict[str, Any]) -> Any:
    """The same with shared parts referred to within the schema; `used` collects them."""
    if isinstance(value, list):
        return [_with_local_references(one, parts, used) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: _with_local_references(one, parts, used) for key, one in value.items()}
    reference = found.get("$ref")
    if isinstance(reference, str) and reference.startswith(REFERENCE):
        name = reference.removeprefix(REFERENCE)
        if name not in used:
            used[name] = {}
            used[name] = _with_local_references(parts[name], parts, used)
        found["$ref"] = f"#/$defs/{name}"
    return found


@cache
def _read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return loaded
