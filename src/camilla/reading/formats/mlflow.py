"""MLflow: `eval_results_table.json` of `mlflow.evaluate`, {"columns": […], "data": […]}.

A metric of rows has a column `<metric>/score`, and one `<metric>/justification` if a model judged. Columns
before the outputs are what was asked. In a folder of runs the file lies in `<run>/artifacts`, the run's name
in `<run>/tags/mlflow.runName` and its parameters in `<run>/params`. Tables of the same name are of one task,
as MLflow itself takes them together.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import decode_file, plain, shortened
from camilla.reading.entries import MOST_METRICS, Draft, described, fingerprint, kept_content, words
from camilla.reading.runs import Answered, Asked, Content, Run

TABLE_NAME = "eval_results_table"
SCORE, REASON = "/score", "/justification"
OUTPUTS = ("outputs", "output", "predictions", "prediction")
TARGETS = ("ground_truth", "targets", "target", "expected_response", "label")
LOWER_IS_BETTER = ("toxicity", "latency", "token_count")
LONGEST_PARAMETER = 4096


class SplitTable(msgspec.Struct):
    columns: list[Any]
    data: list[list[Any]]


TABLE = msgspec.json.Decoder(SplitTable)
Record = dict[str, Any]


def records_of(path: Path) -> list[Record]:
    """The rows of a table that is stored as columns and data."""
    table = decode_file(path, TABLE)
    names = [str(name)[:200] for name in table.columns]
    for number, row in enumerate(table.data, start=1):
        if len(row) != len(names):
            raise DataError(
                f"{path}: row {number} has {len(row)} cells; expected {len(names)}, one per column."
            )
    return [dict(zip(names, row, strict=True)) for row in table.data]


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; rows have no names, so a sample is known by what it asks."""
    rows = records_of(path)
    metrics = [name for name in (rows[0] if rows else {}) if name.endswith(SCORE)][:MOST_METRICS]
    if not metrics:
        raise DataError(f"{path}: has no row, or no column <metric>/score.")
    draft = Draft()
    keys: list[tuple[str, int]] = []
    for row in rows:
        asked = _asked(row)
        content = fingerprint(asked)
        sample = draft.by_content(content)
        keys.append((sample, draft.trial(sample)))
        draft.about.setdefault(sample, described(_prompt(row)))
        for name in metrics:
            draft.add(sample, name.removesuffix(SCORE), row[name], keys[-1][1], content)
    lower = {
        name.removesuffix(SCORE): "lower is better" for name in metrics if name.startswith(LOWER_IS_BETTER)
    }
    draft.left_out |= lower
    folder = path.parent.parent if path.parent.name == "artifacts" else None
    yield Run(
        (folder and (_text(folder / "tags/mlflow.runName") or folder.name)) or path.stem or "mlflow",
        path.stem.removesuffix(f"_{TABLE_NAME}") or "mlflow",
        draft.rows(),
        source=str(path),
        format="mlflow",
        about=draft.about,
        settings=_parameters(folder) if folder else {},
        left_out=draft.left_out,
        unstable_ids=True,
        content=partial(_content, keys, rows),
    )


def _asked(row: Record) -> Record:
    """The columns before the outputs, or the inputs alone where the outputs come first."""
    asked: Record = {}
    for name, value in row.items():
        if name in OUTPUTS or name.endswith(SCORE):
            break
        asked[name] = value
    return asked or {name: row[name] for name in ("inputs", "question", "request") if name in row}


def _prompt(row: Record) -> str:
    asked = _asked(row)
    return words(asked.get("inputs") or {name: one for name, one in asked.items() if name not in TARGETS})


def _text(path: Path) -> str:
    """What a small file of a run says; nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            return shortened(file.read(LONGEST_PARAMETER).decode("utf-8", "replace"))
    except OSError:
        return ""


def _parameters(folder: Path) -> dict[str, str]:
    found = sorted(folder.glob("params/*"))[:MOST_METRICS]
    said = {plain(one.name): _text(one) for one in found if one.is_file()}
    return {name: value for name, value in said.items() if value}


def _content(keys: list[tuple[str, int]], rows: list[Record]) -> Content:
    return kept_content(
        (
            Asked(_prompt(row), words(next((row[name] for name in TARGETS if name in row), None))),
            Answered(*key, words(next((row[name] for name in OUTPUTS if name in row), None)), _reasons(row)),
        )
        for key, row in zip(keys, rows, strict=True)
    )


def _reasons(row: Record) -> str:
    said = {name.removesuffix(REASON): words(row[name]) for name in row if name.endswith(REASON)}
    return "\n".join(f"{name}: {reason}" for name, reason in said.items() if reason)
