"""How a column of names, numbers or trials is read, and the errors where it cannot be."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.display import counted_of
from camilla.errors import DataError, SettingError
from camilla.names import in_quotes, nearest

NAMELESS = (pl.List, pl.Array, pl.Struct, pl.Object, pl.Binary)
MISSING_WORDS = ("nan", "na", "n/a", "null", "none", "-", "--", "?", "#n/a")
SMALLEST = float(np.nextafter(0, 1))
PERCENT_LIKE = 10  # scores whose largest is between this and 100 are most likely percent
COMMA_NUMBER = r"^[+-]?\d*,\d+$"  # 0,5
CLEARLY_DECIMAL = r"^[+-]?(0*,\d+|\d+,(\d{1,2}|\d{4,}))$"  # not 1,234, which may be a thousand


def _row(row: int) -> str:
    return f"row {row}"


class Scale(NamedTuple):
    """The range on which responses are given, and which of its ends is the good one."""

    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False

    @property
    def words(self) -> str:
        """1 to 10, lower is better."""
        return f"{self.low:g} to {self.high:g}" + (", lower is better" if self.lower_is_better else "")

    def rescaled(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers of this scale as responses in [0, 1]."""
        if self.low == 0 and self.high in (1, 100):
            share = numbers / self.high  # 70 of 100 is 0.7 to the last bit
        else:
            share = (numbers - self.low) / (self.high - self.low)
        return 1 - share if self.lower_is_better else share


PLAIN = Scale()
PERCENT = Scale(0, 100)


def scale_of(value: object) -> Scale:
    """A scale from 1:10, or from two numbers."""
    parts = value.split(":") if isinstance(value, str) else value
    try:
        low, high = map(float, parts)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not (np.isfinite([low, high, high - low]).all() and low < high):
        raise SettingError(
            f"a scale is LOW:HIGH, two numbers, the second the larger, such as 1:10; got {in_quotes(value)}."
        )
    return Scale(low, high)


class Origin(NamedTuple):
    """Where a frame came from, so that an error can point at the place, and how its cells are spelled."""

    name: str = "the table"
    place: Callable[[int], str] = _row
    missing: tuple[str, ...] = ()  # texts that stand for a missing number
    scale: Scale = PLAIN  # on which responses are given
    remedy: str = ""  # what to do about a response that is no number
    percent: bool = False  # whether somebody said that responses are in percent, which can be checked

    def at(self, rows: NDArray[np.integer]) -> "Origin":
        """The origin of a frame that holds only these rows."""
        return self._replace(place=lambda row: self.place(int(rows[row])))


class Encoded(NamedTuple):
    """Distinct names in order of first appearance, and each row's index into them."""

    names: tuple[str, ...]
    codes: NDArray[np.int32]

    def column(self, name: str) -> pl.Series:
        """The names row by row."""
        return pl.Series(name, self.names, pl.String).gather(self.codes)

    def take(self, rows: NDArray[np.integer]) -> "Encoded":
        """The names of these rows, numbered in their order of appearance."""
        kept, first, codes = np.unique(self.codes[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        names = tuple(self.names[code] for code in kept[order])
        return Encoded(names, np.argsort(order).astype(np.int32)[codes])


class Wanted(NamedTuple):
    """The numbers a column may hold, and how an error calls them."""

    what: str
    low: float = -np.inf
    high: float = np.inf


RESPONSE = Wanted("a response must be a number in [0, 1]", 0, 1)
PERCENTAGE = Wanted("a response in percent must be a number in [0, 100]", 0, 100)
SCORE = Wanted("a score must be a finite number")
PROBABILITY = Wanted("a probability must be a number in [0, 1]", 0, 1)
WEIGHT = Wanted("a weight must be a positive number", SMALLEST)


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
        raise DataError(f"{origin.name}: column {column!r} has the type {series.dtype}; expected names.")
    if series.dtype.is_float():
        series = _without_point(series.fill_nan(None))
    if not isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    unnamed = series.is_null() | (series.cast(pl.String) == "")
    if unnamed.any():
        raise DataError(
            f"{origin.name}: {origin.place(_first(unnamed))}, column {column!r} has no name. "
            f"{counted_of(int(unnamed.sum()), len(series), 'row', 'without')}. Name them or remove the rows."
        )
    names = series.unique(maintain_order=True).cast(pl.String)
    codes = series.cast(pl.Enum(names)).to_physical().cast(pl.Int32)
    return Encoded(tuple(names), codes.to_numpy())


def _without_point(series: pl.Series) -> pl.Series:
    whole = ((series == series.round()) & (series.abs() < 2**53)).all()
    return series.cast(pl.Int64) if whole else series


def holds_fractions(series: pl.Series) -> bool:
    """Whether a column holds numbers with decimals, as scores have them and names hardly ever."""
    if series.dtype == pl.String:
        numbers = series.drop_nulls().cast(pl.Float64, strict=False)
        if numbers.null_count():
            return False
    elif series.dtype.is_float():
        numbers = series.drop_nulls()
    else:
        return False
    return bool((numbers.is_finite() & (numbers != numbers.round())).any())


def holds_words(series: pl.Series) -> bool:
    """Whether a column holds texts, none of them a number, a truth value or a word for missing."""
    if series.dtype != pl.String:
        return False
    words = series.str.strip_chars().replace("", None).drop_nulls().unique(maintain_order=True)
    read = words.str.contains(r"^[+-]?[\d.,]+$") | words.str.to_lowercase().is_in(["true", "false"])
    return not read.any() and not all(missing_remedy(word) for word in words)


def texts(missing: str | Sequence[str]) -> tuple[str, ...]:
    """The texts that stand for a missing value, given as one or several."""
    return (missing,) if isinstance(missing, str) else tuple(missing)


def number_column(
    series: pl.Series, wanted: Wanted, origin: Origin, *, required: bool = False, remedy: str = ""
) -> NDArray[np.float64]:
    """Finite numbers in the wanted range, NaN where missing: numbers, booleans, or their text.

    An empty cell and a float NaN are missing. The text NaN is not: it is refused unless
    `origin.missing` names it. A decimal comma is read where it cannot be a thousand. With `required`
    nothing may be missing.
    """
    if isinstance(series.dtype, pl.String | pl.Categorical | pl.Enum):
        text = series.cast(pl.String).str.strip_chars()
        missing = text.is_null() | text.is_in(["", *origin.missing])
        numbers = _numbers(text.set(missing, None), bounded=wanted.high < np.inf)
    elif series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null):
        numbers = series.cast(pl.Float64).fill_nan(None)
        missing = numbers.is_null()
    else:
        raise DataError(f"{origin.name}: {wanted.what}; column {series.name!r} has the type {series.dtype}.")
    good = (numbers.is_finite() & numbers.is_between(wanted.low, wanted.high)).fill_null(value=False)
    wrong = ~good if required else ~(good | missing)
    if wrong.any():
        hint = remedy or _remedy(series[_first(wrong)], numbers, wanted, origin)
        _refuse(series, wrong, wanted, origin, hint)
    return numbers.set(missing, None).to_numpy().astype(np.float64, copy=False)


def response_column(series: pl.Series, origin: Origin, *, remedy: str = "") -> NDArray[np.float64]:
    """Responses in [0, 1], NaN where missing; those on another scale are rescaled."""
    if origin.scale == PLAIN:
        return number_column(series, RESPONSE, origin, remedy=remedy)
    wanted = PERCENTAGE if origin.scale == PERCENT else _on_scale(origin.scale)
    return origin.scale.rescaled(number_column(series, wanted, origin, remedy=remedy))


def _on_scale(scale: Scale) -> Wanted:
    what = f"a response on the scale {scale.words} must be a number in [{scale.low:g}, {scale.high:g}]"
    return Wanted(what, scale.low, scale.high)


def _numbers(text: pl.Series, *, bounded: bool) -> pl.Series:
    numbers = text.cast(pl.Float64, strict=False)
    unread = numbers.is_null() & text.is_not_null()
    if not unread.any():
        return numbers
    if _has_decimal_comma(text, bounded=bounded):
        return text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    truth = text.str.to_lowercase().replace_strict(
        {"true": 1.0, "false": 0.0}, default=None, return_dtype=pl.Float64
    )
    return numbers.zip_with(~unread, truth)


def _has_decimal_comma(text: pl.Series, *, bounded: bool) -> bool:
    """Whether a column writes 0,5 for 0.5: no cell has a point, and the comma cannot mean thousands."""
    with_comma = text.filter(text.str.contains(",", literal=True))
    return (
        bool(with_comma.str.contains(COMMA_NUMBER).all())
        and not text.str.contains(".", literal=True).any()
        and (bounded or bool(with_comma.str.contains(CLEARLY_DECIMAL).any()))
        and len(with_comma) > 0
    )


def weight_column(frame: pl.DataFrame, column: str, origin: Origin) -> NDArray[np.float64]:
    """Positive, finite weights; none may be missing."""
    remedy = (
        "Fill it in or remove the rows; a column that is not a weight is passed over if learner=… is named."
    )
    return number_column(pick(frame, column, origin), WEIGHT, origin, required=True, remedy=remedy)


def answer_column(frame: pl.DataFrame, column: str, origin: Origin) -> pl.Series:
    """What learners answered, as text written like names; null where a cell is empty or NaN."""
    series = pick(frame, column, origin)
    if isinstance(series.dtype, NAMELESS):
        raise DataError(f"{origin.name}: column {column!r} has the type {series.dtype}; expected answers.")
    if series.dtype.is_float():
        series = _without_point(series.fill_nan(None))
    return series.cast(pl.String).replace("", None).alias("answer")


def trial_column(frame: pl.DataFrame, column: str, origin: Origin) -> NDArray[np.int32]:
    """Trial numbers as given; other names of trials are numbered in order of appearance."""
    encoded = name_column(frame, column, origin)
    try:
        numbers = np.array([int(name) for name in encoded.names], np.int32)
    except (ValueError, OverflowError):
        return encoded.codes
    return numbers[encoded.codes]


def _refuse(series: pl.Series, wrong: pl.Series, wanted: Wanted, origin: Origin, remedy: str) -> None:
    row = _first(wrong)
    raise DataError(
        f"{origin.name}: {wanted.what}; {origin.place(row)}, column {in_quotes(series.name)} has "
        f"{in_quotes(series[row])}. {counted_of(int(wrong.sum()), len(series), 'row', 'wrong')}. {remedy}"
    )


def missing_remedy(value: object) -> str | None:
    """What to do about a text that usually stands for a missing value; None for any other value."""
    if not isinstance(value, str) or value.strip().lower() not in MISSING_WORDS:
        return None
    text = repr(value.strip())
    return f"If it means a missing value, leave the cell empty or pass missing={text} (--missing {text})."


def _remedy(value: object, numbers: pl.Series, wanted: Wanted, origin: Origin) -> str:
    if value is None:
        return "Fill it in or remove the row."
    if (remedy := missing_remedy(value)) is not None:
        return remedy
    if isinstance(value, str) and "," in value:
        return "Write numbers with a decimal point and without separators of thousands."
    bounded = wanted.high < np.inf
    if isinstance(value, str) and not _is_number(value):
        if bounded:
            return (
                origin.remedy
                or "Write 0 and 1 (or true and false) or a score between them, or leave the column out."
            )
        return "Write numbers, or leave the cell empty where there is none."
    if wanted is RESPONSE and _look_like_percent(numbers):
        return "The column looks like percent: pass percent=True (--percent), or divide it by 100."
    if bounded:
        return "Rescale the scores, scale=… (--scale LOW:HIGH), or remove the rows."
    return "Leave such a cell empty."


def _is_number(text: str) -> bool:
    return pl.Series([text.strip()]).cast(pl.Float64, strict=False).null_count() == 0


def _look_like_percent(numbers: pl.Series) -> bool:
    numbers = numbers.drop_nulls().drop_nans()
    inside = numbers.is_between(0, 100).all()
    return bool(inside) and len(numbers) > 0 and float(numbers.max()) >= PERCENT_LIKE  # type: ignore[arg-type]


def _first(mask: pl.Series) -> int:
    return int(mask.arg_true()[0])
