"""Data frames, long and wide, as the arrays of a response table."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import ArrayLike, NDArray

from camilla.display import counted
from camilla.errors import DataError, SettingError
from camilla.names import in_quotes, numbered, quoted, repeated
from camilla.table.cells import order_by_cell
from camilla.table.columns import (
    Encoded,
    Origin,
    answer_column,
    holds_fractions,
    holds_words,
    name_column,
    pick,
    response_column,
    trial_column,
    weight_column,
)

if TYPE_CHECKING:
    import narwhals as nw


class Parts(NamedTuple):
    """The fields of a response table that a source can give; `ResponseTable(**parts._asdict())`."""

    learners: tuple[str, ...]
    samples: tuple[str, ...]
    learner: NDArray[np.int32]
    sample: NDArray[np.int32]
    response: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    trial: NDArray[np.int32] | None = None
    task: tuple[str, ...] | None = None
    cluster: tuple[str, ...] | None = None
    key: tuple[str, ...] | None = None
    answer: pl.Series | None = None
    n_missing: int = 0


class IndexedFrame(NamedTuple):
    """A frame in Polars; the levels of a pandas index that name rows are its first columns."""

    frame: pl.DataFrame
    levels: tuple[str, ...] = ()  # the columns that were the index
    counter: pl.Series | None = None  # an index of whole numbers without a name: names, if nothing else is

    def named_by(self, id: str | None, origin: Origin) -> "NamedFrame":
        """The frame with the one column that names its rows, and without other levels of the index.

        `id` is the column that was asked for; else it is the index, else the first column.
        """
        frame = self.frame
        if id is None and len(self.levels) > 1:
            raise DataError(
                f"{origin.name}: its index has {len(self.levels)} levels, {quoted(self.levels)}; expected "
                "one column of names. Say which one names the rows, or use frame.reset_index()."
            )
        name = id if id is not None else next(iter(self.levels), None)
        frame = frame.drop(level for level in self.levels if level != name)
        if frame.width == 0:
            raise DataError(f"{origin.name}: has no columns.")
        if name is not None:
            return NamedFrame(frame, name)
        if self.counter is not None and not can_name(frame[frame.columns[0]]):
            return NamedFrame(frame.insert_column(0, self.counter), self.counter.name)
        return NamedFrame(frame, first_names(frame, (), origin))


class NamedFrame(NamedTuple):
    """A frame, and which of its columns names the rows."""

    frame: pl.DataFrame
    id: str


def can_name(series: pl.Series) -> bool:
    """Whether a column may be taken for names unasked: not where it holds decimals or truth values."""
    return not (series.dtype.is_float() or series.dtype == pl.Boolean or holds_fractions(series))


def first_names(frame: pl.DataFrame, aside: Collection[str], origin: Origin) -> str:
    """The first column that is not set aside, if it can name the rows of a wide table."""
    id = next((name for name in frame.columns if name not in aside), frame.columns[0])
    if not can_name(frame[id]):
        raise DataError(
            f"{origin.name}: which column names the rows? The first one, {id!r}, contains numbers such as "
            f"{in_quotes(frame[id].drop_nulls().first())}. Name the column: sample=… (--sample) where rows "
            "are samples, learner=… (--learner) where rows are learners, id=… for a dataframe."
        )
    return id


def as_polars(frame: Any) -> pl.DataFrame:
    """A Polars, pandas, PyArrow, Modin or cuDF frame in Polars; an index that names rows comes first."""
    return indexed(frame).frame


def indexed(frame: Any) -> IndexedFrame:
    """Any dataframe in Polars, with what its index says.

    An index has names if it has a name itself or holds anything but whole numbers; else it only counts rows.
    """
    if isinstance(frame, pl.DataFrame):
        return IndexedFrame(frame)
    if isinstance(frame, pl.LazyFrame):
        return IndexedFrame(frame.collect())
    import narwhals as nw  # for other frames alone: it takes a tenth of a second to load

    levels, counter = list[pl.Series](), None
    if nw.dependencies.is_pandas_like_dataframe(frame):
        frame = _flat_columns(frame)
        levels, counter = _index_levels(frame)
    try:
        outside = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        remedy = " Use series.reset_index(name='response')." if hasattr(frame, "name") else ""
        raise DataError(f"expected a dataframe, not {type(frame).__name__}.{remedy}") from error
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"the dataframe cannot be used: {' '.join(str(error).split())[:200]}") from error
    columns = {str(name): _values(outside.get_column(name)) for name in outside.columns}
    if len(columns) < len(outside.columns):
        raise DataError("two columns of the dataframe have one name, once written out. Rename one of them.")
    whole = pl.DataFrame(columns, strict=False)
    fresh = [level for level in levels if not _is_column(level, whole)]
    joined = pl.DataFrame([*fresh, *whole.get_columns()])
    return IndexedFrame(joined, tuple(level.name for level in fresh), counter)


def _flat_columns(frame: Any) -> Any:
    """A frame whose columns have one level; a level that says the same of all columns is dropped."""
    columns = frame.columns
    if columns.nlevels == 1:
        return frame
    levels = [columns.get_level_values(k) for k in range(columns.nlevels)]
    telling = [level for level in levels if len(set(level)) > 1] or levels[-1:]
    if len(telling) > 1:
        raise DataError(
            f"the columns of the dataframe have {columns.nlevels} levels, such as {in_quotes(columns[0])}; "
            "expected one. Pick a part of it, frame['response'], or give pivot(…, values='response')."
        )
    return frame.set_axis(telling[0], axis=1)


def _index_levels(frame: Any) -> tuple[list[pl.Series], pl.Series | None]:
    """The levels of an index that name rows; else its whole numbers, unless they are 0, 1, 2, …"""
    index, found = frame.index, []
    for k in range(index.nlevels):
        level = index.get_level_values(k)
        if level.name is None and level.dtype.kind in "iu":
            continue
        unnamed = "index" if index.nlevels == 1 else f"level_{k}"
        values = level.to_numpy()
        if values.dtype.kind == "O":
            values = [None if value is None or value != value else value for value in values.tolist()]
        found.append(pl.Series(unnamed if level.name is None else str(level.name), values, strict=False))
    if found or index.nlevels > 1:
        return found, None
    numbers = pl.Series("index", index.to_numpy())
    counts = pl.Series("index", range(len(numbers)), numbers.dtype)
    return found, None if numbers.equals(counts) else numbers


def _is_column(level: pl.Series, frame: pl.DataFrame) -> bool:
    """Whether a level of the index stands in the frame as well; another column of its name is an error."""
    if level.name not in frame.columns:
        return False
    if not frame[level.name].cast(pl.String).equals(level.cast(pl.String)):
        raise DataError(
            f"the index and a column of the dataframe are both called {level.name!r} and differ. Rename one."
        )
    return True


def _values(series: "nw.Series[Any]") -> Any:
    if series.dtype.is_numeric() and not series.is_null().any():
        return series.to_numpy()
    absent = series.is_null().to_list()
    return [None if gone else value for gone, value in zip(absent, series.to_list(), strict=True)]


class Roles(NamedTuple):
    """Which column plays which part."""

    learner: str = "learner"
    sample: str = "sample"
    response: str = "response"
    trial: str | None = None
    task: str | None = None
    cluster: str | None = None
    weight: str | None = None
    key: str | None = None
    answer: str | None = None

    def columns(self) -> list[str]:
        """The columns that are named, each once."""
        return list(dict.fromkeys(name for name in self if name is not None))


def _check_roles(roles: Roles, origin: Origin) -> None:
    if twice := repeated([roles.learner, roles.sample, roles.response]):
        raise DataError(
            f"{origin.name}: column {twice[0]!r} cannot be two of learner, sample and response. Name others."
        )


def long_parts(frame: pl.DataFrame, roles: Roles, origin: Origin) -> Parts:
    """Names, indices and responses of a long table; rows without a response are counted and dropped.

    Repeated (learner, sample) rows are trials, numbered in row order when no trial column is named.
    """
    _check_roles(roles, origin)
    response = response_column(pick(frame, roles.response, origin), origin)
    check_percent(response, origin)
    learner = name_column(frame, roles.learner, origin)
    sample = name_column(frame, roles.sample, origin)
    weight = None if roles.weight is None else weight_column(frame, roles.weight, origin)
    trial = None if roles.trial is None else trial_column(frame, roles.trial, origin)
    cell = sample.codes.astype(np.int64) * len(learner.names) + learner.codes
    if trial is not None:
        _check_trials(cell, trial, learner, sample, origin)

    kept = ~np.isnan(response)
    trial = _numbered_trials(cell[kept]) if trial is None else trial[kept]
    return Parts(
        learner.names,
        sample.names,
        learner.codes[kept],
        sample.codes[kept],
        response[kept],
        weight=None if weight is None else weight[kept],
        trial=trial,
        task=None if roles.task is None else per_sample(frame, roles.task, sample, origin),
        cluster=None if roles.cluster is None else per_sample(frame, roles.cluster, sample, origin),
        key=None if roles.key is None else per_sample(frame, roles.key, sample, origin),
        answer=None
        if roles.answer is None
        else answer_column(frame, roles.answer, origin).filter(pl.Series(kept)),
        n_missing=int(np.sum(~kept)),
    )


def per_sample(frame: pl.DataFrame, column: str, sample: Encoded, origin: Origin) -> tuple[str, ...]:
    """The one name that this column gives each sample; two names for one sample are an error."""
    given = name_column(frame, column, origin)
    first = np.empty(len(sample.names), np.int32)
    first[sample.codes[::-1]] = given.codes[::-1]
    differs = first[sample.codes] != given.codes
    if differs.any():
        row = int(np.argmax(differs))
        code = sample.codes[row]
        raise DataError(
            f"{origin.name}: sample {sample.names[code]!r} has {column} {given.names[first[code]]!r} and, in "
            f"{origin.place(row)}, {given.names[given.codes[row]]!r}. Give each sample one {column}, or "
            f"samples of different names."
        )
    return tuple(given.names[code] for code in first)


def _numbered_trials(cell: NDArray[np.int64]) -> NDArray[np.int32] | None:
    """0, 1, … within each cell in row order; None when no cell repeats."""
    if len(cell) == 0:
        return None
    order = order_by_cell(cell)
    starts = np.flatnonzero(np.concatenate(([True], np.diff(cell[order]) != 0)))
    if len(starts) == len(cell):
        return None
    sizes = np.diff(np.append(starts, len(cell)))
    trial = np.empty(len(cell), np.int32)
    trial[order] = np.arange(len(cell)) - np.repeat(starts, sizes)
    return trial


def _check_trials(
    cell: NDArray[np.int64], trial: NDArray[np.int32], learner: Encoded, sample: Encoded, origin: Origin
) -> None:
    order = np.lexsort((trial, cell))
    again = (np.diff(cell[order]) == 0) & (np.diff(trial[order]) == 0)
    if not again.any():
        return
    place = int(np.argmax(again))
    first, second = int(order[place]), int(order[place + 1])
    raise DataError(
        f"{origin.name}: {learner.names[learner.codes[first]]!r} on {sample.names[sample.codes[first]]!r} "
        f"has trial {trial[first]} twice, in {origin.place(first)} and {origin.place(second)}. "
        f"{counted(int(again.sum()), 'row', 'repeats', 'repeat')} a trial. "
        "Number the trials or remove the copies."
    )


WideRows = Literal["samples", "learners"]


def wide_parts(
    frame: pl.DataFrame, rows: WideRows, id: str | None, aside: Collection[str], origin: Origin
) -> Parts:
    """The responses of a wide table; `aside` names columns that are neither ids nor responses."""
    if rows not in ("samples", "learners"):
        raise SettingError(
            f"rows must be 'samples' or 'learners', not {rows!r}: say what one row of the table is."
        )
    for column in aside:
        pick(frame, column, origin)
    id = first_names(frame, aside, origin) if id is None else id
    names = name_column(frame, id, origin)
    if len(names.names) < frame.height:
        _refuse_repeated_ids(names.codes, names.names, id, origin)
    columns = tuple(column for column in frame.columns if column != id and column not in aside)
    if not columns:
        raise DataError(
            f"{origin.name}: has no column beside {id!r}; expected one column per learner or sample."
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
    scale = origin.scale
    plain = frame.select(cs.numeric() | cs.boolean() | cs.string()).with_columns(cs.float().fill_nan(None))
    numbers = plain.cast(pl.Float64, strict=False).to_numpy()
    n_inside = np.sum((numbers >= scale.low) & (numbers <= scale.high), axis=0)
    n_given = frame.height - np.array(plain.null_count().row(0), np.int64) if plain.width else n_inside
    good = {name: place for place, name in enumerate(plain.columns) if n_inside[place] == n_given[place]}
    matrix = np.empty(frame.shape)
    for place, name in enumerate(frame.columns):
        if name in good:
            matrix[:, place] = scale.rescaled(numbers[:, good[name]])
        else:
            matrix[:, place] = response_column(frame[name], origin, remedy=_text_remedy(frame[name]))
    check_percent(matrix, origin)
    return matrix


def _text_remedy(series: pl.Series) -> str:
    """What to do about a column of a wide table that holds words; '' for any other column."""
    if not holds_words(series):
        return ""
    return (
        f"If {in_quotes(series.name)} contains no responses, say what it is: ignore=… (--ignore) to pass "
        "over it, task=… (--task), or skills=':…' (--skills :…)."
    )


def check_percent(responses: NDArray[np.float64], origin: Origin) -> None:
    """Refuses to divide by 100 what is already between 0 and 1."""
    if origin.percent and responses.size and not np.nanmax(responses, initial=0) > 0.01:
        raise SettingError(
            f"{origin.name}: no response is above 1, so the table is not in percent. Leave percent out."
        )


def matrix_parts(array: ArrayLike, learners: Sequence[str] | None, samples: Sequence[str] | None) -> Parts:
    """The responses of a matrix [learners, samples], NaN = missing; names are numbered when not given."""
    matrix = np.asarray(array)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"the matrix has shape {matrix.shape} and type {matrix.dtype}; expected [learners, samples]."
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
            f"the matrix is {n_learners} learners × {n_samples} samples, but {len(learners)} learner names "
            f"and {len(samples)} sample names were given. Lay it out as [learners, samples]."
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
        f"{origin.name}: column {id!r} names {origin.place(int(first))} and {origin.place(int(second))} "
        f"both {names[code]!r}; {len(codes) - len(names)} rows repeat a name. Each row needs its own name; "
        "give repeated runs as a long table with trials, or say which column contains the names. Where "
        "each task numbers its own samples, reading the file with task=… (--task) calls them task/name."
    )
