"""Collected runs to one response table: joined by sample, refused where they mean different things."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from camilla.data.columns import Origin, name_column
from camilla.data.names import quoted
from camilla.data.responses import ResponseTable
from camilla.errors import DataError
from camilla.loaders.choosing import Chosen, Repeated, choose, newest, of_tasks
from camilla.loaders.collecting import REASONS, Collection, Kept
from camilla.loaders.completing import completed

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
    lacking: list[str] = field(default_factory=list)  # sources without the chosen pair


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
    rows, conflicts = _without_conflicts(rows, kept)
    rows, twice = _numbered(rows)
    rows, dropped = _after_errors(rows, choices.on_error)
    if rows.height == 0:
        raise DataError(_nothing_left(conflicts, dropped))
    table, missing = _table(rows, collection, kept)
    return Merged(table, len(kept), chosen, repeated, conflicts, missing, dropped, twice, lacking)


def _each_once(runs: Sequence[Kept]) -> list[Kept]:
    unique = {(one.run.source, one.run.run, one.run.learner, one.run.task): one for one in runs}
    return [unique[key] for key in sorted(unique)]


def _rows(
    kept: Sequence[Kept], chosen: dict[str, Chosen | None], collection: Collection
) -> tuple[pl.DataFrame, list[str]]:
    """Rows of the chosen pairs, and of samples that no metric scored; sources that have neither.

    `run` is the index into `kept`.
    """
    unscored = [code for pair, code in collection.codes.items() if not pair.metric]
    frames, lacking = [], []
    for index, one in enumerate(kept):
        choice = chosen[one.run.task]
        if choice is None:
            continue
        wanted = [collection.codes[choice.pair], *unscored]
        all_wanted = len(one.pairs) == 1 and choice.pair in one.pairs
        part = one.frame if all_wanted else one.frame.filter(pl.col("pair").is_in(wanted))
        if part.height < one.frame.height and part.height == 0:
            lacking.append(one.run.source)
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


def _without_conflicts(rows: pl.DataFrame, kept: Sequence[Kept]) -> tuple[pl.DataFrame, list[Conflict]]:
    """Drops samples whose content, or for want of a hash the task's version, differs between runs."""
    versions = pl.Series("version", [one.run.version or None for one in kept], dtype=pl.String)
    marks = pl.when(pl.col("content").is_null()).then(versions.gather(rows["run"])).otherwise(None)
    per_sample = rows.with_columns(version=marks).group_by("sample").agg(
        contents=pl.col("content").drop_nulls().n_unique(), versions=pl.col("version").drop_nulls().n_unique()
    )  # fmt: skip
    wrong = per_sample.filter((pl.col("contents") > 1) | (pl.col("versions") > 1))["sample"]
    if len(wrong) == 0:
        return rows, []
    of_wrong = rows.filter(pl.col("sample").is_in(wrong.implode()))
    conflicts: dict[str, Conflict] = {}
    tasks = [one.run.task for one in kept]
    for sample, part in sorted(_by_sample(of_wrong)):
        task = tasks[part["run"][0]]
        first = part.unique(["content"], maintain_order=True)["run"].head(2)
        sources = sorted(kept[run].run.source for run in first)
        conflicts.setdefault(task, Conflict(task, [], sources)).samples.append(sample)
    return rows.filter(~pl.col("sample").is_in(wrong.implode())), list(conflicts.values())


def _by_sample(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(str(key[0]), part) for key, part in rows.sort("run").group_by("sample", maintain_order=True)]


def _numbered(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Trials of each cell numbered from 0 over all its runs."""
    ordered = rows.sort("run", "sample", "trial", maintain_order=True)
    twice = ordered.height - ordered.select(pl.struct("run", "sample", "trial").n_unique()).item()
    return ordered, int(twice)


def _after_errors(rows: pl.DataFrame, on_error: OnError) -> tuple[pl.DataFrame, list[str]]:
    """What becomes of samples that are unscored, errored or truncated."""
    wrong = pl.col("why") > 0
    if on_error == "drop":
        dropped = rows.filter(wrong)["sample"].unique().sort()
        return rows.filter(~pl.col("sample").is_in(dropped.implode())), dropped.to_list()
    if on_error == "zero":
        return rows.with_columns(
            score=pl.when(wrong).then(0.0).otherwise("score"), why=pl.lit(0, pl.Int8)
        ), []
    if on_error == "null":
        rows = rows.with_columns(score=pl.when(wrong).then(None).otherwise("score"))
    return rows, []


def _table(
    rows: pl.DataFrame, collection: Collection, kept: Sequence[Kept]
) -> tuple[ResponseTable, dict[str, int]]:
    names = sorted({kept[run].run.learner for run in rows["run"].unique()})
    place = {name: index for index, name in enumerate(names)}
    of_run = np.array([place.get(one.run.learner, -1) for one in kept], np.int32)
    samples = name_column(rows, "sample", Origin("the logs"))
    about = collection.descriptions().filter(pl.col("sample").is_in(samples.names))
    about = about[_reading_order(about)]
    at = {name: index for index, name in enumerate(about["sample"])}
    order = np.array([at[name] for name in samples.names], np.int32)
    learner, sample = of_run[rows["run"].to_numpy()], order[samples.codes]
    cell = learner.astype(np.int64) * len(at) + sample
    by_cell = np.argsort(cell, kind="stable")
    rows, learner, sample, cell = rows[by_cell], learner[by_cell], sample[by_cell], cell[by_cell]
    scored = rows["score"].is_not_null().to_numpy()
    trial = _trials(cell[scored])
    cluster = about["cluster"]
    table = ResponseTable(
        tuple(names),
        tuple(about["sample"]),
        learner[scored],
        sample[scored],
        rows["score"].drop_nulls().to_numpy(),
        trial=trial if trial.any() else None,
        task=tuple(about["task"]),
        cluster=None if cluster.null_count() == len(cluster) else tuple(cluster.fill_null(about["sample"])),
        learner_metadata=_learners(names, kept),
        sample_metadata=_described(about),
        n_missing=int((~scored).sum()),
    )
    return table, _missing(rows, cell, scored, len(names) * len(at))


def _trials(cell: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """0, 1, … within each run of equal cells."""
    starts = np.flatnonzero(np.concatenate(([True], np.diff(cell) != 0))) if len(cell) else np.zeros(0, int)
    sizes = np.diff(np.append(starts, len(cell)))
    return (np.arange(len(cell)) - np.repeat(starts, sizes)).astype(np.int32)


def _missing(rows: pl.DataFrame, cell: Any, scored: Any, n_cells: int) -> dict[str, int]:
    """Cells without a response, by why: the first reason a cell gives."""
    answered = set(np.unique(cell[scored]).tolist())
    why = rows["why"].to_numpy()
    first: dict[int, int] = {}
    for row in np.flatnonzero(~scored):
        if int(cell[row]) not in answered:
            first.setdefault(int(cell[row]), int(why[row]))
    counts = dict.fromkeys(REASONS[1:], 0)
    for reason in first.values():
        counts[REASONS[reason] or "unscored"] += 1
    return counts | {"not run": n_cells - len(answered) - len(first)}


def _reading_order(about: pl.DataFrame) -> list[int]:
    """By task, then by name with numbers in it as numbers."""
    keys = [(task, _parts(name)) for task, name in zip(about["task"], about["sample"], strict=True)]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _parts(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"([0-9]{1,18})", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _described(about: pl.DataFrame) -> pl.DataFrame:
    """Without columns that say nothing."""
    full = [
        name
        for name in about.columns
        if name not in ("task", "cluster") and about[name].null_count() < about.height
    ]
    return about.select("sample", *[name for name in full if name != "sample"])


def _learners(names: Sequence[str], kept: Sequence[Kept]) -> pl.DataFrame:
    """A row a learner; several values of one setting stand beside each other."""
    values: dict[str, dict[str, dict[str, None]]] = {name: {} for name in names}
    for one in sorted(kept, key=lambda one: one.run.source):
        if one.run.learner not in values:
            continue
        said = one.run.settings | {
            "format": one.run.format, "date": one.run.date, "source": one.run.source, "learner": ""
        }  # fmt: skip
        for key, value in said.items():
            if value:
                values[one.run.learner].setdefault(key, {})[value] = None
    keys = list(dict.fromkeys(key for said in values.values() for key in said))
    columns = {key: [_some(values[name].get(key, {})) for name in names] for key in keys}
    return pl.DataFrame(
        {"learner": list(names)} | columns, schema_overrides=dict.fromkeys(["learner", *keys], pl.String)
    )


def _some(values: dict[str, None]) -> str | None:
    shown = ", ".join(list(values)[:3])
    return None if not values else shown if len(values) <= 3 else f"{shown} and {len(values) - 3} more"
