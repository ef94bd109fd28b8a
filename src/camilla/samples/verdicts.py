"""What a person's verdicts say of samples that nobody has judged yet. Arrays only.

    logit P(broken) = base + slope · evidence + step · (evidence > TOP) + Σ effects of its groups

The prior is what experts' labels of MMLU-Redux say (its first fifteen subjects); how much groups differ is
averaged over GROUP_SDS, each with its marginal likelihood (Laplace's approximation).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, rounded, sigmoid

TOP = 0.9  # evidence above which nearly all learners fail
MEAN = np.array([-2.0, 0.45, 0.0])  # of base, slope and step: log odds
SD = np.array([1.5, 0.25, 0.7])
GROUP_SDS = (0.3, 0.7, 1.2, 2.0)  # between tasks, keys or skills
NEXT = 50  # samples whose share of errors is foretold
EXPLORED = 0.2  # of the samples to judge next: drawn from all others, so that their share can be learned
STOP = 0.1  # expected share of errors among the next, below which judging on hardly pays
DRAWS = 400
ENDS = (0.025, 0.975)


class Judged(NamedTuple):
    """What verdicts make one expect, with 95 % intervals."""

    share: Floats  # [samples], chance that a sample is broken
    following: NDArray[np.intp]  # the NEXT samples that are likeliest to be broken
    to_judge: NDArray[np.intp]  # the samples to judge next
    next_share: float
    next_low: float
    next_high: float
    broken: float  # samples of all, judged ones included
    broken_low: float
    broken_high: float


def recalibrated(evidence: Floats, groups: NDArray[np.bool_], verdict: Floats, *, seed: int = 0) -> Judged:
    """Bayesian logistic regression of verdicts on evidence and groups.

    `verdict` [samples] is 1 for an error, 0 for none, NaN where nobody looked; `groups` is [samples, groups].
    Intervals hold what the regression leaves open and the luck of each sample.
    """
    rng = np.random.default_rng(seed)
    chances = _chances(evidence, groups, verdict, rng)  # [samples, draws]
    share = chances.mean(axis=1)
    left = np.isnan(verdict)
    order = np.argsort(-rounded(share), kind="stable")
    order = order[left[order]]
    following, rest = order[:NEXT], order[NEXT:]
    n_explored = min(round(EXPLORED * NEXT), len(rest))
    explored = rng.choice(rest, n_explored, replace=False)
    to_judge = np.concatenate([following[: NEXT - n_explored], np.sort(explored)])
    found = rng.random(chances.shape) < chances
    broken = np.nansum(verdict) + found[left].sum(axis=0)
    low, high = np.quantile(broken, ENDS)
    if not len(following):
        return Judged(share, following, to_judge, np.nan, np.nan, np.nan, float(broken.mean()), low, high)
    next_low, next_high = np.quantile(found[following].mean(axis=0), ENDS)
    return Judged(
        share, following, to_judge, float(share[following].mean()), float(next_low), float(next_high),
        float(np.nansum(verdict) + share[left].sum()), float(low), float(high),
    )  # fmt: skip


def _chances(
    evidence: Floats, groups: NDArray[np.bool_], verdict: Floats, rng: np.random.Generator
) -> Floats:
    """Draws of every sample's chance of being broken from the posterior."""
    features = np.column_stack([np.ones(len(evidence)), evidence, evidence > TOP, groups])
    offset = features[:, : len(MEAN)] @ MEAN
    judged = ~np.isnan(verdict)
    fits = []
    for group_sd in GROUP_SDS:
        scale = np.concatenate([SD, np.full(groups.shape[1], group_sd)])
        fits.append((_posterior(features[judged] * scale, offset[judged], verdict[judged]), scale))
    weight = np.exp([fit.log_marginal for fit, _ in fits] - np.max([fit.log_marginal for fit, _ in fits]))
    counts = rng.multinomial(DRAWS, weight / weight.sum())
    parts = []
    for (fit, scale), count in zip(fits, counts, strict=True):
        root = np.linalg.cholesky(fit.precision)
        draws = fit.mode[:, None] + np.linalg.solve(root.T, rng.normal(size=(len(scale), count)))
        parts.append(sigmoid(offset[:, None] + features @ (scale[:, None] * draws)))
    return np.hstack(parts)


class _Posterior(NamedTuple):
    mode: Floats
    precision: Floats
    log_marginal: float


def _posterior(x: Floats, offset: Floats, y: Floats) -> _Posterior:
    """Of β ~ N(0, 1) in logit P(y = 1) = offset + xβ, by Newton's method, steps halved."""
    beta = np.zeros(x.shape[1])

    def loss(at: Floats) -> float:
        logit = offset + x @ at
        return float(np.sum(np.logaddexp(0, logit) - y * logit) + 0.5 * at @ at)

    def curvature(at: Floats) -> tuple[Floats, Floats]:
        p = sigmoid(offset + x @ at)
        return p, (x.T * (p * (1 - p))) @ x + np.eye(len(at))

    value = loss(beta)
    for _ in range(100):
        p, precision = curvature(beta)
        step = np.linalg.solve(precision, x.T @ (y - p) - beta)
        while loss(beta + step) > value + 1e-12:
            step = step / 2
        beta, value = beta + step, loss(beta + step)
        if np.abs(step).max() < 1e-9:
            break
    precision = curvature(beta)[1]
    return _Posterior(beta, precision, -value - 0.5 * float(np.linalg.slogdet(precision)[1]))
