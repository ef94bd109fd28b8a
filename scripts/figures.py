"""Numbers as the pages of results print them."""

import numpy as np
import polars as pl

from camilla.statistics.intervals import critical_value


def with_interval(values: pl.Series, digits: int = 3) -> str:
    """Mean and half the width of its 95 % interval by Student's t."""
    numbers = values.drop_nulls().to_numpy()
    if not len(numbers):
        return "–"
    half = (
        critical_value(0.95, len(numbers) - 1) * numbers.std(ddof=1) / np.sqrt(len(numbers))
        if len(numbers) > 1
        else 0
    )
    return f"{number(float(numbers.mean()), digits)} ± {number(float(half), digits)}"


def number(value: float | None, digits: int = 3) -> str:
    """.123, or an en dash where there is nothing."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def paired(
    results: pl.DataFrame, *, against: str = "kendall", **where: object
) -> dict[str, tuple[float, float | None]]:
    """Mean difference from plain accuracy on the same seeds, and half of its 95 % interval."""
    part = results.filter(**where)
    plain = part.filter(diagnoser="vanilla", score=against).select("seed", plain="value")
    out = {}
    others = part.filter(pl.col("diagnoser") != "vanilla", pl.col("score") == "kendall").join(
        plain, on="seed"
    )
    for (label,), one in others.group_by("diagnoser"):
        gap = (one["value"] - one["plain"]).to_numpy()
        half = None
        if len(gap) > 1:
            half = float(critical_value(0.95, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap)))
        out[str(label)] = (float(gap.mean()), half)
    return out


def difference(gap: tuple[float, float | None] | None) -> str:
    """+.012 ± .004."""
    if gap is None:
        return ""
    mean, half = gap
    return f"{'+' if mean >= 0 else '−'}{number(abs(mean))}" + ("" if half is None else f" ± {number(half)}")
