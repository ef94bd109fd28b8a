"""The mean that a harness states of a run beside the one that was read, and why the two differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from camilla.reading.runs import Kept, LearnerTask

SAME = 5e-4  # means are printed to three digits


class Differing(NamedTuple):
    """A run whose harness states another mean than was read, and why."""

    learner: str
    task: str
    source: str
    metric: str
    stated: float
    read: float
    why: str


class RunScores(NamedTuple):
    """What a run holds under the chosen metric, as logged and as it counts here."""

    samples: int  # that the log has a row of
    scored: int
    counted: int  # that have a response here
    read: float  # mean over samples as it counts here
    logged: float  # mean over samples of the logged scores, whatever became of them here
    every_row: float  # mean over all trials
    with_zeros: float  # mean over samples, 0 where there is no score
    total: float  # sum over samples of the logged scores


def differing(
    kept: Sequence[Kept], pairs: Mapping[str, LearnerTask], logged: pl.DataFrame, counted: pl.DataFrame
) -> list[Differing]:
    """The runs whose stated mean is not the one that was read.

    `logged` has the rows of the chosen pairs as logged, `counted` those that count, both with the index of
    their run. A run in several files is passed over: its harness's mean is over all of them.
    """
    keys = _keys(kept, pairs)
    scores = _scores(logged, counted, list(keys)) if keys else {}
    found = []
    for index, key in keys.items():
        run = kept[index].run
        if index in scores and not _same(run.stated[key], scores[index].read):
            why = _why(scores[index], run.stated[key], run.n_stated, run.stated_how.get(key, ""))
            by = pairs[run.task].words
            found.append(
                Differing(run.learner, run.task, run.source, by, run.stated[key], scores[index].read, why)
            )
    return found


def _keys(kept: Sequence[Kept], pairs: Mapping[str, LearnerTask]) -> dict[int, str]:
    """Under which key each run states the mean of its chosen pair, of those that do and are one file."""
    parts = Counter((one.run.learner, one.run.task, one.run.run) for one in kept)
    found = {}
    for index, one in enumerate(kept):
        run, pair = one.run, pairs.get(one.run.task)
        if pair is None or parts[run.learner, run.task, run.run] > 1:
            continue
        key = pair.words if pair.words in run.stated else pair.metric
        if key in run.stated:
            found[index] = key
    return found


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= SAME


def _scores(logged: pl.DataFrame, counted: pl.DataFrame, runs: Sequence[int]) -> dict[int, RunScores]:
    """Of these runs; those without any score, or any that counts here, are passed over."""
    own = pl.col("run").is_in(list(runs))
    rows = logged.lazy().filter(own)
    by_sample = rows.group_by("run", "sample").agg(pl.col("score").mean())
    score = pl.col("score")
    as_logged = by_sample.group_by("run").agg(samples=pl.len(), scored=score.count(), total=score.sum())
    every_row = rows.group_by("run").agg(every_row=score.mean())
    here = counted.lazy().filter(own).group_by("run", "sample").agg(score.mean())
    as_counted = here.group_by("run").agg(counted=score.count(), read=score.mean())
    found = as_logged.join(every_row, on="run").join(as_counted, on="run").collect()
    return {
        row["run"]: RunScores(
            row["samples"], row["scored"], row["counted"], row["read"], row["total"] / row["scored"],
            row["every_row"], row["total"] / row["samples"], row["total"],
        )
        for row in found.iter_rows(named=True)
        if row["scored"] and row["counted"]
    }  # fmt: skip


def _why(scores: RunScores, stated: float, n_stated: int | None, how: str) -> str:
    """The first way of counting that gives what the harness states; else what is known of its way."""
    silent = scores.samples - scores.scored
    ways = (
        (scores.logged, _changed_here(scores)),
        (
            scores.with_zeros,
            f"the harness counts {_samples(silent)} without a score as 0, and here they are missing "
            "(--on-error zero counts them as 0)",
        ),
        (
            scores.every_row,
            "the harness averages over all trials, and here every sample counts once",
        ),
    )
    for mean, why in ways:
        if _same(mean, stated):
            return why
    if n_stated is not None and n_stated > scores.scored and _same(scores.total / n_stated, stated):
        return f"the harness counts {_samples(n_stated - scores.scored)} that have no score in the log as 0"
    if how:
        return f"the harness {how}"
    if n_stated is not None and n_stated != scores.counted:
        return f"the harness's mean is over {_samples(n_stated)}, and here over {scores.counted}"
    return "the scores of the samples do not give it: the harness weighs or aggregates them in another way"


def _changed_here(scores: RunScores) -> str:
    if scores.counted < scores.scored:
        gone = scores.scored - scores.counted
        return f"{_samples(gone)} of the log {'is' if gone == 1 else 'are'} left out here"
    return "--on-error says here how samples with an error count"


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"
