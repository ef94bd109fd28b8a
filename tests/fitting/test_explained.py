"""Explanatory models: the prior of features, the joint mode, weights known by formula, strengths.

Truth comes from formulas written here: a normal prior with its weights integrated out, and worlds simulated
from known weights. Steps of 1e-5 make central differences good to about 1e-7 of sums near 100.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from camilla.fitting import explained
from camilla.fitting.bilinear import _Curvature, _loss_and_gradient, _Packing, solve_explained
from camilla.fitting.factors import Bilinear, Factors
from camilla.fitting.feature_priors import Held, Regressed, ridge_weights, smoother
from camilla.fitting.layout import DenseLayout, Encoded, Size
from camilla.fitting.strengths import Column, Line, Strength, strengths_along
from camilla.fitting.training import Training

LEARNERS, SAMPLES, DIMS = 7, 12, 2
TOLD = np.array([True])
Array = np.ndarray


@dataclass(frozen=True)
class Told:
    """A diagnoser that is nothing but its description."""

    size: Size
    described: Bilinear
    training: Training | None = None

    def problem(self) -> Bilinear:
        return self.described


def penalised(target: Array, x: Array, precision: float, penalty: float, *, constant: bool) -> float:
    """min over w (and a free constant) of ½ λ |b − Xw|² + ½ ρ |w|², solved as one least-squares problem."""
    design = np.column_stack([np.ones(len(x)), x]) if constant else x
    kept = np.eye(design.shape[1])[1:] if constant else np.eye(x.shape[1])
    rows = np.vstack([np.sqrt(precision) * design, np.sqrt(penalty) * kept])
    wanted = np.concatenate([np.sqrt(precision) * target, np.zeros(len(kept))])
    best = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    return 0.5 * float(np.sum((wanted - rows @ best) ** 2))


def problem_of(rng: np.random.Generator) -> tuple[Bilinear, Array, Array]:
    """Two dimensions, some loadings fixed at 0, features of samples and learners, and their penalties."""
    free = rng.random((SAMPLES, DIMS)) < 0.7
    x, u = rng.normal(size=(SAMPLES, 3)), rng.normal(size=(LEARNERS, 2))
    held = Held(
        smoother(x, 0.8 / 0.4, constant=True),
        tuple(smoother(x * free[:, [k]], penalty / 0.9) for k, penalty in enumerate((0.5, 2.0))),
        tuple(smoother(u, penalty) for penalty in (1.5, 1.5)),
    )
    tied = np.array([[2.0, -0.7], [-0.7, 1.3]])
    return Bilinear(free, tied, np.array([1.0, 0.2]), 0.9, 0.4, standardise=False, held=held), x, u


def textbook(problem: Bilinear, x: Array, u: Array, weight: Array, response: Array, at: Factors) -> float:
    """−log posterior, minimised over the weights of features: their sum of squares has its own penalty.

    Abilities: with T'T = P the columns of θT' are independent, and so are those of the weights A T'.
    """
    p = 1 / (1 + np.exp(-(at.loading @ at.ability.T + at.intercept[:, None])))
    fit = -float(np.sum(weight * (response * np.log(p) + (1 - response) * np.log(1 - p))))
    fit += penalised(at.intercept, x, 0.4, 0.8, constant=True)
    for k, penalty in enumerate((0.5, 2.0)):
        free = problem.free[:, k]
        fit += penalised(
            (at.loading[:, k] - problem.loading_mean[k])[free], x[free], 0.9, penalty, constant=False
        )
    white = at.ability @ np.linalg.cholesky(problem.ability_precision)
    return fit + sum(penalised(column, u, 1.0, 1.5, constant=False) for column in white.T)


def test_the_objective_is_the_posterior_at_the_best_weights_and_its_gradient_that_of_it() -> None:
    rng = np.random.default_rng(1)
    problem, x, u = problem_of(rng)
    weight = rng.uniform(0.5, 2, (SAMPLES, LEARNERS)) * (rng.random((SAMPLES, LEARNERS)) < 0.7)
    response = rng.random((SAMPLES, LEARNERS))
    packing, layout = _Packing(problem, LEARNERS), DenseLayout(weight, response)
    at = rng.normal(0.3, 0.6, LEARNERS * DIMS + int(problem.free.sum()) + SAMPLES)

    def value(numbers: Array) -> float:
        return textbook(problem, x, u, weight, response, packing.unpack(numbers))

    loss, gradient = _loss_and_gradient(problem, layout, packing.unpack(at))
    np.testing.assert_allclose(loss, value(at), rtol=1e-12)
    moves = 1e-5 * np.eye(at.size)
    slope = np.array([(value(at + move) - value(at - move)) / 2e-5 for move in moves])
    np.testing.assert_allclose(packing.pack(gradient), slope, atol=2e-6)

    direction = rng.normal(size=at.size)
    curve = _Curvature(problem, packing, layout, at).times(direction) * layout.total_weight
    ahead, behind = (
        packing.pack(_loss_and_gradient(problem, layout, packing.unpack(at + step * direction))[1])
        for step in (1e-4, -1e-4)
    )
    np.testing.assert_allclose(curve, (ahead - behind) / 2e-4, rtol=1e-3, atol=1e-3)  # made in float32


def test_the_best_weights_put_in_are_the_weights_integrated_out() -> None:
    """½ λ b'(I − H) b is that of N(0, I/λ + τ² XX'), and H b is X times the ridge regression of b."""
    rng = np.random.default_rng(2)
    x, b, precision, variance = rng.normal(size=(9, 4)), rng.normal(size=9), 1.7, 0.3
    root = smoother(x, 1 / (precision * variance))
    held = precision * (b @ b - np.sum((root.T @ b) ** 2))
    marginal = b @ np.linalg.solve(np.eye(9) / precision + variance * x @ x.T, b)
    assert held == pytest.approx(marginal, rel=1e-10)
    assert root @ (root.T @ b) == pytest.approx(x @ ridge_weights(x, 1 / (precision * variance), b))


def world(
    seed: int, n_learners: int, n_samples: int, noise: float, share: float = 1.0
) -> tuple[Size, DenseLayout]:
    """logit = (1 + e)θ + 1.2 x₁ − 0.6 x₂ + noise · e', θ = 0.9 u + 0.5 e''; x₃ does nothing."""
    rng = np.random.default_rng(seed)
    x, u = rng.normal(size=(n_samples, 3)), rng.normal(size=(n_learners, 1))
    x, u = (x - x.mean(axis=0)) / x.std(axis=0), (u - u.mean(axis=0)) / u.std(axis=0)
    ability = 0.9 * u[:, 0] + 0.5 * rng.normal(size=n_learners)
    slope = 1 + 0.2 * rng.normal(size=n_samples)
    easy = x @ [1.2, -0.6, 0.0] + noise * rng.normal(size=n_samples)
    chance = 1 / (1 + np.exp(-(np.outer(slope, ability) + easy[:, None])))
    weight = (rng.random(chance.shape) < share) * 1.0
    size = Size(
        n_learners, n_samples, sample_features=Encoded(x, np.zeros(3, np.intp)),
        learner_features=Encoded(u, np.zeros(1, np.intp)),
    )  # fmt: skip
    return size, DenseLayout(weight, (rng.random(chance.shape) < chance) * 1.0)


def two_pl(n_samples: int) -> Bilinear:
    return Bilinear(np.ones((n_samples, 1), bool), np.eye(1), np.ones(1), 10.0, explained=True)


@pytest.mark.parametrize("noise", [0.2, 0.7, 1.5])
def test_weights_and_residuals_are_found_whatever_the_noise(noise: float) -> None:
    """100 learners × 300 samples, six worlds. A weight's error in a world is √((noise² + .06) / 300).

    .06 is the noise of an intercept from 100 responses. Of six worlds' mean: four standard errors, and .06
    for what the unit of abilities takes along. The residuals' sd is good to 1/√(2 · 300 · 6) of itself; .12
    is allowed.
    """
    weights, spreads, abilities = [], [], []
    for seed in range(6):
        size, layout = world(seed, 100, 300, noise)
        told = Told(size, two_pl(300))
        found = solve_explained(told, layout, np.random.default_rng(0), lambda line: None)
        assert found.converged
        samples = Regressed(*found.params.sample_regression)
        weights.append(samples.weight[:, 0])
        spreads.append(abs(samples.root[0, 0]))
        abilities.append(Regressed(*found.params.learner_regression).weight[0, 0])
    near = 4 * np.sqrt((noise**2 + 0.06) / 300 / 6) + 0.06
    assert np.mean(weights, axis=0) == pytest.approx([1.2, -0.6, 0.0], abs=near)
    assert np.mean(spreads) == pytest.approx(noise, abs=0.12)
    assert np.mean(abilities) == pytest.approx(0.9, abs=0.15)


def test_the_fit_stands_at_the_joint_mode() -> None:
    """No slope is left, and the weights that are read are ridge regressions of the factors that are read."""
    size, layout = world(7, 30, 40, 0.7)
    told = Told(size, replace_standard(two_pl(40)))
    found = solve_explained(told, layout, np.random.default_rng(0), lambda line: None)
    designs = explained.Designs.of(size)
    plain = explained.without_features(told)
    assert plain.size.sample_features is None
    at = found.params
    samples, learners = Regressed(*at.sample_regression), Regressed(*at.learner_regression)
    assert found.gradient_norm * layout.total_weight < 1e-4
    x, u = size.sample_features.columns, size.learner_features.columns
    penalty = samples.error[0, 0] ** -2
    away = at.intercept - at.intercept.mean()
    by_hand = np.linalg.solve(
        x.T @ x * samples.precision[0] + penalty * np.eye(3), samples.precision[0] * x.T @ away
    )
    assert samples.weight[:, 0] == pytest.approx(by_hand, abs=1e-6)
    penalty = learners.error[0, 0] ** -2
    assert learners.weight[:, 0] == pytest.approx(u.T @ at.ability[:, 0] / (u.T @ u + penalty)[0], abs=1e-6)
    assert designs.samples.x.shape == (40, 3)


def replace_standard(problem: Bilinear) -> Bilinear:
    return problem._replace(standardise=False)


def test_responses_that_are_few_still_show_how_far_residuals_spread() -> None:
    """Three responses a row, 2,000 rows: by a normal approximation alone the variance 2 came out below 1."""
    rng = np.random.default_rng(3)
    n = 2000
    x = rng.normal(size=(n, 1))
    level = 0.8 * x[:, 0] + np.sqrt(2) * rng.normal(size=n)
    row = np.repeat(np.arange(n), 3)
    base = rng.normal(size=3 * n)
    right = (rng.random(3 * n) < 1 / (1 + np.exp(-(base + level[row])))) * 1.0
    line = Line(row, base, np.ones(3 * n), np.ones(3 * n), right, None, n)
    p = 1 / (1 + np.exp(-base))
    information = np.bincount(row, p * (1 - p))
    start = Column(np.bincount(row, right - p) / information, information)
    (found,) = strengths_along(x, [start], [line], TOLD)
    assert found.variance == pytest.approx(2.0, rel=0.2)
    assert found.penalty <= 100


def test_features_that_say_nothing_are_held_at_nothing() -> None:
    """Twenty columns of noise for 60 rows: the median penalty leaves less than a third of a weight."""
    strengths = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        column = Column(rng.normal(size=60) + 0.3 * rng.normal(size=60), np.full(60, 1 / 0.09))
        line = Line(np.repeat(np.arange(60), 50), *np.zeros((4, 3000)), None, 60)
        strengths += strengths_along(rng.normal(size=(60, 20)), [column], [line], TOLD)
    assert np.median([one.penalty for one in strengths]) > 2 * 60
    assert np.mean([one.variance for one in strengths]) == pytest.approx(1.0, abs=0.15)


def test_a_category_of_one_row_is_not_taken_for_known() -> None:
    """Every row its own category: without its own response nothing is known of a row, so no weight pays."""
    rng = np.random.default_rng(5)
    column = Column(rng.normal(size=40), np.full(40, 20.0))
    line = Line(np.repeat(np.arange(40), 50), *np.zeros((4, 2000)), None, 40)
    (found,) = strengths_along(np.eye(40) - 1 / 40, [column], [line], TOLD)
    assert isinstance(found, Strength)
    assert found.penalty > 10
    assert found.variance == pytest.approx(1.0, abs=0.5)


def test_a_draw_of_new_rows_has_the_spread_that_the_formula_says() -> None:
    """Var = x'Cov(w)x + residual variance; outside the fitted directions Cov(w) is the prior's."""
    turn = np.array([[1.0], [0.0]])
    regressed = Regressed(
        np.array([0.5]), np.array([0.1]), np.array([[2.0], [0.0]]), turn,
        np.array([[0.7], [0.2]]), np.array([[0.6]]), np.array([1.0]),
    )  # fmt: skip
    x = np.array([[1.0, 3.0], [0.0, 0.0]])
    own = np.random.default_rng(0)
    draws = np.stack([regressed.drawn(x, np.random.default_rng([9, d]), own) for d in range(4000)])[:, :, 0]
    assert draws.mean(axis=0) == pytest.approx([2.5, 0.5], abs=4 * 2.2 / np.sqrt(4000))
    wanted = [0.1**2 + 0.2**2 + (3 * 0.7) ** 2 + 0.36, 0.1**2 + 0.36]
    assert draws.var(axis=0) == pytest.approx(wanted, rel=0.1)
    assert regressed.expected(x)[:, 0] == pytest.approx([2.5, 0.5])


def test_without_features_a_diagnoser_is_itself() -> None:
    told = Told(Size(4, 5), two_pl(5))
    assert not explained.uses_features(told)
    assert explained.without_features(told) is told
    silent = replace(told, described=two_pl(5)._replace(explained=False))
    assert not explained.uses_features(silent)
