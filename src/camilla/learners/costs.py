"""What learners cost and how sure they were: read from files, frames and settings, checked by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.arrays import Floats
from camilla.errors import DataError, SettingError
from camilla.names import in_quotes, name_index, nearest, quoted
from camilla.table.columns import MISSING_WORDS, Origin, name_column, pick
from camilla.table.features import USUAL_NAMES
from camilla.table.frame_files import called, file_and_columns, frame_with_lines, read_frame
from camilla.table.frames import as_polars

LEARNER_COLUMNS = USUAL_NAMES["learner"]
SAMPLE_COLUMNS = USUAL_NAMES["sample"]
REMEDY = "A cost is a number from 0 on; give one for every learner."


class Costs(NamedTuple):
    """What an answer costs: each learner's mean, and per sample where that is known."""

    mean: Floats  # [learners]
    cells: Floats  # [learners, samples]
    given: bool  # False: nobody said, and every answer costs 1

    @property
    def differ(self) -> bool:
        """Whether a budget can act."""
        return bool(np.ptp(self.mean) > 0)


def costs_of(source: Any, learners: Sequence[str], samples: Sequence[str]) -> Costs:
    """Costs of these learners from a mapping, "name=cost,…", FILE[:column] or a frame; 1 where none came."""
    if source is None:
        return _everywhere(np.ones(len(learners)), len(samples), given=False)
    if isinstance(source, str) and "=" in source and not Path(source).is_file():
        source = _spelled(source)
    if isinstance(source, Mapping):
        return _everywhere(_by_name(source, learners, "the costs"), len(samples), given=True)
    found = _read(source, "cost")
    origin, frame = found.origin, found.frame
    names = name_column(frame, _column(frame, LEARNER_COLUMNS, "learner", origin), origin).column("learner")
    values = _numbers(frame, found.column, names, origin)
    sample = next((name for name in SAMPLE_COLUMNS if name in frame.columns), None)
    if sample is None:
        if twice := names.filter(names.is_duplicated()).to_list():
            raise DataError(
                f"{origin.name}: learner {in_quotes(twice[0])} has several costs and there is no column of "
                f"samples ({', '.join(SAMPLE_COLUMNS)}). Keep one cost per learner, or add that column."
            )
        by_name = dict(zip(names.to_list(), values.tolist(), strict=True))
        return _everywhere(_by_name(by_name, learners, origin.name), len(samples), given=True)
    cells = _cells(names, name_column(frame, sample, origin).column("sample"), values, learners, samples)
    if absent := [name for name, row in zip(learners, cells, strict=True) if np.isnan(row).all()]:
        raise DataError(f"{origin.name}: learner {in_quotes(absent[0])} has no cost. "
                        f"{nearest(absent[0], names.unique().to_list())} {REMEDY}")  # fmt: skip
    mean = np.nanmean(cells, axis=1)
    return Costs(mean, np.where(np.isnan(cells), mean[:, None], cells), given=True)


def confidences_of(source: Any, learners: Sequence[str], samples: Sequence[str]) -> Floats:
    """How sure each learner was of its answer, [learners, samples]; NaN where that is not known."""
    found = _read(source, "confidence")
    frame, origin = found.frame, found.origin
    names = name_column(frame, _column(frame, LEARNER_COLUMNS, "learner", origin), origin).column("learner")
    sample = name_column(frame, _column(frame, SAMPLE_COLUMNS, "sample", origin), origin).column("sample")
    values = confidences_in(pick(frame, found.column, origin), origin)
    if values.null_count() == len(values):
        raise DataError(
            f"{origin.name}: column {in_quotes(found.column)} of confidence contains no number; expected "
            "finite numbers."
        )
    cells = _cells(names, sample, values.to_numpy(), learners, samples)
    if np.isnan(cells).all():
        raise DataError(
            f"{origin.name}: has no confidence for the table's learners and samples. Names must be the "
            f"same: it has learner {in_quotes(names[0])} and sample {in_quotes(sample[0])}, the table "
            f"{in_quotes(learners[0])} and {in_quotes(samples[0])}."
        )
    return cells


class _Column(NamedTuple):
    frame: pl.DataFrame
    column: str
    origin: Origin


def _read(source: Any, usual: str) -> _Column:
    """A frame or file, and which of its columns is meant."""
    column, origin = usual, Origin(f"the {usual}s")
    if isinstance(source, str | Path):
        file, columns = file_and_columns(source, f"{usual}s")
        if file is None or len(columns) > 1:
            raise SettingError(f"{usual}s {str(source)!r}: expected FILE or FILE:column.")
        column = columns[0] if columns else usual
        source, place = frame_with_lines(read_frame(file, text=True), file)
        origin = Origin(called(file), place)
    frame = as_polars(source)
    if column not in frame.columns:
        raise DataError(
            f"{origin.name}: no column {in_quotes(column)}; it has {quoted(frame.columns)}. Name it behind a "
            f"colon: FILE:column."
        )
    return _Column(frame, column, origin)


def _column(frame: pl.DataFrame, usual: Sequence[str], kind: str, origin: Origin) -> str:
    found = next((name for name in usual if name in frame.columns), None)
    if found is None:
        raise DataError(
            f"{origin.name}: has no column of {kind}s; expected one called {', '.join(usual)}, but it has "
            f"only {quoted(frame.columns)}."
        )
    return found


def confidences_in(series: pl.Series, origin: Origin) -> pl.Series:
    """Finite numbers, null where there is none."""
    remedy = "Leave the cell empty where the confidence is not known."
    values = _parsed(series, origin, remedy)
    for row in values.is_infinite().fill_null(value=False).arg_true():
        raise DataError(
            f"{origin.name}, {origin.place(row)}: column {in_quotes(series.name)} contains {values[row]:g}; "
            f"expected a finite number. {remedy}"
        )
    return values


def _parsed(series: pl.Series, origin: Origin, remedy: str) -> pl.Series:
    """Numbers, null where there is none; a column of text is read."""
    if series.dtype.is_numeric():
        return series.cast(pl.Float64).fill_nan(None)
    text = series.cast(pl.String).str.strip_chars()
    text = text.set((text == "") | text.str.to_lowercase().is_in(MISSING_WORDS), None)
    numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
    wrong = numbers.is_null() & text.is_not_null()
    for row in wrong.arg_true():
        raise DataError(
            f"{origin.name}, {origin.place(row)}: column {in_quotes(series.name)} contains "
            f"{in_quotes(text[row])}; expected a number. {remedy}"
        )
    return numbers


def _numbers(frame: pl.DataFrame, column: str, names: pl.Series, origin: Origin) -> Floats:
    """Costs of a column; a wrong one is named with its learner."""
    numbers = _parsed(pick(frame, column, origin), origin, REMEDY)
    for row in (numbers.is_null() | (numbers < 0) | numbers.is_infinite()).fill_null(value=True).arg_true():
        raise _wrong_cost(names[row], numbers[row], f"{origin.name}, {origin.place(row)}")
    return numbers.to_numpy()


def _wrong_cost(learner: str, cost: Any, where: str) -> DataError:
    what = (
        "is missing"
        if cost is None or cost != cost
        else f"is {cost:g}"
        if _is_number(cost)
        else f"is {cost!r}"
    )
    return DataError(f"{where}: the cost of learner {in_quotes(learner)} {what}. {REMEDY}")


def _is_number(cost: Any) -> bool:
    return isinstance(cost, int | float | np.number) and not isinstance(cost, bool)


def _cells(
    names: pl.Series, sample: pl.Series, values: Floats, learners: Sequence[str], samples: Sequence[str]
) -> Floats:
    """Means of values by learner and sample; NaN where there is none. Others are ignored."""
    row, column = name_index(learners), name_index(samples)
    i = np.array([row.get(name, -1) for name in names.to_list()], np.int64)
    j = np.array([column.get(name, -1) for name in sample.to_list()], np.int64)
    known = (i >= 0) & (j >= 0) & ~np.isnan(values)
    total, count = np.zeros((len(learners), len(samples))), np.zeros((len(learners), len(samples)))
    np.add.at(total, (i[known], j[known]), values[known])
    np.add.at(count, (i[known], j[known]), 1)
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)


def _by_name(given: Mapping[str, Any], learners: Sequence[str], where: str) -> Floats:
    out = np.empty(len(learners))
    for number, name in enumerate(learners):
        if name not in given:
            raise DataError(
                f"{where}: learner {in_quotes(name)} has no cost. {nearest(name, list(given))} {REMEDY}"
            )
        cost = given[name]
        if not _is_number(cost) or not 0 <= float(cost) < np.inf:
            raise _wrong_cost(name, cost, where)
        out[number] = float(cost)
    return out


def _everywhere(mean: Floats, n_samples: int, *, given: bool) -> Costs:
    return Costs(mean, np.repeat(mean[:, None], n_samples, axis=1), given)


def _spelled(text: str) -> dict[str, float]:
    """name=cost,name=cost; a name may hold "=", for the cost stands behind the last one."""
    costs: dict[str, float] = {}
    for part in text.split(","):
        name, sign, cost = part.rpartition("=")
        name = name.strip()
        try:
            number = float(cost)
        except ValueError:
            sign = ""
        if not sign:
            raise SettingError(f"--costs takes name=cost,name=cost or FILE; {part!r} is neither.")
        if name in costs:
            raise SettingError(f"--costs: learner {in_quotes(name)} has two costs. Keep one.")
        costs[name] = number
    return costs
