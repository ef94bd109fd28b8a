"""LangSmith: the results of an experiment as the SDK's `to_pandas()` gives them, saved as CSV, JSONL or JSON.

Columns are inputs.*, outputs.*, reference.*, error, feedback.* (each a metric), execution_time, example_id
and id. The table names neither model nor dataset, so the file's name stands for the learner.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from camilla.reading.decoding import name_in
from camilla.reading.entries import (
    MOST_METRICS,
    Draft,
    described,
    fingerprint,
    kept_content,
    records,
    value_in,
    words,
)
from camilla.reading.runs import Answered, Asked, Content, Run

FEEDBACK = "feedback."


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; an example that comes again is another trial."""
    draft = Draft()
    keys: list[tuple[str, int]] = []
    rows = list(records(path))
    for number, row in enumerate(rows):
        sample = name_in(row.get("example_id"), where=f"{path}: row {number + 1}", what="example_id")
        keys.append((sample, draft.trial(sample)))
        _score(draft, *keys[-1], row)
    yield Run(
        path.stem or "langsmith",
        path.stem or "langsmith",
        draft.rows(),
        source=str(path),
        format="langsmith",
        about=draft.about,
        left_out=draft.left_out,
        named_by_task=False,
        task_is_file=True,
        content=partial(_content, keys, rows),
    )


def _score(draft: Draft, sample: str, trial: int, row: dict[str, Any]) -> None:
    asked, reference = _part(row, "inputs."), _part(row, "reference.")
    content = fingerprint(asked, reference)
    draft.about.setdefault(sample, described(words(asked)))
    why = "errored" if row.get("error") else None
    metrics = [name for name in row if name.startswith(FEEDBACK)][:MOST_METRICS]
    for name in metrics:
        draft.add(sample, name.removeprefix(FEEDBACK), value_in(row[name]), trial, content, why)  # type: ignore[arg-type]
    if not metrics:
        draft.unscored(sample, trial, content, why or "unscored")  # type: ignore[arg-type]


def _part(row: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The fields of the inputs, outputs or reference that have a value."""
    return {
        name.removeprefix(prefix): value
        for name, value in row.items()
        if name.startswith(prefix) and value is not None
    }


def _content(keys: list[tuple[str, int]], rows: list[dict[str, Any]]) -> Content:
    return kept_content(
        (
            Asked(words(_part(row, "inputs.")), words(_part(row, "reference."))),
            Answered(*key, words(_part(row, "outputs."))),
        )
        for key, row in zip(keys, rows, strict=True)
    )
