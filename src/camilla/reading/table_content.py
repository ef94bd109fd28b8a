"""What tables say of prompts, references, choices, images, answers and reasons, in columns of these names."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError
from camilla.names import nearest
from camilla.table.columns import Encoded, Origin, holds_words, name_column, response_column
from camilla.table.content import ASKED, LONGEST, SCHEMA, cut, scratch_content
from camilla.table.responses import ResponseTable

OF_SAMPLES = tuple(ASKED)  # prompt, reference, choices, image
OF_RESPONSES = ("answer", "reason")


def named_columns(
    given: Mapping[str, str | None], names: Sequence[str], taken: Collection[str], called: str
) -> dict[str, str]:
    """Which column holds what: the one that was named, else the one of that name that is nothing else."""
    found = {}
    for field, column in given.items():
        if column is not None and column not in names:
            raise DataError(f"{called}: no column {column!r}. {nearest(column, names)}")
        if column is not None:
            found[field] = column
        elif field in names and field not in taken:
            found[field] = field
    return found


def telling_columns(
    frame: pl.DataFrame, given: Mapping[str, str | None], taken: Collection[str]
) -> dict[str, str]:
    """The content of a wide table: columns that were named, and those so called that hold words or lists.

    A learner may be called reference: a column of numbers is its responses.
    """
    columns = {field: column for field, column in given.items() if column is not None}
    for field in given:
        if field in columns or field in taken or field not in frame.columns:
            continue
        if isinstance(frame[field].dtype, pl.List) or holds_words(frame[field]):
            columns[field] = field
    return columns


def rows_of_judge(judges: Encoded, taken: str) -> NDArray[np.integer]:
    """The rows of the judge that was taken; of a mean over judges, those of the first."""
    code = judges.names.index(taken) if taken in judges.names else 0
    return np.flatnonzero(judges.codes == code)


def with_long_content(
    table: ResponseTable,
    columns: Mapping[str, str],
    roles: tuple[str, str, str],
    frame: pl.DataFrame,
    origin: Origin,
) -> ResponseTable:
    """The table with what its frame says; `roles` are the columns of learner, sample and response."""
    if not columns:
        return table
    learner, sample = (name_column(frame, role, origin).column("name") for role in roles[:2])
    trial = _trials(table, np.flatnonzero(~np.isnan(response_column(frame[roles[2]], origin))), frame.height)
    answers = pl.DataFrame({"sample": sample, "learner": learner, "trial": trial})
    answers = answers.with_columns(
        [_texts(frame[columns[field]]).alias(field) for field in OF_RESPONSES if field in columns]
    )
    asked = _asked(frame, sample, columns)
    return replace(table, content=scratch_content(_whole([asked, answers])))


def _trials(table: ResponseTable, kept: NDArray[np.integer], n_rows: int) -> pl.Series:
    """The trial that each row of a frame is in its table, null for a row without a response.

    Of a mean over judges some responses are not in the table: then trials are those of the rows.
    """
    trial = np.zeros(len(kept), np.int32)
    if table.trial is not None and len(table.trial) == len(kept):
        trial = table.trial
    place = np.full(n_rows, -1, np.int32)
    place[kept] = trial
    return pl.select(pl.when(pl.Series(place) >= 0).then(pl.Series(place))).to_series()


def with_wide_content(
    table: ResponseTable, frame: pl.DataFrame, columns: Mapping[str, str], id: str, origin: Origin
) -> ResponseTable:
    """The table with what its frame, whose rows are samples, says of them."""
    if not columns:
        return table
    asked = _asked(frame, name_column(frame, id, origin).column("name"), columns)
    return replace(table, content=scratch_content(_whole([asked])))


def _asked(frame: pl.DataFrame, sample: pl.Series, columns: Mapping[str, str]) -> pl.DataFrame:
    """One row per sample: of several values the first."""
    values = {
        field: _choices(frame[columns[field]]) if field == "choices" else _texts(frame[columns[field]])
        for field in OF_SAMPLES
        if field in columns
    }
    named = pl.DataFrame({"sample": sample} | values)
    return named.group_by("sample", maintain_order=True).agg(pl.exclude("sample").drop_nulls().first())


def _whole(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=SCHEMA), *frames], how="diagonal")


def _texts(series: pl.Series) -> pl.Series:
    """Cells as text, null where there is none."""
    if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary):
        raise DataError(f"column {series.name!r} holds {series.dtype}; text was wanted.")
    texts = series.cast(pl.String).replace("", None)
    if (texts.str.len_chars() > LONGEST).any():
        texts = texts.map_elements(cut, return_dtype=pl.String)
    return texts


def _choices(series: pl.Series) -> pl.Series:
    """Lists as they are, a JSON list as one, any other text as a single choice."""
    if not isinstance(series.dtype, pl.List):
        parsed = [None if text is None else _listed(text) for text in _texts(series)]
        return pl.Series(series.name, parsed, dtype=ASKED["choices"])
    lists = series.cast(ASKED["choices"])
    return lists.list.eval(pl.element().drop_nulls()).rename(series.name)


def _listed(text: str) -> list[str]:
    try:
        found = json.loads(text) if text.lstrip()[:1] == "[" else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        return [text]
    return [cut(one if isinstance(one, str) else str(one)) for one in found]
