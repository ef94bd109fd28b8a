"""What a loader hands over, a run of one learner on one task, and how runs are collected."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from camilla.errors import DataError, SettingError
from camilla.names import quoted
from camilla.reading.content import Answered, Asked, Content, Spill, SpilledRun
from camilla.reading.decoding import read_bytes, shortened
from camilla.table.columns import Origin, name_column
from camilla.table.frame_files import ENDINGS, column_names, read_frame

if TYPE_CHECKING:
    import polars as pl

    from camilla.table.skills import SkillGraph, SkillMap

__all__ = [
    "GIVEN",
    "REASONS",
    "SCHEMA",
    "About",
    "Answered",
    "Asked",
    "Collection",
    "Content",
    "Join",
    "Kept",
    "LearnerTask",
    "Namesakes",
    "Row",
    "Run",
    "SampleSkills",
    "TaskSource",
    "Why",
    "read_universe",
    "source_of",
]  # fmt: skip
Why = Literal["unscored", "errored", "truncated"]


GIVEN = "response"


class Row(NamedTuple):
    """One score of one sample under one metric and filter; `why` says what went wrong with it, if anything.

    A score is in [0, 1] or missing, and missing is never 0. `content` is a hash of what the sample asks,
    so that two runs that mean different things by one name are not joined. The metric GIVEN is a response
    that was chosen before, as tables hold it; it stands beside whatever metric its task is scored by.
    """

    sample: str
    score: float | None
    metric: str = "score"
    filter: str = ""
    trial: int = 0
    content: str | None = None
    why: Why | None = None
    weight: float | None = None  # 1 when not given


class About(NamedTuple):
    """What a log says of a sample beside scores: the start of its text, and values that may name skills."""

    text: str = ""
    skills: tuple[tuple[str, str], ...] = ()  # (kind, value): ("subject", "physics")
    cluster: str | None = None


class SampleSkills(NamedTuple):
    """The skill map that a table brings along, its rows in the order of `samples`, and its graph if any."""

    samples: tuple[str, ...]
    skill_map: "SkillMap"
    skill_graph: "SkillGraph | None"


@dataclass(frozen=True)
class Run:
    """One learner on one task as one log tells it.

    Files that share a `run` are parts of one run; runs of the same learner and task that do not are
    repetitions, of which the newest by `date` is kept. `left_out` says which metrics of the log are no
    scores, and why. `stated` is keyed as `LearnerTask.words` writes a metric and its filter.
    """

    learner: str
    task: str
    rows: list[Row]
    source: str
    format: str
    run: str = ""
    date: str = ""  # sorts by age
    version: str = ""  # of the task
    about: Mapping[str, About] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)  # of the learner
    left_out: dict[str, str] = field(default_factory=dict)  # metric → why it is no score
    named_by_task: bool = True  # whether samples are called task/name from the start
    task_is_file: bool = False  # whether the task is only the name of the file, for want of another
    repeated_rows: int = 0  # rows that repeat a learner and sample, and became trials
    unstable_ids: bool = False  # whether a sample is known by its content alone
    skills: SampleSkills | None = None  # of all samples of the file, as the file names them
    rest_is_wrong: bool = False  # whether samples of the benchmark that the log does not name were failed
    main: str = ""  # the metric that the harness itself reports first, where it says so
    stated: Mapping[str, float] = field(default_factory=dict)  # metric → mean that the harness reports
    stated_how: Mapping[str, str] = field(default_factory=dict)  # metric → how, if by no plain mean
    n_stated: int | None = None  # samples that those means are over, where the harness says so
    errors: Mapping[str, int] = field(default_factory=dict)  # message → samples that failed with it
    content: Callable[[], Content] | None = None  # called only where content is kept


Join = Literal["id", "content"]
REASONS = ("", "unscored", "errored", "truncated")
REASON = {None: 0} | {reason: code for code, reason in enumerate(REASONS) if reason}
UNDESCRIBED = About()
SCHEMA = {
    "sample": pl.String,
    "score": pl.Float64,
    "pair": pl.Int32,
    "trial": pl.Int32,
    "content": pl.UInt64,  # of the text that the log gives: only whether two are equal is asked
    "why": pl.Int8,
    "weight": pl.Float64,
}


class LearnerTask(NamedTuple):
    """A metric and the filter it was computed behind; metric "" is a sample that no metric scored."""

    metric: str
    filter: str

    @property
    def words(self) -> str:
        """exact_match behind strict-match; the metric alone where nothing was filtered."""
        return self.metric if self.filter in ("", "none") else f"{self.metric} behind {self.filter}"


@dataclass(frozen=True)
class Kept:
    """A run without its rows, which are `frame`, and how many scores each of its pairs has."""

    run: Run
    frame: pl.DataFrame
    pairs: dict[LearnerTask, int]  # in the order of the log
    spilled: int | None = None  # the number of its content, where that is kept
    prefix: str = ""  # of its samples' names, which the content has not

    @property
    def n_scored(self) -> int:
        return max(self.pairs.values(), default=0)

    def spilled_run(self, pair: LearnerTask | None) -> SpilledRun:
        """What leads to the content of the run, of which a pair scores the task."""
        metric, filter = pair or ("", "")
        return SpilledRun(self.spilled, self.run.learner, self.prefix, metric, filter, self.run.source)


class TaskSource(NamedTuple):
    """A task that was named, or a file in which none was."""

    task: str
    file: str  # "" where the task was named


def source_of(run: Run) -> TaskSource:
    """Where the samples of a run are from, as far as names of samples go."""
    return TaskSource(run.task, run.source if run.task_is_file else "")


class Namesakes(NamedTuple):
    """Files or tasks that use the same sample names: joined as one benchmark, or told apart by task."""

    joined: bool
    tasks: list[str]  # as they are called now
    files: list[str]
    n_shared: int  # sample names that several have


@dataclass
class Collection:
    """All runs read so far, and what their logs say about samples (the first log that does)."""

    join: Join = "id"
    kept: list[Kept] = field(default_factory=list)
    about: list[pl.DataFrame] = field(default_factory=list)
    loose: dict[TaskSource, list[pl.DataFrame]] = field(default_factory=dict)  # about samples to be named yet
    known: set[str] = field(default_factory=set)  # the samples in both, while runs come in
    codes: dict[LearnerTask, int] = field(default_factory=dict)
    in_order: bool = False
    spill: Spill | None = None  # where content is kept

    def add(self, run: Run) -> None:
        """Takes a run in; its rows and descriptions leave Python objects here."""
        if not run.learner or not run.task:
            raise DataError(f"{run.source}: the log does not say which learner or task it belongs to.")
        names = _names(run, self.join)
        columns: Any = zip(*run.rows, strict=True) if run.rows else ((),) * len(Row._fields)
        _, score, metric, filter, trial, content, why, weight = columns
        pairs = list(zip(metric, filter, strict=True))
        code = {
            pair: self.codes.setdefault(LearnerTask(*pair), len(self.codes)) for pair in dict.fromkeys(pairs)
        }
        scored = Counter(pair for pair, one in zip(pairs, score, strict=True) if one is not None)
        frame = pl.DataFrame(
            {
                "sample": names,
                "score": score,
                "pair": [code[pair] for pair in pairs],
                "trial": trial,
                "content": _hashed(content),
                "why": [REASON[one] for one in why],
                "weight": weight,
            },
            schema=SCHEMA,
        )
        self.describe(run, names)
        spilled = self._spilled(run, names)
        lean = replace(run, rows=[], about={}, content=None, run=run.run or run.source)
        self.kept.append(Kept(lean, frame, {LearnerTask(*pair): scored[pair] for pair in code}, spilled))

    def name_tasks(self, tasks: Mapping[TaskSource, str]) -> None:
        """Names the task of files that name none."""
        self.kept = [
            replace(one, run=replace(one.run, task=tasks[source], task_is_file=False))
            if (source := source_of(one.run)) in tasks
            else one
            for one in self.kept
        ]
        for source, task in tasks.items():
            parts = self.loose.pop(source, [])
            self.loose.setdefault(TaskSource(task, ""), []).extend(parts)

    def _spilled(self, run: Run, names: list[str]) -> int | None:
        """Puts the content of a run away, if it is kept."""
        if self.spill is None or run.content is None:
            return None
        named = {row.sample: name for row, name in zip(run.rows, names, strict=True)}
        marks = {row.sample: row.content for row in run.rows}
        return self.spill.add(run.content(), named, marks, run.source)

    def describe(self, run: Run, names: list[str]) -> None:
        """Keeps what the run says about samples that no run before it described."""
        if not self.known:
            self.known.update(*(part["sample"] for part in self.about))
        source = source_of(run)
        within = "" if run.named_by_task else "\0".join((*source, ""))
        fresh: dict[str, About] = {}
        for row, name in zip(run.rows, names, strict=True):
            key = within + name if within else name
            if key not in self.known:
                self.known.add(key)
                fresh[name] = run.about.get(row.sample, UNDESCRIBED)
        if not fresh:
            return
        self.in_order = False
        kinds = dict.fromkeys(kind for one in fresh.values() for kind, _ in one.skills)
        skills = [dict(one.skills) for one in fresh.values()]
        columns: dict[str, Iterable[str | None]] = {
            "sample": fresh,
            "task": [run.task] * len(fresh),
            "text": [one.text or None for one in fresh.values()],
            "cluster": [one.cluster for one in fresh.values()],
        }
        columns |= {kind: [one.get(kind) for one in skills] for kind in kinds if kind not in columns}
        text = dict.fromkeys(columns, pl.String)
        part = pl.DataFrame({name: list(given) for name, given in columns.items()}, schema=text)
        (self.about if run.named_by_task else self.loose.setdefault(source, [])).append(part)

    def in_reading_order(self) -> pl.DataFrame:
        """One row per sample: sample, task, text, cluster, one column per kind of skill; by task and name.

        A number at the end of a name counts as a number. There may be millions, so they are put in order
        once, and the parts and the set of names let go.
        """
        if len(self.about) == 1 and self.in_order:
            return self.about[0]
        self.known.clear()
        texts = dict.fromkeys(("sample", "task", "text", "cluster"), pl.String)
        tasks: dict[str, list[pl.DataFrame]] = {}
        for part in self.about:
            for one in part.partition_by("task"):
                tasks.setdefault(one["task"][0], []).append(one)
        self.about.clear()
        ordered = [_in_order(pl.concat(tasks.pop(task), how="diagonal")) for task in sorted(tasks)]
        about = pl.concat(ordered, how="diagonal") if ordered else pl.DataFrame(schema=texts)
        self.about, self.in_order = [about], True
        return about


def _hashed(texts: Sequence[str | None]) -> pl.Series:
    """Eight bytes for each text; what was not said stays so."""
    said = pl.Series("content", texts, pl.String)
    return pl.select(pl.when(said.is_not_null()).then(said.hash())).to_series()


def _in_order(about: pl.DataFrame) -> pl.DataFrame:
    """Samples of a task by their names before the last digits, these as a number, and 007 before 07.

    Names are ranked first: sorting by several keys is thirty times as fast when they are numbers.
    """
    name = pl.col("sample")
    number = name.str.extract(r"([0-9]+)$").cast(pl.Int64, strict=False)
    start = pl.when(number.is_null()).then(name).otherwise(name.str.replace(r"[0-9]+$", ""))
    keys = about.select(
        start.rank("dense").alias("start"),
        number.fill_null(-1).alias("number"),
        (-name.str.len_bytes().cast(pl.Int64)).alias("zeros"),
    )
    return about[np.lexsort([keys[key].to_numpy() for key in ("zeros", "number", "start")])]


def _names(run: Run, join: Join) -> list[str]:
    """The name of each row's sample: task/id, id where tasks are told apart later, task/hash by content."""
    prefix = f"{run.task}/" if run.named_by_task else ""
    if join == "id" and not run.unstable_ids:
        return [prefix + row.sample for row in run.rows]
    by_id: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for row in run.rows:
        if row.sample not in by_id:
            by_id[row.sample] = _by_content(row, seen)
    return [prefix + by_id[row.sample] for row in run.rows]


def _by_content(row: Row, seen: Counter[str]) -> str:
    """The hash, numbered when a run asks the same thing more than once."""
    if row.content is None:
        return row.sample
    name = row.content[:12]
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}#{seen[name]}"


def completed(
    runs: Sequence[Kept],
    universe: Sequence[str],
    collection: Collection,
    namesakes: Sequence[Namesakes] = (),
) -> list[Kept]:
    """The runs, with a 0 for each sample that a list of solved ones leaves out.

    Without a universe it is all samples that any run of the task names; what nobody solved is then not
    among them, which flatters everyone alike.
    """
    named: dict[str, dict[str, None]] = {}
    apart = {task for one in namesakes if not one.joined for task in one.tasks}
    for one in runs:
        if one.run.rest_is_wrong or universe:
            prefix = f"{one.run.task}/" if one.run.task in apart else ""
            names = named.setdefault(one.run.task, dict.fromkeys(prefix + name for name in universe))
            names.update(dict.fromkeys(one.frame["sample"].to_list()))
    return [
        _completed(one, list(named[one.run.task]), collection) if one.run.rest_is_wrong else one
        for one in runs
    ]


def _completed(one: Kept, names: list[str], collection: Collection) -> Kept:
    known = set(one.frame["sample"].to_list())
    absent = [name for name in names if name not in known]
    pair = next(iter(one.pairs), LearnerTask("resolved", ""))
    rows = {
        "sample": absent,
        "score": [0.0] * len(absent),
        "pair": [collection.codes.setdefault(pair, len(collection.codes))] * len(absent),
        "trial": [0] * len(absent),
        "content": [None] * len(absent),
        "why": [0] * len(absent),
        "weight": [None] * len(absent),
    }
    described = replace(
        one.run, rows=[Row(name, 0.0) for name in absent], about=dict.fromkeys(absent, About())
    )
    collection.describe(described, absent)
    frame = pl.concat([one.frame, pl.DataFrame(rows, schema=SCHEMA)])
    pairs = one.pairs | {pair: one.pairs.get(pair, 0) + len(absent)}
    return Kept(one.run, frame, pairs)


def error_messages(runs: Sequence[Kept]) -> dict[str, int]:
    """How many samples failed with each message, the most frequent first."""
    count = Counter[str]()
    for one in runs:
        count.update(one.run.errors)
    return dict(sorted(count.items(), key=lambda item: (-item[1], item[0])))


def nothing_scored(runs: Sequence[Kept], named: Sequence[str]) -> str:
    """Why there is no response: no sample, errors, scores that are none, or no scores at all."""
    if not runs:
        return "the logs contain no runs."
    tasks = quoted(named)
    why = {f"{name}: {reason}" for one in runs for name, reason in one.run.left_out.items()}
    n_samples = sum(one.frame["sample"].n_unique() for one in runs)
    if n_samples == 0 and not why:
        status = {one.run.settings["status"] for one in runs if "status" in one.run.settings}
        ended = f" (status: {', '.join(sorted(status))})" if status else ""
        return (
            f"the log of {tasks} contains no sample{ended}: "
            f"{quoted(sorted({one.run.source for one in runs}))}. Was the run finished, and the harness "
            "told to log samples?"
        )
    failed = sum(one.frame.filter(pl.col("why") == REASON["errored"])["sample"].n_unique() for one in runs)
    if failed:
        said = [f"{n} with {shortened(message)!r}" for message, n in error_messages(runs).items()]
        errors = f": {', '.join(said[:3])}" if said else ""
        all_of = f"all {n_samples}" if failed == n_samples else f"{failed} of {n_samples}"
        return f"{all_of} samples of {tasks} errored, and no other has a score{errors}."
    seen = f" Metrics that are not scores: {quoted(sorted(why))}." if why else ""
    return f"no sample of {tasks} has a score in [0, 1].{seen}"


def trial_numbers(samples: Sequence[str], said: Iterable[Any]) -> list[int]:
    """The number of each trial, as the log says; one that is taken, or is no number, is the next free."""
    taken: set[tuple[str, int]] = set()
    free: Counter[str] = Counter()
    numbers: list[int] = []
    for sample, value in zip(samples, said, strict=True):
        usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_TRIAL
        number = value
        if not usable or (sample, value) in taken:
            while (sample, free[sample]) in taken:
                free[sample] += 1
            number = free[sample]
        taken.add((sample, number))
        numbers.append(number)
    return numbers


LARGEST_TRIAL = 1 << 30
UNIVERSE_COLUMNS = ("instance_id", "sample", "sample_id", "id", "item")


def read_universe(path: Path) -> tuple[str, ...]:
    """One name per line, or a table with a column of them: instance_id, sample, sample_id, id or item."""
    if path.suffix.lower() not in ENDINGS:
        try:
            text = read_bytes(path).decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: is not a text file; expected one name per line.") from error
        names = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    else:
        there = column_names(path)
        column = next((name for name in UNIVERSE_COLUMNS if name in there), there[0])
        names = name_column(
            read_frame(path, columns=[column], text=[column]), column, Origin(str(path))
        ).names
    if not names:
        raise DataError(f"{path}: names no sample.")
    return names


def told_apart(run: Run, learner_by: Sequence[str]) -> Run:
    """The run with the settings that tell learners apart in the name of its learner."""
    said = ", ".join(f"{one}={run.settings[one]}" for one in learner_by if one in run.settings)
    return replace(run, learner=f"{run.learner} ({said})") if said else run


def check_settings(collection: Collection, learner_by: Sequence[str]) -> None:
    """A setting that no run has cannot tell learners apart."""
    known = {name for one in collection.kept for name in one.run.settings}
    for name in learner_by if collection.kept else ():
        if name not in known:
            there = quoted(sorted(known)) if known else "none"
            raise SettingError(
                f"no log has the setting {name!r} (--learner-by); the settings in the logs are: {there}."
            )
