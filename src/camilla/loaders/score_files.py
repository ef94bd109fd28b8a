"""Files of classifiers' scores: data set, sample, truth, one column a classifier."""

from collections.abc import Sequence
from pathlib import Path

from camilla.data.classifier_scores import AS_USUAL, ClassifierScores, ScoreColumns
from camilla.errors import DataError
from camilla.loaders.frames import read_frame


def read_scores(paths: Sequence[str | Path], columns: ScoreColumns = AS_USUAL) -> ClassifierScores:
    """The scores of one file, or of several: other data sets, or other classifiers on the same samples."""
    if not paths:
        raise DataError("no file of scores was given; one at least was wanted.")
    first, *others = (_read(Path(path), columns) for path in paths)
    for other in others:
        first = first.joined(other)
    return first


def _read(path: Path, columns: ScoreColumns) -> ClassifierScores:
    """A file without a column of data sets is one data set of the file's name."""
    frame = read_frame(path)
    try:
        return ClassifierScores.from_frame(frame, columns=columns, name=path.stem)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
