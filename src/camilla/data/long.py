"""Long tables: one row a response."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.cells import order_by_cell
from camilla.data.columns import (
    Encoded,
    Origin,
    name_column,
    pick,
    response_column,
    trial_column,
    weight_column,
)
from camilla.data.names import repeated
from camilla.data.parts import Parts
from camilla.errors import DataError


class Roles(NamedTuple):
    """Which column plays which part."""

    learner: str = "learner"
    sample: str = "sample"
    response: str = "response"
    trial: str | None = None
    task: str | None = None
    cluster: str | None = None
    weight: str | None = None

    def columns(self) -> list[str]:
        """The columns that are named, each once."""
        return list(dict.fromkeys(name for name in self if name is not None))


def _check_roles(roles: Roles, origin: Origin) -> None:
    if twice := repeated([roles.learner, roles.sample, roles.response]):
        raise DataError(
            f"{origin.name}: column {twice[0]!r} cannot be two of learner, sample and response. Name others."
        )


def long_parts(frame: pl.DataFrame, roles: Roles, origin: Origin) -> Parts:
    """Names, indices and responses of a long table; rows without a response are counted and dropped.

    Repeated (learner, sample) rows are trials, numbered in row order when no trial column is named.
    """
    _check_roles(roles, origin)
    response = response_column(pick(frame, roles.response, origin), origin)
    learner = name_column(frame, roles.learner, origin)
    sample = name_column(frame, roles.sample, origin)
    weight = None if roles.weight is None else weight_column(frame, roles.weight, origin)
    trial = None if roles.trial is None else trial_column(frame, roles.trial, origin)
    cell = sample.codes.astype(np.int64) * len(learner.names) + learner.codes
    if trial is not None:
        _check_trials(cell, trial, learner, sample, origin)

    kept = ~np.isnan(response)
    trial = _numbered_trials(cell[kept]) if trial is None else trial[kept]
    return Parts(
        learner.names,
        sample.names,
        learner.codes[kept],
        sample.codes[kept],
        response[kept],
        weight=None if weight is None else weight[kept],
        trial=trial,
        task=None if roles.task is None else per_sample(frame, roles.task, sample, origin),
        cluster=None if roles.cluster is None else per_sample(frame, roles.cluster, sample, origin),
        n_missing=int(np.sum(~kept)),
    )


def per_sample(frame: pl.DataFrame, column: str, sample: Encoded, origin: Origin) -> tuple[str, ...]:
    """The one name that this column gives each sample; two names for one sample are an error."""
    given = name_column(frame, column, origin)
    first = np.empty(len(sample.names), np.int32)
    first[sample.codes[::-1]] = given.codes[::-1]
    differs = first[sample.codes] != given.codes
    if differs.any():
        row = int(np.argmax(differs))
        code = sample.codes[row]
        raise DataError(
            f"{origin.name}: sample {sample.names[code]!r} has {column} {given.names[first[code]]!r} and, in "
            f"{origin.place(row)}, {given.names[given.codes[row]]!r}. Give each sample one {column}."
        )
    return tuple(given.names[code] for code in first)


def _numbered_trials(cell: NDArray[np.int64]) -> NDArray[np.int32] | None:
    """0, 1, … within each cell in row order; None when no cell repeats."""
    if len(cell) == 0:
        return None
    order = order_by_cell(cell)
    starts = np.flatnonzero(np.concatenate(([True], np.diff(cell[order]) != 0)))
    if len(starts) == len(cell):
        return None
    sizes = np.diff(np.append(starts, len(cell)))
    trial = np.empty(len(cell), np.int32)
    trial[order] = np.arange(len(cell)) - np.repeat(starts, sizes)
    return trial


def _check_trials(
    cell: NDArray[np.int64], trial: NDArray[np.int32], learner: Encoded, sample: Encoded, origin: Origin
) -> None:
    order = np.lexsort((trial, cell))
    again = (np.diff(cell[order]) == 0) & (np.diff(trial[order]) == 0)
    if not again.any():
        return
    place = int(np.argmax(again))
    first, second = int(order[place]), int(order[place + 1])
    raise DataError(
        f"{origin.name}: {learner.names[learner.codes[first]]!r} on {sample.names[sample.codes[first]]!r} "
        f"has trial {trial[first]} twice, in {origin.place(first)} and {origin.place(second)}. "
        f"{int(again.sum())} rows repeat a trial. Number the trials or remove the copies."
    )
