"""Skills, skill graphs and clusters: from files, from columns of the table, from metadata of logs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.display import counted
from camilla.errors import DataError, SettingError
from camilla.names import name_index, nearest, quoted, shown
from camilla.reading.runs import Run
from camilla.table.columns import Origin, pick
from camilla.table.frame_files import FileColumns, file_and_columns, frame_with_lines, read_frame
from camilla.table.responses import ResponseTable
from camilla.table.skills import SEPARATOR, SkillGraph, SkillMap, is_zero_or_one, one_hots, zeros_and_ones


def skill_source(text: str | Path | Sequence[str]) -> FileColumns:
    """FILE[:column,column], or :column,column or a list of columns for columns of the table itself."""
    if not isinstance(text, str | Path):
        return FileColumns(None, tuple(text))
    return file_and_columns(text, "skills")


def key_source(text: str) -> FileColumns:
    """FILE:column, or a column of the table itself, with a colon before it or not."""
    for at, letter in enumerate(text):
        if letter == ":" and at and Path(text[:at]).is_file():
            return FileColumns(Path(text[:at]), (text[at + 1 :],))
    if Path(text).is_file():
        raise SettingError(
            f"key {text!r} is a file; say which of its columns contains the keys: {text}:column."
        )
    return FileColumns(None, (text.removeprefix(":"),))


def with_key(table: ResponseTable, source: FileColumns, *, id: str = "sample") -> ResponseTable:
    """The table with the key of each sample, from a column of a file or of the samples themselves."""
    if source.file is None:
        return replace(table, key=sample_column(table, source.columns[0]))
    keys = read_skills(source, table.samples, id=id, separator=None)
    return replace(table, key=tuple(keys.skills[code] for code in keys.mask.argmax(axis=1)))


def read_skills(
    source: FileColumns,
    samples: Sequence[str],
    *,
    id: str | None = None,
    separator: str | None = SEPARATOR,
) -> SkillMap:
    """The skill map in a file, matched to the samples by name.

    `id` is what the table calls its sample names; a column so called is looked for first. `separator` stands
    between several skills of one sample.
    """
    if source.file is None:
        raise DataError("skills without a file are columns of the table itself, which has its own reader.")
    frame, place = frame_with_lines(read_frame(source.file, text=True), source.file)
    origin = Origin(str(source.file), place)
    id = id if id in frame.columns and id not in source.columns else None
    if not source.columns:
        return SkillMap(*zeros_and_ones(frame, samples, id, None, origin))
    return skills_in(frame, source.columns, samples, id=id, origin=origin, separator=separator)


def skills_in(
    frame: pl.DataFrame,
    columns: Sequence[str],
    samples: Sequence[str],
    *,
    id: str | None,
    origin: Origin,
    separator: str | None = SEPARATOR,
) -> SkillMap:
    """The skills in named columns: each value of a column is one.

    Several columns that hold only 0 and 1 are skills themselves, a part of a 0/1 table.
    """
    if len(columns) > 1 and all(is_zero_or_one(pick(frame, column, origin)) for column in columns):
        return SkillMap(*zeros_and_ones(frame, samples, id, columns, origin))
    return SkillMap(*one_hots(frame, columns, samples, id, origin, separator))


def read_skill_graph(path: str | Path) -> SkillGraph:
    """CSV, TSV, JSONL or Parquet with columns parent and child; JSON: a list of such objects or of pairs."""
    path = Path(path)
    try:
        if path.suffix.lower() == ".json":
            return SkillGraph(tuple(_edge(item, number, path) for number, item in enumerate(_items(path))))
        frame, place = frame_with_lines(read_frame(path, text=True), path)
        return SkillGraph.of_columns(frame, Origin(str(path), place))
    except DataError as error:
        prefix = "" if str(path) in str(error) else f"{path}: "
        raise DataError(f"{prefix}{error}") from error


def _items(path: Path) -> list[Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}. Give the file of the graph.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is not JSON: {error}. Expected a list of edges.") from error
    if not isinstance(document, list) or not document:
        raise DataError(f'{path}: expected a list of edges: [{{"parent": "sets", "child": "algebra"}}, …].')
    return document


def _edge(item: Any, number: int, path: Path) -> tuple[str, str]:
    pair = [item.get("parent"), item.get("child")] if isinstance(item, dict) else item
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
        raise DataError(
            f"{path}: edge {number} is {shown(json.dumps(item, ensure_ascii=False))[:80]}; "
            'expected {"parent": "sets", "child": "algebra"} or ["sets", "algebra"].'
        )
    return pair[0], pair[1]


NO_SKILL = ("sample", "text")


def offered(table: ResponseTable) -> dict[str, int]:
    """Columns of the samples that could be skills, and how many values each has."""
    frame = described_samples(table)
    counts = {name: frame[name].drop_nulls().n_unique() for name in frame.columns if name not in NO_SKILL}
    return {name: count for name, count in counts.items() if 1 < count <= max(100, table.n_samples // 4)}


def skills_from(table: ResponseTable, columns: Sequence[str]) -> SkillMap:
    """Every value of these columns is a skill, "column=value" if there are several columns."""
    frame = described_samples(table)
    there = [name for name in frame.columns if name not in NO_SKILL]
    for column in columns:
        if column not in there:
            raise SettingError(f"samples have no {column!r} to take skills from. {nearest(column, there)}")
    return SkillMap(*one_hots(frame, columns, table.samples, "sample", Origin("the logs")))


def with_skill_source(table: ResponseTable, source: FileColumns, own: Sequence[str]) -> ResponseTable:
    """The table under the skills of a file, or of its own samples' columns."""
    if own:
        return table.with_skills(skills_from(table, own))
    return table.with_skills(read_skills(source, table.samples, id="sample"))


def described_samples(table: ResponseTable) -> pl.DataFrame:
    """What the table itself says of its samples: their task and metadata."""
    names = pl.DataFrame({"sample": table.samples}, schema={"sample": pl.String})
    if table.task is not None:
        names = names.with_columns(task=pl.Series(table.task, dtype=pl.String))
    if table.sample_metadata is None:
        return names
    extra = [name for name in table.sample_metadata.columns if name == "sample" or name not in names.columns]
    return names.join(table.sample_metadata.select(extra), on="sample", how="left", maintain_order="left")


def with_clusters(table: ResponseTable, column: str) -> ResponseTable:
    """The table with samples that share a value in a column as a cluster."""
    return replace(table, cluster=sample_column(table, column))


def sample_column(table: ResponseTable, column: str) -> tuple[str, ...]:
    """The task, cluster or key of each sample, or its value in a column of the sample metadata."""
    own = {
        name: values for name in ("task", "cluster", "key") if (values := getattr(table, name)) is not None
    }
    if column in own:
        return own[column]
    metadata = table.sample_metadata
    columns = [] if metadata is None else [name for name in metadata.columns if name != "sample"]
    if metadata is None or column not in columns:
        there = nearest(column, [*own, *columns]) if own or columns else "They have no columns."
        raise DataError(f"the samples have no column {column!r}. {there}")
    order = pl.DataFrame({"sample": table.samples})
    values = order.join(metadata.select("sample", column), on="sample", how="left", maintain_order="left")[
        column
    ]
    if isinstance(values.dtype, pl.List | pl.Struct | pl.Array):
        raise DataError(f"{column!r} has several values per sample; expected one.")
    if values.null_count():
        without = [name for name, value in zip(table.samples, values, strict=True) if value is None]
        raise DataError(
            f"{counted(len(without), 'sample', 'has', 'have')} no {column!r}, such as {quoted(without[:1])}."
        )
    return tuple(values.cast(pl.String))


class WithSkills(NamedTuple):
    """The table with the skills of its files, or as it was and why."""

    table: ResponseTable
    why_not: str = ""


def with_table_skills(table: ResponseTable, runs: Sequence[Run]) -> WithSkills:
    """The skill maps of all files as one, if they give each sample the same skills and none is without."""
    parts = list({id(run.skills): run.skills for run in runs if run.skills is not None}.values())
    if not parts:
        return WithSkills(table)
    skills = tuple(dict.fromkeys(skill for part in parts for skill in part.skill_map.skills))
    mask = np.zeros((table.n_samples, len(skills)), np.bool_)
    place = name_index(table.samples)
    for part in parts:
        known = np.array([place.get(name, -1) for name in part.samples])
        rows = known[known >= 0]
        needed = np.zeros((len(rows), len(skills)), np.bool_)
        needed[:, [skills.index(skill) for skill in part.skill_map.skills]] = part.skill_map.mask[known >= 0]
        differs = mask[rows].any(axis=1) & (mask[rows] != needed).any(axis=1)
        if differs.any():
            names = [table.samples[row] for row in rows[differs]]
            need = counted(len(names), "sample", "needs", "need")
            return WithSkills(table, f"{need} others in one file than in another, {quoted(names)}")
        mask[rows] = needed
    if idle := [table.samples[row] for row in np.flatnonzero(~mask.any(axis=1))]:
        return WithSkills(table, f"no file gives any to {counted(len(idle), 'sample')}, {quoted(idle)}")
    edges = dict.fromkeys(
        edge for part in parts if part.skill_graph is not None for edge in part.skill_graph.edges
    )
    graph = SkillGraph(tuple(edges)) if edges else None
    return WithSkills(table.with_skills(SkillMap(skills, mask), graph=graph))
