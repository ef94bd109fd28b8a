"""Paths to one response table: every file to its loader, all runs joined, and an account of it all."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import polars as pl

from camilla.errors import CamillaError, DataError, SettingError
from camilla.names import quoted
from camilla.reading.joining import Choices, Merged, merge
from camilla.reading.peeking import files_under, peek
from camilla.reading.runs import Collection, Join, Loader, Run
from camilla.reading.skills import skills_from
from camilla.reading.sniffing import Match, all_loaders, match, named
from camilla.table.frame_files import ENDINGS, read_frame
from camilla.table.responses import ResponseTable

SURE = 0.5
Item = TypeVar("Item")


@dataclass
class Files:
    """What was found under the paths: files by format, and those that nobody knows."""

    read: dict[str, list[str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    companions: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)  # logs without a single row


@dataclass(frozen=True)
class LoadedLogs:
    """What the files hold: responses, joined; matches, in a frame; or both."""

    merged: Merged | None
    matches: pl.DataFrame | None
    files: Files

    @property
    def table(self) -> ResponseTable:
        """The responses."""
        if self.merged is None:
            raise DataError(
                "the logs hold matches between players, no responses to samples. Rank them: camilla epp."
            )
        return self.merged.table


def load_logs(
    paths: Sequence[Path],
    choices: Choices | None = None,
    *,
    format: str | None = None,
    join: Join = "id",
    skills: Sequence[str] = (),
    learner_by: Sequence[str] = (),
    called: Mapping[Path, str] | None = None,
    skip_damaged: bool = False,
    watch: Callable[[str], None] = lambda line: None,
) -> LoadedLogs:
    """Every log under the paths, joined; what a file was taken for, and why, is in `files`.

    `learner_by` names settings of runs (solver, n_shot, …) that tell learners of one model apart; `called`
    gives the learner of all logs at or below a path another name.
    """
    if not paths:
        raise DataError("no path was given.")
    loaders = all_loaders() if format is None else named(format, all_loaders())
    collection, files, battles = Collection(join), Files(), list[pl.DataFrame]()
    matched = _matched(paths, loaders, files, forced=format)
    for path, found in without_collecting(matched):
        watch(f"{sum(map(len, files.read.values()))} files, {path.name}")
        try:
            name = _name_at(path, called or {})
            _take(path, loaders[found.format], collection, battles, _Naming(name, learner_by))
        except CamillaError as error:
            if not skip_damaged:
                raise
            files.damaged[str(path)] = str(error)
            continue
        files.read.setdefault(found.format, []).append(str(path))
        files.reasons.setdefault(found.format, found.sniffed.reason)
    _check_settings(collection, learner_by)
    if not files.read:
        if len(paths) == 1 and paths[0].is_file() and paths[0].suffix.lower() in ENDINGS:
            read_frame(paths[0])  # a table that cannot be read says so itself
        raise DataError(_none_known(paths, files, loaders))
    files.empty = [one.run.source for one in collection.kept if one.frame.height == 0]
    matches = pl.concat(battles, how="diagonal_relaxed") if battles else None
    if battles and not collection.kept:
        return LoadedLogs(None, matches, files)
    return LoadedLogs(_with_skills(merge(collection, choices), skills), matches, files)


def without_collecting(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with the search for cycles off meanwhile: rows have none, and it doubles the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield from items
    finally:
        if was_on:
            gc.enable()


class _Naming(NamedTuple):
    """How learners are called: by another name than the log's, by settings beside it."""

    name: str | None
    by: Sequence[str]

    def of(self, run: Run) -> Run:
        learner = run.learner if self.name is None else self.name
        said = ", ".join(f"{one}={run.settings[one]}" for one in self.by if one in run.settings)
        return replace(run, learner=f"{learner} ({said})" if said else learner)


def _check_settings(collection: Collection, learner_by: Sequence[str]) -> None:
    """A setting that no run has cannot tell learners apart."""
    known = {name for one in collection.kept for name in one.run.settings}
    for name in learner_by if collection.kept else ():
        if name not in known:
            there = quoted(sorted(known)) if known else "none"
            raise SettingError(
                f"no log says {name!r} of its runs (--learner-by); settings there are: {there}."
            )


def _name_at(path: Path, called: Mapping[Path, str]) -> str | None:
    return next((name for root, name in called.items() if path.is_relative_to(root)), None)


def _take(
    path: Path, loader: Loader, collection: Collection, battles: list[pl.DataFrame], naming: _Naming
) -> None:
    """All runs of a file, or none if it breaks off: they are counted in only when all are read."""
    if loader.matches is not None:
        battles.append(loader.matches(path))
    for run in list(loader.runs(path)):
        collection.add(naming.of(run))


def _with_skills(merged: Merged, columns: Sequence[str]) -> Merged:
    if not columns:
        return merged
    return replace(merged, table=merged.table.with_skills(skills_from(merged.table, columns)))


def _matched(
    paths: Sequence[Path], loaders: Mapping[str, Loader], files: Files, *, forced: str | None
) -> list[tuple[Path, Match]]:
    """Files with the loader that is surest of them, in the order of their paths.

    Each file once, however many of the paths lead to it.
    """
    found: dict[Path, Match] = {}
    seen: set[Path] = set()
    for one in files_under(paths):
        if (place := one.path.resolve()) in seen:
            continue
        seen.add(place)
        best = match(one, loaders)
        if best is None and forced is not None and one.path in paths:
            raise DataError(f"{one.path}: does not look like {forced}. Leave out --format to see what it is.")
        if best is None:
            files.unknown.append(str(one.path))
        elif best.sniffed.companion:
            files.companions[best.format] = files.companions.get(best.format, 0) + 1
        else:
            found[one.path] = best
    return sorted(found.items())


def _none_known(paths: Sequence[Path], files: Files, loaders: Mapping[str, Loader]) -> str:
    if files.damaged:
        return f"no file could be read; the first: {next(iter(files.damaged.values()))}"
    where = quoted([str(path) for path in paths])
    if files.companions:
        names = ", ".join(f"{count} of {name}" for name, count in files.companions.items())
        return (
            f"{where} hold only files that go with logs ({names}), no scores of samples. "
            "Was the harness told to log samples?"
        )
    return (
        f"no known log under {where} ({len(files.unknown)} files looked at). Known are {', '.join(loaders)}. "
        "A table whose columns have other names is read by the other commands: --learner, --sample, …"
    )


def holds_logs(path: Path) -> bool:
    """Whether a path is a folder, or a file of another format than a table."""
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    best = match(peek(path), all_loaders())
    return best is not None and best.format != "table" and best.sniffed.confidence >= SURE
