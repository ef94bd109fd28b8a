"""The notebooks show what really happens: their cells are run, and print what they show."""

import ast
import contextlib
import io
import json
from pathlib import Path
from pprint import pformat
from typing import Any

import pytest

from test_docs import _lines, agrees

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs/notebooks").glob("*.ipynb"))


def shown(cell: dict[str, Any]) -> list[str]:
    """The lines that the notebook keeps below a cell."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell["outputs"]]
    return _lines("\n".join("".join(text) for text in texts))


def printed(source: str, names: dict[str, Any]) -> list[str]:
    """What running a cell prints, and the value of its last expression."""
    tree, said, value = ast.parse(source), io.StringIO(), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return _lines(said.getvalue() + ("" if value is None else pformat(value, width=79)))


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "compare-two-models",
        "diagnose-by-skills",
        "epp-leaderboard",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_print_what_the_notebook_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To keep new outputs: python scripts/notebooks.py."""
    monkeypatch.chdir(path.parent)
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            found = printed(source, names)
            assert agrees(found, shown(cell)), source + "\n" + "\n".join(found)
