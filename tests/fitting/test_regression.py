"""Regressions inside the Gibbs sampler, against closed forms and against their prior."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, ttest_rel

from camilla.fitting.layout import Encoded
from camilla.fitting.regression import Expansion, Kernel, Regression
from camilla.fitting.sampler import Chain, Design, Designs, Responses
from camilla.fitting.smoothing import learned_share, mean_chance, mean_share, smoothed, smoothing


@pytest.mark.parametrize("n_orthogonal", [0, 2])
def test_weights_have_the_posterior_of_a_multivariate_regression(n_orthogonal: int) -> None:
    """vec W is normal with precision Q ⊗ Z'Z + D⁻¹ and linear term vec(Z'FQ); 4,000 draws."""
    rng = np.random.default_rng(0)
    design = rng.normal(size=(30, 3))
    design -= design.mean(axis=0)
    if n_orthogonal:
        design[:, 1:] = np.linalg.svd(design[:, 1:], full_matrices=False)[0] * [5.0, 3.0]
    target = rng.normal(size=(30, 2))
    precision = np.array([[2.0, 0.8], [0.8, 1.0]])
    variance = np.array([[0.5, 0.1], [0.05, 1.0]])
    block = np.array([0, 0, 1])
    wanted = np.kron(precision, design.T @ design) + np.diag(1 / variance[block].T.ravel())
    covariance = np.linalg.inv(wanted)
    mean = covariance @ (design.T @ target @ precision).T.ravel()
    regression = Regression(design, block, np.ones(2), n_orthogonal)
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
        samples, learners, _ = chain.regressions
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


def test_a_kernel_knows_what_its_columns_leave() -> None:
    """k(x, x) − k(x, Z) K⁻¹ k(Z, x) over the centred trace, and nothing at the rows it was fitted to."""
    rng = np.random.default_rng(5)
    rows, new = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    kernel = Kernel.fit(rows, 1.5)
    assert kernel is not None

    def plain(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.exp(-np.sqrt(((one[:, None] - other[None]) ** 2).sum(axis=2)) / 1.5)

    across, whole = plain(new, rows), plain(rows, rows)
    left = 1 - np.einsum("ij,ji->i", across, np.linalg.solve(whole, across.T))
    away = whole - whole.mean(axis=0)
    total = (away - away.mean(axis=1, keepdims=True)).trace() / len(rows)
    assert kernel.left(new) == pytest.approx(left / total, rel=0.02, abs=0.02)
    assert kernel.left(rows) == pytest.approx(0, abs=0.02)


def test_smoothed_chances_are_ridge_regression_with_the_best_left_out_error() -> None:
    """Penalty by refitting without each row, weights by normal equations."""
    rng = np.random.default_rng(6)
    columns = np.linalg.svd(rng.normal(size=(40, 6)) - 0.0, full_matrices=False)[0] * 6
    columns -= columns.mean(axis=0)
    columns = np.linalg.svd(columns, full_matrices=False)[0] * [6.0, 5, 4, 3, 2, 1]
    chance = 0.5 + 0.05 * columns @ rng.normal(size=(6, 3)) + 0.1 * rng.normal(size=(40, 3))

    def fit(rows: np.ndarray, penalty: float) -> np.ndarray:
        x, y = columns[rows], chance[rows]
        centre = x.mean(axis=0)
        weight = np.linalg.solve((x - centre).T @ (x - centre) + penalty * np.eye(6), (x - centre).T @ y)
        return np.vstack([y.mean(axis=0) - centre @ weight, weight])

    def error(penalty: float) -> float:
        left = [fit(np.delete(np.arange(40), j), penalty) for j in range(40)]
        return float(np.mean([(chance[j] - w[0] - columns[j] @ w[1:]) ** 2 for j, w in enumerate(left)]))

    wanted = fit(np.arange(40), min(np.logspace(-2, 5, 15), key=error))
    found = smoothing(columns, chance)
    assert found == pytest.approx(wanted, abs=1e-9)
    inside = np.clip(found[0] + columns @ found[1:], 0.002, 0.998)
    assert smoothed(found, columns) == pytest.approx(inside)


def test_the_mean_chance_of_a_normal_logit_is_its_integral() -> None:
    """SciPy's quadrature; seven nodes err by less than .001 up to a deviation of two logits."""
    for middle, deviation in ((0.0, 1.0), (-2.0, 0.5), (1.5, 2.0), (3.0, 1.5), (-0.7, 0.0)):

        def weighted(z: float, middle: float = middle, deviation: float = deviation) -> float:
            return float(norm.pdf(z) / (1 + np.exp(-(middle + deviation * z))))

        found = mean_chance(np.array([[middle]]), np.array([[deviation]]))
        assert found.item() == pytest.approx(quad(weighted, -12, 12)[0], abs=1e-3)


def test_smoothed_chances_count_only_where_the_regression_of_logits_is_wrong() -> None:
    """Not in a linear world; but in one of signs, sines, heavy tails and slopes of its own per sample."""
    shares = []
    for linear in (True, False):
        rng = np.random.default_rng(1002)
        x, ability = rng.normal(size=(160, 4)), rng.normal(size=40)
        level, slope = x @ [1.0, 0.5, 0, 0] + 0.7 * rng.normal(size=160), np.ones(160)
        if not linear:
            level = 1.5 * np.sin(2 * x[:, 0]) + np.sign(x[:, 1]) * np.abs(rng.normal(size=160))
            level += 0.5 * rng.standard_t(2, size=160)
            slope = np.exp(0.4 * rng.normal(size=160))
        chance = 1 / (1 + np.exp(-(np.outer(slope, ability) + level[:, None])))
        data = Responses(np.ones(chance.shape), (rng.random(chance.shape) < chance) * 1.0, False)
        features = Encoded((x - x.mean(axis=0)) / x.std(axis=0), np.zeros(4, np.intp))
        shares.append(learned_share(data, features, 2, np.random.default_rng(0)))
    assert shares[0] <= 0.15
    assert shares[1] >= 0.2


def test_the_share_is_a_mean_over_those_that_held_out_samples_cannot_tell_apart() -> None:
    """t is that of SciPy's paired test; shares of equal losses count alike."""
    rng = np.random.default_rng(4)
    shares = np.linspace(0, 0.8, 17)
    losses = (shares[:, None] - 0.3) ** 2 + 0.05 * shares[:, None] * rng.normal(size=(17, 50))
    best = losses.sum(axis=1).argmin()
    t = np.array([0 if k == best else ttest_rel(row, losses[best]).statistic for k, row in enumerate(losses)])
    density = norm.pdf(t)
    assert mean_share(losses) == pytest.approx((shares * density).sum() / density.sum(), rel=1e-9)
    assert mean_share(np.ones((17, 50))) == pytest.approx(0.4)


def test_rows_that_are_all_alike_have_no_kernel() -> None:
    """As where the only sample with another value is held out: nothing is smoothed, and nothing is NaN."""
    rng = np.random.default_rng(7)
    rows = np.full((30, 2), 0.3)
    assert Expansion.fit(rows, np.array([0, 0])).kernels == ()
    rows[0] = -8.7
    chance = 1 / (1 + np.exp(-rng.normal(size=(30, 12))))
    data = Responses(np.ones(chance.shape), (rng.random(chance.shape) < chance) * 1.0, False)
    assert learned_share(data, Encoded(rows, np.zeros(2, np.intp)), 2, np.random.default_rng(0)) == 0
