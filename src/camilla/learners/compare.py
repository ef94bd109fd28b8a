"""A against B: by how much, how sure, on what, and which samples flipped."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.display import Grid, Part, Printable, brief, counted, intervals, listed, percent
from camilla.errors import DataError, SettingError
from camilla.learners.comment import comment
from camilla.learners.gates import Gate, gate_of
from camilla.learners.sentences import macro_sentence, sentence
from camilla.learners.two_sources import read_two
from camilla.provenance import made_of, place_of
from camilla.reading.inputs import ReadOptions, read
from camilla.statistics.clusters import FEW
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import (
    Estimate,
    Noise,
    PairedResponses,
    Verdict,
    estimate,
    noise_of,
    pair_of,
    paired_test,
    verdict_of,
)
from camilla.statistics.strata import MacroEffect, macro_effect
from camilla.table.content import KeptContent, Look, excerpts, shown_samples
from camilla.table.responses import ResponseTable


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
    low: float  # of this difference alone, as the p-value is
    high: float
    p_value: float
    simultaneous_low: float | None  # all tasks' intervals hold together; None for all samples together
    simultaneous_high: float | None
    holm_p: float | None  # adjusted over the tasks; None for all samples together
    test: str
    won: int  # samples on which B is above A
    lost: int
    n_tests: int = 1  # tasks that are tested together

    def verdict(self, level: float) -> Verdict:
        """What the test says of B: "probably" where only one test alone would say so."""
        return verdict_of(
            self.difference, self.p_value, self.low, self.high, level=level, adjusted_p=self.holm_p,
            units=self.n if self.n_clusters is None else self.n_clusters, tests=self.n_tests,
        )  # fmt: skip

    def to_document(self, level: float) -> dict[str, Any]:
        """Everything as plain data, with the verdict."""
        document = asdict(self) | {"verdict": self.verdict(level)}
        del document["n_tests"]
        return document


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Printable):
    """The comparison of two learners on the samples that both answered; differences are B − A.

    Attributes
    ----------
    a : str
        Name of the first learner.
    b : str
        Name of the second learner.
    level : float
        Coverage of the intervals.
    overall : Effect
        The difference over all shared samples, with interval, p-value and means.
    tasks : tuple of Effect
        The same for each task.
    noise : Noise or None
        Noise within and between samples, where there are trials.
    flipped : DataFrame
        Samples on which the two differ, A's losses first: sample, task, a, b.
    only_a : int
        Samples that only A answered; they are left out.
    only_b : int
        Samples that only B answered; they are left out.
    notes : tuple of str
        Sentences that a reader must know before using the result.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.
    macro : MacroEffect or None
        The difference with each task counted once; None with fewer than two tasks.
    paired : PairedResponses
        The responses that were compared.
    stratum : array or None
        Number of each shared sample's task.
    content : KeptContent or None
        Prompts, references and answers, where the table has them.

    Examples
    --------
    >>> comparison = camilla.compare(camilla.digits(), "svm rbf", "forest 100")
    >>> comparison.overall.verdict(comparison.level)
    'worse'
    """

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
    macro: MacroEffect | None  # each task counted once; None where there are fewer than two tasks
    paired: PairedResponses
    stratum: NDArray[np.int64] | None  # the number of each shared sample's task, in the order of `tasks`
    content: KeptContent | None = None

    def is_worse(self, margin: float | None = None) -> bool:
        """Returns whether B is significantly below A (difference < 0 and p < 1 − level).

        With a margin: whether it is not shown that B is at most `margin` below A, as in a test of
        non-inferiority (the interval's lower end lies below −margin).

        Parameters
        ----------
        margin : float, optional
            How far B may be below A.

        Returns
        -------
        bool
            Whether B is worse in this sense.

        Examples
        --------
        >>> comparison = camilla.compare(camilla.digits(), "svm rbf", "forest 100")
        >>> comparison.is_worse(), comparison.is_worse(margin=0.05)
        (True, False)
        """
        if margin is None:
            return self.overall.difference < 0 and self.overall.p_value < 1 - self.level
        return not self.overall.low >= -margin

    def gate(
        self, *, by: str | None = None, margin: float | None = None, allow: Mapping[str, float] | None = None
    ) -> Gate:
        """Decides whether B passes, overall and, with by="task", on each task.

        Without a margin B fails where it is significantly worse, on a task by more than `allow` says of it;
        p-values of tasks are adjusted (Holm). With a margin B fails unless it is shown to be at most that
        much below A, everywhere; `allow` has the margins of single tasks. B then passes only if all tests
        do, so that none is adjusted.

        Parameters
        ----------
        by : "task", optional
            Judge each task too.
        margin : float, optional
            How far B may be below A.
        allow : mapping, optional
            Of single tasks: how far B may be below A.

        Returns
        -------
        Gate
            Whether B passes, with the reasons.

        Examples
        --------
        >>> comparison = camilla.compare(camilla.digits(), "svm rbf", "forest 100")
        >>> comparison.gate().failed
        True
        """
        return gate_of(self, by=by, margin=margin, allow=allow or {})

    def markdown(self, gate: Gate | None = None, *, flips: int = 25) -> str:
        """Returns a comment for a pull request: the answer, the gate, the tasks, the flipped samples.

        Text from data is escaped, so that it neither links nor mentions anybody.

        Parameters
        ----------
        gate : Gate, optional
            What `gate` returned.
        flips : int
            How many flipped samples to list.

        Returns
        -------
        str
            Markdown.

        Examples
        --------
        >>> comparison = camilla.compare(camilla.digits(), "svm rbf", "forest 100")
        >>> comparison.markdown().splitlines()[0]
        '<!-- camilla compare -->'
        """
        return comment(self, gate, flips=flips)

    def parts(self, *, flips: int = 5, tasks: int | None = None, show: int = 0) -> list[Part]:
        """Returns what `text` prints: the verdict, the tasks, flipped samples and notes.

        `show` flipped samples each way are shown with what they ask and what A and B answered.

        Parameters
        ----------
        flips : int
            How many flipped samples to list each way.
        tasks : int, optional
            How many tasks to list; all by default.
        show : int
            How many flipped samples each way to show with their content.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> comparison = camilla.compare(camilla.digits(), "svm rbf", "forest 100")
        >>> len(comparison.parts(flips=0))
        2
        """
        a, b = brief(self.a), brief(self.b)
        parts: list[Part] = [
            sentence(self.overall, self.level),
            f"A is {a} (mean {self.overall.mean_a:.3f}), B is {b} (mean {self.overall.mean_b:.3f}).",
        ]
        if self.macro is not None:
            parts.append(macro_sentence(self.macro, self.level))
        if self.tasks:
            parts.append(_task_grid(self.tasks, self.level, tasks))
        if self.noise is not None:
            parts.append(
                f"Trials: {percent(self.noise.share)} of the variance of a sample's difference is chance "
                "within samples. A rerun on the same samples would move B − A by "
                f"± {100 * self.noise.se_rerun:.1f} points (1 standard error)."
            )
        for word, rows in (("lost", self.lost), ("won", self.won)):
            names = rows["sample"].to_list()
            if names and flips:
                parts.append(f"B {word} {len(names)}: {listed(names, flips)}")
        shown = excerpts(self.content, self.looks(show)) if show else []
        return [*parts, *(f"note: {note}" for note in self.notes), *shown]

    @property
    def lost(self) -> pl.DataFrame:
        """The samples on which B is below A, the largest differences first."""
        return self._flipped(pl.col("b") < pl.col("a"))

    @property
    def won(self) -> pl.DataFrame:
        """The samples on which B is above A, the largest differences first."""
        return self._flipped(pl.col("b") > pl.col("a"))

    def _flipped(self, which: pl.Expr) -> pl.DataFrame:
        return self.flipped.filter(which).sort(
            (pl.col("b") - pl.col("a")).abs().round(9), descending=True, maintain_order=True
        )

    def looks(self, show: int) -> list[Look]:
        """Returns the first samples that B lost and that B won, with the answers of both learners.

        Parameters
        ----------
        show : int
            How many each way.

        Returns
        -------
        list
            The samples with their content.

        Examples
        --------
        >>> comparison = camilla.compare(camilla.digits(), "svm rbf", "forest 100")
        >>> len(comparison.looks(1))
        1
        """
        return [
            Look(row["sample"], word, ((self.a, row["a"]), (self.b, row["b"])))
            for word, rows in (("lost by B", self.lost), ("won by B", self.won))
            for row in rows.head(show).to_dicts()
        ]

    def to_document(self, *, show: int = 0, gate: Gate | None = None) -> dict[str, Any]:
        """Returns everything as plain data; with `show` also the content of flipped samples.

        Parameters
        ----------
        show : int
            How many flipped samples each way to show with their content.
        gate : Gate, optional
            What `gate` returned.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> comparison = camilla.compare(camilla.digits(), "svm rbf", "forest 100")
        >>> comparison.to_document()["verdict"]
        'worse'
        """
        shown = {"shown": shown_samples(self.content, self.looks(show))} if show else {}
        document = {
            "a": self.a,
            "b": self.b,
            "level": self.level,
            "verdict": self.overall.verdict(self.level),
            "answer": sentence(self.overall, self.level),
            "overall": self.overall.to_document(self.level),
            "macro": None if self.macro is None else self.macro._asdict(),
            "tasks": [task.to_document(self.level) for task in self.tasks],
            "noise": None if self.noise is None else self.noise._asdict(),
            "flipped": self.flipped.to_dicts(),
            "only_a": self.only_a,
            "only_b": self.only_b,
            "gate": None if gate is None else gate.to_document(),
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }
        return document | shown


def _task_grid(tasks: tuple[Effect, ...], level: float, most: int | None) -> Grid:
    chosen = tasks[:most]
    frame = pl.DataFrame([vars(task) for task in chosen], infer_schema_length=None)
    alone, together = f"{percent(level)} CI", "simultaneous CI"
    frame = frame.with_columns(
        pl.Series(alone, intervals(frame, "low", "high"), pl.String),
        pl.Series(together, intervals(frame, "simultaneous_low", "simultaneous_high"), pl.String),
        pl.Series("verdict", [task.verdict(level) for task in chosen], pl.String),
    ).select("task", "n", "mean_a", "mean_b", "difference", alone, "p_value", together, "holm_p", "verdict")
    more = "" if len(chosen) == len(tasks) else f", the first {len(chosen)}"
    return Grid(
        f"By task{more}; {task_words(len(tasks), level)}",
        frame, fixed=(alone, together, "verdict"), spare=("mean_a", "mean_b", alone, "p_value"),
    )  # fmt: skip


def task_words(n_tasks: int, level: float) -> str:
    """Which p-value and interval belong together, and which of them decide."""
    return (
        f"p_value and {percent(level)} CI are of each task alone, holm_p (Holm) and simultaneous CI "
        f"(Bonferroni) of all {n_tasks} tasks together; verdicts follow holm_p"
    )


def compare(
    table: Any,
    a: Any,
    b: str | None = None,
    *,
    level: float = 0.95,
    **options: Unpack[ReadOptions],
) -> Comparison:
    """Whether B differs from A on the samples both answered, with an interval, a test and the flips.

    Clusters and trials of the table are taken into account; each task is tested, with Holm's adjustment over
    tasks.

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
        `overall`, `macro`, `tasks`, `noise`, `flipped`, `notes`, `is_worse(margin)`, `gate(by="task")`,
        `markdown()`.

    Examples
    --------
    >>> import camilla
    >>> comparison = camilla.compare(camilla.digits(), "knn 1", "qda")
    >>> round(comparison.overall.difference, 4)
    -0.0061
    """
    if b is not None and isinstance(table, ResponseTable) and options:
        raise SettingError(
            f"{next(iter(options))!r} says how a file or frame is read; a ResponseTable has been read "
            "already."
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
    names, stratum = _tasks(table, pair)
    macro = None if stratum is None else macro_effect(pair, stratum, level)
    return Comparison(
        a, b, level, overall, _by_task(names, stratum, pair, level), noise, _flipped(table, pair),
        pair.only_a, pair.only_b, tuple(_notes(table, pair, overall, macro, noise)),
        made_of(table, a=a, b=b, level=level), macro, pair, stratum, table.content,
    )  # fmt: skip


def _effect(pair: PairedResponses, task: str | None, level: float, tests: int = 1) -> Effect:
    found: Estimate = estimate(pair, level)
    together = None if task is None else estimate(pair, 1 - (1 - level) / tests)
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
        simultaneous_low=None if together is None else together.low,
        simultaneous_high=None if together is None else together.high,
        holm_p=None,
        test=test.method,
        won=int(np.sum(pair.difference > 0)),
        lost=int(np.sum(pair.difference < 0)),
        n_tests=tests,
    )


def _tasks(table: ResponseTable, pair: PairedResponses) -> tuple[list[str], NDArray[np.int64] | None]:
    """The tasks of the shared samples by name, and each sample's; None if they are of one task."""
    if table.task is None:
        return [], None
    names, code = np.unique(np.array(table.task)[pair.sample], return_inverse=True)
    return names.tolist(), code if len(names) > 1 else None


def _by_task(
    names: Sequence[str], stratum: NDArray[np.int64] | None, pair: PairedResponses, level: float
) -> tuple[Effect, ...]:
    """Tasks by name, each tested, with Holm's adjustment over them; none if there is one task."""
    if stratum is None:
        return ()
    effects = [_effect(pair.take(stratum == k), name, level, len(names)) for k, name in enumerate(names)]
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


def _notes(
    table: ResponseTable,
    pair: PairedResponses,
    overall: Effect,
    macro: MacroEffect | None,
    noise: Noise | None,
) -> list[str]:
    notes = []
    if pair.only_a or pair.only_b:
        notes.append(
            f"{counted(pair.only_a, 'sample', 'was', 'were')} answered by A alone and "
            f"{pair.only_b} by B alone; these are left out."
        )
    if overall.n_clusters is not None and np.isnan(overall.se):
        notes.append("all shared samples belong to one cluster: no interval can be given.")
    elif overall.n_clusters is not None and overall.n_clusters < FEW:
        notes.append(
            f"only {overall.n_clusters} clusters: the interval is wide because so few clusters say little "
            "about how they vary."
        )
    if macro is not None and macro.se != macro.se:
        notes.append(
            "one task has a single shared sample or cluster, so that its spread is unknown: the macro "
            "average has no interval."
        )
    if table.trial is not None and noise is None:
        notes.append("no two shared samples were answered more than once by both: trial noise is not known.")
    return notes
