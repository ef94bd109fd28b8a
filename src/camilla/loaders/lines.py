"""Where in its file a row of a frame stands."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl


class Placed(NamedTuple):
    """A frame without blank lines, and the place of each of its rows in the file, in words."""

    frame: pl.DataFrame
    place: Callable[[int], str]


def placed(frame: pl.DataFrame, path: Path) -> Placed:
    """Lines of a text file, counted from 1 with the header as line 1; rows of Parquet, from 1.

    A line break inside quotes counts as a line, as an editor counts it, if its column was read.
    """
    if path.suffix.lower() not in (".csv", ".tsv"):
        word = "row" if path.suffix.lower() == ".parquet" else "line"
        return Placed(frame, lambda row: f"{word} {row + 1}")
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    kept = (~blank).arg_true() if blank.any() else None

    def place(row: int) -> str:
        before = row if kept is None else int(kept[row])
        text = frame.head(before).select(pl.col(pl.String).str.count_matches("\n").sum())
        header = sum(name.count("\n") for name in frame.columns)
        return f"line {before + 2 + header + sum(count or 0 for count in text.row(0))}"

    return Placed(frame if kept is None else frame.filter(~blank), place)
