"""Laplace covariances against a Hessian built cell by cell."""

import numpy as np

from camilla.fitting import bilinear, laplace
from camilla.fitting.factors import Factors
from camilla.fitting.layout import DenseLayout, Size
from camilla.models.irt import IRT


def fitted_world() -> tuple[IRT, DenseLayout, Factors]:
    rng = np.random.default_rng(0)
    theta, b, a = rng.normal(size=12), rng.normal(size=30), np.exp(rng.normal(0, 0.3, 30))
    x = (rng.random((30, 12)) < 1 / (1 + np.exp(-a[:, None] * (theta - b[:, None])))).astype(float)
    layout = DenseLayout(np.ones((30, 12)), x)
    diagnoser = IRT(Size(12, 30), precision=3.0)
    solution = bilinear.solve(diagnoser, layout, rng, lambda line: None)
    assert solution.converged
    return diagnoser, layout, solution.params


def test_learner_standard_errors_are_those_of_the_whole_information_matrix() -> None:
    """The Schur complement must equal inverting everything at once: 12 abilities, 30 slopes, 30 intercepts.

    The package takes Cov(a) off a² in the learners' block, so the same is done here; then abilities are
    standardised, by hand.
    """
    diagnoser, layout, params = fitted_world()
    theta, a, c = params.ability[:, 0], params.loading[:, 0], params.intercept
    p = 1 / (1 + np.exp(-(np.outer(a, theta) + c[:, None])))
    v = p * (1 - p)
    n, m = 12, 30
    whole = np.zeros((n + 2 * m, n + 2 * m))
    for j in range(m):
        block = np.array([[np.sum(v[j] * theta**2) + 3.0, np.sum(v[j] * theta)],
                          [np.sum(v[j] * theta), np.sum(v[j]) + 0.2]])  # fmt: skip
        where = np.ix_([n + j, n + m + j], [n + j, n + m + j])
        whole[where] = block
        variance_of_slope = np.linalg.inv(block)[0, 0]
        for i in range(n):
            whole[i, i] += v[j, i] * (a[j] ** 2 - variance_of_slope)
            whole[i, n + j] = whole[n + j, i] = v[j, i] * a[j] * theta[i]
            whole[i, n + m + j] = whole[n + m + j, i] = v[j, i] * a[j]
    z = (theta - theta.mean()) / theta.std()
    prior = 1 / params.pool[1, 0] ** 2  # the fit's N(0, 1), stretched to the pool
    plain = np.array([np.sum(v[:, i] * a**2) + prior for i in range(n)])
    whole[np.arange(n), np.arange(n)] += prior
    whole[:n, :n] += plain.mean() * (1 + np.outer(z, z)) / n  # pins mean and variance
    covariance = np.linalg.inv(whole)[:n, :n]
    change = (np.eye(n) - 1 / n - np.outer(z, z) / n) / theta.std()
    wanted = np.sqrt(np.diag(change @ covariance @ change.T))
    found = laplace.spread(diagnoser, params, layout)
    np.testing.assert_allclose(np.sqrt(found.covariance[:, 0, 0]), wanted, rtol=1e-6)
    np.testing.assert_allclose(found.ability[:, 0], z, rtol=1e-12)
    assert found.kind == "Laplace, samples estimated jointly"


def test_standardising_leaves_every_probability_as_it_was() -> None:
    """p = σ(a' (z − b')) with the read-out discrimination, difficulty and standardised ability."""
    diagnoser, layout, params = fitted_world()
    found = laplace.spread(diagnoser, params, layout)
    read = found.discrimination[:, None] * (found.ability[:, 0] - found.difficulty[:, None])
    fitted = params.loading @ params.ability.T + params.intercept[:, None]
    np.testing.assert_allclose(read, fitted, atol=1e-9)


def test_above_the_limit_samples_count_as_known() -> None:
    diagnoser, layout, params = fitted_world()
    limit = laplace.JOINT_LIMIT
    try:
        laplace.JOINT_LIMIT = 5
        found = laplace.spread(diagnoser, params, layout)
    finally:
        laplace.JOINT_LIMIT = limit
    theta, a = params.ability[:, 0], params.loading[:, 0]
    p = 1 / (1 + np.exp(-(np.outer(a, theta) + params.intercept[:, None])))
    information = (p * (1 - p)).T @ a**2 + 1 / params.pool[1, 0] ** 2
    np.testing.assert_allclose(found.covariance[:, 0, 0], 1 / information / theta.var(), rtol=1e-10)
    assert found.kind == "Laplace, samples held fixed"
