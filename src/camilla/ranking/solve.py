"""The maximum-likelihood strengths of a win matrix, and whether they exist.

log P(i beats j) = b_i − b_j (Bradley and Terry, 1952; Zermelo, 1929). The log-likelihood
Σ_i w_i b_i − Σ_{i<j} m_ij log(e^{b_i} + e^{b_j}) depends on the data only through total wins w and
matches m, and is concave. With s = e^b no exponential of a pair is ever taken.

Over all rounds i and j play c_i c_j matches, c_i being how many scores i has. So i is expected to win
c_i f(b_i) of them, less c_i²/2 against itself, with f(x) = Σ_j c_j σ(x − b_j): a smooth function of one
number. Its poles lie at distance π from the real line, so that a polynomial through m Chebyshev nodes is
off by ρ⁻ᵐ, ρ = π/h + √(1 + (π/h)²), where 2h is the range of the strengths (Bernstein, 1912; Trefethen,
2013, theorem 8.2). The information is a diagonal less a matrix of rank m, and Woodbury's formula inverts it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from camilla.arrays import sigmoid
from camilla.errors import ConvergenceError
from camilla.ranking.matches import AllRounds, Array, Clustered, WinMatrix

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


FEWEST_PLAYERS = 200  # below, the n × n matrix is as quick
DIGITS = 37.0  # natural logarithms between 1 and the last bit of a float
MARGIN = 4  # nodes more than the bound asks for
NEGLIGIBLE = 1e-16  # eigenvalues of the kernel, beside the largest


class Nodes(NamedTuple):
    """Chebyshev nodes over the strengths, and what carries values at nodes to the strengths."""

    at: Array  # [nodes]
    carry: Array  # [players, nodes]


def chebyshev(b: Array) -> Nodes:
    """As many nodes as the range of b asks for; barycentric interpolation (Berrut and Trefethen, 2004)."""
    middle, half = (b.max() + b.min()) / 2, max(float(np.ptp(b)) / 2, 1e-6)
    steep = np.pi / half
    m = int(np.ceil(DIGITS / np.log(steep + np.sqrt(1 + steep**2)))) + MARGIN
    angle = (2 * np.arange(m) + 1) * np.pi / (2 * m)
    at = middle + half * np.cos(angle)
    gap = b[:, None] - at[None, :]
    hit = np.abs(gap) < 1e-14 * max(half, 1.0)
    gap[hit] = 1.0
    carry = (np.sin(angle) * (-1.0) ** np.arange(m)) / gap
    on_node = hit.any(axis=1)
    carry[on_node] = hit[on_node]
    carry /= carry.sum(axis=1, keepdims=True)
    return Nodes(at, carry)


def expected_wins(nodes: Nodes, b: Array, weight: Array) -> Array:
    """Σ_j weight_j σ(b_i − b_j), j = i included; `weight` may have several columns."""
    return np.asarray(nodes.carry @ (sigmoid(nodes.at[:, None] - b[None, :]) @ weight))


@dataclass(frozen=True, eq=False)
class LowRankInverse:
    """The inverse of the information D − W Wᵀ, on contrasts where no prior anchors the strengths.

    With A = D^{-1/2} W it is D^{-1/2} (I + A (I − AᵀA)⁻¹ Aᵀ) D^{-1/2}. Without a prior AᵀA has one eigenvalue
    1, which belongs to the constant vector and is left out.
    """

    root: Array  # D^{1/2}
    turned: Array  # [players, rank], A times the eigenvectors of AᵀA
    factor: Array  # [rank], 1/√(1 − eigenvalue), 0 for the constant vector

    def __call__(self, right: Array) -> Array:
        scaled = (right.T / self.root).T
        inner = (self.factor**2 * (self.turned.T @ scaled).T).T
        return np.asarray(((scaled + self.turned @ inner).T / self.root).T)

    @property
    def extra(self) -> Array:
        """E with inverse = D⁻¹ + E Eᵀ."""
        return np.asarray(self.turned * self.factor / self.root[:, None])


def _inverse(nodes: Nodes, b: Array, scores: Array, prior: float) -> LowRankInverse:
    p = sigmoid(nodes.at[:, None] - nodes.at[None, :])
    size, directions = np.linalg.eigh(p * (1 - p))
    kept = size > NEGLIGIBLE * size[-1]
    w = scores[:, None] * (nodes.carry @ (directions[:, kept] * np.sqrt(size[kept])))
    diagonal = w @ w.sum(axis=0)
    if prior:
        middle = sigmoid(b)
        diagonal = diagonal + prior * middle * (1 - middle)
    root = np.sqrt(diagonal)
    a = w / root[:, None]
    share, turn = np.linalg.eigh(a.T @ a)
    left = 1 - share
    if not prior:
        left[-1] = np.inf
    return LowRankInverse(root, a @ turn, 1 / np.sqrt(left))


class SmoothFit(NamedTuple):
    """Strengths, and the parts of their covariance F Fᵀ + E Eᵀ + C diag(δ) C; the last two with a prior."""

    solution: EppSolution
    factor: Array  # [players, units]
    extra: Array | None
    diagonal: Array | None


def fit_smooth(record: AllRounds | Clustered, prior: float, start: Array | None = None) -> SmoothFit:
    """Strengths over all rounds with their round-cluster sandwich, in memory of players × rounds."""
    rounds, weights = _parts(record)
    seen = np.isfinite(rounds.merit)
    scores = seen @ weights
    total = rounds.total_wins(weights)

    def evaluate(b: Array) -> tuple[Array, Nodes]:
        nodes = chebyshev(b)
        gradient = total - scores * (expected_wins(nodes, b, scores) - 0.5 * scores)
        return (gradient + prior * (0.5 - sigmoid(b)) if prior else gradient), nodes

    def move(b: Array, nodes: Nodes, gradient: Array) -> Array:
        right = gradient if prior else gradient - gradient.mean()
        return _inverse(nodes, b, scores, prior)(right)

    if start is None:
        rate = (total + 0.5) / (scores * (scores.sum() - scores) + 1)
        start = np.log(rate / (1 - rate))
    solution = climb(evaluate, move, start)
    at = solution.strength - solution.origin
    nodes = chebyshev(at)
    inverse = _inverse(nodes, at, scores, prior)
    pushes = _pushes_by_unit(record, nodes, at)
    factor = inverse(pushes - pushes.mean(axis=1, keepdims=True))
    factor -= factor.mean(axis=0)
    units = factor.shape[1]
    factor = np.ascontiguousarray(factor * np.sqrt(units / max(units - 1, 1)))
    if not prior:
        return SmoothFit(solution, factor, None, None)
    extra = inverse.extra
    return SmoothFit(solution, factor, extra - extra.mean(axis=0), inverse.root**-2)


def _parts(record: AllRounds | Clustered) -> tuple[AllRounds, Array]:
    """The rounds with their weights."""
    if isinstance(record, AllRounds):
        return record, np.ones(record.n_rounds)
    if not isinstance(record.rounds, AllRounds):
        raise TypeError("matches within rounds have no smooth form")
    return record.rounds, record.weights


def _pushes_by_unit(record: AllRounds | Clustered, nodes: Nodes, b: Array) -> Array:
    """What each round, or cluster of rounds, adds to the score of each player."""
    rounds, weights = _parts(record)
    seen = np.isfinite(rounds.merit).astype(np.float64)
    foreseen = expected_wins(nodes, b, seen) - 0.5 * seen
    pushes = rounds.residuals(b, weights, foreseen)
    return pushes if isinstance(record, AllRounds) else np.asarray(pushes @ record.summing)


def overlapping_groups(record: AllRounds | Clustered) -> list[NDArray[np.int64]]:
    """Strongly connected players: those whose ranges of scores overlap, directly or through others."""
    merit = _parts(record)[0].merit
    low, high = np.nanmin(merit, axis=1), np.nanmax(merit, axis=1)
    order = np.argsort(low, kind="stable")
    reached = np.maximum.accumulate(high[order])
    starts = np.flatnonzero(low[order][1:] > reached[:-1]) + 1
    return [np.sort(part) for part in np.split(order, starts)]


def matches_played(record: AllRounds | Clustered) -> float:
    """Matches between different players, each counted once by its weight."""
    rounds, weights = _parts(record)
    scores = np.isfinite(rounds.merit) @ weights
    return float((scores.sum() ** 2 - scores @ scores) / 2)
