"""OpenAI Evals: a file of events, the specification of the run first, its final report anywhere.

A sample is scored by a `match` event (`correct`, which the report calls accuracy) or by a `metrics` event
(each of its numbers); a sample scored again is another trial. An `error` event without a score is an error.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import decode_lines, name_in, plain
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

ACCURACY = "accuracy"
CONFIGURED = ("seed", "max_samples")
SPECIFIED = ("split", "base_eval")


class EvalEvent(msgspec.Struct):
    """A line: the specification, the final report, or an event of a sample."""

    spec: dict[str, Any] | None = None
    final_report: Any = None
    run_id: Any = None
    sample_id: Any = None
    type: Any = None
    data: Any = None


EVENT = msgspec.json.Decoder(EvalEvent)


@dataclass
class EvalSample:
    """The events of one sample, by kind."""

    matches: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    sampled: list[dict[str, Any]] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    errors: int = 0

    def take(self, kind: Any, data: dict[str, Any]) -> None:
        match kind:
            case "match":
                self.matches.append(data)
            case "metrics":
                self.metrics.append(data)
            case "sampling":
                self.sampled.append(data)
            case "raw_sample":
                self.raw = self.raw or data
            case "error":
                self.errors += 1
            case _:
                pass  # embeddings, log probabilities, extras

    @property
    def prompt(self) -> Any:
        """What was asked: the sample as it is stored, else the first prompt."""
        if "input" in self.raw:
            return self.raw["input"]
        return self.sampled[0].get("prompt") if self.sampled else None

    @property
    def expected(self) -> Any:
        first = next(iter(self.matches), {})
        return first.get("expected", self.raw.get("ideal"))


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file."""
    spec: dict[str, Any] | None = None
    report: Any = None
    samples: dict[str, EvalSample] = {}
    for number, event in decode_lines(path, EVENT):
        if event.spec is not None:
            spec = event.spec
        elif event.final_report is not None:
            report = event.final_report
        elif event.sample_id is not None:
            name = name_in(event.sample_id, where=f"{path}: line {number}", what="sample_id")
            data = event.data if isinstance(event.data, dict) else {}
            samples.setdefault(name, EvalSample()).take(event.type, data)
    if spec is None:
        raise DataError(f'{path}: no line has the specification of the run, {{"spec": …}}.')
    yield _run(path, spec, report if isinstance(report, dict) else {}, samples)


def _run(path: Path, spec: dict[str, Any], report: dict[str, Any], samples: dict[str, EvalSample]) -> Run:
    draft = Draft()
    measured = any(ACCURACY in data for sample in samples.values() for data in sample.metrics)
    for name, sample in samples.items():
        _score(draft, name, sample, count_matches=not measured)
    config = spec.get("run_config")
    config = config if isinstance(config, dict) else {}
    said = {name: spec.get(name) for name in SPECIFIED} | {name: config.get(name) for name in CONFIGURED}
    metrics = draft.metrics()
    return Run(
        _learner(spec, path),
        plain(spec.get("eval_name")) or path.stem,
        draft.rows(),
        source=str(path),
        format="openai-evals",
        run=plain(spec.get("run_id")),
        date=plain(spec.get("created_at")),
        about=draft.about,
        settings=settings(said) | settings(config.get("initial_settings")),
        left_out=draft.left_out,
        main=next((name for name in report if name in metrics), ""),
        stated=means(report, metrics),
        content=partial(_content, samples),
    )


def _learner(spec: dict[str, Any], path: Path) -> str:
    """The completion functions, or the model of logs before they had that name."""
    functions = spec.get("completion_fns")
    names = [plain(one) for one in functions[:20]] if isinstance(functions, list) else []
    return ", ".join(name for name in names if name) or plain(spec.get("model_name")) or path.stem


def _score(draft: Draft, name: str, sample: EvalSample, *, count_matches: bool) -> None:
    stored = "input" in sample.raw
    asked = (sample.raw["input"], sample.expected) if stored else (name, sample.expected)
    content = fingerprint(*asked)  # prompts differ between models that chat and that complete
    draft.about[name] = described(words(sample.prompt), sample.raw.get("metadata"))
    scored = [{ACCURACY: data.get("correct")} for data in sample.matches] if count_matches else []
    n_scored = 0
    for trial, data in enumerate(scored):
        draft.add(name, ACCURACY, data[ACCURACY], trial, content)
        n_scored += 1
    for trial, data in enumerate(sample.metrics):
        for metric, value in list(data.items())[:MOST_METRICS]:
            draft.add(name, plain(metric), value, trial, content)
            n_scored += 1
    if n_scored == 0:
        draft.unscored(name, 0, content, "errored" if sample.errors else "unscored")


def _content(samples: dict[str, EvalSample]) -> Content:
    return kept_content(
        pair for name, sample in samples.items() for pair in _asked_and_answered(name, sample)
    )


def _asked_and_answered(name: str, sample: EvalSample) -> Iterator[tuple[Asked, Answered]]:
    """Each scored answer; where a model graded, the last that was sampled is its grader's reasoning."""
    asked = Asked(words(sample.prompt), words(sample.expected))
    graded = bool(sample.metrics) and not sample.matches and len(sample.sampled) > 1
    sampled = [words(data.get("sampled")) for data in sample.sampled]
    reason = sampled.pop() if graded else ""
    answers = sampled or [words(data.get("sampled", data.get("picked"))) for data in sample.matches]
    for trial, answer in enumerate(answers or [""]):
        yield asked, Answered(name, trial, answer, reason)
