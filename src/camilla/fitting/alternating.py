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
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.fitting.factors import Bilinear

MOST_SWEEPS = 400
SETTLED = 1e-6  # the largest move of an ability in a sweep, in units of the prior's standard deviation
LONGEST_STEP = 1.0  # of a single number in one Newton step: the logistic curve is far from a parabola
MOST_STRETCH = (
    2.0  # of a unit in one move: before loadings have grown the priors would have a dimension vanish
)
SMALLEST = 3  # rows of a matrix that Gauss's method solves sooner than LAPACK
MOST_STEPS = 50  # of Newton's method towards the best move
SMALL_STEP = 1e-3  # after which a move is good enough, in units of the abilities
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
            watch(f"{lost}; continuing from the last saved state")


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
    information = full(sums.information, len(precision)) + precision[:, :, None]
    return shortened(np, solved(information, (sums.slope - ability @ precision).T).T)


def shortened(xp: Any, step: Any) -> Any:
    """The step, its longest number no longer than the longest step."""
    longest = xp.abs(step).max(axis=-1, keepdims=True)
    return step * (LONGEST_STEP / xp.maximum(longest, LONGEST_STEP))


@cache
def _triangle(width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the upper triangle: NumPy takes as long to find them as to use them."""
    return np.triu_indices(width)


def full(pairs: Floats, width: int) -> Floats:
    """Symmetric matrices [width, width, n] of their upper triangles [n, pairs]: a plane for each number."""
    first, second = _triangle(width)
    out = np.empty((width, width, len(pairs)))
    out[first, second] = out[second, first] = pairs.T
    return out


def solved(matrix: Floats, right: Floats) -> Floats:
    """x of matrix · x = right for many small positive matrices; both are used up.

    matrix: [width, width, n]; right: [width, n]. The smallest are solved by Gauss's method, a step for all of
    them at once; LAPACK, which takes one after the other, spends half a microsecond on each.
    """
    width = len(right)
    if width > SMALLEST:
        return np.linalg.solve(matrix.transpose(2, 0, 1), right.T[..., None])[..., 0].T
    for k in range(width - 1):
        share = matrix[k + 1 :, k] / matrix[k, k]
        matrix[k + 1 :, k + 1 :] -= share[:, None] * matrix[k, k + 1 :]
        right[k + 1 :] -= share * right[k]
    for k in range(width - 1, -1, -1):
        right[k] -= (matrix[k, k + 1 :] * right[k + 1 :]).sum(axis=0)
        right[k] /= matrix[k, k]
    return right


def pairs_of(xp: Any, rows: Any) -> Any:
    """Products of all pairs of columns, the upper triangle: [n, pairs]."""
    first, second = _triangle(rows.shape[1])
    return xp.take(rows, first, axis=1) * xp.take(rows, second, axis=1)


def best_move(problem: Bilinear, ability: Floats, sums: SampleSums, n_samples: int) -> Move:
    """The move along which the priors of abilities, loadings and intercepts rise most.

    Of ½ Σ (u − m)' MPM' (u − m) + ½ λ Σ |M⁻¹ v − μ|² + ½ κ Σ (c + v'm)² the minimum over m and M; M = I where
    loadings are fixed or may not be mixed. By Newton's method, up to a small step: what its square leaves is
    found after the next sweep.
    """
    dims = ability.shape[1]
    priors = _Priors(problem, ability, sums, n_samples)
    x, value = np.zeros(dims + len(priors.ways)), None
    for _ in range(MOST_STEPS):
        slope, bend = priors.slope_and_bend(x)
        step = -_downhill(bend, slope)
        if np.abs(step).max() < SMALL_STEP:
            x = x + step
            break
        value = priors.value(x) if value is None else value
        while not (trial := priors.value(x + step)) <= value and np.abs(step).max() > SMALL_STEP:
            step = step / 2
        x, value = x + step, trial
    left, size, right = np.linalg.svd(priors.unit(x))
    unit = (left * np.clip(size, 1 / MOST_STRETCH, MOST_STRETCH)) @ right
    return Move(x[:dims], unit)


def _downhill(bend: Floats, slope: Floats) -> Floats:
    """bend⁻¹ slope; where the function bends down, as if it bent up as much."""
    try:
        np.linalg.cholesky(bend)
    except np.linalg.LinAlgError:
        size, across = np.linalg.eigh(bend)
        return (across / np.maximum(np.abs(size), 1e-9 * np.abs(size).max())) @ (across.T @ slope)
    return np.linalg.solve(bend, slope)


class _Priors:
    """What the priors say against a move x: its origin, then how far the unit goes each way."""

    def __init__(self, problem: Bilinear, ability: Floats, sums: SampleSums, n_samples: int) -> None:
        self.problem, self.sums = problem, sums
        self.n, self.dims = ability.shape
        self.total, self.square = ability.sum(axis=0), ability.T @ ability
        free = problem.free.all() and not problem.positive
        self.ways = _ways(tuple(problem.loading_mean)) if free else np.zeros((0, self.dims, self.dims))
        self.flat = self.ways.reshape(len(self.ways), self.dims**2)
        self.scale = 1 / max(self.n, n_samples)

    def unit(self, x: Floats) -> Floats:
        return np.eye(self.dims) + (x[self.dims :] @ self.flat).reshape(self.dims, self.dims)

    def value(self, x: Floats) -> float:
        """Infinite where a dimension is left without unit."""
        m, unit, problem, sums = x[: self.dims], self.unit(x), self.problem, self.sums
        try:
            inverse = np.linalg.inv(unit)
        except np.linalg.LinAlgError:
            return np.inf
        held = unit @ problem.ability_precision @ unit.T
        value = 0.5 * np.vdot(self._spread(m), held)
        value += problem.intercept_precision * (sums.intercept @ m + 0.5 * m @ sums.square @ m)
        turned = np.vdot(inverse @ sums.square, inverse) - 2 * problem.loading_mean @ inverse @ sums.loading
        return float(self.scale * (value + 0.5 * problem.loading_precision * turned))

    def slope_and_bend(self, x: Floats) -> tuple[Floats, Floats]:
        """First and second derivatives."""
        m, unit, problem, sums = x[: self.dims], self.unit(x), self.problem, self.sums
        inverse, spread, precision = np.linalg.inv(unit), self._spread(m), problem.ability_precision
        held, away = unit @ precision @ unit.T, self.n * m - self.total
        pulled = problem.loading_precision * (
            inverse @ sums.square - np.outer(problem.loading_mean, sums.loading)
        )  # the slope by M⁻¹
        by_m = held @ away + problem.intercept_precision * (sums.intercept + sums.square @ m)
        by_unit = spread @ unit @ precision - inverse.T @ pulled @ inverse.T
        turns = inverse @ self.ways @ inverse  # what each way takes from M⁻¹
        own = self._inner(spread @ self.ways @ precision, self.ways)
        own += problem.loading_precision * self._inner(turns @ sums.square, turns)
        twice = self._inner((inverse @ pulled.T @ turns).transpose(0, 2, 1), self.ways)
        across = self.ways @ (precision @ unit.T @ away) + (away @ self.ways) @ (unit @ precision).T
        origin = self.n * held + problem.intercept_precision * sums.square
        bend = np.block([[origin, across.T], [across, own + twice + twice.T]])
        slope = np.concatenate([by_m, self.flat @ by_unit.ravel()])
        return self.scale * slope, self.scale * bend

    def _spread(self, origin: Floats) -> Floats:
        """Σ (u − m)(u − m)'."""
        shift = np.outer(origin, self.total)
        return self.square - shift - shift.T + self.n * np.outer(origin, origin)

    @staticmethod
    def _inner(first: Floats, second: Floats) -> Floats:
        """Of every matrix with every other."""
        size = first[0].size if len(first) else 0
        return first.reshape(len(first), size) @ second.reshape(len(second), size).T


@cache
def _ways(mean: tuple[float, ...]) -> Floats:
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
