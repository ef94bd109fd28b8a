"""Seeded parts of a table: by cell, by sample, by learner."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError
from camilla.reading.inputs import TableLike, as_table
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

By = Literal["cell", "sample", "learner"]


def split(
    table: TableLike, *, rows: WideRows | None = None,
    by: By = "cell", proportions: Sequence[float] = (6, 2, 2), seed: int = 0,
) -> tuple[ResponseTable, ...]:  # fmt: skip
    """The table in parts of these proportions, drawn at random.

    By cell every part keeps all learners and samples; by sample (or learner) each part has its own
    samples (learners) and all their responses. Trials of a cell stay together. The parts depend
    on the names and the seed alone, not on the order of rows, learners or samples.
    """
    table = as_table(table, rows=rows)
    if by == "cell":
        part = split_rows(table, proportions=proportions, seed=seed)
        return tuple(table.keep(part == p) for p in range(len(proportions)))
    if by not in get_args(By):
        raise SettingError(f"by must be 'cell', 'sample' or 'learner', not {by!r}.")
    names = table.samples if by == "sample" else table.learners
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    part = np.empty(len(names), np.int32)
    part[order] = _deal(len(names), proportions, seed, by)
    take = table.take_samples if by == "sample" else table.take_learners
    return tuple(take(np.flatnonzero(part == p)) for p in range(len(proportions)))


def split_rows(
    table: ResponseTable, *, proportions: Sequence[float] = (6, 2, 2), seed: int = 0
) -> NDArray[np.int32]:
    """The part, 0, 1, …, that each row of the table falls into when its cells are split."""
    _, learner_order, sample_order = table.canonical()
    learner = np.argsort(learner_order)[table.learner]
    sample = np.argsort(sample_order)[table.sample]
    _, cell = np.unique(sample * max(table.n_learners, 1) + learner, return_inverse=True)
    n_cells = int(cell.max()) + 1 if len(cell) else 0
    return _deal(n_cells, proportions, seed, "cell")[cell]


def _deal(count: int, proportions: Sequence[float], seed: int, kind: str) -> NDArray[np.int32]:
    """The part of each of `count` things; sizes are within one of exact."""
    shares = np.asarray(proportions, np.float64)
    if len(shares) < 2 or not np.all(np.isfinite(shares) & (shares > 0)):
        raise SettingError(
            f"proportions must be two or more positive numbers, such as (6, 2, 2), not {proportions}."
        )
    ends = np.rint(np.cumsum(shares) / shares.sum() * count).astype(np.int64)
    sizes = np.diff(ends, prepend=0)
    if (sizes == 0).any():
        raise DataError(
            f"{count} {kind}s cannot be split as {':'.join(f'{share:g}' for share in shares)}: "
            f"part {int(np.argmin(sizes))} would be empty. Give more {kind}s or fewer parts."
        )
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))
