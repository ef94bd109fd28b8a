"""AlpacaEval: `annotations.json`, a judge's preference between a reference (1) and a model (2).

The response is preference − 1: 1 where the model wins, 0 where the reference does, between for weighted
judges; 0 and 1.5 are draws. The task names the reference, for a score means nothing without it, and the
metric is the judge: files of several judges on the answers of one model are parts of one run.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from camilla.reading.decoding import decode_file, digest, name_in, number_in, plain, shortened
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run


class Annotation(msgspec.Struct):
    instruction: str
    generator_1: Any
    generator_2: Any
    preference: Any = None
    annotator: Any = None
    dataset: Any = None
    output_1: Any = None
    output_2: Any = None
    raw_completion: Any = None


ANNOTATIONS = msgspec.json.Decoder(list[Annotation])


def response(preference: Any) -> float | None:
    """What the model took of one comparison; None where the judge did not answer."""
    number = number_in(preference)
    if number == 0:
        return 0.5
    return number - 1 if number is not None and 1 <= number <= 2 else None


def runs(path: Path) -> Iterator[Run]:
    """A run for each model and reference of a file."""
    rows: dict[tuple[str, str, str], list[Row]] = {}
    about: dict[str, About] = {}
    said: dict[tuple[str, str, str], list[Annotation]] = {}
    for one in decode_file(path, ANNOTATIONS):
        learner = name_in(one.generator_2, where=str(path), what="generator_2")
        reference = name_in(one.generator_1, where=str(path), what="generator_1")
        task = f"alpaca_eval against {reference}"
        sample = digest(one.instruction)
        skills = (("dataset", plain(one.dataset)),) if plain(one.dataset) else ()
        about.setdefault(sample, About(shortened(one.instruction), skills))
        score = response(one.preference)
        judge = plain(one.annotator) or "an unnamed judge"
        row = Row(sample, score, judge, "", 0, sample, None if score is not None else "unscored")
        rows.setdefault((learner, task, reference), []).append(row)
        said.setdefault((learner, task, reference), []).append(one)
    for (learner, task, reference), of_run in rows.items():
        yield Run(
            learner,
            task,
            of_run,
            source=str(path),
            format="alpaca-eval",
            run=f"{learner} against {reference}",
            about=about,
            settings={"reference": reference},
            unstable_ids=True,
            content=partial(_content, said[learner, task, reference]),
        )


def _content(annotations: list[Annotation]) -> Content:
    """What the model and the reference wrote, and the judge's words where they are kept as text."""
    asked = {digest(one.instruction): Asked(one.instruction, _text(one.output_1)) for one in annotations}
    answers = [
        Answered(digest(one.instruction), 0, _text(one.output_2), _text(one.raw_completion))
        for one in annotations
    ]
    return Content(asked, answers)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
