"""Terminal-Bench: `results.json` of a run, with an entry for each trial; `results.json` of one trial.

A trial counts as the harness counts it: is_resolved. A trial whose tests did not run to an end (test_timeout,
parse_error, …) has no verdict and is missing; the harness's accuracy counts it as unresolved. A trial in
which the agent ran out of time was tested nevertheless, and has one.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from camilla.reading.decoding import decode_file, digest, is_score, name_in, number_in, plain, shortened
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run, trial_numbers

METRIC = "is_resolved"
QUIET = ("", "unset", "none")  # failure modes that say nothing
ATTEMPT = re.compile(r"[.](\d{1,6})-of-\d+(?:[.]|$)")
MOST_TESTS = 20


class Trial(msgspec.Struct):
    task_id: Any = None
    trial_name: Any = ""
    instruction: Any = ""
    is_resolved: bool | None = None
    failure_mode: Any = ""
    parser_results: Any = None
    trial_started_at: Any = ""


class ResultsFile(Trial):
    """Of a run its trials and their accuracy; of a trial the trial alone."""

    results: list[Trial] | None = None
    accuracy: Any = None
    resolved_ids: list[Any] = []
    unresolved_ids: list[Any] = []


class RunMetadata(msgspec.Struct):
    agent_name: Any = ""
    model_name: Any = ""
    dataset_name: Any = ""
    dataset_version: Any = ""
    commit_hash: Any = ""
    start_time: Any = ""


FILE = msgspec.json.Decoder(ResultsFile)
METADATA = msgspec.json.Decoder(RunMetadata)


def runs(path: Path) -> Iterator[Run]:
    """The run of a file; a trial is a part of the run two folders above, where that has no file itself."""
    found = decode_file(path, FILE)
    if found.results is None:
        folder = path.resolve().parent.parent.parent
        if not (folder / "results.json").is_file():
            yield _run([found], path, folder)
        return
    accuracy = number_in(found.accuracy)
    stated = {METRIC: accuracy} if accuracy is not None and is_score(accuracy) else {}
    run = _run(found.results, path, path.resolve().parent, stated)
    tasks = {plain(id) for id in found.resolved_ids + found.unresolved_ids}
    yield replace(run, n_stated=len(tasks) or None)


def _run(trials: list[Trial], path: Path, folder: Path, stated: dict[str, float] | None = None) -> Run:
    names = [name_in(one.task_id, where=str(path), what="task_id") for one in trials]
    numbers = trial_numbers(names, map(_attempt, trials, names))
    rows = [_row(one, name, number) for one, name, number in zip(trials, names, numbers, strict=True)]
    about = {name: About(shortened(_text(one.instruction))) for one, name in zip(trials, names, strict=True)}
    learner, task, date, settings = _named(path, folder)
    started = min((text for one in trials if (text := plain(one.trial_started_at))), default="")

    def content() -> Content:
        asked = {name: Asked(_text(one.instruction)) for one, name in zip(trials, names, strict=True)}
        answers = [
            Answered(name, number, "", _reason(one))
            for one, name, number in zip(trials, names, numbers, strict=True)
        ]
        return Content(asked, answers)

    return Run(
        learner,
        task,
        rows,
        source=str(path),
        format="terminal-bench",
        run=str(folder) if stated is None else "",
        date=started or date,
        about=about,
        settings=settings,
        main=METRIC,
        stated=stated or {},
        errors=Counter(plain(one.failure_mode) for one in trials if one.is_resolved is None),
        content=content,
    )


def _row(one: Trial, name: str, number: int) -> Row:
    text = _text(one.instruction)
    content = digest(text) if text else None
    if one.is_resolved is None:
        return Row(name, None, METRIC, "", number, content, "errored")
    return Row(name, float(one.is_resolved), METRIC, "", number, content)


def _attempt(one: Trial, name: str) -> int | None:
    """Trial 1 of task.2-of-5."""
    found = ATTEMPT.search(_text(one.trial_name).removeprefix(name))
    return max(int(found[1]) - 1, 0) if found else None


def _reason(one: Trial) -> str:
    """Which way the trial failed, and which of its tests."""
    mode = plain(one.failure_mode)
    tests = one.parser_results if isinstance(one.parser_results, dict) else {}
    failed = [shortened(name) for name, verdict in tests.items() if verdict != "passed"]
    said = [] if mode in QUIET else [mode]
    if failed:
        more = "" if len(failed) <= MOST_TESTS else f" and {len(failed) - MOST_TESTS} more"
        said.append(f"failed {len(failed)} of {len(tests)} tests: {', '.join(failed[:MOST_TESTS])}{more}")
    return "; ".join(said)


def _named(path: Path, folder: Path) -> tuple[str, str, str, dict[str, str]]:
    """Learner, task, date and settings: from run_metadata.json, else from the folders.

    A leaderboard's folder is <date>_<agent>_<model>, with a run's folder or file in it.
    """
    dated = next((one.name for one in (folder, folder.parent) if re.match(r"\d{8}_.", one.name)), "")
    stem = path.stem.removesuffix("results").strip("_")
    learner, task, date = dated or stem or folder.name or "terminal-bench", "terminal-bench", dated[:8]
    beside = folder / "run_metadata.json"
    if not beside.is_file():
        return learner, task, date, {}
    metadata = decode_file(beside, METADATA)
    agent, model = plain(metadata.agent_name), plain(metadata.model_name)
    settings = {
        "agent": agent,
        "model": model,
        "dataset_version": plain(metadata.dataset_version),
        "commit": plain(metadata.commit_hash),
    }
    return (
        " ".join(filter(None, (agent, model))) or learner,
        plain(metadata.dataset_name) or task,
        plain(metadata.start_time) or date,
        {name: value for name, value in settings.items() if value},
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
