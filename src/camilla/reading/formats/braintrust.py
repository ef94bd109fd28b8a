"""Braintrust: the events of an experiment, as its API gives them: under `events`, as an array, or as lines.

The root span of a case has its scores; the spans below it (task, model calls, scorers) have none of their own
that count. A case is known by its record in the dataset, or by its input where there is none.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import decode, decode_lines, plain, read_bytes
from camilla.reading.entries import MOST_METRICS, Draft, described, fingerprint, kept_content, words
from camilla.reading.runs import Answered, Asked, Content, Run


class Origin(msgspec.Struct):
    """The record of a dataset that a case is."""

    object_id: Any = None
    id: Any = None


class ExperimentEvent(msgspec.Struct):
    experiment_id: Any = None
    span_id: Any = None
    root_span_id: Any = None
    is_root: Any = None
    created: Any = None
    input: Any = None
    output: Any = None
    expected: Any = None
    error: Any = None
    scores: Any = None
    metadata: Any = None
    dataset_record_id: Any = None
    origin: Origin | None = None


class FetchedEvents(msgspec.Struct):
    events: list[ExperimentEvent]


EVENT = msgspec.json.Decoder(ExperimentEvent)
EVENTS = msgspec.json.Decoder(list[ExperimentEvent])
FETCHED = msgspec.json.Decoder(FetchedEvents)


class Case(NamedTuple):
    sample: str
    trial: int
    event: ExperimentEvent


def runs(path: Path) -> Iterator[Run]:
    """A run for each experiment in the file."""
    experiments: dict[str, list[ExperimentEvent]] = {}
    for event in events(path):
        if event.is_root is True or (event.is_root is None and event.span_id == event.root_span_id):
            experiments.setdefault(plain(event.experiment_id), []).append(event)
    if not experiments:
        raise DataError(f"{path}: no event is the root of a case, with its scores.")
    for experiment, roots in experiments.items():
        name = path.stem if len(experiments) == 1 else experiment
        yield _run(path, name or experiment or "braintrust", experiment, roots)


def events(path: Path) -> Iterator[ExperimentEvent]:
    """All events of a file, whichever way it holds them."""
    with path.open("rb") as file:
        start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] == b"[":
        yield from decode(read_bytes(path).removeprefix(b"\xef\xbb\xbf"), EVENTS, str(path))
    elif path.suffix.lower() == ".json":
        yield from decode(read_bytes(path).removeprefix(b"\xef\xbb\xbf"), FETCHED, str(path)).events
    else:
        for _, event in decode_lines(path, EVENT):
            yield event


def _run(path: Path, learner: str, experiment: str, roots: list[ExperimentEvent]) -> Run:
    draft = Draft()
    records = [_record(event) for event in roots]
    named = all(records)
    cases = []
    for event, record in zip(roots, records, strict=True):
        content = fingerprint(event.input, event.expected)
        sample = record if named else draft.by_content(content)
        case = Case(sample, draft.trial(sample), event)
        cases.append(case)
        _score(draft, case, content)
    datasets = {plain(event.origin.object_id) for event in roots if event.origin is not None} - {""}
    task = datasets.pop() if len(datasets) == 1 else ""
    return Run(
        learner,
        task or path.stem or "braintrust",
        draft.rows(),
        source=str(path),
        format="braintrust",
        run=f"{path}#{experiment}",
        date=max(plain(event.created) for event in roots),
        about=draft.about,
        settings={"experiment_id": experiment} if experiment else {},
        left_out=draft.left_out,
        named_by_task=bool(task),
        task_is_file=not task,
        unstable_ids=not named,
        content=partial(_content, cases),
    )


def _record(event: ExperimentEvent) -> str:
    return plain(event.origin.id if event.origin is not None else event.dataset_record_id)


def _score(draft: Draft, case: Case, content: str) -> None:
    sample, trial, event = case
    draft.about.setdefault(sample, described(words(event.input), event.metadata))
    why: Any = "errored" if event.error else None
    scores = list(event.scores.items())[:MOST_METRICS] if isinstance(event.scores, dict) else []
    for metric, value in scores:
        draft.add(sample, plain(metric), value, trial, content, why)
    if not scores:
        draft.unscored(sample, trial, content, why or "unscored")


def _content(cases: list[Case]) -> Content:
    return kept_content(
        (
            Asked(words(event.input), words(event.expected)),
            Answered(sample, trial, words(event.output), words(event.error)),
        )
        for sample, trial, event in cases
    )
