"""Runs to one table: which runs and metrics count, what is joined, what is left out and why."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError
from camilla.names import name_index, nearest, quoted
from camilla.reading.content import kept_content
from camilla.reading.namesakes import settled
from camilla.reading.runs import (
    GIVEN,
    REASON,
    REASONS,
    Collection,
    Kept,
    LearnerTask,
    Namesakes,
    Run,
    completed,
    error_messages,
    nothing_scored,
)
from camilla.reading.skills import with_table_skills
from camilla.reading.stated import Differing, differing
from camilla.table.responses import ResponseTable


class Chosen(NamedTuple):
    """The pair that scores a task, the rule that chose it, pairs passed over, metrics that are no scores."""

    pair: LearnerTask
    rule: str
    others: list[LearnerTask]
    left_out: dict[str, str]


class Repeated(NamedTuple):
    """Runs of one learner on one task: those kept, and those left out because they ask the same again."""

    learner: str
    task: str
    kept: list[str]
    left_out: list[str]
    differing: list[str]  # settings that differ between kept and left out


def of_tasks(runs: Sequence[Kept], patterns: Sequence[str]) -> list[Kept]:
    """The runs of the tasks that are named, by name or by a pattern with * and ?."""
    if not patterns:
        return list(runs)
    tasks = sorted({one.run.task for one in runs})
    for pattern in patterns:
        if not any(fnmatchcase(task, pattern) for task in tasks):
            raise SettingError(f"no task is called {pattern!r}. {nearest(pattern, tasks)}")
    return [one for one in runs if any(fnmatchcase(one.run.task, pattern) for pattern in patterns)]


def newest(runs: Sequence[Kept]) -> tuple[list[Kept], list[Repeated]]:
    """Of the runs of each learner on each task the newest, and older ones that share no sample with it.

    A run without a single score never displaces one that has some; of equal dates the source that
    comes first by name is kept.
    """
    groups: dict[tuple[str, str], dict[str, list[Kept]]] = {}
    for one in runs:
        groups.setdefault((one.run.learner, one.run.task), {}).setdefault(one.run.run, []).append(one)
    kept: list[Kept] = []
    repeated: list[Repeated] = []
    for (learner, task), by_run in sorted(groups.items()):
        if len(by_run) == 1:
            kept += next(iter(by_run.values()))
            continue
        used, left = _disjoint(sorted(by_run.values(), key=_source))
        kept += used
        if left:
            differing = _differing(used, left)
            sources = ([one.run.source for one in used], [one.run.source for one in left])
            repeated.append(Repeated(learner, task, *sources, differing))
    return kept, repeated


def _source(parts: list[Kept]) -> str:
    return min(one.run.source for one in parts)


def _disjoint(candidates: list[list[Kept]]) -> tuple[list[Kept], list[Kept]]:
    by_age = sorted(candidates, key=lambda parts: max(one.run.date for one in parts), reverse=True)
    by_age.sort(key=lambda parts: not any(one.n_scored for one in parts))
    taken: set[str] = set()
    used: list[Kept] = []
    left: list[Kept] = []
    for parts in by_age:
        samples = {name for one in parts for name in one.frame["sample"].unique()}
        if taken and (not samples or taken & samples):
            left += parts
        else:
            taken |= samples
            used += parts
    return used, left


def _differing(used: list[Kept], left: list[Kept]) -> list[str]:
    names = sorted({name for one in used + left for name in one.run.settings})
    return [name for name in names if len({one.run.settings.get(name) for one in used + left}) > 1]


def choose(
    runs: Sequence[Kept], *, metric: str | None = None, filter: str | None = None
) -> dict[str, Chosen | None]:
    """A pair for each task, None where no metric scored anything.

    The asked metric and filter; else, of the pairs that most runs have, the main metric of their harness, or
    the one the logs list first.
    """
    by_task: dict[str, list[Kept]] = {}
    for one in sorted(runs, key=lambda one: one.run.source):
        by_task.setdefault(one.run.task, []).append(one)
    _check_asked(runs, metric, filter)
    return {task: _choose(by_task[task], metric, filter) for task in sorted(by_task)}


def _check_asked(runs: Sequence[Kept], metric: str | None, filter: str | None) -> None:
    pairs = [pair for one in runs for pair in one.pairs if pair.metric]
    for what, asked, there in (
        ("metric", metric, [pair.metric for pair in pairs]),
        ("filter", filter, [pair.filter for pair in pairs]),
    ):
        if asked is not None and asked not in there:
            reason = next((one.run.left_out[asked] for one in runs if asked in one.run.left_out), None)
            why = f": its values are not scores ({reason})" if reason and what == "metric" else ""
            raise SettingError(f"no task has {what} {asked!r}{why}. There are {quoted(sorted(set(there)))}.")


def _choose(runs: list[Kept], metric: str | None, filter: str | None) -> Chosen | None:
    count: dict[LearnerTask, int] = {}
    left_out: dict[str, str] = {}
    for one in runs:
        left_out |= one.run.left_out
        for pair, scores in one.pairs.items():
            count[pair] = count.get(pair, 0) + (scores > 0)
    pairs = [pair for pair, n_runs in count.items() if pair.metric and n_runs]
    if not pairs:
        return None
    pairs = [pair for pair in pairs if pair.metric != GIVEN] or pairs
    asked = [p for p in pairs if metric in (None, p.metric) and filter in (None, p.filter)]
    main = [] if metric is not None else _main(runs, asked, count)
    best = max(main or asked or pairs, key=lambda pair: count[pair])
    others = [pair for pair in pairs if pair != best]
    rule = MAIN_SCORE if main and len(pairs) > 1 else _rule(best, pairs, asked, count, len(runs))
    return Chosen(best, rule, others, left_out)


MAIN_SCORE = "the harness's main score"


def _main(runs: list[Kept], pairs: list[LearnerTask], count: dict[LearnerTask, int]) -> list[LearnerTask]:
    """Of the pairs that most runs have, those of the metric that their harness reports first."""
    names = {one.run.main for one in runs if one.run.main}
    most = max((count[pair] for pair in pairs), default=0)
    return [pair for pair in pairs if pair.metric in names and count[pair] == most] if len(names) == 1 else []


def _rule(
    best: LearnerTask,
    pairs: list[LearnerTask],
    asked: list[LearnerTask],
    count: dict[LearnerTask, int],
    n_runs: int,
) -> str:
    if len(pairs) == 1:
        return "the only one"
    if not asked:
        return (
            f"the requested metric is missing; {count[best]} of {n_runs} runs have this one and it is "
            "listed first"
        )
    if len(asked) == 1:
        return "as asked"
    return f"{count[best]} of {n_runs} runs have this one, and of those it is listed first"


OnError = Literal["null", "zero", "drop", "score"]
Runs = Literal["newest", "trials"]


@dataclass(frozen=True)
class Choices:
    """How runs are joined and what counts as a response."""

    tasks: tuple[str, ...] = ()
    metric: str | None = None
    filter: str | None = None
    on_error: OnError = "null"
    runs: Runs = "newest"
    universe: tuple[str, ...] = ()  # all samples of a benchmark whose logs name only some
    one_benchmark: bool = False  # whether files that name no task hold the same samples


class Conflict(NamedTuple):
    """Samples of a task that say different things in different runs, and two runs that differ."""

    task: str
    samples: list[str]
    sources: list[str]


class Lacking(NamedTuple):
    """A run that is left out because it has not what scores its task, and what it has instead."""

    learner: str
    task: str
    source: str
    has: list[str]


@dataclass(frozen=True)
class Merged:
    """The table, and everything that was decided on the way."""

    table: ResponseTable
    n_runs: int
    chosen: dict[str, Chosen | None]
    repeated: list[Repeated]
    conflicts: list[Conflict]
    missing: dict[str, int]  # reason → cells
    dropped: list[str] = field(default_factory=list)  # samples left out by on_error="drop"
    twice: int = 0  # rows that repeat a trial of their run
    lacking: list[Lacking] = field(default_factory=list)  # runs without the chosen pair
    no_skills: str = ""  # why the skill maps of tables are not the skill map of all
    namesakes: list[Namesakes] = field(default_factory=list)  # files or tasks that share sample names
    kept: list[Kept] = field(default_factory=list)  # the runs, with all their metrics
    limited: int = 0  # scores of samples that hit a limit, counted as the harness counts them
    differing: list[Differing] = field(default_factory=list)  # runs whose harness states another mean
    errors: dict[str, int] = field(default_factory=dict)  # message → samples, the most frequent first


def merge(collection: Collection, choices: Choices | None = None) -> Merged:
    """One table of all runs.

    The order in which runs were collected does not matter, and a run collected twice counts once.
    """
    choices = choices or Choices()
    named = all(one.run.named_by_task for one in collection.kept)
    namesakes = [] if named else settled(collection, one_benchmark=choices.one_benchmark)
    runs = of_tasks(_each_once(collection.kept), choices.tasks)
    kept, repeated = newest(runs) if choices.runs == "newest" else (runs, [])
    chosen = choose(kept, metric=choices.metric, filter=choices.filter)
    kept = completed(kept, choices.universe, collection, namesakes)
    rows, lacking = _rows(kept, chosen, collection)
    if rows.height == 0:
        raise DataError(nothing_scored(runs, list(chosen)))
    about = described(collection, rows["sample"])
    rows = rows.with_columns(sample=rows["sample"].cast(pl.Enum(about["sample"])).to_physical())
    logged = rows
    rows, conflicts = without_conflicts(rows, about["sample"], kept)
    twice = rows.height - rows.select(pl.struct("run", "sample", "trial").n_unique()).item()
    limited = rows.filter(LIMITED).height if choices.on_error in ("null", "score") else 0
    rows, dropped = after_errors(rows, about["sample"], choices.on_error)
    if rows.height == 0:
        raise DataError(_nothing_left(conflicts, dropped))
    pairs = {task: one.pair for task, one in chosen.items() if one is not None}
    table, missing, place = assembled(rows, about, [one.run for one in kept])
    spilled = [one.spilled_run(pairs.get(one.run.task)) for one in kept]
    if (spill := collection.spill) is not None:
        content = kept_content(spill, rows.with_columns(place=place), about["sample"], spilled)
        table = replace(table, content=content)
    why = ""
    if any(one.run.skills is not None for one in kept):
        table, why = with_table_skills(table, [one.run for one in kept])
    twice += sum(one.run.repeated_rows for one in kept)
    stated = any(one.run.stated for one in kept)
    return Merged(
        table, len(kept), chosen, repeated, conflicts, missing, dropped, int(twice), lacking, why, namesakes,
        kept, limited, differing(kept, pairs, logged, rows) if stated else [], error_messages(kept),
    )  # fmt: skip


def _each_once(runs: Sequence[Kept]) -> list[Kept]:
    unique = {(one.run.source, one.run.run, one.run.learner, one.run.task): one for one in runs}
    return [unique[key] for key in sorted(unique)]


def _rows(
    kept: Sequence[Kept], chosen: dict[str, Chosen | None], collection: Collection
) -> tuple[pl.DataFrame, list[Lacking]]:
    """Rows of the chosen pairs, given responses, samples that no metric scored; runs without any.

    `run` is the index into `kept`.
    """
    always = [code for pair, code in collection.codes.items() if pair.metric in ("", GIVEN)]
    frames, lacking = [], []
    for index, one in enumerate(kept):
        choice = chosen[one.run.task]
        if choice is None:
            continue
        wanted = [collection.codes[choice.pair], *always]
        all_wanted = len(one.pairs) == 1 and choice.pair in one.pairs
        part = one.frame if all_wanted else one.frame.filter(pl.col("pair").is_in(wanted))
        if part.height < one.frame.height and part.height == 0:
            has = [pair.words for pair, scores in one.pairs.items() if scores and pair.metric]
            lacking.append(Lacking(one.run.learner, one.run.task, one.run.source, has))
        frames.append(part.drop("pair").with_columns(run=pl.lit(index, pl.Int32)))
    return pl.concat(frames) if frames else pl.DataFrame(), lacking


def _nothing_left(conflicts: list[Conflict], dropped: list[str]) -> str:
    if not conflicts:
        return f"all {len(dropped)} samples have an error in some run and were dropped. Use --on-error null."
    first = conflicts[0]
    return (
        "nothing can be joined: every sample has different content in different runs, such as "
        f"{quoted(first.samples[:1])} in {quoted(first.sources)}. {REMEDY}"
    )


REMEDY = "Load such runs separately, or match samples by their content: --join content."


def without_conflicts(
    rows: pl.DataFrame, names: pl.Series, kept: Sequence[Kept]
) -> tuple[pl.DataFrame, list[Conflict]]:
    """Drops samples whose content, or for want of a hash the task's version, differs between runs."""
    versions = pl.Series("version", [one.run.version or None for one in kept], dtype=pl.String)
    marks = pl.when(pl.col("content").is_null()).then(versions.gather(rows["run"])).otherwise(None)
    marked = rows.with_columns(version=marks)
    differing = pl.any_horizontal(
        pl.col("content").drop_nulls().n_unique() > 1, pl.col("version").drop_nulls().n_unique() > 1
    )
    wrong = marked.group_by("sample").agg(wrong=differing).filter("wrong")["sample"]
    if len(wrong) == 0:
        return rows, []
    conflicts: dict[str, Conflict] = {}
    of_wrong = marked.filter(pl.col("sample").is_in(wrong.implode())).sort("sample", "run")
    for key, part in of_wrong.group_by("sample", maintain_order=True):
        first = part.unique(["content", "version"], maintain_order=True)["run"].head(2)
        task = kept[first[0]].run.task
        sources = sorted(kept[run].run.source for run in first)
        conflicts.setdefault(task, Conflict(task, [], sources)).samples.append(names[key[0]])
    return rows.filter(~pl.col("sample").is_in(wrong.implode())), list(conflicts.values())


LIMITED = (pl.col("why") == REASON["truncated"]) & pl.col("score").is_not_null()


def after_errors(rows: pl.DataFrame, names: pl.Series, on_error: OnError) -> tuple[pl.DataFrame, list[str]]:
    """What becomes of samples that are unscored, errored or truncated.

    A sample that hit a limit and was scored nevertheless counts as the harness counts it, unless zero or drop
    is asked for.
    """
    wrong = pl.col("why") > 0
    if on_error == "drop":
        dropped = rows.filter(wrong)["sample"].unique().sort()
        return rows.filter(~pl.col("sample").is_in(dropped.implode())), names.gather(dropped).to_list()
    if on_error == "zero":
        return rows.with_columns(
            score=pl.when(wrong).then(0.0).otherwise("score"), why=pl.lit(0, pl.Int8)
        ), []
    if on_error == "null":
        rows = rows.with_columns(score=pl.when(wrong & ~LIMITED).then(None).otherwise("score"))
    return rows, []


SHOWN = 3


def described(collection: Collection, samples: pl.Series) -> pl.DataFrame:
    """What is known of these samples, ordered by task and name, a number at its end as a number."""
    about = collection.in_reading_order()
    wanted = samples.unique()
    return about.filter(pl.col("sample").is_in(wanted.implode())) if len(wanted) < about.height else about


def assembled(
    rows: pl.DataFrame, about: pl.DataFrame, runs: Sequence[Run]
) -> tuple[ResponseTable, dict[str, int], NDArray[np.int32]]:
    """The table, its missing cells by reason, and which trial of the table each row is, −1 for none.

    `sample` of a row is an index into `about`.
    """
    names = sorted({runs[run].learner for run in rows["run"].unique()})
    place = name_index(names)
    of_run = np.array([place.get(run.learner, -1) for run in runs], np.int32)
    used, sample = np.unique(rows["sample"].to_numpy(), return_inverse=True)
    about = about[used] if len(used) < about.height else about
    cell = of_run[rows["run"].to_numpy()].astype(np.int64) * len(used) + sample
    order = np.lexsort((rows["trial"].to_numpy(), rows["run"].to_numpy(), cell))
    cell = cell[order]
    score = rows["score"].to_numpy()[order]
    scored = ~np.isnan(score)
    learner, sample = np.divmod(cell[scored], len(used))
    trial = _trials(cell[scored])

    table = ResponseTable(
        tuple(names),
        tuple(about["sample"]),
        learner,
        sample,
        score[scored],
        weight=_weights(rows["weight"], order, scored),
        trial=trial if trial.any() else None,
        task=_repeating(about["task"]),
        cluster=_clusters(about),
        learner_metadata=_named_learners(names, runs),
        sample_metadata=_telling(about),
        n_missing=int((~scored).sum()),
    )
    placed = np.full(len(order), -1, np.int32)
    placed[order[scored]] = trial
    return table, _missing_cells(cell, scored, rows["why"].to_numpy()[order], len(names) * len(used)), placed


def _clusters(about: pl.DataFrame) -> tuple[str, ...] | None:
    """Those of the logs; a sample of which they name none is a cluster of its own."""
    cluster = about["cluster"]
    if cluster.null_count() == len(cluster):
        return None
    return _repeating(cluster.fill_null(about["sample"]))


def _repeating(names: pl.Series) -> tuple[str, ...]:
    """The names, each different one as a single object."""
    return tuple(map(sys.intern, names))


def _weights(
    weight: pl.Series, order: NDArray[np.int64], scored: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """Weights of the responses; None when no log gives any."""
    if weight.null_count() == len(weight):
        return None
    return weight.fill_null(1.0).to_numpy()[order][scored]


def _trials(cell: NDArray[np.int64]) -> NDArray[np.int32]:
    """0, 1, … within each stretch of equal cells."""
    starts = np.flatnonzero(np.diff(cell, prepend=-1) != 0)
    sizes = np.diff(np.append(starts, len(cell)))
    return (np.arange(len(cell)) - np.repeat(starts, sizes)).astype(np.int32)


def _missing_cells(
    cell: NDArray[np.int64], scored: NDArray[np.bool_], why: NDArray[np.int8], n_cells: int
) -> dict[str, int]:
    """Cells without a response, by the first reason that their rows give."""
    answered = np.unique(cell[scored])
    silent = ~scored & ~np.isin(cell, answered)
    _, first = np.unique(cell[silent], return_index=True)
    reasons = np.maximum(why[silent][first], 1)
    counts = {name: int(np.sum(reasons == code)) for code, name in enumerate(REASONS) if name}
    return counts | {"not run": n_cells - len(answered) - len(first)}


def _telling(about: pl.DataFrame) -> pl.DataFrame:
    """Without columns that say nothing, or what the table itself says."""
    full = [name for name in about.columns if about[name].null_count() < about.height]
    return about.select(name for name in full if name not in ("task", "cluster"))


def _named_learners(names: Sequence[str], runs: Sequence[Run]) -> pl.DataFrame:
    """One row per learner; several values of one setting are listed together."""
    values: dict[str, dict[str, dict[str, None]]] = {name: {} for name in names}
    for run in sorted(runs, key=lambda run: run.source):
        said = run.settings | {"format": run.format, "date": run.date, "source": run.source, "learner": ""}
        for key, value in said.items():
            if value and run.learner in values:
                values[run.learner].setdefault(key, {})[value] = None
    keys = list(dict.fromkeys(key for said in values.values() for key in said))
    columns: dict[str, Any] = {"learner": list(names)}
    columns |= {key: [_some(values[name].get(key, {})) for name in names] for key in keys}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _some(values: dict[str, None]) -> str | None:
    shown = ", ".join(list(values)[:SHOWN])
    return (
        None if not values else shown if len(values) <= SHOWN else f"{shown} and {len(values) - SHOWN} more"
    )
