"""SWE-bench: reports of the harness (schema 1 and 2) and of one instance, results of SWE-bench/experiments.

Resolved is 1, unresolved and an empty patch are 0. What the evaluation itself failed on is missing. Lists of
`experiments` name hardly more than what was resolved: every other sample of the benchmark was not.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import decode_file, name_in, number_in
from camilla.reading.runs import About, Row, Run

TASK = "swe-bench"


class Report(msgspec.Struct):
    """Lists of instance ids; the harness writes resolved_ids, experiments and older reports resolved."""

    resolved_ids: list[Any] | None = None
    resolved: Any = None
    infra_failure_ids: list[Any] = []
    ambiguous_failure_ids: list[Any] = []
    error_ids: list[Any] = []
    no_logs: list[Any] = []
    unresolved_ids: list[Any] | None = None
    empty_patch_ids: list[Any] = []
    no_generation: list[Any] = []
    completed_ids: list[Any] = []
    total_instances: Any = None
    resolved_instances: Any = None


class Verdict(msgspec.Struct):
    resolved: bool


REPORT = msgspec.json.Decoder(Report)
VERDICT = msgspec.json.Decoder(dict[str, Verdict])


def runs(path: Path) -> Iterator[Run]:
    """The run of a report; that of one instance is a part of the run that its folders name."""
    if path.name == "report.json":
        yield _of_instances(path)
        return
    report = decode_file(path, REPORT)
    resolved = report.resolved_ids if report.resolved_ids is not None else report.resolved
    if not isinstance(resolved, list):
        raise DataError(f"{path}: has no list of resolved instances.")
    rows: dict[str, Row] = {}
    for ids, score in (
        (report.infra_failure_ids + report.ambiguous_failure_ids + report.error_ids + report.no_logs, None),
        (resolved, 1.0),
        ((report.unresolved_ids or []) + report.empty_patch_ids + report.no_generation, 0.0),
        (report.completed_ids, 0.0),
    ):
        for id in ids:
            name = name_in(id, where=str(path), what="an instance id")
            rows.setdefault(name, Row(name, score, "resolved", why="errored" if score is None else None))
    learner, task, date = _named(path)
    yield _run(
        learner, task, list(rows.values()), path, date=date, rest_is_wrong=report.unresolved_ids is None,
        **_stated(report),
    )  # fmt: skip


def _stated(report: Report) -> dict[str, Any]:
    """Resolved of all instances of the benchmark, submitted or not, as the harness reports it."""
    total, resolved = number_in(report.total_instances), number_in(report.resolved_instances)
    if not total or resolved is None:
        return {}
    return {"stated": {"resolved": resolved / total}, "n_stated": int(total)}


def _of_instances(path: Path) -> Run:
    verdicts = decode_file(path, VERDICT)
    rows = [Row(name, float(one.resolved), "resolved") for name, one in verdicts.items() if name]
    parts = path.resolve().parts
    learner, run = (parts[-3], parts[-4]) if len(parts) > 4 else (path.parent.name, "")
    return _run(learner or path.stem, TASK, rows, path, run=f"{run}/{learner}")


def _named(path: Path) -> tuple[str, str, str]:
    """Learner, task and date: evaluation/<split>/<date>_<name>/results/results.json, <model>.<run>.json."""
    if path.name == "results.json":
        folder = path.resolve().parent
        folder = folder.parent if folder.name == "results" else folder
        date = re.match(r"(\d{8})_", folder.name)
        inside = folder.parent.parent.name == "evaluation"
        split = f"{TASK} {folder.parent.name}" if inside else TASK
        return folder.name or path.stem, split, date[1] if date else ""
    model, _, run = path.stem.rpartition(".")
    return model or run, TASK, ""


def _run(learner: str, task: str, rows: list[Row], path: Path, **more: Any) -> Run:
    about = {row.sample: About(skills=(("repo", _repository(row.sample)),)) for row in rows}
    return Run(
        learner,
        task,
        rows,
        source=str(path),
        format="swe-bench",
        about=about,
        named_by_task=False,
        **more,
    )


def _repository(sample: str) -> str:
    """django__django-12345 → django/django."""
    return sample.rpartition("-")[0].replace("__", "/") or sample
