"""Numbers as the pages of results print them."""

import numpy as np
import polars as pl
from scipy.stats import t as student


def with_interval(values: pl.Series, digits: int = 3) -> str:
    """Mean and half the width of its 95 % interval by Student's t."""
    numbers = values.drop_nulls().to_numpy()
    if not len(numbers):
        return "–"
    half = (
        student.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / np.sqrt(len(numbers))
        if len(numbers) > 1
        else 0
    )
    return f"{number(float(numbers.mean()), digits)} ± {number(float(half), digits)}"


def number(value: float | None, digits: int = 3) -> str:
    """Decimals without the leading zero."""
    return "–" if value is None else f"{value:.{digits}f}".replace("0.", ".", 1)
