"""Why a sample stands in the list, in words: what learners answer against its key."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from camilla.display import brief, counted, listed
from camilla.samples.answers import Answers
from camilla.samples.measures import contradicting, quarters
from camilla.samples.sample_flags import JudgingFit
from camilla.table.content import SHORT, KeptContent

# How learners answer a sample that they speak against; what experts say of each is in docs/results/broken.md.
PATTERNS = {
    "other answer": "most learners name one other answer",
    "split": "learners are split between the key and one other answer",
    "scattered": "most learners fail, and name different answers",
    "nobody": "nobody solves it; answers are not known",
    "reversed": "strong learners fail it more often than weak ones; answers are not known",
    "hard": "most learners fail it, the weak ones first",
}
MOST = 0.5  # of those who answer
TOGETHER = 0.6  # of those who fail: they name one answer
SPLIT = 0.3  # of those who answer


SAMPLES_AT_ONCE = 5000  # whose references are read
SAID = {
    "other_answer": pl.String, "other_votes": pl.Int64, "different_answers": pl.Int64, "answers": pl.Int64,
    "key_votes": pl.Int64,
}  # fmt: skip
NAMES = pl.List(pl.String)


def testimony(
    judge: JudgingFit, answers: Answers | None, learners: Sequence[str], keys: pl.Series
) -> pl.DataFrame:
    """Of each sample: who fails it and who solves it, what those answer who fail it, and its key."""
    able, weak = quarters(judge)
    failed, solved = contradicting(judge, learners)
    with np.errstate(invalid="ignore"):
        failing = (judge.matrix < 0.5).sum(axis=0).astype(np.int64)
    frame = pl.DataFrame({"able": able, "weak": weak, "failing": failing, "key": keys}).fill_nan(None)
    frame = frame.with_columns(
        failed_by=pl.Series(failed, dtype=NAMES), solved_by=pl.Series(solved, dtype=NAMES)
    )
    if answers is None:
        return frame.with_columns(**{name: pl.lit(None, kind) for name, kind in SAID.items()})
    said = answers.leading(judge.matrix)
    wrong = answers.of_those_who_fail(judge.matrix).group_by("sample").agg(pl.col("learner").n_unique())
    failed_with = np.zeros(frame.height, np.int64)
    failed_with[wrong["sample"].to_numpy()] = wrong["learner"].to_numpy()
    return frame.with_columns(
        other_answer=said.answer, other_votes=said.votes, different_answers=said.different,
        answers=said.answers, key_votes=said.answers - pl.Series(failed_with),
    )  # fmt: skip


def reasoned(frame: pl.DataFrame, failing: str) -> pl.DataFrame:
    """The frame with what may be wrong with each sample, and why; `failing` as `graded` says it."""
    patterns = [_pattern(row) for row in frame.to_dicts()]
    frame = frame.with_columns(pattern=pl.Series(patterns, dtype=pl.String))
    return frame.with_columns(
        why=pl.Series([_reason(row, failing) for row in frame.to_dicts()], dtype=pl.String)
    )


def graded(*, binary: bool, trials: bool) -> str:
    """What failing a sample means."""
    if trials:
        return "fail it in most trials"
    return "fail it" if binary else "score below one half on it"


def short_references(content: KeptContent | None, samples: Sequence[str]) -> pl.Series:
    """The reference of each sample where it is short, else null."""
    if content is None:
        return pl.Series([None] * len(samples), dtype=pl.String)
    reference = pl.concat([pl.Series("reference", [], pl.String), *_references(content, samples)])
    return pl.select(pl.when(reference.str.len_chars() <= SHORT).then(reference)).to_series()


def _references(content: KeptContent, samples: Sequence[str]) -> Iterator[pl.Series]:
    for start in range(0, len(samples), SAMPLES_AT_ONCE):
        yield content.samples(samples[start : start + SAMPLES_AT_ONCE])["reference"]


def _pattern(row: dict[str, Any]) -> str:
    """One of PATTERNS; empty where the responses speak for the key."""
    if row["evidence"] is None or row["evidence"] <= 0:
        return ""
    known, votes = row["answers"] or 0, row["other_votes"] or 0
    if known and votes:
        wrong = known - row["key_votes"]
        if votes > MOST * known and votes >= TOGETHER * wrong:
            return "other answer"
        if min(row["key_votes"], votes) >= SPLIT * known:
            return "split"
        if wrong > MOST * known:
            return "scattered" if votes < TOGETHER * wrong else "other answer"
    if row["accuracy"] == 0:
        return "nobody"
    if row["able"] is not None and row["able"] < row["weak"]:
        return "reversed"
    return "hard"


def _reason(row: dict[str, Any], failing: str) -> str:
    """A sentence about a sample: what learners answer, and which of the strongest fail it."""
    if not row["pattern"]:
        return ""
    said = _said(row, failing)
    if row["failed_by"]:
        said += f" Strong learners that {failing}: {listed(row['failed_by'])}."
    if row["pattern"] == "reversed" and row["solved_by"]:
        said += f" Weak learners that do not: {listed(row['solved_by'])}."
    return said


def _said(row: dict[str, Any], failing: str) -> str:
    known, votes = row["answers"] or 0, row["other_votes"] or 0
    if not known or not votes:
        return f"{_of(row['failing'], row['n'])} {failing}."
    key = "what is right" if row["key"] is None else f"the key {brief(row['key'])}"
    said = f"{_of(votes, known)} answer {brief(row['other_answer'])}, {row['key_votes'] or 'none'} {key}"
    if others := known - votes - row["key_votes"]:
        more = max(row["different_answers"] - 1, 1)
        said += f", {others} give {'another answer' if more == 1 else counted(more, 'other answer')}"
    return f"{said}."


def _of(some: int, every: int) -> str:
    return f"All {every}" if some == every else f"{some} of {every}"
