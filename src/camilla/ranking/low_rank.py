"""Strengths over all rounds without an n × n matrix.

Over all rounds i and j play c_i c_j matches, c_i being how many scores i has. So i is expected to win
c_i f(b_i) of them, less c_i²/2 against itself, with f(x) = Σ_j c_j σ(x − b_j): a smooth function of one
number. Its poles lie at distance π from the real line, so that a polynomial through m Chebyshev nodes is
off by ρ⁻ᵐ, ρ = π/h + √(1 + (π/h)²), where 2h is the range of the strengths (Bernstein, 1912; Trefethen,
2013, theorem 8.2). The information is a diagonal less a matrix of rank m, and Woodbury's formula inverts it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import sigmoid
from camilla.ranking.matches import AllRounds, Array, Clustered
from camilla.ranking.solve import EppSolution, climb

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
