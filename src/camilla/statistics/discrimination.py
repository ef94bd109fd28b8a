"""What the responses alone say of a sample's discrimination: profile likelihood. Arrays only.

The intervals of a 2PL lean on its prior: they hold most discriminations because most are alike, and miss
one in four of the sharpest. Here a sample has no prior, and each learner's ability is N(m, v) from its other
responses, so that, with κ = π/8 (MacKay 1992),

    P(x = 1) = ∫ σ(aθ + c) dN(θ; m, v) ≈ σ(u (am + c)),   u = 1/√(1 + κa²v)

The interval is all a with 2(max L − max_c L(a, c)) ≤ t², Student's t on n − 2 degrees of freedom, L the log
likelihood over n learners, divided by the dispersion where responses are fractional.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from camilla.arrays import Floats, sigmoid
from camilla.statistics.intervals import LEVEL, Ends, Z

KAPPA = np.pi / 8
STEEPEST = 10.0  # a standard deviation: steeper is a step, and an end of ±10 stands for all beyond
FEWEST = 5  # learners an interval needs
BLOCK = 1 << 16  # cells held at once: what stays in the cache
ROUNDS = 60  # of Newton's method, at most
NEAR = 1e-6  # of t, and of a and c
TINY = 1e-100  # keeps a step finite where a curve is flat


class DiscriminationCurves(NamedTuple):
    """A fitted 2PL: logit = slope · ability + intercept."""

    ability: Floats  # [learners]
    slope: Floats  # [samples]
    intercept: Floats  # [samples]

    def moved(self, centre: float, scale: float) -> "DiscriminationCurves":
        """The same curves with abilities (θ − centre)/scale."""
        return DiscriminationCurves(
            (self.ability - centre) / scale, self.slope * scale, self.intercept + self.slope * centre
        )

    def standard(self) -> "DiscriminationCurves":
        """The same curves with abilities of mean 0 and standard deviation 1."""
        return self.moved(float(self.ability.mean()), float(self.ability.std()) or 1.0)

    def expected(self, block: slice | NDArray[np.intp]) -> Floats:
        logit = np.outer(self.ability, self.slope[block]) + self.intercept[block]
        return np.asarray(sigmoid(logit))


def points_backwards(discrimination: Floats, se: Floats) -> float:
    """The share of samples whose discrimination lies below 0 by more than its 95 % interval.

    Where every sample rewards the ability at most one in forty does so by chance. Where many do, the ability
    is a contrast between two kinds of samples, and who is high on it has not simply answered more of them.
    """
    known = np.isfinite(discrimination) & np.isfinite(se)
    if not known.any():
        return 0.0
    return float(np.mean(discrimination[known] + Z * se[known] < 0))


class _Seen(NamedTuple):
    """Responses to some samples, [learners, samples] each, and what the other responses say of abilities."""

    response: Floats
    weight: Floats  # 1/dispersion, 0 where missing
    mean: Floats
    variance: Floats

    def take(self, columns: NDArray[np.intp] | NDArray[np.bool_]) -> "_Seen":
        return _Seen(*(part[:, columns] for part in self))


class _Likelihood(NamedTuple):
    """Log likelihoods [samples] at slopes and intercepts, their gradients and information."""

    value: Floats
    by_a: Floats
    by_c: Floats
    aa: Floats
    ac: Floats
    cc: Floats

    @property
    def own(self) -> Floats:
        """Information on the slope when the intercept is not known."""
        return np.asarray(np.maximum(self.aa - self.ac**2 / self.cc, TINY))


class _Top(NamedTuple):
    """Where the likelihood is highest, and the standard error of the slope there."""

    a: Floats
    c: Floats
    value: Floats
    se: Floats


def discrimination_ends(
    matrix: Floats,
    curves: DiscriminationCurves,
    *,
    dispersion: float = 1.0,
    level: float = LEVEL,
    among: NDArray[np.bool_] | None = None,
    information: Floats | None = None,
) -> Ends:
    """Ends of intervals of discriminations, a standard deviation of the learners' true abilities.

    `matrix` is [learners, samples], NaN where missing. NaN where all answered alike or too few answered, and
    for samples outside `among`. `information`: of `ability_information` over all samples, where these are
    only some of them.
    """
    n_learners, n_samples = matrix.shape
    if information is None:
        information = ability_information(matrix, curves)
    information = 1 + information / dispersion
    curves = curves.standard()
    step = max(1, BLOCK // n_learners)
    # True abilities vary as their estimates do, by 1, and by what the estimates leave open.
    scale = float(np.sqrt(1 + np.mean(1 / information)))
    curves, information = curves.moved(0.0, scale), information * scale**2
    low, high = np.full((2, n_samples), np.nan)
    wanted = np.arange(n_samples) if among is None else np.flatnonzero(among)
    for start in range(0, len(wanted), step):
        part = wanted[start : start + step]
        low[part], high[part] = _ends(_seen(matrix[:, part], curves, part, information, dispersion), level)
    return Ends(low, high)


def ability_information(matrix: Floats, curves: DiscriminationCurves) -> Floats:
    """What these samples say of each learner's ability, in standard deviations of the abilities."""
    curves = curves.standard()
    step = max(1, BLOCK // len(matrix))
    information = np.zeros(len(matrix))
    for block in (slice(start, start + step) for start in range(0, matrix.shape[1], step)):
        p = curves.expected(block)
        information += (~np.isnan(matrix[:, block]) * p * (1 - p)) @ curves.slope[block] ** 2
    return information


def _seen(
    matrix: Floats,
    curves: DiscriminationCurves,
    block: NDArray[np.intp],
    information: Floats,
    dispersion: float,
) -> _Seen:
    """Abilities without the sample itself: one Newton step back from the estimate."""
    p, slope = curves.expected(block), curves.slope[block]
    weight = ~np.isnan(matrix) / dispersion
    response = np.where(weight > 0, matrix, p)
    others = information[:, None] - weight * p * (1 - p) * slope**2
    mean = curves.ability[:, None] - weight * slope * (response - p) / others
    return _Seen(response, weight, mean, 1 / others)


def _ends(seen: _Seen, level: float) -> Ends:
    answered = seen.weight > 0
    n, total = answered.sum(axis=0), np.sum(seen.response, axis=0, where=answered)
    known = np.flatnonzero((n >= FEWEST) & (total > 0) & (total < n))
    low, high = np.full((2, len(n)), np.nan)
    if len(known):
        some, reach = seen.take(known), stdtrit(n[known] - 2, 0.5 + level / 2)
        top = _top(some)
        low[known], high[known] = _end(some, top, -reach), _end(some, top, reach)
    return Ends(low, high)


def _likelihood(seen: _Seen, a: Floats, c: Floats) -> _Likelihood:
    """With l = u (am + c): ∂l/∂a = u³ (m − κacv) and ∂l/∂c = u; the information is Fisher's."""
    u = 1 / np.sqrt(1 + KAPPA * a**2 * seen.variance)
    logit = u * (a * seen.mean + c)
    l_by_a = u**3 * (seen.mean - KAPPA * a * c * seen.variance)
    p = sigmoid(logit)
    off, bend = seen.weight * (seen.response - p), seen.weight * p * (1 - p)
    value = seen.weight * (seen.response * logit - np.logaddexp(0, logit))
    sums = (value, off * l_by_a, off * u, bend * l_by_a**2, bend * l_by_a * u, bend * u**2)
    found = _Likelihood(*(part.sum(axis=0) for part in sums))
    return found._replace(cc=found.cc + TINY)


def _top(seen: _Seen) -> _Top:
    """Fisher's scoring, steps of 1 at most; where the likelihood rises for ever, up to the steepest."""
    a, c = np.zeros((2, seen.mean.shape[1]))
    active = np.arange(len(a))
    for _ in range(ROUNDS):
        at = _likelihood(seen.take(active), a[active], c[active])
        step = np.clip((at.by_a - at.ac / at.cc * at.by_c) / at.own, -1, 1)
        moved = np.clip(a[active] + step, -STEEPEST, STEEPEST) - a[active]
        better = np.clip((at.by_c - at.ac * moved) / at.cc, -1, 1)
        a[active] += moved
        c[active] += better
        active = active[np.maximum(np.abs(moved), np.abs(better)) > NEAR]
        if not len(active):
            break
    at = _likelihood(seen, a, c)
    return _Top(a, c, at.value, 1 / np.sqrt(at.own))


def _end(seen: _Seen, top: _Top, reach: Floats) -> Floats:
    """Newton's method on the signed root of the likelihood ratio, which is nearly a straight line.

    The intercept follows at its best, by Newton's method too, steps of 2 at most; the way from the top at
    most halves or doubles.
    """
    side, wanted = np.sign(reach), np.abs(reach)
    most = np.maximum(STEEPEST - side * top.a, 0.0)
    away, c = np.minimum(np.minimum(top.se * wanted, 1.0), most), top.c.copy()
    active = np.flatnonzero(most > 0)
    for _ in range(ROUNDS):
        at = _likelihood(seen.take(active), (top.a + side * away)[active], c[active])
        root = np.sqrt(np.maximum(2 * (top.value[active] - at.value - at.by_c**2 / (2 * at.cc)), TINY))
        fall = -side[active] * (at.by_a - at.ac / at.cc * at.by_c)
        now = away[active]
        wants = now + (wanted[active] - root) * root / np.maximum(fall, TINY)
        away[active] = np.minimum(np.clip(wants, now / 2, 2 * now), most[active])
        better = np.clip((at.by_c - at.ac * side[active] * (away[active] - now)) / at.cc, -2, 2)
        c[active] += better
        reached = np.abs(root - wanted[active]) < NEAR
        beyond = (now == most[active]) & (root < wanted[active])
        active = active[~beyond & ~(reached & (np.abs(better) < NEAR))]
        if not len(active):
            break
    return np.asarray(top.a + side * away)
