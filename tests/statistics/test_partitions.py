"""Means over several deals of the same samples: variance by its formula, coverage where it is known."""

import numpy as np
import pytest
from scipy.stats import t

from camilla.statistics.clusters import MeanSpread, spread_of
from camilla.statistics.partitions import over_partitions


def spread(mean: float, variance: float) -> MeanSpread:
    return MeanSpread(*(np.asarray(part) for part in (mean, variance, 99.0, 100.0, 100.0)))


def test_the_variance_is_the_mean_within_and_that_between() -> None:
    """Means .1, .2, .6 and variances .01, .02, .06: .3, and .03 + (.04 + .01 + .09)/2 = .1."""
    found = over_partitions([spread(0.1, 0.01), spread(0.2, 0.02), spread(0.6, 0.06)])
    assert float(found.mean) == pytest.approx(0.3)
    assert float(found.variance) == pytest.approx(0.1)
    assert float(found.df) == 99


def test_one_partition_and_equal_ones_are_as_they_are() -> None:
    one = spread(0.4, 0.02)
    assert over_partitions([one]) == one
    assert float(over_partitions([one, one]).variance) == pytest.approx(0.02)


def test_intervals_hold_what_a_cross_fitted_choice_is_worth() -> None:
    """The better of two equal learners is chosen on four fifths of 100 samples: worth .6, whatever is chosen.

    In 400 tables one partition holds it in fewer than 93 %, for folds in which a learner does badly choose
    it not. Coverage varies by 1.1 points.
    """
    held = np.zeros(2)
    for seed in range(400):
        rng = np.random.default_rng(seed)
        right = (rng.random((2, 100)) < 0.6).astype(float)
        parts = []
        for _ in range(5):
            fold, earned = rng.permutation(100) % 5, np.empty(100)
            for k in range(5):
                best = int(np.argmax(right[:, fold != k].mean(axis=1)))
                earned[fold == k] = right[best, fold == k]
            parts.append(spread_of(earned, None))
        for number, found in enumerate((over_partitions(parts[:1]), over_partitions(parts))):
            half = t.ppf(0.975, 99) * np.sqrt(float(found.variance))
            held[number] += abs(float(found.mean) - 0.6) <= half
    assert held[0] / 400 < 0.93
    assert 0.925 <= held[1] / 400 <= 0.985
