"""Columns of a table to the skills that each sample needs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.alignment import align
from camilla.data.columns import Origin, name_column, pick
from camilla.data.names import quoted
from camilla.errors import DataError


class Skills(NamedTuple):
    """The fields of a skill map."""

    skills: tuple[str, ...]
    mask: NDArray[np.bool_]  # [samples, skills]
    notes: tuple[str, ...] = ()


def zeros_and_ones(
    frame: pl.DataFrame, samples: Sequence[str], id: str | None, columns: Sequence[str] | None, origin: Origin
) -> Skills:
    """Skills as columns of 0 and 1; all columns but the names when `columns` is not given."""
    aligned = align(frame, samples, id, columns or (), origin)
    skills = tuple(column for column in columns or frame.columns if column != aligned.id)
    if not skills:
        raise DataError(f"{origin.name}: has no column beside {aligned.id!r}; a column a skill was wanted.")
    mask = np.column_stack([_zero_or_one(pick(frame, skill, origin), origin) for skill in skills])[
        aligned.rows
    ]
    idle = np.flatnonzero(mask.sum(axis=1) == 0).tolist()
    if len(idle):
        raise DataError(
            f"{origin.name}: {len(idle)} samples need no skill, all their columns are 0: "
            f"{quoted([samples[i] for i in idle])}, first in {origin.place(int(aligned.rows[idle[0]]))}. "
            "Each sample needs at least one."
        )
    unused = [skills[k] for k in np.flatnonzero(mask.sum(axis=0) == 0)]
    notes = (f"no sample needs {quoted(unused)}",) if unused else ()
    return Skills(skills, mask, aligned.notes + notes)


def is_zero_or_one(series: pl.Series) -> bool:
    """Whether the column could be a skill of a 0/1 table."""
    return bool(_as_bit(series).is_not_null().all())


def _as_bit(series: pl.Series) -> pl.Series:
    numbers = series.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
    bits = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
    return numbers.replace_strict(bits, default=None, return_dtype=pl.Int8)


def _zero_or_one(series: pl.Series, origin: Origin) -> NDArray[np.bool_]:
    bit = _as_bit(series)
    if bit.null_count():
        row = int(bit.is_null().arg_true()[0])
        raise DataError(
            f"{origin.name}: a skill map holds 0 and 1; {origin.place(row)}, column {series.name!r} has "
            f"{series[row]!r}. {bit.null_count()} of {len(bit)} rows are wrong. "
            f"If {series.name!r} is a label, name it as one: FILE:{series.name}."
        )
    return bit.cast(pl.Boolean).to_numpy()


def one_hots(
    frame: pl.DataFrame, columns: Sequence[str], samples: Sequence[str], id: str | None, origin: Origin
) -> Skills:
    """Each value of each categorical column is a skill.

    A missing value is an error, unless another column gives the sample a skill: then the column
    gives it none, and a note says how often.
    """
    aligned = align(frame, samples, id, columns, origin)
    parts = []
    notes = list(aligned.notes)
    for column in columns:
        values = pick(frame, column, origin)[aligned.rows]
        absent = _absent(values)
        if absent.any():
            notes.append(f"{column} of {absent.sum()} samples is missing and gives them no skill")
        parts.append(_hot(values, absent, f"{column}=" if len(columns) > 1 else "", origin))
    mask = np.hstack([part.mask for part in parts])
    if not mask.any(axis=1).all():
        at = int(np.argmin(mask.any(axis=1)))
        raise DataError(
            f"{origin.name}: {origin.place(int(aligned.rows[at]))}, sample {samples[at]!r} has no value in "
            f"column {' nor '.join(map(repr, columns))}; each sample needs a skill. Fill it in."
        )
    return Skills(tuple(skill for part in parts for skill in part.skills), mask, tuple(notes))


def one_hot(values: pl.Series, origin: Origin) -> Skills:
    """One skill a distinct value; a missing value is an error."""
    return _hot(values, pl.repeat(value=False, n=len(values), eager=True), "", origin)


def _hot(values: pl.Series, absent: pl.Series, prefix: str, origin: Origin) -> Skills:
    present = np.flatnonzero(~absent.to_numpy())
    encoded = name_column(pl.DataFrame([values])[present], values.name, origin)
    order = sorted(range(len(encoded.names)), key=lambda code: _reading_order(encoded.names[code]))
    mask = np.zeros((len(values), len(order)), np.bool_)
    mask[present, np.argsort(np.array(order, np.int64))[encoded.codes]] = True
    return Skills(tuple(prefix + encoded.names[code] for code in order), mask)


def _absent(values: pl.Series) -> pl.Series:
    return values.is_null() | (values.is_nan() if values.dtype.is_float() else values.cast(pl.String) == "")


def _reading_order(name: str) -> tuple[int, int, str]:
    """Whole numbers first and by size, then the rest by letters."""
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)
