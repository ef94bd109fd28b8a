"""py-irt: one line per subject, {"subject_id": …, "responses": {item: 0 or 1}}."""

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


SUBJECT = msgspec.json.Decoder(Subject)


def runs(path: Path) -> Iterator[Run]:
    """A run a subject; all items of a file are one task, named after it."""
    rows: dict[str, list[Row]] = {}
    for number, subject in decode_lines(path, SUBJECT):
        place = f"{path}: line {number}"
        learner = name_in(subject.subject_id, where=place, what="subject_id")
        for item, value in subject.responses.items():
            score = number_in(value)
            if value is not None and not is_score(score):
                raise DataError(f"{place}: the response to {item!r} is {str(value)[:40]}; 0 to 1 was wanted.")
            name = name_in(item, where=place, what="an item")
            row = Row(name, score, GIVEN, why=None if score is not None else "unscored")
            rows.setdefault(learner, []).append(row)
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
