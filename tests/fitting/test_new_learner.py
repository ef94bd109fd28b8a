"""New learners, with the samples integrated over their posterior."""

import numpy as np
import pytest
from scipy import stats

from camilla.arrays import sigmoid
from camilla.fitting.new_learner import Frame, frames_of, placed_chances

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def frame(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Means [samples, 2] and roots [samples, 2, 2] of samples that are known badly, with one dimension."""
    mean = np.stack([rng.normal(size=n), 1 + 0.3 * rng.normal(size=n)], axis=1)
    root = np.triu(0.6 * rng.normal(size=(n, 2, 2)))
    return mean, root


def exact(mean: np.ndarray, root: np.ndarray, trials: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of the expected score, by quadrature over θ and each sample's logit."""
    theta = np.linspace(-6, 6, 601)
    t = np.stack([np.ones_like(theta), theta], axis=1)
    middle = t @ mean.T  # [θ, samples]
    sd = np.sqrt((np.einsum("tk,jkl->tjl", t, root) ** 2).sum(axis=2))
    logit = middle[..., None] + sd[..., None] * NODES
    p = sigmoid(logit)
    likelihood = p ** right[:, None] * (1 - p) ** (trials - right)[:, None] * WEIGHTS
    evidence = likelihood.sum(axis=2)
    chance = (likelihood * p).sum(axis=2) / evidence
    square = (likelihood * p**2).sum(axis=2) / evidence
    weight = stats.norm.pdf(theta) * evidence.prod(axis=1)
    weight /= weight.sum()
    given, within = chance.mean(axis=1), (square - chance**2).sum(axis=1) / len(mean) ** 2
    score = float(weight @ given)
    return score, float(np.sqrt(weight @ ((given - score) ** 2 + within)))


def drawn(
    mean: np.ndarray, root: np.ndarray, weight: np.ndarray, share: np.ndarray,
    *, n_draws: int, dispersion: float = 1.0,
) -> np.ndarray:  # fmt: skip
    """Draws under one frame."""
    packed = root[None][:, :, *np.triu_indices(root.shape[1])]
    frames = frames_of(mean[None], packed)
    rng = np.random.default_rng(1)
    return next(placed_chances(rng, frames, weight, share, dispersion=dispersion, n_draws=n_draws))


@pytest.mark.parametrize(
    ("n", "answered", "trials"), [(4, 4, 1), (40, 40, 1), (40, 6, 1), (12, 12, 7), (30, 30, 0.4)]
)
def test_a_new_learner_has_the_posterior_of_quadrature(n: int, answered: int, trials: float) -> None:
    """4,000 draws: their mean is off by .016 standard deviations, their spread by 1.1 %; five times that."""
    rng = np.random.default_rng(n + answered)
    mean, root = frame(rng, n)
    weight = np.where(np.arange(n) < answered, trials, 0.0)
    share = np.round(rng.random(n) * max(trials, 1)) / max(trials, 1)
    draws = drawn(mean, root, weight, share, n_draws=4000)
    assert draws.shape == (4000, n)
    score = draws.mean(axis=1, dtype=np.float64)
    wanted, spread = exact(mean, root, weight, weight * share)
    assert abs(score.mean() - wanted) < 0.08 * spread
    assert score.std() == pytest.approx(spread, rel=0.055)


def test_dispersion_divides_what_each_response_says() -> None:
    rng = np.random.default_rng(3)
    mean, root = frame(rng, 20)
    share = rng.random(20)
    one = drawn(mean, root, np.full(20, 1.0), share, n_draws=50, dispersion=0.25)
    other = drawn(mean, root, np.full(20, 4.0), share, n_draws=50)
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_responses_that_are_all_right_still_have_a_posterior() -> None:
    mean, root = frame(np.random.default_rng(4), 200)
    everything = np.ones(200)
    with np.errstate(all="raise", under="ignore"):
        draws = drawn(20 * mean, root, everything, everything, n_draws=300)
    assert np.isfinite(draws).all()
    assert draws.mean() > 0.8


def test_variances_of_logits_are_those_of_the_roots() -> None:
    rng = np.random.default_rng(2)
    mean, root = rng.normal(size=(7, 4)), np.triu(rng.normal(size=(7, 4, 4)))
    t = rng.normal(size=(3, 4)).astype(np.float32)
    one: Frame = next(frames_of(mean[None], root[None][:, :, *np.triu_indices(4)]))
    wanted = np.einsum("dk,jkl,jml,dm->dj", t, root, root, t)
    np.testing.assert_allclose(one.variance(t), wanted, rtol=1e-4)
    some = np.array([5, 1])
    np.testing.assert_allclose(one.of(some).variance(t), wanted[:, some], rtol=1e-4)
