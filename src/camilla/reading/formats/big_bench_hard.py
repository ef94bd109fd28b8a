"""BIG-Bench Hard: `<model>-<cot or direct>/<task>_few_shot_template_….json`, as its authors published.

An object with `outputs`, each with input, prediction and target. The file has no scores: the response is 1
where the answer equals the target, which is how BIG-Bench Hard is scored. The answer is what follows "the
answer is", up to the full stop; of a prediction without these words, all of it. The accuracy that the authors
state is in `…_eval_metrics.jsonl` beside the file.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from camilla.reading.decoding import (
    as_text,
    decode_file,
    decode_lines,
    digest,
    is_score,
    number_in,
    shortened,
)
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run

METRIC = "exact_match"
ANSWER = "the answer is"
TEMPLATE = re.compile(r"(?P<task>.+?)_few_shot_template_.*", re.DOTALL)
STYLES = ("cot", "direct")


class Output(msgspec.Struct):
    input: str
    target: Any
    prediction: Any = None


class OutputsFile(msgspec.Struct):
    outputs: list[Output]


class Metrics(msgspec.Struct):
    accuracy: Any = None


FILE = msgspec.json.Decoder(OutputsFile)
METRICS = msgspec.json.Decoder(Metrics)


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; its name says the task, its folder the model and how it was prompted."""
    outputs = decode_file(path, FILE).outputs
    questions = [_question(one.input) for one in outputs]
    found = TEMPLATE.fullmatch(path.stem)
    learner = path.resolve().parent.name or "big-bench-hard"
    style = next((one for one in STYLES if learner.endswith(f"-{one}")), "")
    yield Run(
        learner,
        f"bbh {found['task'] if found else path.stem}",
        [_row(at, one, question) for at, (one, question) in enumerate(zip(outputs, questions, strict=True))],
        source=str(path),
        format="big-bench-hard",
        about={str(at): About(shortened(question[-4000:])) for at, question in enumerate(questions)},
        settings={"prompting": style} if style else {},
        main=METRIC,
        stated=_stated(path),
        content=lambda: _content(outputs, questions),
    )


def _row(at: int, one: Output, question: str) -> Row:
    content = digest(question, as_text(one.target))
    if not isinstance(one.prediction, str):
        return Row(str(at), None, METRIC, content=content, why="unscored")
    return Row(str(at), float(answer(one.prediction) == as_text(one.target).strip()), METRIC, content=content)


def answer(prediction: str) -> str:
    """What a prediction comes to."""
    said = prediction.rpartition(ANSWER)[2] if ANSWER in prediction else prediction
    return said.strip().removesuffix(".").strip()


def _question(prompt: str) -> str:
    """The last question of a prompt, behind the examples and before what the answer is to begin with."""
    last = prompt.rpartition("\n\nQ: ")[2]
    return last.rpartition("\nA:")[0] or last


def _stated(path: Path) -> dict[str, float]:
    beside = path.with_name(f"{path.stem}_eval_metrics.jsonl")
    if not beside.is_file():
        return {}
    said = [number_in(one.accuracy) for _, one in decode_lines(beside, METRICS)]
    accuracy = said[0] / 100 if said and said[0] is not None else None
    return {METRIC: accuracy} if accuracy is not None and is_score(accuracy) else {}


def _content(outputs: list[Output], questions: list[str]) -> Content:
    asked = {
        str(at): Asked(question, as_text(one.target))
        for at, (one, question) in enumerate(zip(outputs, questions, strict=True))
    }
    return Content(asked, [Answered(str(at), 0, as_text(one.prediction)) for at, one in enumerate(outputs)])
