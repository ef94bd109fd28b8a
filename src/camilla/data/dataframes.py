"""Anyone's dataframe to Polars."""

from typing import TYPE_CHECKING, Any

import polars as pl

from camilla.errors import DataError

if TYPE_CHECKING:
    import narwhals as nw


def as_polars(frame: Any) -> pl.DataFrame:
    """A Polars, pandas, PyArrow, Modin or cuDF frame as a Polars one; an index is not a column."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    import narwhals as nw  # for other frames alone: it takes a tenth of a second to load

    try:
        outside = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataError(f"a dataframe was wanted, not {type(frame).__name__}.") from error
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"the dataframe cannot be used: {' '.join(str(error).split())[:200]}") from error
    columns = {str(name): _values(outside.get_column(name)) for name in outside.columns}
    if len(columns) < len(outside.columns):
        raise DataError("two columns of the dataframe have one name, once written out. Rename one of them.")
    return pl.DataFrame(columns, strict=False)


def _values(series: "nw.Series[Any]") -> Any:
    if series.dtype.is_numeric() and not series.is_null().any():
        return series.to_numpy()
    absent = series.is_null().to_list()
    return [None if gone else value for gone, value in zip(absent, series.to_list(), strict=True)]
