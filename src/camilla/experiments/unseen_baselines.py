"""What predicts unseen samples or learners without a diagnoser: a constant, and two plain regressions.

Rows are what was not seen, samples or learners; columns are the learners or samples that are known.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, log_loss, rounded, sigmoid
from camilla.statistics.ridge import PENALTIES, ridge_regression
from camilla.statistics.row_levels import Grid, row_levels, shrunk_logits

CHOOSING_COLUMNS = 50  # columns that a penalty is chosen on, drawn at random from more
CHOOSING_FOLDS = 5
NEWTON_STEPS = 25
BLOCK_NUMBERS = 4_000_000


class Seen(NamedTuple):
    """The responses a baseline may use, and the features of their rows and of the rows to predict."""

    grid: Grid  # [rows, columns]
    features: Floats  # [rows, columns of an encoder]; none where there are no features
    unseen: Floats  # [unseen rows, features]
    seed: int


class Prediction(NamedTuple):
    """Logits of unseen rows, [unseen rows, columns], and what was chosen for them."""

    logits: Floats
    chosen: dict[str, Any]


def constant(seen: Seen) -> Prediction:
    """Each column's mean, drawn to the overall mean by one response: whatever the row, the same."""
    total, count = seen.grid.right.sum(axis=0), seen.grid.weight.sum(axis=0)
    overall = (total.sum() + 0.5) / (count.sum() + 1)
    mean = (total + overall) / (count + 1)
    return Prediction(np.tile(np.log(mean) - np.log1p(-mean), (len(seen.unseen), 1)), {})


def ridge(seen: Seen) -> Prediction:
    """Ridge regression of each row's level on its features, beside the columns' levels.

    A level is the logit of a row's response at the mean column. The penalty has the smallest
    leave-one-out error, and that error draws predictions to one half.
    """
    level = row_levels(seen.grid, np.ones((len(seen.features), 1)))
    found = ridge_regression(seen.features, level.observed, level.trust)
    logits = shrunk_logits(found.predict(seen.unseen), level, found.error)
    return Prediction(logits, {"penalty": found.penalty})


def logistic(seen: Seen) -> Prediction:
    """Logistic regression on the features for each column; held-out rows choose the penalty of all."""
    x, unseen = _rotated(seen.features, seen.unseen)
    rng = np.random.default_rng(seen.seed)
    n_rows, n_columns = seen.grid.weight.shape
    some = np.sort(rng.permutation(n_columns)[:CHOOSING_COLUMNS])
    fold = rng.permutation(n_rows) % CHOOSING_FOLDS
    losses = np.zeros(len(PENALTIES))
    for held in range(CHOOSING_FOLDS):
        train, test = fold != held, fold == held
        weight, right = (part[:, some] for part in seen.grid)
        observed = weight[test] > 0
        coefficients = None
        for place in reversed(range(len(PENALTIES))):
            coefficients = _logistic_fits(
                Grid(weight[train], right[train]), x[train], float(PENALTIES[place]), coefficients
            )
            logits = _logits(coefficients, x[test])
            of = weight[test][observed]
            losses[place] += log_loss(right[test][observed] / of, logits[observed], of) if of.size else 0.0
    penalty = float(PENALTIES[int(np.argmin(rounded(losses)))])
    return Prediction(_logits(_logistic_fits(seen.grid, x, penalty), unseen), {"penalty": penalty})


def _rotated(x: Floats, unseen: Floats) -> tuple[Floats, Floats]:
    """Both in the directions in which the first varies: fewer columns, and the same penalised fit."""
    if x.shape[1] == 0:
        return x, unseen
    _, d, vt = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    turn = vt[d > 1e-9 * d.max(initial=1e-9)].T
    return (x - x.mean(axis=0)) @ turn, (unseen - x.mean(axis=0)) @ turn


def _logits(coefficients: Floats, x: Floats) -> Floats:
    return coefficients[:, 0] + x @ coefficients[:, 1:].T


def _logistic_fits(grid: Grid, x: Floats, penalty: float, start: Floats | None = None) -> Floats:
    """Penalised maximum likelihood for each column, [columns, 1 + features], by damped Newton steps.

    The intercept has the penalty of half a right and half a wrong response at most.
    """
    design = np.column_stack([np.ones(len(x)), x])
    ridge_by = np.diag(np.append(0.1, np.full(x.shape[1], penalty)))
    n_columns = grid.weight.shape[1]
    found = np.zeros((n_columns, design.shape[1])) if start is None else start.copy()
    step_size = max(1, BLOCK_NUMBERS // max(len(x), design.shape[1] ** 2))
    for first in range(0, n_columns, step_size):
        columns = slice(first, first + step_size)
        found[columns] = _newton(
            Grid(grid.weight[:, columns], grid.right[:, columns]), design, ridge_by, found[columns]
        )
    return found


def _newton(grid: Grid, design: Floats, ridge_by: Floats, start: Floats) -> Floats:
    found, loss = start, _losses(grid, design, ridge_by, start)
    for _ in range(NEWTON_STEPS):
        p = sigmoid(design @ found.T)
        slope = (grid.right - grid.weight * p).T @ design - found @ ridge_by
        step = np.linalg.solve(_curvature(grid.weight * p * (1 - p), design) + ridge_by, slope[:, :, None])
        step = step[:, :, 0]
        for _ in range(8):
            tried = found + step
            new = _losses(grid, design, ridge_by, tried)
            worse = new > loss + 1e-9 * np.abs(loss)
            if not worse.any():
                break
            step[worse] /= 2
        found, gained, loss = tried, loss - new, new
        if gained.max() < 1e-6 * max(float(loss.mean()), 1.0):
            break
    return found


def _losses(grid: Grid, design: Floats, ridge_by: Floats, coefficients: Floats) -> Floats:
    logits = design @ coefficients.T
    fit = (grid.weight * np.logaddexp(0, logits) - grid.right * logits).sum(axis=0)
    return np.asarray(fit + 0.5 * (coefficients**2) @ np.diag(ridge_by))


def _curvature(weight: Floats, design: Floats) -> NDArray[np.float64]:
    """X'WX for every column of weights: [columns, features, features]."""
    n_rows, n_features = design.shape
    total = np.zeros((weight.shape[1], n_features**2))
    size = max(1, BLOCK_NUMBERS // n_features**2)
    for start in range(0, n_rows, size):
        rows = design[start : start + size]
        products = (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
        total += weight[start : start + size].T @ products
    return total.reshape(-1, n_features, n_features)


Baseline = Callable[[Seen], Prediction]
BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {"constant": constant, "ridge": ridge, "logistic": logistic}
)
CONSTANT = "constant"
