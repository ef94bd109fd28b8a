"""Levels of samples or learners explained by features: a logistic mixed model. Arrays only.

    logit P(right) = column level + row level,   row level = x·w + u,   u ~ N(0, τ²)

Rows are samples and columns learners, or the other way round. Columns are fixed effects with mean 0, so that
a row's level is the logit of its response at the mean column. The row's residual u is integrated out by
adaptive Gauss–Hermite quadrature; τ² is estimated by restricted maximum likelihood (REML). A row whose
responses say little counts little, and one that nobody solved needs no correction.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, sigmoid

NODES, MASSES = np.polynomial.hermite_e.hermegauss(7)
MOST_ROUNDS = 300
TOLERANCE = 1e-4  # logits that the largest change of a round may have at the end
LEAST_VARIANCE = 1e-6
BLOCK_CELLS = 2_000_000
LARGEST_STEP = 2.0  # logits
COLUMN_PRECISION = 0.1  # of a normal prior: keeps a column finite where all its responses are the same


class Grid(NamedTuple):
    """Responses as [rows, columns]: their weight, 0 where one is missing, and weight × response."""

    weight: Floats
    right: Floats


class RowLevels(NamedTuple):
    """The fitted model, and for each row the normal observation that its responses amount to."""

    weights: Floats  # [features]
    covariance: Floats  # [features, features]
    variance: float  # τ²
    level: Floats  # [rows], posterior mean
    observed: Floats  # [rows], what the responses alone say of the level
    trust: Floats  # [rows], τ² / (τ² + noise of `observed`), from 0 to 1
    columns: Floats  # [columns], mean 0
    converged: bool

    def of(self, rows: NDArray[np.integer]) -> "RowLevels":
        """The same model, with some of its rows."""
        return self._replace(level=self.level[rows], observed=self.observed[rows], trust=self.trust[rows])


def grid_of(
    row: NDArray[np.integer], column: NDArray[np.integer], response: Floats, weight: Floats,
    shape: tuple[int, int],
) -> Grid:  # fmt: skip
    """Cells laid out as a matrix."""
    grid = Grid(np.zeros(shape), np.zeros(shape))
    grid.weight[row, column] = weight
    grid.right[row, column] = weight * response
    return grid


def row_levels(grid: Grid, features: Floats, *, start: RowLevels | None = None) -> RowLevels:
    """Fits the model; `features` are [rows, features] of full rank, among them an intercept.

    From `start`, a fit to nearly the same responses, it takes fewer rounds.
    """
    if start is None:
        columns = _start(grid.right.sum(axis=0), grid.weight.sum(axis=0))
        columns -= columns.mean()
        level = _start(grid.right.sum(axis=1), grid.weight.sum(axis=1))
        weights = np.linalg.lstsq(features, level, rcond=None)[0]
        variance = max(float(np.var(level - features @ weights)), 0.1)
        posterior = np.full(len(level), variance)
    else:
        columns, level, weights, variance = start.columns, start.level, start.weights, start.variance
        posterior = variance * np.clip(1 - start.trust, 1e-9, 1)
    for _ in range(MOST_ROUNDS):
        centre = features @ weights
        level, posterior, step = _expected(grid, columns, centre, variance, level, posterior)
        trust = np.clip(1 - posterior / variance, 1e-6, 1.0)
        observed = centre + (level - centre) / trust
        information = np.linalg.inv((features.T * trust) @ features)
        new = information @ (features.T @ (trust * observed))
        covariance = variance * information
        slack = (observed - features @ new) ** 2 + np.einsum("rf,fg,rg->r", features, covariance, features)
        spread = max(float(trust**2 @ slack / trust.sum()), LEAST_VARIANCE)
        moved = max(
            float(np.abs(step).max()), float(np.abs(features @ new - centre).max()),
            abs(np.sqrt(spread) - np.sqrt(variance)),
        )  # fmt: skip
        weights, variance, columns = new, spread, columns + step
        if moved < TOLERANCE:
            break
    return RowLevels(weights, covariance, variance, level, observed, trust, columns, moved < TOLERANCE)


def shrunk_logits(row: Floats, fitted: RowLevels, error: float) -> Floats:
    """Logits of new rows, [rows, columns], from predicted levels with this mean squared error.

    The noise of observed levels is taken off the error e²; E σ(m + e) ≈ σ(m / √(1 + π e² / 8)).
    """
    noise = np.average(fitted.variance * (1 / fitted.trust - 1), weights=fitted.trust)
    spread = max(error - float(noise), 0.0)
    return np.asarray((row[:, None] + fitted.columns) / np.sqrt(1 + np.pi * spread / 8))


def _start(right: Floats, total: Floats) -> Floats:
    """Logits of means, each drawn to one half by one response."""
    return np.log(right + 0.5) - np.log(total - right + 0.5)


def _expected(
    grid: Grid, columns: Floats, centre: Floats, variance: float, level: Floats, posterior: Floats
) -> tuple[Floats, Floats, Floats]:
    """Mean and variance of each row's level given its responses, and Newton's step for the columns."""
    mean, square = np.empty_like(level), np.empty_like(level)
    slope, curve = -COLUMN_PRECISION * columns, np.full(len(columns), COLUMN_PRECISION)
    size = max(1, BLOCK_CELLS // len(columns))
    for start in range(0, len(level), size):
        rows = slice(start, start + size)
        nodes = level[rows, None] + np.sqrt(posterior[rows, None]) * NODES  # [rows, nodes]
        weight, right = grid.weight[rows], grid.right[rows]
        density = right.sum(axis=1)[:, None] * nodes
        for place in range(len(NODES)):
            density[:, place] -= (weight * np.logaddexp(0, nodes[:, place, None] + columns)).sum(axis=1)
        density += np.log(MASSES) + NODES**2 / 2 - (nodes - centre[rows, None]) ** 2 / (2 * variance)
        share = np.exp(density - density.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        mean[rows] = (share * nodes).sum(axis=1)
        square[rows] = (share * (nodes - mean[rows, None]) ** 2).sum(axis=1)
        expected = square_of_p = np.zeros(weight.shape)
        for place in range(len(NODES)):
            p = sigmoid(nodes[:, place, None] + columns)
            expected = expected + share[:, place, None] * p
            square_of_p = square_of_p + share[:, place, None] * p * p
        slope += (right - weight * expected).sum(axis=0)
        complete = weight * (expected - square_of_p)
        known = complete - weight**2 * (square_of_p - expected**2)  # Louis (1982)
        curve += np.maximum(known.sum(axis=0), 0.2 * complete.sum(axis=0))
    step = np.clip(slope / curve, -LARGEST_STEP, LARGEST_STEP)
    return mean, np.clip(square, 1e-9, 0.999999 * variance), step - step.mean()
