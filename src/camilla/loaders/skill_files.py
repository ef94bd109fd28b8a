"""Skill maps named on a command line: FILE, FILE:column,column or :column,column."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from camilla.data.columns import Origin, pick
from camilla.data.skill_columns import is_zero_or_one, one_hots, zeros_and_ones
from camilla.data.skills import SkillMap
from camilla.errors import DataError
from camilla.loaders.frames import read_frame
from camilla.loaders.lines import placed


class SkillSource(NamedTuple):
    """A file, or None for the table's own, and the columns that were named in it."""

    file: Path | None
    columns: tuple[str, ...]


def skill_source(text: str | Path) -> SkillSource:
    """FILE[:column,column], or :column,column for columns of the table itself.

    The file ends at the first colon that leaves an existing one, so C:\\skills.csv:label works. A
    column with a comma in its name stands in double quotes.
    """
    text = str(text)
    if Path(text).is_file():
        return SkillSource(Path(text), ())
    for at, letter in enumerate(text):
        if letter == ":" and (at == 0 or Path(text[:at]).is_file()):
            columns = tuple(next(csv.reader([text[at + 1 :]], skipinitialspace=True), ()))
            if not all(columns) or not columns:
                raise DataError(
                    f"skills {text!r} name no column behind the colon; FILE:column,column was wanted."
                )
            return SkillSource(Path(text[:at]) if at else None, columns)
    raise DataError(
        f"{text}: no such file of skills. Give FILE, FILE:column,column, or :column of the table itself."
    )


def read_skills(source: SkillSource, samples: Sequence[str], *, id: str | None = None) -> SkillMap:
    """The skill map in a file, matched to the samples by name.

    `id` is what the table calls its sample names; a column so called is looked for first.
    """
    if source.file is None:
        raise DataError("skills without a file are columns of the table itself, which has its own reader.")
    frame, place = placed(read_frame(source.file, text=True), source.file)
    origin = Origin(str(source.file), place)
    id = id if id in frame.columns and id not in source.columns else None
    if not source.columns:
        return SkillMap(*zeros_and_ones(frame, samples, id, None, origin))
    return skills_in(frame, source.columns, samples, id=id, origin=origin)


def skills_in(
    frame: pl.DataFrame, columns: Sequence[str], samples: Sequence[str], *, id: str | None, origin: Origin
) -> SkillMap:
    """The skills in named columns: each value of a column is one.

    Several columns that hold only 0 and 1 are skills themselves, a part of a 0/1 table.
    """
    if len(columns) > 1 and all(is_zero_or_one(pick(frame, column, origin)) for column in columns):
        return SkillMap(*zeros_and_ones(frame, samples, id, columns, origin))
    return SkillMap(*one_hots(frame, columns, samples, id, origin))
