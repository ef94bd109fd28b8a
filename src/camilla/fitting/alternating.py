"""Logit-bilinear fits of tables too large for one array: samples stay in shards, learners travel.

The mode of Σ log-likelihood + log-prior over logit = ability · loading + intercept is reached by turns. Each
shard takes a Newton step for every sample it holds, from the learners' abilities alone, and sends back what
its samples say of the learners: slopes and information, a few numbers per learner. These are summed, and
every learner takes a Newton step. Turns alone would crawl along the directions in which abilities and
loadings can be exchanged without changing a logit (origin and unit of the abilities), so after each turn both
are moved along these to where the priors are highest, which takes sums of the loadings and no response.

A shard may be an array in memory, a file, an actor on another machine or an accelerator: whoever can answer
`Workers.sweep`. Sums are taken in the order of shards, so that who holds them does not change a digit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import minimize

from camilla.arrays import Floats, Watch
from camilla.fitting.factors import Bilinear

MOST_SWEEPS = 400
SETTLED = 1e-6  # the largest move of an ability in a sweep, in units of the prior's standard deviation
LONGEST_STEP = 1.0  # of a single number in one Newton step: the logistic curve is far from a parabola
MOST_STRETCH = (
    2.0  # of a unit in one move: before loadings have grown the priors would have a dimension vanish
)
KEEP_EVERY = 5  # sweeps after which the state of all shards is kept


class Move(NamedTuple):
    """Abilities become (u − origin) M, loadings M⁻¹ v and intercepts c + v · origin: no logit changes."""

    origin: Floats  # [dims]
    unit: Floats  # [dims, dims], M

    @property
    def inverse(self) -> Floats:
        return np.linalg.inv(self.unit)


class SampleSums(NamedTuple):
    """What a move needs to know of the samples."""

    loading: Floats  # [dims], Σ v
    square: Floats  # [dims, dims], Σ v v'
    intercept: Floats  # [dims], Σ c v
    step: float  # the largest step that a sample took


class LearnerSums(NamedTuple):
    """What the samples of a shard say of the learners."""

    slope: Floats  # [learners, dims], Σⱼ (x − p) v
    information: Floats  # [learners, pairs], Σⱼ p(1 − p) v v', the upper triangle


class SampleState(NamedTuple):
    """The factors of a shard's samples."""

    loading: Floats  # [samples, dims]
    intercept: Floats  # [samples]


class State(NamedTuple):
    """Where a fit stands after a sweep: enough to go on from."""

    sweep: int
    ability: Floats  # [learners, dims]
    samples: tuple[SampleState, ...]  # of each shard


class Workers(Protocol):
    """Whoever holds the shards."""

    n_learners: int
    settled: float  # how far abilities may still move in the last sweep

    def start(self, problem: Bilinear, ability: Floats, states: Sequence[SampleState] | None) -> None:
        """Begin from these factors of samples; without any, from those of their means."""
        ...

    def sweep(self, ability: Floats, move: Move | None) -> tuple[LearnerSums, SampleSums]:
        """Move the samples, let each take a Newton step, and sum what they say then."""
        ...

    def states(self) -> tuple[SampleState, ...]: ...

    def close(self) -> None:
        """Lets go of what was held."""
        ...


class Reached(NamedTuple):
    """Where the turns ended."""

    ability: Floats
    samples: tuple[SampleState, ...]
    sweeps: int
    change: float  # the largest step of the last sweep
    converged: bool


class Keeper(Protocol):
    """Where states are kept."""

    def keep(self, state: State) -> None: ...

    def kept(self) -> State | None: ...


class WorkerLostError(Exception):
    """A worker went away; its shard was loaded again elsewhere, and the sweep must be repeated."""


class InMemory:
    """Keeps the last state for as long as the process lives."""

    def __init__(self) -> None:
        self._state: State | None = None

    def keep(self, state: State) -> None:
        self._state = state

    def kept(self) -> State | None:
        return self._state


def fit_by_turns(
    problem: Bilinear, workers: Workers, ability: Floats, watch: Watch,
    *, keeper: Keeper | None = None, settled: float | None = None, most: int = MOST_SWEEPS,
) -> Reached:  # fmt: skip
    """The posterior mode, from these abilities or from where the keeper's state stands.

    A worker that is lost sets the fit back to the last state kept, so that it ends where it would have ended.
    """
    keeper = keeper or InMemory()
    settled = workers.settled if settled is None else settled
    while True:
        try:
            return _turns(problem, workers, ability, watch, keeper, settled, most)
        except WorkerLostError as lost:
            watch(f"{lost}; going on from the last state kept")


def _turns(
    problem: Bilinear, workers: Workers, ability: Floats, watch: Watch,
    keeper: Keeper, settled: float, most: int,
) -> Reached:  # fmt: skip
    state = keeper.kept()
    sweep = 0 if state is None else state.sweep
    if state is not None:
        ability = state.ability
    workers.start(problem, ability, None if state is None else state.samples)
    move, change = None, np.inf
    while sweep < most and change > settled:
        sums, of_samples = workers.sweep(ability, move)
        step = _learner_step(problem, ability, sums)
        ability = ability + step
        move = best_move(problem, ability, of_samples, len(problem.free))
        moved = (ability - move.origin) @ move.unit
        change = max(float(np.abs(moved - (ability - step)).max()), of_samples.step)
        ability, sweep = moved, sweep + 1
        watch(f"sweep {sweep}, largest change {change:.1e}")
        if sweep % KEEP_EVERY == 0 and change > settled:
            # the states lack the move that the next sweep would begin with
            keeper.keep(State(sweep, ability, tuple(moved_samples(one, move) for one in workers.states())))
    states = tuple(moved_samples(one, move) for one in workers.states())
    return Reached(ability, states, sweep, change, change <= settled)


def moved_samples(state: SampleState, move: Move | None) -> SampleState:
    """The factors of samples after a move."""
    if move is None:
        return state
    intercept = state.intercept + state.loading @ move.origin
    return SampleState(state.loading @ move.inverse.T, intercept)


def _learner_step(problem: Bilinear, ability: Floats, sums: LearnerSums) -> Floats:
    """(I + P)⁻¹ (slope − P u) of every learner, no number by more than the longest step."""
    precision = problem.ability_precision
    information = full(sums.information, len(precision)) + precision
    step = np.linalg.solve(information, (sums.slope - ability @ precision)[..., None])[..., 0]
    return shortened(np, step)


def shortened(xp: Any, step: Any) -> Any:
    """The step, its longest number no longer than the longest step."""
    longest = xp.abs(step).max(axis=-1, keepdims=True)
    return step * (LONGEST_STEP / xp.maximum(longest, LONGEST_STEP))


def full(pairs: Floats, width: int) -> Floats:
    """Symmetric matrices [n, width, width] of their upper triangles [n, pairs]."""
    first, second = np.triu_indices(width)
    out = np.empty((len(pairs), width, width))
    out[:, first, second] = pairs
    out[:, second, first] = pairs
    return out


def pairs_of(xp: Any, rows: Any) -> Any:
    """Products of all pairs of columns, the upper triangle: [n, pairs]."""
    first, second = np.triu_indices(rows.shape[1])
    return xp.take(rows, first, axis=1) * xp.take(rows, second, axis=1)


def best_move(problem: Bilinear, ability: Floats, sums: SampleSums, n_samples: int) -> Move:
    """The move along which the priors of abilities, loadings and intercepts rise most.

    Of ½ Σ (u − m)' MPM' (u − m) + ½ λ Σ |M⁻¹ v − μ|² + ½ κ Σ (c + v'm)² the minimum over m and M; M = I where
    loadings are fixed or may not be mixed.
    """
    n, dims = ability.shape
    total, square = ability.sum(axis=0), ability.T @ ability
    precision, mean = problem.ability_precision, problem.loading_mean
    ways = _ways(mean) if problem.free.all() and not problem.positive else np.zeros((0, dims, dims))

    def objective(x: Floats) -> tuple[float, Floats]:
        m, unit = x[:dims], np.eye(dims) + np.tensordot(x[dims:], ways, 1)
        spread = square - np.outer(m, total) - np.outer(total, m) + n * np.outer(m, m)
        held = unit @ precision @ unit.T
        shift = sums.square @ m
        value = 0.5 * float(np.sum(spread * held))
        value += problem.intercept_precision * float(sums.intercept @ m + 0.5 * m @ shift)
        by_m = held @ (n * m - total) + problem.intercept_precision * (sums.intercept + shift)
        inverse = np.linalg.inv(unit)
        turned = inverse @ sums.square @ inverse.T
        value += 0.5 * problem.loading_precision * float(np.trace(turned) - 2 * inverse @ sums.loading @ mean)
        by_inverse = problem.loading_precision * (inverse @ sums.square - np.outer(mean, sums.loading))
        by_unit = spread @ unit @ precision - inverse.T @ by_inverse @ inverse.T
        return value, np.concatenate([by_m, np.tensordot(ways, by_unit, 2)])

    scale = 1 / max(n, n_samples)

    def scaled(x: Floats) -> tuple[float, Floats]:
        try:
            value, slope = objective(x)
        except np.linalg.LinAlgError:  # a step that leaves a dimension without unit is too long
            return 1e30, np.zeros_like(x)
        return scale * value, scale * slope

    first = np.zeros(dims + len(ways))
    x = minimize(scaled, first, jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 200}).x
    left, size, right = np.linalg.svd(np.eye(dims) + np.tensordot(x[dims:], ways, 1))
    unit = (left * np.clip(size, 1 / MOST_STRETCH, MOST_STRETCH)) @ right
    return Move(x[:dims], unit)


def _ways(mean: Floats) -> Floats:
    """Directions in which a unit may change: stretches, and turns between dimensions of unlike prior mean.

    Turns between dimensions whose loadings have the same prior change no prior, and are left alone.
    """
    dims = len(mean)
    out = []
    for i in range(dims):
        for j in range(i, dims):
            way = np.zeros((dims, dims))
            way[i, j] = way[j, i] = 1.0
            out.append(way)
            if mean[i] != mean[j]:
                turn = np.zeros((dims, dims))
                turn[i, j], turn[j, i] = 1.0, -1.0
                out.append(turn)
    return np.array(out)
