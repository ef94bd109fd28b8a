"""Inspect AI: `.eval` archives and `.json` logs of every version, finished or not.

Of an archive the header and the summaries of samples are read, and whole samples only where summaries are
missing. An unfinished run has a journal instead: `_journal/start.json`, `_journal/summaries/*.json`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import (
    UNDECODABLE,
    Archive,
    decode,
    decode_file,
    digest,
    is_score,
    name_in,
    number_in,
    opened,
    plain,
    shortened,
    start_of,
)
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run, Why

WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
COMPARED = 1000  # characters of input that tell samples apart; summaries cut long inputs
MOST_KINDS = 20
HERE = "and here a response is the mean of a sample's epochs"
MEANS = ("accuracy", "mean")  # the metrics of Inspect that are means over samples
NULL = msgspec.Raw(b"null")


class Dataset(msgspec.Struct):
    name: Any = None


class Eval(msgspec.Struct):
    model: Any = None
    task: Any = None
    task_version: Any = None
    created: Any = None
    solver: Any = None
    dataset: Dataset | None = None
    model_args: Any = None
    model_generate_config: Any = None
    task_args: Any = None
    config: Any = None


class InspectSample(msgspec.Struct):
    id: Any = None
    epoch: Any = 1
    input: Any = None
    target: Any = None
    metadata: Any = None
    scores: Any = None
    error: Any = None
    limit: Any = None
    choices: Any = None
    output: msgspec.Raw = NULL


class ReducedSample(msgspec.Struct):
    value: Any = None
    sample_id: Any = None


class Reduction(msgspec.Struct):
    scorer: Any = None
    samples: list[ReducedSample] = []


class Metric(msgspec.Struct):
    value: Any = None


class EvalScore(msgspec.Struct):
    """What the harness states of a scorer, or of one value of a scorer that gives several."""

    name: Any = None
    scorer: Any = None
    reducer: Any = None
    metrics: dict[str, Metric] = {}


class EvalResults(msgspec.Struct):
    scores: list[EvalScore] = []
    completed_samples: Any = None


class Log(msgspec.Struct):
    eval: Eval
    status: Any = "started"
    results: EvalResults | None = None
    samples: list[InspectSample] | None = None
    reductions: list[Reduction] | None = None


LOG = msgspec.json.Decoder(Log)
SAMPLE = msgspec.json.Decoder(InspectSample)
SAMPLES = msgspec.json.Decoder(list[InspectSample])
REDUCTIONS = msgspec.json.Decoder(list[Reduction])


def runs(path: Path) -> Iterator[Run]:
    """The one run of a log; without samples, what it says of their reduced scores."""
    with path.open("rb") as file:
        is_archive = file.read(2) == b"PK"
    if is_archive:
        with opened(path) as archive:
            log = _from_archive(archive)
    else:
        log = decode_file(path, LOG)
    left_out: dict[str, str] = {}
    rows: list[Row] = []
    about: dict[str, About] = {}
    for sample in log.samples or ():
        name = name_in(sample.id, where=str(path), what="the id of a sample")
        asked = _text(sample.input)[:COMPARED]
        if name not in about:
            about[name] = _about(sample, asked)
        rows += _rows(sample, name, digest(asked, _text(sample.target)[:COMPARED]), left_out)
    if not rows:
        rows = list(_reduced(log.reductions or (), left_out, path))
    main, stated, how = _stated(log.results, {row.metric for row in rows})
    yield Run(
        name_in(log.eval.model, where=str(path), what="eval.model"),
        name_in(log.eval.task, where=str(path), what="eval.task"),
        [row for row in rows if row.metric not in left_out],
        source=str(path),
        format="inspect",
        date=plain(log.eval.created),
        version=plain(log.eval.task_version),
        about=about,
        settings=_settings(log),
        left_out=left_out,
        main=main,
        stated=stated,
        stated_how=how,
        n_stated=_n_stated(log),
        errors=_errors(log.samples or ()),
        content=lambda: _content(log.samples or []),
    )


class Stated(NamedTuple):
    """The metric that is reported first, the mean of each, and how epochs were reduced if not by the mean."""

    main: str
    means: dict[str, float]
    how: dict[str, str]


def _stated(results: EvalResults | None, known: set[str]) -> Stated:
    """Accuracy or mean of each scorer; of several reducers of epochs the mean, else the first."""
    found = Stated("", {}, {})
    for score in results.scores if results is not None else ():
        scorer, name = plain(score.scorer), plain(score.name)
        metric = next((one for one in (f"{scorer}/{name}", name, scorer) if one in known), "")
        value = next((score.metrics[one].value for one in MEANS if one in score.metrics), None)
        number = number_in(value)
        if not metric or number is None:
            continue
        reducer = plain(score.reducer)
        if metric not in found.means or reducer in ("", "mean"):
            found.means[metric] = number
            found.how[metric] = "" if reducer in ("", "mean") else f"reduces epochs by {reducer}, {HERE}"
        found = found._replace(main=found.main or metric)
    return found


def _n_stated(log: Log) -> int | None:
    """How many samples the means are over; a log may hold some of them, or none."""
    epochs = log.eval.config.get("epochs") if isinstance(log.eval.config, dict) else None
    count = None if log.results is None else number_in(log.results.completed_samples)
    return None if count is None else round(count / (number_in(epochs) or 1))


def _errors(samples: Iterable[InspectSample]) -> Counter[str]:
    """How many samples failed with each message."""
    found = Counter[str]()
    for sample in samples:
        if sample.error:
            said = sample.error.get("message") if isinstance(sample.error, dict) else sample.error
            found[shortened(said if isinstance(said, str) else plain(said)) or "no message"] += 1
    return found


def _content(samples: list[InspectSample]) -> Content:
    """Inputs, targets and choices; for each scorer its answer and explanation; the output where it is logged.

    Summaries, which is all that is read of most archives, have the start of long inputs and no outputs.
    """
    asked: dict[str, Asked] = {}
    for sample in samples:
        choices = sample.choices if isinstance(sample.choices, list) else []
        texts = tuple(one for one in choices if isinstance(one, str))
        name = name_in(sample.id, where="", what="the id of a sample")
        asked.setdefault(name, Asked(_whole_text(sample.input), _whole_text(sample.target), texts))
    return Content(asked, (answer for sample in samples for answer in _answers(sample)))


def _answers(sample: InspectSample) -> Iterator[Answered]:
    name = name_in(sample.id, where="", what="the id of a sample")
    output, trial = _output(sample.output), _trial(sample)
    scores = sample.scores if isinstance(sample.scores, dict) else {}
    for scorer, score in scores.items():
        said = score if isinstance(score, dict) else {}
        short, reason = _whole_text(said.get("answer")), _whole_text(said.get("explanation"))
        extracted = short if output and short != output else ""
        for metric, _ in _parts(scorer, said.get("value", score)):
            yield Answered(name, trial, output or short, reason, extracted, metric)
    if not scores:
        yield Answered(name, trial, output)


def _output(raw: msgspec.Raw) -> str:
    """The completion, or the content of the first choice's message."""
    try:
        output = msgspec.json.decode(raw)
    except UNDECODABLE:
        return ""
    if not isinstance(output, dict):
        return ""
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return _whole_text(output.get("completion")) or _whole_text(message)


def _whole_text(value: Any) -> str:
    """A string, or the contents of messages, one below the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (_whole_text(part) for part in value[:100])))
    if isinstance(value, dict):
        return _whole_text(value.get("content", value.get("text", "")))
    return ""


def _from_archive(archive: Archive) -> Log:
    names = archive.names()
    first = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
    if first is None:
        raise DataError(
            f"{archive.path}: has neither header.json nor _journal/start.json; is it a log of Inspect?"
        )
    log = decode(archive.read(first), LOG, f"{archive.path}: {first}")
    parts = ["summaries.json"] if "summaries.json" in names else _numbered(names)
    log.samples = [
        sample for part in parts for sample in decode(archive.read(part), SAMPLES, f"{archive.path}: {part}")
    ]
    whole = [name for name in names if _is_sample(name)]
    if len(whole) > len(log.samples):
        known = {(str(one.id), str(one.epoch)) for one in log.samples}
        read = [decode(archive.read(name), SAMPLE, f"{archive.path}: {name}") for name in sorted(whole)]
        log.samples += [one for one in read if (str(one.id), str(one.epoch)) not in known]
    if not log.samples and "reductions.json" in names:
        log.reductions = decode(
            archive.read("reductions.json"), REDUCTIONS, f"{archive.path}: reductions.json"
        )
    return log


def _numbered(names: Iterable[str]) -> list[str]:
    """The summaries of the journal in the order in which they were written."""
    parts = [name for name in names if name.startswith("_journal/summaries/") and name.endswith(".json")]
    return sorted(parts, key=lambda name: (len(name), name))


def _is_sample(name: str) -> bool:
    """samples/<id>_epoch_<n>.json, or the chunked samples/<id>_epoch_<n>/sample.json."""
    inner = name.removeprefix("samples/")
    if inner == name:
        return False
    return (inner.endswith(".json") and "/" not in inner) or (
        inner.endswith("/sample.json") and inner.count("/") == 1
    )


def _rows(sample: InspectSample, name: str, content: str, left_out: dict[str, str]) -> Iterator[Row]:
    why: Why | None = "errored" if sample.error else "truncated" if sample.limit else None
    trial = _trial(sample)
    scores = sample.scores if isinstance(sample.scores, dict) else {}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        for metric, one in _parts(scorer, value):
            found = _as_number(one, metric, left_out)
            yield Row(
                name, found, metric, "", trial, content, why or (None if found is not None else "unscored")
            )
    if not scores:
        yield Row(name, None, "", "", trial, content, why or "unscored")


def _trial(sample: InspectSample) -> int:
    number = number_in(sample.epoch)
    return int(number) if number is not None and 0 <= number < 2**31 else 0


def _parts(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A scorer's value, or the values of its dict or list under names of their own."""
    if isinstance(value, dict):
        yield from ((f"{scorer}/{key}", part) for key, part in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}/{at}", part) for at, part in enumerate(value))
    else:
        yield scorer, value


def _as_number(value: Any, metric: str, left_out: dict[str, str]) -> float | None:
    """Inspect's own reading of values: C, P, I and N, yes and no, true and false, numbers and their text."""
    if isinstance(value, str):
        word = value.strip().lower()
        value = WORDS[word] if word in WORDS else _parsed(word)
        if value is None:
            left_out.setdefault(metric, "not a number")
            return None
    number = number_in(value)
    if number is not None and not is_score(number):
        left_out.setdefault(metric, "outside 0 to 1")
    return number


def _parsed(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _reduced(reductions: Iterable[Reduction], left_out: dict[str, str], path: Path) -> Iterator[Row]:
    """Scores over epochs, which is all there is when samples were not logged."""
    for reduction in reductions:
        for sample in reduction.samples:
            name = name_in(sample.sample_id, where=str(path), what="the id of a reduced sample")
            for metric, one in _parts(plain(reduction.scorer) or "score", sample.value):
                found = _as_number(one, metric, left_out)
                yield Row(name, found, metric, why=None if found is not None else "unscored")


def _about(sample: InspectSample, asked: str) -> About:
    metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
    kinds = [(key, value) for key, value in metadata.items() if isinstance(value, str | int)][:MOST_KINDS]
    skills = tuple((plain(key), label) for key, value in kinds if (label := plain(value)))
    return About(shortened(asked), skills)


def _text(value: Any) -> str:
    """How an input begins: a string, or the contents of its messages; of a target: its alternatives."""
    if isinstance(value, str):
        return start_of(value, COMPARED)
    if isinstance(value, list):
        return " ".join(_text(part) for part in value[:100])
    if isinstance(value, dict):
        return _text(value.get("content", value.get("text", "")))
    return ""


def _settings(log: Log) -> dict[str, str]:
    said = {
        "status": log.status,
        "solver": log.eval.solver,
        "dataset": log.eval.dataset and log.eval.dataset.name,
    }
    nested = {
        "model_args": log.eval.model_args,
        "generate_config": log.eval.model_generate_config,
        "task_args": log.eval.task_args,
    }
    flat = {
        name: ", ".join(f"{key}={plain(part)}" for key, part in value.items() if plain(part))
        for name, value in nested.items()
        if isinstance(value, dict)
    }
    return {name: shortened(text) for name, value in (said | flat).items() if (text := plain(value))}
