"""VLMEvalKit: `<model>_<dataset>_<judge>_result.xlsx` (or .tsv, .json), one row per question with its `hit`.

`<model>_<dataset>_acc.csv` beside it has the means. The folder is called after the model, or, in newer
versions, lies in it and is called after the day and the commit: T20250428_G1ff966c3.
"""

import re
import string
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from camilla.errors import DataError
from camilla.reading.decoding import name_in, number_in
from camilla.reading.entries import Draft, described, fingerprint, kept_content, records, value_in, words
from camilla.reading.runs import Answered, Asked, Content, Run

HIT = "hit"
SKILLS = ("category", "l2-category", "split")
DAY = re.compile(r"T(20\d{6})_G\w*")
JUDGED = re.compile(r"_(exact_matching|[^_]+)_result$")
MEANS = ("csv", "json")


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file."""
    draft = Draft()
    rows: list[dict[str, Any]] = []
    keys: list[tuple[str, int]] = []
    for number, row in enumerate(records(path), start=1):
        sample = name_in(_said(row.get("index")), where=f"{path}: row {number}", what="index")
        rows.append(row)
        keys.append((sample, draft.trial(sample)))
        labels = {name: row[name] for name in SKILLS if name in row}
        draft.about.setdefault(sample, described(words(row.get("question")), labels))
        content = fingerprint(row.get("question"), _said(row.get("answer")), list(_choices(row)))
        draft.add(sample, HIT, value_in(row.get(HIT)), keys[-1][1], content)
    if not rows:
        raise DataError(f"{path}: has no rows.")
    learner, date = _model(path)
    task, judge = _dataset(path, learner)
    yield Run(
        learner,
        task,
        draft.rows(),
        source=str(path),
        format="vlmevalkit",
        date=date,
        about=draft.about,
        settings={"judge": judge} if judge else {},
        left_out=draft.left_out,
        main=HIT,
        stated=_stated(path, learner, task) if HIT not in draft.left_out else {},
        content=partial(_content, keys, rows),
    )


def _model(path: Path) -> tuple[str, str]:
    """The folder of the model, and the day if the folder below it names one."""
    folder = path.resolve().parent
    day = DAY.fullmatch(folder.name)
    return (folder.parent.name if day else folder.name) or "vlmevalkit", day[1] if day else ""


def _dataset(path: Path, learner: str) -> tuple[str, str]:
    """Dataset and judge: what stands between the model's name and _result."""
    stem = path.stem.removeprefix(f"{learner}_")
    judged = JUDGED.search(stem)
    judge = judged[1] if judged else ""
    return (stem[: judged.start()] if judged else stem.removesuffix("_result")) or path.stem, judge


def _stated(path: Path, learner: str, task: str) -> dict[str, float]:
    """The overall accuracy of all splits, where the file of means has one row for them."""
    beside = [path.with_name(f"{learner}_{task}_acc.{ending}") for ending in MEANS]
    found = next((one for one in beside if one.is_file()), None)
    rows = list(records(found)) if found is not None else []
    whole = rows if len(rows) == 1 else [row for row in rows if row.get("split") == "ALL"]
    mean = number_in(value_in(whole[0].get("Overall"))) if whole else None
    return {HIT: mean} if mean is not None and 0 <= mean <= 1 else {}


def _said(value: Any) -> str:
    """A cell as text: 3 of a sheet is the number 3 or 3.0 in JSON."""
    number = number_in(value)
    if number is None or isinstance(value, bool):
        return words(value)
    return str(int(number)) if number.is_integer() else str(number)


def _choices(row: dict[str, Any]) -> Iterator[str]:
    for letter in string.ascii_uppercase:
        if row.get(letter) is not None:
            yield _said(row[letter])


def _content(keys: list[tuple[str, int]], rows: list[dict[str, Any]]) -> Content:
    return kept_content(
        (
            Asked(
                words(row.get("question")),
                _said(row.get("answer")),
                tuple(_choices(row)),
                words(row.get("image_path")),
            ),
            Answered(*key, _said(row.get("prediction")), words(row.get("log"))),
        )
        for key, row in zip(keys, rows, strict=True)
    )
