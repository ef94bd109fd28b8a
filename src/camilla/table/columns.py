"""How a column of names, numbers or trials is read, and what is said where it cannot be."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError
from camilla.names import in_quotes, nearest

NAMELESS = (pl.List, pl.Array, pl.Struct, pl.Object, pl.Binary)


def _row(row: int) -> str:
    return f"row {row}"


class Origin(NamedTuple):
    """Where a frame came from, so that an error can point at the place."""

    name: str = "the table"
    place: Callable[[int], str] = _row
    missing: tuple[str, ...] = ()  # texts that stand for a missing response


class Encoded(NamedTuple):
    """Distinct names in order of first appearance, and each row's index into them."""

    names: tuple[str, ...]
    codes: NDArray[np.int32]


def pick(frame: pl.DataFrame, column: str, origin: Origin) -> pl.Series:
    """The column of this name, or an error that says what there is."""
    if column not in frame.columns:
        raise DataError(f"{origin.name}: no column {column!r}. {nearest(column, frame.columns)}")
    return frame[column]


def name_column(frame: pl.DataFrame, column: str, origin: Origin) -> Encoded:
    """Names as text, spaces kept; an empty name is an error.

    Whole numbers lose their decimal point, so that 1.0 of one file is the 1 of another.
    """
    series = pick(frame, column, origin)
    if isinstance(series.dtype, NAMELESS):
        raise DataError(f"{origin.name}: column {column!r} holds {series.dtype}; names were wanted.")
    if series.dtype.is_float():
        series = _without_point(series.fill_nan(None))
    if not isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    unnamed = series.is_null() | (series.cast(pl.String) == "")
    if unnamed.any():
        raise DataError(
            f"{origin.name}: {origin.place(_first(unnamed))}, column {column!r} has no name. "
            f"{unnamed.sum()} of {len(series)} rows are without. Name them or remove the rows."
        )
    names = series.unique(maintain_order=True).cast(pl.String)
    codes = series.cast(pl.Enum(names)).to_physical().cast(pl.Int32)
    return Encoded(tuple(names), codes.to_numpy())


def _without_point(series: pl.Series) -> pl.Series:
    whole = ((series == series.round()) & (series.abs() < 2**53)).all()
    return series.cast(pl.Int64) if whole else series


def response_column(series: pl.Series, origin: Origin) -> NDArray[np.float64]:
    """Responses in [0, 1], NaN where missing: numbers, booleans, or their text.

    An empty cell and a float NaN are missing. The text NaN is not: it is refused unless
    `origin.missing` names it.
    """
    if isinstance(series.dtype, pl.String | pl.Categorical | pl.Enum):
        text = series.cast(pl.String).str.strip_chars()
        missing = text.is_null() | text.is_in(["", *origin.missing])
        numbers = _numbers(text)
    elif series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null):
        numbers = series.cast(pl.Float64).fill_nan(None)
        missing = numbers.is_null()
    else:
        raise DataError(
            f"{origin.name}: column {series.name!r} holds {series.dtype}; numbers in [0, 1] wanted."
        )
    good = numbers.is_between(0, 1).fill_null(value=False)
    _refuse(series, ~(good | missing), "a response must be a number in [0, 1]", origin)
    return numbers.set(missing, None).to_numpy().astype(np.float64, copy=False)


def _numbers(text: pl.Series) -> pl.Series:
    numbers = text.cast(pl.Float64, strict=False)
    unread = numbers.is_null() & text.is_not_null()
    if not unread.any():
        return numbers
    truth = text.str.to_lowercase().replace_strict(
        {"true": 1.0, "false": 0.0}, default=None, return_dtype=pl.Float64
    )
    return numbers.zip_with(~unread, truth)


def weight_column(frame: pl.DataFrame, column: str, origin: Origin) -> NDArray[np.float64]:
    """Positive, finite weights; none may be missing."""
    series = pick(frame, column, origin)
    numbers = series.cast(pl.Float64, strict=False)
    good = (numbers.is_finite() & (numbers > 0)).fill_null(value=False)
    remedy = "Fill it in or remove the rows; a column that is no weight is passed over if learner=… is named."
    _refuse(series, ~good, "a weight must be a positive number", origin, remedy=remedy)
    return numbers.to_numpy()


def trial_column(frame: pl.DataFrame, column: str, origin: Origin) -> NDArray[np.int32]:
    """Trial numbers as given; other names of trials are numbered in order of appearance."""
    encoded = name_column(frame, column, origin)
    try:
        numbers = np.array([int(name) for name in encoded.names], np.int32)
    except (ValueError, OverflowError):
        return encoded.codes
    return numbers[encoded.codes]


def _refuse(series: pl.Series, wrong: pl.Series, wanted: str, origin: Origin, *, remedy: str = "") -> None:
    if not wrong.any():
        return
    row = _first(wrong)
    value, column = series[row], in_quotes(series.name)
    raise DataError(
        f"{origin.name}: {wanted}; {origin.place(row)}, column {column} has {in_quotes(value)}. "
        f"{wrong.sum()} of {len(series)} rows are wrong. {remedy or _remedy(value)}"
    )


def _remedy(value: object) -> str:
    if isinstance(value, str) and value.strip().lower() in ("nan", "na", "n/a", "null", "none", "-", "?"):
        text = repr(value.strip())
        return (
            f"If it means a missing response, leave the cell empty or pass missing={text} (--missing {text})."
        )
    if isinstance(value, str):
        return "Write 0 and 1 (or true and false) or a score between them, or leave the column out."
    if value is None:
        return "Fill it in or remove the row."
    return "Rescale the scores or remove the rows."


def _first(mask: pl.Series) -> int:
    return int(mask.arg_true()[0])


MISSING_WORDS = ("", "-", "na", "n/a", "nan", "null", "none")


def plain_names(table: pl.DataFrame, column: str, role: str) -> pl.Series:
    """The column as text; every row must have a name."""
    encoded = name_column(table, column, Origin(f"the {role}"))
    return pl.Series(column, encoded.names, pl.String).gather(encoded.codes)


def number_column(table: pl.DataFrame, column: str, role: str) -> pl.Series:
    """The column as floats, NaN where the cell is empty or says missing."""
    came = pick(table, column, Origin(f"the {role}"))
    if came.dtype == pl.String:
        came = came.str.strip_chars()
        came = came.set(came.str.to_lowercase().is_in(MISSING_WORDS).fill_null(value=False), None)
    numbers = came.cast(pl.Float64, strict=False)
    wrong = numbers.is_null() & came.is_not_null()
    if wrong.any():
        row = int(np.argmax(wrong.to_numpy()))
        raise DataError(
            f"{role} must be a number; row {row} of column {column!r} has {came[row]!r} "
            f"({int(wrong.sum())} of {len(came)} rows). Leave missing values empty; "
            "in a wide table, ignore columns that are no scores."
        )
    return numbers.fill_null(np.nan)


def codes(names: pl.Series) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Different names in order of appearance, and each row's index among them."""
    unique = names.unique(maintain_order=True)
    index = names.replace_strict(unique, pl.int_range(len(unique), eager=True), return_dtype=pl.Int64)
    return tuple(unique), index.to_numpy()


def check_not_empty(table: pl.DataFrame) -> pl.DataFrame:
    """The table, if it has rows."""
    if table.height == 0:
        raise DataError("the table has no rows; scores of at least two players were wanted.")
    return table
