"""LightEval: `details_<task>|<shots>_<time>.parquet`, of 0.11 and newer or flat as before.

The id of a sample is not stored, so samples are known by a hash of their query.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from camilla.errors import DataError
from camilla.reading.decoding import digest, is_score, number_in, plain, shortened
from camilla.reading.runs import About, Answered, Asked, Content, Row, Run
from camilla.table.frame_files import UNREADABLE, literally

NAME = re.compile(r"details_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)$")


class FileLayout(NamedTuple):
    """The columns that hold the query and the metrics; the query may be a field of a struct."""

    query: str
    field: str | None
    metrics: str


LAYOUTS = (
    FileLayout("doc", "query", "metric"),
    FileLayout("__doc__", "query", "__metric__"),
    FileLayout("doc", "query", "metrics"),
    FileLayout("example", None, "metrics"),
)


class ContentColumns(NamedTuple):
    """Columns that may hold documents, responses, or before 0.11 parts of them."""

    documents: tuple[str, ...] = ("doc", "__doc__")
    responses: tuple[str, ...] = ("model_response", "__model_response__")
    flat: tuple[str, ...] = ("full_prompt", "example", "choices", "gold", "gold_index", "predictions")


CONTENT = ContentColumns()
NEXT = "\n\n[next sample of the model]\n\n"


def _layout(names: Any) -> FileLayout | None:
    return next((one for one in LAYOUTS if one.query in names and one.metrics in names), None)


def runs(path: Path) -> Iterator[Run]:
    """The one run of a file; task, shots and time are in its name, the model in its folders."""
    queries, metrics = _columns(path)
    found = NAME.match(path.stem)
    name, date = (found["task"], found["time"]) if found else (path.stem, "")
    task, _, shots = name.rpartition("|") if "|" in name else (name, "", "")
    rows: list[Row] = []
    about: dict[str, About] = {}
    left_out: dict[str, str] = {}
    skills = (("subset", task.rpartition(":")[2]),) if ":" in task else ()
    for at, query in enumerate(queries):
        text = query if isinstance(query, str) else plain(query)
        about[str(at)] = About(shortened(text), skills)
        rows += _rows(metrics, at, digest(text) if text else None, left_out)
    yield Run(
        _learner(path),
        task,
        [row for row in rows if row.metric not in left_out],
        source=str(path),
        format="lighteval",
        date=date,
        about=about,
        settings={"n_shot": shots} if shots else {},
        left_out=left_out,
        unstable_ids=True,
        content=lambda: _content(path),
    )


def _content(path: Path) -> Content:
    """Query, choices and gold of each document, and the texts of the model's response, read again."""
    try:
        schema = pl.read_parquet_schema(literally(path))
        wanted = [name for names in CONTENT for name in names if name in schema]
        rows = pl.read_parquet(literally(path), columns=wanted).to_dicts()
    except UNREADABLE:
        return Content({}, ())  # the scores were read, so it is content alone that is damaged
    asked, answers = {}, []
    for at, row in enumerate(rows):
        document = next((row[name] for name in CONTENT.documents if isinstance(row.get(name), dict)), row)
        said = next((row[name] for name in CONTENT.responses if isinstance(row.get(name), dict)), row)
        choices = tuple(one for one in _listed(document.get("choices")) if isinstance(one, str))
        gold = [choices[one] for one in _listed(document.get("gold_index")) if one in range(len(choices))]
        prompt = document.get("query", document.get("full_prompt", document.get("example")))
        reference = "\n".join(gold) if gold else document.get("gold")
        asked[str(at)] = Asked(_text(prompt), _text(reference), choices if len(choices) > 1 else ())
        texts = [one for one in _listed(said.get("text", said.get("predictions"))) if isinstance(one, str)]
        answers.append(Answered(str(at), 0, NEXT.join(texts)))
    return Content(asked, answers)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _columns(path: Path) -> tuple[list[Any], dict[str, list[Any]]]:
    try:
        layout = _layout(pl.read_parquet_schema(literally(path)))
        if layout is None:
            raise DataError(f"{path}: has neither columns doc and metric nor example and metrics.")
        frame = pl.read_parquet(literally(path), columns=[layout.query, layout.metrics])
        query, metrics = frame[layout.query], frame[layout.metrics]
        if not isinstance(metrics.dtype, pl.Struct):
            raise DataError(
                f"{path}: column {layout.metrics!r} has the type {metrics.dtype}; expected a struct."
            )
        if layout.field is not None:
            if not isinstance(query.dtype, pl.Struct) or layout.field not in [
                f.name for f in query.dtype.fields
            ]:
                raise DataError(f"{path}: column {layout.query!r} has no field {layout.field!r}.")
            query = query.struct.field(layout.field)
        values = {field.name: metrics.struct.field(field.name).to_list() for field in metrics.dtype.fields}
        return query.to_list(), values
    except UNREADABLE as error:
        reason = (str(error).splitlines() or ["no reason given"])[0][:160]
        raise DataError(f"{path}: cannot be read as Parquet: {reason}.") from error


def _rows(
    metrics: dict[str, list[Any]], at: int, content: str | None, left_out: dict[str, str]
) -> Iterator[Row]:
    for metric, values in metrics.items():
        score = number_in(values[at])
        if values[at] is not None and score is None:
            left_out.setdefault(metric, "not a single number")
        elif score is not None and not is_score(score):
            left_out.setdefault(metric, "outside 0 to 1")
        yield Row(str(at), score, metric, "", 0, content, None if score is not None else "unscored")


def _learner(path: Path) -> str:
    """details/<org>/<model>/<time>/…: what stands between details and the time."""
    folders = path.resolve().parent.parts
    if "details" in folders:
        inside = folders[len(folders) - folders[::-1].index("details") :]
        name = "/".join(inside[:-1] if len(inside) > 1 and inside[-1][:4].isdecimal() else inside)
        return name or path.stem
    return path.parent.name or path.stem
