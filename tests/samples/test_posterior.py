"""Abilities and scores after some responses against a posterior summed on a fine grid."""

import numpy as np
import pytest

from camilla.errors import DataError, SettingError
from camilla.samples.bank import BankModel, Posterior, calibrate, gain, overall_share, placed, prior, score
from camilla.table.responses import ResponseTable


def model(n_samples: int = 60, seed: int = 1) -> BankModel:
    rng = np.random.default_rng(seed)
    a, c = rng.lognormal(0.2, 0.3, (n_samples, 1)), rng.normal(0, 1.2, n_samples)
    return BankModel(a, c, np.array([0.3]), np.array([[1.4]]), rng.normal(size=(5, 1)))


class Grid:
    """The posterior of one ability, point by point: prior × Π p^x (1 − p)^(1 − x)."""

    def __init__(self, one: BankModel, asked: np.ndarray, response: np.ndarray) -> None:
        self.theta = np.linspace(-9, 9, 4001)
        logit = one.loading * self.theta + one.intercept[:, None]
        self.p = 1 / (1 + np.exp(-logit))
        log = -0.5 * (self.theta - one.mean[0]) ** 2 / one.covariance[0, 0]
        log = log + response @ logit[asked] - np.logaddexp(0, logit[asked]).sum(axis=0)
        self.weight = np.exp(log - log.max())
        self.weight /= self.weight.sum()
        self.mode = self.theta[np.argmax(log)]
        self.mean = self.weight @ self.theta
        self.sd = np.sqrt(self.weight @ (self.theta - self.mean) ** 2)


@pytest.mark.parametrize("n", [10, 30, 60])
def test_ability_and_standard_error_are_those_of_the_grid(n: int) -> None:
    """The mode is the grid's mode to its spacing. Mode and mean of a posterior differ by its skewness: by up
    to a fifth of a standard deviation where a learner stands at the end of the samples, as at 1.5 here."""
    one = model()
    rng = np.random.default_rng(2)
    for theta in (-1.0, 0.5, 1.5):
        asked = rng.permutation(60)[:n]
        p = 1 / (1 + np.exp(-(one.loading[asked, 0] * theta + one.intercept[asked])))
        response = (rng.random(n) < p).astype(float)
        found = placed(one, prior(one, 1).at, asked[None], response[None])
        grid = Grid(one, asked, response)
        assert found.at[0, 0] == pytest.approx(grid.mode, abs=0.005)
        assert abs(found.at[0, 0] - grid.mean) < 0.2 * grid.sd
        assert np.sqrt(found.covariance[0, 0, 0]) == pytest.approx(grid.sd, rel=0.15)


def test_the_score_and_its_error_are_those_of_the_grid() -> None:
    """20 of 60 asked: E and Var of (Σ seen + Σ unseen x) / 60 over the grid, chance included. The normal
    posterior and the mean of a logistic by σ(m/√(1 + πv/8)) cost under .005; the error under a tenth."""
    one = model()
    rng = np.random.default_rng(3)
    asked = rng.permutation(60)[:20]
    response = (rng.random(20) < 0.6).astype(float)
    unseen = np.ones((1, 60), bool)
    unseen[0, asked] = False
    posterior = placed(one, prior(one, 1).at, asked[None], response[None])
    found = score(one, posterior, unseen, np.array([response.sum()]), np.array([60]))
    grid = Grid(one, asked, response)
    rest = grid.p[unseen[0]]
    total = rest.sum(axis=0)
    mean = grid.weight @ total
    variance = grid.weight @ (total - mean) ** 2 + grid.weight @ (rest * (1 - rest)).sum(axis=0)
    assert found.score[0] == pytest.approx((response.sum() + mean) / 60, abs=0.005)
    assert found.se[0] == pytest.approx(np.sqrt(variance) / 60, rel=0.1)


def test_the_gain_orders_samples_as_the_expected_drop_in_variance_does() -> None:
    """The drop by asking j: Var(t) − E over its response of Var(t | xⱼ), summed on the grid; the linear gain
    orders the 50 samples left nearly the same."""
    one = model()
    asked, response = np.arange(10), np.array([1, 0, 1, 1, 0, 1, 0, 1, 1, 1.0])
    unseen = np.ones((1, 60), bool)
    unseen[0, :10] = False
    posterior = placed(one, prior(one, 1).at, asked[None], response[None])
    found = gain(one, posterior, unseen)[0]
    grid = Grid(one, asked, response)
    drop = []
    for j in range(10, 60):
        after = 0.0
        for p in (grid.p[j], 1 - grid.p[j]):
            w = grid.weight * p
            w = w / w.sum()
            others = [k for k in range(10, 60) if k != j]
            t = grid.p[others].sum(axis=0)
            own = (grid.p[others] * (1 - grid.p[others])).sum(axis=0)
            after += (grid.weight @ p) * (w @ (t - w @ t) ** 2 + w @ own)
        drop.append(-after)
    assert (found[:10] == -1).all()
    assert np.corrcoef(np.argsort(np.argsort(found[10:])), np.argsort(np.argsort(drop)))[0, 1] > 0.97


def test_several_dimensions_end_where_the_gradient_is_zero() -> None:
    rng = np.random.default_rng(4)
    loading, intercept = rng.normal(0.5, 0.6, (40, 3)), rng.normal(size=40)
    one = BankModel(loading, intercept, np.zeros(3), np.eye(3), np.zeros((2, 3)))
    asked = np.array([rng.permutation(40)[:25] for _ in range(6)])
    response = (rng.random((6, 25)) < 0.5).astype(float)
    found = placed(one, prior(one, 6).at, asked, response)
    for at, covariance, who, x in zip(found.at, found.covariance, asked, response, strict=True):
        p = 1 / (1 + np.exp(-(loading[who] @ at + intercept[who])))
        np.testing.assert_allclose(loading[who].T @ (x - p) - at, 0, atol=1e-6)
        curve = loading[who].T @ (loading[who] * (p * (1 - p))[:, None]) + np.eye(3)
        np.testing.assert_allclose(covariance @ curve, np.eye(3), atol=1e-8)


def test_a_learner_with_extreme_responses_is_placed_at_a_maximum() -> None:
    """Steep samples and all-right or all-wrong responses, where an undamped Newton step runs to and fro."""
    one = model()._replace(loading=np.full((60, 1), 6.0))
    for answer in (0.0, 1.0):
        found = placed(one, prior(one, 1).at, np.arange(60)[None], np.full((1, 60), answer))
        grid = Grid(one, np.arange(60), np.full(60, answer))
        assert found.at[0, 0] == pytest.approx(grid.mode, abs=0.005)


def test_overall_ability_is_in_standard_deviations_of_the_pool() -> None:
    one = model()
    at = Posterior(np.array([[0.3 + 2 * np.sqrt(1.4)]]), np.array([[[1.4 / 4]]]))
    assert overall_share(one, at).score[0] == pytest.approx(2)
    assert overall_share(one, at).se[0] == pytest.approx(0.5)


def test_calibration_recovers_the_expected_responses() -> None:
    """2PL of 200 learners × 60: expectations within .08 of the truth on average (the prior's shrinkage and
    200 binary responses a sample leave a standard error of about .05)."""
    rng = np.random.default_rng(6)
    ability, a, b = rng.normal(size=200), rng.lognormal(0, 0.3, 60), rng.normal(size=60)
    truth = 1 / (1 + np.exp(-a * (ability[:, None] - b)))
    table = ResponseTable.from_matrix((rng.random(truth.shape) < truth).astype(float))
    assert np.abs(calibrate(table, dimensions=1).models[0].probabilities() - truth).mean() < 0.08


def test_what_cannot_be_calibrated_is_refused() -> None:
    table = ResponseTable.from_matrix([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    with pytest.raises(SettingError, match="5 dimensions from 3 learners"):
        calibrate(table, dimensions=5)
    with pytest.raises(DataError, match="one learner"):
        calibrate(ResponseTable.from_matrix([[0, 1]]))
