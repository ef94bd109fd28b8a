"""Long tables among logs: columns learner, sample and response, or names of the Item Response Warehouse."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import polars as pl

from camilla.names import name_index
from camilla.reading.content import OF_RESPONSES, OF_SAMPLES
from camilla.reading.runs import GIVEN, About, Answered, Asked, Content, Row, Run, SampleSkills
from camilla.reading.tables import TableRead, read_table
from camilla.table.columns import PLAIN
from camilla.table.content import BLOCK, SCHEMA, KeptContent, content_beside
from camilla.table.files import has_written_header
from camilla.table.frame_files import column_names
from camilla.table.responses import ResponseTable

TEXTS = ("answer", "reason", "extracted")  # as Answered has them
ASKED_TOGETHER = 2000  # samples
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
    content = TableContent(path, table, several_judges=len(read.judged) > 1)
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
            content=partial(content.of_run, learner, of_run),
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


class TableContent:
    """The content of a table run by run, a part of it at a time, for all may be too much."""

    def __init__(self, path: Path, table: ResponseTable, *, several_judges: bool) -> None:
        self.path = path
        self.several_judges = several_judges  # of which any may be chosen: no reason is that of all
        self.table = table
        self.learners: tuple[str, ...] = ()
        self.answers = pl.DataFrame(schema=SCHEMA)

    @cached_property
    def kept(self) -> KeptContent | None:
        """Beside the file or in its own columns, which are read now, when they are asked for."""
        beside = content_beside(self.path).content
        if beside is not None or not {*OF_SAMPLES, *OF_RESPONSES} & {*column_names(self.path)}:
            return beside
        return _read(self.path, content=True).table.content

    @cached_property
    def asked(self) -> "AskedInTable":
        return AskedInTable(self.kept, self.table.samples)

    def of_run(self, learner: str, rows: Sequence[Row]) -> Content:
        """What a learner answered on the samples of these rows."""
        if self.kept is None:
            return Content({}, ())
        if learner not in self.learners:
            self._turn_to(learner, self.kept)
        samples = pl.Series([row.sample for row in rows], dtype=pl.String).implode()
        own = self.answers.filter((pl.col("learner") == learner) & pl.col("sample").is_in(samples))
        if self.several_judges:
            own = own.with_columns(reason=pl.lit(None, pl.String))
        answers = own.select("sample", "trial", *(pl.col(name).fill_null("") for name in TEXTS))
        return Content(self.asked, (Answered(*row) for row in answers.drop_nulls("trial").iter_rows()))

    def _turn_to(self, learner: str, kept: KeptContent) -> None:
        """Reads what a learner, and the next ones as far as there is room, answered."""
        size = sum(one.source.size for one in kept.sources)
        start = self.table.learners.index(learner)
        self.learners = self.table.learners[start : start + self.table.n_learners * BLOCK // max(size, 1) + 1]
        names = pl.Series(self.learners, dtype=pl.String).implode()
        blocks = (block.filter(pl.col("learner").is_in(names)) for block in kept.blocks())
        self.answers = pl.concat([pl.DataFrame(schema=SCHEMA), *blocks])


class AskedInTable(Mapping[str, Asked]):
    """What the samples of a table ask, some of them read at a time, in the table's order."""

    def __init__(self, kept: KeptContent | None, samples: tuple[str, ...]) -> None:
        self.kept = kept
        self.samples = samples
        self.place = name_index(samples)
        self.some: dict[str, Asked] = {}

    def __getitem__(self, sample: str) -> Asked:
        if sample not in self.some and self.kept is not None:
            start = self.place[sample]
            found = self.kept.samples(self.samples[start : start + ASKED_TOGETHER])
            found = found.with_columns(pl.exclude("choices", "sample").fill_null(""))
            self.some = {
                name: Asked(prompt, reference, tuple(choices or ()), image)
                for name, prompt, reference, choices, image in found.iter_rows()
            }
        return self.some[sample]

    def __iter__(self) -> Iterator[str]:
        return iter(self.samples)

    def __len__(self) -> int:
        return len(self.samples)


def _read(path: Path, *, content: bool = False) -> TableRead:
    names = column_names(path)
    if has_written_header(names):
        return read_table(path, content=content)
    trial, task, cluster, weight = (role if role in names else None for role in ROLES)
    return read_table(path, trial=trial, task=task, cluster=cluster, weight=weight, content=content)


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
