"""Features of samples and learners beside a table: from files, frames, and the table's own columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.errors import DataError, SettingError
from camilla.names import nearest
from camilla.reading.skills import described_samples
from camilla.table.columns import Origin
from camilla.table.features import NONE_KNOWN, USUAL_NAMES, Features, Of, features_in
from camilla.table.frame_files import (
    called,
    column_names,
    file_and_columns,
    frame_with_lines,
    is_written_text,
    read_frame,
)
from camilla.table.responses import ResponseTable

OPTIONS: dict[Of, str] = {"sample": "features", "learner": "learner_features"}


class FeatureSources(NamedTuple):
    """Where features are: files and frames, and columns of the table itself."""

    outside: tuple[Any, ...] = ()
    own: tuple[str, ...] = ()


def feature_sources(given: Any) -> FeatureSources:
    """FILE[:column,column], :column,column of the table itself, frames, or a list of them."""
    items = given if isinstance(given, list | tuple) else (given,)
    outside, own = list[Any](), list[str]()
    for item in items:
        if isinstance(item, str) and item.startswith(":"):
            own += file_and_columns(item, "features").columns
        else:
            outside.append(item)
    return FeatureSources(tuple(outside), tuple(own))


def own_columns(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of the table itself that are features."""
    return tuple(
        column
        for option in OPTIONS.values()
        if option in given
        for column in feature_sources(given[option]).own
    )


def with_features(
    table: ResponseTable, given: Mapping[str, Any], source: Path | pl.DataFrame | None
) -> ResponseTable:
    """The table with the features that are asked for; those in its own columns are read from `source`.

    Without a source they are what logs, or a table that Camilla wrote, say of samples and learners.
    """
    for of, option in OPTIONS.items():
        if option in given:
            sources = feature_sources(given[option])
            names = table.samples if of == "sample" else table.learners
            id = given.get(of)
            parts = [Features.read(one, of=of, id=id, names=names) for one in sources.outside]
            if sources.own:
                parts.insert(0, _own(table, sources.own, of, given, source).matched(names))
            found = _together(parts)
            if of == "sample":
                table = replace(table, sample_features=found)
            else:
                table = replace(table, learner_features=found)
    return table


def _together(parts: Sequence[Features]) -> Features:
    if not parts:
        raise DataError("there are no features; give a file or a column of the table.")
    found = parts[0]
    for part in parts[1:]:
        found = found.beside(part)
    return found


def _own(
    table: ResponseTable, columns: Sequence[str], of: Of, given: Mapping[str, Any],
    source: Path | pl.DataFrame | None,
) -> Features:  # fmt: skip
    """Features in columns of the table itself."""
    if source is None:
        described = _described(table, of)
        return Features(*features_in(described, of, columns, NONE_KNOWN, of, Origin("the table")))
    if given.get("rows") not in (None, f"{of}s"):
        raise SettingError(
            f"features of {of}s cannot be read from a table whose rows are {given['rows']}: its columns are "
            f"the {of}s. Give them in a separate file."
        )
    names = source.columns if isinstance(source, pl.DataFrame) else column_names(source)
    id = given.get(of) or next((name for name in _usual_ids(of, names, given) if name not in columns), None)
    for column in (id, *columns):
        if column is None or column not in names:
            raise DataError(f"the table has no column {column or of!r}. {nearest(str(column or of), names)}")
    frame, origin = _frame(source, [str(id), *columns])
    numbered = frame.with_row_index("\0row").unique([str(id), *columns], keep="first", maintain_order=True)
    origin = origin.at(numbered["\0row"].to_numpy().astype(np.int64))
    return Features(*features_in(numbered.drop("\0row"), str(id), columns, NONE_KNOWN, of, origin))


def _usual_ids(of: Of, names: Sequence[str], given: Mapping[str, Any]) -> list[str]:
    """Columns that may name the rows: of a wide table the first, of a long one those usually so called."""
    if "rows" in given:
        aside = {given.get(role) for role in ("task", "cluster", "key")} | set(given.get("ignore", ()))
        return [name for name in names if name not in aside]
    return [name for name in USUAL_NAMES[of] if name in names]


def _frame(source: Path | pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, Origin]:
    if isinstance(source, pl.DataFrame):
        return source.select(columns), Origin("the dataframe")
    text = is_written_text(source)
    frame, place = frame_with_lines(read_frame(source, columns=columns, text=text), source)
    return frame, Origin(called(source), place)


def _described(table: ResponseTable, of: Of) -> pl.DataFrame:
    """What the table itself says of samples or learners."""
    if of == "sample":
        return described_samples(table)
    names = pl.DataFrame({"learner": table.learners}, schema={"learner": pl.String})
    if table.learner_metadata is None:
        return names
    return names.join(table.learner_metadata, on="learner", how="left", maintain_order="left")
