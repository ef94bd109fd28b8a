"""One level for all groups, against SciPy's minimiser and against the margins it must reproduce."""

import numpy as np
import pytest
from scipy.optimize import minimize

from camilla.statistics.profiles import additive_expectation, profile


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_the_expectation_is_the_maximum_of_raschs_likelihood(missing: float) -> None:
    """And it has the mean of every learner and every sample, one with all responses right among them."""
    rng = np.random.default_rng(3)
    p = 1 / (1 + np.exp(-(rng.normal(size=(8, 1)) - rng.normal(size=15))))
    x = (rng.random(p.shape) < p).astype(float)
    x[:, 0] = 1
    x[rng.random(x.shape) < missing] = np.nan
    seen = np.isfinite(x)
    found = additive_expectation(x)
    for axis in (0, 1):
        np.testing.assert_allclose(
            np.where(seen, found, 0).sum(axis=axis), np.nansum(x, axis=axis), atol=1e-5 * max(x.shape)
        )

    def loss(v: np.ndarray) -> float:
        logit = v[:8, None] - v[8:]
        return float(np.sum(np.where(seen, np.logaddexp(0, logit) - np.nan_to_num(x) * logit, 0)))

    best = minimize(loss, np.zeros(23), method="L-BFGS-B", bounds=[(-20, 20)] * 23, options={"ftol": 1e-14}).x
    wanted = 1 / (1 + np.exp(-(best[:8, None] - best[8:])))
    np.testing.assert_allclose(found[seen], wanted[seen], atol=2e-3)


def test_a_profile_is_means_and_the_binomials_error() -> None:
    matrix = np.array([[1.0, 0, 1, np.nan], [0, 0, 1, 1]])
    expected = np.array([[0.5, 0.2, 0.9, 0.4], [0.1, 0.3, 0.6, 0.8]])
    groups = np.array([[True, False], [True, False], [False, True], [False, True]])
    found = profile(matrix, expected, groups)
    np.testing.assert_allclose(found.observed, [[0.5, 1], [0, 1]])
    np.testing.assert_allclose(found.expected, [[0.35, 0.9], [0.2, 0.7]])
    wanted = [[np.sqrt(0.25 + 0.16) / 2, 0.3], [np.sqrt(0.09 + 0.21) / 2, np.sqrt(0.24 + 0.16) / 2]]
    np.testing.assert_allclose(found.se, wanted)
    assert found.n.tolist() == [[2, 1], [2, 2]]


def test_equal_profiles_are_rarely_called_uneven() -> None:
    """20 learners on 4 groups in 40 worlds with one level each: 5 % of z pass 1.96, under 7 % are allowed.

    Fitted means take some of the spread away, so that it may be less.
    """
    rng = np.random.default_rng(5)
    groups = np.eye(4, dtype=bool)[np.arange(80) % 4]
    far = []
    for _ in range(40):
        p = 1 / (1 + np.exp(-(rng.normal(size=(20, 1)) - rng.normal(size=80))))
        x = (rng.random(p.shape) < p).astype(float)
        found = profile(x, additive_expectation(x), groups)
        far.append(np.abs(found.difference / found.se) > 1.96)
    assert 0.01 < np.mean(far) < 0.07
