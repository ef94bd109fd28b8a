"""Scores of many classifiers on many data sets, and the response table their metrics make."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError
from camilla.names import name_index, nearest, quoted, shown
from camilla.table.columns import SCORE, Origin, holds_words, name_column, number_column, pick
from camilla.table.frame_files import called, frame_with_lines, is_written_text, read_frame
from camilla.table.frames import indexed

DATA_SET = ("data_set", "dataset", "data set", "task")
SAMPLE = ("sample", "sample_id", "id")
TRUTH = ("truth", "y", "label", "target")


class ScoreColumns(NamedTuple):
    """Which columns are no classifiers; None is found by its usual name."""

    data_set: str | None = None
    sample: str | None = None
    truth: str | None = None
    ignore: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # texts that stand for a missing score


AS_USUAL = ScoreColumns()


class ScoredSet(NamedTuple):
    """One data set: its labels, and one column of scores per classifier, all NaN where it did not answer."""

    name: str
    truth: NDArray[np.float64]  # [samples]
    scores: NDArray[np.float64]  # [samples, classifiers]


@dataclass(frozen=True, eq=False)
class ClassifierScores:
    """What classifiers said of the samples of data sets, larger meaning more surely class 1."""

    classifiers: tuple[str, ...]
    sets: tuple[ScoredSet, ...]

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: ScoreColumns = AS_USUAL,
        name: str = "the scores",
        origin: Origin | None = None,
    ) -> Self:
        """From any dataframe with columns data_set, sample, truth and one per classifier.

        Without a column of data sets all rows are one, called `name`. Without a column of samples the index
        of a pandas frame names them. A classifier whose scores of a data set are all missing did not answer
        there; a hole among scores is refused. `origin` says where the frame came from.
        """
        whole, index, _ = indexed(frame)
        origin = (Origin(name) if origin is None else origin)._replace(missing=columns.missing)
        data_set, sample, truth = (
            _column(whole, given, usual, origin)
            for given, usual in zip(columns[:3], (DATA_SET, SAMPLE, TRUTH), strict=True)
        )
        sample = sample or next((level for level in index if level != data_set), None)
        if truth is None:
            raise DataError(
                f"{origin.name}: which column is the truth, 0 or 1 per sample? There are "
                f"{quoted(whole.columns)}. Name it: truth=…, --truth on the command line."
            )
        aside = {data_set, sample, truth, "fold", *index, *columns.ignore}
        if unknown := [column for column in columns.ignore if column not in whole.columns]:
            raise DataError(f"{origin.name}: no column {unknown[0]!r}. {nearest(unknown[0], whole.columns)}")
        classifiers = tuple(column for column in whole.columns if column not in aside)
        if not classifiers:
            raise DataError(
                f"{origin.name}: has no column of scores, only {quoted(whole.columns)}; expected one per "
                "classifier."
            )
        _check_repeats(whole, data_set, sample, origin)
        if data_set is None:
            return cls(classifiers, (_scored(whole, truth, classifiers, name, origin),))
        belongs = name_column(whole, data_set, origin)
        sets = []
        for code, task in enumerate(belongs.names):
            rows = np.flatnonzero(belongs.codes == code)
            sets.append(_scored(whole[rows], truth, classifiers, task, origin.at(rows)))
        return cls(classifiers, tuple(sets))

    @property
    def data_sets(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.sets)

    def take(self, classifiers: Sequence[str]) -> Self:
        """These classifiers, in this order."""
        place = name_index(self.classifiers)
        if unknown := [name for name in classifiers if name not in place]:
            raise SettingError(f"no classifier {unknown[0]!r}. {nearest(unknown[0], self.classifiers)}")
        at = [place[name] for name in classifiers]
        sets = tuple(one._replace(scores=one.scores[:, at]) for one in self.sets)
        return replace(self, classifiers=tuple(classifiers), sets=sets)

    def joined(self, other: "ClassifierScores") -> Self:
        """Both together: classifiers of one file and another, on the data sets of either."""
        if twice := sorted(_both_answer(self, other)):
            raise DataError(f"two files have scores of {quoted(twice)}. Leave one out.")
        names = tuple(dict.fromkeys([*self.classifiers, *other.classifiers]))
        sets = {one.name: _widened(one, self.classifiers, names) for one in self.sets}
        for one in other.sets:
            wide = _widened(one, other.classifiers, names)
            sets[one.name] = _laid_over(sets[one.name], wide) if one.name in sets else wide
        return replace(self, classifiers=names, sets=tuple(sets.values()))


def _column(frame: pl.DataFrame, given: str | None, usual: Sequence[str], origin: Origin) -> str | None:
    if given is not None:
        pick(frame, given, origin)
        return given
    return next((name for name in usual if name in frame.columns), None)


def _check_repeats(frame: pl.DataFrame, data_set: str | None, sample: str | None, origin: Origin) -> None:
    if sample is None:
        return
    twice = frame.select(filter(None, (data_set, sample))).is_duplicated()
    if twice.any():
        row = int(twice.arg_true()[0])
        raise DataError(
            f"{origin.name}: {origin.place(row)}: sample {str(frame[sample][row])!r} occurs more than once "
            f"in its data set; {twice.sum()} rows do. Expected one row per sample."
        )


def _scored(
    frame: pl.DataFrame, truth: str, classifiers: Sequence[str], name: str, origin: Origin
) -> ScoredSet:
    where = origin._replace(name=f"{origin.name}, data set {shown(name)!r}")
    labels = number_column(frame[truth], SCORE, where)
    remedy = "If it is not a classifier, leave it out with ignore=… (--ignore)."
    matrix = np.column_stack(
        [
            number_column(frame[one], SCORE, where, remedy=remedy if holds_words(frame[one]) else "")
            for one in classifiers
        ]
    )
    holes = np.isnan(matrix)
    partial = holes.any(axis=0) & ~holes.all(axis=0)
    if partial.any():
        column = int(np.argmax(partial))
        raise DataError(
            f"{where.name}: {classifiers[column]!r} has no score for {holes[:, column].sum()} of "
            f"{len(matrix)} samples, first in {where.place(int(np.argmax(holes[:, column])))}. Score "
            "all of a data set or none of it."
        )
    return ScoredSet(name, labels, matrix)


def _both_answer(one: ClassifierScores, other: ClassifierScores) -> set[str]:
    """Classifiers that both have scores of on a data set."""
    found = set()
    for mine in one.sets:
        for theirs in other.sets:
            if mine.name == theirs.name:
                found |= _answering(mine, one.classifiers) & _answering(theirs, other.classifiers)
    return found


def _answering(one: ScoredSet, classifiers: Sequence[str]) -> set[str]:
    answered = ~np.isnan(one.scores).all(axis=0)
    return {classifiers[i] for i in np.flatnonzero(answered).tolist()}


def _widened(one: ScoredSet, classifiers: Sequence[str], names: Sequence[str]) -> ScoredSet:
    place = name_index(classifiers)
    scores = np.full((len(one.truth), len(names)), np.nan)
    for column, name in enumerate(names):
        if name in place:
            scores[:, column] = one.scores[:, place[name]]
    return one._replace(scores=scores)


def _laid_over(one: ScoredSet, other: ScoredSet) -> ScoredSet:
    if not np.array_equal(one.truth, other.truth):
        raise DataError(
            f"data set {one.name!r} has {len(one.truth)} samples in one file and {len(other.truth)} in "
            "another, or another truth: scores of one data set must be of the same samples in the same order."
        )
    return one._replace(scores=np.where(np.isnan(one.scores), other.scores, one.scores))


def read_scores(paths: Sequence[str | Path], columns: ScoreColumns = AS_USUAL) -> ClassifierScores:
    """The scores of one file, or of several: other data sets, or other classifiers on the same samples."""
    if not paths:
        raise DataError("no file of scores was given; expected at least one.")
    first, *others = (_read_scores(Path(path), columns) for path in paths)
    for other in others:
        first = first.joined(other)
    return first


def _read_scores(path: Path, columns: ScoreColumns) -> ClassifierScores:
    """A file without a column of data sets is one data set of the file's name."""
    text = is_written_text(path)
    frame, place = frame_with_lines(read_frame(path, text=text), path)
    origin = Origin(called(path), place)
    return ClassifierScores.from_frame(frame, columns=columns, name=path.stem, origin=origin)
