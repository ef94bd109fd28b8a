"""Rows to cells: one entry for each (learner, sample) pair that was observed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


def zero_or_one(response: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where a response is exactly right or wrong; elsewhere it is a fraction, or missing."""
    return (response == 0) | (response == 1)


class Cells(NamedTuple):
    """Observed cells, sorted by (sample, learner); each pair occurs once.

    Attributes
    ----------
    learner : array
        Index of the learner of each cell.
    sample : array
        Index of the sample of each cell.
    response : array
        Weighted mean of the rows of each cell.
    weight : array
        Total weight of the rows of each cell.

    Examples
    --------
    >>> cells = camilla.simulate(4, 6, seed=1).table.cells()
    >>> cells.response.shape
    (24,)
    """

    learner: NDArray[np.int32]
    sample: NDArray[np.int32]
    response: NDArray[np.float64]  # weighted mean of the cell's rows
    weight: NDArray[np.float64]  # total weight of the cell's rows

    def take(self, rows: NDArray[np.bool_] | NDArray[np.integer]) -> "Cells":
        """Returns some of the cells, in their order.

        Parameters
        ----------
        rows : array
            Indices of the cells, or a mask.

        Returns
        -------
        Cells
            These cells.

        Examples
        --------
        >>> cells = camilla.simulate(4, 6, seed=1).table.cells()
        >>> cells.take(np.arange(3)).learner.tolist()
        [0, 1, 2]
        """
        return Cells(self.learner[rows], self.sample[rows], self.response[rows], self.weight[rows])


class Means(NamedTuple):
    """The weighted mean of each learner (or sample), its standard error, and the weight behind it.

    Without responses the mean is NaN; with fewer than two cells the standard error is NaN.

    Attributes
    ----------
    mean : array
        Weighted mean response of each; NaN without a response.
    se : array
        Its standard error; NaN with fewer than two cells.
    weight : array
        The weight behind it.

    Examples
    --------
    >>> means = camilla.simulate(4, 6, seed=1).table.learner_means()
    >>> means.weight.tolist()
    [6.0, 6.0, 6.0, 6.0]
    """

    mean: NDArray[np.float64]
    se: NDArray[np.float64]
    weight: NDArray[np.float64]


def aggregate(
    learner: NDArray[np.int32],
    sample: NDArray[np.int32],
    response: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n_learners: int,
) -> Cells:
    """Sums weights and averages responses within each cell, the same to the last bit in any row order.

    Equal responses of a cell are counted before they are averaged, so a row of weight 2 is exactly
    the row twice, and a cell whose rows agree keeps their response.
    """
    if weight is None:
        weight = np.ones(len(response))
    key = sample.astype(np.int64) * n_learners + learner
    if np.any(np.diff(key) <= 0):
        order = order_by_cell(key)
        key, response, weight = key[order], response[order], weight[order]
    if np.any(np.diff(key) == 0):
        key, response, weight = _merge_repeats(key, response, weight)
    sample_of_cell, learner_of_cell = np.divmod(key, max(n_learners, 1))
    return Cells(learner_of_cell.astype(np.int32), sample_of_cell.astype(np.int32), response, weight)


def order_by_cell(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """The stable order of rows by cell number; one pass if no cell repeats and few are empty."""
    n_cells = int(key.max()) + 1
    if n_cells <= 8 * len(key):
        row = np.full(n_cells, -1, np.int64)
        row[key] = np.arange(len(key))
        order = row[row >= 0]
        if len(order) == len(key):
            return order
    return np.argsort(key, kind="stable")


def _merge_repeats(
    key: NDArray[np.int64], response: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    order = np.lexsort((weight, response, key))
    key, response, weight = key[order], response[order], weight[order]
    value_starts = _starts(key, response)
    key, response = key[value_starts], response[value_starts]
    weight = np.add.reduceat(weight, value_starts)

    cell_starts = _starts(key)
    lowest = response[cell_starts]
    total = np.add.reduceat(weight, cell_starts)
    excess = response - np.repeat(lowest, np.diff(np.append(cell_starts, len(key))))
    mean = lowest + np.add.reduceat(weight * excess, cell_starts) / total
    return key[cell_starts], np.minimum(mean, 1.0), total


def _starts(*columns: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    changed = np.any([np.diff(column) != 0 for column in columns], axis=0)
    return np.flatnonzero(np.concatenate(([True], changed)))


def means(group: NDArray[np.int32], cells: Cells, n_groups: int) -> Means:
    """m = Σ wᵢrᵢ / W and se² = n/(n−1) · Σ wᵢ²(rᵢ−m)² / W², over the n cells of each group.

    The mean is over all trials: a cell counts by its weight. In the standard error a cell is one draw however
    many trials it has, for trials of one sample are not independent samples; with equal weights it is s/√n.
    """
    total = np.asarray(np.bincount(group, cells.weight, n_groups), np.float64)
    n_cells = np.bincount(group, minlength=n_groups)
    mean = np.full(n_groups, np.nan)
    np.divide(np.bincount(group, cells.weight * cells.response, n_groups), total, out=mean, where=total > 0)
    spread = np.bincount(group, (cells.weight * (cells.response - mean[group])) ** 2, n_groups)
    se = np.full(n_groups, np.nan)
    many = n_cells > 1
    se[many] = np.sqrt(spread[many] * n_cells[many] / (n_cells[many] - 1)) / total[many]
    return Means(mean, se, total)
