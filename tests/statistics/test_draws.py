"""What draws say, against formulas and enumeration."""

import numpy as np
import pytest

from camilla.statistics.posterior import (
    chance_better,
    effective_draws,
    estimates,
    random_shares,
    ranks,
    shared_spread,
    simultaneous_half_width,
)
from camilla.statistics.standing import standing_by_draws


def test_an_interval_is_the_normal_one_on_the_logit() -> None:
    rng = np.random.default_rng(0)
    logit = rng.normal(1.0, 0.3, (4000, 1))
    found = estimates(1 / (1 + np.exp(-logit)))
    assert found.low[0] == pytest.approx(1 / (1 + np.exp(-(1 - 1.96 * 0.3))), abs=0.01)
    assert found.high[0] == pytest.approx(1 / (1 + np.exp(-(1 + 1.96 * 0.3))), abs=0.01)


def test_few_draws_widen_it() -> None:
    rng = np.random.default_rng(1)
    chain = np.zeros(400)
    for t in range(1, 400):  # autoregressive, .95: (1 − .95)/(1 + .95) of the draws count
        chain[t] = 0.95 * chain[t - 1] + rng.normal(0, np.sqrt(1 - 0.95**2))
    assert effective_draws(chain[:, None])[0] < 40
    assert effective_draws(rng.normal(size=(400, 1)))[0] > 250
    draws = 1 / (1 + np.exp(-chain[:, None]))
    found = estimates(draws)
    assert np.log(found.high / (1 - found.high))[0] - chain.mean() > 1.96 * chain.std() * 1.02


def test_ranks_and_the_best_by_enumeration() -> None:
    draws = np.array([[0.9, 0.5, 0.1], [0.6, 0.7, 0.1], [0.8, 0.8, 0.2], [0.9, 0.2, 0.3]])
    found = ranks(draws)
    assert found.best.tolist() == [(1 + 0 + 0.5 + 1) / 4, (0 + 1 + 0.5 + 0) / 4, 0]
    assert found.low.tolist() == [1, 1, 2]
    assert found.high.tolist() == [2, 3, 3]
    assert chance_better(draws, 0, 1) == (1 + 0 + 0.5 + 1) / 4


def test_draws_tell_apart_what_their_differences_do() -> None:
    """Differences of .005 and more than .29, their errors .014: the first two are tied."""
    rng = np.random.default_rng(2)
    draws = np.array([0.9, 0.895, 0.6, 0.2]) + 0.01 * rng.normal(size=(500, 4))
    found = standing_by_draws(draws, np.arange(4))
    assert (found.ties, found.with_first, found.first_is_sure) == ([(0, 1)], (0, 1), False)
    assert (found.rank_low.tolist(), found.rank_high.tolist()) == ([1, 1, 3, 4], [2, 2, 3, 4])


def test_what_draws_share_does_not_tie() -> None:
    """A common shift of .2 leaves a difference of .05 with an error of .0014 as sure as it is."""
    rng = np.random.default_rng(3)
    draws = np.array([0.55, 0.5]) + 0.2 * rng.normal(size=(500, 1)) + 0.001 * rng.normal(size=(500, 2))
    assert standing_by_draws(draws, np.arange(2)).first_is_sure


def test_equal_draws_of_many_are_rarely_told_apart() -> None:
    """Twenty equal learners in 200 worlds, whose means err as their draws spread: 5 % of worlds promised,
    two standard errors of 1.5 points allowed."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(200):
        mean = -np.sort(-rng.normal(0, 0.03, 20))
        wrong += bool(
            (standing_by_draws(mean + rng.normal(0, 0.03, (300, 20)), np.arange(20)).rank_low > 1).any()
        )
    assert wrong / 200 <= 0.05 + 2 * 0.015


def test_copies_share_what_their_draws_say() -> None:
    rng = np.random.default_rng(5)
    draws = np.array([0.7, 0.7, 0.68]) + 0.03 * rng.normal(size=(4000, 3))
    found = standing_by_draws(draws, np.array([0, 0, 2]))
    assert found.p_best is not None
    assert found.p_best[0] == found.p_best[1]
    assert (0, 1) in [places[:2] for places in found.ties]


def test_simultaneous_intervals_hold_all_at_once() -> None:
    """Of ten independent normals all lie within z with Φ: (2Φ(z) − 1)¹⁰ = .95 at z = 2.80."""
    draws = np.random.default_rng(3).normal(size=(40_000, 10))
    assert simultaneous_half_width(draws) == pytest.approx(2.80, abs=0.04)


@pytest.mark.parametrize("n_groups", [8, 30, 500])
def test_random_shares_spread_a_mean_as_students_interval_does(n_groups: int) -> None:
    """s²/n times (t/z)² for independent groups."""
    from scipy import stats

    values = np.random.default_rng(4).normal(size=n_groups)
    shares = random_shares(60_000, np.arange(n_groups))
    spread = (shares @ values).std()
    student = (
        values.std(ddof=1) / np.sqrt(n_groups) * stats.t.ppf(0.975, n_groups - 1) / stats.norm.ppf(0.975)
    )
    assert spread == pytest.approx(student, rel=0.03)


def test_samples_of_a_cluster_share_their_fate() -> None:
    shares = random_shares(50, np.array([0, 0, 1, 1, 1]))
    assert np.allclose(shares[:, 0], shares[:, 1])
    assert np.allclose(shares.sum(axis=1), 1)


def test_what_residuals_of_a_group_share_is_found() -> None:
    """uᵢ꜀ + eᵢⱼ with variances .04 and .25: the mean product of two residuals of a group is .04."""
    rng = np.random.default_rng(8)
    learner, sample = (part.ravel() for part in np.indices((40, 600)))
    group = sample // 6
    shared = 0.2 * rng.standard_normal((40, 100))[learner, group]
    residual = shared + 0.5 * rng.standard_normal(len(sample))
    assert shared_spread(residual, learner, group) == pytest.approx(0.04, rel=0.1)
    assert shared_spread(residual, learner, sample) == 0.0
    alone = residual - shared
    assert shared_spread(alone, learner, group) < 0.002
