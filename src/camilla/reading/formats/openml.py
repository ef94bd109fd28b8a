"""OpenML: predictions of a run as ARFF, one row per test sample of each repeat and fold.

`correct` holds the true label, not a verdict: a response is whether `prediction` equals it, or the
confidence that was given to it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from camilla.errors import DataError
from camilla.names import name_index
from camilla.reading.decoding import LONGEST_LINE, LONGEST_NAME, name_in
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
CELL = re.compile(rf"\s*({QUOTED}|[^,'\"]*)\s*(,|$)")
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|\S+)", re.IGNORECASE)
MOST_ATTRIBUTES = 10_000


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; the learner is the file, or its folder if it is called predictions."""
    task, columns, place = path.stem, [], {}  # type: str, list[str], dict[str, int]
    rows: list[Row] = []
    said: list[tuple[Row, str, str]] = []  # prediction and true label
    fold: dict[str, int] = {}  # of the first repeat
    in_data = False
    for number, line in _lines(path):
        if in_data:
            cells = _cells(line, len(columns), f"{path}: line {number}")
            of_line = list(_rows(cells, place, fold, f"{path}: line {number}"))
            rows += of_line
            said.append((of_line[0], cells[place["prediction"]], cells[place["correct"]]))
        elif line.lower().startswith("@relation"):
            task = _unquoted(line[9:].strip())[:LONGEST_NAME].removesuffix("_predictions") or task
        elif found := ATTRIBUTE.match(line):
            columns.append(_unquoted(found[1]))
        elif line.lower().startswith("@data"):
            in_data, place = True, _places(columns, path)
    learner = path.parent.name if path.stem.startswith("predictions") and path.parent.name else path.stem
    yield Run(
        learner, task, rows, source=str(path), format="openml", about=_clusters(task, fold),
        content=lambda: _content(said),
    )  # fmt: skip


def _content(said: list[tuple[Row, str, str]]) -> Content:
    """Predicted and true labels; a question mark is none."""
    known = {"?": ""}
    asked = {row.sample: Asked(reference=known.get(truth, truth)) for row, _, truth in said}
    answers = [
        Answered(row.sample, row.trial, known.get(label, label), filter=row.filter) for row, label, _ in said
    ]
    return Content(asked, answers)


def _clusters(task: str, fold: dict[str, int]) -> dict[str, About]:
    """Samples of a fold met the same model; of a single fold nothing shows how another would have done."""
    if len(set(fold.values())) < 2:
        return {}
    return {sample: About(cluster=f"{task} fold {number}") for sample, number in fold.items()}


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8", errors="strict") as file:
            number = 0
            while line := file.readline(LONGEST_LINE):
                number += 1
                if (text := line.strip()) and not text.startswith("%"):
                    yield number, text
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text: {str(error)[:80]}.") from error


def _unquoted(cell: str) -> str:
    if len(cell) >= 2 and cell[0] == cell[-1] and cell[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", cell[1:-1])
    return cell.strip()


def _cells(line: str, wanted: int, where: str) -> list[str]:
    cells: list[str] = []
    at = 0
    while len(cells) <= wanted:
        found = CELL.match(line, at)
        if found is None:
            break
        cells.append(_unquoted(found[1]))
        at = found.end()
        if found[2] == "":
            break
    if len(cells) != wanted or at < len(line):
        raise DataError(
            f"{where}: does not contain {wanted} values, as the header requires. Is the file cut off?"
        )
    return cells


def _places(columns: list[str], path: Path) -> dict[str, int]:
    if len(columns) > MOST_ATTRIBUTES:
        raise DataError(f"{path}: has {len(columns):,} attributes; {MOST_ATTRIBUTES:,} are the most.")
    place = name_index(columns)
    if "truth" in place and "correct" not in place:
        raise DataError(
            f"{path}: predictions of a regression have errors, not responses in [0, 1]; how to scale them is "
            "a choice: make a table with ResponseTable.from_errors."
        )
    for name in ("row_id", "prediction", "correct"):
        if name not in place:
            raise DataError(f"{path}: has no attribute {name!r}; OpenML's predictions have one.")
    return place


def _rows(cells: list[str], place: dict[str, int], fold: dict[str, int], where: str) -> Iterator[Row]:
    sample = name_in(cells[place["row_id"]], where=where, what="row_id")
    truth, prediction = cells[place["correct"]], cells[place["prediction"]]
    trial = _whole(cells, place, "repeat", where)
    part = _whole(cells, place, "sample", where)
    fold.setdefault(sample, _whole(cells, place, "fold", where))
    filter = f"sample {part}" if part else ""
    known = truth not in ("", "?") and prediction not in ("", "?")
    score = float(prediction == truth) if known else None
    yield Row(sample, score, "correct", filter, trial, None, None if known else "unscored")
    confidence = place.get(f"confidence.{truth}")
    if confidence is not None:
        given = _share(cells[confidence])
        yield Row(sample, given, "confidence", filter, trial, None, None if given is not None else "unscored")


def _whole(cells: list[str], place: dict[str, int], column: str, where: str) -> int:
    text = cells[place[column]] if column in place else "0"
    if not re.fullmatch(r"\d{1,9}(\.0*)?", text):
        raise DataError(f"{where}: {column} is {text[:40]!r}; expected a whole number.")
    return int(float(text))


def _share(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None
