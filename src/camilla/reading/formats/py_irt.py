"""py-irt: one line per subject, {"subject_id": …, "responses": {item: 0 or 1}}.

The response to an item that was tried several times is [successes, trials] or an object of the two: as many
trials, the successes first.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from camilla.errors import DataError
from camilla.reading.decoding import decode_lines, is_score, name_in, number_in
from camilla.reading.runs import GIVEN, Row, Run


class Subject(msgspec.Struct):
    subject_id: Any
    responses: dict[str, Any]


COUNTS = (("successes", "trials"), ("correct", "total"))
MOST_TRIALS = 10_000
SUBJECT = msgspec.json.Decoder(Subject)


def runs(path: Path) -> Iterator[Run]:
    """A run a subject; all items of a file are one task, named after it."""
    rows: dict[str, list[Row]] = {}
    for number, subject in decode_lines(path, SUBJECT):
        place = f"{path}: line {number}"
        learner = name_in(subject.subject_id, where=place, what="subject_id")
        for item, value in subject.responses.items():
            name = name_in(item, where=place, what="an item")
            rows.setdefault(learner, []).extend(_rows(name, value, place))
    for learner, of_run in rows.items():
        yield Run(
            learner,
            path.stem,
            of_run,
            source=str(path),
            format="py-irt",
            named_by_task=False,
            task_is_file=True,
        )


def _rows(item: str, value: Any, place: str) -> Iterator[Row]:
    """One row per response: that to the item, or those of its trials, successes first."""
    counts = _counts(value)
    if counts is not None:
        successes, trials = counts
        for trial in range(trials):
            yield Row(item, float(trial < successes), GIVEN, trial=trial)
        return
    score = number_in(value)
    if value is not None and not is_score(score):
        raise DataError(
            f"{place}: the response to {item!r} is {str(value)[:40]}; expected 0 to 1, or [successes, "
            "trials]."
        )
    yield Row(item, score, GIVEN, why=None if score is not None else "unscored")


def _counts(value: Any) -> tuple[int, int] | None:
    """Successes and trials, where a response is two whole numbers of which the first is not the larger."""
    if isinstance(value, dict):
        value = next(([value[a], value[b]] for a, b in COUNTS if value.keys() == {a, b}), None)
    if not isinstance(value, list) or len(value) != 2:
        return None
    successes, trials = value
    whole = type(successes) is int and type(trials) is int
    return (successes, trials) if whole and 0 <= successes <= trials and 1 <= trials <= MOST_TRIALS else None
