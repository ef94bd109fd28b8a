"""Joined rows to a response table with all that logs say about its samples and learners."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.responses import ResponseTable
from camilla.loaders.collecting import REASONS, Collection
from camilla.loaders.runs import Run

SHOWN = 3


def described(collection: Collection, samples: pl.Series) -> pl.DataFrame:
    """What is known of these samples, ordered by task and name, a number at its end as a number."""
    about = collection.in_reading_order()
    wanted = samples.unique()
    return about.filter(pl.col("sample").is_in(wanted.implode())) if len(wanted) < about.height else about


def assembled(
    rows: pl.DataFrame, about: pl.DataFrame, runs: Sequence[Run]
) -> tuple[ResponseTable, dict[str, int]]:
    """The table, and its missing cells by reason; `sample` of a row is an index into `about`."""
    names = sorted({runs[run].learner for run in rows["run"].unique()})
    place = {name: index for index, name in enumerate(names)}
    of_run = np.array([place.get(run.learner, -1) for run in runs], np.int32)
    used, sample = np.unique(rows["sample"].to_numpy(), return_inverse=True)
    about = about[used] if len(used) < about.height else about
    cell = of_run[rows["run"].to_numpy()].astype(np.int64) * len(used) + sample
    order = np.lexsort((rows["trial"].to_numpy(), rows["run"].to_numpy(), cell))
    cell = cell[order]
    score = rows["score"].to_numpy()[order]
    scored = ~np.isnan(score)
    learner, sample = np.divmod(cell[scored], len(used))
    trial = _trials(cell[scored])

    table = ResponseTable(
        tuple(names),
        tuple(about["sample"]),
        learner,
        sample,
        score[scored],
        weight=_weights(rows["weight"], order, scored),
        trial=trial if trial.any() else None,
        task=_repeating(about["task"]),
        cluster=_clusters(about),
        learner_metadata=_learners(names, runs),
        sample_metadata=_telling(about),
        n_missing=int((~scored).sum()),
    )
    return table, _missing(cell, scored, rows["why"].to_numpy()[order], len(names) * len(used))


def _clusters(about: pl.DataFrame) -> tuple[str, ...] | None:
    """Those of the logs; a sample of which they name none is a cluster of its own."""
    cluster = about["cluster"]
    if cluster.null_count() == len(cluster):
        return None
    return _repeating(cluster.fill_null(about["sample"]))


def _repeating(names: pl.Series) -> tuple[str, ...]:
    """The names, each different one as a single object."""
    return tuple(map(sys.intern, names))


def _weights(
    weight: pl.Series, order: NDArray[np.int64], scored: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """Weights of the responses; None when no log gives any."""
    if weight.null_count() == len(weight):
        return None
    return weight.fill_null(1.0).to_numpy()[order][scored]


def _trials(cell: NDArray[np.int64]) -> NDArray[np.int32]:
    """0, 1, … within each stretch of equal cells."""
    starts = np.flatnonzero(np.diff(cell, prepend=-1) != 0)
    sizes = np.diff(np.append(starts, len(cell)))
    return (np.arange(len(cell)) - np.repeat(starts, sizes)).astype(np.int32)


def _missing(
    cell: NDArray[np.int64], scored: NDArray[np.bool_], why: NDArray[np.int8], n_cells: int
) -> dict[str, int]:
    """Cells without a response, by the first reason that their rows give."""
    answered = np.unique(cell[scored])
    silent = ~scored & ~np.isin(cell, answered)
    _, first = np.unique(cell[silent], return_index=True)
    reasons = np.maximum(why[silent][first], 1)
    counts = {name: int(np.sum(reasons == code)) for code, name in enumerate(REASONS) if name}
    return counts | {"not run": n_cells - len(answered) - len(first)}


def _telling(about: pl.DataFrame) -> pl.DataFrame:
    """Without columns that say nothing, or what the table itself says."""
    full = [name for name in about.columns if about[name].null_count() < about.height]
    return about.select(name for name in full if name not in ("task", "cluster"))


def _learners(names: Sequence[str], runs: Sequence[Run]) -> pl.DataFrame:
    """A row a learner; several values of one setting stand beside each other."""
    values: dict[str, dict[str, dict[str, None]]] = {name: {} for name in names}
    for run in sorted(runs, key=lambda run: run.source):
        said = run.settings | {"format": run.format, "date": run.date, "source": run.source, "learner": ""}
        for key, value in said.items():
            if value and run.learner in values:
                values[run.learner].setdefault(key, {})[value] = None
    keys = list(dict.fromkeys(key for said in values.values() for key in said))
    columns: dict[str, Any] = {"learner": list(names)}
    columns |= {key: [_some(values[name].get(key, {})) for name in names] for key in keys}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _some(values: dict[str, None]) -> str | None:
    shown = ", ".join(list(values)[:SHOWN])
    return (
        None if not values else shown if len(values) <= SHOWN else f"{shown} and {len(values) - SHOWN} more"
    )
