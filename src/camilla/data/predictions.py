"""Predictions to responses: right or wrong for classifiers, relative error for regressors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from camilla.data.dataframes import as_polars
from camilla.data.names import numbered
from camilla.data.parts import Parts
from camilla.data.wide import dense_parts
from camilla.errors import DataError

# Errors of one sample that differ by less than this share of the largest are equal: rounding, not skill.
EQUAL = 1e-12


def right_or_wrong(predictions: Any, labels: ArrayLike, samples: Sequence[str] | None) -> Parts:
    """1 where a learner's prediction is the label, 0 where not, missing where it predicted None or NaN."""
    truth = _vector(labels, "labels")
    if _absent(truth).any():
        raise DataError(f"label {int(np.argmax(_absent(truth)))} is missing; every sample wants its label.")
    columns = _columns(predictions, len(truth))
    matrix = np.full((len(columns), len(truth)), np.nan)
    for row, (name, column) in enumerate(columns.items()):
        given = ~_absent(column)
        _check_same_kind(name, column[given], truth)
        matrix[row, given] = column[given] == truth[given]
    return dense_parts(matrix, tuple(columns), _sample_names(samples, len(truth)))


def relative_error(predictions: Any, targets: ArrayLike, samples: Sequence[str] | None) -> Parts:
    """r = 1 − (|e| − min|e|) / (max|e| − min|e|), minimum and maximum over the learners of each sample.

    The best learner on a sample gets 1, the worst 0. Where all errors are equal, or only one learner
    predicted, the formula is 0/0: the sample cannot tell learners apart, and its responses are missing.
    """
    truth = _numbers(_vector(targets, "targets"), "targets")
    if not np.isfinite(truth).all():
        at = int(np.argmin(np.isfinite(truth)))
        raise DataError(f"target {at} is {truth[at]}; every sample wants a finite target.")
    columns = _columns(predictions, len(truth))
    guesses = np.array([_numbers(column, name) for name, column in columns.items()])
    if np.isinf(guesses).any():
        row, at = np.argwhere(np.isinf(guesses))[0]
        raise DataError(
            f"prediction {at} of {list(columns)[row]!r} is infinite, so all others would look perfect. "
            "Use NaN if there is no prediction."
        )
    response = _reversed_min_max(np.abs(guesses - truth))
    return dense_parts(response, tuple(columns), _sample_names(samples, len(truth)))


def _reversed_min_max(error: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 − (error − min) / (max − min) down each column of [learners, samples]; NaN where 0/0."""
    best = np.fmin.reduce(error, axis=0)
    worst = np.fmax.reduce(error, axis=0)
    told = worst - best > EQUAL * worst
    response = np.full(error.shape, np.nan)
    response[:, told] = 1 - (error[:, told] - best[told]) / (worst - best)[told]
    return response


def _columns(predictions: Any, n_samples: int) -> dict[str, NDArray[Any]]:
    if isinstance(predictions, Mapping):
        columns = {str(name): _vector(column, str(name)) for name, column in predictions.items()}
    else:
        frame = as_polars(predictions)
        columns = {name: _vector(frame[name].to_list(), name) for name in frame.columns}
    if not columns:
        raise DataError("no predictions came; give one column of predictions a learner.")
    for name, column in columns.items():
        if len(column) != n_samples:
            raise DataError(
                f"{name!r} has {len(column)} predictions for {n_samples} samples; one each was wanted."
            )
    return columns


def _vector(values: ArrayLike, name: str) -> NDArray[Any]:
    vector = np.asarray(values)
    if vector.dtype.kind == "U" and not isinstance(values, np.ndarray):
        vector = np.asarray(values, dtype=object)  # else NumPy would spell NaN among texts as 'nan'
    if vector.ndim != 1:
        raise DataError(
            f"{name!r} has shape {vector.shape}; one value a sample was wanted. "
            "For class probabilities take the most probable class first."
        )
    return vector


def _absent(column: NDArray[Any]) -> NDArray[np.bool_]:
    """None and NaN, which alone among values differs from itself."""
    if column.dtype.kind == "O":
        return np.array([value is None or value != value for value in column], bool)
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)


def _numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.where(_absent(column), np.nan, column).astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"{name!r} holds values that are not numbers; a regressor predicts numbers."
        ) from None


def _check_same_kind(name: str, column: NDArray[Any], truth: NDArray[Any]) -> None:
    """Text never equals a number: without this, 'cat' against 3 would read as a wrong answer."""
    kinds = [("text" if isinstance(value, str) else "numbers") for value in (*column[:1], *truth[:1])]
    if len(set(kinds)) > 1:
        raise DataError(
            f"predictions of {name!r} are {kinds[0]}, labels are {kinds[1]}; give both in one coding."
        )


def _sample_names(samples: Sequence[str] | None, count: int) -> tuple[str, ...]:
    names = numbered("sample", count) if samples is None else tuple(str(name) for name in samples)
    if len(names) != count:
        raise DataError(f"{len(names)} sample names came for {count} samples.")
    return names
