"""LiveCodeBench: `output/<model>/<scenario>_<n>_<temperature>_eval_all.json`, an entry for each problem.

`graded_list` says of each of n answers whether it passed all tests: trials of one sample. An answer on which
the test runner itself failed (error code −5) is missing; the harness counts it as wrong.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import (
    ANY_JSON,
    UNDECODABLE,
    as_text,
    decode_file,
    digest,
    is_score,
    name_in,
    number_in,
    plain,
    shortened,
)
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run

METRIC = "pass@1"
RUNNER_FAILED = -5
NAME = re.compile(
    r"(?:Scenario[.])?(?P<scenario>[a-z]+)(?:_(?P<n>\d+))?(?:_(?P<temperature>\d+(?:[.]\d+)?))?_eval_all"
)
SKILLS = ("difficulty", "platform")


class Problem(msgspec.Struct):
    question_id: Any
    graded_list: Any = None
    pass_at_1: Any = msgspec.field(name="pass@1", default=None)
    metadata: Any = None
    question_title: Any = ""
    question_content: Any = ""
    difficulty: Any = ""
    platform: Any = ""
    code_list: Any = None
    pred_list: Any = None
    output_list: Any = None
    id: Any = None  # of code execution
    code: Any = ""
    input: Any = ""
    output: Any = ""
    test_id: Any = None  # of test output prediction

    def sample(self, path: Path) -> str:
        """A problem is asked once, or once for each of its tests or inputs."""
        where = str(path)
        if self.id is not None:
            return name_in(self.id, where=where, what="id")
        question = name_in(self.question_id, where=where, what="question_id")
        if self.test_id is None:
            return question
        return f"{question} test {name_in(self.test_id, where=where, what='test_id')}"

    @property
    def prompt(self) -> str:
        parts = (self.question_title, self.question_content, self.code, self.input)
        return "\n\n".join(text for part in parts if (text := as_text(part)))


PROBLEMS = msgspec.json.Decoder(list[Problem])


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; its folder is the model, its name says the scenario."""
    problems = decode_file(path, PROBLEMS)
    rows: list[Row] = []
    names = [one.sample(path) for one in problems]
    starts = _starts(problems, names)
    for one, name, start in zip(problems, names, starts, strict=True):
        rows += _rows(one, name, start, path)
    found = NAME.fullmatch(path.stem)
    scenario = found["scenario"] if found else _scenario(problems)
    settings = {part: found[part] for part in ("n", "temperature") if found and found[part]}
    yield Run(
        path.resolve().parent.name or "livecodebench",
        f"livecodebench {scenario}",
        rows,
        source=str(path),
        format="livecodebench",
        about={name: _about(one) for one, name in zip(problems, names, strict=True)},
        settings=settings,
        main=METRIC,
        stated=_stated(problems, path),
        content=lambda: _content(problems, names, starts),
    )


def _starts(problems: list[Problem], names: list[str]) -> list[int]:
    """The number of each problem's first trial: a problem again goes on where the last one ended."""
    count: Counter[str] = Counter()
    starts = []
    for one, name in zip(problems, names, strict=True):
        starts.append(count[name])
        count[name] += max(len(one.graded_list), 1) if isinstance(one.graded_list, list) else 1
    return starts


def _rows(one: Problem, name: str, start: int, path: Path) -> Iterator[Row]:
    content = digest(one.prompt) if one.prompt else None
    if not isinstance(one.graded_list, list):
        raise DataError(f"{path}: problem {name!r} has no graded_list; was it run with --evaluate?")
    for at, graded in enumerate(one.graded_list or [None]):
        score = number_in(graded)
        score = score if is_score(score) else None
        why = "errored" if _runner_failed(one, at) else None if score is not None else "unscored"
        yield Row(name, None if why else score, METRIC, "", start + at, content, why)  # type: ignore[arg-type]


def _of_answer(values: Any, at: int) -> Any:
    return values[at] if isinstance(values, list) and at < len(values) else None


def _runner_failed(one: Problem, at: int) -> bool:
    """Metadata is JSON in a string, one for each answer."""
    text = _of_answer(one.metadata, at)
    if not isinstance(text, str) or str(RUNNER_FAILED) not in text:
        return False
    try:
        said = ANY_JSON.decode(text)
    except UNDECODABLE:
        return False
    return isinstance(said, dict) and said.get("error_code") == RUNNER_FAILED


def _scenario(problems: list[Problem]) -> str:
    if any(one.id is not None for one in problems):
        return "codeexecution"
    return "testoutputprediction" if any(one.test_id is not None for one in problems) else "codegeneration"


def _about(one: Problem) -> About:
    skills = tuple((name, value) for name in SKILLS if (value := plain(getattr(one, name))))
    return About(shortened(one.prompt[:4000]), skills)


def _stated(problems: list[Problem], path: Path) -> dict[str, float]:
    """pass@1 of `…_eval.json` beside the file, else the mean of what each problem's entry says."""
    beside = path.with_name(path.name.replace("_eval_all.json", "_eval.json"))
    if beside != path and beside.is_file():
        metrics = decode_file(beside, ANY_JSON)
        first = metrics[0] if isinstance(metrics, list) and metrics else None
        mean = number_in(first.get(METRIC)) if isinstance(first, dict) else None
        return {METRIC: mean} if mean is not None and is_score(mean) else {}
    said = [number_in(one.pass_at_1) for one in problems]
    means = [mean for mean in said if mean is not None and is_score(mean)]
    return {METRIC: sum(means) / len(means)} if means and len(means) == len(said) else {}


def _content(problems: list[Problem], names: list[str], starts: list[int]) -> Content:
    asked: dict[str, Asked] = {}
    answers = []
    for one, name, start in zip(problems, names, starts, strict=True):
        asked.setdefault(name, Asked(one.prompt, as_text(one.output)))
        for at in range(len(one.graded_list) if isinstance(one.graded_list, list) else 0):
            lists = (one.code_list, one.pred_list, one.output_list)
            answer = next((text for part in lists if (text := as_text(_of_answer(part, at)))), "")
            answers.append(Answered(name, start + at, answer, as_text(_of_answer(one.metadata, at))))
    return Content(asked, answers)
