"""The design of an evaluation, estimated from a table of earlier responses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.display import Grid, Part, Printable, percent
from camilla.errors import DataError, SettingError
from camilla.provenance import made_of, place_of, versions
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.clusters import intraclass
from camilla.statistics.gate_power import GateDesign, chance_of_passing, loss_caught, samples_to_pass
from camilla.statistics.paired import PairedResponses, noise_of, pair_of
from camilla.statistics.power import Design, difference_for, power_of, samples_for
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

PAIRS = 100  # neighbours on the board that are looked at
FEWEST = 2  # samples: one has no spread
USUAL = (100, 300, 1000, 3000, 10000)  # numbers of samples, if none is asked for


class Needed(NamedTuple):
    """Samples that show a difference; None where no number does."""

    difference: float
    samples: int | None


class Seen(NamedTuple):
    """The smallest difference that samples show; None where they show none."""

    samples: int
    difference: float | None


class GateSeen(NamedTuple):
    """What a gate sees with so many samples."""

    samples: int
    loss: float | None  # the smallest on all samples that is caught with the power asked for
    passes: float | None  # with a margin: how often an equally good learner passes


class GatePlan(NamedTuple):
    """A gate of `compare`: what it sees, and how many samples it takes."""

    margin: float | None
    tasks: int | None  # tasks that are tested each; None: only all samples together
    seen: tuple[GateSeen, ...]
    needed: int | None  # samples with which an equally good learner passes with the power asked for


@dataclass(frozen=True, repr=False)
class Plan(Printable):
    """How many samples a difference takes, and which difference a number of samples shows.

    Attributes
    ----------
    design : Design
        The design that it rests on.
    power : float
        Power that was asked for.
    alpha : float
        Level of the test.
    needed : tuple
        For each difference, the number of samples that show it.
    seen : tuple
        For each number of samples, the smallest difference that they show.
    chance : float or None
        Power of one difference with one number of samples, if both were given.
    gate : GatePlan or None
        What a gate of `compare` sees, if a margin or tasks were given.
    notes : tuple of str
        Sentences that a reader must know before using the result.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.

    Examples
    --------
    >>> plan = camilla.power(camilla.Design(discordance=0.1), differences=0.05)
    >>> plan.needed[0].samples
    337
    """

    design: Design
    power: float
    alpha: float
    needed: tuple[Needed, ...]
    seen: tuple[Seen, ...]
    chance: float | None  # power of the one difference and number asked for together
    notes: tuple[str, ...]
    provenance: dict[str, Any]
    gate: GatePlan | None = None

    def parts(self) -> list[Part]:
        """Returns what `text` prints: an answer per question, the design, the notes.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> plan = camilla.power(camilla.Design(discordance=0.1), differences=0.05)
        >>> len(plan.parts())
        2
        """
        parts: list[Part] = [] if self.gate is None else _gate_parts(self.gate, self.power)
        if self.chance is not None:
            difference, samples = self.needed[0].difference, self.seen[0].samples
            parts.append(
                f"{samples} samples can detect a difference of {difference:g} with a power of "
                f"{percent(self.chance)}."
            )
        if len(self.needed) == 1:
            parts.append(_needed(self.needed[0], self.power))
        if len(self.seen) == 1:
            parts.append(_seen(self.seen[0], self.power))
        if len(self.needed) > 1:
            frame = pl.DataFrame(self.needed, schema=["difference", "samples"], orient="row")
            parts.append(Grid(f"Samples needed for a power of {percent(self.power)}", frame))
        if len(self.seen) > 1:
            frame = pl.DataFrame(self.seen, schema=["samples", "difference"], orient="row")
            parts.append(Grid(f"Smallest difference detected with a power of {percent(self.power)}", frame))
        return [*parts, self._assumptions(), *(f"note: {note}" for note in self.notes)]

    def _assumptions(self) -> str:
        design = self.design
        spread = (
            f"discordance {design.discordance:.3f} (share of samples that exactly one of the two gets right)"
            if design.discordance is not None
            else f"σ {design.sd:.3f} (standard deviation of a sample's difference)"
        )
        test = "an exact McNemar test" if design.is_exact else "a paired t-test"
        if self.gate is not None and self.gate.margin is not None:
            test = "the lower end of an interval (Tango's)" if design.is_exact else "Student's interval"
        return f"Assumes {test} at α = {self.alpha:g}, {spread}, design effect {design.effect:.3g}."

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> plan = camilla.power(camilla.Design(discordance=0.1), differences=0.05)
        >>> plan.to_document()["verdict"]
        'planned'
        """
        open_ended: list[float | None] = [row.samples for row in self.needed]
        open_ended += [row.difference for row in self.seen]
        if self.gate is not None:
            open_ended += [self.gate.needed] if self.gate.margin is not None else []
        return {
            "verdict": "cannot be shown" if None in open_ended else "planned",
            "design": asdict(self.design) | {"effect": self.design.effect},
            "power": self.power,
            "alpha": self.alpha,
            "needed": [row._asdict() for row in self.needed],
            "seen": [row._asdict() for row in self.seen],
            "chance": self.chance,
            "gate": None
            if self.gate is None
            else self.gate._asdict() | {"seen": [row._asdict() for row in self.gate.seen]},
            "notes": list(self.notes),
            "provenance": self.provenance,
        }


def _gate_parts(gate: GatePlan, power: float) -> list[Part]:
    """The answer to a margin, and what numbers of samples see."""
    what = "overall" if gate.tasks is None else f"overall and on each of {gate.tasks} tasks"
    column = "loss caught" if gate.margin is None else "equal passes"
    values = [row.loss if gate.margin is None else row.passes for row in gate.seen]
    frame = pl.DataFrame(
        {"samples": [row.samples for row in gate.seen], column: values},
        schema={"samples": pl.Int64, column: pl.Float64},
    )
    if gate.margin is None:
        title = (
            f"Gate {what}: the smallest loss on all samples that is caught with a power of {percent(power)}"
        )
        return [Grid(title, frame)]
    needed = "no number of samples is enough" if gate.needed is None else f"it takes {gate.needed:,} samples"
    return [
        f"For an equally good learner to pass with a power of {percent(power)}, {needed}.",
        Grid(
            f"Gate with a margin of {gate.margin:g} {what}: how often an equally good learner passes", frame
        ),
    ]


def _needed(row: Needed, power: float) -> str:
    if row.samples is None:
        return (
            f"No number of samples detects a difference of {row.difference:g} with a power of "
            f"{percent(power)}."
        )
    return f"A difference of {row.difference:g} takes {row.samples} samples for a power of {percent(power)}."


def _seen(row: Seen, power: float) -> str:
    if row.difference is None:
        return f"{row.samples} samples detect no difference with a power of {percent(power)}."
    return (
        f"{row.samples} samples can detect a difference of {row.difference:.3f} with a power of "
        f"{percent(power)}."
    )


class Estimated(NamedTuple):
    """A design read off a table, and what to know of it."""

    design: Design
    note: str


def design_of(table: ResponseTable, learners: tuple[str, str] | None = None) -> Estimated:
    """Discordance or σ, trial noise and cluster correlation of two learners, or of neighbours on the board.

    Neighbours, because they are what has to be told apart; medians over at most 100 pairs of them.
    """
    if learners is None:
        means = table.learner_means().mean
        board = np.argsort(-means, kind="stable")[: int(np.sum(~np.isnan(means)))]
        places = np.unique(np.linspace(0, max(len(board) - 2, 0), PAIRS).astype(int))
        chosen = [(int(board[i]), int(board[i + 1])) for i in places if i + 1 < len(board)]
    else:
        chosen = [(place_of(table, learners[0]), place_of(table, learners[1]))]
    pairs = [pair for pair in (pair_of(table, a, b) for a, b in chosen) if len(pair.sample) > 1]
    if not pairs:
        raise DataError("no two learners share two samples; nothing can be estimated from this table.")
    trials = max(1, round(float(table.cells().weight.mean())))
    found = _clustering(pairs)
    design = _median_design(pairs, trials, found._replace(icc=max(found.icc, 0.0)))
    said = f"estimated from {_source(pairs, design)}."
    if found.icc < 0:
        said += f" Differences within a cluster correlate by {found.icc:.3f}, which is taken as 0."
    return Estimated(design, said)


def design_of_pair(pair: PairedResponses, like: Design | None = None) -> Design:
    """How two learners differ on these samples as they are; of few flips `like` counts as one sample more."""
    size, icc = _clustering([pair])
    n = len(pair.sample)
    if pair.is_binary and pair.group is None:
        flips = float(np.sum(pair.difference != 0))
        if like is None or like.discordance is None:
            return Design(discordance=max(flips, 0.5) / n)
        return Design(discordance=(flips + like.discordance) / (n + 1))
    sd = float(np.std(pair.difference, ddof=1)) if n > 1 else 0.0
    least = 1e-3 if like is None or like.sd is None else like.sd
    return Design(sd=sd if sd > 0 else least, cluster_size=size, icc=max(icc, 0.0))


def _source(pairs: Sequence[PairedResponses], design: Design) -> str:
    """How many pairs, and how far what the design says of them, discordance or σ of one trial, spreads."""
    if len(pairs) == 1:
        return f"{len(pairs[0].sample)} samples of two learners"
    if design.discordance is not None:
        word, values = "discordance", np.array([np.mean(pair.difference != 0) for pair in pairs])
    else:
        values = np.array([np.std(pair.difference, ddof=1) for pair in pairs]) / np.sqrt(design.trial_effect)
        word = "σ" if design.trials == 1 else "σ of one trial"
    low, high = np.quantile(values, (0.1, 0.9))
    return f"{len(pairs)} neighbours on the board, {word} {low:.3f} to {high:.3f} (10–90 %)"


class Clustering(NamedTuple):
    """Samples a cluster, and how their differences correlate; medians over pairs."""

    size: float
    icc: float


def _clustering(pairs: Sequence[PairedResponses]) -> Clustering:
    grouped = [(pair.difference, pair.group) for pair in pairs if pair.group is not None]
    if not grouped:
        return Clustering(1.0, 0.0)
    return Clustering(
        float(np.median([len(group) / (group.max() + 1) for _, group in grouped])),
        float(np.median([intraclass(difference, group) for difference, group in grouped])),
    )


def _median_design(pairs: Sequence[PairedResponses], trials: int, clustering: Clustering) -> Design:
    size, icc = clustering
    if all(pair.is_binary for pair in pairs):
        discordance = float(np.median([np.mean(pair.difference != 0) for pair in pairs]))
        if discordance == 0:
            raise DataError(_alike(pairs))
        return Design(discordance=discordance, cluster_size=size, icc=icc)
    variance = float(np.median([np.var(pair.difference, ddof=1) for pair in pairs]))
    if variance == 0:
        raise DataError(_alike(pairs))
    noises = [noise for noise in map(noise_of, pairs) if noise is not None]
    share = float(np.median([noise.share for noise in noises])) if noises else 0.0
    once = 1 - share + trials * share  # variance with one trial, in units of the variance with all
    return Design(
        sd=float(np.sqrt(variance * once)), trial_share=trials * share / once,
        trials=trials, cluster_size=size, icc=icc,
    )  # fmt: skip


def _alike(pairs: Sequence[PairedResponses]) -> str:
    which = "the two learners" if len(pairs) == 1 else "most neighbours on the board"
    return (
        f"{which} differ by the same on every sample they share: no spread can be estimated from this table. "
        "Leave it out and give discordance or sd."
    )


def power(
    source: TableLike,
    learners: tuple[str, str] | None = None,
    *,
    rows: WideRows | None = None,
    differences: float | Sequence[float] = (),
    samples: int | Sequence[int] = (),
    power: float = 0.8,
    alpha: float = 0.05,
    trials: int | None = None,
    trial_share: float | None = None,
    cluster_size: float | None = None,
    icc: float | None = None,
    margin: float | None = None,
    by: str | None = None,
    tasks: int | None = None,
) -> Plan:
    """Computes how many samples show a difference, or which difference a number of samples can show.

    Parameters
    ----------
    source : Design, ResponseTable, dataframe or path
        A `Design`, or earlier responses from which it is estimated.
    learners : (str, str), optional
        Estimate from these two learners of the table; by default from neighbours on the leaderboard.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    differences : float or list of float
        Differences in mean response, as a fraction: 0.02 is two points.
    samples : int or list of int
        Numbers of samples.
    power : float
        Wanted probability that the test rejects when the difference is real.
    alpha : float
        Significance level of the two-sided test.
    trials, trial_share, cluster_size, icc : optional
        Replace what the source says about trials and clusters; see `Design`.
    margin : float, optional
        Plan the gate `compare(…).gate(margin=…)`: how often an equally good learner passes.
    by : {"task"}, optional
        Plan a gate that also tests each task: those of the table, or `tasks` of equal size.
    tasks : int, optional
        Number of tasks for `by="task"` where no table has them.

    Returns
    -------
    Plan
        `needed` samples for each difference, the smallest difference `seen` with each number of samples, the
        `chance` (power) of one pair of both, the `gate`, the `design`, `notes`.

    Raises
    ------
    SettingError
        A difference or number is out of range, or neither was given.

    Examples
    --------
    >>> plan = camilla.power(camilla.Design(discordance=0.02), differences=0.005)
    >>> plan.needed[0].samples
    6580
    """
    table, note = None, None
    if isinstance(source, Design):
        design = source
        if learners is not None:
            raise SettingError("learners belong to a table, but a design was given. Leave them out.")
    else:
        table = as_table(source, rows=rows)
        design, note = design_of(table, learners)
    given = DesignOptions(trials, trial_share, cluster_size, icc)
    design = replace(design, **{name: value for name, value in given._asdict().items() if value is not None})
    _refuse_idle(given, design)
    return _plan(
        design,
        differences=(differences,) if isinstance(differences, int | float) else tuple(differences),
        samples=(samples,) if isinstance(samples, int) else tuple(samples),
        power=power,
        alpha=alpha,
        note=note,
        table=table,
        gate=_gate_design(design, table, margin, by, tasks, alpha),
    )


def _gate_design(
    design: Design,
    table: ResponseTable | None,
    margin: float | None,
    by: str | None,
    tasks: int | None,
    alpha: float,
) -> GateDesign | None:
    """The gate that was asked for, with tasks as large as those of the table, or all alike."""
    if by not in (None, "task"):
        raise SettingError(f"a gate is by 'task', or only overall; got {by!r}.")
    if margin is not None and not 0 <= margin < 1:
        raise SettingError(f"--margin {margin:g}: a margin lies in 0 ≤ margin < 1.")
    if tasks is not None and (by is None or table is not None):
        raise SettingError(
            "--tasks is the number of tasks for --by task where no table has them. Leave it out."
        )
    if margin is None and by is None:
        return None
    sizes = [1]
    if by == "task":
        if table is not None and table.task is None:
            raise SettingError("--by task: the table has no tasks. Name their column with --task.")
        if table is None and (tasks is None or tasks < 2):
            raise SettingError("--by task needs a table with tasks, or their number: --tasks 10.")
        sizes = [1] * (tasks or 0) if table is None else list(Counter(table.task or ()).values())
    return GateDesign((design,) * len(sizes), tuple(sizes), by == "task", margin, (), alpha)


class DesignOptions(NamedTuple):
    """How many trials and clusters there are, and how far they agree."""

    trials: int | None
    trial_share: float | None
    cluster_size: float | None
    icc: float | None


def _refuse_idle(given: DesignOptions, design: Design) -> None:
    """Trials without noise within samples, noise without trials, and a correlation of clusters of one."""
    estimated = "or a table with several trials of a sample"
    if given.trials is not None and given.trial_share is None and design.trial_share == 0:
        raise SettingError(
            "the number of trials (--trials) does nothing without chance within samples: give its share "
            f"(--trial-share) {estimated}."
        )
    if given.trial_share is not None and given.trials is None and design.trials == 1:
        raise SettingError(
            "the share of chance within samples (--trial-share) does nothing with one trial per sample: give "
            f"their number (--trials) {estimated}."
        )
    if given.icc is not None and given.cluster_size is None and design.cluster_size == 1:
        raise SettingError(
            "a correlation within clusters (--icc) does nothing without clusters: give their size "
            "(--cluster-size), or the column of clusters (--cluster) of a table."
        )


def _plan(
    design: Design,
    *,
    differences: Sequence[float],
    samples: Sequence[int],
    power: float,
    alpha: float,
    note: str | None,
    table: ResponseTable | None,
    gate: GateDesign | None,
) -> Plan:
    if few := [n for n in samples if n < FEWEST]:
        raise SettingError(f"{few[0]} samples are too few; expected at least {FEWEST}.")
    most = design.discordance if design.discordance is not None else 1.0
    wanted, counts = list(differences), list(samples)
    if gate is None:
        wanted = wanted or ([] if samples else [d for d in (0.01, 0.02, 0.05, 0.1) if d <= most])
        counts = counts or ([] if differences else list(USUAL))
    elif not differences:  # the gate is the question
        counts = []
    chance = None
    if len(differences) == len(samples) == 1:
        chance = power_of(design, differences[0], samples[0], alpha=alpha)
    settings = {"power": power, "alpha": alpha, **asdict(design)}
    return Plan(
        design, power, alpha,
        tuple(Needed(d, samples_for(design, d, power=power, alpha=alpha)) for d in wanted),
        tuple(Seen(n, difference_for(design, n, power=power, alpha=alpha)) for n in counts),
        chance,
        () if note is None else (note,),
        {"settings": settings, "versions": versions()} if table is None else made_of(table, **settings),
        None if gate is None else _gate_plan(gate, samples or USUAL, power),
    )  # fmt: skip


def _gate_plan(gate: GateDesign, samples: Sequence[int], power: float) -> GatePlan:
    seen = []
    for n in samples:
        sized = gate.of_size(n)
        if gate.margin is None:
            seen.append(GateSeen(n, loss_caught(sized, power), None))
        else:
            seen.append(GateSeen(n, None, chance_of_passing(sized, 0.0)))
    tasks = len(gate.tasks) if gate.by_task else None
    needed = None if gate.margin is None else samples_to_pass(gate, power)
    return GatePlan(gate.margin, tasks, tuple(seen), needed)
