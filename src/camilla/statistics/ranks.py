"""Which ranks estimates may have, which are likely, and Friedman's test of mean ranks. Arrays only.

Estimates come with a factor F [estimates, units], covariance F Fᵀ: one column for what each unit says. With
more estimates than units F Fᵀ has a rank below their number, and draws from it miss directions in which the
estimates do vary. So draws come from the covariance shrunk to its diagonal (Schäfer and Strimmer, 2005).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, ndtr, ndtri

from camilla.arrays import Floats
from camilla.statistics.multiplicity import RankIntervals, rank_bounds
from camilla.statistics.step_down import over_pairs, pair_blocks, step_down
from camilla.statistics.wald import EQUAL, differences

WORK = 200_000_000  # pairs × draws
DRAWS = (500, 4000)  # fewest and most
BLOCK = 50_000  # pairs × draws at a time, few enough for the cache of a core
STEPS = 5  # of telling pairs apart; later ones find next to nothing
LIKELY_DRAWS = 2000
AU_SCALES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)  # σ², as in pvclust
AU_DRAWS = 2000
BEST_DRAWS, SPREADS = 4000, 60
FLOOR = 0.01  # of the mean variance: the least that estimates are taken to differ by in truth


class Shrunk(NamedTuple):
    """(1 − λ) F Fᵀ + λ diag(v): the covariance of estimates, shrunk to its diagonal."""

    factor: Floats  # √(1 − λ) F
    own: Floats  # λ v

    def draws(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Normal draws [draws, estimates]."""
        shared = rng.standard_normal((n_draws, self.factor.shape[1])) @ self.factor.T
        return np.asarray(shared + rng.standard_normal(shared.shape) * np.sqrt(self.own))

    def dense(self) -> Floats:
        return np.asarray(self.factor @ self.factor.T + np.diag(self.own))


def shrunk(factor: Floats) -> Shrunk:
    """λ = Σ var(r) / Σ r² over the correlations r of different estimates, 1 at most."""
    units = factor.shape[1]
    variance = np.einsum("iu,iu->i", factor, factor)
    z = factor * np.sqrt(units / np.where(variance > 0, variance, 1.0))[:, None]
    squares = np.sum((z.T @ z / units) ** 2) - np.sum(np.mean(z**2, axis=1) ** 2)  # Σ r², i ≠ j
    spread = np.sum(np.sum(z**2, axis=0) ** 2) - np.sum(z**4) - units * squares  # Σ_ij Σ_u (z z − r)²
    noise = units / (units - 1) ** 3 * spread
    share = min(max(noise / squares, 0.0), 1.0) if squares > 0 else 1.0
    return Shrunk(np.sqrt(1 - share) * factor, share * variance)


class StudentDraws(NamedTuple):
    """Draws of estimates whose true values are equal, and what divides their differences."""

    drawn: Floats  # [draws, estimates], float32, divided by √(χ²/df): Student's t in many dimensions
    inverse: Floats  # [estimates, estimates], 1/se of the difference; 0 where there is none

    def largest(self, open_: NDArray[np.bool_]) -> Floats:
        """max_j |z_i − z_j|/se_ij over the pairs that are open [draws, estimates]."""
        inverse = (self.inverse * open_).T.copy()
        n_draws, n = self.drawn.shape
        largest = np.empty((n_draws, n), np.float32)
        step = max(1, BLOCK // n**2)
        for start in range(0, n_draws, step):
            some = self.drawn[start : start + step]
            room = some[:, :, None] - some[:, None, :]
            np.abs(room, out=room)
            room *= inverse
            room.max(axis=1, out=largest[start : start + step])
        return largest


def student_draws(factor: Floats, df: float, seed: int = 0) -> StudentDraws:
    """Draws from the shrunk covariance, fewer where there are more pairs."""
    n = len(factor)
    rng = np.random.default_rng(seed)
    n_draws = int(np.clip(WORK / n**2, *DRAWS))
    model = shrunk(factor)
    se = differences(np.zeros(n), model.dense()).se
    inverse = np.where(se > EQUAL, 1 / np.maximum(se, EQUAL), 0).astype(np.float32)
    scale = np.ones(n_draws) if np.isinf(df) else np.sqrt(rng.chisquare(df, n_draws) / df)
    return StudentDraws((model.draws(n_draws, rng) / scale[:, None]).astype(np.float32), inverse)


def sure_ranks(value: Floats, factor: Floats, df: float, level: float, *, joint: bool) -> RankIntervals:
    """1 + those surely better, to n − those surely worse, by the largest of an estimate's own pairs.

    Each interval holds the rank of its row with probability `level`; with `joint` all of them together do
    (Mogstad, Romano, Shaikh and Wilhelm, 2024). The rank of tied rows is any that ties allow. Pairs that are
    told apart leave the maximum, and the others are tested again (Romano and Wolf, 2005).
    """
    draws = student_draws(factor, df)
    found = differences(value, factor @ factor.T)
    gap = np.abs(found.difference)
    if joint:
        i, j = np.triu_indices(len(value), 1)
        known = (gap[i, j] > EQUAL) & (found.se[i, j] > 0)
        statistic = np.divide(gap[i, j], found.se[i, j], out=np.zeros(len(i)), where=known)
        p = step_down(statistic, pair_blocks(draws.drawn, draws.inverse[i, j]))
        sure = over_pairs(p, len(value)) < 1 - level
        return rank_bounds(sure, value[None, :] > value[:, None])
    sure = np.zeros(gap.shape, bool)
    for _ in range(STEPS):
        reach = np.quantile(draws.largest(~sure), level, axis=0)[:, None]
        more = sure | ((gap > reach * found.se) & (gap > EQUAL))
        if np.array_equal(more, sure):
            break
        sure = more
    return rank_bounds(sure, value[None, :] > value[:, None])


def likely_ranks(value: Floats, factor: Floats, level: float, seed: int = 0) -> RankIntervals:
    """Where `level` of each row's rank lies by empirical Bayes: true values are N(0, τ²), τ² by moments.

    Right on average over the rows when true values differ; rows that are truly tied share ranks that no
    narrow interval can hold. Draws by Matheron's rule: b + τ²(τ²I + Σ)⁻¹(value − b − error).
    """
    rng = np.random.default_rng(seed)
    model = shrunk(factor)
    n = len(value)
    variance = np.einsum("iu,iu->i", model.factor, model.factor) + model.own
    centred = value - value.mean()
    between = max(centred @ centred / (n - 1) - variance.mean(), FLOOR * variance.mean())
    if variance.mean() == 0:
        rank = 1 + (value[None, :] > value[:, None]).sum(axis=1)
        return RankIntervals(rank, n - (value[None, :] < value[:, None]).sum(axis=1))
    truth = np.sqrt(between) * rng.standard_normal((LIKELY_DRAWS, n))
    surprise = centred - truth - model.draws(LIKELY_DRAWS, rng)
    drawn = truth + between * _solved(between + model.own, model.factor, surprise)
    order = np.argsort(-drawn, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(1, n + 1)[None, :], axis=1)
    ends = np.quantile(rank, [0.5 - level / 2, 0.5 + level / 2], axis=0, method="nearest")
    return RankIntervals(ends[0].astype(np.int64), ends[1].astype(np.int64))


def best_chances(mean: Floats, covariance: Floats, df: float, same: NDArray[np.integer]) -> Floats:
    """How probably each row is the best, if true values are N(μ, τ²) with μ and τ unknown.

    τ is uniform up to a half, the most that means of responses within 0 to 1 can spread. Without it the best
    of many equal rows would look sure of its lead. Rows with equal `same` are one row, and share its chance.
    Draws are for rows in an order of their own, so that the order in which they are given changes nothing.
    """
    _, first, of, size = np.unique(same, return_index=True, return_inverse=True, return_counts=True)
    facts = (covariance[first].sum(axis=1), np.diag(covariance)[first], mean[first])
    own = np.lexsort([np.round(fact / np.abs(fact).max().clip(EQUAL), 9) for fact in facts])
    rows, of = first[own], np.argsort(own)[of]
    size = size[own]
    n = len(rows)
    if n == 1:
        return np.full(len(mean), 1 / len(mean))
    centre = np.eye(n) - 1 / n
    power, axes = np.linalg.eigh(centre @ covariance[np.ix_(rows, rows)] @ centre)
    power, axes = np.maximum(power[1:], EQUAL**2), axes[:, 1:]  # the first is that all rise together
    along = (mean[rows] - mean[rows].mean()) @ axes
    spread = np.geomspace(1e-4, 0.5, SPREADS)
    total = spread[:, None] ** 2 + power
    likely = np.log(spread) - 0.5 * np.sum(np.log(total) + along**2 / total, axis=1)
    chance = np.exp(likely - likely.max())
    rng = np.random.default_rng(0)
    between = np.repeat(spread, rng.multinomial(BEST_DRAWS, chance / chance.sum()))[:, None] ** 2
    noise = power * (df / rng.chisquare(max(df, 1), BEST_DRAWS))[:, None]
    kept = between / (between + noise)
    drawn = (along * kept + (rng.standard_normal((BEST_DRAWS, n)) @ axes) * np.sqrt(kept * noise)) @ axes.T
    best = np.bincount(drawn.argmax(axis=1), minlength=n) / BEST_DRAWS
    return np.asarray((best / size)[of])


def first_p_values(value: Floats, factor: Floats, seed: int = 0) -> Floats:
    """Approximately unbiased p-values of "this row is first" (Shimodaira, 2002), by multiscale bootstrap.

    R' = R/σ² of the R units are drawn with replacement for several σ², and estimates move by what the draws
    say (one step of the bootstrap). The share BP(σ²) of draws in which a row is first follows
    Φ⁻¹(1 − BP) = v/σ + cσ, v being the distance to the region's border and c its curvature; p = 1 − Φ(v − c).
    """
    rng = np.random.default_rng(seed)
    n, units = factor.shape
    sizes = np.maximum(np.round(units / np.asarray(AU_SCALES)), 2).astype(np.int64)
    shares = np.empty((len(sizes), n))
    for size, share in zip(sizes, shares, strict=True):
        drawn = rng.multinomial(size, np.full(units, 1 / units), AU_DRAWS) * (units / size) - 1
        first = np.argmax(value + drawn @ factor.T * np.sqrt((units - 1) / units), axis=1)
        share[:] = np.bincount(first, minlength=n) / AU_DRAWS
    sigma = np.sqrt(units / sizes)
    p = np.zeros(n)
    for row in range(n):
        known = (shares[:, row] > 0) & (shares[:, row] < 1)
        if known.sum() < 3:
            p[row] = shares[:, row].mean()
            continue
        share, scale = shares[known, row], sigma[known]
        z = -ndtri(share)
        weight = np.exp(-(z**2) / 2) / np.sqrt(share * (1 - share))  # 1 over the error of z
        design = np.column_stack([1 / scale, scale])
        (v, c), *_ = np.linalg.lstsq(design * weight[:, None], z * weight, rcond=None)
        p[row] = ndtr(c - v)
    return p


def _solved(diagonal: Floats, factor: Floats, right: Floats) -> Floats:
    """(diag(d) + F Fᵀ)⁻¹ applied to rows, by Woodbury's formula."""
    scaled = right / diagonal
    inner = np.eye(factor.shape[1]) + factor.T @ (factor / diagonal[:, None])
    return np.asarray(scaled - (np.linalg.solve(inner, factor.T @ scaled.T).T @ factor.T) / diagonal)


class Friedman(NamedTuple):
    """Mean ranks within blocks and their tests (Friedman, 1937; Demšar, 2006); ties share their mean rank."""

    mean_rank: Floats  # [treatments], 1 is best
    statistic: float  # χ² on k − 1 degrees of freedom, corrected for ties
    p_value: float
    f_statistic: float  # Iman and Davenport's (1980), less conservative
    f_p_value: float
    critical_difference: float  # of mean ranks, by Nemenyi's test at 1 − level
    n_blocks: int

    def line(self, level: float) -> str:
        """The test in words."""
        return (
            f"Friedman over {self.n_blocks} complete blocks: χ² {self.statistic:.2f} "
            f"(p = {self.p_value:.3g}), Iman–Davenport p = {self.f_p_value:.3g}; mean ranks further apart "
            f"than {self.critical_difference:.2f} differ (Nemenyi, {100 * level:g} %)."
        )


def friedman(scores: Floats, level: float = 0.95) -> Friedman:
    """Scores [treatments, blocks], higher is better, none missing; at least two of each."""
    from scipy.stats import rankdata  # half a second to load, and needed here alone

    k, n = scores.shape
    ranks = rankdata(-scores, axis=0)
    _, ties = np.unique(ranks + (k + 1) * np.arange(n), return_counts=True)
    correction = 1 - float((ties**3 - ties).sum()) / (n * k * (k**2 - 1))
    mean = ranks.mean(axis=1)
    if correction <= 0:
        statistic = 0.0
    else:
        statistic = 12 * n / (k * (k + 1)) * float(((mean - (k + 1) / 2) ** 2).sum()) / correction
    most = n * (k - 1)
    f = (n - 1) * statistic / (most - statistic) if statistic < most else np.inf
    return Friedman(
        mean_rank=mean,
        statistic=statistic,
        p_value=float(chdtrc(k - 1, statistic)),
        f_statistic=float(f),
        f_p_value=float(fdtrc(k - 1, (k - 1) * (n - 1), f)),
        critical_difference=critical_difference(k, n, level),
        n_blocks=n,
    )


def critical_difference(k: int, n: int, level: float = 0.95) -> float:
    """q √(k(k + 1)/(6n)), q the studentized range over √2 (Nemenyi, 1963)."""
    from scipy.stats import studentized_range  # half a second to load, and needed here alone

    q = studentized_range.ppf(level, k, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))
