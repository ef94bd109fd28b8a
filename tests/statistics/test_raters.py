"""Agreement of raters against published examples, other packages, and formulas of simulated worlds."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from camilla.statistics.raters import (
    Coefficient,
    alpha,
    deviations,
    holm_without_mirrors,
    learner_contrasts,
    mean_test,
    rater_pair,
)

NONE = np.nan
# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability: four observers, twelve units.
FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
).T
TWO_OBSERVERS = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], float).T


def test_alpha_of_the_published_examples() -> None:
    """Section A: two observers, binary data, .095. Section D: interval data with gaps, .849."""
    assert alpha(TWO_OBSERVERS, np.arange(10)).value == pytest.approx(0.095, abs=0.0005)
    assert alpha(FOUR_OBSERVERS, np.arange(12)).value == pytest.approx(0.849, abs=0.0005)


def by_coincidences(scores: NDArray[np.float64]) -> float:
    """Alpha from the matrix of coincidences, as the paper builds it by hand."""
    values = np.unique(scores[~np.isnan(scores)])
    matrix = np.zeros((len(values), len(values)))
    for row in scores:
        given = row[~np.isnan(row)]
        for i in range(len(given)):
            for j in range(len(given)):
                if i != j:
                    place = np.searchsorted(values, [given[i], given[j]])
                    matrix[place[0], place[1]] += 1 / (len(given) - 1)
    total = matrix.sum(axis=0)
    distance = np.subtract.outer(values, values) ** 2
    observed = np.sum(matrix * distance)
    expected = np.sum(np.outer(total, total) * distance) / (total.sum() - 1)
    return 1 - observed / expected


def test_alpha_is_that_of_the_matrix_of_coincidences() -> None:
    rng = np.random.default_rng(3)
    scores = np.round(np.clip(rng.random((40, 1)) + 0.3 * rng.normal(size=(40, 5)), 0, 1), 1)
    scores[rng.random(scores.shape) < 0.3] = np.nan
    assert alpha(scores, np.arange(40)).value == pytest.approx(by_coincidences(scores), abs=1e-12)


def test_kappa_of_a_textbook_table_and_of_another_package() -> None:
    """20 and 15 equal, 5 and 10 apart: (0.7 − 0.5) / (1 − 0.5) = 0.4."""
    a = np.repeat([1.0, 1, 0, 0], [20, 5, 10, 15])
    b = np.repeat([1.0, 0, 1, 0], [20, 5, 10, 15])
    assert rater_pair(a, b, np.arange(50)).kappa.value == pytest.approx(0.4, abs=1e-12)
    rng = np.random.default_rng(1)
    a, b = (rng.random((2, 300)) < [[0.3], [0.4]]).astype(float)
    found = rater_pair(a, b, np.arange(300))
    assert found.kappa.value == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
    assert found.correlation.value == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-12)
    assert found.equal.value == np.mean(a == b)


def test_graded_scores_have_no_kappa() -> None:
    a, b = np.array([0.2, 0.5, 1.0]), np.array([0.3, 0.5, 0.0])
    found = rater_pair(a, b, np.arange(3))
    assert np.isnan(found.kappa.value)
    assert found.absolute.value == pytest.approx((0.1 + 0 + 1) / 3)
    assert found.mean_difference.value == pytest.approx((0.1 + 0 - 1) / 3)


def test_answers_that_one_rater_did_not_score_do_not_count() -> None:
    a, b = np.array([1.0, 0, np.nan, 1, 0]), np.array([1.0, np.nan, 0, 1, 1])
    found = rater_pair(a, b, np.arange(5))
    assert (found.n, found.units, found.equal.value) == (3, 3, pytest.approx(2 / 3))


def test_without_disagreement_or_difference_nothing_is_claimed() -> None:
    """Equal verdicts are perfect, but nothing says how sure; of constant scores chance is not known."""
    a = np.array([0.0, 1, 0, 1])
    perfect = rater_pair(a, a, np.arange(4))
    assert perfect.kappa.value == perfect.alpha.value == 1
    assert np.isnan([perfect.kappa.low, perfect.alpha.high]).all()
    assert perfect.equal.low == pytest.approx(4 / (4 + 1.959964**2), abs=1e-6)  # Wilson's n / (n + z²)
    constant = rater_pair(np.ones(4), np.ones(4), np.arange(4))
    assert np.isnan([constant.kappa.value, constant.alpha.value, constant.correlation.value]).all()
    assert rater_pair(a, np.full(4, np.nan), np.arange(4)).n == 0


def test_the_interval_is_that_of_leaving_out_clusters_one_by_one() -> None:
    """Student's on 11 degrees of freedom, 2.200985, for log(1 − κ), each kappa by another package."""
    rng = np.random.default_rng(5)
    a, b = (rng.random((2, 60)) < 0.5).astype(float)
    b = np.where(rng.random(60) < 0.7, a, b)
    unit = rng.permutation(60) % 12
    left = np.array([cohen_kappa_score(a[unit != u], b[unit != u]) for u in range(12)])
    whole = cohen_kappa_score(a, b)
    se = np.sqrt(11 / 12 * np.sum((left - left.mean()) ** 2))
    factor = np.exp(2.200985 * se / (1 - whole))
    found = rater_pair(a, b, unit).kappa
    np.testing.assert_allclose(found, [whole, 1 - (1 - whole) * factor, 1 - (1 - whole) / factor], rtol=1e-6)


def test_deviations_are_from_the_mean_of_all_raters_of_the_answer() -> None:
    scores = np.array([[1, 0, NONE], [1, 1, 0.4], [NONE, 1, NONE]])
    expected = [[0.5, -0.5, NONE], [0.2, 0.2, -0.4], [NONE, NONE, NONE]]
    np.testing.assert_allclose(deviations(scores), expected, atol=1e-12)


def test_contrasts_are_against_the_other_learners_on_the_sample() -> None:
    """Sample 0: .3 against the mean of −.1 and .1; sample 1: a learner alone has none."""
    off, learner, sample = np.array([0.3, -0.1, 0.1, 0.2]), np.array([0, 1, 2, 1]), np.array([0, 0, 0, 1])
    found = learner_contrasts(off, learner, sample, (3, 2))
    np.testing.assert_allclose(found[:, 0], [0.3, -0.1 - 0.2, 0.1 - 0.1], atol=1e-12)
    assert np.isnan(found[:, 1]).all()


def test_mirrored_tests_are_counted_once() -> None:
    """Two raters: three tests of three learners, not six. Two learners as well: one test."""
    p = np.array([[0.01, 0.2, 0.3], [0.01, 0.2, 0.3]])
    np.testing.assert_allclose(holm_without_mirrors(p), [[0.03, 0.4, 0.4]] * 2)
    np.testing.assert_allclose(holm_without_mirrors(np.full((2, 2), 0.02)), 0.02)


def covers(found: Coefficient, truth: float) -> bool:
    return bool(found.low <= truth <= found.high)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("units", "answers", "right_a", "right_b"), [(50, 1, 0.9, 0.9), (50, 4, 0.9, 0.85), (120, 3, 0.95, 0.95)]
)
def test_intervals_of_verdicts_cover(units: int, answers: int, right_a: float, right_b: float) -> None:
    """A truth that is 1 half of the time, more often on some samples, and two raters that err on their own.

    Equal verdicts: p = ra·rb + (1 − ra)(1 − rb). Both say 1 half of the time, so kappa, alpha and correlation
    are all 2p − 1. 2,000 worlds: the coverage's own standard error is half a point, and four of them are two.
    """
    rng = np.random.default_rng(8)
    share = right_a * right_b + (1 - right_a) * (1 - right_b)
    unit = np.repeat(np.arange(units), answers)
    hits = np.zeros(4)
    for _ in range(2000):
        truth = rng.random((units, answers)) < rng.beta(2, 2, units)[:, None]
        a, b = (np.where(rng.random(truth.shape) < right, truth, ~truth) for right in (right_a, right_b))
        found = rater_pair(a.ravel().astype(float), b.ravel().astype(float), unit)
        each = (found.equal, found.kappa, found.alpha, found.correlation)
        hits += [covers(one, truth) for one, truth in zip(each, [share, *[2 * share - 1] * 3], strict=True)]
    assert ((hits / 2000 > 0.93) & (hits / 2000 < 0.975)).all(), hits / 2000


@pytest.mark.slow
def test_intervals_of_graded_scores_cover() -> None:
    """a = t + e, b = t + f + δ, t of sample and answer: E(a − b)² = 2σ² + δ², variance τ² + σ² + δ²/4.

    Alpha is 1 − E(a − b)² / 2 (pooled variance), the correlation τ²/(τ² + σ²), the difference δ.
    """
    rng = np.random.default_rng(9)
    n, m, gap = 60, 3, 0.05
    unit = np.repeat(np.arange(n), m)
    signal, noise = 0.2**2 / 12 + 0.4**2 / 12, 0.2**2 / 12
    truths = [1 - (2 * noise + gap**2) / (2 * (signal + noise + gap**2 / 4)), signal / (signal + noise), gap]
    hits = np.zeros(3)
    for _ in range(2000):
        level = np.repeat(0.3 + 0.2 * rng.random(n), m) + 0.4 * rng.random(n * m)
        a, b = level + 0.2 * rng.random((2, n * m)) - 0.1
        found = rater_pair(a, b + gap, unit)
        each = (found.alpha, found.correlation, found.mean_difference)
        hits += [covers(one, truth) for one, truth in zip(each, truths, strict=True)]
    assert ((hits / 2000 > 0.93) & (hits / 2000 < 0.975)).all(), hits / 2000


@pytest.mark.slow
def test_alpha_of_three_raters_with_gaps_covers() -> None:
    """Three raters that each keep a balanced truth with probability r and flip it otherwise: α = (2r − 1)².

    Two of them are equal with r² + (1 − r)², and chance is a half. A fifth of the scores is missing.
    """
    rng = np.random.default_rng(10)
    n, m, right = 80, 2, 0.9
    hits = 0
    for _ in range(2000):
        truth = rng.random((n, m)) < rng.beta(2, 2, n)[:, None]
        scores = np.where(rng.random((n * m, 3)) < right, truth.reshape(-1, 1), ~truth.reshape(-1, 1)) * 1.0
        scores[rng.random(scores.shape) < 0.2] = np.nan
        hits += covers(alpha(scores, np.repeat(np.arange(n), m)), (2 * right - 1) ** 2)
    assert 0.93 < hits / 2000 < 0.97, hits / 2000


@pytest.mark.slow
def test_severity_covers_when_answers_come_in_samples() -> None:
    """Of three raters one turns a 1 into a 0 with probability s: it is below their mean by p·s·2/3.

    Whether it does so depends on the sample, so answers to one sample are alike.
    """
    rng = np.random.default_rng(11)
    n, m, p, s = 60, 5, 0.7, 0.3
    unit = np.repeat(np.arange(n), m)
    hits = 0
    for _ in range(2000):
        right = rng.random((n, m)) < p
        strict = (rng.random(n) < s)[:, None] & right
        scores = np.stack([right, right, right & ~strict], axis=-1).reshape(-1, 3) * 1.0
        found = mean_test(deviations(scores)[:, 2], unit)
        hits += found.low <= -p * s * 2 / 3 <= found.high
    assert 0.93 < hits / 2000 < 0.97, hits / 2000


@pytest.mark.parametrize("n", [2, 3, 8])
def test_no_interval_ends_below_verdicts_that_are_always_opposite(n: int) -> None:
    """Opposite verdicts on m answers, half of them right, have kappa −1 and alpha −1 + 1/m."""
    a = np.arange(2 * n) % 2.0
    opposite = rater_pair(a, 1 - a, np.arange(2 * n))
    assert opposite.kappa.value == pytest.approx(-1)
    assert opposite.alpha.value == pytest.approx(-1 + 1 / (2 * n))
    for other in (np.roll(a, 1) * (np.arange(2 * n) > 0), np.where(np.arange(2 * n) < n, a, 1 - a)):
        found = rater_pair(a, other, np.arange(2 * n) // 2)
        assert found.kappa.low >= -1 or np.isnan(found.kappa.low)
        assert found.alpha.low >= -1 or np.isnan(found.alpha.low)
