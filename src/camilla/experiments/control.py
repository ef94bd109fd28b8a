"""A permutation control: a diagnoser must lose its learner signal when there is none."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Watch, one_blas_thread, sigmoid
from camilla.diagnosing import diagnoser_named
from camilla.errors import DataError
from camilla.experiments.protocols import split
from camilla.fitting.fit import fit
from camilla.fitting.layout import layout_of_table, size_of
from camilla.learners.check import Checked, Control, Gain, check
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.prediction import rmse
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable, check_diagnosable

PERMUTATIONS = 5
MOST_LEARNERS, MOST_SAMPLES = 150, 300  # more are drawn from at random


def permutation_control(
    table: TableLike, diagnoser: str = "irt", *, rows: WideRows | None = None,
    seed: int = 0, watch: Watch = lambda line: None,
) -> Control:  # fmt: skip
    """Checks whether a diagnoser finds a learner signal only where there is one.

    It measures the gain over sample means on held-out responses, on the table and on five tables in which
    the responses of each sample are permuted among the learners that gave them. A permuted table keeps
    every sample's difficulty and every gap, and makes learners exchangeable.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    diagnoser : str
        Name of a diagnoser, as in `diagnose`.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    watch : callable, optional
        Receives each progress line as text.

    Returns
    -------
    Control
        `real`, `permuted`, `holds` (the diagnoser gains from learners) and `is_clean` (it gains nothing from
        permuted tables).

    Examples
    --------
    >>> control = camilla.permutation_control(camilla.simulate(12, 60, seed=1).table, "vanilla")
    >>> control.holds, len(control.permuted)
    (True, 5)
    """
    table = as_table(table, rows=rows)
    check_diagnosable(table)
    rng = np.random.default_rng(seed)
    small = _drawn(table, rng)
    real = _gain(small, diagnoser, seed)
    permuted = []
    for number in range(PERMUTATIONS):
        watch(f"permutation {number + 1} of {PERMUTATIONS}")
        permuted.append(_gain(permuted_within_samples(small, rng), diagnoser, seed))
    return Control(diagnoser, real, tuple(permuted), small.n_learners, small.n_samples)


def check_with_fit(
    table: TableLike, diagnoser: str = "irt", *, rows: WideRows | None = None,
    seed: int = 0, watch: Watch = lambda line: None,
) -> Checked:  # fmt: skip
    """Checks a table as `check` does, and checks a diagnoser by a permutation control.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    diagnoser : str
        Name of a diagnoser, as in `diagnose`.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    watch : callable, optional
        Receives each progress line as text.

    Returns
    -------
    Checked
        As from `check`, with `control`, and its verdict among the findings. Where no control is possible, a
        finding says why.

    Examples
    --------
    >>> checked = camilla.check_with_fit(camilla.simulate(12, 60, seed=1).table, "vanilla")
    >>> checked.findings[-1].level
    'fine'
    """
    diagnoser_named(diagnoser)
    table = as_table(table, rows=rows)
    found = check(table, seed=seed)
    try:
        return found.with_control(permutation_control(table, diagnoser, seed=seed, watch=watch))
    except DataError as error:
        return found.without_control(diagnoser, str(error))


def permuted_within_samples(table: ResponseTable, rng: np.random.Generator) -> ResponseTable:
    """Cells, trials and weights and all, dealt out anew among the learners that answered each sample."""
    cells = table.cells()  # sorted by sample, then learner
    drawn = np.lexsort((rng.random(len(cells.sample)), cells.sample))
    taker = np.empty_like(cells.learner)
    taker[drawn] = cells.learner
    cell_key = cells.sample.astype(np.int64) * table.n_learners + cells.learner
    row_key = table.sample.astype(np.int64) * table.n_learners + table.learner
    return replace(table, learner=taker[np.searchsorted(cell_key, row_key)])


def _drawn(table: ResponseTable, rng: np.random.Generator) -> ResponseTable:
    if table.n_learners > MOST_LEARNERS:
        table = table.take_learners(np.sort(rng.choice(table.n_learners, MOST_LEARNERS, replace=False)))
    if table.n_samples > MOST_SAMPLES:
        table = table.take_samples(np.sort(rng.choice(table.n_samples, MOST_SAMPLES, replace=False)))
    return table.in_fitting_order()


def _gain(table: ResponseTable, diagnoser: str, seed: int) -> Gain:
    train, valid, test = split(table, by="cell", proportions=(6, 2, 2), seed=seed)
    if min(part.n_responses for part in (train, valid, test)) == 0:
        raise DataError(f"{table.n_responses} responses are too few to split 6:2:2; expected at least ten.")
    with one_blas_thread():
        fitted = fit(
            diagnoser_named(diagnoser), size_of(table), layout_of_table(train),
            settings={}, seed=seed, valid=layout_of_table(valid), watch=lambda line: None,
        )  # fmt: skip
        cells = test.cells()
        predicted = sigmoid(fitted.logit(cells.learner, cells.sample))
    error = rmse(cells.response, predicted)
    return Gain(error, rmse(cells.response, _easy(train, valid)[cells.sample]) - error)


def _easy(*parts: ResponseTable) -> NDArray[np.float64]:
    """Each sample's mean response over the parts, drawn to the overall mean by one response."""
    total, count = np.zeros(parts[0].n_samples), np.zeros(parts[0].n_samples)
    for part in parts:
        cells = part.cells()
        total += np.bincount(cells.sample, cells.response, len(total))
        count += np.bincount(cells.sample, minlength=len(total))
    return (total + total.sum() / count.sum()) / (count + 1)
