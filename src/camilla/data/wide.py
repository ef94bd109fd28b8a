"""Wide tables and matrices: one row a sample (or a learner), one column each of the other."""

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import ArrayLike, NDArray

from camilla.data.columns import Origin, name_column, pick, response_column
from camilla.data.names import numbered
from camilla.data.parts import Parts
from camilla.errors import DataError, SettingError

Rows = Literal["samples", "learners"]


def wide_parts(
    frame: pl.DataFrame, rows: Rows, id: str | None, aside: Collection[str], origin: Origin
) -> Parts:
    """The responses of a wide table; `aside` names columns that are neither ids nor responses."""
    if rows not in ("samples", "learners"):
        raise SettingError(
            f"rows must be 'samples' or 'learners', not {rows!r}: say what one row of the table is."
        )
    id = frame.columns[0] if id is None else id
    for column in aside:
        pick(frame, column, origin)
    names = name_column(frame, id, origin)
    if len(names.names) < frame.height:
        _refuse_repeated_ids(names.codes, names.names, id, origin)
    columns = tuple(column for column in frame.columns if column != id and column not in aside)
    if not columns:
        raise DataError(
            f"{origin.name}: has no column beside {id!r}; one column a learner or sample was wanted."
        )
    if "" in columns:
        raise DataError(
            f"{origin.name}: column {frame.columns.index('') + 1} has no name. Name or remove it."
        )
    matrix = _responses(frame.select(columns), origin)
    if rows == "samples":
        return dense_parts(matrix.T, columns, names.names)
    return dense_parts(matrix, names.names, columns)


def _responses(frame: pl.DataFrame, origin: Origin) -> NDArray[np.float64]:
    """Responses [rows, columns]: plain columns all at once, the rest one by one to find what is wrong."""
    plain = frame.select(cs.numeric() | cs.boolean() | cs.string()).with_columns(cs.float().fill_nan(None))
    numbers = plain.cast(pl.Float64, strict=False).to_numpy()
    n_inside = np.sum((numbers >= 0) & (numbers <= 1), axis=0)
    n_given = frame.height - np.array(plain.null_count().row(0), np.int64) if plain.width else n_inside
    good = {name: place for place, name in enumerate(plain.columns) if n_inside[place] == n_given[place]}
    matrix = np.empty(frame.shape)
    for place, name in enumerate(frame.columns):
        matrix[:, place] = numbers[:, good[name]] if name in good else response_column(frame[name], origin)
    return matrix


def matrix_parts(array: ArrayLike, learners: Sequence[str] | None, samples: Sequence[str] | None) -> Parts:
    """The responses of a matrix [learners, samples], NaN = missing; names are numbered when not given."""
    matrix = np.asarray(array)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"the matrix has shape {matrix.shape} and type {matrix.dtype}; [learners, samples] wanted."
        )
    matrix = matrix.astype(np.float64)
    wrong = ~(np.isnan(matrix) | ((matrix >= 0) & (matrix <= 1)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise DataError(
            f"a response must be a number in [0, 1]; row {row}, column {column} of the matrix has "
            f"{matrix[row, column]:g}. {int(wrong.sum())} of {matrix.size} cells are wrong. Rescale them."
        )
    n_learners, n_samples = matrix.shape
    learners = numbered("learner", n_learners) if learners is None else tuple(str(name) for name in learners)
    samples = numbered("sample", n_samples) if samples is None else tuple(str(name) for name in samples)
    if (len(learners), len(samples)) != matrix.shape:
        raise DataError(
            f"the matrix is {n_learners} learners × {n_samples} samples, but {len(learners)} learner "
            f"names and {len(samples)} sample names came. Lay it out as [learners, samples]."
        )
    return dense_parts(matrix, learners, samples)


def dense_parts(matrix: NDArray[np.float64], learners: Sequence[str], samples: Sequence[str]) -> Parts:
    """Rows of the cells that are not NaN, sample by sample."""
    sample, learner = np.nonzero(~np.isnan(matrix.T))
    return Parts(
        tuple(learners),
        tuple(samples),
        learner.astype(np.int32),
        sample.astype(np.int32),
        matrix[learner, sample],
        n_missing=matrix.size - len(sample),
    )


def _refuse_repeated_ids(codes: NDArray[np.int32], names: tuple[str, ...], id: str, origin: Origin) -> None:
    code = int(np.argmax(np.bincount(codes) > 1))
    first, second = np.flatnonzero(codes == code)[:2]
    raise DataError(
        f"{origin.name}: column {id!r} names {origin.place(int(first))} and {origin.place(int(second))} both "
        f"{names[code]!r}; {len(codes) - len(names)} rows repeat a name. Each row wants its own; "
        "give repeated runs as a long table with trials, or say which column holds the names. Where each "
        "task numbers its own samples, reading the file with task=… (--task) calls them task/name."
    )
