"""What draws of scores say: intervals, who is better, ranks and ties. Arrays only."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, sigmoid
from camilla.statistics.intervals import LEVEL, Z, critical_value, student

CLIP = 1e-6  # keeps the logit of a score of 0 or 1 finite


class Estimates(NamedTuple):
    """Means of draws, their standard deviations and intervals, [learners] each."""

    value: Floats
    se: Floats
    low: Floats
    high: Floats


def estimates(draws: Floats) -> Estimates:
    """Mean ± t standard deviations on the logit scale; draws are [draws, learners] within 0 to 1.

    A normal on the logit needs a third of the draws that quantiles need. With n independent draws it is
    Student's interval for one more: their mean and spread have errors of their own.
    No end lies beyond all draws, where responses that separate perfectly would put it.
    """
    inside = np.clip(np.asarray(draws, np.float64), CLIP, 1 - CLIP)
    logit = np.log(inside) - np.log1p(-inside)
    n = np.maximum(effective_draws(logit), 4.0)
    wider = np.sqrt((1 + 1 / n) / (1 - 1 / n))
    value, se = inside.mean(axis=0), inside.std(axis=0) * wider
    low, high = student(logit.mean(axis=0), logit.std(axis=0) * wider, n - 1)
    low, high = sigmoid(low), sigmoid(high)
    low, high = np.maximum(low, inside.min(axis=0)), np.minimum(high, inside.max(axis=0))
    return Estimates(value, se, np.minimum(low, value), np.maximum(high, value))


def effective_draws(draws: Floats, lengths: Sequence[int] | None = None) -> Floats:
    """How many independent draws tell as much: Geyer's (1992) initial positive sequence, [learners].

    Those of several chains, of so many draws each, are added up.
    """
    if lengths is not None:
        return np.sum([effective_draws(part) for part in _chains(draws, lengths)], axis=0)
    n = len(draws)
    away = draws - draws.mean(axis=0)
    power = np.abs(np.fft.rfft(away, 2 * n, axis=0)) ** 2
    covariance = np.fft.irfft(power, axis=0)[:n] / n
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / covariance[0]
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0)
    time = 2 * (pairs * positive).sum(axis=0) - 1
    return np.asarray(np.where(covariance[0] > 0, n / np.maximum(time, 1.0), n))


def _chains(draws: Floats, lengths: Sequence[int]) -> list[Floats]:
    return np.split(draws, np.cumsum(lengths)[:-1])


def r_hat(draws: Floats, lengths: Sequence[int]) -> Floats:
    """Rank-normalised split-R̂ of Vehtari et al. (2021), [learners]: 1 where chains agree, above 1.01 not yet.

    The larger one of the draws and of their distances from the median, so that chains are told apart by
    their spread, too. Of longer chains the first draws are left out.
    """
    shortest = min(lengths)
    chains = np.stack([chain[-shortest:] for chain in _chains(np.asarray(draws, np.float64), lengths)])
    half = shortest // 2
    halves = np.concatenate([chains[:, :half], chains[:, shortest - half :]])  # [2 chains, half, learners]
    away = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_plain_r_hat(_normal_scores(halves)), _plain_r_hat(_normal_scores(away)))


def _normal_scores(chains: Floats) -> Floats:
    """Φ⁻¹((r − 3/8) / (S + 1/4)) of the ranks r among all S draws of a learner."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    n_chains, n, _ = chains.shape
    rank = rankdata(chains.reshape(n_chains * n, -1), axis=0)
    return np.asarray(ndtri((rank - 0.375) / (n_chains * n + 0.25))).reshape(chains.shape)


def _plain_r_hat(chains: Floats) -> Floats:
    """√((n − 1)/n + B/nW), 1 where nothing moves; chains are [chains, draws, learners]."""
    n = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.sqrt((n - 1) / n + between / within)
    return np.where(between > 0, found, 1.0)


def chance_better(draws: Floats, one: int, other: int) -> float:
    """P(one's score is above the other's); equal draws count half."""
    difference = draws[:, one] - draws[:, other]
    return float(np.mean(difference > 0) + 0.5 * np.mean(difference == 0))


class Ranks(NamedTuple):
    """Of each learner: the 95 % interval of its rank, and how probably it is the best."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    best: Floats


def ranks(draws: Floats, level: float = LEVEL) -> Ranks:
    """Quantiles of each draw's ranks, 1 for the highest score; equal scores share their ranks."""
    n_draws, n = draws.shape
    first, last, best = np.empty((n_draws, n), np.int64), np.empty((n_draws, n), np.int64), np.zeros(n)
    for d, row in enumerate(draws):
        ordered = np.sort(row)
        first[d] = n + 1 - np.searchsorted(ordered, row, side="right")
        last[d] = n - np.searchsorted(ordered, row, side="left")
        top = first[d] == 1
        best[top] += 1 / (top.sum() * n_draws)
    tail = (1 - level) / 2
    low = np.quantile(first, tail, axis=0, method="inverted_cdf")
    high = np.quantile(last, 1 - tail, axis=0, method="inverted_cdf")
    return Ranks(low.astype(np.int64), high.astype(np.int64), best)


def simultaneous_half_width(draws: Floats, level: float = LEVEL) -> float:
    """Standard deviations to either side that hold all learners' scores at once in `level` of the draws."""
    away = np.abs(draws - draws.mean(axis=0)) / np.maximum(draws.std(axis=0), 1e-12)
    return float(np.quantile(away.max(axis=1), level))


def random_shares(n_draws: int, group: NDArray[np.integer]) -> Floats:
    """Shares of samples that count by the Bayesian bootstrap (Rubin 1981), one weight for each group.

    [draws, samples], rows sum to 1; the same for all learners, so that differences between them are fair.
    With few groups plain weights spread too little: the gammas here give a mean over groups the variance
    that Student's interval has.
    """
    n_groups = int(group.max()) + 1
    stretched = (n_groups - 1) * (Z / critical_value(LEVEL, max(n_groups - 1, 1))) ** 2
    shape = max((stretched - 1) / n_groups, 0.05)
    weights = np.random.default_rng(0).standard_gamma(shape, (n_draws, n_groups))[:, group]
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))


def shared_spread(residual: Floats, learner: NDArray[np.integer], group: NDArray[np.integer]) -> float:
    """Variance that a learner's residuals on samples of one group share: what a model missed of the group.

    The mean product of two residuals of one learner in one group; 0 where groups hold one sample each.
    """
    n_groups = int(group.max(initial=-1)) + 1
    pair = learner.astype(np.int64) * n_groups + group
    _, place, count = np.unique(pair, return_inverse=True, return_counts=True)
    total = np.bincount(place, residual)
    n_products = float(np.sum(count.astype(np.float64) ** 2) - len(residual))
    if n_products <= 0:
        return 0.0
    return max(float((np.sum(total**2) - np.sum(residual**2)) / n_products), 0.0)
