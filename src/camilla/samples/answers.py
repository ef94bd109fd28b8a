"""What those answer who fail a sample, counted like votes."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.names import name_index
from camilla.samples.evidence import Votes, worth
from camilla.table.responses import ResponseTable


class Answers(NamedTuple):
    """Short answers of learners to samples: frame with sample, learner (indices) and answer."""

    frame: pl.DataFrame
    n_samples: int

    def of_those_who_fail(self, matrix: Floats) -> pl.DataFrame:
        """The answers of learners whose response is below one half, with the share of a learner's answers."""
        learner, sample = (self.frame[name].to_numpy() for name in ("learner", "sample"))
        with np.errstate(invalid="ignore"):
            failed = matrix[learner, sample] < 0.5
        wrong = self.frame.filter(pl.Series(failed, dtype=pl.Boolean))
        return wrong.with_columns(share=1 / pl.len().over("sample", "learner"))

    def votes(self, matrix: Floats, weight: Floats) -> Votes:
        """Wrong answers, each learner's worth what it counts for and how far it is right where others are."""
        worths = pl.DataFrame(
            {"learner": np.arange(len(weight), dtype=np.int32), "worth": weight * worth(matrix)}
        )
        wrong = self.of_those_who_fail(matrix).join(worths, on="learner", maintain_order="left")
        summed = (
            wrong.group_by("sample", "answer")
            .agg((pl.col("share") * pl.col("worth")).sum().alias("votes"))
            .sort("sample", "answer")
        )
        return Votes(summed["sample"].to_numpy().astype(np.intp), summed["votes"].to_numpy(), self.n_samples)

    def leading(self, matrix: Floats) -> "LeadingAnswers":
        """The most frequent wrong answer to each sample, and how many learners say what."""
        wrong = self.of_those_who_fail(matrix).unique(["sample", "learner", "answer"])
        said = wrong.group_by("sample", "answer").agg(votes=pl.len().cast(pl.Int64))
        said = said.sort("sample", "votes", "answer", descending=[False, True, False])
        every = pl.DataFrame({"sample": np.arange(self.n_samples, dtype=np.int32)})
        for part in (
            said.unique("sample", keep="first", maintain_order=True),
            said.group_by("sample").agg(different=pl.len().cast(pl.Int64)),
            self.frame.group_by("sample").agg(answers=pl.col("learner").n_unique().cast(pl.Int64)),
        ):
            every = every.join(part, on="sample", how="left", maintain_order="left")
        return LeadingAnswers(*(every[name] for name in ("answer", "votes", "different", "answers")))


class LeadingAnswers(NamedTuple):
    """Of each sample, null where no answer is known: the most frequent wrong answer, how many learners give
    it, how many different wrong answers there are, and of how many learners an answer is known."""

    answer: pl.Series
    votes: pl.Series
    different: pl.Series
    answers: pl.Series


def answers_of_table(ordered: ResponseTable) -> Answers | None:
    """Short answers of a table whose names are sorted; None where there are none."""
    answers = ordered.short_answers()
    if answers is None:
        return None
    return _known(ordered.learner, ordered.sample, answers, ordered.n_samples)


def answers_of_diagnosis(found: Diagnosis) -> Answers | None:
    """Short answers in the content of a diagnosis; None where there are none."""
    if found.content is None:
        return None
    short = found.content.short_answers(found.sample_names)
    places = [
        short[column].replace_strict(name_index(names), default=-1, return_dtype=pl.Int32).to_numpy()
        for column, names in (("learner", found.learner_names), ("sample", found.sample_names))
    ]
    known = np.all([place >= 0 for place in places], axis=0)
    learner, sample = (place[known] for place in places)
    answers = short["answer"].filter(pl.Series(known, dtype=pl.Boolean))
    return _known(learner, sample, answers, len(found.sample_names))


def _known(
    learner: NDArray[np.int32], sample: NDArray[np.int32], answers: pl.Series, n_samples: int
) -> Answers | None:
    columns = {"sample": sample, "learner": learner, "answer": answers.cast(pl.String)}
    frame = pl.DataFrame(columns).drop_nulls("answer")
    return Answers(frame, n_samples) if frame.height else None
