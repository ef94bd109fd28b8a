"""What `items` decides of samples, for the samples of a diagnosis: the report and the server show it."""

from typing import NamedTuple

import numpy as np
import polars as pl

from camilla.diagnosing import diagnose
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.samples.answers import answers_of_diagnosis
from camilla.samples.reasons import graded, reasoned, short_references, testimony
from camilla.samples.sample_flags import (
    RATE,
    KeyFit,
    SampleFlags,
    judging_fit,
    sample_flags,
    too_few_learners,
)
from camilla.samples.texts import text_faults
from camilla.samples.twins import twins
from camilla.table.responses import ResponseTable


class JudgedDiagnosis(NamedTuple):
    """Flags, and what may be wrong with each sample and why, in the order of the diagnosis' names."""

    flags: SampleFlags
    pattern: pl.Series
    why: pl.Series


def judged_diagnosis(found: Diagnosis, *, look_for_twins: bool = True) -> JudgedDiagnosis:
    """The decisions of `items` for a diagnosis' samples.

    A 2PL judges them: the diagnosis itself if it is one, else one that is fitted as `items` does. Twins
    take a time that grows with the square of the samples. Raises DataError where learners are too few.
    """
    if few := too_few_learners(len(found.learner_names)):
        raise DataError(few)
    settings = found.provenance["settings"]
    is_2pl = found.provenance["diagnoser"] == "irt" and settings["form"] == "2pl"
    fitted = found if is_2pl and not found.provenance["combined"] else _judged_by_2pl(found)
    every = np.arange(len(fitted.sample_names))
    judge = judging_fit(KeyFit(fitted, every, every))
    pairs = twins(judge.matrix, judge.predicted, rate=RATE) if look_for_twins else None
    answers = answers_of_diagnosis(found)
    keys = short_references(found.content, found.sample_names)
    flags = sample_flags(judge, answers, pairs, text_faults(found.content, found.sample_names, None))
    trials = bool((found.cells.weight > 1).any())
    said = testimony(judge, answers, found.learner_names, keys).with_columns(
        evidence=pl.Series(flags.doubt.evidence), accuracy=fitted.samples["accuracy"], n=fitted.samples["n"]
    )
    said = reasoned(said, graded(binary=judge.is_binary, trials=trials))
    return JudgedDiagnosis(flags, said["pattern"], said["why"])


def _judged_by_2pl(found: Diagnosis) -> Diagnosis:
    """The 2PL of a diagnosis' responses; a cell of right/wrong trials is its right and its wrong ones."""
    cells, right = found.cells, found.cells.response
    learner, sample, response, weight = cells.learner, cells.sample, right, cells.weight
    if not found.provenance["fractional"]:
        learner, sample = np.tile(learner, 2), np.tile(sample, 2)
        response = np.repeat([1.0, 0.0], len(right))
        weight = np.concatenate([weight * right, weight * (1 - right)])
    rows = weight > 0
    table = ResponseTable(
        found.learner_names, found.sample_names, learner[rows], sample[rows], response[rows], weight[rows]
    )
    return diagnose(table, "irt", seed=found.provenance["seed"], across_blocks=True)
