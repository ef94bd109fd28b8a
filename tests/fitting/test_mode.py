"""A fit ends at the mode itself, whatever the way there: the same digits on every CPU."""

from typing import Any

import numpy as np
import pytest

import camilla
from camilla.arrays import rounded
from camilla.fitting import bilinear
from camilla.fitting.factors import HasProblem
from camilla.fitting.layout import DenseLayout
from camilla.fitting.protocol import Size, Solution
from camilla.models.camilla_base import CamillaBase
from camilla.models.irt import IRT
from camilla.models.mirt import MIRT

N_LEARNERS, N_SAMPLES = 30, 60
MASK = np.eye(3, dtype=bool)[np.arange(N_SAMPLES) % 3] | (np.arange(N_SAMPLES) < 6)[:, None]


def world(seed: int = 0) -> np.ndarray:
    """Right/wrong responses [samples, learners] of a 2PL."""
    rng = np.random.default_rng(seed)
    theta, b, a = rng.normal(size=N_LEARNERS), rng.normal(size=N_SAMPLES), rng.uniform(0.3, 2, N_SAMPLES)
    chance = 1 / (1 + np.exp(-a[:, None] * (theta - b[:, None])))
    return (rng.random(chance.shape) < chance).astype(float)


def solved(diagnoser: HasProblem, response: np.ndarray, seed: int = 0) -> Solution:
    layout = DenseLayout(np.ones_like(response), response)
    solution = bilinear.solve(diagnoser, layout, np.random.default_rng(seed), lambda line: None)
    assert solution.converged
    return solution


SIZE = Size(N_LEARNERS, N_SAMPLES)
WITH_SKILLS = Size(N_LEARNERS, N_SAMPLES, MASK)
IDENTIFIED: list[Any] = [
    IRT(SIZE),
    IRT(SIZE, form="1pl"),
    IRT(SIZE, form="3pl"),
    CamillaBase(WITH_SKILLS),
    CamillaBase(WITH_SKILLS, signs="free", skill_correlation=0.5),
    MIRT(WITH_SKILLS, use_skills=True),
]


@pytest.mark.parametrize("diagnoser", IDENTIFIED, ids=lambda one: f"{one.name} {one.problem().free.shape[1]}")
def test_neither_the_start_nor_the_last_bits_move_the_mode(diagnoser: Any) -> None:
    """Noise of 1e-12 moves a mode by about 1e-12 over the curvature, which priors keep above 0.2."""
    response = world()
    first = solved(diagnoser, response).params
    noisy = response * (1 - 1e-12 * np.random.default_rng(1).random(response.shape))
    for again in (solved(diagnoser, response, seed=1).params, solved(diagnoser, noisy).params):
        np.testing.assert_allclose(again.ability, first.ability, atol=1e-7)
        np.testing.assert_allclose(again.loading, first.loading, atol=1e-7)
        np.testing.assert_allclose(again.intercept, first.intercept, atol=1e-7)


def test_the_order_of_learners_moves_nobody() -> None:
    response, order = world(), np.random.default_rng(2).permutation(N_LEARNERS)
    first = solved(IRT(SIZE), response).params.ability
    np.testing.assert_allclose(solved(IRT(SIZE), response[:, order]).params.ability, first[order], atol=1e-7)


def test_latent_dimensions_have_no_slope_left() -> None:
    """The posterior's slope, written out: Σ (p − x) a + θ, Σ (p − x) θ + 3 (a − m), Σ (p − x) + c / 5."""
    response = world()
    at = solved(MIRT(SIZE, dimensions=4, precision=3.0), response).params
    off = 1 / (1 + np.exp(-(at.loading @ at.ability.T + at.intercept[:, None]))) - response
    np.testing.assert_allclose(off.T @ at.loading + at.ability, 0, atol=1e-7)
    np.testing.assert_allclose(off @ at.ability + 3 * (at.loading - [1, 0, 0, 0]), 0, atol=1e-7)
    np.testing.assert_allclose(off.sum(axis=1) + 0.2 * at.intercept, 0, atol=1e-7)


@pytest.mark.parametrize(
    "diagnoser", [IDENTIFIED[0], IDENTIFIED[2], IDENTIFIED[4]], ids=["2pl", "3pl", "skills"]
)
def test_second_derivatives_are_differences_of_first_ones(diagnoser: Any) -> None:
    """Central differences of 1e-5 are right to 1e-9 or so, float32 to 1e-6 of the largest product."""
    response = world()
    layout, problem = DenseLayout(np.ones_like(response), response), diagnoser.problem()
    packing = bilinear._Packing(problem, N_LEARNERS)
    rng = np.random.default_rng(3)
    x = packing.pack(bilinear._start(problem, layout, rng))
    direction = rng.normal(size=len(x))

    def slope(at: np.ndarray) -> np.ndarray:
        return packing.pack(bilinear._loss_and_gradient(problem, layout, packing.unpack(at))[1])

    difference = (slope(x + 1e-5 * direction) - slope(x - 1e-5 * direction)) / 2e-5
    product = bilinear._Curvature(problem, packing, layout, x).times(direction) * layout.total_weight
    np.testing.assert_allclose(product, difference, atol=1e-5 * np.abs(difference).max())


def test_what_agrees_to_six_digits_is_a_tie() -> None:
    assert rounded(0.1 + 0.2) == rounded(0.3)
    assert rounded(1234.5678) == rounded(1234.5678 * (1 + 1e-12))
    assert rounded(0.500001) < rounded(0.500003)
    assert list(rounded([-np.inf, -1.0, 0.0])) == [-np.inf, -1.0, 0.0]
    assert np.argmax(rounded([0.3, 0.1 + 0.2])) == 0


def test_of_settings_that_foretell_alike_the_first_is_taken() -> None:
    """A 1PL has no discriminations, so that the precision of their prior changes nothing but last bits."""
    for seed in range(5):
        found = camilla.diagnose(camilla.simulate(12, 40, seed=seed).table, "irt", form="1pl")
        assert found.provenance["settings"]["precision"] == 3.0
