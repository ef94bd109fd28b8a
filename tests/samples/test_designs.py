"""Weights against regression, greedy choice against trying everything."""

import numpy as np
import pytest

from camilla.samples.designs import (
    Moments,
    explained,
    greedy,
    model_moments,
    principal_moments,
    spread_out,
    weights,
)


def moments(n_samples: int = 12, seed: int = 1) -> Moments:
    rng = np.random.default_rng(seed)
    return Moments(
        rng.uniform(0.2, 0.8, n_samples),
        rng.normal(0, 0.2, (n_samples, 2)),
        rng.uniform(0.02, 0.1, n_samples),
    )


def drawn(known: Moments, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z, e = rng.normal(size=(n, known.factors.shape[1])), rng.normal(size=(n, len(known.mean)))
    return known.mean + z @ known.factors.T + e * np.sqrt(known.noise)


def test_weights_are_those_of_a_regression_on_many_learners() -> None:
    """Least squares on 400,000 draws: coefficients good to about .002, the intercept likewise."""
    known, chosen = moments(), np.array([7, 2, 9])
    x = drawn(known, 400_000, seed=2)
    outside, *_ = np.linalg.lstsq(
        np.column_stack([np.ones(len(x)), x[:, chosen]]), x.mean(axis=1), rcond=None
    )
    found = weights(known, chosen)
    np.testing.assert_allclose([found.intercept, *found.weight], outside, atol=0.006)
    left = np.var(x.mean(axis=1) - found.intercept - x[:, chosen] @ found.weight)
    assert np.var(x.mean(axis=1)) - left == pytest.approx(explained(known, chosen), rel=0.02)


def test_every_greedy_step_is_the_best_single_addition() -> None:
    known = moments()
    found = greedy(known, 5)
    for k in range(5):
        rest = [j for j in range(12) if j not in found[:k]]
        best = max(rest, key=lambda j: explained(known, np.append(found[:k], j)))
        assert found[k] == best


def test_a_shorter_choice_is_the_start_of_a_longer_one() -> None:
    known = moments(40)
    assert greedy(known, 20)[:7].tolist() == greedy(known, 7).tolist()
    assert len(set(greedy(known, 20))) == 20


def test_stratified_subsets_have_every_task_in_its_share() -> None:
    """60, 30 and 10 samples of three tasks: 20 of 100 are 12, 6 and 2, up to one by the start."""
    task = np.repeat([0, 1, 2], [60, 30, 10])
    rng = np.random.default_rng(3)
    for _ in range(20):
        chosen = spread_out(rng.random(100), task, 20, rng)
        assert len(set(chosen)) == 20
        assert np.abs(np.bincount(task[chosen], minlength=3) - [12, 6, 2]).max() <= 1


def test_principal_moments_give_back_the_covariance_of_the_responses() -> None:
    """With as many factors as samples F F' + noise is NumPy's covariance, but for the noise that is added."""
    x = drawn(moments(6), 500, seed=4)
    found = principal_moments(x, 6)
    covariance = found.factors @ found.factors.T + np.diag(found.noise)
    np.testing.assert_allclose(covariance, np.cov(x.T) + 0.25 / 500 * np.eye(6), atol=1e-12)
    np.testing.assert_allclose(found.mean, x.mean(axis=0))


def test_a_sample_without_a_response_is_known_by_the_others_alone() -> None:
    """Sample 3 of 6 unanswered: the others' moments as without it, and for it their means. An estimate then
    moves by its share of the mean: 1/6 of what is expected there."""
    x = drawn(moments(6), 500, seed=4)
    rest = np.delete(x, 3, axis=1)
    x[:, 3] = np.nan
    found, without = principal_moments(x, 5), principal_moments(rest, 5)
    others = np.delete(np.arange(6), 3)
    np.testing.assert_allclose(found.mean[others], without.mean)
    np.testing.assert_allclose(
        (found.factors @ found.factors.T)[np.ix_(others, others)], without.factors @ without.factors.T
    )
    np.testing.assert_allclose(found.noise[others], without.noise)
    np.testing.assert_allclose(found.factors[3], 0, atol=1e-12)
    assert found.mean[3] == pytest.approx(rest.mean())
    assert found.noise[3] == pytest.approx(rest.var(axis=0, ddof=1).mean() + 0.25 / 500)
    by = weights(found, np.array([0, 1, 2, 4, 5]))
    np.testing.assert_allclose(by.weight, 1 / 6, atol=0.002)
    assert by.intercept == pytest.approx(rest.mean() / 6, abs=0.005)


def test_model_moments_have_the_model_s_covariance_and_a_factor_for_a_task_that_moves_together() -> None:
    """Expectations are shared; noise is p(1 − p); samples 0 to 29 share an effect of variance .04 besides."""
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-(rng.normal(size=(800, 1)) - rng.normal(0, 0.5, 60))))
    effect = 0.2 * rng.normal(size=(800, 1)) * (np.arange(60) < 30)
    x = (rng.random(p.shape) < np.clip(p + effect, 0, 1)).astype(float)
    found = model_moments(x, p, np.repeat([0, 1], 30))
    task_columns = [k for k in range(found.factors.shape[1]) if (found.factors[30:, k] == 0).all()]
    assert len(task_columns) == 1
    assert found.factors[0, task_columns[0]] == pytest.approx(0.2, abs=0.04)
    np.testing.assert_allclose(found.noise, (p * (1 - p)).mean(axis=0), rtol=0.1)


def test_of_two_samples_worth_the_same_the_first_is_chosen() -> None:
    """The second is better in its last bits only, as a sum may be on another CPU."""
    known = moments()
    twice = Moments(*(np.concatenate([part, part * (1 + 1e-12)]) for part in known))
    chosen = greedy(twice, 8).tolist()
    assert all(j < 12 or j - 12 in chosen[:place] for place, j in enumerate(chosen))


def test_last_bits_of_difficulties_move_no_stratified_choice() -> None:
    """Ten samples each of five difficulties: the order of equals is drawn, and not made by rounding."""
    difficulty = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 10)
    noisy = difficulty * (1 + 1e-13 * np.random.default_rng(1).normal(size=50))
    first, again = (spread_out(one, None, 12, np.random.default_rng(2)) for one in (difficulty, noisy))
    np.testing.assert_array_equal(first, again)
