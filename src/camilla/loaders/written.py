"""Parquet files that Camilla wrote, read back with all they carry."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.carried import Names, carried_in
from camilla.data.responses import ResponseTable
from camilla.data.skill_graph import SkillGraph
from camilla.data.skills import SkillMap
from camilla.errors import FormatError
from camilla.loaders.frames import UNREADABLE, read_frame


def read_written(path: Path) -> ResponseTable | None:
    """The table as it was written, or None if the file is not one that Camilla wrote."""
    if path.suffix.lower() != ".parquet":
        return None
    try:
        names = carried_in(pl.read_parquet_metadata(path), str(path))
    except UNREADABLE:
        return None  # the reader of tables says what is wrong
    return None if names is None else _table(path, names)


def _table(path: Path, names: Names) -> ResponseTable:
    frame = read_frame(path)
    fields = names.fields()
    mask = names.mask()
    graph = names.carried.skill_graph
    columns: dict[str, Any] = {
        name: frame[name].to_numpy() if name in frame.columns else None for name in ("weight", "trial")
    }
    return ResponseTable(
        learner=_codes(frame, "learner", fields["learners"], path),
        sample=_codes(frame, "sample", fields["samples"], path),
        response=frame["response"].to_numpy(),
        skill_map=None if mask is None else SkillMap(tuple(names.carried.skills or ()), mask),
        skill_graph=None if graph is None else SkillGraph(tuple(map(tuple, graph))),  # type: ignore[arg-type]
        **(columns | fields),
    )


def _codes(frame: pl.DataFrame, column: str, names: Sequence[str], path: Path) -> NDArray[np.int32]:
    if column not in frame.columns:
        raise FormatError(f"{path}: has lost its column {column!r}. Write it again with camilla load.")
    place = pl.Series(names, dtype=pl.String)
    codes = frame[column].cast(pl.String).replace_strict(
        place, pl.int_range(len(place), eager=True), default=None, return_dtype=pl.Int32
    )  # fmt: skip
    if codes.null_count():
        raise FormatError(
            f"{path}: a row names {column} {frame[column].filter(codes.is_null())[0]!r}, which the "
            "file's own list has not: the rows were changed after writing. "
            "Save them as .csv to read them as they are."
        )
    return codes.to_numpy()
