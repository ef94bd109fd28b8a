"""lm-evaluation-harness: `samples_<task>_<time>.jsonl` beside `results_<time>.json`, as far back as 0.4.0.

A row a document and filter; each of its metrics is a score of the sample. Version 0.4.0 wrote one
indented array into `<model_args>_<task>.jsonl`; 0.4.3 brought hashes of the document, 0.4.7 the keys
`filter` and `metrics`, 0.5.0 the scores of repeats.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.loaders.decoding import (
    decode,
    decode_file,
    decode_lines,
    is_score,
    name_in,
    number_in,
    plain,
    shortened,
)
from camilla.loaders.peeking import Peek
from camilla.loaders.runs import About, Loader, Row, Run, Sniffed

HASHES = ("doc_hash", "prompt_hash", "target_hash")
ANSWERS = ("target", "arguments", "resps", "filtered_resps")
RESERVED = frozenset((*HASHES, *ANSWERS, "doc_id", "doc", "filter", "metrics", "scores_per_repeat"))
TEXTS = ("question", "problem", "query", "instruction", "prompt", "goal", "ctx", "input", "text", "sentence")
SKILLS = ("subject", "category", "level", "topic", "domain", "type", "language")

Line = dict[str, msgspec.Raw]
LINE = msgspec.json.Decoder(Line)
LINES = msgspec.json.Decoder(list[Line])
ANY = msgspec.json.Decoder()
DOC = msgspec.json.Decoder(
    msgspec.defstruct("Doc", [(name, Any, None) for name in TEXTS + SKILLS])  # only what is looked at
)


class TaskConfig(msgspec.Struct):
    tag: Any = None


class Results(msgspec.Struct, rename={"n_shot": "n-shot"}):
    """What is used of a results file."""

    model_name: Any = None
    config: dict[str, msgspec.Raw] = {}
    configs: dict[str, msgspec.Raw] = {}
    results: dict[str, msgspec.Raw] = {}
    versions: dict[str, Any] = {}
    higher_is_better: dict[str, Any] = {}
    group_subtasks: dict[str, Any] = {}
    n_shot: dict[str, Any] = {}
    lm_eval_version: Any = None
    chat_template_sha: Any = None


RESULTS = msgspec.json.Decoder(Results)
TASK_CONFIG = msgspec.json.Decoder(TaskConfig)


class Header(NamedTuple):
    """What file names and the results file say about a file of samples."""

    learner: str
    task: str
    date: str
    results: Results


def sniff(peek: Peek) -> Sniffed | None:
    """Rows with doc_id and responses; a results file belongs to them."""
    if {"doc_id", "doc"} <= peek.keys and peek.keys & {"resps", "filtered_resps", "target"}:
        return Sniffed(0.95, "rows have doc_id, doc and resps, as lm-evaluation-harness logs samples")
    if peek.ending == ".json" and "results" in peek.keys and peek.keys & {"configs", "versions", "n-shot"}:
        return Sniffed(0.8, "a results file of lm-evaluation-harness", companion=True)
    return None


def runs(path: Path) -> Iterator[Run]:
    """The one run in a file of samples."""
    header = _header(path)
    rows: list[Row] = []
    about: dict[str, About] = {}
    left_out = _lower_is_better(header)
    seen: Counter[str] = Counter()
    shared = _groups(header)
    for place, line in _lines(path):
        sample = _sample(line, place)
        if sample not in about:
            about[sample] = _about(line, shared, place)
        if "filter" in line:
            filter = plain(decode(line["filter"], ANY, place))
        else:
            seen[sample] += 1
            filter = "none" if seen[sample] == 1 else f"filter {seen[sample]}"
        rows += _scores(line, sample, filter, left_out, place)
    yield Run(
        header.learner,
        header.task,
        [row for row in rows if row.metric not in left_out] if left_out else rows,
        source=str(path),
        format="lm-eval",
        date=header.date,
        version=plain(header.results.versions.get(header.task)),
        about=about,
        settings=_settings(header),
        left_out=left_out,
    )


def _lines(path: Path) -> Iterator[tuple[str, Line]]:
    with path.open("rb") as file:
        is_array = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    if is_array:
        entries = decode_file(path, LINES)
        for at, line in enumerate(entries):
            yield f"{path}: entry {at}", line
    else:
        for number, line in decode_lines(path, LINE):
            yield f"{path}: line {number}", line


def _sample(line: Line, place: str) -> str:
    return name_in(decode(line.get("doc_id", msgspec.Raw(b"null")), ANY, place), where=place, what="doc_id")


def _scores(line: Line, sample: str, filter: str, left_out: dict[str, str], place: str) -> Iterator[Row]:
    content = _content(line, place)
    repeats = decode(line["scores_per_repeat"], ANY, place) if "scores_per_repeat" in line else None
    for metric in _metrics(line, place):
        value = decode(line[metric], ANY, place) if metric in line else None
        values = repeats.get(metric, value) if isinstance(repeats, dict) else value
        for trial, one in enumerate(values if values is not value and isinstance(values, list) else [value]):
            number = number_in(one)
            if one is not None and number is None:
                left_out.setdefault(metric, "not a single number")
            elif number is not None and not is_score(number):
                left_out.setdefault(metric, "outside 0 to 1")
            why = None if number is not None else "unscored"
            yield Row(sample, number, metric, filter, trial, content, why)  # type: ignore[arg-type]


def _metrics(line: Line, place: str) -> list[str]:
    """The row's own list of metrics, else every key that is nothing else."""
    if "metrics" in line:
        listed = decode(line["metrics"], ANY, place)
        if isinstance(listed, list):
            return [metric for metric in listed if isinstance(metric, str)]
    return [key for key in line if key not in RESERVED]


def _content(line: Line, place: str) -> str | None:
    """The harness's hash of the document, or the same made here for logs older than it."""
    if "doc_hash" in line:
        return plain(decode(line["doc_hash"], ANY, place))[:16] or None
    if "doc" not in line:
        return None
    doc = decode(line["doc"], ANY, place)
    try:
        text = json.dumps(doc, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _about(line: Line, shared: tuple[tuple[str, str], ...], place: str) -> About:
    raw = bytes(line.get("doc", b"")).lstrip()
    if not raw.startswith(b"{"):
        return About(skills=shared)
    doc = decode(raw, DOC, place)
    text = next((value for name in TEXTS if isinstance(value := getattr(doc, name), str) and value), "")
    own = tuple((name, value) for name in SKILLS if (value := plain(getattr(doc, name))))
    return About(shortened(text), own + shared)


def _header(path: Path) -> Header:
    """Learner and task: of the results file with the same time, else of the names of file and folder."""
    results = _results_beside(path)
    stem = path.stem
    if stem.startswith("samples_"):
        task, _, date = stem.removeprefix("samples_").rpartition("_")
        task, date = (task, date) if task else (date, "")
        learner = plain(results.model_name) or _model_in_args(results) or path.parent.name or stem
        return Header(learner, task, date, results)
    known = sorted((task for task in results.results if stem.endswith(f"_{task}")), key=len)
    task = known[-1] if known else stem.rpartition("_")[2]
    learner = plain(results.model_name) or _model_in_args(results) or stem.removesuffix(f"_{task}")
    return Header(learner or stem, task or stem, "", results)


def _model_in_args(results: Results) -> str:
    """pretrained=NAME or model=NAME of the model arguments."""
    raw = results.config.get("model_args")
    arguments = None if raw is None else decode(raw, ANY, "config.model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    if not isinstance(arguments, dict):
        return ""
    return plain(arguments.get("pretrained") or arguments.get("model") or "")


def _results_beside(path: Path) -> Results:
    time = path.stem.rpartition("_")[2]
    names = [path.parent / f"results_{time}.json", *sorted(path.parent.glob(f"*_{_escaped(time)}.json"))]
    names += [path.parent / "results.json"]
    if found := next((name for name in names if name.is_file()), None):
        return _results(found, found.stat().st_mtime_ns)
    return Results()


def _escaped(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


@lru_cache(maxsize=4)
def _results(path: Path, _changed: int) -> Results:
    return decode_file(path, RESULTS)


def _groups(header: Header) -> tuple[tuple[str, str], ...]:
    """The groups and tags that the task belongs to."""
    groups = [
        ("group", group)
        for group, tasks in header.results.group_subtasks.items()
        if isinstance(tasks, list) and header.task in tasks
    ]
    raw = header.results.configs.get(header.task)
    tag = None if raw is None else decode(raw, TASK_CONFIG, f"configs.{header.task}").tag
    tags = tag if isinstance(tag, list) else [tag]
    return tuple(groups + [("tag", plain(one)) for one in tags if plain(one)])


def _lower_is_better(header: Header) -> dict[str, str]:
    better = header.results.higher_is_better.get(header.task)
    return {
        metric: "lower is better"
        for metric, higher in (better.items() if isinstance(better, dict) else ())
        if higher is False
    }


def _settings(header: Header) -> dict[str, str]:
    results = header.results
    config = {
        name: plain(decode(results.config[name], ANY, f"config.{name}"))
        for name in ("model", "model_args", "limit", "gen_kwargs")
        if name in results.config
    }
    said = {
        "n_shot": plain(results.n_shot.get(header.task)),
        "lm_eval_version": plain(results.lm_eval_version),
        "chat_template_sha": plain(results.chat_template_sha),
    }
    return {name: value for name, value in (config | said).items() if value}


LM_EVAL = Loader(sniff, runs)
