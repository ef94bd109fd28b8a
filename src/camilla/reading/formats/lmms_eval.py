"""lmms-eval: `<time>_samples_<task>.jsonl` beside `<time>_results.json`.

Rows are those of lm-evaluation-harness without the document: the prompt is `input`, and the hash of the
document is the same in all rows, so the prompt is compared. A metric is a number, or an object with the
number under the task's `score_key`; several metrics that hold the same object are aggregated as a whole, and
the first of them counts.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.reading.decoding import decode_file, decode_lines, name_in, plain
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

NAME = re.compile(r"(?P<time>\d{8}_\d{6})_samples_(?P<task>.+)", re.DOTALL)
DOCUMENT = ("doc_id", "doc", "doc_hash", "prompt_hash", "target_hash", "target", "arguments", "input")
ANSWERED = ("resps", "filtered_resps", "filter", "metrics", "token_counts")
RESERVED = frozenset((*DOCUMENT, *ANSWERED))
CONFIGURED = ("model", "model_args", "limit", "gen_kwargs")


class LmmsMetric(msgspec.Struct):
    metric: Any = None
    aggregation: Any = None
    higher_is_better: Any = None


class LmmsTask(msgspec.Struct):
    metric_list: list[LmmsMetric] | None = None
    score_key: Any = None


class LmmsResults(msgspec.Struct, rename={"n_shot": "n-shot"}):
    """What is used of a results file."""

    results: dict[str, dict[str, Any]] = {}
    configs: dict[str, LmmsTask] = {}
    n_shot: dict[str, Any] = {}
    config: Any = None
    model_name: Any = None
    git_hash: Any = None


ROW = msgspec.json.Decoder(dict[str, Any])
RESULTS = msgspec.json.Decoder(LmmsResults)


class Answer(NamedTuple):
    sample: str
    trial: int
    row: dict[str, Any]


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; a document that comes again is another trial."""
    name = NAME.fullmatch(path.stem)
    time, task = (name["time"], name["task"]) if name else ("", path.stem)
    beside = path.with_name(f"{time}_results.json")
    results = decode_file(beside, RESULTS) if time and beside.is_file() else LmmsResults()
    config = results.configs.get(task, LmmsTask())
    draft = Draft(left_out=_lower_is_better(config))
    answers = []
    for number, row in decode_lines(path, ROW):
        sample = name_in(row.get("doc_id"), where=f"{path}: line {number}", what="doc_id")
        answers.append(Answer(sample, draft.trial(sample), row))
        _score(draft, answers[-1], config)
    said = results.results.get(task, {})
    metrics = draft.metrics()
    averaged = [name for name in metrics if _aggregation(config, name) == "mean"]
    shots = {"n_shot": results.n_shot.get(task), "git_hash": results.git_hash}
    whole = results.config if isinstance(results.config, dict) else {}
    yield Run(
        plain(results.model_name) or path.parent.name.replace("__", "/") or path.stem,
        task or path.stem,
        draft.rows(),
        source=str(path),
        format="lmms-eval",
        date=time,
        about=draft.about,
        settings=settings({one: whole.get(one) for one in CONFIGURED} | shots),
        left_out=draft.left_out,
        main=next((plain(one.metric) for one in config.metric_list or [] if one.metric in metrics), ""),
        stated=means({name: said.get(f"{name},none") for name in averaged}, averaged),
        content=partial(_content, answers),
    )


def _lower_is_better(config: LmmsTask) -> dict[str, str]:
    worse = (one for one in config.metric_list or [] if one.higher_is_better is False)
    return {plain(one.metric): "lower is better" for one in worse}


def _aggregation(config: LmmsTask, metric: str) -> Any:
    return next((one.aggregation for one in config.metric_list or [] if one.metric == metric), None)


def _score(draft: Draft, answer: Answer, config: LmmsTask) -> None:
    sample, trial, row = answer
    prompt = words(row.get("input"))
    content = fingerprint(prompt, plain(row.get("target")))
    draft.about.setdefault(sample, described(prompt))
    key = config.score_key if isinstance(config.score_key, str) else "score"
    records: list[tuple[str, dict[str, Any]]] = []
    metrics = [name for name in row if name not in RESERVED][:MOST_METRICS]
    for name in metrics:
        value = row[name]
        if isinstance(value, dict):
            same = next((one for one, record in records if record == value), None)
            if same is not None:
                draft.left_out.setdefault(name, f"the same record as {same}")
            records.append((name, value))
            value = value.get(key, value)
        draft.add(sample, name, value, trial, content)
    if not metrics:
        draft.unscored(sample, trial, content)


def _content(answers: list[Answer]) -> Content:
    return kept_content(
        (
            Asked(words(row.get("input")), plain(row.get("target")) and words(row.get("target"))),
            Answered(sample, trial, words(row.get("filtered_resps"))),
        )
        for sample, trial, row in answers
    )
