"""Skill maps out of what logs say about samples."""

from collections.abc import Sequence

import polars as pl

from camilla.data.columns import Origin
from camilla.data.names import nearest
from camilla.data.responses import ResponseTable
from camilla.data.skill_columns import one_hots
from camilla.data.skills import SkillMap
from camilla.errors import SettingError
from camilla.loaders.skill_files import SkillSource, read_skills

NO_SKILL = ("sample", "text")


def offered(table: ResponseTable) -> dict[str, int]:
    """Columns of the samples that could be skills, and how many values each has."""
    frame = _columns(table)
    counts = {name: frame[name].drop_nulls().n_unique() for name in frame.columns if name not in NO_SKILL}
    return {name: count for name, count in counts.items() if 1 < count <= max(100, table.n_samples // 4)}


def skills_from(table: ResponseTable, columns: Sequence[str]) -> SkillMap:
    """Every value of these columns is a skill, "column=value" if there are several columns."""
    frame = _columns(table)
    there = [name for name in frame.columns if name not in NO_SKILL]
    for column in columns:
        if column not in there:
            raise SettingError(f"samples have no {column!r} to take skills from. {nearest(column, there)}")
    return SkillMap(*one_hots(frame, columns, table.samples, "sample", Origin("the logs")))


def with_skill_source(table: ResponseTable, source: SkillSource | None, own: Sequence[str]) -> ResponseTable:
    """The table under the skills of a file, or of its own samples' columns."""
    if source is None:
        return table
    if own:
        return table.with_skills(skills_from(table, own))
    return table.with_skills(read_skills(source, table.samples, id="sample"))


def _columns(table: ResponseTable) -> pl.DataFrame:
    names = pl.DataFrame({"sample": table.samples}, schema={"sample": pl.String})
    if table.task is not None:
        names = names.with_columns(task=pl.Series(table.task, dtype=pl.String))
    if table.sample_metadata is None:
        return names
    extra = [name for name in table.sample_metadata.columns if name == "sample" or name not in names.columns]
    return names.join(table.sample_metadata.select(extra), on="sample", how="left", maintain_order="left")
