"""A against B: by how much, how sure, on what, and which samples flipped."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Unpack

import numpy as np
import polars as pl

from camilla.display import Grid, Part, Printable, brief, counted, intervals, listed, percent, signed
from camilla.errors import DataError, SettingError
from camilla.names import quoted
from camilla.provenance import made_of, place_of
from camilla.reading.account import Reading
from camilla.reading.inputs import (
    ReadOptions,
    checked_options,
    collect,
    joined,
    log_options,
    read,
    read_as_logs,
    read_with_account,
    with_extras,
)
from camilla.reading.runs import Kept, TaskSource, source_of
from camilla.statistics.clusters import FEW
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import (
    Estimate,
    Noise,
    PairedResponses,
    estimate,
    noise_of,
    pair_of,
    paired_test,
)
from camilla.table.content import KeptContent, Look, excerpts, shown_samples
from camilla.table.responses import ResponseTable

Verdict = Literal["better", "worse", "probably better", "probably worse", "tied"]


@dataclass(frozen=True)
class Effect:
    """B less A, on all shared samples or on those of one task."""

    task: str | None
    n: int  # shared samples
    n_clusters: int | None
    mean_a: float
    mean_b: float
    difference: float
    se: float
    low: float
    high: float
    p_value: float
    holm_p: float | None  # adjusted over the tasks; None for all samples together
    test: str
    won: int  # samples on which B is above A
    lost: int

    def verdict(self, level: float) -> Verdict:
        """What the test says of B; "probably" where only the interval excludes 0."""
        if self.p_value < 1 - level:
            return "better" if self.difference > 0 else "worse"
        if self.low > 0:
            return "probably better"
        return "probably worse" if self.high < 0 else "tied"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Printable):
    """Two learners on the samples both answered; differences are B less A."""

    on_a_screen: ClassVar[dict[str, Any]] = {"tasks": 12, "flips": 3}

    a: str
    b: str
    level: float
    overall: Effect
    tasks: tuple[Effect, ...]
    noise: Noise | None
    flipped: pl.DataFrame  # sample, task, a, b: where they differ, A's losses first
    only_a: int  # samples without a response of B: left out
    only_b: int
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]
    content: KeptContent | None = None

    def is_worse(self, margin: float | None = None) -> bool:
        """Without a margin: B is significantly below A (difference < 0 and p < 1 − level).

        With one: it is not shown that B is at most `margin` below A (the interval's lower end lies
        below −margin), the question of a non-inferiority test.
        """
        if margin is None:
            return self.overall.difference < 0 and self.overall.p_value < 1 - self.level
        return not self.overall.low >= -margin

    def parts(self, *, flips: int = 5, tasks: int | None = None, show: int = 0) -> list[Part]:
        """The verdict, the tasks (all, or the first few), `flips` flipped samples each way, and the notes.

        `show` flipped samples each way are shown with what they ask and what A and B answered.
        """
        a, b = brief(self.a), brief(self.b)
        parts: list[Part] = [
            _sentence(self.overall, self.level),
            f"A is {a} (mean {self.overall.mean_a:.3f}), B is {b} (mean {self.overall.mean_b:.3f}).",
        ]
        if self.tasks:
            parts.append(_task_grid(self.tasks, self.level, tasks))
        if self.noise is not None:
            parts.append(
                f"Trials: {percent(self.noise.share)} of the variance of a sample's difference is chance "
                "within samples. A rerun on the same samples would move B − A by "
                f"± {100 * self.noise.se_rerun:.1f} points (1 standard error)."
            )
        for word, flipped in (("lost", pl.col("b") < pl.col("a")), ("won", pl.col("b") > pl.col("a"))):
            names = self.flipped.filter(flipped)["sample"].to_list()
            if names and flips:
                parts.append(f"B {word} {len(names)}: {listed(names, flips)}")
        shown = excerpts(self.content, self.looks(show)) if show else []
        return [*parts, *(f"note: {note}" for note in self.notes), *shown]

    def looks(self, show: int) -> list[Look]:
        """The first `show` samples that B lost and that it won, with both learners."""
        found = []
        for word, flipped in (
            ("lost by B", pl.col("b") < pl.col("a")),
            ("won by B", pl.col("b") > pl.col("a")),
        ):
            ordered = self.flipped.filter(flipped).sort(
                (pl.col("b") - pl.col("a")).abs().round(9), descending=True, maintain_order=True
            )
            found += [
                Look(row["sample"], word, ((self.a, row["a"]), (self.b, row["b"])))
                for row in ordered.head(show).to_dicts()
            ]
        return found

    def to_document(self, *, show: int = 0) -> dict[str, Any]:
        """Everything as plain data; with `show` also the content of that many flipped samples each way."""
        shown = {"shown": shown_samples(self.content, self.looks(show))} if show else {}
        document = {
            "a": self.a,
            "b": self.b,
            "level": self.level,
            "answer": _sentence(self.overall, self.level),
            "overall": asdict(self.overall) | {"verdict": self.overall.verdict(self.level)},
            "tasks": [asdict(task) | {"verdict": task.verdict(self.level)} for task in self.tasks],
            "noise": None if self.noise is None else self.noise._asdict(),
            "flipped": self.flipped.to_dicts(),
            "only_a": self.only_a,
            "only_b": self.only_b,
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }
        return document | shown


def _sentence(effect: Effect, level: float) -> str:
    """The answer, the evidence, the caveat; differences in points, hundredths of the mean response."""
    decimals = 1 if not effect.high - effect.low < 0.002 else 2
    difference, low, high = (
        signed(100 * value, decimals) for value in (effect.difference, effect.low, effect.high)
    )
    interval = f"{percent(level)} CI {low} to {high}"
    if effect.low != effect.low:
        interval = "no confidence interval"
    over = "" if effect.n_clusters is None else f" in {effect.n_clusters} clusters"
    test = f"p = {effect.p_value:.2g}, {_test_name(effect.test)}"
    verdict, n = effect.verdict(level), f"{effect.n} shared samples{over}"
    if verdict == "tied":
        return f"A and B cannot be told apart: B − A = {difference} points ({interval}) on {n} ({test})."
    if verdict in ("better", "worse"):
        return f"B is {verdict}: {difference} points ({interval}) on {n} ({test})."
    return f"B is {verdict}: {difference} points ({interval}), but {n} are too few to be sure ({test})."


def _test_name(method: str) -> str:
    """Exact McNemar test; Student's t test over samples."""
    return method.replace("Student's t", "Student's t test") if "Student's t" in method else f"{method} test"


def _task_grid(tasks: tuple[Effect, ...], level: float, most: int | None) -> Grid:
    chosen = tasks[:most]
    columns = ("task", "n", "mean_a", "mean_b", "difference", "low", "high", "holm_p", "won", "lost")
    frame = pl.DataFrame([{name: getattr(task, name) for name in columns} for task in chosen])
    interval = f"{percent(level)} CI"
    frame = frame.with_columns(pl.Series(interval, intervals(frame, "low", "high"), pl.String)).select(
        *columns[:5], interval, *columns[7:]
    )
    more = "" if len(chosen) == len(tasks) else f", the first {len(chosen)}"
    return Grid(
        f"By task{more}; p-values adjusted over {len(tasks)} tasks (Holm)",
        frame, fixed=(interval,), spare=("mean_a", "mean_b", "won", "lost"),
    )  # fmt: skip


def compare(
    table: Any,
    a: Any,
    b: str | None = None,
    *,
    level: float = 0.95,
    **options: Unpack[ReadOptions],
) -> Comparison:
    """Whether B differs from A on the samples both answered, with an interval, a test and the flips.

    Clusters and trials of the table are respected; tasks are tested each, with Holm over them.

    Parameters
    ----------
    table, a, b
        A table and the names of two of its learners; or two tables of one learner each, A's and B's. A table
        is a ResponseTable, a dataframe, or the path of a table file, a log or a folder of logs. Two runs of
        the same model are called by their paths.
    level : float
        Coverage of the intervals.
    **options
        How files and frames are read: `metric`, `filter`, `join`, `rows`, … as in `camilla.read`.

    Returns
    -------
    Comparison
        `overall`, `tasks`, `noise`, `flipped`, `notes`, `is_worse(margin)`.

    Examples
    --------
    >>> import camilla
    >>> found = camilla.compare(camilla.digits(), "knn 1", "qda")
    >>> round(found.overall.difference, 4)
    -0.0061
    """
    if b is not None and isinstance(table, ResponseTable) and options:
        raise SettingError(
            f"{next(iter(options))!r} says how a file or frame is read; a ResponseTable is read already."
        )
    if b is not None:
        table = table if isinstance(table, ResponseTable) else read(table, **options)
        return compare_two(table, a, b, level=level)
    pair = read_two(table, a, **options)
    return compare_two(pair.table, pair.a, pair.b, level=level)


def compare_two(table: ResponseTable, a: str, b: str, *, level: float = 0.95) -> Comparison:
    """Two learners of one table."""
    if a == b:
        raise SettingError(f"{a!r} cannot be compared with itself; name two learners.")
    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1; got {level:g}.")
    pair = pair_of(table, place_of(table, a), place_of(table, b))
    if len(pair.sample) < 2:
        raise DataError(
            f"{a!r} and {b!r} share {counted(len(pair.sample), 'sample')}; at least two are needed. "
            f"{pair.only_a} were answered by {a!r} alone, {pair.only_b} by {b!r} alone. "
            "Check that samples have the same names in both."
        )
    overall = _effect(pair, None, level)
    noise = noise_of(pair)
    return Comparison(
        a, b, level, overall, _by_task(table, pair, level), noise, _flipped(table, pair),
        pair.only_a, pair.only_b, tuple(_notes(table, pair, overall, noise)),
        made_of(table, a=a, b=b, level=level), table.content,
    )  # fmt: skip


def _effect(pair: PairedResponses, task: str | None, level: float) -> Effect:
    found: Estimate = estimate(pair, level)
    test = paired_test(pair)
    return Effect(
        task=task,
        n=found.n,
        n_clusters=None if pair.group is None else found.units,
        mean_a=found.mean_a,
        mean_b=found.mean_b,
        difference=found.difference,
        se=found.se,
        low=found.low,
        high=found.high,
        p_value=test.p_value,
        holm_p=None,
        test=test.method,
        won=int(np.sum(pair.difference > 0)),
        lost=int(np.sum(pair.difference < 0)),
    )


def _by_task(table: ResponseTable, pair: PairedResponses, level: float) -> tuple[Effect, ...]:
    """Tasks by name; none if the shared samples are of one task."""
    if table.task is None:
        return ()
    names, code = np.unique(np.array(table.task)[pair.sample], return_inverse=True)
    if len(names) < 2:
        return ()
    effects = [_effect(pair.take(code == k), str(name), level) for k, name in enumerate(names)]
    adjusted = holm(np.array([effect.p_value for effect in effects]))
    return tuple(replace(effect, holm_p=float(p)) for effect, p in zip(effects, adjusted, strict=True))


def _flipped(table: ResponseTable, pair: PairedResponses) -> pl.DataFrame:
    rows = np.flatnonzero(pair.difference != 0)
    rows = rows[np.argsort(pair.difference[rows], kind="stable")]
    where = pair.sample[rows]
    return pl.DataFrame(
        {
            "sample": [table.samples[j] for j in where],
            "task": [None if table.task is None else table.task[j] for j in where],
            "a": pair.a[rows],
            "b": pair.b[rows],
        },
        schema={"sample": pl.String, "task": pl.String, "a": pl.Float64, "b": pl.Float64},
    )


def _notes(table: ResponseTable, pair: PairedResponses, overall: Effect, noise: Noise | None) -> list[str]:
    notes = []
    if pair.only_a or pair.only_b:
        notes.append(
            f"{pair.only_a} samples were answered by A alone and {pair.only_b} by B alone; they are left out."
        )
    if overall.n_clusters is not None and np.isnan(overall.se):
        notes.append("all shared samples are of one cluster: no interval can be given.")
    elif overall.n_clusters is not None and overall.n_clusters < FEW:
        notes.append(f"only {overall.n_clusters} clusters: the interval is wide because little is known.")
    if table.trial is not None and noise is None:
        notes.append("no two shared samples were answered more than once by both: trial noise is not known.")
    return notes


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
            f"{quoted(left_out)} has no response by what scores the other, only {quoted(sorted(has))}. "
            "Name what both logs have: --metric, --filter; or have one of them scored again."
        )


def _apart(one: Path, other: Path) -> None:
    a, b = one.resolve(), other.resolve()
    if a == b:
        raise SettingError(f"{one} cannot be compared with itself; name two tables or logs.")
    if a.is_relative_to(b) or b.is_relative_to(a):
        raise SettingError(f"one of {one} and {other} lies in the other; name two folders apart.")


def _one_learner(label: str, learners: Sequence[str]) -> str:
    """The one learner of a source."""
    if not learners:
        raise DataError(f"{label}: holds no log with responses of a learner.")
    if len(learners) > 1:
        raise DataError(
            f"{label}: {len(learners)} learners, {quoted(learners)}; one was wanted. "
            "Give one table and two names: camilla compare TABLE A B."
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
