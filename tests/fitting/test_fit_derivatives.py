"""Derivatives written by hand are those of the formulas they come from, taken here by differences.

Steps are 1e-5 of numbers near 1: central differences of sums near 100 are good to about 1e-7 then, and second
differences with steps of 1e-3 to about 1e-6.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
import pytest
from scipy.linalg import block_diag

from camilla.fitting import laplace
from camilla.fitting.bilinear import _loss_and_gradient, _Packing, solve
from camilla.fitting.factors import Bilinear, Factors, LearnerPrior, _learner_terms, place, placed_in_pool
from camilla.fitting.layout import DenseLayout, Layout, SparseLayout, layout_of_table, size_of
from camilla.fitting.learner_rows import learner_rows, place_rows, with_learner_rows
from camilla.fitting.protocol import Size
from camilla.fitting.training import neural_logit, start_of
from camilla.models.camilla import Camilla
from camilla.models.gaussian import _factors, _rows
from camilla.table.examples import simulate

LEARNERS, SAMPLES = 6, 9
Array = np.ndarray


def slope_of(value: Callable[[Array], float], at: Array, step: float = 1e-5) -> Array:
    moves = step * np.eye(at.size)
    return np.array([(value(at + move) - value(at - move)) / (2 * step) for move in moves])


def curve_of(value: Callable[[Array], float], at: Array, step: float = 1e-3) -> Array:
    """The Hessian by second differences of fourth order: their error is below step⁴."""
    fourth = np.array([-1 / 12, 2 / 3, 0, -2 / 3, 1 / 12]) / step  # f'(x) from x + 2h … x − 2h

    def slope(x: Array) -> Array:
        return np.array(
            [sum(w * value(x + k * move) for w, k in zip(fourth, (2, 1, 0, -1, -2), strict=True))
             for move in step * np.eye(x.size)]
        )  # fmt: skip

    rows = [
        sum(w * slope(at + k * move) for w, k in zip(fourth, (2, 1, 0, -1, -2), strict=True))
        for move in step * np.eye(at.size)
    ]
    return np.array(rows)


@dataclass(frozen=True)
class Told:
    """A diagnoser that is nothing but its description."""

    size: Size
    described: Bilinear

    def problem(self) -> Bilinear:
        return self.described


def world(*, binary: bool = False) -> tuple[Array, Array]:
    """Weights, a third of them 0, and responses: [samples, learners] each."""
    rng = np.random.default_rng(5)
    weight = np.where(rng.random((SAMPLES, LEARNERS)) < 0.33, 0.0, rng.uniform(0.5, 2, (SAMPLES, LEARNERS)))
    response = rng.random((SAMPLES, LEARNERS))
    return weight, np.round(response) if binary else response


def dense(weight: Array, response: Array) -> Layout:
    return DenseLayout(weight, response)


def sparse(weight: Array, response: Array) -> Layout:
    sample, learner = np.nonzero(weight)
    cells = weight[sample, learner], response[sample, learner]
    return SparseLayout(learner, sample, *cells, n_learners=LEARNERS, n_samples=SAMPLES)


def free(share: float, n_dims: int) -> Array:
    return np.random.default_rng(6).random((SAMPLES, n_dims)) < share


TIED = np.array([[2.0, -0.7], [-0.7, 1.3]])
PROBLEMS = {
    "1pl": Bilinear(free(0, 1), np.eye(1) * 1.7, np.ones(1), 0.9, 0.4, fixed=1.0, standardise=False),
    "2pl": Bilinear(free(1, 1), np.eye(1) * 1.7, np.ones(1), 0.9, 0.4, standardise=False),
    "skills": Bilinear(free(0.6, 2), TIED, np.array([1.0, 0.5]), 0.9, 0.4, positive=True, standardise=False),
    "3pl": Bilinear(
        free(1, 1), np.eye(1) * 1.7, np.ones(1), 0.9, 0.4, guessing_limit=0.5, guessing_prior=(5, 17),
        standardise=False,
    ),
}  # fmt: skip


def textbook(problem: Bilinear, weight: Array, response: Array, at: Factors) -> float:
    """−log posterior: −Σ w [x log p + (1 − x) log(1 − p)] and the priors, p = g + (1 − g) σ(a·θ + c)."""
    p = 1 / (1 + np.exp(-(at.loading @ at.ability.T + at.intercept[:, None])))
    beta = 0.0
    if at.guessing is not None:
        a, b = problem.guessing_prior
        g = at.guessing[:, None]
        p = g + (1 - g) * p
        beta = float(np.sum((a - 1) * np.log(g) + (b - 1) * np.log(1 - g)))
    fit = -np.sum(weight * (response * np.log(p) + (1 - response) * np.log(1 - p)))
    normal = sum(row @ problem.ability_precision @ row for row in at.ability)
    normal += problem.loading_precision * np.sum((at.loading - problem.loading_mean)[problem.free] ** 2)
    normal += problem.intercept_precision * np.sum(at.intercept**2)
    return float(fit + 0.5 * normal - beta)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("layout", [dense, sparse])
def test_the_bilinear_objective_is_the_posterior_and_its_gradient_that_of_it(
    name: str, layout: Callable[..., Layout]
) -> None:
    """The packed numbers are free: loadings that are not stay out, guessing goes by its logit."""
    problem = PROBLEMS[name]
    packing = _Packing(problem, LEARNERS)
    guesses = SAMPLES if problem.guessing_limit else 0
    size = LEARNERS * problem.free.shape[1] + int(problem.free.sum()) + SAMPLES + guesses
    x = np.random.default_rng(7).normal(0.3, 0.6, size)
    weight, response = world()
    loss, gradient = _loss_and_gradient(problem, layout(weight, response), packing.unpack(x))
    np.testing.assert_allclose(loss, textbook(problem, weight, response, packing.unpack(x)), rtol=1e-12)
    by_hand = slope_of(lambda x: textbook(problem, weight, response, packing.unpack(x)), x)
    np.testing.assert_allclose(packing.pack(gradient), by_hand, atol=2e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_solved_fit_stands_where_the_posterior_is_flat(name: str) -> None:
    """Within what the mean loss may still slope, 1e-5 a response; bounded loadings may push outwards."""
    problem, (weight, response) = PROBLEMS[name], world()
    diagnoser = Told(Size(LEARNERS, SAMPLES), problem)
    found = solve(diagnoser, dense(weight, response), np.random.default_rng(0), lambda line: None).params
    packing = _Packing(problem, LEARNERS)
    x = packing.again(found)
    slope = slope_of(lambda x: textbook(problem, weight, response, packing.unpack(x)), x)
    outwards = (x <= 1e-9) & (slope > 0) if problem.positive else np.zeros(len(x), bool)
    np.testing.assert_allclose(np.where(outwards, 0, slope), 0, atol=1e-5 * weight.sum())


@pytest.mark.parametrize("guessing", [False, True])
def test_a_learners_slope_and_information_are_those_of_its_posterior(guessing: bool) -> None:
    """Information: Σ w (dp/dθ)(dp/dθ)ᵀ / p(1 − p) + P, with dp/dθ by differences."""
    rng = np.random.default_rng(8)
    loading, offset = rng.normal(size=(SAMPLES, 2)), rng.normal(size=SAMPLES)
    guess = rng.uniform(0.05, 0.3, SAMPLES) if guessing else None
    weight, response = (part[:, 0] for part in world())
    prior, row = LearnerPrior(np.array([0.3, -0.2]), TIED), np.array([0.4, 0.9])

    def chance(row: Array) -> Array:
        p = 1 / (1 + np.exp(-(loading @ row + offset)))
        return p if guess is None else guess + (1 - guess) * p

    def posterior(row: Array) -> float:
        p, off = chance(row), row - prior.mean
        fit = -np.sum(weight * (response * np.log(p) + (1 - response) * np.log(1 - p)))
        return float(fit + 0.5 * off @ prior.precision @ off)

    slope, information = _learner_terms(prior, row, loading, offset, guess, weight, weight * response)
    np.testing.assert_allclose(slope, slope_of(posterior, row), atol=1e-7)
    by_row = np.column_stack([(chance(row + m) - chance(row - m)) / 2e-5 for m in 1e-5 * np.eye(2)])
    p = chance(row)
    expected = (by_row * (weight / (p * (1 - p)))[:, None]).T @ by_row + prior.precision
    np.testing.assert_allclose(information, expected, atol=1e-7)


def test_standard_errors_come_from_the_curvature_of_the_posterior() -> None:
    """Without guessing the expected information is the Hessian, whatever the responses were.

    Learners with samples held fixed: the inverse of each one's block, on the scale of the pool. Samples: the
    delta method, with the slopes of discrimination Σ sₖvₖ and difficulty −(c + v·m) / Σ sₖvₖ by differences.
    """
    weight, response = world(binary=True)
    problem = PROBLEMS["skills"]._replace(standardise=True, positive=False, free=free(1, 2))
    rng = np.random.default_rng(9)
    at = Factors(
        rng.normal(0.5, 1.2, (LEARNERS, 2)), rng.uniform(0.3, 1.5, (SAMPLES, 2)), rng.normal(size=SAMPLES)
    )
    told = Told(Size(LEARNERS, SAMPLES), problem)
    spread = laplace.spread(told, at, dense(weight, response), standard=False)
    mean, sd = at.ability.mean(axis=0), at.ability.std(axis=0)

    def of_learners(x: Array) -> float:
        return textbook(problem, weight, response, at._replace(ability=x.reshape(LEARNERS, 2)))

    whole = np.linalg.inv(curve_of(of_learners, at.ability.ravel()))
    np.testing.assert_allclose(block_diag(*spread.covariance * np.outer(sd, sd)), whole, atol=1e-6)

    for j in range(SAMPLES):

        def of_sample(x: Array, j: int = j) -> float:
            loading, intercept = at.loading.copy(), at.intercept.copy()
            loading[j], intercept[j] = x[:2], x[2]
            return textbook(problem, weight, response, at._replace(loading=loading, intercept=intercept))

        x = np.append(at.loading[j], at.intercept[j])
        covariance = np.linalg.inv(curve_of(of_sample, x))
        a, b = (lambda x: float(x[:2] @ sd)), (lambda x: float(-(x[2] + x[:2] @ mean) / (x[:2] @ sd)))
        for value, read, se in (
            (a, spread.discrimination[j], spread.discrimination_se[j]),
            (b, spread.difficulty[j], spread.difficulty_se[j]),
        ):
            slope = slope_of(value, x)
            np.testing.assert_allclose(read, value(x), rtol=1e-10)
            np.testing.assert_allclose(se, np.sqrt(slope @ covariance @ slope), rtol=1e-5)


def test_guessing_takes_information_away() -> None:
    """The expected information of a learner is Σ w (dp/dθ)² / p(1 − p) + P, with dp/dθ by differences."""
    weight, response = world(binary=True)
    problem = PROBLEMS["3pl"]._replace(standardise=True)
    rng = np.random.default_rng(14)
    at = Factors(
        rng.normal(size=(LEARNERS, 1)), rng.uniform(0.5, 1.5, (SAMPLES, 1)), rng.normal(size=SAMPLES),
        rng.uniform(0.05, 0.3, SAMPLES),
    )  # fmt: skip

    def chance(ability: Array) -> Array:
        s = 1 / (1 + np.exp(-(at.loading * ability + at.intercept[:, None])))
        return at.guessing[:, None] + (1 - at.guessing[:, None]) * s

    ability = at.ability[:, 0]
    p, slope = chance(ability), (chance(ability + 1e-5) - chance(ability - 1e-5)) / 2e-5
    information = np.sum(weight * slope**2 / (p * (1 - p)), axis=0) + 1.7
    told = Told(Size(LEARNERS, SAMPLES), problem)
    spread = laplace.spread(told, at, dense(weight, response), standard=False)
    np.testing.assert_allclose(spread.covariance[:, 0, 0] * ability.std() ** 2, 1 / information, rtol=1e-6)


def test_a_learner_is_placed_at_the_mode_with_the_inverse_information() -> None:
    """Also under a pool that is not at 0: the prior is moved and stretched to it."""
    weight, response = world()
    problem = PROBLEMS["3pl"]
    rng = np.random.default_rng(10)
    at = Factors(
        rng.normal(size=(LEARNERS, 1)), rng.uniform(0.5, 1.5, (SAMPLES, 1)), rng.normal(size=SAMPLES),
        rng.uniform(0.05, 0.3, SAMPLES), np.array([[1.5], [0.6]]),
    )  # fmt: skip
    told = Told(Size(LEARNERS, SAMPLES), problem)
    placed = place(told, at, weight[:, 0], (weight * response)[:, 0])

    def posterior(row: Array) -> float:
        g = at.guessing
        p = g + (1 - g) / (1 + np.exp(-(at.loading[:, 0] * row[0] + at.intercept)))
        x, w = response[:, 0], weight[:, 0]
        fit = -np.sum(w * (x * np.log(p) + (1 - x) * np.log(1 - p)))
        return float(fit + 0.5 * 1.7 * ((row[0] - 1.5) / 0.6) ** 2)

    assert placed.converged
    np.testing.assert_allclose(slope_of(posterior, placed.row), 0, atol=1e-6)


@pytest.mark.parametrize("guessing", [False, True])
def test_a_pool_on_a_line_is_placed_at_its_modes(guessing: bool) -> None:
    """All learners of one dimension at once, under the prior of the pool they came from."""
    weight, response = world()
    problem = PROBLEMS["3pl" if guessing else "2pl"]
    rng = np.random.default_rng(13)
    before = Factors(
        rng.normal(1.5, 0.6, (LEARNERS, 1)), rng.uniform(0.5, 1.5, (SAMPLES, 1)), rng.normal(size=SAMPLES),
        rng.uniform(0.05, 0.3, SAMPLES) if guessing else None,
    )  # fmt: skip
    at = placed_in_pool(problem, before, dense(weight, response))
    mean, sd = before.ability.mean(), before.ability.std()

    def posterior(ability: Array) -> float:
        p = 1 / (1 + np.exp(-(at.loading * ability + at.intercept[:, None])))
        p = at.guessing[:, None] + (1 - at.guessing[:, None]) * p if guessing else p
        fit = -np.sum(weight * (response * np.log(p) + (1 - response) * np.log(1 - p)))
        return float(fit + 0.5 * 1.7 * np.sum(((ability - mean) / sd) ** 2))

    np.testing.assert_allclose(slope_of(posterior, at.ability[:, 0]), 0, atol=1e-6)


def test_a_gaussian_sample_has_the_posterior_of_normal_theory() -> None:
    """z ~ N(0, I), x = mean + Lz + noise / weight: E z = Lᵀ S⁻¹ (x − mean), S = L Lᵀ + diag(noise / w)."""
    rng = np.random.default_rng(11)
    row, noise = rng.normal(size=(LEARNERS, 3)), rng.uniform(0.2, 1, LEARNERS)
    weight, response = world()
    factor, moment = _factors(row, noise, weight, response)
    for j in range(SAMPLES):
        seen = weight[j] > 0
        loading, off = row[seen, 1:], response[j, seen] - row[seen, 0]
        inner = np.linalg.inv(loading @ loading.T + np.diag(noise[seen] / weight[j, seen]))
        z = loading.T @ inner @ off
        spread = np.eye(2) - loading.T @ inner @ loading
        np.testing.assert_allclose(factor[j], [1, *z], atol=1e-10)
        np.testing.assert_allclose(moment[j][1:, 1:], np.outer(z, z) + spread, atol=1e-10)
        np.testing.assert_allclose(moment[j][0], [1, *z], atol=1e-10)


def test_a_gaussian_learners_row_stands_where_the_expected_loss_is_flat() -> None:
    """Σⱼ w E(x − r·f)² + precision |r without its mean|², E over the samples' factors."""
    rng = np.random.default_rng(12)
    factor = np.column_stack([np.ones(SAMPLES), rng.normal(size=(SAMPLES, 2))])
    unsure = np.diag([0, 0.3, 0.2])
    moment = np.einsum("jk,jl->jkl", factor, factor) + unsure
    weight, response = world()
    row, noise, covariance = _rows(2.5, 0.1, factor, moment, weight, response)
    for i in range(LEARNERS):

        def loss(r: Array, i: int = i) -> float:
            square = (response[:, i] - factor @ r) ** 2 + r @ unsure @ r
            return float(weight[:, i] @ square + 2.5 * r[1:] @ r[1:] + 1e-6 * r[0] ** 2)

        np.testing.assert_allclose(slope_of(loss, row[i]), 0, atol=1e-7)
        np.testing.assert_allclose(
            covariance[i], 2 * noise[i] * np.linalg.inv(curve_of(loss, row[i])), rtol=1e-5
        )


def test_a_learner_of_a_network_is_placed_at_its_mode_with_the_expected_information() -> None:
    """The formula in float64 over rows that JAX placed in float32.

    Slopes left are told in steps: less than a hundredth of a standard error. The information is
    Σ w p(1 − p) (dl/drow)(dl/drow)ᵀ + τ I, with dl/drow by differences.
    """
    table = simulate(4, 60, seed=3).table.in_fitting_order()
    layout = layout_of_table(table)
    diagnoser = Camilla(size_of(table), dimensions=2, hidden=(4, 2))
    begin = diagnoser.init(np.random.default_rng(0), start_of(layout, informed=True))
    begin = jax.tree.map(lambda part: part.astype(np.float64), begin)
    weight, right = (part.T for part in layout.block(np.arange(layout.n_samples)))
    rows, covariance, _ = place_rows(diagnoser, begin, weight, right, start=True)
    assert np.abs(rows - learner_rows(diagnoser, begin)).max() > 0.1
    everything = np.arange(layout.n_samples)
    for i, row in enumerate(rows):

        def logit(row: Array, i: int = i) -> Array:
            params = with_learner_rows(diagnoser, begin, np.tile(row, (len(rows), 1)))
            return neural_logit(diagnoser, params, np.full(layout.n_samples, i), everything)

        def posterior(row: Array, i: int = i, logit: Callable[[Array], Array] = logit) -> float:
            fit = weight[i] @ np.logaddexp(0, logit(row)) - right[i] @ logit(row)
            return float(fit + 0.5 * diagnoser.precision * row @ row)

        left = slope_of(posterior, row, 1e-4)
        assert np.sqrt(left @ covariance[i] @ left) < 0.01
        by_row = np.column_stack([(logit(row + m) - logit(row - m)) / 2e-4 for m in 1e-4 * np.eye(2)])
        p = 1 / (1 + np.exp(-logit(row)))
        information = (by_row * (weight[i] * p * (1 - p))[:, None]).T @ by_row
        expected = np.linalg.inv(information + diagnoser.precision * np.eye(2))
        np.testing.assert_allclose(covariance[i], expected, rtol=1e-3, atol=1e-5)
