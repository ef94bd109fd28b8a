"""DeepEval: a test run as JSON, `.latest_test_run.json` or a file of DEEPEVAL_RESULTS_FOLDER.

Each test case has the score of each metric, the threshold it had to reach, and whether it did. Before 1.0
metrics were called metricsMetadata, with a minimumScore.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import decode_file, name_in, number_in, plain
from camilla.reading.entries import (
    MOST_METRICS,
    Draft,
    described,
    fingerprint,
    kept_content,
    means,
    settings,
    words,
)
from camilla.reading.runs import Answered, Asked, Content, Run

SUCCESS = "success"
LOWER = "lower is better"


class Measured(msgspec.Struct, rename="camel"):
    """A metric of a test case; `metric` and `minimum_score` are of old files."""

    name: Any = None
    metric: Any = None
    score: Any = None
    threshold: Any = None
    minimum_score: Any = None
    success: Any = None
    reason: Any = None
    error: Any = None


class TestedCase(msgspec.Struct, rename="camel"):
    """A test case; a conversation has a scenario and turns instead of an input and an output."""

    name: Any = None
    input: Any = None
    actual_output: Any = None
    expected_output: Any = None
    scenario: Any = None
    expected_outcome: Any = None
    turns: Any = None
    success: Any = None
    metrics_data: list[Measured] | None = None
    metrics_metadata: list[Measured] | None = None
    metadata: Any = None
    additional_metadata: Any = None

    @property
    def measured(self) -> list[Measured]:
        return (self.metrics_data or self.metrics_metadata or [])[:MOST_METRICS]


class MetricScores(msgspec.Struct):
    metric: Any = None
    scores: Any = None


class TestRunData(msgspec.Struct, rename="camel"):
    """What is used of a test run."""

    test_cases: list[TestedCase] = []
    conversational_test_cases: list[TestedCase] = []
    metrics_scores: list[MetricScores] | None = None
    hyperparameters: Any = None
    configurations: Any = None
    test_file: Any = None
    dataset_alias: Any = None
    identifier: Any = None
    test_passed: Any = None
    test_failed: Any = None


class TestRunFile(TestRunData, rename="camel"):
    """The run itself, or a file that holds it under testRunData."""

    test_run_data: TestRunData | None = None


FILE = msgspec.json.Decoder(TestRunFile)


class NamedCase(NamedTuple):
    """A test case under the name of its sample, and which of its trials it is."""

    sample: str
    trial: int
    case: TestedCase


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file."""
    found = decode_file(path, FILE)
    run = found.test_run_data or found
    draft = Draft()
    cases = list(_named([*run.test_cases, *run.conversational_test_cases], draft, path))
    if not cases:
        raise DataError(f"{path}: the test run has no test cases.")
    for one in cases:
        _score(draft, one)
    draft.left_out |= _lower_is_better(cases)
    parameters = settings(run.hyperparameters) or settings(run.configurations)
    task = plain(run.dataset_alias) or plain(run.test_file)
    yield Run(
        parameters.get("model") or plain(run.identifier) or path.stem.lstrip(".") or "deepeval",
        task or path.stem or "deepeval",
        draft.rows(),
        source=str(path),
        format="deepeval",
        about=draft.about,
        settings=parameters,
        left_out=draft.left_out,
        named_by_task=bool(task),
        task_is_file=not task,
        main=SUCCESS,
        stated=means(_stated(run), draft.metrics()),
        content=partial(_content, cases),
    )


def _named(cases: list[TestedCase], draft: Draft, path: Path) -> Iterator[NamedCase]:
    """Cases by name; another input under a name that was used is another sample, the same one a trial."""
    names: dict[str, list[str]] = {}
    for at, case in enumerate(cases):
        name = f"test_case_{at}" if case.name is None else name_in(case.name, where=str(path), what="a name")
        asked = names.setdefault(name, [])
        content = fingerprint(*_question(case))
        if content not in asked:
            asked.append(content)
        number = asked.index(content)
        sample = name if number == 0 else f"{name}#{number + 1}"
        yield NamedCase(sample, draft.trial(sample), case)


def _question(case: TestedCase) -> tuple[Any, Any]:
    if case.input is None:
        return case.scenario, case.expected_outcome
    return case.input, case.expected_output


def _score(draft: Draft, one: NamedCase) -> None:
    sample, trial, case = one
    content = fingerprint(*_question(case))
    labels = case.metadata if isinstance(case.metadata, dict) else case.additional_metadata
    draft.about.setdefault(sample, described(words(_question(case)[0]), labels))
    errors = any(metric.error for metric in case.measured)
    for metric in case.measured:
        name = plain(metric.name) or plain(metric.metric) or "score"
        value = None if metric.error else metric.score
        draft.add(sample, name, value, trial, content, "errored" if metric.error else None)
    if isinstance(case.success, bool):
        value = None if errors else case.success
        draft.add(sample, SUCCESS, value, trial, content, "errored" if errors else None)
    elif not case.measured:
        draft.unscored(sample, trial, content)


def _lower_is_better(cases: list[NamedCase]) -> dict[str, str]:
    """Metrics such as bias and toxicity, whose threshold must not be passed: their verdicts say so."""
    found = {}
    for _, _, case in cases:
        for metric in case.measured:
            score, threshold = number_in(metric.score), number_in(metric.threshold)
            if score is None or threshold is None or score == threshold or metric.error:
                continue
            if isinstance(metric.success, bool) and metric.success != (score > threshold):
                found[plain(metric.name) or "score"] = LOWER
    return found


def _stated(run: TestRunData) -> dict[str, float]:
    """The share of cases that passed, and the mean of the scores that DeepEval lists for each metric.

    A case in which a metric broke down counts as failed there, and is missing here: then no share is stated.
    """
    stated = {}
    passed, failed = number_in(run.test_passed), number_in(run.test_failed)
    cases = [*run.test_cases, *run.conversational_test_cases]
    broken = any(metric.error for case in cases for metric in case.measured)
    if passed is not None and failed is not None and passed + failed > 0 and not broken:
        stated[SUCCESS] = passed / (passed + failed)
    for one in run.metrics_scores or []:
        scores = [number_in(score) for score in one.scores] if isinstance(one.scores, list) else []
        known = [score for score in scores if score is not None]
        if known and len(known) == len(scores):
            stated[plain(one.metric)] = sum(known) / len(known)
    return stated


def _content(cases: list[NamedCase]) -> Content:
    return kept_content(
        (
            Asked(words(_question(case)[0]), words(_question(case)[1])),
            Answered(sample, trial, _answer(case), _reasons(case)),
        )
        for sample, trial, case in cases
    )


def _answer(case: TestedCase) -> str:
    if case.actual_output is not None or not isinstance(case.turns, list):
        return words(case.actual_output)
    return words([turn for turn in case.turns if isinstance(turn, dict) and turn.get("role") == "assistant"])


def _reasons(case: TestedCase) -> str:
    said = ((plain(one.name) or plain(one.metric), one.error or one.reason) for one in case.measured)
    return "\n".join(f"{name}: {words(reason)}" for name, reason in said if reason)
