"""How far raters agree on the same answers: shares, kappa, alpha, correlation, with intervals. Arrays only.

Every coefficient θ is a function of sums T over answers. Answers come in units u (samples, or clusters of
them), units are independent, and the jackknife leaves one out at a time: θ₋ᵤ = θ(T − tᵤ),

    se² = (U − 1)/U · Σ (θ₋ᵤ − mean θ₋)²

Kappa and alpha are at most 1 and skewed near it: the interval is Student's on U − 1 degrees of freedom for
log(1 − θ), with the standard error se/(1 − θ). A correlation has it for atanh θ, with se/(1 − θ²).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.statistics.clusters import MeanSpread, spread_of
from camilla.statistics.intervals import LEVEL, NONE, Ends, critical_value, mean_ends, student
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import difference_ends, student_p
from camilla.table.cells import zero_or_one

Units = NDArray[np.integer]  # [answers], the unit of each


class Coefficient(NamedTuple):
    """A value with its interval; NaN where it cannot be known."""

    value: float
    low: float
    high: float


LEAST = -1.0  # kappa and alpha are not below: verdicts that are always opposite
UNKNOWN = Coefficient(np.nan, np.nan, np.nan)


class RaterPair(NamedTuple):
    """Two raters on the answers that both scored; kappa only where every score is 0 or 1."""

    n: int
    units: int
    equal: Coefficient  # share of answers with equal scores
    kappa: Coefficient
    alpha: Coefficient
    correlation: Coefficient
    mean_difference: Coefficient  # b less a
    absolute: Coefficient  # mean absolute difference


def rater_pair(a: Floats, b: Floats, unit: Units, level: float = LEVEL) -> RaterPair:
    """How far two raters agree, from scores [answers] with NaN where there is none."""
    both = ~(np.isnan(a) | np.isnan(b))
    a, b, unit = a[both], b[both], _numbered(unit[both])
    if len(a) == 0:
        return RaterPair(0, 0, *(UNKNOWN,) * 6)
    binary = bool(zero_or_one(a).all() and zero_or_one(b).all())
    one, other = a - a.mean(), b - b.mean()
    sums = by_unit([np.ones(len(a)), a == b, a, b], unit)
    crossed = by_unit([np.ones(len(a)), one, other, one**2, other**2, one * other], unit)
    return RaterPair(
        len(a),
        len(sums),
        share((a == b).astype(np.float64), unit, level),
        _bounded(_kappa, sums, level) if binary else UNKNOWN,
        alpha(np.stack([a, b], axis=1), unit, level),
        _correlated(crossed, level),
        mean(b - a, unit, level),
        mean(np.abs(b - a), unit, level, low=0.0),
    )


def alpha(scores: Floats, unit: Units, level: float = LEVEL) -> Coefficient:
    """Krippendorff's alpha of scores [answers, raters], NaN where missing, on the interval scale.

    1 − Do/De (Krippendorff 2011). Of an answer's m values Do has the mean squared difference of two, weighed
    by m; De that of any two values. Answers with fewer than two values do not count. On 0/1 scores it is
    the nominal alpha.
    """
    seen = ~np.isnan(scores)
    count = seen.sum(axis=1)
    pairable = count > 1
    if not pairable.any():
        return UNKNOWN
    seen, count = seen[pairable], count[pairable].astype(np.float64)
    centred = np.where(seen, scores[pairable] - np.mean(scores[pairable][seen]), 0.0)
    total, square = centred.sum(axis=1), (centred**2).sum(axis=1)
    within = (count * square - total**2) / (count - 1)
    return _bounded(_alpha, by_unit([count, total, square, within], _numbered(unit[pairable])), level)


def share(hits: Floats, unit: Units, level: float = LEVEL) -> Coefficient:
    """The share of answers that are 1: Wilson's interval, by the variance over units that hold several."""
    spread = _spread(hits, unit)
    alone = spread.units == len(hits)
    ends = mean_ends(spread.mean, spread.variance, spread.units, spread.df, np.asarray(alone), level)
    return _coefficient(spread, ends)


def mean(values: Floats, unit: Units, level: float = LEVEL, *, low: float = -1.0) -> Coefficient:
    """The mean over answers with Student's interval, variance and degrees of freedom over units."""
    spread = _spread(values, unit)
    ends = student(spread.mean, np.sqrt(spread.variance), spread.df, level)
    return _coefficient(spread, Ends(np.clip(ends.low, low, 1), np.clip(ends.high, low, 1)))


def _spread(values: Floats, unit: Units) -> MeanSpread:
    unit = _numbered(unit)
    return spread_of(values, None if unit.max(initial=-1) + 1 == len(values) else unit)


def _coefficient(spread: MeanSpread, ends: Ends) -> Coefficient:
    known = spread.units > 1
    return Coefficient(
        float(spread.mean), float(ends.low) if known else np.nan, float(ends.high) if known else np.nan
    )


def _numbered(unit: Units) -> Units:
    return np.unique(unit, return_inverse=True)[1]


def by_unit(columns: list[NDArray[np.generic]], unit: Units) -> Floats:
    """Sums of the columns [answers] over each unit [units, columns]."""
    return np.stack([np.bincount(unit, column.astype(np.float64)) for column in columns], axis=1)


def _kappa(sums: Floats) -> Floats:
    """Cohen's (1960): (p − pₑ)/(1 − pₑ), p the share of equal verdicts, pₑ what the two means expect."""
    n, equal, a, b = np.moveaxis(sums, -1, 0)
    expected = (a * b + (n - a) * (n - b)) / n**2
    return np.where(1 - expected > NONE, (equal / n - expected) / (1 - expected), np.nan)


def _alpha(sums: Floats) -> Floats:
    n, total, square, within = np.moveaxis(sums, -1, 0)
    expected = n * square - total**2
    return np.where(expected > NONE * n, 1 - (n - 1) * within / expected, np.nan)


def _pearson(sums: Floats) -> Floats:
    n, a, b, aa, bb, ab = np.moveaxis(sums, -1, 0)
    spread = (n * aa - a**2) * (n * bb - b**2)
    return np.where(spread > NONE * n**2, (n * ab - a * b) / np.sqrt(spread), np.nan)


def _bounded(coefficient: Callable[[Floats], Floats], sums: Floats, level: float) -> Coefficient:
    """A coefficient that is 1 at most; without a disagreement nothing says how sure it is."""
    value, se, critical = _jackknifed(coefficient, sums, level)
    gap = 1 - value
    if not gap > NONE or np.isnan(se):
        return Coefficient(value, np.nan, np.nan)
    factor = np.exp(critical * se / gap)
    return Coefficient(value, max(float(1 - gap * factor), LEAST), float(1 - gap / factor))


def _correlated(sums: Floats, level: float) -> Coefficient:
    value, se, critical = _jackknifed(_pearson, sums, level)
    if not 1 - abs(value) > NONE or np.isnan(se):
        return Coefficient(value, np.nan, np.nan)
    half = critical * se / (1 - value**2)
    return Coefficient(value, *(float(np.tanh(np.arctanh(value) + side)) for side in (-half, half)))


class _Jackknifed(NamedTuple):
    value: float
    se: float  # NaN where it cannot be known
    critical: float


def _jackknifed(coefficient: Callable[[Floats], Floats], sums: Floats, level: float) -> _Jackknifed:
    """The coefficient of all units, and its standard error from leaving out each."""
    units = len(sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(coefficient(sums.sum(axis=0)))
        if units < 2:
            return _Jackknifed(value, np.nan, np.nan)
        without = coefficient(sums.sum(axis=0) - sums)
    if np.isnan(without).any():
        return _Jackknifed(value, np.nan, np.nan)
    se = float(np.sqrt((units - 1) / units * np.sum((without - without.mean()) ** 2)))
    return _Jackknifed(value, se, critical_value(level, units - 1))


class MeanTest(NamedTuple):
    """A mean of deviations, its interval, and whether it is 0."""

    n: int
    difference: float
    low: float
    high: float
    p_value: float


def mean_test(values: Floats, unit: Units, level: float = LEVEL) -> MeanTest:
    """Of values [answers]: Student's t with variance and degrees of freedom over units."""
    if len(values) == 0:
        return MeanTest(0, np.nan, np.nan, np.nan, 1.0)
    spread = _spread(values, unit)
    ends = difference_ends(spread, level)
    low, high = (float(np.clip(end, -1, 1)) if spread.units > 1 else np.nan for end in ends)
    return MeanTest(len(values), float(spread.mean), low, high, float(student_p(spread)))


def deviations(scores: Floats) -> Floats:
    """Each score less the mean of all raters of its answer; NaN where one rater alone scored it."""
    seen = ~np.isnan(scores)
    count = seen.sum(axis=1)
    mean_score = np.where(seen, scores, 0).sum(axis=1) / np.maximum(count, 1)
    return np.where((count > 1)[:, None], scores - mean_score[:, None], np.nan)


def learner_contrasts(off: Floats, learner: Units, sample: Units, shape: tuple[int, int]) -> Floats:
    """A rater's mean deviation on each learner's answers to a sample, less that on the other learners'.

    `off` [answers] has NaN where there is none; the result is of `shape` [learners, samples].
    """
    seen = ~np.isnan(off)
    cell = learner[seen] * shape[1] + sample[seen]
    count = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    total = np.bincount(cell, off[seen], minlength=shape[0] * shape[1]).reshape(shape)
    mean_off = total / np.maximum(count, 1)
    others = (count > 0).sum(axis=0) - (count > 0)
    rest = (mean_off.sum(axis=0) - mean_off) / np.maximum(others, 1)
    return np.where((count > 0) & (others > 0), mean_off - rest, np.nan)


def holm_without_mirrors(p: Floats) -> Floats:
    """Holm over a matrix of tests; of two rows, or two columns, one says what the other does."""
    part = p[: 1 if len(p) == 2 else None, : 1 if p.shape[1] == 2 else None]
    return np.broadcast_to(holm(part.ravel()).reshape(part.shape), p.shape).copy()
