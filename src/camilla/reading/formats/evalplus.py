"""EvalPlus: `…eval_results.json`, for each task and solution whether the base and the extra tests passed.

`plus`, the score that EvalPlus reports, is 1 where base and extra tests passed; `base` is the tests of
HumanEval or MBPP alone. A timeout is a failure. Without extra tests (--base-only) there is only `base`.
Results of 2023 have lists of [status, details] for base and plus in place of an entry for each solution.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import as_text, decode_file, is_score, name_in, number_in, plain
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run

PASSED = ("pass", "success")
FAILED = ("fail", "failed", "timeout", "timed out")
MODEL = re.compile(r"(?P<model>.+)_(?P<backend>[a-z]+)_temp_(?P<temperature>\d+(?:[.]\d+)?)", re.DOTALL)
ENDING = re.compile(r"[._-]?eval_results$")


class EvalPlusFile(msgspec.Struct):
    eval: dict[str, Any]
    date: Any = ""
    hash: Any = ""
    pass_at_k: Any = None


FILE = msgspec.json.Decoder(EvalPlusFile)


class Solution(NamedTuple):
    """The two verdicts on one solution of a task."""

    task: str  # HumanEval
    sample: str  # 0
    trial: int
    base: Any
    plus: Any
    entry: dict[str, Any]  # as logged, empty in old files


def runs(path: Path) -> Iterator[Run]:
    """A run for each dataset of a file, which is one as a rule."""
    file = decode_file(path, FILE)
    datasets: dict[str, list[Solution]] = {}
    for id, entries in file.eval.items():
        for one in _solutions(name_in(id, where=str(path), what="a task's id"), entries, path):
            datasets.setdefault(one.task, []).append(one)
    learner, settings = _named(path)
    for task, solutions in datasets.items():
        has_plus = any(one.plus is not None for one in solutions)
        yield Run(
            learner,
            task,
            [row for one in solutions for row in _rows(one, has_plus)],
            source=str(path),
            format="evalplus",
            date=plain(file.date),
            version=plain(file.hash),
            about={one.sample: About() for one in solutions},
            settings=settings,
            main="plus" if has_plus else "base",
            stated=_stated(file.pass_at_k) if len(datasets) == 1 else {},
            content=partial(_content, solutions),
        )


def _solutions(id: str, entries: Any, path: Path) -> Iterator[Solution]:
    task, _, sample = id.rpartition("/")
    names = (task or "evalplus", sample or id)
    if isinstance(entries, dict):
        base, plus = (_listed(entries.get(name)) for name in ("base", "plus"))
        for trial, verdict in enumerate(base):
            yield Solution(*names, trial, _status(verdict), _status(plus[trial : trial + 1]), {})
        return
    if not isinstance(entries, list):
        raise DataError(f"{path}: results of {id!r} are {as_text(entries)[:40]!r}; expected a list.")
    for trial, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise DataError(f"{path}: a result of {id!r} is {as_text(entry)[:40]!r}; expected an object.")
        yield Solution(*names, trial, entry.get("base_status"), entry.get("plus_status"), entry)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _status(verdict: Any) -> Any:
    """The first of the first: [["success", […]]] and ["success", […]] are success."""
    while isinstance(verdict, list):
        verdict = verdict[0] if verdict else None
    return verdict


def _rows(one: Solution, has_plus: bool) -> Iterator[Row]:
    base, plus = _passed(one.base), _passed(one.plus)
    if has_plus:
        both = None if base is None or plus is None else base * plus
        both = 0.0 if base == 0 else both
        yield Row(one.sample, both, "plus", "", one.trial, None, None if both is not None else "unscored")
    yield Row(one.sample, base, "base", "", one.trial, None, None if base is not None else "unscored")


def _passed(status: Any) -> float | None:
    if not isinstance(status, str):
        return None
    return 1.0 if status in PASSED else 0.0 if status in FAILED else None


def _stated(pass_at_k: Any) -> dict[str, float]:
    """pass@1 under both sets of tests, which is the mean."""
    found = {}
    for name in ("plus", "base"):
        part = pass_at_k.get(name) if isinstance(pass_at_k, dict) else None
        mean = number_in(part.get("pass@1")) if isinstance(part, dict) else None
        if mean is not None and is_score(mean):
            found[name] = mean
    return found


def _named(path: Path) -> tuple[str, dict[str, str]]:
    """Learner and settings: <model>_<backend>_temp_<temperature> of file or folder; -- is a slash."""
    name = ENDING.sub("", path.stem) or path.resolve().parent.name or "evalplus"
    found = MODEL.fullmatch(name)
    if found is None:
        return name.replace("--", "/"), {}
    return found["model"].replace("--", "/"), {
        "backend": found["backend"],
        "temperature": found["temperature"],
    }


def _content(solutions: list[Solution]) -> Content:
    answers = [
        Answered(one.sample, one.trial, as_text(one.entry.get("solution")), _reason(one)) for one in solutions
    ]
    return Content({one.sample: Asked() for one in solutions}, answers)


def _reason(one: Solution) -> str:
    """The two verdicts, and how many tests failed where the log says."""
    said = []
    for name, status in (("base", one.base), ("plus", one.plus)):
        failed = _listed(one.entry.get(f"{name}_fail_tests"))
        count = f" ({len(failed)} failing inputs)" if failed else ""
        if isinstance(status, str):
            said.append(f"{name} tests: {plain(status)}{count}")
    return "; ".join(said)
