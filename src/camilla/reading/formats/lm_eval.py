"""lm-evaluation-harness: `samples_<task>_<time>.jsonl` beside `results_<time>.json`, as far back as 0.4.0.

A row a document and filter; each of its metrics is a score of the sample. Version 0.4.0 wrote one
indented array into `<model_args>_<task>.jsonl`; 0.4.3 brought hashes of the document, 0.4.7 the keys
`filter` and `metrics`, 0.5.0 the scores of repeats.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import (
    ANY_JSON,
    UNDECODABLE,
    decode,
    decode_file,
    name_in,
    number_in,
    numbered_lines,
    plain,
    shortened,
)
from camilla.reading.formats.lm_eval_content import UNSET, AskedOf, Entry, Repeats, Said, answered
from camilla.reading.runs import About, Content, LearnerTask, Row, Run, Why

HASHES = ("doc_hash", "prompt_hash", "target_hash")
ANSWERS = ("target", "arguments", "resps", "filtered_resps")
RESERVED = frozenset((*HASHES, *ANSWERS, "doc_id", "doc", "filter", "metrics", "scores_per_repeat"))
TEXTS = ("question", "problem", "query", "instruction", "prompt", "goal", "ctx", "input", "text", "sentence")
SKILLS = ("subject", "category", "level", "topic", "domain", "type", "language")
MOST_METRICS = 200

Fields = dict[str, msgspec.Raw]
FIELDS = msgspec.json.Decoder(Fields)
ARRAY = msgspec.json.Decoder(list[Fields])
DOC = msgspec.json.Decoder(
    msgspec.defstruct("Doc", [(name, Any, None) for name in TEXTS + SKILLS], omit_defaults=True)
)


def entries(path: Path) -> Iterator[Entry]:
    """The rows of a file: one per line, or the one array of 0.4.0."""
    seen: Counter[Any] = Counter()
    with path.open("rb") as file:
        is_array = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    if is_array:
        array: list[Fields] = decode_file(path, ARRAY)
        for at, fields in enumerate(array):
            yield _by_key(fields, seen, at, f"{path}: entry {at}")
        return
    quick: Quick | None = None
    for number, line in numbered_lines(path):
        entry = None if quick is None else quick.read(line, number)
        if entry is None:
            place = f"{path}: line {number}"
            fields = decode(line, FIELDS, place)
            entry = _by_key(fields, seen, number, place)
            quick = quick or _quick(fields, place)
        yield entry


class Quick:
    """One struct for rows that list exactly these metrics."""

    def __init__(self, metrics: tuple[str, ...]) -> None:
        self.metrics = list(metrics)
        self.decoder = _struct(metrics)

    def read(self, line: bytes, number: int) -> Entry | None:
        """The row, or None if it is not of this kind."""
        try:
            row = self.decoder.decode(line)
        except UNDECODABLE:
            return None
        doc_id, filter, metrics, doc_hash, repeats, doc, *rest = msgspec.structs.astuple(row)
        if metrics != self.metrics or repeats is not None:
            return None
        scores = list(zip(metrics, rest[4:], strict=True))
        return Entry(doc_id, filter, doc_hash[:16] or None, scores, doc, number, Said(*rest[:4]))


@lru_cache(maxsize=64)
def _struct(metrics: tuple[str, ...]) -> "msgspec.json.Decoder[Any]":
    fields: list[Any] = [("doc_id", Any), ("filter", str), ("metrics", Any), ("doc_hash", str)]
    fields += [("scores_per_repeat", Any, None), ("doc", msgspec.Raw, UNSET)]
    fields += [(name, msgspec.Raw, UNSET) for name in ANSWERS]
    fields += [(f"score_{at}", Any, None) for at in range(len(metrics))]
    rename = {f"score_{at}": metric for at, metric in enumerate(metrics)}
    return msgspec.json.Decoder(msgspec.defstruct("Line", fields, rename=rename))


def _quick(fields: Fields, place: str) -> Quick | None:
    if not {"filter", "metrics", "doc_hash", "doc"} <= fields.keys():
        return None
    metrics = tuple(_metrics(fields, place))
    odd = not all(metric.isprintable() and "\\" not in metric and '"' not in metric for metric in metrics)
    if odd or len(set(metrics)) < len(metrics) or RESERVED & set(metrics):
        return None
    return Quick(metrics)


def _by_key(fields: Fields, seen: Counter[Any], number: int, where: str) -> Entry:
    doc_id = decode(fields.get("doc_id", UNSET), ANY_JSON, where)
    if "filter" in fields:
        filter = plain(decode(fields["filter"], ANY_JSON, where))
    else:
        key = str(doc_id)[:100]
        seen[key] += 1
        filter = "none" if seen[key] == 1 else f"filter {seen[key]}"
    repeats = decode(fields["scores_per_repeat"], ANY_JSON, where) if "scores_per_repeat" in fields else None
    scores = []
    for metric in _metrics(fields, where):
        value = decode(fields[metric], ANY_JSON, where) if metric in fields else None
        again = repeats.get(metric) if isinstance(repeats, dict) else None
        scores.append((metric, Repeats(again) if isinstance(again, list) and again else value))
    said = Said(*(fields.get(name, UNSET) for name in ANSWERS))
    return Entry(doc_id, filter, _content(fields, where), scores, fields.get("doc", UNSET), number, said)


def _metrics(fields: Fields, where: str) -> list[str]:
    """The row's own list of metrics, else every key that is nothing else."""
    if "metrics" in fields:
        listed = decode(fields["metrics"], ANY_JSON, where)
        if isinstance(listed, list):
            return _few([metric for metric in listed if isinstance(metric, str)], where)
    return _few([key for key in fields if key not in RESERVED], where)


def _few(metrics: list[str], where: str) -> list[str]:
    if len(metrics) > MOST_METRICS:
        raise DataError(f"{where}: lists {len(metrics)} metrics; {MOST_METRICS} are the most.")
    return metrics


def _content(fields: Fields, where: str) -> str | None:
    """The harness's hash of the document, or the same made here for logs older than it."""
    if "doc_hash" in fields:
        return plain(decode(fields["doc_hash"], ANY_JSON, where))[:16] or None
    if "doc" not in fields:
        return None
    doc = decode(fields["doc"], ANY_JSON, where)
    try:
        text = json.dumps(doc, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Described(Mapping[str, About]):
    """What the documents of a log say, read when it is asked for: most are known from another log."""

    def __init__(self, path: Path, shared: tuple[tuple[str, str], ...]) -> None:
        self.path = path
        self.shared = shared
        self.entries: dict[str, Entry] = {}

    def __getitem__(self, sample: str) -> About:
        entry = self.entries[sample]
        raw = bytes(entry.doc).lstrip()
        if not raw.startswith(b"{"):
            return About(skills=self.shared)
        text, skills = "", []
        for name, value in self._said(raw, entry.number).items():
            if name not in SKILLS:
                text = text or (value if isinstance(value, str) else "")
            elif label := plain(value):
                skills.append((name, label))
        return About(shortened(text), (*skills, *self.shared))

    def _said(self, raw: bytes, number: int) -> dict[str, Any]:
        """The texts and skills that a document has, in this order."""
        try:
            doc = DOC.decode(raw)
        except UNDECODABLE:
            doc = decode(raw, DOC, f"{self.path}: row {number}")
        said: dict[str, Any] = msgspec.to_builtins(doc)
        return said

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def score_of(value: Any, metric: str, left_out: dict[str, str]) -> float | None:
    """A number in [0, 1] or nothing; a metric that ever has anything else is noted as no score."""
    number = value if type(value) is float else number_in(value)
    if number is not None and 0 <= number <= 1:
        return number
    if value is not None and metric not in left_out:
        left_out[metric] = "not a single number" if number is None else "outside 0 to 1"
    return None


class TaskConfig(msgspec.Struct):
    tag: Any = None


class LmEvalResults(msgspec.Struct, rename={"n_shot": "n-shot", "n_samples": "n-samples"}):
    """What is used of a results file."""

    model_name: Any = None
    config: dict[str, msgspec.Raw] = {}
    configs: dict[str, msgspec.Raw] = {}
    results: dict[str, msgspec.Raw] = {}
    versions: dict[str, Any] = {}
    higher_is_better: dict[str, Any] = {}
    group_subtasks: dict[str, Any] = {}
    n_shot: dict[str, Any] = {}
    n_samples: dict[str, Any] = {}
    lm_eval_version: Any = None
    chat_template_sha: Any = None


RESULTS = msgspec.json.Decoder(LmEvalResults)
TASK_CONFIG = msgspec.json.Decoder(TaskConfig)


class Header(NamedTuple):
    """What file names and the results file say about a file of samples."""

    learner: str
    task: str
    date: str
    results: LmEvalResults


def runs(path: Path) -> Iterator[Run]:
    """The one run in a file of samples."""
    header = _header(path)
    rows: list[Row] = []
    about = Described(path, _groups(header))
    left_out = _lower_is_better(header)
    every: list[tuple[str, Entry]] = []
    for entry in entries(path):
        doc_id = entry.doc_id
        sample = str(doc_id) if type(doc_id) is int and abs(doc_id) < 2**63 else _name(entry, path)
        if sample not in about.entries:
            about.entries[sample] = entry
        every.append((sample, entry))
        for metric, value in entry.scores:
            if type(value) is Repeats:
                rows += _repeats(entry, sample, metric, value, left_out)
            else:
                score = score_of(value, metric, left_out)
                why: Why | None = "unscored" if score is None else None
                rows.append(Row(sample, score, metric, entry.filter, 0, entry.content, why))
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
        stated=_stated(header),
        n_stated=_n_stated(header),
        content=lambda: Content(AskedOf(about.entries), answered(every)),
    )


def _stated(header: Header) -> dict[str, float]:
    """The means of the results file, whose keys are "metric,filter"; standard errors are none."""
    raw = header.results.results.get(header.task)
    said = None if raw is None else decode(raw, ANY_JSON, f"results.{header.task}")
    found = {}
    for key, value in said.items() if isinstance(said, dict) else ():
        metric, _, filter = str(key).partition(",")
        number = number_in(value) if not isinstance(value, str) else None
        if number is not None and not metric.endswith("_stderr"):
            found[LearnerTask(metric, filter or "none").words] = number
    return found


def _n_stated(header: Header) -> int | None:
    """How many documents were evaluated."""
    said = header.results.n_samples.get(header.task)
    number = number_in(said.get("effective")) if isinstance(said, dict) else None
    return None if number is None else int(number)


def _name(entry: Entry, path: Path) -> str:
    return name_in(entry.doc_id, where=f"{path}: row {entry.number}", what="doc_id")


def _repeats(
    entry: Entry, sample: str, metric: str, values: Repeats, left_out: dict[str, str]
) -> Iterator[Row]:
    for trial, value in enumerate(values):
        score = score_of(value, metric, left_out)
        why: Why | None = "unscored" if score is None else None
        yield Row(sample, score, metric, entry.filter, trial, entry.content, why)


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


def _model_in_args(results: LmEvalResults) -> str:
    """pretrained=NAME or model=NAME of the model arguments."""
    raw = results.config.get("model_args")
    arguments = None if raw is None else decode(raw, ANY_JSON, "config.model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    if not isinstance(arguments, dict):
        return ""
    return plain(arguments.get("pretrained") or arguments.get("model") or "")


def _results_beside(path: Path) -> LmEvalResults:
    found = next((name for name in _results_names(path) if name.is_file()), None)
    return LmEvalResults() if found is None else _results(found, found.stat().st_mtime_ns)


def _results_names(path: Path) -> Iterator[Path]:
    """Where the results may lie; the folder is searched only when the likeliest name is not there."""
    time = path.stem.rpartition("_")[2]
    yield path.parent / f"results_{time}.json"
    yield from sorted(path.parent.glob(f"*_{_escaped(time)}.json"))
    yield path.parent / "results.json"


def _escaped(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


@lru_cache(maxsize=4)
def _results(path: Path, _changed: int) -> LmEvalResults:
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
        name: plain(decode(results.config[name], ANY_JSON, f"config.{name}"))
        for name in ("model", "model_args", "limit", "gen_kwargs")
        if name in results.config
    }
    said = {
        "n_shot": plain(results.n_shot.get(header.task)),
        "lm_eval_version": plain(results.lm_eval_version),
        "chat_template_sha": plain(results.chat_template_sha),
    }
    return {name: value for name, value in (config | said).items() if value}
