"""Paths to one response table: every file to its loader, all runs joined, and an account of it all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from camilla.data.names import quoted
from camilla.data.responses import ResponseTable
from camilla.errors import CamillaError, DataError
from camilla.loaders.collecting import Collection, Join
from camilla.loaders.merging import Choices, Merged, OnError, Runs, merge
from camilla.loaders.metadata_skills import skills_from
from camilla.loaders.peeking import files_under, peek
from camilla.loaders.runs import Loader
from camilla.loaders.sniffing import Match, all_loaders, match, named

SURE = 0.5


@dataclass
class Files:
    """What was found under the paths: files by format, and those that nobody knows."""

    read: dict[str, list[str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    companions: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """The table, how it was joined, and the files it came from."""

    merged: Merged
    files: Files

    @property
    def table(self) -> ResponseTable:
        return self.merged.table

    def briefly(self) -> list[str]:
        """One line for each thing a reader of the result must know."""
        count = sum(map(len, self.files.read.values()))
        merged = self.merged
        pairs = sorted({one.pair.metric for one in merged.chosen.values() if one is not None})
        lines = [f"{count} logs ({', '.join(self.files.read)}); responses are {', '.join(pairs)}"]
        if gone := sum(merged.missing.values()):
            reasons = ", ".join(f"{cells} {why}" for why, cells in merged.missing.items() if cells)
            lines.append(f"{gone} cells are missing: {reasons}")
        if merged.repeated:
            left = sum(len(one.left_out) for one in merged.repeated)
            lines.append(f"{left} older runs of the same learner and task were left out")
        if merged.conflicts:
            refused = sum(len(one.samples) for one in merged.conflicts)
            lines.append(f"{refused} samples mean different things in different runs and were refused")
        return [*lines, *([f"{len(self.files.unknown)} files are no log"] if self.files.unknown else [])]


def load(
    *paths: str | Path,
    format: str | None = None,
    tasks: Sequence[str] = (),
    metric: str | None = None,
    filter: str | None = None,
    on_error: OnError = "null",
    runs: Runs = "newest",
    join: Join = "id",
    skills: Sequence[str] = (),
) -> ResponseTable:
    """The responses in logs of any known format: files, folders, or both, joined into one table.

    What each format gives is in the docs. `load_logs` also says what was found and decided.
    """
    choices = Choices(tuple(tasks), metric, filter, on_error, runs)
    return load_logs([Path(path) for path in paths], choices, format=format, join=join, skills=skills).table


def load_logs(
    paths: Sequence[Path],
    choices: Choices | None = None,
    *,
    format: str | None = None,
    join: Join = "id",
    skills: Sequence[str] = (),
    skip_damaged: bool = False,
    watch: Callable[[str], None] = lambda line: None,
) -> Loaded:
    """Every log under the paths, joined; what a file was taken for, and why, is in `files`."""
    if not paths:
        raise DataError("no path was given.")
    loaders = all_loaders() if format is None else named(format, all_loaders())
    collection, files = Collection(join), Files()
    for path, found in _matched(paths, loaders, files, forced=format):
        watch(f"{sum(map(len, files.read.values()))} files, {path.name}")
        try:
            for run in loaders[found.format].runs(path):
                collection.add(run)
        except CamillaError as error:
            if not skip_damaged:
                raise
            files.damaged[str(path)] = str(error)
            continue
        files.read.setdefault(found.format, []).append(str(path))
        files.reasons.setdefault(found.format, found.sniffed.reason)
    if not files.read:
        raise DataError(_none_known(paths, files, loaders))
    merged = merge(collection, choices)
    if skills:
        table = merged.table.with_skills(skills_from(merged.table, skills))
        merged = Merged(**{**vars(merged), "table": table})
    return Loaded(merged, files)


def _matched(
    paths: Sequence[Path], loaders: Mapping[str, Loader], files: Files, *, forced: str | None
) -> list[tuple[Path, Match]]:
    """Files with the loader that is surest of them, each file once, in the order of their paths."""
    found: dict[Path, Match] = {}
    for one in files_under(paths):
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
    if files.companions:
        names = ", ".join(f"{count} of {name}" for name, count in files.companions.items())
        return (
            f"{quoted([str(path) for path in paths])} hold only files that go with logs ({names}). "
            "No scores of samples are among them. Was the harness told to log samples?"
        )
    return (
        f"no known log under {quoted([str(path) for path in paths])} ({len(files.unknown)} files looked at). "
        f"Known are {', '.join(loaders)}. Name the columns of other tables: --learner, --sample, …"
    )


def holds_logs(path: Path) -> bool:
    """Whether a path is a folder, or a file of another format than a table."""
    if path.is_dir():
        return True
    if not path.is_file():
        return False
    best = match(peek(path), all_loaders())
    return best is not None and best.format != "table" and best.sniffed.confidence >= SURE
