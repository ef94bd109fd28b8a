"""The house rules that a linter cannot see: size of files, names of rooms, what an import costs."""

import ast
import runpy
import subprocess
import sys
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import camilla

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
DIAGNOSERS = sorted((ROOT / "src/camilla/models").glob("[!_]*.py"))
LONGEST = 500
MOST_ALIKE = 0.6
HOMELESS = {"utils", "util", "helpers", "common", "misc", "base", "core", "config"}
HEAVY = ("jax", "scipy", "polars")


def lines_of_code(source: str) -> int:
    """Lines outside of docstrings, which public names have long ones of for `help` and the site."""
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, holders) and ast.get_docstring(node, clean=False) is not None
    ]
    return len(source.splitlines()) - sum((text.end_lineno or 0) - text.lineno + 1 for text in texts)


def test_no_source_file_has_more_than_500_lines_of_code() -> None:
    long = {path: text for path in SOURCES if len((text := path.read_text()).splitlines()) > LONGEST}
    lengths = {path.name: lines_of_code(text) for path, text in long.items()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_docstrings_are_no_lines_of_code() -> None:
    source = '"""A file."""\n\ndef f():\n    """One.\n\n    Two.\n    """\n    return "not a docstring"\n'
    assert lines_of_code(source) == 3


def test_no_room_is_named_after_nothing() -> None:
    rooms = {part for path in SOURCES for part in path.relative_to(ROOT / "src").with_suffix("").parts}
    assert rooms & HOMELESS == set()


def test_every_public_name_can_be_had() -> None:
    assert [name for name in camilla.__all__ if getattr(camilla, name, None) is None] == []


def test_public_names_are_sorted_and_all_there_is_to_see() -> None:
    assert camilla.__all__ == sorted(set(camilla.__all__))
    assert dir(camilla) == sorted([*camilla.__all__, "__version__"])


@pytest.mark.parametrize(
    "code",
    [
        "import camilla",
        "import sys; sys.argv = ['camilla', '--help']; from camilla.cli.main import app; app()",
    ],
    ids=["import camilla", "camilla --help"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    """Whatever way the code ends, the names of loaded modules go to standard error."""
    watched = (
        f"import atexit, sys; atexit.register(lambda: sys.stderr.write(repr(list(sys.modules)))); {code}"
    )
    run = subprocess.run([sys.executable, "-c", watched], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in ast.literal_eval(run.stderr)}
    assert "camilla" in loaded
    assert loaded & set(HEAVY) == set()


@pytest.mark.parametrize(
    "pair", list(combinations(DIAGNOSERS, 2)), ids=lambda pair: f"{pair[0].stem} {pair[1].stem}"
)
def test_no_two_diagnosers_are_copies_of_each_other(pair: tuple[Path, Path]) -> None:
    """The share of equal lines, indents and blank lines aside; released siblings elsewhere reach .86."""
    one, other = ([line.strip() for line in path.read_text().splitlines() if line.strip()] for path in pair)
    assert SequenceMatcher(None, one, other, autojunk=False).ratio() <= MOST_ALIKE


def test_nothing_is_pickled_and_nothing_is_mocked() -> None:
    found = []
    for path in [*SOURCES, *sorted((ROOT / "tests").rglob("*.py"))]:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "pickle" in text or "mock" in text else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            found += [(path.name, name) for name in names if name in ("pickle", "unittest.mock")]
    assert found == []


@pytest.fixture(scope="module")
def walk() -> dict[str, Any]:
    """scripts/walk.py, which measures the floor plan."""
    return runpy.run_path(str(ROOT / "scripts/walk.py"))


def test_the_source_has_no_import_cycle_and_compares_no_name_of_an_engine(walk: dict[str, Any]) -> None:
    assert walk["cycles"](walk["imports"]()) == []
    assert walk["engine_comparisons"]() == []


def test_files_hold_subjects_not_fragments() -> None:
    """The first floor plan had 269 files of 104 lines on average."""
    lines = [len(path.read_text().splitlines()) for path in SOURCES]
    assert sum(lines) / len(lines) > 150


def test_a_cycle_and_a_comparison_are_found(walk: dict[str, Any]) -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
    assert walk["cycles"](graph) == ["a", "b", "c"]
