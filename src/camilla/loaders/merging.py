"""Collected runs to one response table: joined by sample, refused where they mean different things."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import polars as pl

from camilla.data.names import quoted
from camilla.data.responses import ResponseTable
from camilla.errors import DataError
from camilla.loaders.assembling import assembled, described
from camilla.loaders.choosing import Chosen, Repeated, choose, newest, of_tasks
from camilla.loaders.collecting import Collection, Kept
from camilla.loaders.completing import completed
from camilla.loaders.runs import GIVEN
from camilla.loaders.table_skills import with_table_skills

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


def merge(collection: Collection, choices: Choices | None = None) -> Merged:
    """One table of all runs.

    The order in which runs were collected does not matter, and a run collected twice counts once.
    """
    choices = choices or Choices()
    runs = of_tasks(_each_once(collection.kept), choices.tasks)
    kept, repeated = newest(runs) if choices.runs == "newest" else (runs, [])
    chosen = choose(kept, metric=choices.metric, filter=choices.filter)
    kept = completed(kept, choices.universe, collection)
    rows, lacking = _rows(kept, chosen, collection)
    if rows.height == 0:
        raise DataError(_nothing(runs, chosen))
    about = described(collection, rows["sample"])
    rows = rows.with_columns(sample=rows["sample"].cast(pl.Enum(about["sample"])).to_physical())
    rows, conflicts = _without_conflicts(rows, about["sample"], kept)
    twice = rows.height - rows.select(pl.struct("run", "sample", "trial").n_unique()).item()
    rows, dropped = _after_errors(rows, about["sample"], choices.on_error)
    if rows.height == 0:
        raise DataError(_nothing_left(conflicts, dropped))
    table, missing = assembled(rows, about, [one.run for one in kept])
    table, why = with_table_skills(table, [one.run for one in kept])
    return Merged(table, len(kept), chosen, repeated, conflicts, missing, dropped, int(twice), lacking, why)


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


def _nothing(runs: Sequence[Kept], chosen: dict[str, Chosen | None]) -> str:
    if not runs:
        return "the logs hold no runs."
    why = {f"{name}: {reason}" for one in runs for name, reason in one.run.left_out.items()}
    seen = f" Metrics that are no scores: {quoted(sorted(why))}." if why else ""
    return f"no sample of {quoted(list(chosen))} has a score in [0, 1].{seen}"


def _nothing_left(conflicts: list[Conflict], dropped: list[str]) -> str:
    if not conflicts:
        return f"all {len(dropped)} samples have an error in some run and were dropped. Use --on-error null."
    first = conflicts[0]
    return (
        f"nothing can be joined: every sample means different things in different runs, such as "
        f"{quoted(first.samples[:1])} in {quoted(first.sources)}. {REMEDY}"
    )


REMEDY = "Load such runs apart, or join samples by what they ask: --join content."


def _without_conflicts(
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


def _after_errors(rows: pl.DataFrame, names: pl.Series, on_error: OnError) -> tuple[pl.DataFrame, list[str]]:
    """What becomes of samples that are unscored, errored or truncated."""
    wrong = pl.col("why") > 0
    if on_error == "drop":
        dropped = rows.filter(wrong)["sample"].unique().sort()
        return rows.filter(~pl.col("sample").is_in(dropped.implode())), names.gather(dropped).to_list()
    if on_error == "zero":
        return rows.with_columns(
            score=pl.when(wrong).then(0.0).otherwise("score"), why=pl.lit(0, pl.Int8)
        ), []
    if on_error == "null":
        rows = rows.with_columns(score=pl.when(wrong).then(None).otherwise("score"))
    return rows, []
