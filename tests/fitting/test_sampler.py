"""The Gibbs sampler: its draws against formulas, its posterior against one that is known otherwise."""

import numpy as np
import pytest
from scipy import integrate, stats

from camilla.fitting.device_chain import DeviceChain
from camilla.fitting.sampler import Chain, Responses, polya_gamma, polya_gamma_sum
from camilla.statistics.posterior import effective_draws


def pg_moments(b: float, z: float) -> tuple[float, float]:
    """Mean and variance of PG(b, z) (Polson, Scott and Windle 2013); their limits at 0."""
    if z == 0:
        return b / 4, b / 24
    mean = b / (2 * z) * np.tanh(z / 2)
    return mean, b / (4 * z**3) * (np.sinh(z) - z) / np.cosh(z / 2) ** 2


@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, -3.0, 8.0])
def test_polya_gamma_has_its_mean_and_variance(z: float) -> None:
    draws = polya_gamma(np.random.default_rng(0), np.full(400_000, z))
    mean, variance = pg_moments(1, abs(z))
    assert draws.mean() == pytest.approx(mean, rel=0.006)
    assert draws.var() == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize("z", [0.1, 2.0])
def test_polya_gamma_has_the_distribution_of_its_infinite_sum(z: float) -> None:
    """PG(1, z) = Σₖ gₖ / (2π²((k − ½)² + z²/4π²)) with gₖ exponential."""
    rng = np.random.default_rng(1)
    k = np.arange(1, 201)[:, None]
    exact = (
        rng.standard_exponential((200, 20_000)) / (2 * np.pi**2 * ((k - 0.5) ** 2 + (z / (2 * np.pi)) ** 2))
    ).sum(axis=0)
    ours = polya_gamma(rng, np.full(20_000, z))
    assert stats.ks_2samp(exact, ours).statistic < 0.02  # 1.63·√(2/20,000) = .016 at 1 %, plus the lost tail


@pytest.mark.parametrize("b", [0.4, 1.0, 2.5, 7.0])
def test_sums_of_any_number_have_their_mean_and_variance(b: float) -> None:
    draws = polya_gamma_sum(np.random.default_rng(2), np.full(200_000, b), np.full(200_000, 1.5))
    mean, variance = pg_moments(b, 1.5)
    assert draws.mean() == pytest.approx(mean, rel=0.01)
    assert draws.var() == pytest.approx(variance, rel=0.04)


def test_learners_given_samples_have_the_posterior_of_quadrature() -> None:
    """One learner, samples held: θ ~ N(0, 1) times Π σ(c + vθ)ˣ(1 − σ)¹⁻ˣ, integrated on a grid."""
    rng = np.random.default_rng(3)
    factor = np.column_stack([rng.normal(0, 1, 12), rng.uniform(0.5, 2, 12)])
    x = (rng.random((12, 1)) < 0.7).astype(float)

    def density(theta: float) -> float:
        logit = factor[:, 0] + factor[:, 1] * theta
        return float(np.exp(x[:, 0] @ logit - np.logaddexp(0, logit).sum() - theta**2 / 2))

    whole = integrate.quad(density, -8, 8)[0]
    mean = integrate.quad(lambda t: t * density(t), -8, 8)[0] / whole
    second = integrate.quad(lambda t: t**2 * density(t), -8, 8)[0] / whole
    chain = Chain(Responses(np.ones((12, 1)), x, False), 1, rng)
    draws = np.empty(12_000)
    for step in range(len(draws)):
        chain.factor = factor
        chain.draw_learners(chain.weights(chain.logit()))
        draws[step] = chain.ability[0, 0]
    assert draws.mean() == pytest.approx(mean, abs=0.03)
    assert draws.std() == pytest.approx(np.sqrt(second - mean**2), rel=0.04)


def test_missing_cells_say_nothing() -> None:
    """A learner without a response is drawn from its prior, N(0, 1)."""
    rng = np.random.default_rng(4)
    weight = np.ones((40, 6))
    weight[:, 5] = 0
    chain = Chain(Responses(weight, (rng.random((40, 6)) < 0.6).astype(float), False), 1, rng)
    draws = np.empty(3000)
    for step in range(len(draws)):
        chain.sweep()
        draws[step] = chain.ability[5, 0]
    assert abs(draws.mean()) < 0.06
    assert draws.std() == pytest.approx(1, rel=0.05)


def test_without_responses_everything_is_drawn_from_its_prior() -> None:
    """θ is N(0, 1) and Σθ² a chi-square; deviations are half-t: the median of |t₂| is √(2/3)."""
    rng = np.random.default_rng(9)
    chain = Chain(Responses(np.zeros((4, 3)), np.zeros((4, 3)), False), 2, rng)
    square, mean, deviation = [], [], []
    for _ in range(8_000):
        chain.sweep()
        square.append((chain.ability**2).sum(axis=0))
        mean.append(chain.ability.sum(axis=0))
        deviation.append(np.sqrt(np.diag(np.linalg.inv(chain.hyper.precision))))
    assert np.mean(square, axis=0) == pytest.approx([3, 3], rel=0.08)
    assert np.var(square, axis=0) == pytest.approx([6, 6], rel=0.2)
    assert np.var(mean, axis=0) == pytest.approx([3, 3], rel=0.08)
    half_t = np.array([2.0, 1.0, 0.3]) * np.sqrt(2 / 3)
    assert np.median(deviation, axis=0) == pytest.approx(half_t, rel=0.1)


def test_the_dispersion_of_fractional_responses_is_found() -> None:
    """Beta responses of mean p and sum of parameters 4 have the variance p(1 − p)/5."""
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-(rng.normal(0, 1, (200, 1)) + rng.normal(0, 1, (1, 30)))))
    chain = Chain(Responses(np.ones(p.shape), rng.beta(4 * p, 4 * (1 - p)), True), 2, rng)
    for _ in range(60):
        chain.sweep()
    assert chain.dispersion == pytest.approx(0.2, rel=0.1)


DRAWS = 500


@pytest.mark.parametrize("kind", ["missing", "fractional", pytest.param("trials", marks=pytest.mark.slow)])
def test_the_chain_of_an_accelerator_draws_from_the_same_posterior(kind: str) -> None:
    """Means and spreads of scores and chances, beside those of the chain in NumPy, over long runs."""
    rng = np.random.default_rng(6)
    p = 1 / (1 + np.exp(-(rng.normal(0, 1, (60, 1)) + rng.normal(0, 1, (1, 12)))))
    weight = np.full(p.shape, 3.0) if kind == "trials" else np.ones(p.shape)
    if kind == "missing":
        weight = (rng.random(p.shape) < 0.7).astype(float)
    response = rng.beta(4 * p, 4 * (1 - p)) if kind == "fractional" else (rng.random(p.shape) < p) * 1.0
    if kind == "trials":
        response = rng.binomial(3, p) / 3
    data = Responses(weight, response, kind == "fractional")
    found = []
    for chain in (Chain(data, 3, np.random.default_rng(1)), DeviceChain(data, 3, np.random.default_rng(2))):
        for _ in range(100):
            chain.sweep()
        scores = []
        for _ in range(DRAWS):
            chain.sweep()
            scores.append(chain.tally())
        found.append((np.array(scores), chain.sums().chance / DRAWS, chain.dispersion))
    (one, chance, spread), (other, its_chance, its_spread) = found
    se = np.sqrt(one.var(axis=0) / effective_draws(one) + other.var(axis=0) / effective_draws(other))
    assert np.abs((one.mean(axis=0) - other.mean(axis=0)) / se).max() < 4.5
    assert one.std(axis=0) == pytest.approx(other.std(axis=0), rel=0.25)
    assert np.abs(chance - its_chance).mean() < 0.025
    assert spread == pytest.approx(its_spread, rel=0.15)


def test_the_conditional_of_an_accelerator_is_what_its_samples_are_drawn_from() -> None:
    """root root' is the inverse of the information: mean and covariance of many draws of one sample."""
    rng = np.random.default_rng(7)
    data = Responses(np.ones((5, 30)), (rng.random((5, 30)) < 0.6) * 1.0, False)
    chain = DeviceChain(data, 2, rng)
    for _ in range(20):
        chain.sweep()
    means, draws, covariances = [], [], []
    for _ in range(800):
        conditional = chain.sweep(keep_conditional=True)
        assert conditional is not None
        means.append(conditional.mean)
        covariances.append(conditional.root @ conditional.root.swapaxes(1, 2))
        draws.append(chain.factor)
    away = np.array(draws) - np.array(means)
    scaled = np.einsum("djk,djk->dj", away, np.linalg.solve(np.array(covariances), away[..., None])[..., 0])
    assert scaled.mean() == pytest.approx(3, rel=0.06)  # a chi-square of three numbers
    assert (
        np.abs(away.mean(axis=0) / np.sqrt(np.array(covariances).mean(axis=0).diagonal(0, 1, 2))).max() < 0.15
    )
