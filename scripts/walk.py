"""How far a reader has to walk through the source: the figures of docs/design/floor-plan.md.

Two commands are run with every call of a function of this package recorded, imports left out. A walk is
the order in which functions are first called: how many files they are in, and how often the next one is
in another room (a folder of src/camilla; the files beside the folders are one room). Then the source is
read: files, imports that form a cycle (those inside functions included), names of engines compared.

    python scripts/walk.py [--files] [--write]    # --write: into the floor plan
"""

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/camilla"
PAGE = ROOT / "docs/design/floor-plan.md"


class Length(NamedTuple):
    """Of a walk."""

    files: int
    changes: int | None


WANTED = {"diagnose --with camilla": Length(35, 25), "compare": Length(22, None)}
FIRST_PLAN = {"diagnose --with camilla": Length(53, 68), "compare": Length(41, None)}

RECORDER = """
import json, sys, threading
from pathlib import Path
root, out, argv = sys.argv[1] + "/", sys.argv[2], sys.argv[3:]
known, calls = {}, {}

def ours(path):
    if path not in known:
        real = str(Path(path).resolve())
        known[path] = real.removeprefix(root) if real.startswith(root) else None
    return known[path]

def record(frame, event, argument):
    code = frame.f_code
    if event != "call" or (file := ours(code.co_filename)) is None or (file, code.co_qualname) in calls:
        return
    while frame is not None:  # what an import runs is not part of the walk
        if frame.f_code.co_name == "<module>" and ours(frame.f_code.co_filename) is not None:
            return
        frame = frame.f_back
    calls[file, code.co_qualname] = None

from camilla.cli.main import main
sys.argv = ["camilla", *argv]
sys.setprofile(record)
threading.setprofile(record)
try:
    main()
except SystemExit as stop:
    if stop.code:
        raise
finally:
    sys.setprofile(None)
    Path(out).write_text(json.dumps([file for file, _ in calls]))
"""


class Walk(NamedTuple):
    """The files of the functions in the order of their first call."""

    calls: list[str]

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(self.calls))

    @property
    def room_changes(self) -> int:
        rooms = [file.split("/")[0] if "/" in file else "" for file in self.calls]
        return sum(one != other for one, other in pairwise(rooms))


def walk(*command: str) -> Walk:
    """The walk of one command, run in a process of its own."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        run = [sys.executable, "-c", RECORDER, str(SOURCE), out.name, *command]
        subprocess.run(run, check=True, capture_output=True, text=True)
        return Walk(json.loads(Path(out.name).read_text()))


def walks(folder: Path) -> dict[str, Walk]:
    """The walks that the floor plan quotes, on small tables made here."""
    rows = [f"m{i},s{j},{int((7 * i + 5 * j) % 11 < 2 + i / 2)}" for i in range(12) for j in range(30)]
    table = folder / "table.csv"
    table.write_text("\n".join(["learner,sample,response", *rows]) + "\n")
    examples = ROOT / "docs/examples"
    return {
        "diagnose --with camilla": walk("diagnose", str(table), "--with", "camilla", "-o", str(folder / "d")),
        "compare": walk("compare", str(examples / "logistic"), str(examples / "ridge")),
    }


def imports() -> dict[str, set[str]]:
    """Module to the modules of this package that it imports, also inside functions, types alone left out."""
    paths = {_module(path): path for path in SOURCE.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for module, path in paths.items():
        targets: set[str] = set()
        for node in _nodes(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= {name if name in paths else node.module for name in full}
        found[module] = {name for name in targets if name in paths} - {module, "camilla"}
    return found


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: what stands under TYPE_CHECKING does not."""
    todo = [tree]
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
                todo.append(child)
                yield child


def cycles(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import themselves by way of others."""
    left = {module: set(targets) for module, targets in graph.items()}
    while done := {module for module, targets in left.items() if not targets & left.keys()}:
        left = {module: targets for module, targets in left.items() if module not in done}
    return sorted(module for module in left if _reaches(left, module))


def _reaches(graph: dict[str, set[str]], start: str) -> bool:
    seen: set[str] = set()
    todo = set(graph[start])
    while todo:
        module = todo.pop()
        seen.add(module)
        todo |= graph.get(module, set()) - seen
    return start in seen


def engine_comparisons() -> list[str]:
    """Lines that compare the name of an engine."""
    pattern = re.compile(r"engine\s*(==|!=|in\b|not in\b)|(==|!=)\s*\w*\.?engine\b|match .*\.engine\b")
    return [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line) and not line.lstrip().startswith(('"""', "#"))
    ]


def n_source_files() -> int:
    """All but those of `reading/formats`, which has a file per harness, however many there are."""
    return sum(path.parent.name != "formats" for path in SOURCE.rglob("*.py"))


def table(found: dict[str, Walk]) -> str:
    """What was measured, beside what is wanted and what the first floor plan had."""
    rows = []
    for name, walked in found.items():
        wanted, first = WANTED[name], FIRST_PLAN[name]
        rows.append((f"`{name}`: files", first.files, len(walked.files), wanted.files))
        rows.append((f"`{name}`: changes of room", first.changes, walked.room_changes, wanted.changes))
    rows.append(("source files, formats apart", 269, n_source_files(), 190))
    rows.append(("modules in import cycles", 0, len(cycles(imports())), 0))
    rows.append(("comparisons of an engine's name", 25, len(engine_comparisons()), 0))
    cells = [("| " + " | ".join("–" if cell is None else str(cell) for cell in row) + " |") for row in rows]
    return "\n".join(["| | first plan | now | wanted, at most |", "|---|---|---|---|", *cells])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = walks(Path(folder))
    measured = table(found)
    print(measured)
    if "--files" in sys.argv:
        for name, walked in found.items():
            print("\n".join([f"{name}:", *walked.files]))
    print(f"cycles: {cycles(imports())}, comparisons: {engine_comparisons()}")
    if "--write" in sys.argv:
        start, end = "<!-- walk -->\n", "<!-- end of walk -->"
        before, rest = PAGE.read_text().split(start)
        PAGE.write_text(before + start + measured + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
