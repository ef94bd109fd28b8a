"""Weighted ridge regression, its penalty chosen by exact leave-one-out errors. Arrays only."""

from typing import NamedTuple

import numpy as np

from camilla.arrays import Floats, rounded

PENALTIES = np.logspace(-2, 5, 15)  # of squared weights; each feature has a variance of 1
LEAST_FREEDOM = 0.05  # of 1 − leverage
SOLE = 1e-6  # the same where a row may be the only one of its category


class Ridge(NamedTuple):
    """y ≈ mean + (x − centre) · weights."""

    mean: float
    centre: Floats  # [features]
    weights: Floats  # [features]
    penalty: float
    error: float  # mean squared leave-one-out error, by the weights of the rows
    spread: float  # mean of squared leave-one-out errors × (1 − leverage): the variance around the fit

    def predict(self, x: Floats) -> Floats:
        return self.mean + (x - self.centre) @ self.weights


def ridge_regression(x: Floats, y: Floats, weight: Floats, *, exact: bool = False) -> Ridge:
    """The fit with the smallest leave-one-out error among `PENALTIES`; without features, the mean.

    `exact` takes this error as it is, also of a row that alone has its category, and of penalties with the
    same error the strongest: otherwise such rows speak for the weakest.
    """
    root = np.sqrt(weight)
    mean, centre = float(np.average(y, weights=weight)), np.average(x, axis=0, weights=weight)
    u, d, vt = np.linalg.svd((x - centre) * root[:, None], full_matrices=False)
    target = u.T @ ((y - mean) * root)
    fits, least = [], SOLE if exact else LEAST_FREEDOM
    for penalty in PENALTIES:
        shrunk = d**2 / (d**2 + penalty)
        weights = vt.T @ (d / (d**2 + penalty) * target)
        leverage = (u**2) @ shrunk + weight / weight.sum()
        left_out = (y - mean - (x - centre) @ weights) / np.maximum(1 - leverage, least)
        error = float(np.average(left_out**2, weights=weight))
        spread = float(np.average(left_out**2 * (1 - leverage), weights=weight))
        fits.append(Ridge(mean, centre, weights, float(penalty), error, spread))
    error_of = rounded(np.array([fit.error for fit in fits]))
    return fits[int(np.flatnonzero(error_of == error_of.min())[-1 if exact else 0])]
