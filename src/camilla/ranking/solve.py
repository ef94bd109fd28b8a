"""The maximum-likelihood strengths of a win matrix, and whether they exist.

log P(i beats j) = b_i − b_j (Bradley and Terry, 1952; Zermelo, 1929). The log-likelihood
Σ_i w_i b_i − Σ_{i<j} m_ij log(e^{b_i} + e^{b_j}) depends on the data only through total wins w and
matches m, and is concave. With s = e^b no exponential of a pair is ever taken.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from camilla.errors import ConvergenceError
from camilla.ranking.matches import Array, WinMatrix

STEP_CAP = 5.0  # logits a player may move in one Newton step
DENSE_PLAYERS = 600  # above, conjugate gradients beat a factorisation in every Newton step
MAX_STEPS = 100
TOLERANCE = 1e-8  # logits of the last step; what is left is below its square or 1e-4 of it
CG_STEPS = 60

Information = TypeVar("Information")


class EppSolution(NamedTuple):
    """Centred strengths and how they were reached."""

    strength: Array  # [players], mean 0
    origin: float  # where the phantom of the prior stands on the centred scale
    steps: int
    gradient_norm: float  # largest |wins − expected wins| of a player


class Curvature(NamedTuple):
    """The information matrix diag(d) − s sᵀ∘K, kept in parts."""

    diagonal: Array
    s: Array
    kernel: Array  # [players, players], m_ij / (s_i + s_j)²

    def times(self, v: Array) -> Array:
        return self.diagonal * v - self.s * (self.kernel @ (self.s * v))

    def dense(self) -> Array:
        """The matrix itself, in the kernel's place: the parts cannot be used afterwards."""
        matrix = self.kernel
        matrix *= -self.s[:, None]
        matrix *= self.s[None, :]
        matrix[np.diag_indices_from(matrix)] = self.diagonal
        return matrix


def separated_groups(matrix: WinMatrix) -> list[NDArray[np.int64]]:
    """Players by strongly connected part of the win graph; one part exactly when b̂ is finite.

    Ford (1957): between two parts one side won everything, or they never met.
    """
    beats = matrix.wins > 0
    if _reaches_all(beats) and _reaches_all(beats.T):
        return [np.arange(len(beats))]
    _, part = connected_components(csr_array(beats), directed=True, connection="strong")
    return [np.flatnonzero(part == label) for label in range(part.max() + 1)]


def _reaches_all(edges: NDArray[np.bool_]) -> bool:
    reached = np.zeros(len(edges), bool)
    frontier = np.array([0])
    while len(frontier):
        reached[frontier] = True
        frontier = np.flatnonzero(edges[frontier].any(axis=0) & ~reached)
    return bool(reached.all())


def solve(matrix: WinMatrix, *, prior: float = 0.0, start: Array | None = None) -> EppSolution:
    """Damped Newton to the maximum of the (penalised) likelihood.

    `prior` is the weight of one drawn match of every player against a phantom of strength 0; it
    makes the maximum finite when players are separated. The win graph must be strongly connected
    if it is 0.
    """
    total, played = matrix.wins.sum(axis=1), matrix.played.sum(axis=1)
    rate = (total + 0.5) / (played + 1)
    strength = np.log(rate / (1 - rate)) if start is None else start.astype(np.float64)
    room = Room(np.empty_like(matrix.played), np.empty_like(matrix.played))

    def evaluate(b: Array) -> tuple[Array, Curvature]:
        return derivatives(b, total, matrix.played, prior, room)

    def move(_: Array, curvature: Curvature, gradient: Array) -> Array:
        return _newton_move(curvature, gradient, anchored=prior > 0)

    return climb(evaluate, move, strength)


def climb(
    evaluate: Callable[[Array], tuple[Array, Information]],
    newton_move: Callable[[Array, Information, Array], Array],
    strength: Array,
) -> EppSolution:
    """Damped Newton: `evaluate` gives gradient and information, `newton_move` the step they ask for."""
    gradient, information = evaluate(strength)
    for step in range(1, MAX_STEPS + 1):
        move = newton_move(strength, information, gradient)
        move *= min(1.0, STEP_CAP / max(np.abs(move).max(), 1e-300))
        slope = gradient @ move
        for _ in range(30):
            tried = strength + move
            gradient, information = evaluate(tried)
            if abs(gradient @ move) <= 0.9 * abs(slope) or np.abs(move).max() < TOLERANCE:
                break
            move *= 0.5  # the slope along the step turned as steep the other way: it went too far
            slope *= 0.5
        strength = tried
        if np.abs(move).max() < TOLERANCE:
            mean = strength.mean()
            return EppSolution(strength - mean, float(-mean), step, float(np.abs(gradient).max()))
    raise ConvergenceError(
        f"EPP stopped after {MAX_STEPS} Newton steps with a gradient of {np.abs(gradient).max():.2g}. "
        "Some players are almost separated: add rounds, or set a prior of one match (prior=1)."
    )


class Room(NamedTuple):
    """Two n × n arrays to work in, so that a Newton step asks for no memory."""

    sums: Array
    kernel: Array


def derivatives(
    b: Array, total: Array, played: Array, prior: float, room: Room | None = None
) -> tuple[Array, Curvature]:
    """Gradient w − expected wins, and the information, at strengths b.

    The information lives in `room` until the next call with the same room.
    """
    s = np.exp(b)
    sums, kernel = room or Room(np.empty_like(played), np.empty_like(played))
    np.add(s[:, None], s[None, :], out=sums)
    np.divide(played, sums, out=kernel)
    gradient = total - s * (kernel @ np.ones_like(s))
    np.divide(kernel, sums, out=kernel)
    diagonal = s * (kernel @ s)
    if prior:
        p = s / (1 + s)
        gradient = gradient + prior * (0.5 - p)
        diagonal = diagonal + prior * p * (1 - p)
    return gradient, Curvature(diagonal, s, kernel)


def _newton_move(curvature: Curvature, gradient: Array, *, anchored: bool) -> Array:
    if len(gradient) <= DENSE_PLAYERS:
        return ContrastSolver(curvature, anchored=anchored)(gradient)
    return _conjugate_gradients(curvature, gradient, anchored=anchored)


def _conjugate_gradients(curvature: Curvature, gradient: Array, *, anchored: bool) -> Array:
    """H⁻¹g by conjugate gradients, scaled by the diagonal; tighter as the gradient shrinks."""
    largest = np.abs(gradient).max()
    target = largest * np.clip(largest / curvature.diagonal.max(), 1e-5, 1e-2)
    x = np.zeros_like(gradient)
    residual = gradient if anchored else gradient - gradient.mean()
    z = residual / curvature.diagonal
    direction, rho = z, residual @ z
    for _ in range(CG_STEPS):
        if np.abs(residual).max() <= target or rho == 0:
            break
        image = curvature.times(direction)
        alpha = rho / (direction @ image)
        x = x + alpha * direction
        residual = residual - alpha * image
        z = residual / curvature.diagonal
        previous, rho = rho, residual @ z
        direction = z + (rho / previous) * direction
    return x


class ContrastSolver:
    """H⁻¹ on contrasts, from one Cholesky factor.

    Without a prior H annihilates the constant vector, so a multiple of 11ᵀ is added; right-hand
    sides that sum to zero never see it.
    """

    def __init__(self, curvature: Curvature, *, anchored: bool) -> None:
        matrix = curvature.dense()
        if not anchored:
            matrix += curvature.diagonal.mean() / len(matrix)
        self._factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def __call__(self, right: Array) -> Array:
        return np.asarray(cho_solve(self._factor, right, check_finite=False))


def contrast_solver(matrix: WinMatrix, solution: EppSolution, prior: float) -> ContrastSolver:
    """The solver at the solution."""
    at = solution.strength - solution.origin
    _, curvature = derivatives(at, at, matrix.played, prior)
    return ContrastSolver(curvature, anchored=prior > 0)


def log_likelihood(matrix: WinMatrix, strength: Array) -> float:
    """Σ_i w_i b_i − Σ_{i<j} m_ij log(e^{b_i} + e^{b_j})."""
    s = np.exp(strength)
    pairs = s[:, None] + s[None, :]
    np.log(pairs, out=pairs)
    pairs *= matrix.played
    return float(matrix.wins.sum(axis=1) @ strength - 0.5 * pairs.sum())
