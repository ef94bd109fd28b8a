"""Several judges of the same answers: agreement, severity, favours, and the board under each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.display import Grid, Part, Printable, brief, counted, intervals, listed, percent
from camilla.errors import DataError, SettingError
from camilla.learners.rank import Ranking, rank
from camilla.names import nearest, quoted
from camilla.provenance import made_of
from camilla.reading.inputs import ReadOptions, read_with_account
from camilla.reading.judges import JudgedAnswers, answers_of_tables
from camilla.statistics.clusters import FEW
from camilla.statistics.intervals import NONE
from camilla.statistics.multiplicity import holm
from camilla.statistics.raters import (
    Coefficient,
    alpha,
    deviations,
    holm_without_mirrors,
    learner_contrasts,
    mean_test,
    rater_pair,
)
from camilla.table.cells import zero_or_one
from camilla.table.responses import ResponseTable

ALL = "all judges"  # the board of the mean over judges
COEFFICIENTS = ("equal", "kappa", "alpha", "correlation", "mean_difference", "absolute")


@dataclass(frozen=True, eq=False, repr=False)
class Judges(Printable):
    """The comparison of several judges on the same answers.

    `boards` has a ranking under each judge and one of the mean over judges, all on the answers that every
    judge scored; it is empty where learners cannot be ranked.

    Attributes
    ----------
    judges : tuple of str
        Names of the judges.
    level : float
        Coverage of the intervals.
    alpha : Coefficient
        Krippendorff's α of all judges.
    pairs : DataFrame
        One row per pair of judges: each coefficient of agreement with its interval.
    severity : DataFrame
        One row per judge: how far its scores are above or below the others'.
    favours : DataFrame
        One row per judge and learner: how far the judge favours the learner.
    boards : mapping
        A `Ranking` under each judge and under the mean of judges; empty where learners cannot be
        ranked.
    taus : DataFrame
        Rank correlation of each pair of boards.
    n_answers : int
        Answers that several judges scored.
    n_alone : int
        Answers that one judge alone scored; they are left out.
    n_by_all : int
        Answers that every judge scored.
    notes : tuple of str
        Sentences that a reader must know before using the result.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.

    Examples
    --------
    >>> judged = [(x, n, judge) for x in "ab" for n in range(4) for judge in ("x", "yy")]
    >>> rows = [(*one, (one[1] + len(one[2])) % 2) for one in judged]
    >>> frame = pl.DataFrame(rows, schema=["learner", "sample", "judge", "response"], orient="row")
    >>> judges = camilla.judges(frame)
    >>> judges.judges, judges.n_answers
    (('x', 'yy'), 8)
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"pairs": 6, "learners": 8}

    judges: tuple[str, ...]
    level: float
    alpha: Coefficient  # of all judges
    pairs: pl.DataFrame  # a, b, n, samples, and each coefficient with low and high
    severity: pl.DataFrame  # judge, n, mean, difference, low, high, p_value, holm_p, differs
    favours: pl.DataFrame  # judge, learner, n, difference, low, high, p_value, holm_p, favours
    boards: Mapping[str, Ranking]
    taus: pl.DataFrame  # a, b, tau
    n_answers: int
    n_alone: int  # answers that one judge alone scored: left out of everything
    n_by_all: int
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def best(self) -> dict[str, list[str]]:
        """The learners with the highest mean under each judge."""
        return {
            name: board.rows.filter(pl.col("mean").round(12) == pl.col("mean").round(12).max())[
                "learner"
            ].to_list()
            for name, board in self.boards.items()
        }

    @property
    def verdict(self) -> Literal["agree on the best", "disagree on the best", "no board"]:
        """Whether every judge has the same learners first."""
        firsts = {tuple(sorted(names)) for judge, names in self.best.items() if judge != ALL}
        if not firsts:
            return "no board"
        return "agree on the best" if len(firsts) == 1 else "disagree on the best"

    @property
    def contradictions(self) -> list[tuple[str, str]]:
        """Pairs of learners that two judges tell apart in opposite directions."""
        sure = [
            set(board.pairs().filter("told_apart").select("a", "b").iter_rows())
            for name, board in self.boards.items()
            if name != ALL
        ]
        return sorted({pair for one in sure for other in sure for pair in one if pair[::-1] in other})

    @property
    def answer(self) -> str:
        """Whether the choice of the judge changes who is best, and which ranks."""
        return _answer(self)

    def parts(self, *, pairs: int = 20, learners: int = 10) -> list[Part]:
        """Returns what `text` prints: the answer, agreement, severity, favours, the rankings, the notes.

        Parameters
        ----------
        pairs : int
            How many pairs of judges to list.
        learners : int
            How many learners to list.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> judged = [(x, n, judge) for x in "ab" for n in range(4) for judge in ("x", "yy")]
        >>> rows = [(*one, (one[1] + len(one[2])) % 2) for one in judged]
        >>> frame = pl.DataFrame(rows, schema=["learner", "sample", "judge", "response"], orient="row")
        >>> judges = camilla.judges(frame)
        >>> len(judges.parts(pairs=1)) > 1
        True
        """
        out: list[Part] = [self.answer, _alpha_sentence(self), _pair_grid(self, pairs), _severity_grid(self)]
        out += _favour_parts(self)
        if self.boards:
            out += [_board_grid(self, learners), _tau_sentence(self)]
        return [*out, *(f"note: {note}" for note in self.notes)]

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> judged = [(x, n, judge) for x in "ab" for n in range(4) for judge in ("x", "yy")]
        >>> rows = [(*one, (one[1] + len(one[2])) % 2) for one in judged]
        >>> frame = pl.DataFrame(rows, schema=["learner", "sample", "judge", "response"], orient="row")
        >>> judges = camilla.judges(frame)
        >>> judges.to_document()["verdict"]
        'agree on the best'
        """
        return {
            "verdict": self.verdict,
            "answer": self.answer,
            "judges": list(self.judges),
            "level": self.level,
            "answers": {"n": self.n_answers, "by_one_judge": self.n_alone, "by_all_judges": self.n_by_all},
            "alpha": self.alpha._asdict(),
            "pairs": self.pairs.to_dicts(),
            "severity": self.severity.to_dicts(),
            "favours": self.favours.to_dicts(),
            "boards": {name: board.rows.to_dicts() for name, board in self.boards.items()},
            "best": self.best,
            "contradictions": [list(pair) for pair in self.contradictions],
            "taus": self.taus.to_dicts(),
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }


def judges(
    *sources: Any, only: str | Sequence[str] = (), level: float = 0.95, **options: Unpack[ReadOptions]
) -> Judges:
    """Whether judges of the same answers agree, and whether it matters which of them is believed.

    A judge is whatever gives a score: a metric behind a filter in logs, a scorer, an annotator, a name in a
    column of judges in a table. Samples, or their clusters, are what intervals and tests are over.

    Parameters
    ----------
    *sources
        Logs, a table file or a dataframe, as in `camilla.read`; or a dict with a response table for each
        judge.
    only : str or list of str, optional
        The judges to compare; all by default.
    level : float
        Coverage of the intervals.
    **options
        How files and frames are read, as in `camilla.read`; `judge` names the column of judges.

    Returns
    -------
    Judges
        `alpha`, `pairs`, `severity`, `favours`, `boards`, `taus`, `answer`, `notes`.

    Raises
    ------
    DataError
        Fewer than two judges score the same answers.

    Examples
    --------
    >>> import camilla, polars
    >>> frame = polars.DataFrame(
    ...     {
    ...         "learner": ["a"] * 8,
    ...         "sample": [1, 2, 3, 4] * 2,
    ...         "judge": ["x"] * 4 + ["y"] * 4,
    ...         "response": [1, 0, 1, 1, 1, 0, 0, 1],
    ...     }
    ... )
    >>> camilla.judges(frame).pairs.select("a", "b", "n", "equal", "kappa").rows()
    [('x', 'y', 4, 0.75, 0.5)]
    """
    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1; got {level:g}.")
    answers, notes = _read(sources, options)
    wanted = (only,) if isinstance(only, str) else tuple(only)
    return compare_judges(_only(answers, wanted), level=level, notes=notes)


def _read(sources: Sequence[Any], options: Mapping[str, Any]) -> tuple[JudgedAnswers, list[str]]:
    if len(sources) == 1 and isinstance(sources[0], Mapping):
        tables = sources[0]
        if options or not all(isinstance(table, ResponseTable) for table in tables.values()):
            raise SettingError(
                "a dict of judges must have one ResponseTable for each judge, and takes no options for "
                "reading."
            )
        return answers_of_tables(tables), []
    reading = read_with_account(*sources, **options)
    if reading.judged is None:
        reading.table  # noqa: B018, matches between players are an error of their own
        raise DataError(
            "nothing names judges: a table needs a column called judge, or judge=… (--judge) for another "
            "name. Where each judge has a file of its own, give a dict of tables in Python."
        )
    return reading.judged(), reading.joining_notes()


def _only(answers: JudgedAnswers, wanted: Sequence[str]) -> JudgedAnswers:
    """The facet of these judges, without answers that none of them scored."""
    for name in wanted:
        if name not in answers.judges:
            raise SettingError(f"no judge is called {name!r}. {nearest(name, answers.judges)}")
    names = tuple(dict.fromkeys(wanted)) or answers.judges
    if len(names) < 2:
        raise DataError(
            f"there is one judge, {quoted(names)}, and nothing to compare it with. Judges are the metrics "
            "and scorers of a log, or the names in a column of judges of a table (judge=…, --judge COLUMN). "
            "To rank by one judge, use camilla rank."
        )
    return answers.of(names)


def compare_judges(answers: JudgedAnswers, *, level: float = 0.95, notes: Sequence[str] = ()) -> Judges:
    """What `judges` says of a facet that is read already."""
    panel, apart = _panel(answers)
    n_judges = (~np.isnan(panel.score)).sum(axis=1)
    n_alone, n_by_all = int(np.sum(n_judges == 1)), int(np.sum(n_judges == len(panel.judges)))
    unit, off = panel.unit()[panel.sample], deviations(panel.score)
    boards, unranked = _boards(panel, level)
    return Judges(
        panel.judges,
        level,
        alpha(panel.score, unit, level),
        _pairs(panel, unit, level),
        _severity(panel, off, unit, level),
        _favours(panel, off, level),
        boards,
        _taus(boards),
        len(n_judges),
        n_alone,
        n_by_all,
        (*apart, *unranked, *_notes(panel, unit, n_alone, n_by_all), *notes),
        made_of(_table(panel, np.nanmean(panel.score, axis=1)), level=level, judges=list(panel.judges)),
    )


def _panel(answers: JudgedAnswers) -> tuple[JudgedAnswers, list[str]]:
    """The judges that share answers, directly or through others: of several such sets the largest."""
    seen = ~np.isnan(answers.score)
    shared_through = (seen.T.astype(np.int64) @ seen > 0).astype(np.int64)
    for _ in answers.judges:
        shared_through = (shared_through @ shared_through > 0).astype(np.int64)
    sets = {tuple(np.flatnonzero(row)) for row in shared_through}
    sizes = {one: int((seen[:, one].sum(axis=1) > 1).sum()) for one in sets}
    largest = max(sorted(sets), key=lambda one: sizes[one])
    if len(largest) < 2:
        raise DataError(
            f"no two of the {len(answers.judges)} judges, {quoted(answers.judges)}, score the same answer of "
            "the same learner, so there is nothing to compare. Check that learners, samples and trials have "
            "the same names under each judge."
        )
    if len(largest) == len(answers.judges):
        return answers, []
    gone = [name for at, name in enumerate(answers.judges) if at not in largest]
    note = (
        f"{counted(len(gone), 'judge')} score other answers and are left out: {quoted(gone)}. Compare them "
        "separately: only=… (--only)."
    )
    return answers.of([answers.judges[at] for at in largest]), [note]


def _pairs(panel: JudgedAnswers, unit: NDArray[np.int64], level: float) -> pl.DataFrame:
    rows = []
    for i, j in combinations(range(len(panel.judges)), 2):
        found = rater_pair(panel.score[:, i], panel.score[:, j], unit, level)
        row: dict[str, Any] = {"a": panel.judges[i], "b": panel.judges[j], "n": found.n, "units": found.units}
        for name in COEFFICIENTS:
            value = getattr(found, name)
            row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        rows.append(row)
    return pl.DataFrame(rows).fill_nan(None)


def _severity(panel: JudgedAnswers, off: Floats, unit: NDArray[np.int64], level: float) -> pl.DataFrame:
    """Two judges deviate by the same amount each, so that there is one test of them."""
    found = []
    for at in range(len(panel.judges)):
        rows = ~np.isnan(off[:, at])
        found.append(mean_test(off[rows, at], unit[rows], level))
    p = np.array([one.p_value for one in found])
    adjusted = p if len(p) == 2 else holm(p)
    means = [float(np.nanmean(panel.score[~np.isnan(off[:, at]), at])) for at in range(len(panel.judges))]
    frame = pl.DataFrame([{"judge": name, "n": one.n, "mean": mean} | one._asdict()
                          for name, mean, one in zip(panel.judges, means, found, strict=True)])  # fmt: skip
    return frame.with_columns(holm_p=adjusted, differs=adjusted < 1 - level).fill_nan(None)


def _favours(panel: JudgedAnswers, off: Floats, level: float) -> pl.DataFrame:
    """Judge × learner: how much more a judge gives a learner than the others do, beyond its severity.

    On each sample the deviation of the judge on the learner's answer less its mean deviation on the answers
    of the other learners. With two judges, or two learners, half of the tests mirror the other half.
    """
    n_judges, n_learners = len(panel.judges), len(panel.learners)
    shape, unit = (n_learners, len(panel.samples)), panel.unit()
    schema = {"judge": pl.String, "learner": pl.String, "n": pl.Int64, "difference": pl.Float64,
              "low": pl.Float64, "high": pl.Float64, "p_value": pl.Float64}  # fmt: skip
    rows = []
    p = np.ones((n_judges, n_learners))
    if n_learners > 1:
        for j in range(n_judges):
            contrasts = learner_contrasts(off[:, j], panel.learner, panel.sample, shape)
            for k in range(n_learners):
                there = np.flatnonzero(~np.isnan(contrasts[k]))
                found = mean_test(contrasts[k, there], unit[there], level)
                p[j, k] = found.p_value
                rows.append({"judge": panel.judges[j], "learner": panel.learners[k]} | found._asdict())
    adjusted = holm_without_mirrors(p).ravel()[: len(rows)]
    frame = pl.DataFrame(rows, schema=schema).with_columns(holm_p=adjusted, favours=adjusted < 1 - level)
    return frame.fill_nan(None)


def _boards(panel: JudgedAnswers, level: float) -> tuple[dict[str, Ranking], list[str]]:
    """On answers that all judges scored; else, for want of two such samples, on what each judge scored."""
    every = ~np.isnan(panel.score).any(axis=1)
    if len(panel.learners) < 2:
        return {}, ["one learner was scored: there is no board to compare."]
    common = len(np.unique(panel.sample[every])) > 1 and len(np.unique(panel.learner[every])) > 1
    columns = dict(zip(panel.judges, panel.score.T, strict=True))
    if common:
        columns = {name: np.where(every, score, np.nan) for name, score in columns.items()}
        columns[ALL] = np.where(every, panel.score.mean(axis=1), np.nan)
    try:
        boards = {
            name: rank(_table(panel, score), level=level, across_blocks=True)
            for name, score in columns.items()
        }
    except DataError as error:
        return {}, [f"there is no board under each judge: {error}"]
    if common:
        return boards, []
    return boards, [
        "too few answers were scored by all judges: boards use the answers that each judge scored, and may "
        "differ for this reason alone. There is no board of the mean over judges."
    ]


def _table(panel: JudgedAnswers, score: Floats) -> ResponseTable:
    """The answers with these scores; those without one are left out."""
    rows = ~np.isnan(score)
    return ResponseTable(
        panel.learners, panel.samples, panel.learner[rows].astype(np.int32),
        panel.sample[rows].astype(np.int32), score[rows], cluster=panel.cluster,
    )  # fmt: skip


def _taus(boards: Mapping[str, Ranking]) -> pl.DataFrame:
    """Kendall's tau-b between the means of the learners that both boards have; null where all are tied."""
    from scipy.stats import kendalltau  # half a second to load

    rows = []
    for a, b in combinations(boards, 2):
        both = boards[a].rows.join(boards[b].rows, on="learner", suffix="_b")
        one, other = (both[name].round(12).to_numpy() for name in ("mean", "mean_b"))
        told = len(both) > 1 and np.ptp(one) > NONE and np.ptp(other) > NONE
        rows.append({"a": a, "b": b, "tau": float(kendalltau(one, other).statistic) if told else None})
    return pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String, "tau": pl.Float64})


def _notes(panel: JudgedAnswers, unit: NDArray[np.int64], n_alone: int, n_by_all: int) -> list[str]:
    notes = []
    n = len(panel.score)
    if n_alone:
        notes.append(
            f"{n_alone} of {n} answers were scored by one judge only: they say nothing about agreement and "
            "are left out."
        )
    if n_by_all < n - n_alone:
        notes.append(
            f"{n_by_all} of {n} answers were scored by all {len(panel.judges)} judges; pairs are compared on "
            "what both scored, severity on what at least two scored, and boards on what all scored."
        )
    units = len(np.unique(unit))
    if panel.cluster is not None and units < FEW:
        notes.append(f"only {units} clusters: intervals are wide because little is known of how they differ.")
    if not all(zero_or_one(column[~np.isnan(column)]).all() for column in panel.score.T):
        notes.append("some scores are graded: alpha takes distances between them at face value.")
    return notes


def _answer(found: Judges) -> str:
    boards = {name: board for name, board in found.boards.items() if name != ALL}
    if not boards:
        return f"{counted(len(found.judges), 'judge')} are compared on {counted(found.n_answers, 'answer')}."
    best = {name: tuple(found.best[name]) for name in boards}
    firsts = list(dict.fromkeys(best.values()))
    moved = _moved(boards)
    if len(firsts) > 1:
        who = "; ".join(
            f"{listed(names)} under {listed([judge for judge, of in best.items() if of == names])}"
            for names in firsts
        )
        return f"The choice of the judge changes who is best: {who}. {_sureness(found)}"
    if not moved:
        return (
            f"The choice of the judge changes neither who is best nor any rank: {listed(firsts[0])} "
            f"{'is' if len(firsts[0]) == 1 else 'are'} first under each of {len(boards)} judges."
        )
    return (
        f"The choice of the judge does not change who is best, {listed(firsts[0])}, but it changes the ranks "
        f"of {counted(len(moved), 'learner')}: {listed(moved)}. {_sureness(found)}"
    )


def _moved(boards: Mapping[str, Ranking]) -> list[str]:
    """Learners whose rank is not the same on all boards; equal means share a rank."""
    ranks: dict[str, set[float]] = {}
    for board in boards.values():
        place = board.rows["mean"].round(12).rank("min", descending=True)
        for learner, of in zip(board.learners, place, strict=True):
            ranks.setdefault(learner, set()).add(of)
    return [learner for learner, places in ranks.items() if len(places) > 1]


def _sureness(found: Judges) -> str:
    """Whether judges contradict each other, or only order what none of them can tell apart."""
    against = found.contradictions
    if not against:
        return "No two learners are told apart in opposite directions by two judges."
    pairs = [f"{brief(a)} and {brief(b)}" for a, b in against if a < b]
    return f"Judges tell {listed(pairs, 3)} apart in opposite directions."


def _alpha_sentence(found: Judges) -> str:
    value, low, high = found.alpha
    if np.isnan(value):
        return "Krippendorff's alpha cannot be given: all scores are equal."
    ends = "no interval" if np.isnan(low) else f"{percent(found.level)} CI {low:.2f} to {high:.2f}"
    n = found.n_answers - found.n_alone
    who = "both judges" if len(found.judges) == 2 else f"all {len(found.judges)} judges"
    return (
        f"Agreement of {who}: Krippendorff's alpha {value:.2f} ({ends}) on "
        f"{counted(n, 'answer')}; 1 is perfect, 0 is chance."
    )


def _pair_grid(found: Judges, most: int) -> Grid:
    """Kappa where all scores are 0 or 1, else alpha, correlation and mean distance."""
    frame = found.pairs.sort("alpha", nulls_last=True, maintain_order=True).head(most)
    ends = f"{percent(found.level)} CI"
    binary = found.pairs["kappa"].is_not_null().any() and found.pairs["kappa"].null_count() == 0
    columns: list[Any] = [
        "a",
        "b",
        "n",
        "equal",
        pl.Series(ends, intervals(frame, "equal_low", "equal_high")),
    ]
    names = ("kappa",) if binary else ("alpha", "correlation")
    for name in names:
        texts = intervals(frame, f"{name}_low", f"{name}_high", 2)
        columns += [name, pl.Series(f"{name} {ends}", texts, pl.String)]
    columns += [] if binary else [pl.col("absolute").alias("|a − b|")]
    shown = frame.select(*columns)
    more = f", the {most} that agree least" if len(found.pairs) > most else ""
    fixed = tuple(name for name in shown.columns if name.endswith(ends))
    return Grid(f"Pairs of judges, on the answers that both scored{more}", shown, fixed=fixed, spare=("n",))


def _severity_grid(found: Judges) -> Grid:
    ends = f"{percent(found.level)} CI"
    frame = found.severity.sort("difference", maintain_order=True)
    shown = frame.select(
        "judge", "n", "mean", "difference",
        pl.Series(ends, intervals(frame, "low", "high"), pl.String), "holm_p",
        severity=pl.when(~pl.col("differs")).then(pl.lit("not told apart"))
        .when(pl.col("difference") < 0).then(pl.lit("severe")).otherwise(pl.lit("lenient")),
    )  # fmt: skip
    title = "Severity: each judge minus the mean of all judges on the same answers"
    return Grid(title, shown, fixed=(ends,), spare=("n",))


def _favour_parts(found: Judges) -> list[Part]:
    """Only those that hold."""
    if found.favours.is_empty():
        return []
    frame = found.favours.filter("favours").sort("difference", descending=True, maintain_order=True)
    if frame.is_empty():
        return ["No judge favours a learner (judge × learner deviations, Holm over all)."]
    ends = f"{percent(found.level)} CI"
    shown = frame.select(
        "judge", "learner", "n", "difference", pl.Series(ends, intervals(frame, "low", "high"), pl.String),
        "holm_p",
    )  # fmt: skip
    title = (
        "Favours: how much more than other judges a judge gives a learner, beyond what it gives other "
        "learners"
    )
    return [Grid(title, shown, fixed=(ends,), spare=("n",))]


def _board_grid(found: Judges, most: int) -> Grid:
    """Learners by the mean over judges, with mean and possible ranks under each."""
    names = [ALL, *found.judges] if ALL in found.boards else list(found.judges)
    frame = found.boards[names[0]].rows.head(most).select("learner")
    for name in names:
        rows = found.boards[name].rows
        text = [f"{mean:.3f} ({rank}, {low}–{high})" for mean, rank, low, high in
                rows.select("mean", "rank", "rank_low", "rank_high").iter_rows()]  # fmt: skip
        column = rows.select("learner", pl.Series(name, text, pl.String))
        frame = frame.join(column, on="learner", how="left", maintain_order="left")
    n = found.n_by_all if ALL in found.boards else found.n_answers
    title = f"Mean under each judge (rank, possible ranks) on {counted(n, 'answer')}"
    return Grid(title, frame, fixed=tuple(names))


def _tau_sentence(found: Judges) -> str:
    taus = found.taus.filter((pl.col("a") != ALL) & (pl.col("b") != ALL)).drop_nulls("tau").sort("tau")
    if taus.is_empty():
        return "Kendall's tau between boards cannot be given: learners are tied."
    a, b, tau = taus.row(0)
    if len(taus) == 1:
        return f"Kendall's tau between the two boards is {tau:.2f}."
    return (
        f"Kendall's tau between the boards of two judges is {tau:.2f} ({brief(a)} and {brief(b)}) to "
        f"{taus['tau'][-1]:.2f}."
    )
