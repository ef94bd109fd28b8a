"""Names and numbers of a score or match table, or an error that says which row is wrong."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.columns import Origin, pick
from camilla.data.columns import name_column as encoded_column
from camilla.errors import DataError

MISSING_WORDS = ("", "-", "na", "n/a", "nan", "null", "none")


def name_column(table: pl.DataFrame, column: str, role: str) -> pl.Series:
    """The column as text; every row must have a name."""
    encoded = encoded_column(table, column, Origin(f"the {role}"))
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


def check_rows(table: pl.DataFrame) -> pl.DataFrame:
    """The table, if it has rows."""
    if table.height == 0:
        raise DataError("the table has no rows; scores of at least two players were wanted.")
    return table
