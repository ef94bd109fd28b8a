"""Regressions inside the Gibbs sampler, against closed forms and against their prior."""

import numpy as np
import pytest

from camilla.fitting.regression import Expansion, Kernel, Regression
from camilla.fitting.sampler import Chain, Design, Designs, Responses


def test_weights_have_the_posterior_of_a_multivariate_regression() -> None:
    """vec W is normal with precision Q ⊗ Z'Z + D⁻¹ and linear term vec(Z'FQ); 4,000 draws."""
    rng = np.random.default_rng(0)
    design = rng.normal(size=(30, 3))
    design -= design.mean(axis=0)
    target = rng.normal(size=(30, 2))
    precision = np.array([[2.0, 0.8], [0.8, 1.0]])
    variance = np.array([[0.5, 0.1], [0.05, 1.0]])
    block = np.array([0, 0, 1])
    wanted = np.kron(precision, design.T @ design) + np.diag(1 / variance[block].T.ravel())
    covariance = np.linalg.inv(wanted)
    mean = covariance @ (design.T @ target @ precision).T.ravel()
    regression = Regression(design, block, np.ones(2))
    draws = np.empty((4000, 6))
    for step in range(len(draws)):
        regression.variance = variance.copy()
        regression.draw(rng, target, precision)
        draws[step] = regression.weight.T.ravel()
    assert np.abs(draws.mean(axis=0) - mean).max() < 5 * np.sqrt(covariance.diagonal().max() / 2000)
    assert np.cov(draws.T) == pytest.approx(covariance, abs=0.1 * covariance.max())
    assert regression.mean == pytest.approx(design @ regression.weight)


def test_without_responses_regressions_are_drawn_from_their_prior() -> None:
    """The median of a half-Cauchy deviation is its scale, and residuals of three abilities a chi-square."""
    rng = np.random.default_rng(1)
    of_samples = Design(np.array([[0.3], [-0.1], [0.2], [-0.4]]), np.array([0]))
    of_learners = Design(np.array([[0.4], [-0.3], [-0.1]]), np.array([0]))
    data = Responses(np.zeros((4, 3)), np.zeros((4, 3)), False)
    chain = Chain(data, 2, rng, Designs(of_samples, of_learners))
    square, of_factors, of_abilities, deviation = [], [], [], []
    for _ in range(10_000):
        chain.sweep()
        samples, learners = chain.regressions
        assert samples is not None
        assert learners is not None
        square.append(((chain.ability - learners.mean) ** 2).sum(axis=0))
        of_factors.append(np.sqrt(samples.variance[0]))
        of_abilities.append(np.sqrt(learners.variance[0]))
        deviation.append(np.sqrt(np.diag(np.linalg.inv(chain.hyper.precision))))
    assert np.mean(square, axis=0) == pytest.approx([3, 3], rel=0.08)
    assert np.median(of_factors, axis=0) == pytest.approx([2.0, 1.0, 0.3], rel=0.15)
    assert np.median(of_abilities, axis=0) == pytest.approx([1.0, 1.0], rel=0.15)
    assert np.median(deviation, axis=0) == pytest.approx(np.array([2.0, 1.0, 0.3]) * np.sqrt(2 / 3), rel=0.12)


def test_weights_of_a_simulated_world_are_recovered() -> None:
    """Difficulty has the slopes 1.2 and 0; the posterior's 95 % interval of each holds it, one dimension."""
    rng = np.random.default_rng(2)
    feature = rng.normal(size=(150, 2))
    feature -= feature.mean(axis=0)
    level = 1.2 * feature[:, 0] + rng.normal(0, 0.6, 150)
    chance = 1 / (1 + np.exp(-(level[:, None] + rng.normal(0, 1, 60))))
    data = Responses(np.ones(chance.shape), (rng.random(chance.shape) < chance) * 1.0, False)
    chain = Chain(data, 1, rng, Designs(Design(feature, np.array([0, 1]))))
    draws = []
    for step in range(400):
        chain.sweep()
        assert chain.regressions.samples is not None
        if step >= 100:
            draws.append(chain.regressions.samples.weight[:, 0].copy())
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert low[0] < 1.2 < high[0]
    assert low[1] < 0 < high[1]
    assert high[0] - low[0] < 0.5


def test_a_kernel_expansion_with_all_landmarks_is_its_kernel() -> None:
    """Inner products of the uncentred features are exp(−d/ℓ); centred, they have total variance 1."""
    rows = np.random.default_rng(3).normal(size=(40, 2))
    kernel = Kernel.fit(rows, 1.5)
    assert kernel is not None
    plain = kernel.of(rows) + kernel.centre
    distance = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    wanted = np.exp(-distance / 1.5)
    away = wanted - wanted.mean(axis=0)
    away -= away.mean(axis=1, keepdims=True)
    centred = plain - plain.mean(axis=0)
    assert centred @ centred.T / (centred**2).sum() == pytest.approx(away / np.trace(away), abs=1e-4)
    assert (centred**2).sum() / 40 == pytest.approx(1)


def test_an_expansion_comes_back_from_its_arrays() -> None:
    rows = np.random.default_rng(4).normal(size=(20, 3))
    expansion = Expansion.fit(rows, np.array([0, 0, 1]))
    again = Expansion.restored(expansion.arrays())
    assert np.array_equal(again.of(rows), expansion.of(rows))
    assert np.array_equal(again.block, expansion.block)
