"""Scores of classifiers to response tables: metrics on data sets are the samples."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.classifiers.metrics import (
    ATTRIBUTE_EDGES,
    ATTRIBUTES,
    METRIC_ATTRIBUTES,
    METRICS,
    KsSide,
    Rule,
    metric_values,
)
from camilla.classifiers.scores import ClassifierScores, ScoredSet, read_scores
from camilla.errors import DataError
from camilla.names import name_index, quoted
from camilla.reading.skills import read_skills, skill_source
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap

AT = " @ "


def as_scores(scores: Any) -> ClassifierScores:
    """ClassifierScores of themselves, a file, several files, or any dataframe."""
    if isinstance(scores, ClassifierScores):
        return scores
    if isinstance(scores, str | Path):
        return read_scores([scores])
    if isinstance(scores, list | tuple):
        return read_scores(scores)
    return ClassifierScores.from_frame(scores)


def classifier_table(
    scores: ClassifierScores, *, rule: Rule = "interpolated", ks: KsSide = "two_sided"
) -> ResponseTable:
    """Responses of classifiers: each of the 22 metrics on each data set is a sample, "AUC @ phoneme".

    The skills are the preprint's attributes, with its skill graph; the data sets are the tasks.
    """
    samples = [f"{metric}{AT}{name}" for name in scores.data_sets for metric in METRICS]
    matrix = np.hstack([_metrics(scores.classifiers, one, rule, ks) for one in scores.sets])
    table = ResponseTable.from_matrix(matrix, learners=scores.classifiers, samples=samples)
    tasks = [name for name in scores.data_sets for _ in METRICS]
    metadata = {"sample": samples, "metric": list(METRICS) * len(scores.sets), "data_set": tasks}
    told = replace(table, task=tuple(tasks), sample_metadata=pl.DataFrame(metadata))
    return told.with_skills(attribute_map(len(scores.sets)), graph=SkillGraph(ATTRIBUTE_EDGES))


def attribute_map(n_data_sets: int = 1) -> SkillMap:
    """Table 5 of the preprint, its 22 rows repeated for each data set."""
    rows = [[attribute in METRIC_ATTRIBUTES[metric] for attribute in ATTRIBUTES] for metric in METRICS]
    return SkillMap(tuple(ATTRIBUTES), np.tile(np.array(rows, bool), (n_data_sets, 1)))


def _metrics(classifiers: Sequence[str], one: ScoredSet, rule: Rule, ks: KsSide) -> NDArray[np.float64]:
    answered = ~np.isnan(one.scores).all(axis=0)
    names = tuple(np.array(classifiers, object)[answered])
    values = np.full((len(classifiers), len(METRICS)), np.nan)
    try:
        values[answered] = metric_values(one.truth, one.scores[:, answered], names=names, rule=rule, ks=ks)
    except DataError as error:
        raise DataError(f"data set {one.name!r}: {error}") from error
    return values


def without_duplicates(table: ResponseTable) -> tuple[ResponseTable, dict[str, str]]:
    """The table without learners that respond exactly as an earlier one: left out → kept."""
    first: dict[bytes, str] = {}
    kept, copies = [], {}
    for index, (name, row) in enumerate(zip(table.learners, table.matrix(), strict=True)):
        original = first.setdefault(row.tobytes(), name)
        if original == name:
            kept.append(index)
        else:
            copies[name] = original
    return (table if len(kept) == table.n_learners else table.take_learners(kept)), copies


def skills_named(text: str, table: ResponseTable) -> SkillMap:
    """The skill map of `FILE` or `FILE:column,column` for a table of classifiers.

    Its rows are samples ("AUC @ phoneme"), metrics, or data sets; a row of the latter two holds for all
    samples of its metric or data set. Every skill must be needed by a sample.
    """
    source = skill_source(text)
    if source.file is None:
        raise DataError(f"skills {text!r} is not a file; a table of scores has no columns of skills.")
    metadata = table.sample_metadata
    ways = [list(table.samples)]
    if metadata is not None:
        ways += [metadata["metric"].to_list(), metadata["data_set"].to_list()]
    errors = []
    for row_of_sample in ways:
        names = list(dict.fromkeys(row_of_sample))
        try:
            found = read_skills(source, names)
        except DataError as error:
            errors.append(error)
            continue
        place = name_index(names)
        mapped = found.take(np.array([place[name] for name in row_of_sample]))
        _refuse_idle(mapped, source.file)
        return mapped
    raise errors[0]


def _refuse_idle(skill_map: SkillMap, file: Path) -> None:
    idle = [skill_map.skills[k] for k in np.flatnonzero(~skill_map.mask.any(axis=0))]
    if idle:
        raise DataError(
            f"{file}: no sample needs skill {quoted(idle)}, so it cannot be estimated. Assign samples to "
            "it, or remove its column."
        )


def ranked(table: ResponseTable, pool: ResponseTable) -> ResponseTable:
    """Each response as its place in the pool: the share of the pool's learners below it, ties counting half.

    Samples that the pool does not have are left out. Order and ties of the pool stay what they are, so that
    DOA and DOC do, too; only how much a difference counts is evened out.
    """
    place = name_index(pool.samples)
    kept = [j for j, name in enumerate(table.samples) if name in place]
    known = table if len(kept) == table.n_samples else table.take_samples(kept)
    theirs, mine = pool.matrix(), known.matrix()
    shares = np.full(mine.shape, np.nan)
    for j, name in enumerate(known.samples):
        column = np.sort(theirs[:, place[name]])
        column = column[~np.isnan(column)]
        seen = ~np.isnan(mine[:, j])
        if len(column):
            below, within = (np.searchsorted(column, mine[seen, j], side) for side in ("left", "right"))
            shares[seen, j] = (below + within) / (2 * len(column))
    cells = known.cells()
    return replace(
        known,
        learner=cells.learner,
        sample=cells.sample,
        response=shares[cells.learner, cells.sample],
        weight=None,
        trial=None,
    )
