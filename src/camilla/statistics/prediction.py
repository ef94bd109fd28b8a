"""How well predicted responses agree with the responses: arrays in, floats out."""

import numpy as np

from camilla.arrays import Floats


def auc(response: Floats, predicted: Floats) -> float:
    """P(a right response is predicted above a wrong one), ties counting one half; NaN with one class only."""
    right = response > 0.5
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    if n_right == 0 or n_wrong == 0:
        return float("nan")
    _, value, count = np.unique(predicted, return_inverse=True, return_counts=True)
    mid_rank = np.cumsum(count) - (count - 1) / 2
    return float((mid_rank[value][right].sum() - n_right * (n_right + 1) / 2) / (n_right * n_wrong))


def accuracy(response: Floats, predicted: Floats) -> float:
    """The share of responses on the same side of one half as their prediction."""
    return float(np.mean((predicted >= 0.5) == (response >= 0.5)))


def macro_f1(response: Floats, predicted: Floats) -> float:
    """The mean of the F1 scores of right and of wrong responses; a class that never occurs scores 0."""
    truth, guess = response >= 0.5, predicted >= 0.5
    scores = []
    for side in (True, False):
        hits = np.sum((truth == side) & (guess == side))
        total = np.sum(truth == side) + np.sum(guess == side)
        scores.append(2 * hits / total if total else 0.0)
    return float(np.mean(scores))


def rmse(response: Floats, predicted: Floats) -> float:
    """Root mean squared error."""
    return float(np.sqrt(np.mean((response - predicted) ** 2)))


def mae(response: Floats, predicted: Floats) -> float:
    """Mean absolute error."""
    return float(np.mean(np.abs(response - predicted)))
