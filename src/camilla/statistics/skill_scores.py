"""Scores of learners on skills beside what was observed there: do they agree, and what puts them right."""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from camilla.arrays import Floats

ALARM = 1.3  # of a misfit: .8 to 1 where scores are right, 1.5 to 12 where they are not
SURELY = 0.99  # of chance alone, below which few numbers may not exceed it


class Observed(NamedTuple):
    """Mean responses and the variance of chance in them; NaN without a response. [learners, skills]"""

    mean: Floats
    noise: Floats

    @classmethod
    def of(cls, expected: Floats, mean: Floats, n: Floats, se: Floats | None = None) -> "Observed":
        """The variance is p(1 − p)/n at the expected p, or se² where responses are fractional.

        A p of 0 or 1 would leave no chance at all: half a response of the other kind is thought to be there.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            if se is not None:
                return cls(mean, np.where(se > 0, se**2, np.nan))
            p = np.clip(expected, 0.5 / (n + 1), 1 - 0.5 / (n + 1))
            return cls(np.where(n > 0, mean, np.nan), p * (1 - p) / np.where(n > 0, n, np.nan))


class Misfit(NamedTuple):
    """Mean (observed − expected)² over the variance of chance: 1 where chance explains the distance."""

    value: float
    alarming: bool


def misfit(expected: Floats, observed: Observed) -> Misfit:
    """Of all numbers together. Alarming above 1.3, and above what chance makes of so few numbers."""
    ratio = (observed.mean - expected) ** 2 / observed.noise
    ratio = ratio[~np.isnan(ratio)]
    value = float(ratio.mean()) if len(ratio) else 0.0
    by_chance = float(chi2.ppf(SURELY, max(len(ratio), 1))) / max(len(ratio), 1)
    return Misfit(value, value > max(ALARM, by_chance))


def spread_beyond(expected: Floats, observed: Observed) -> float:
    """Variance of what learners score on skills beyond what is expected of them and beyond chance."""
    square = (observed.mean - expected) ** 2
    known = ~np.isnan(square) & ~np.isnan(observed.noise)
    if not known.any():
        return 0.0
    return max(float(np.mean(square[known]) - np.mean(observed.noise[known])), 0.0)


class Repaired(NamedTuple):
    value: Floats
    se: Floats


def repaired(expected: Floats, se: Floats, observed: Observed, spread: float) -> Repaired:
    """Expected scores drawn to what was observed, as far as `spread` says that they miss something.

    e + B (x − e) with B = spread / (spread + noise), and variance B noise + (1 − B) se²: the empirical Bayes
    estimate of a score around e (Efron and Morris 1973). Without a response it is e.
    """
    known = ~np.isnan(observed.mean) & ~np.isnan(observed.noise)
    noise = np.where(known, observed.noise, 1.0)
    weight = np.where(known, spread / (spread + noise), 0.0)
    value = expected + weight * np.where(known, observed.mean - expected, 0.0)
    return Repaired(np.clip(value, 0, 1), np.sqrt(weight * noise + (1 - weight) * se**2))


def profile_spread(score: Floats) -> float:
    """How far learners' profiles differ: the standard deviation of logits centred by learner and skill."""
    inside = np.clip(score, 1e-4, 1 - 1e-4)
    logit = np.log(inside) - np.log1p(-inside)
    apart = logit - logit.mean(axis=0) - logit.mean(axis=1, keepdims=True) + logit.mean()
    return float(apart.std())
