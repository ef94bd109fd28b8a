"""Long tables among logs: columns learner, sample and response, or names of the Item Response Warehouse."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from camilla.reading.runs import GIVEN, About, Row, Run, SampleSkills
from camilla.reading.tables import TableRead, read_table
from camilla.table.columns import PLAIN
from camilla.table.files import has_written_header
from camilla.table.frame_files import column_names
from camilla.table.responses import ResponseTable

OWN = ("date", "format", "source")
ROLES = ("trial", "task", "cluster", "weight")


def runs(path: Path) -> Iterator[Run]:
    """A run for each learner and task; a table without a task is one task named after its file.

    A table that Camilla wrote brings along what its logs said of samples and learners, and its skills.
    """
    written = ResponseTable.read_written(path)
    return runs_of(TableRead(written) if written is not None else _read(path), path)


def runs_of(read: TableRead, path: Path, *, format: str = "table") -> Iterator[Run]:
    """A run for each learner and task of a table that was read from a file."""
    table, repeated = read.table, read.repeated
    judged = read.judged or {GIVEN: table}
    rows: dict[tuple[str, str], list[Row]] = {}
    about: dict[str, About] = {}
    for judge, of_judge in judged.items():
        _add_rows(rows, of_judge, judge, path.stem)
        about |= _about(of_judge)
    skills = None
    if table.skill_map is not None:
        skills = SampleSkills(table.samples, table.skill_map, table.skill_graph)
    settings = _rows_by(table.learner_metadata, "learner")
    scale = {} if table.scale == PLAIN else {"scale": table.scale.words}
    for (learner, of_task), of_run in rows.items():
        said = settings.get(learner, {})
        yield Run(
            learner,
            of_task,
            of_run,
            source=str(path),
            format=format,
            date=said.get("date", ""),
            about=about,
            settings={name: value for name, value in said.items() if name not in OWN} | scale,
            named_by_task=False,
            task_is_file=table.task is None,
            repeated_rows=repeated,
            skills=skills,
        )
        repeated = 0  # counted with the first run of the file


def _add_rows(rows: dict[tuple[str, str], list[Row]], table: ResponseTable, metric: str, called: str) -> None:
    """The rows of a table by learner and task, as scores of this metric."""
    task = table.task or (called,) * table.n_samples
    for at, (learner, sample, response) in enumerate(
        zip(table.learner.tolist(), table.sample.tolist(), table.response.tolist(), strict=True)
    ):
        row = Row(
            table.samples[sample],
            response,
            metric,
            trial=0 if table.trial is None else int(table.trial[at]),
            weight=None if table.weight is None else float(table.weight[at]),
        )
        rows.setdefault((table.learners[learner], task[sample]), []).append(row)


def _read(path: Path) -> TableRead:
    names = column_names(path)
    if has_written_header(names):
        return read_table(path)
    trial, task, cluster, weight = (role if role in names else None for role in ROLES)
    return read_table(path, trial=trial, task=task, cluster=cluster, weight=weight)


def _about(table: ResponseTable) -> dict[str, About]:
    cluster = table.cluster or (None,) * table.n_samples
    metadata = _rows_by(table.sample_metadata, "sample")
    about = {}
    for at, (name, of_cluster) in enumerate(zip(table.samples, cluster, strict=True)):
        said = metadata.get(name, {})
        key = () if table.key is None else (("key", table.key[at]),)
        about[name] = About(said.pop("text", ""), (*said.items(), *key), of_cluster)
    return about


def _rows_by(frame: pl.DataFrame | None, column: str) -> dict[str, dict[str, str]]:
    """The other columns of each name, where they say something."""
    if frame is None:
        return {}
    return {
        row.pop(column): {key: str(value) for key, value in row.items() if value is not None}
        for row in frame.iter_rows(named=True)
    }
