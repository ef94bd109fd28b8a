"""Long and wide tables, in files and in frames."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, LayoutError, SettingError
from camilla.names import nearest, quoted
from camilla.reading.content import (
    rows_of_judge,
    with_long_content,
    with_wide_content,
)
from camilla.reading.judges import PassedOver, TakenJudge, take_judge
from camilla.reading.skills import (
    key_source,
    read_skill_graph,
    read_skills,
    sample_column,
    skill_source,
    skills_in,
    with_key,
    with_skill_source,
)
from camilla.table.columns import PERCENT, PLAIN, Origin, Scale, holds_words, name_column, scale_of, texts
from camilla.table.content import content_beside
from camilla.table.files import has_written_header
from camilla.table.frame_files import (
    FileColumns,
    called,
    column_names,
    frame_with_lines,
    is_written_text,
    read_frame,
)
from camilla.table.frames import Roles, WideRows, first_names, long_parts, per_sample, wide_parts
from camilla.table.responses import ResponseTable
from camilla.table.skills import as_json_lists

# What the three columns of a long table may be called: ours, and those of the Item Response Warehouse.
LONG_NAMES = {"learner": ("learner", "id"), "sample": ("sample", "item"), "response": ("response", "resp")}
WRITTEN = (
    "trial",
    "weight",
    "answer",
    "task",
    "cluster",
    "key",
)  # columns of a written table that it may do without


class WideRoles(NamedTuple):
    """What the rows of a wide table are, which column names them, and which hold no responses."""

    rows: WideRows
    id: str | None
    task: str | None
    cluster: str | None
    key: str | None
    own: tuple[str, ...]  # the skills
    ignore: tuple[str, ...]
    content: Mapping[str, str | None]  # prompt, reference, choices, image → column


class Spelled(NamedTuple):
    """How a file writes its responses: which texts stand for a missing one, and on which scale they are."""

    missing: tuple[str, ...]
    scale: Scale
    percent: bool


class Source(NamedTuple):
    """What a file holds, and where."""

    frame: pl.DataFrame
    origin: Origin


class TableRead(NamedTuple):
    """The table in a file, how many rows repeat a learner and sample without naming trials, and notes."""

    table: ResponseTable
    repeated: int = 0
    judged: Mapping[str, ResponseTable] = {}  # one table per judge, where a column names judges
    passed_over: PassedOver | None = None  # where one judge of several was taken without being asked for
    notes: tuple[str, ...] = ()


class LoadedTable(NamedTuple):
    """A response table, the frame it was made of, that frame's column of sample names, and of content."""

    table: ResponseTable
    frame: pl.DataFrame
    origin: Origin
    id: str
    judged: Mapping[str, ResponseTable] = {}
    passed_over: PassedOver | None = None
    content: Mapping[str, str] = {}
    content_rows: NDArray[np.integer] | None = None  # of the judge that was taken

    def content_part(self) -> tuple[pl.DataFrame, Origin]:
        """The rows that the table was made of."""
        if self.content_rows is None:
            return self.frame, self.origin
        return self.frame[self.content_rows], self.origin.at(self.content_rows)


def read_table(
    source: str | Path | pl.DataFrame,
    *,
    rows: WideRows | None = None,
    learner: str | None = None,
    sample: str | None = None,
    response: str | None = None,
    trial: str | None = None,
    task: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    key: str | None = None,
    answer: str | None = None,
    reason: str | None = None,
    prompt: str | None = None,
    reference: str | None = None,
    choices: str | None = None,
    image: str | None = None,
    skills: str | Path | Sequence[str] | None = None,
    skill_graph: str | Path | None = None,
    missing: str | Sequence[str] = (),
    ignore: Sequence[str] = (),
    percent: bool = False,
    judge: str | None = None,
    metric: str | None = None,
    scale: object = None,
    lower_is_better: bool = False,
    content: bool = True,
) -> TableRead:
    """The response table in a file or a frame.

    A long table has a column each for learner, sample and response, found by name (learner or id,
    sample or item, response or resp) or as named here. A wide table says what its `rows` are,
    "samples" or "learners"; `sample` or `learner` then names the column of row names, by default
    the first that is nothing else. `skills` is FILE (a 0/1 table), FILE:column,column (categories)
    or :column of this file, `skill_graph` a file of edges parent, child between them. `key` is the column of
    the right answers, or FILE:column, `answer` that of what learners answered. An empty cell
    is a missing response, and so is every text in `missing`. Columns of a wide table that hold no
    responses are named in `ignore`. With `percent` responses run from 0 to 100, with `scale` from its first
    number to its second, with `lower_is_better` from good to bad. What `ResponseTable.write` made comes back
    with its trials, weights, tasks and clusters, and of Parquet also with metadata and skills, unless
    learner, sample or response are named: then a long table is what its named columns say.
    `judge` is the column that names who gave a response, by default one of that name; `metric` is the judge
    whose responses are taken.
    What samples ask and learners answered is in columns of those names or as named here: `prompt`,
    `reference`, `choices` and `image` of a sample, `answer` and `reason` of a response; with `content` it is
    kept.
    """
    path = source if isinstance(source, pl.DataFrame) else Path(source)
    names = _column_names(path)
    spelled = Spelled(texts(missing), scale_given(scale, percent, lower_is_better), percent)
    skilled = None if skills is None else skill_source(skills)
    own = _own_columns(skilled, path)
    keyed = None if key is None else key_source(key)
    own_key = keyed.columns[0] if keyed is not None and keyed.file is None else None
    given = Roles(learner or "", sample or "", response or "", trial, task, cluster, weight, own_key, answer)
    asked = {"prompt": prompt, "reference": reference, "choices": choices, "image": image}
    said = any((*spelled.missing, *ignore, spelled.scale != PLAIN, judge, metric, *asked.values(), reason))
    if rows is None and (written := _read_written(path, given, said=said)) is not None:
        table = _with_graph(_with_skills_and_key(written, skilled, own, keyed), skill_graph)
        return _with_content_beside(TableRead(table), path, content)
    repeated = 0
    if rows is None:
        roles = long_roles(names, _with_written(given, names), path)
        judge = _judge_column(judge, metric, names, roles, path)
        taken = [*filter(None, (*roles._replace(answer=None), judge)), *own]
        told = asked | {"answer": answer, "reason": reason}
        told_in: Mapping[str, str] = _named_columns(told, names, taken, _called(path)) if content else {}
        more = [*own, *told_in.values()]
        loaded = _read_long(path, roles, more, spelled, given=given, judge=judge, metric=metric)
        repeated = 0 if roles.trial is not None else repeated_rows(loaded.table)
        places = (roles.learner, roles.sample, roles.response)
        with_content = (
            with_long_content(loaded.table, told_in, places, *loaded.content_part())
            if told_in
            else loaded.table
        )
    else:
        id = sample if rows == "samples" else learner
        wide = WideRoles(rows, id, task, cluster, own_key, own, tuple(ignore), asked)
        long_only = {"response": response, "trial": trial, "weight": weight, "answer": answer}
        long_only |= {"reason": reason, "judge": judge, "metric": metric}
        _check_wide(wide, names, path, long_only)
        loaded = _read_wide(path, wide, spelled)
        told_in = loaded.content if content else {}
        with_content = with_wide_content(loaded.table, loaded.frame, told_in, loaded.id, loaded.origin)
    table = _with_skills(loaded._replace(table=with_content), skilled, own)
    table = replace(table, scale=spelled.scale)
    if keyed is not None and own_key is None:
        table = with_key(table, keyed, id=loaded.id)
    found = TableRead(_with_graph(table, skill_graph), repeated, loaded.judged, loaded.passed_over)
    return _with_content_beside(found, path, content)


def _with_content_beside(read: TableRead, path: "TableSource", content: bool) -> TableRead:
    """The table with the content that was written beside its file, if that is to be kept."""
    if not content or not isinstance(path, Path) or not path.is_file():
        return read
    found = content_beside(path)
    table = read.table if found.content is None else replace(read.table, content=found.content)
    return read._replace(table=table, notes=(found.note,) if found.note else ())


def scale_given(scale: object, percent: bool, lower_is_better: bool) -> Scale:
    """The scale that was asked for in one or two of these ways."""
    if percent and scale is not None:
        raise SettingError(
            "percent is the scale 0:100; give percent (--percent) or scale (--scale), not both."
        )
    found = PERCENT if percent else PLAIN if scale is None else scale_of(scale)
    return found._replace(lower_is_better=lower_is_better)


TableSource = Path | pl.DataFrame


def _column_names(source: TableSource) -> list[str]:
    return source.columns if isinstance(source, pl.DataFrame) else column_names(source)


def _called(source: TableSource) -> str:
    return "the dataframe" if isinstance(source, pl.DataFrame) else called(source)


def repeated_rows(table: ResponseTable) -> int:
    """Rows beyond the first of their learner and sample."""
    return 0 if table.trial is None else table.n_responses - len(table.cells().response)


def _read_written(path: TableSource, given: Roles, *, said: bool) -> ResponseTable | None:
    """A Parquet file that Camilla wrote, under other tasks or clusters if they are named.

    None where its columns are named: then it is a long table like any other.
    """
    own = all(getattr(given, role) in (None, role) for role in ("trial", "weight", "answer"))
    by_hand = given.learner or given.sample or given.response or said
    if isinstance(path, pl.DataFrame) or path.suffix.lower() != ".parquet" or by_hand or not own:
        return None
    table = ResponseTable.read_written(path)
    if table is None:
        return None
    return replace(
        table,
        task=table.task if given.task is None else sample_column(table, given.task),
        cluster=table.cluster if given.cluster is None else sample_column(table, given.cluster),
    )


def _with_written(given: Roles, names: list[str]) -> Roles:
    """The columns that Camilla itself wrote are what they are called, unless others are named."""
    if given.learner or given.sample or given.response or not has_written_header(names):
        return given
    own = {role: role for role in WRITTEN if role in names}
    return given._replace(**{role: name for role, name in own.items() if getattr(given, role) is None})


def _with_skills_and_key(
    table: ResponseTable, skilled: FileColumns | None, own: Sequence[str], keyed: FileColumns | None
) -> ResponseTable:
    """A table that Camilla wrote, under other skills or another key if they are asked for."""
    table = table if skilled is None else with_skill_source(table, skilled, own)
    return table if keyed is None else with_key(table, keyed)


def _with_graph(table: ResponseTable, skill_graph: str | Path | None) -> ResponseTable:
    if skill_graph is None:
        return table
    return table.with_skills(table.skill_map, graph=read_skill_graph(skill_graph))


def long_roles(names: Sequence[str], given: Roles, source: TableSource) -> Roles:
    """Which columns are learner, sample and response: the given ones, else those with a usual name."""
    found, path = {}, _called(source)
    for role, usual in LONG_NAMES.items():
        found[role] = getattr(given, role) or next((name for name in usual if name in names), "")
    absent = [role for role, column in found.items() if not column]
    if absent and (given.learner or given.sample or given.response):
        raise LayoutError(
            f"{path}: has no column {absent[0]!r}; name it: {absent[0]}=…. There are {quoted(names)}."
        )
    if not names:
        raise DataError(f"{path}: has no columns; expected at least learner, sample and response.")
    if absent:
        raise LayoutError(
            f"{path}: has no columns learner, sample and response, so it is not a long table as it is; "
            f"there are {quoted(names)}. If it is a wide table, say what its rows are: rows='samples' (one "
            "column per learner) or rows='learners' (one column per sample), --rows on the command line. "
            "If it is long, name its columns: learner=…, sample=…, response=…."
        )
    roles = given._replace(**found)
    for column in filter(None, roles):
        if column not in names:
            raise DataError(f"{path}: no column {column!r}. {nearest(column, names)}")
    return roles


def _named_columns(
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


def _telling_columns(
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


def _check_wide(
    roles: WideRoles, names: Sequence[str], source: TableSource, long_only: dict[str, str | None]
) -> None:
    if named := [role for role, column in long_only.items() if column is not None]:
        raise SettingError(
            f"{quoted(named)} belong to a long table; a wide one (rows={roles.rows!r}) has none."
        )
    if all(any(name in names for name in usual) for usual in LONG_NAMES.values()):
        raise DataError(
            f"{_called(source)}: has columns learner, sample and response: it is a long table. "
            "Leave out rows."
        )
    columns = (roles.task, roles.cluster, roles.key, *roles.own, *roles.content.values())
    said = [column for column in columns if column is not None]
    if said and roles.rows == "learners":
        raise SettingError(f"{quoted(said)} cannot be read: with rows='learners' a column is a sample.")


def _own_columns(source: FileColumns | None, path: TableSource) -> tuple[str, ...]:
    """The columns of the table itself that are its skills."""
    if source is None:
        return ()
    own = None if isinstance(path, pl.DataFrame) else path.resolve()
    if source.file is not None and source.file.resolve() != own:
        return ()
    if not source.columns:
        raise SettingError(
            f"skills {str(path)!r} is the table itself; name its columns of skills: ':column'."
        )
    return source.columns


def _judge_column(
    judge: str | None, metric: str | None, names: Sequence[str], roles: Roles, source: TableSource
) -> str | None:
    """The column of judges: the given one, else one called judge that is nothing else."""
    if judge is not None and judge not in names:
        raise DataError(f"{_called(source)}: no column {judge!r}. {nearest(judge, names)}")
    if judge in roles[:3]:
        raise SettingError(f"column {judge!r} cannot be the judge and learner, sample or response as well.")
    if judge is None and "judge" in names and "judge" not in roles:
        judge = "judge"
    if metric is not None and judge is None:
        raise SettingError(
            f"--metric does nothing on a table file without a column of judges, and {_called(source)} has "
            "none called judge. Name it: judge=… (--judge). Metrics are for logs."
        )
    return judge


def _read_long(
    path: TableSource,
    roles: Roles,
    own: Sequence[str],
    spelled: Spelled,
    *,
    given: Roles,
    judge: str | None,
    metric: str | None,
) -> LoadedTable:
    """A column of which nobody spoke, and which says nothing, is not there."""
    columns = [*filter(None, (*roles, judge)), *own]
    frame, origin = _read(path, columns, [roles.response], spelled)
    unsaid = [role for role in WRITTEN if getattr(given, role) is None and getattr(roles, role) is not None]
    texts = frame.select(pl.col([getattr(roles, role) for role in unsaid]).cast(pl.String).replace("", None))
    silent = [role for role in unsaid if texts[getattr(roles, role)].null_count() == len(frame)]
    roles = roles._replace(**dict.fromkeys(silent))  # type: ignore[arg-type]
    frame = named_by_shared_task(frame, roles, origin)
    if judge is not None:
        judged = _by_judge(frame, roles, judge, origin)
        taken: TakenJudge = take_judge(judged, metric, origin.name)
        rows = rows_of_judge(name_column(frame, judge, origin), taken.judge)
        return LoadedTable(
            taken.table, frame, origin, roles.sample, judged, taken.passed_over, content_rows=rows
        )
    table = ResponseTable(**long_parts(frame, roles, origin)._asdict())
    return LoadedTable(table, frame, origin, roles.sample)


def _by_judge(frame: pl.DataFrame, roles: Roles, judge: str, origin: Origin) -> dict[str, ResponseTable]:
    """A table of the rows of each judge, judges as they are listed."""
    judges = name_column(frame, judge, origin)
    tables = {}
    for code, name in enumerate(judges.names):
        rows = np.flatnonzero(judges.codes == code)
        tables[name] = ResponseTable(**long_parts(frame[rows], roles, origin.at(rows))._asdict())
    return tables


def named_by_shared_task(frame: pl.DataFrame, roles: Roles, origin: Origin) -> pl.DataFrame:
    """A long table with its samples called task/name where a learner has one name in several tasks."""
    if roles.task is None or not _tasks_share_names(frame, roles, roles.task, origin):
        return frame
    return _named_by_task(frame, roles.sample, roles.task, origin)


def _read_wide(path: TableSource, roles: WideRoles, spelled: Spelled) -> LoadedTable:
    names = _column_names(path)
    named = (roles.task, roles.cluster, roles.key, *roles.own, *roles.ignore, *roles.content.values())
    aside = {column for column in named if column is not None}
    id = roles.id if roles.id is not None else next((name for name in names if name not in aside), names[0])
    responses = [name for name in names if name != id and name not in aside]
    frame, origin = _read(path, None, responses, spelled)
    content = _telling_columns(frame, roles.content, {id, *aside}) if roles.rows == "samples" else {}
    aside |= set(content.values())
    if roles.id is None:
        first_names(frame, aside, origin)
    if roles.rows == "samples" and {id, roles.task} <= set(frame.columns):
        frame = _named_by_task(frame, id, str(roles.task), origin)
    parts = wide_parts(frame, roles.rows, id, aside, origin)
    sample = name_column(frame, id, origin)
    parts = parts._replace(
        task=None if roles.task is None else per_sample(frame, roles.task, sample, origin),
        cluster=None if roles.cluster is None else per_sample(frame, roles.cluster, sample, origin),
        key=None if roles.key is None else per_sample(frame, roles.key, sample, origin),
    )
    return LoadedTable(ResponseTable(**parts._asdict()), frame, origin, id, content=content)


def _tasks_share_names(frame: pl.DataFrame, roles: Roles, task: str, origin: Origin) -> bool:
    """Whether a learner has a sample of one name in two tasks; else a sample with two tasks is a mistake."""
    parts = (name_column(frame, column, origin).codes for column in (roles.learner, roles.sample, task))
    cells = pl.DataFrame(dict(zip(("learner", "sample", "task"), parts, strict=True))).unique()
    return bool(cells.select("learner", "sample").is_duplicated().any())


def _named_by_task(frame: pl.DataFrame, id: str, task: str, origin: Origin) -> pl.DataFrame:
    """Samples called task/name where names repeat: many benchmarks number the samples of each task from 0."""
    if not frame[id].is_duplicated().any():
        return frame
    tasks, own = name_column(frame, task, origin), name_column(frame, id, origin)
    pairs = zip(tasks.codes, own.codes, strict=True)
    return frame.with_columns(pl.Series(id, [f"{tasks.names[t]}/{own.names[o]}" for t, o in pairs]))


def _read(
    path: TableSource, columns: Sequence[str] | None, responses: Sequence[str], spelled: Spelled
) -> Source:
    """Text files give their cells as written; of JSON only the responses, so that 1 and true may mix."""
    if isinstance(path, pl.DataFrame):
        wanted = path if columns is None else path.select(list(dict.fromkeys(columns)))
        return Source(wanted, Origin(_called(path))._replace(**spelled._asdict()))
    text = True if is_written_text(path) else responses
    frame, place = frame_with_lines(read_frame(path, columns=columns, text=text), path)
    return Source(frame, Origin(called(path), place)._replace(**spelled._asdict()))


def _with_skills(loaded: LoadedTable, source: FileColumns | None, own: Sequence[str]) -> ResponseTable:
    table, frame, origin, id = loaded[:4]
    if source is None:
        return table
    if not own:
        return table.with_skills(read_skills(source, table.samples, id=id))
    if frame.height > table.n_samples:
        sample = name_column(frame, id, origin)
        frame = as_json_lists(frame, own)
        labels = {column: per_sample(frame, column, sample, origin) for column in own}
        frame = pl.DataFrame({id: sample.names} | labels)
    return table.with_skills(skills_in(frame, own, table.samples, id=id, origin=origin))
