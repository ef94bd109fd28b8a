"""What a person's verdicts say of samples that nobody has judged yet. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, rounded, sigmoid
from camilla.statistics.intervals import Z

# What is thought of verdicts before any is given, in log odds of an error.
BASE_SD = 2.0  # of a sample that nothing is known of, around even odds
SLOPE, SLOPE_SD = 0.3, 0.3  # that a tenfold likelihood ratio adds
GROUP_SD = 0.6  # between groups of samples: keys, tasks, skills
NEXT = 50  # samples whose share of errors is foretold


class Recalibrated(NamedTuple):
    """Shares of errors expected by a person's verdicts."""

    share: Floats  # [samples], among samples like this one
    next: NDArray[np.intp]  # the samples to judge next, the likeliest errors first
    next_share: float
    next_low: float
    next_high: float


def recalibrated(evidence: Floats, groups: NDArray[np.bool_], verdict: Floats) -> Recalibrated:
    """Bayesian logistic regression of verdicts on evidence and groups, Laplace's approximation.

    `verdict` [samples] is 1 for an error, 0 for none, NaN where nobody looked; `groups` is [samples, groups].
    Chances are averaged over the posterior as MacKay (1992) does. The interval of the next samples' share
    holds what the regression leaves open and the luck of so few samples.
    """
    judged = np.flatnonzero(~np.isnan(verdict))
    base = np.full(len(evidence), BASE_SD)
    features = np.column_stack([base, SLOPE_SD * evidence, GROUP_SD * groups])
    known = features[judged].any(axis=0)
    own, rest = features[:, known], features[:, ~known]
    beta, precision = _posterior(own[judged], SLOPE * evidence[judged], verdict[judged])
    spread = own @ np.linalg.inv(np.linalg.cholesky(precision)).T
    variance = (spread**2).sum(axis=1) + (rest**2).sum(axis=1)
    shrunk = 1 / np.sqrt(1 + np.pi / 8 * variance)
    share = sigmoid(shrunk * (SLOPE * evidence + own @ beta))
    order = np.argsort(-rounded(share), kind="stable")
    following = order[np.isnan(verdict[order])][:NEXT]
    if not len(following):
        return Recalibrated(share, following, np.nan, np.nan, np.nan)
    p = share[following]
    slope = p * (1 - p) * shrunk[following]
    together = spread[following] @ spread[following].T + rest[following] @ rest[following].T
    np.fill_diagonal(together, 0)
    half = Z * float(np.sqrt(np.sum(p * (1 - p)) + slope @ together @ slope)) / len(p)
    mean = float(p.mean())
    return Recalibrated(share, following, mean, max(mean - half, 0.0), min(mean + half, 1.0))


def _posterior(x: Floats, offset: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Mode and precision of β ~ N(0, 1) in logit P(y = 1) = offset + xβ, by Newton's method, steps halved."""
    beta = np.zeros(x.shape[1])

    def loss(at: Floats) -> float:
        logit = offset + x @ at
        return float(np.sum(np.logaddexp(0, logit) - y * logit) + 0.5 * at @ at)

    value = loss(beta)
    for _ in range(100):
        p = sigmoid(offset + x @ beta)
        precision = (x.T * (p * (1 - p))) @ x + np.eye(len(beta))
        step = np.linalg.solve(precision, x.T @ (y - p) - beta)
        while loss(beta + step) > value + 1e-12:
            step = step / 2
        beta, value = beta + step, loss(beta + step)
        if np.abs(step).max() < 1e-9:
            break
    return beta, precision
