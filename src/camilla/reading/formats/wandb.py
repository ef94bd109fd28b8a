"""Weights & Biases: the table of samples that lm-evaluation-harness and lmms-eval log to a run.

`media/table/<task>_eval_results_<step>_<hash>.table.json`, {"columns": […], "data": […]}: id, data, labels,
output_type, raw_predictions, filtered_predictions, and then a column for each metric; tables of a group have
columns group and task besides. Other tables do not say which of their columns are scores.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from camilla.errors import DataError
from camilla.reading.decoding import name_in, plain
from camilla.reading.entries import MOST_METRICS, Draft, described, fingerprint, kept_content, words
from camilla.reading.formats.mlflow import Record, records_of
from camilla.reading.runs import Answered, Asked, Content, Run

LAST = "filtered_predictions"
LABELS = ("group", "task")
NAME = re.compile(r"(?P<task>.+?)_eval_results(_\d+_[0-9a-f]+)?[.]table", re.DOTALL)
RUN_FOLDER = re.compile(r"(offline-)?run-(?P<date>\d{8}_\d{6})-.+", re.DOTALL)


def runs(path: Path) -> Iterator[Run]:
    """A run for each task of the table."""
    tasks: dict[str, list[Record]] = {}
    named = NAME.fullmatch(path.stem)
    for row in records_of(path):
        task = plain(row.get("task")) or (named["task"] if named else path.stem) or "wandb"
        tasks.setdefault(task, []).append(row)
    if not tasks:
        raise DataError(f"{path}: the table has no rows.")
    folder = next((one.name for one in path.parents if RUN_FOLDER.fullmatch(one.name)), "")
    stamp = RUN_FOLDER.fullmatch(folder)
    for task, rows in tasks.items():
        draft = Draft()
        keys = [_scored(draft, row, f"{path}: row {number}") for number, row in enumerate(rows, start=1)]
        yield Run(
            folder or path.parent.name or "wandb",
            task,
            draft.rows(),
            source=str(path),
            format="wandb",
            date=stamp["date"] if stamp else "",
            about=draft.about,
            left_out=draft.left_out,
            content=partial(_content, keys, rows),
        )


def _scored(draft: Draft, row: Record, where: str) -> tuple[str, int]:
    sample = name_in(row.get("id"), where=where, what="id")
    trial = draft.trial(sample)
    content = fingerprint(row.get("data"), row.get("labels"))
    group = {"group": row["group"]} if "group" in row else None
    draft.about.setdefault(sample, described(words(row.get("data")), group))
    metrics = list(_metrics(row))[:MOST_METRICS]
    for name in metrics:
        draft.add(sample, name, row[name], trial, content)
    if not metrics:
        draft.unscored(sample, trial, content)
    return sample, trial


def _metrics(row: Record) -> Iterator[str]:
    """The columns behind the predictions."""
    behind = False
    for name in row:
        if behind and name not in LABELS:
            yield name
        behind = behind or name == LAST


def _content(keys: list[tuple[str, int]], rows: list[Record]) -> Content:
    return kept_content(
        (
            Asked(words(row.get("data")), words(_any(row.get("labels"))), _choices(row.get("choices"))),
            Answered(*key, words(_any(row.get(LAST)))),
        )
        for key, row in zip(keys, rows, strict=True)
    )


def _any(value: Any) -> Any:
    return plain(value) if isinstance(value, int | float) else value


def _choices(value: Any) -> tuple[str, ...]:
    """One choice per line, behind its number."""
    lines = value.splitlines() if isinstance(value, str) else []
    return tuple(line.partition(". ")[2] or line for line in lines)
