"""Skill graphs in files: a table with columns parent and child, or the same as JSON."""

import json
from pathlib import Path
from typing import Any

from camilla.data.columns import Origin
from camilla.data.names import shown
from camilla.data.skill_graph import SkillGraph
from camilla.errors import DataError
from camilla.loaders.frames import read_frame
from camilla.loaders.lines import placed


def read_skill_graph(path: str | Path) -> SkillGraph:
    """CSV, TSV, JSONL or Parquet with columns parent and child; JSON: a list of such objects or of pairs."""
    path = Path(path)
    try:
        if path.suffix.lower() == ".json":
            return SkillGraph(tuple(_edge(item, number, path) for number, item in enumerate(_items(path))))
        frame, place = placed(read_frame(path, text=True), path)
        return SkillGraph.of_columns(frame, Origin(str(path), place))
    except DataError as error:
        prefix = "" if str(path) in str(error) else f"{path}: "
        raise DataError(f"{prefix}{error}") from error


def _items(path: Path) -> list[Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}. Give the file of the graph.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is not JSON: {error}. A list of edges was wanted.") from error
    if not isinstance(document, list) or not document:
        raise DataError(f'{path}: a list of edges was wanted: [{{"parent": "sets", "child": "algebra"}}, …].')
    return document


def _edge(item: Any, number: int, path: Path) -> tuple[str, str]:
    pair = [item.get("parent"), item.get("child")] if isinstance(item, dict) else item
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
        raise DataError(
            f"{path}: edge {number} is {shown(json.dumps(item, ensure_ascii=False))[:80]}; "
            '{"parent": "sets", "child": "algebra"} or ["sets", "algebra"] was wanted.'
        )
    return pair[0], pair[1]
