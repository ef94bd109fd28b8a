"""Two sources with a learner each as one table: logs read together, or two tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import polars as pl

from camilla.errors import DataError, SettingError
from camilla.names import quoted
from camilla.reading.account import Reading
from camilla.reading.inputs import (
    ReadOptions,
    checked_options,
    collect,
    joined,
    log_options,
    read_as_logs,
    read_with_account,
    with_extras,
)
from camilla.reading.runs import Kept, TaskSource, source_of
from camilla.table.content import KeptContent
from camilla.table.responses import ResponseTable


class Two(NamedTuple):
    """One table, which of its two learners is A and which B, and what to know of how it was read."""

    table: ResponseTable
    a: str
    b: str
    notes: tuple[str, ...] = ()


def read_two(one: Any, other: Any, **options: Unpack[ReadOptions]) -> Two:
    """Two sources with a learner each as one table.

    Logs are read together, so that samples must mean the same, and each is decoded once. Learners of one name
    are called by their paths.
    """
    given = checked_options(options)
    paths = [Path(source) for source in (one, other) if isinstance(source, str | Path)]
    if len(paths) == 2:
        _apart(*paths)
        if all(read_as_logs([path], given) for path in paths):
            return _two_logs(paths[0], paths[1], given)
    readings = [
        source if isinstance(source, ResponseTable) else read_with_account(source, **options)
        for source in (one, other)
    ]
    tables = [found if isinstance(found, ResponseTable) else found.table for found in readings]
    labels = (str(paths[0]), str(paths[1])) if len(paths) == 2 else ("A", "B")
    table = two_tables(*tables, labels=labels)
    notes = [note for found in readings if isinstance(found, Reading) for note in found.notes()]
    return Two(table, table.learners[0], table.learners[1], tuple(notes))


def _two_logs(one: Path, other: Path, given: Mapping[str, Any]) -> Two:
    choices, *_ = (asked := log_options(given)).values()
    collected = collect([one, other], **{name: value for name, value in asked.items() if name != "choices"})
    runs = collected.collection.kept
    owner = [one if Path(kept.run.source).is_relative_to(one) else other for kept in runs]
    names = []
    for path in (one, other):
        learners = {kept.run.learner for kept, of in zip(runs, owner, strict=True) if of == path}
        names.append(_one_learner(str(path), sorted(learners)))
    a, b = names if names[0] != names[1] else (str(one), str(other))
    collection = collected.collection
    collection.name_tasks(_tasks_of_both(runs, owner))
    collection.kept = [
        replace(kept, run=replace(kept.run, learner=a if of == one else b))
        for kept, of in zip(collection.kept, owner, strict=True)
    ]
    reading = with_extras(joined(collected, choices), given)
    _both_scored(reading, a, b)
    return Two(reading.table, a, b, tuple(reading.notes()))


def _tasks_of_both(runs: Sequence[Kept], owner: Sequence[Path]) -> dict[TaskSource, str]:
    """The tasks of files that name none: two files are compared because they are of one task.

    So are files of one name in two folders.
    """
    both = " + ".join(sorted({path.stem for path in owner}))
    return {
        source_of(kept.run): Path(kept.run.source).relative_to(path).with_suffix("").as_posix()
        if path.is_dir()
        else both
        for kept, path in zip(runs, owner, strict=True)
        if kept.run.task_is_file
    }


def _both_scored(together: Reading, a: str, b: str) -> None:
    """An error if one of the two is left out for want of the metric that the other has."""
    left_out = [name for name in (a, b) if name not in together.table.learners]
    lacking = () if together.merged is None else together.merged.lacking
    if has := {metric for one in lacking if one.learner in left_out for metric in one.has}:
        raise DataError(
            f"{quoted(left_out)} has no response by the metric of the other log, only by "
            f"{quoted(sorted(has))}. Name a metric that both logs have (--metric, --filter), or score one "
            "of them again."
        )


def _apart(one: Path, other: Path) -> None:
    a, b = one.resolve(), other.resolve()
    if a == b:
        raise SettingError(f"{one} cannot be compared with itself; name two tables or logs.")
    if a.is_relative_to(b) or b.is_relative_to(a):
        raise SettingError(f"one of {one} and {other} is inside the other; name two separate folders.")


def _one_learner(label: str, learners: Sequence[str]) -> str:
    """The one learner of a source."""
    if not learners:
        raise DataError(f"{label}: contains no log with responses of a learner.")
    if len(learners) > 1:
        raise DataError(
            f"{label}: {len(learners)} learners, {quoted(learners)}; expected one. Give one table and two "
            "names: camilla compare TABLE A B."
        )
    return learners[0]


def two_tables(one: ResponseTable, other: ResponseTable, *, labels: tuple[str, str]) -> ResponseTable:
    """One table of two tables with one learner each; `labels` name learners that are called the same.

    What one table alone says of a sample, its task and its cluster, holds in the other too. Where it is the
    weight or the trial, the other's responses are of weight 1 and one trial each.
    """
    for table, label in zip((one, other), labels, strict=True):
        _one_learner(label, table.learners)
    if labels[0] == labels[1]:
        raise SettingError(f"{labels[0]} cannot be compared with itself; name two tables or logs.")
    names = (*one.learners, *other.learners)
    if names[0] == names[1]:
        names = labels
    frames = [
        table.to_long().with_columns(learner=pl.lit(name))
        for table, name in zip((one, other), names, strict=True)
    ]
    frame = pl.concat(frames, how="diagonal")
    roles = {name: name for name in ("trial", "task", "cluster", "weight") if name in frame.columns}
    filled = [
        pl.coalesce(name, pl.col(name).drop_nulls().first().over("sample"), "sample")
        if name in ("task", "cluster")
        else pl.col(name).fill_null(1 if name == "weight" else 0)
        for name in roles
    ]
    table = ResponseTable.from_long(frame.with_columns(*filled), **roles)  # type: ignore[arg-type]
    scale = one.scale if one.scale == other.scale else table.scale
    return replace(table, scale=scale, content=_both_contents((one, other), names))


def _both_contents(tables: Sequence[ResponseTable], names: Sequence[str]) -> KeptContent | None:
    """The content of both tables under the names that their learners have now."""
    kept = [
        table.content.called({table.learners[0]: name})
        for table, name in zip(tables, names, strict=True)
        if table.content is not None
    ]
    return None if not kept else kept[0] if len(kept) == 1 else kept[0].together(kept[1])
