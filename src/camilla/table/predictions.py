"""Predictions and truth as responses."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from camilla.display import counted
from camilla.errors import DataError
from camilla.names import numbered, quoted, repeated
from camilla.table.columns import Encoded, Origin, name_column
from camilla.table.frames import Parts, dense_parts, indexed

# Errors of one sample that differ by less than this share of the largest are equal: rounding, not skill.
EQUAL = 1e-12


def right_or_wrong(
    predictions: Any, labels: ArrayLike, samples: Sequence[str] | None, classes: Collection[Any] = ()
) -> Parts:
    """1 where a learner's prediction is the label, 0 where not, missing where it predicted None or NaN.

    `classes` are labels that may be predicted although no sample has them.
    """
    columns, truth, samples = _aligned(predictions, labels, "labels", samples)
    if _absent(truth).any():
        raise DataError(f"label {int(np.argmax(_absent(truth)))} is missing; every sample needs its label.")
    matrix = np.full((len(columns), len(truth)), np.nan)
    for row, (name, column) in enumerate(columns.items()):
        given = ~_absent(column)
        _check_same_kind(name, column[given], truth)
        matrix[row, given] = column[given] == truth[given]
    _check_coding(columns, truth, classes)
    parts = dense_parts(matrix, tuple(columns), _sample_names(samples, len(truth)))
    answers = np.array([_spelled(column) for column in columns.values()], dtype=object)
    return parts._replace(
        key=tuple(_spelled(truth)),
        answer=pl.Series("answer", answers[parts.learner, parts.sample], dtype=pl.String),
    )


def _spelled(values: NDArray[Any]) -> list[str]:
    """Labels as text: a whole number has no decimal point, so that 3 and 3.0 are one label."""
    return [
        str(int(value)) if isinstance(value, bool | float) and value == value // 1 else str(value)
        for value in values.tolist()
    ]


def relative_error(predictions: Any, targets: ArrayLike, samples: Sequence[str] | None) -> Parts:
    """r = 1 − (|e| − min|e|) / (max|e| − min|e|), minimum and maximum over the learners of each sample.

    The best learner on a sample gets 1, the worst 0. Where all errors are equal, or only one learner
    predicted, the formula is 0/0: the sample cannot tell learners apart, and its responses are missing.
    """
    columns, truth, samples = _aligned(predictions, targets, "targets", samples)
    truth = _numbers(truth, "targets")
    if not np.isfinite(truth).all():
        at = int(np.argmin(np.isfinite(truth)))
        raise DataError(f"target {at} is {truth[at]}; every sample needs a finite target.")
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


class _Predicted(NamedTuple):
    """Predictions by learner and the truth, row by row, and the names of samples where they are known."""

    columns: dict[str, NDArray[Any]]
    truth: NDArray[Any]
    samples: Sequence[str] | None


def _aligned(predictions: Any, truth: Any, what: str, samples: Sequence[str] | None) -> _Predicted:
    """The predictions of a mapping or a frame with the truth of the same rows, matched by index if both have
    one; an index that names rows names the samples."""
    columns, indices = _columns(predictions)
    values, index = _vector(truth, what), index_of(truth)
    for name, column in columns.items():
        if len(column) != len(values):
            raise DataError(
                f"{name!r} has {len(column)} predictions for {len(values)} samples; expected one each."
            )
    first = next((name for name in columns if indices[name] is not None), next(iter(columns)))
    rows = indices[first]
    for name, column in columns.items():
        columns[name] = column[rows_in_order(indices[name], rows, f"predictions of {name!r}", repr(first))]
    values = values[rows_in_order(index, rows, f"the {what}", "the predictions")]
    names = rows if rows is not None else index
    if samples is None and names is not None and len(set(names)) == len(names):
        samples = names
    return _Predicted(columns, values, samples)


def _columns(predictions: Any) -> tuple[dict[str, NDArray[Any]], dict[str, list[str] | None]]:
    """The predictions of each learner, and their index."""
    if isinstance(predictions, Mapping):
        columns = {str(name): _vector(column, str(name)) for name, column in predictions.items()}
        indices = {str(name): index_of(column) for name, column in predictions.items()}
    else:
        frame, index, _ = indexed(predictions)
        learners = [name for name in frame.columns if name not in index]
        columns = {name: _vector(frame[name].to_list(), name) for name in learners}
        indices = dict.fromkeys(learners, index_of(predictions))
    if not columns:
        raise DataError("there are no predictions; give one column of predictions per learner.")
    return columns, indices


def index_of(values: Any) -> list[str] | None:
    """The index of a pandas series or frame, as names; None where it has none or only counts 0, 1, 2, …"""
    if not hasattr(values, "iloc"):
        return None
    index = values.index
    names = ["/".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in index.tolist()]
    counts = all(name is None for name in index.names) and names == [str(k) for k in range(len(names))]
    return None if counts else names


def rows_in_order(
    index: Sequence[str] | None, wanted: Sequence[str] | None, what: str, other: str
) -> NDArray[np.int64] | slice:
    """The rows of `what` in the order of `other`, by their index; as they stand where only one has an index.

    An index that is 0, 1, 2, … in another order says that rows were shuffled. Beside values without an index
    nobody knows whether those were shuffled as well, so that is an error.
    """
    if index is None or wanted is None:
        known = index if wanted is None else wanted
        if known is not None and sorted(known) == sorted(str(k) for k in range(len(known))):
            shuffled, plain = (what, other) if wanted is None else (other, what)
            raise DataError(
                f"the index of {shuffled} is {quoted(known)}: 0, 1, 2, … in another order. That of {plain} "
                "only counts rows, so the rows cannot be matched. If both are in the same order, give "
                "values without an index: series.to_numpy(). If the index says which row is which, "
                "sort by it: series.sort_index()."
            )
        return slice(None)
    if list(index) == list(wanted):
        return slice(None)
    place = {name: row for row, name in enumerate(index)}
    for names, owner in ((index, what), (wanted, other)):
        if len(set(names)) < len(names):
            raise DataError(
                f"the index of {owner} repeats {quoted(repeated(names))}, so {what} cannot be matched to "
                f"{other} by index. Give each row its own name, or values without an index: "
                "series.to_numpy()."
            )
    if missed := [name for name in wanted if name not in place]:
        raise DataError(
            f"the index of {what} does not have {quoted(missed)}, which {other} have; it has "
            f"{quoted(index)}. Give both the same rows, or, if they are in the same order, values without an "
            "index: series.to_numpy()."
        )
    return np.array([place[name] for name in wanted], np.int64)


def _vector(values: ArrayLike, name: str) -> NDArray[Any]:
    vector = np.asarray(values)
    if vector.dtype.kind == "U" and not isinstance(values, np.ndarray):
        vector = np.asarray(values, dtype=object)  # else NumPy would spell NaN among texts as 'nan'
    if vector.ndim != 1:
        raise DataError(
            f"{name!r} has shape {vector.shape}; expected one value per sample. For class probabilities "
            "take the most probable class first."
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
            f"{name!r} contains values that are not numbers; a regressor predicts numbers."
        ) from None


def _check_same_kind(name: str, column: NDArray[Any], truth: NDArray[Any]) -> None:
    """Text never equals a number: without this, 'cat' against 3 would read as a wrong answer."""
    kinds = [("text" if isinstance(value, str) else "numbers") for value in (*column[:1], *truth[:1])]
    if len(set(kinds)) > 1:
        raise DataError(
            f"predictions of {name!r} are {kinds[0]}, labels are {kinds[1]}; give both in one coding."
        )


def _check_coding(columns: Mapping[str, NDArray[Any]], truth: NDArray[Any], classes: Collection[Any]) -> None:
    """Predictions that are numbers must be labels: scores and other codings would all look wrong.

    A text may be any wrong answer; but one learner must predict some label.
    """
    labels = {*truth.tolist(), *classes}
    if len(truth) and isinstance(truth[0], str):
        said = [value for column in columns.values() for value in column[~_absent(column)].tolist()]
        if said and labels.isdisjoint(said):
            raise DataError(
                f"no prediction is a label: predictions are {quoted(list(dict.fromkeys(said)))}, labels "
                f"{quoted(list(dict.fromkeys(truth.tolist())))}. Give both in one coding."
            )
        return
    for name, column in columns.items():
        given = column[~_absent(column)].tolist()
        wrong = [value for value in given if value not in labels]
        if wrong:
            raise DataError(
                f"{name!r} predicts {wrong[0]!r}, which is no label; labels are {_some(truth)}. "
                f"{len(wrong)} of its {len(given)} predictions are no labels. Of scores or probabilities "
                "take the most probable class. Give labels and predictions one coding, such as 0 and 1 for "
                "both. Name classes that no sample here has: classes=[…]. Answers that are numbers but no "
                "classes are given as text."
            )


def _some(truth: NDArray[Any]) -> str:
    labels = [
        f"{label:g}" if isinstance(label, float) else str(label) for label in dict.fromkeys(truth.tolist())
    ]
    return ", ".join(labels[:6]) + (", …" if len(labels) > 6 else "")


def _sample_names(samples: Sequence[str] | None, count: int) -> tuple[str, ...]:
    names = numbered("sample", count) if samples is None else tuple(str(name) for name in samples)
    if len(names) != count:
        raise DataError(f"got {len(names)} sample names for {count} samples.")
    return names


ID_NAMES = ("sample", "sample_id", "id", "item")


class Alignment(NamedTuple):
    """`rows[i]` is the row of the second table that speaks of sample i; `notes` say what was assumed."""

    id: str | None
    rows: NDArray[np.int64]
    notes: tuple[str, ...]


def align(
    frame: pl.DataFrame, samples: Sequence[str], id: str | None, values: Collection[str], origin: Origin
) -> Alignment:
    """Matches rows to samples by name; by order only where the table has nothing to match by.

    The names stand in the column `id`; when that is not given, in one called sample, sample_id,
    id or item, else in the first column that is none of the `values`. Without a column so called,
    a table of as many rows as there are samples is taken in order if it has no other column or
    its first one merely counts rows (a, a+1, a+2, …); a note says so.
    """
    known = id if id is not None else next((name for name in ID_NAMES if name in frame.columns), None)
    column = (
        known if known is not None else next((name for name in frame.columns if name not in values), None)
    )
    if column is None:
        if frame.height != len(samples):
            raise DataError(
                f"{origin.name}: has {frame.height} rows for {len(samples)} samples and no column of sample "
                "names. Add a column 'sample'."
            )
        return _matched_in_order(None, len(samples), origin)
    names = name_column(frame, column, origin)
    missed = sorted(set(samples).difference(names.names))
    if missed and known is None and frame.height == len(samples) and _counts_rows(frame[column]):
        return _matched_in_order(column, len(samples), origin)
    if missed:
        raise DataError(
            f"{origin.name}: misses {len(missed)} of {len(samples)} samples: {quoted(missed)}; "
            f"column {column!r} was read as the sample names. Add their rows, or remove them from the table."
        )
    return _matched_by_name(column, names, samples, origin)


def _matched_by_name(column: str, names: Encoded, samples: Sequence[str], origin: Origin) -> Alignment:
    row_of = np.full(len(names.names), -1, np.int64)
    row_of[names.codes[::-1]] = np.arange(len(names.codes))[::-1]
    if len(names.names) < len(names.codes):
        second = int(np.argmax(row_of[names.codes] != np.arange(len(names.codes))))
        code = names.codes[second]
        raise DataError(
            f"{origin.name}: sample {names.names[code]!r} has two rows, {origin.place(int(row_of[code]))} "
            f"and {origin.place(second)}. Keep one."
        )
    place = dict(zip(names.names, row_of.tolist(), strict=True))
    extra = len(names.names) - len(samples)
    unknown = f"{counted(extra, 'sample')} of {origin.name} {'is' if extra == 1 else 'are'} not in the table"
    notes = (f"{unknown} and {'was' if extra == 1 else 'were'} ignored",) if extra else ()
    return Alignment(column, np.array([place[sample] for sample in samples], np.int64), notes)


def _matched_in_order(column: str | None, count: int, origin: Origin) -> Alignment:
    note = f"{origin.name} names no samples; its {count} rows were matched to the samples in order"
    return Alignment(column, np.arange(count), (note,))


def _counts_rows(series: pl.Series) -> bool:
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.null_count() == 0 and bool((numbers.diff().drop_nulls() == 1).all())
