"""The command line, in this process or in one of its own, without colours and 120 columns wide.

Most of what a process of its own costs is the interpreter's start and imports. The entry point is the same in
both: arguments, standard streams, folder and warnings are what a shell would give it. A process of its own is
for what only one has: signals, pipes that close, the cost of imports.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from camilla.cli.main import main
from camilla.schemas import schema

CAMILLA = [sys.executable, "-c", "from camilla.cli.main import main; main()"]
PLAIN = {"COLUMNS": "120", "NO_COLOR": "1"}
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", **PLAIN}
SILENT = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


def camilla(
    *arguments: object, cwd: Path, said: str | bytes = "", columns: int = 120, one_stream: bool = False
) -> subprocess.CompletedProcess[str]:
    """What a command prints and how it ends; `said` is its standard input, bytes as they are.

    `one_stream`: standard error goes where standard output goes, as after 2>&1. What --json prints is checked
    against its schema, in whichever test it is printed.
    """
    words = list(map(str, arguments))
    out = _stream()
    err = out if one_stream else _stream()
    streams = {"argv": ["camilla", *words], "stdin": _stream(said), "stdout": out, "stderr": err}
    environment = PLAIN | {"COLUMNS": str(columns)}
    with (
        _environment(environment), _attributes(sys, streams), contextlib.chdir(cwd),
        _imports_of_its_own(cwd), _warnings_of_a_script(),
    ):  # fmt: skip
        code = _ended()
    if "--json" in words and not one_stream and _text(out).startswith("{"):
        assert undeclared(json.loads(_text(out))) == []
    return subprocess.CompletedProcess(words, code, _text(out), "" if one_stream else _text(err))


def camilla_process(
    *arguments: object, cwd: Path, said: str = "", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, on one thread."""
    return subprocess.run(
        [*CAMILLA, *map(str, arguments)],
        cwd=cwd, env=environment or ENVIRONMENT, input=said, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


def undeclared(document: dict[str, Any]) -> list[str]:
    """Where a document that --json prints is not what its schema declares."""
    return [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in _validator(document["schema"]["name"]).iter_errors(document)
    ]


@cache
def _validator(name: str) -> Any:
    return jsonschema_rs.validator_for(schema(name))


def _ended() -> int:
    """The exit code of the entry point; what it lets through is printed as the interpreter would."""
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
            return 1
        return end.code or 0
    except Exception:  # noqa: BLE001 - the interpreter's own last resort
        traceback.print_exc()
        return 1
    return 0


def _stream(said: str | bytes = "") -> io.TextIOWrapper:
    content = said if isinstance(said, bytes) else said.encode()
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _attributes(owner: Any, values: dict[str, Any]) -> Iterator[None]:
    before = {name: getattr(owner, name) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


@contextlib.contextmanager
def _imports_of_its_own(folder: Path) -> Iterator[None]:
    """Modules lying in the folder are found, and forgotten afterwards."""
    path, modules = list(sys.path), set(sys.modules)
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).parent == Path(folder):
                del sys.modules[name]


@contextlib.contextmanager
def _warnings_of_a_script() -> Iterator[None]:
    """Python's own filters, and warnings on standard error, where the tests make each an error."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        for category in SILENT:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = _shown
        yield


def _shown(
    message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
