"""lm-evaluation-harness: `samples_<task>_<time>.jsonl` beside `results_<time>.json`, as far back as 0.4.0.

A row a document and filter; each of its metrics is a score of the sample. Version 0.4.0 wrote one
indented array into `<model_args>_<task>.jsonl`; 0.4.3 brought hashes of the document, 0.4.7 the keys
`filter` and `metrics`, 0.5.0 the scores of repeats.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.loaders.decoding import ANY_JSON, decode, decode_file, name_in, plain
from camilla.loaders.lm_eval_rows import Described, Entry, Repeats, entries, score_of
from camilla.loaders.peeking import Peek
from camilla.loaders.runs import Loader, Row, Run, Sniffed, Why


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
    other = peek.keys & {"configs", "versions", "n-shot"} or peek.name.startswith("results_")
    if peek.ending == ".json" and "results" in peek.keys and other:
        return Sniffed(0.8, "a results file of lm-evaluation-harness", companion=True)
    return None


def runs(path: Path) -> Iterator[Run]:
    """The one run in a file of samples."""
    header = _header(path)
    rows: list[Row] = []
    about = Described(path, _groups(header))
    left_out = _lower_is_better(header)
    for entry in entries(path):
        doc_id = entry.doc_id
        sample = str(doc_id) if type(doc_id) is int and abs(doc_id) < 2**63 else _name(entry, path)
        if sample not in about.entries:
            about.entries[sample] = entry
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
    )


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


def _model_in_args(results: Results) -> str:
    """pretrained=NAME or model=NAME of the model arguments."""
    raw = results.config.get("model_args")
    arguments = None if raw is None else decode(raw, ANY_JSON, "config.model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    if not isinstance(arguments, dict):
        return ""
    return plain(arguments.get("pretrained") or arguments.get("model") or "")


def _results_beside(path: Path) -> Results:
    found = next((name for name in _results_names(path) if name.is_file()), None)
    return Results() if found is None else _results(found, found.stat().st_mtime_ns)


def _results_names(path: Path) -> Iterator[Path]:
    """Where the results may lie; the folder is searched only when the likeliest name is not there."""
    time = path.stem.rpartition("_")[2]
    yield path.parent / f"results_{time}.json"
    yield from sorted(path.parent.glob(f"*_{_escaped(time)}.json"))
    yield path.parent / "results.json"


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


LM_EVAL = Loader(sniff, runs)
