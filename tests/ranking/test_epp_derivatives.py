"""Slopes, information and standard errors of EPP, with and without a prior, against the likelihood itself."""

from collections.abc import Callable

import numpy as np
import pytest

from camilla.ranking.epp import epp
from camilla.ranking.matches import WinMatrix
from camilla.ranking.solve import derivatives, log_likelihood
from camilla.table.tournament import Tournament

PLAYERS, ROUNDS = 5, 12
STEP = 1e-4


def tournament() -> Tournament:
    """Strengths far from symmetric, so that the average player is not where the phantom stands."""
    rng = np.random.default_rng(3)
    scores = np.array([4.0, 0.4, 0.2, 0.0, -0.3])[:, None] + rng.logistic(size=(PLAYERS, ROUNDS))
    return Tournament(tuple(f"m{i}" for i in range(PLAYERS)), tuple(f"r{k}" for k in range(ROUNDS)), scores)


def record(scores: np.ndarray) -> np.ndarray:
    """wins[i, j, round]: i above j."""
    return (scores[:, None, :] > scores[None, :, :]).astype(np.float64)


def penalised(b: np.ndarray, wins: np.ndarray, prior: float) -> float:
    """Σ w_ij log σ(b_i − b_j), and for each player `prior` drawn matches against a phantom at 0."""
    gap = b[:, None] - b[None, :]
    value = -np.sum(wins * np.log1p(np.exp(-gap)))
    return float(value - 0.5 * prior * np.sum(np.log1p(np.exp(-b)) + np.log1p(np.exp(b))))


def slope_of(value: Callable[[np.ndarray], float], b: np.ndarray) -> np.ndarray:
    return np.array([(value(b + m) - value(b - m)) / (2 * STEP) for m in STEP * np.eye(len(b))])


def curve_of(value: Callable[[np.ndarray], float], b: np.ndarray) -> np.ndarray:
    steps = 1e-3 * np.eye(len(b))
    return np.array(
        [[(value(b + s + t) - value(b + s - t) - value(b - s + t) + value(b - s - t)) / 4e-6 for t in steps]
         for s in steps]
    )  # fmt: skip


@pytest.mark.parametrize("prior", [0.0, 1.0, 2.5])
def test_gradient_and_information_are_derivatives_of_the_likelihood(prior: float) -> None:
    """Differences of step 1e-4 and 1e-3 of sums near 50 are good to 1e-7 and 1e-5."""
    wins = record(tournament().scores).sum(axis=2)
    b = np.array([0.9, -0.2, 0.4, -1.1, 0.3])
    gradient, curvature = derivatives(b, wins.sum(axis=1), wins + wins.T, prior)

    def value(b: np.ndarray) -> float:
        return penalised(b, wins, prior)

    np.testing.assert_allclose(gradient, slope_of(value, b), atol=1e-6)
    v = np.array([1.0, -2.0, 0.5, 0.3, 0.7])
    information = -curve_of(value, b)
    np.testing.assert_allclose(curvature.times(v), information @ v, atol=1e-4)
    np.testing.assert_allclose(curvature.dense(), information, atol=1e-4)
    matrix = WinMatrix(wins, wins + wins.T)
    np.testing.assert_allclose(log_likelihood(matrix, b), penalised(b, wins, 0.0), rtol=1e-12)


def mode(wins: np.ndarray, prior: float) -> np.ndarray:
    """The penalised maximum by Newton's method on differences, not centred."""
    b = np.zeros(PLAYERS)
    for _ in range(50):
        value = lambda b: penalised(b, wins, prior)  # noqa: E731
        b = b - np.linalg.lstsq(curve_of(value, b), slope_of(value, b), rcond=1e-6)[0]
    return b


@pytest.mark.parametrize("prior", [0.5, 2.0])
@pytest.mark.parametrize("se", ["fisher", "cluster"])
def test_standard_errors_under_a_prior_are_taken_where_the_prior_stands(se: str, prior: float) -> None:
    """The information depends on where players stand from the phantom, and EPPs are centred afterwards.

    fisher: V = C H⁻¹ C with H at the mode. cluster: V (Σᵣ gᵣgᵣᵀ) V · R/(R−1) + V, gᵣ a round's part of the
    slope, less its mean; the prior adds V, what it would be sure of by itself.
    """
    made = tournament()
    per_round = record(made.scores)
    wins = per_round.sum(axis=2)
    b = mode(wins, prior)
    assert abs(b.mean()) > 0.05  # else the place of the phantom would not show
    board = epp(made, prior=prior, se=se)
    order = [board.players.index(f"m{i}") for i in range(PLAYERS)]
    np.testing.assert_allclose(board.epp[order], b - b.mean(), atol=1e-5)

    inverse = np.linalg.inv(-curve_of(lambda b: penalised(b, wins, prior), b))
    centre = np.eye(PLAYERS) - 1 / PLAYERS
    expected = centre @ inverse @ centre
    if se == "cluster":
        pushes = np.column_stack(
            [slope_of(lambda b, r=r: penalised(b, per_round[:, :, r], 0.0), b) for r in range(ROUNDS)]
        )
        pushes -= pushes.mean(axis=1, keepdims=True)
        sandwich = inverse @ pushes @ pushes.T @ inverse * ROUNDS / (ROUNDS - 1)
        expected = expected + centre @ sandwich @ centre
    found = board.covariance[np.ix_(order, order)]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
