"""Several scores of one answer: how far what was passed over agrees with what was taken, the mean, the facet.

A judge is whoever or whatever gives a score: in logs a metric behind a filter, in tables, a name in a column
of judges. An answer is what one learner gave to one sample in one trial.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.errors import DataError, SettingError
from camilla.names import name_index, nearest, quoted
from camilla.reading.joining import Choices, Chosen, Merged, after_errors, without_conflicts
from camilla.reading.runs import GIVEN, REASON, SCHEMA, Collection, Kept, LearnerTask
from camilla.table.responses import ResponseTable

Whole = NDArray[np.int64]
ALL = "all"  # the metric that is the mean over judges
ANSWER = ("part", "sample", "trial")  # what makes two scores those of one answer; a part is a run
FIRST = "the first of those with the most scores"
SURE = ("as asked", "the only one")  # rules that leave no choice to make


class OtherJudge(NamedTuple):
    """A judge that was not taken, on the answers that it scored together with the one that was."""

    judge: str
    n: int
    equal: float | None  # share of equal scores
    correlation: float | None  # of graded scores


class PassedOver(NamedTuple):
    """The judge whose scores are the responses of a task, though nobody asked for it, and the others."""

    task: str | None  # None in a table file
    taken: str
    rule: str  # why it was taken
    others: list[OtherJudge]

    @property
    def matters(self) -> bool:
        """Whether the order of the list decided, and another judge would have scored an answer otherwise."""
        return "first" in self.rule and any(other.equal is None or other.equal < 1 for other in self.others)


@dataclass(frozen=True)
class JudgedAnswers:
    """Every score of every answer: the facet of judges, of which a response table has one."""

    judges: tuple[str, ...]
    learners: tuple[str, ...]
    samples: tuple[str, ...]
    learner: Whole  # [answers], index into learners
    sample: Whole  # [answers], index into samples
    score: Floats  # [answers, judges], NaN where the judge gave none
    cluster: tuple[str, ...] | None = None  # one per sample

    def unit(self) -> Whole:
        """What is independent, for each sample: its cluster, or itself."""
        if self.cluster is None:
            return np.arange(len(self.samples))
        return np.unique(np.array(self.cluster), return_inverse=True)[1]

    def of(self, judges: Sequence[str]) -> "JudgedAnswers":
        """The facet of these judges, without answers that none of them scored."""
        column = name_index(self.judges)
        score = self.score[:, [column[name] for name in judges]]
        rows = ~np.isnan(score).all(axis=1)
        learners, learner = np.unique(self.learner[rows], return_inverse=True)
        samples, sample = np.unique(self.sample[rows], return_inverse=True)
        return JudgedAnswers(
            tuple(judges),
            tuple(self.learners[i] for i in learners),
            tuple(self.samples[j] for j in samples),
            learner,
            sample,
            score[rows],
            None if self.cluster is None else tuple(self.cluster[j] for j in samples),
        )


def compared_with(scores: pl.DataFrame, taken: str, others: Sequence[str]) -> list[OtherJudge]:
    """How far each other judge agrees with the one taken; `scores` has ANSWER, judge and score."""
    once = scores.drop_nulls("score").unique([*ANSWER, "judge"], keep="first", maintain_order=True)
    own = once.filter(pl.col("judge") == taken).select(*ANSWER, own="score")
    pairs = once.filter(pl.col("judge") != taken).join(own, on=ANSWER)
    found = {
        row["judge"]: row
        for row in pairs.group_by("judge")
        .agg(
            n=pl.len(),
            equal=(pl.col("score") == pl.col("own")).mean(),
            graded=(~pl.col("score").is_in([0.0, 1.0]) | ~pl.col("own").is_in([0.0, 1.0])).any(),
            spread=pl.min_horizontal(pl.col("score").std(), pl.col("own").std()),
            correlation=pl.corr("score", "own"),
        )
        .iter_rows(named=True)
    }
    return [_other(name, found.get(name)) for name in others]


def _other(judge: str, row: Mapping[str, float] | None) -> OtherJudge:
    if row is None:
        return OtherJudge(judge, 0, None, None)
    known = row["graded"] and (row["spread"] or 0) > 0
    return OtherJudge(judge, int(row["n"]), row["equal"], row["correlation"] if known else None)


def passed_over(merged: Merged, codes: Mapping[LearnerTask, int]) -> list[PassedOver]:
    """The tasks of logs on which one of several judges was taken without being asked for."""
    found = []
    for task, chosen in merged.chosen.items():
        if chosen is None or not chosen.others or chosen.rule.startswith(SURE):
            continue
        scores = _scores([one for one in merged.kept if one.run.task == task], codes)
        others = compared_with(scores, chosen.pair.words, [pair.words for pair in chosen.others])
        found.append(PassedOver(task, chosen.pair.words, chosen.rule, others))
    return found


def _scores(kept: Sequence[Kept], codes: Mapping[LearnerTask, int]) -> pl.DataFrame:
    """ANSWER, judge, score, learner and what else rows have; files of one run are one part."""
    words = {code: pair.words for pair, code in codes.items() if pair.metric}
    parts: dict[tuple[str, str, str], int] = {}
    frames = [
        one.frame.filter(pl.col("pair").is_in(list(words))).with_columns(
            part=pl.lit(parts.setdefault((one.run.learner, one.run.task, one.run.run), len(parts)), pl.Int32),
            learner=pl.lit(one.run.learner),
            run=pl.lit(index, pl.Int32),
        )
        for index, one in enumerate(kept)
    ]
    if not frames:
        return pl.DataFrame(schema={**SCHEMA, "part": pl.Int32, "learner": pl.String, "judge": pl.String})
    return pl.concat(frames).with_columns(judge=pl.col("pair").replace_strict(words, return_dtype=pl.String))


def add_mean(collection: Collection, choices: Choices) -> Choices:
    """Gives each run the mean over all judges of its task as one more metric, where it is asked for.

    An answer that some judge of the task did not score has none. A log's own metric of that name is itself.
    """
    if choices.metric != ALL or any(pair.metric == ALL for pair in collection.codes):
        return choices
    pair = LearnerTask(ALL, choices.filter or "")
    by_task: dict[str, list[Kept]] = {}
    for one in collection.kept:
        by_task.setdefault(one.run.task, []).append(one)
    averaged: dict[int, Kept] = {}
    for kept in by_task.values():
        judges = _judges_of(kept, choices.filter)
        if judges:
            averaged |= _averaged(kept, judges, pair, collection)
    collection.kept = [averaged.get(id(one), one) for one in collection.kept]
    return replace(choices, filter=None)


def _judges_of(kept: Sequence[Kept], filter: str | None) -> list[LearnerTask]:
    there = dict.fromkeys(pair for one in kept for pair, scored in one.pairs.items() if scored)
    return [pair for pair in there if pair.metric not in ("", GIVEN) and filter in (None, pair.filter)]


def _averaged(
    kept: Sequence[Kept], judges: Sequence[LearnerTask], pair: LearnerTask, collection: Collection
) -> dict[int, Kept]:
    """The first file of each run with the rows of the mean."""
    code = collection.codes.setdefault(pair, len(collection.codes))
    wanted = [collection.codes[judge] for judge in judges]
    runs: dict[tuple[str, str], list[Kept]] = {}
    for one in kept:
        runs.setdefault((one.run.learner, one.run.run), []).append(one)
    found = {}
    for parts in runs.values():
        rows = _mean_rows(pl.concat([one.frame for one in parts]), wanted, code)
        pairs = parts[0].pairs | {pair: len(rows) - rows["score"].null_count()}
        found[id(parts[0])] = Kept(parts[0].run, pl.concat([parts[0].frame, rows]), pairs)
    return found


def _mean_rows(frame: pl.DataFrame, wanted: Sequence[int], code: int) -> pl.DataFrame:
    each = (
        frame.filter(pl.col("pair").is_in(wanted))
        .group_by("sample", "trial", "pair", maintain_order=True)
        .agg(pl.col("score").mean(), pl.col("content", "weight").first(), pl.col("why").max())
    )
    rows = each.group_by("sample", "trial", maintain_order=True).agg(
        pl.when(pl.col("score").count() == len(wanted)).then(pl.col("score").mean()).alias("score"),
        pl.col("content", "weight").first(),
        pl.col("why").max(),
    )
    unscored = pl.col("score").is_null() & (pl.col("why") == 0)
    return rows.with_columns(
        pair=pl.lit(code, pl.Int32), why=pl.when(unscored).then(REASON["unscored"]).otherwise("why")
    ).select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())


def named_mean(chosen: Mapping[str, Chosen | None]) -> dict[str, Chosen | None]:
    """The rule of each task, with the judges whose mean was taken."""

    def of(one: Chosen | None) -> Chosen | None:
        if one is None or one.pair.metric != ALL:
            return one
        return one._replace(rule=f"as requested, the mean of {', '.join(pair.words for pair in one.others)}")

    return {task: of(one) for task, one in chosen.items()}


def answers_of_logs(merged: Merged, codes: Mapping[LearnerTask, int], choices: Choices) -> JudgedAnswers:
    """All judges of the runs that were joined; samples that could not be joined are left out."""
    scores = _scores(merged.kept, codes)
    names = scores["sample"].unique(maintain_order=True)
    coded = scores.with_columns(sample=pl.col("sample").cast(pl.Enum(names)).to_physical())
    coded, _ = without_conflicts(coded, names, merged.kept)
    coded, _ = after_errors(coded, names, choices.on_error)
    table = merged.table
    cluster = None
    if table.cluster is not None:
        known = dict(zip(table.samples, table.cluster, strict=True))
        cluster = {name: known.get(name, name) for name in names}
    return facet(coded.with_columns(sample=names.gather(coded["sample"])), cluster)


def answers_of_tables(tables: Mapping[str, ResponseTable]) -> JudgedAnswers:
    """One table per judge; rows of one learner, sample and trial are scores of one answer."""
    cluster = dict[str, str]()
    for table in tables.values():
        if table.cluster is not None:
            cluster |= dict(zip(table.samples, table.cluster, strict=True))
    return facet(_table_scores(tables), cluster or None)


def _table_scores(tables: Mapping[str, ResponseTable]) -> pl.DataFrame:
    """ANSWER, judge, score and learner of every row; a learner is a part."""
    return pl.concat(
        table.to_long().select(
            "learner",
            "sample",
            pl.lit(judge).alias("judge"),
            pl.lit(0, pl.Int32).alias("trial") if table.trial is None else pl.Series("trial", table.trial),
            part="learner",
            score="response",
        )
        for judge, table in tables.items()
    )


def facet(scores: pl.DataFrame, cluster: Mapping[str, str] | None) -> JudgedAnswers:
    """Answers in rows and judges in columns; scores that a judge gave an answer twice count as their mean."""
    scores = scores.drop_nulls("score")
    judges, learners, samples = (
        tuple(scores[name].unique(maintain_order=True)) for name in ("judge", "learner", "sample")
    )
    answers = scores.select("learner", *ANSWER).unique(maintain_order=True).with_row_index("answer")
    each = (
        scores.join(answers, on=["learner", *ANSWER]).group_by("answer", "judge").agg(pl.col("score").mean())
    )
    matrix = np.full((len(answers), len(judges)), np.nan)
    column = each["judge"].replace_strict(name_index(judges), return_dtype=pl.Int64).to_numpy()
    matrix[each["answer"].to_numpy(), column] = each["score"].to_numpy()
    learner, sample = (
        answers[name].replace_strict(name_index(names), return_dtype=pl.Int64).to_numpy()
        for name, names in (("learner", learners), ("sample", samples))
    )
    groups = None if cluster is None else tuple(cluster.get(name, name) for name in samples)
    return JudgedAnswers(judges, learners, samples, learner, sample, matrix, groups)


class TakenJudge(NamedTuple):
    """The table of the judge that is taken, what it is called, and the others if nobody asked for it."""

    table: ResponseTable
    judge: str
    passed_over: PassedOver | None


def take_judge(tables: Mapping[str, ResponseTable], metric: str | None, where: str) -> TakenJudge:
    """The judge that is asked for; else, of those with the most scores, the one that is listed first."""
    names = list(tables)
    if metric is None:
        taken = max(names, key=lambda name: tables[name].n_responses)
        others = [name for name in names if name != taken]
        if not others:
            return TakenJudge(tables[taken], taken, None)
        found = compared_with(_table_scores(tables), taken, others)
        return TakenJudge(tables[taken], taken, PassedOver(None, taken, FIRST, found))
    if metric not in tables and metric != ALL:
        raise SettingError(f"{where}: no judge is called {metric!r}. {nearest(metric, names)}")
    return TakenJudge(tables[metric] if metric in tables else _mean_table(tables, where), metric, None)


def _mean_table(tables: Mapping[str, ResponseTable], where: str) -> ResponseTable:
    """The mean over judges of the answers that all of them scored; what else rows say is the first's."""
    scores = _table_scores(tables)
    mean = scores.group_by(*ANSWER).agg(pl.col("score").mean(), n=pl.col("judge").n_unique())
    judge, table = next(iter(tables.items()))
    rows = scores.filter(pl.col("judge") == judge).select(ANSWER)
    rows = rows.join(mean, on=ANSWER, how="left", maintain_order="left")
    scored = (rows["n"] == len(tables)).to_numpy()
    if not scored.any():
        raise DataError(
            f"{where}: no answer was scored by all {len(tables)} judges, so there is no mean over them. "
            f"Choose one: --metric NAME, which may be {quoted(list(tables))}."
        )
    response = rows["score"].to_numpy()[scored]
    return replace(table.keep(scored), response=response, n_missing=len(mean) - len(response))
