"""The Gibbs chain of `sampler` on an accelerator, where JAX finds one: float32, all cells at once.

The draws are others than the CPU's, of the same posterior. Responses stay on the device as bytes where they
are right or wrong; per sweep only the samples' mean and scatter come back, to draw their distribution.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.extras import needing
from camilla.fitting.sampler import (
    BINS,
    FURTHEST,
    STEPS,
    SUMMED,
    WIDTH,
    Conditional,
    Prior,
    Responses,
    Sums,
    moved,
    quantiles,
)

with needing("sampling on an accelerator"):
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

MISSING = 255  # among responses that are bytes
ROUNDS = 4  # of the search for leading directions
JITTER = 1e-6  # of the information's diagonal, against rounding
EXACT = "highest"  # products in float32 proper


class Data(NamedTuple):
    """Responses as bytes, or weight and response as numbers; [samples, learners]."""

    code: jax.Array | None
    weight: jax.Array | None
    response: jax.Array | None


class State(NamedTuple):
    key: jax.Array
    ability: jax.Array  # [learners, dims]
    factor: jax.Array  # [samples, 1 + dims]
    dispersion: jax.Array


class Drawn(NamedTuple):
    """A sweep's outcome, and what its samples were drawn from."""

    state: State
    middle: jax.Array  # mean of the samples' factors
    scatter: jax.Array  # about it
    total: jax.Array  # of the abilities, in each dimension
    square: jax.Array
    root: jax.Array  # of the samples' information
    linear: jax.Array


class DeviceChain:
    """As `sampler.Chain`."""

    def __init__(self, data: Responses, n_dims: int, rng: np.random.Generator) -> None:
        self.shape, self.n_dims, self.rng = data.weight.shape, n_dims, rng
        plain = not data.fractional and bool(np.isin(data.weight, (0, 1)).all())
        if plain:
            code = np.where(data.weight > 0, data.response, MISSING).astype(np.uint8)
            self._data = Data(jnp.asarray(code), None, None)
        else:
            self._data = Data(
                None, *(jnp.asarray(part, jnp.float32) for part in (data.weight, data.response))
            )
        self._sweep = partial(_sweep, table=jnp.asarray(quantiles()), fractional=data.fractional)
        key = jax.random.key(int(rng.integers(2**31)), impl="rbg")
        self._state = _start(self._data, key, n_dims=n_dims)
        self.prior = Prior(n_dims)
        self.hyper = self.prior.first(self.factor)
        zeros = partial(jnp.zeros, self.shape, jnp.float32)
        self._sums = (zeros(), zeros(), zeros(), jnp.zeros((5, self.shape[0]), jnp.float32))

    def scatter(self) -> None:
        """As `sampler.Chain.scatter`."""
        factor = self.factor + self.rng.standard_normal(self.factor.shape) * self.prior.scale
        self._state = self._state._replace(factor=jnp.asarray(factor, jnp.float32))
        self.hyper = self.prior.first(self.factor)

    @property
    def ability(self) -> Floats:
        return np.asarray(self._state.ability, np.float64)

    @property
    def factor(self) -> Floats:
        return np.asarray(self._state.factor, np.float64)

    @property
    def dispersion(self) -> float:
        return float(self._state.dispersion)

    def sweep(self, *, keep_conditional: bool = False) -> Conditional | None:
        """Weights, learners, samples and hyper-parameters, each given all others."""
        precision = jnp.asarray(self.hyper.precision, jnp.float32)
        pull = jnp.asarray(self.hyper.precision @ self.hyper.mean, jnp.float32)
        drawn = self._sweep(self._data, self._state, precision, pull)
        self._state = drawn.state
        middle, scatter, total, square = (np.asarray(part, np.float64) for part in drawn[1:5])
        self.hyper = self.prior.draw(self.rng, self.shape[0], middle, scatter, self.hyper)
        if not keep_conditional:
            move = moved(self.prior, self.rng, self.hyper, self.shape[1], total, square)
            self._state = _moved(self._state, jnp.asarray(move.shift), jnp.asarray(move.stretch))
            self.hyper = move.hyper
            return None
        mean, root = _conditional(drawn.root, drawn.linear)
        return Conditional(np.asarray(mean), np.asarray(root))

    def tally(self) -> Floats:
        """Counts the present draw in, and gives its expected scores on all samples."""
        scores, self._sums = _tally(self._state, self._sums)
        return np.asarray(scores, np.float64)

    def sums(self) -> Sums:
        """Of the draws that were counted in."""
        return Sums(*(np.array(part) for part in self._sums))


def accelerator() -> str | None:
    """What JAX runs on if that is no CPU; JAX_PLATFORMS=cpu in the environment keeps it on the CPU."""
    backend = str(jax.default_backend())
    return None if backend == "cpu" else backend


def _weighted(data: Data) -> tuple[jax.Array, jax.Array]:
    """Weight and response of every cell."""
    if data.code is not None:
        return (data.code != MISSING).astype(jnp.float32), (data.code == 1).astype(jnp.float32)
    assert data.weight is not None
    assert data.response is not None
    return data.weight, data.response


@partial(jax.jit, static_argnames=("n_dims",))
def _start(data: Data, key: jax.Array, *, n_dims: int) -> State:
    """Logits of means, and the leading directions of what they leave over, found by iteration."""
    weight, response = _weighted(data)

    def shrunk_logit(axis: int) -> jax.Array:
        right = (weight * response).sum(axis=axis) + 0.5
        wrong = (weight * (1 - response)).sum(axis=axis) + 0.5
        return jnp.log(right) - jnp.log(wrong)

    level, easiness = shrunk_logit(0), shrunk_logit(1)
    n_samples, n_learners = weight.shape
    level = (level - level.mean()) / jnp.maximum(level.std(), 1e-6)
    left = weight * (response - jax.nn.sigmoid(easiness[:, None] + level))
    key, other = jax.random.split(key)
    lead = jax.random.normal(other, (n_learners, n_dims - 1))
    for _ in range(ROUNDS if n_dims > 1 else 0):
        lead = jnp.linalg.qr(left.T @ (left @ lead))[0]
    lead = lead * jnp.sqrt(n_learners)
    ability = jnp.column_stack([level, lead])
    factor = jnp.column_stack([easiness, jnp.ones(n_samples), 2 * left @ lead / n_learners])
    return State(key, ability, factor, jnp.float32(1))


def _mean_weight(z: jax.Array) -> jax.Array:
    z = jnp.maximum(z, 1e-3)
    return 0.5 * jnp.tanh(0.5 * z) / z


def _polya_gamma(key: jax.Array, logit: jax.Array, table: jax.Array) -> jax.Array:
    z = jnp.abs(logit)
    row = jnp.minimum(z * (1 / WIDTH), STEPS - 1).astype(jnp.int32)
    column = jax.random.bits(key, z.shape, jnp.uint16) % BINS
    return table[row * BINS + column] * _mean_weight(z)


def _polya_gamma_sum(key: jax.Array, count: jax.Array, logit: jax.Array, table: jax.Array) -> jax.Array:
    z = jnp.maximum(jnp.abs(logit), 0.02)
    mean, slope = _mean_weight(z), jnp.tanh(0.5 * z)
    variance = (slope - 0.5 * z * (1 - slope**2)) / (2 * z**3)
    total, rest, small = jnp.zeros_like(logit), count, count.max() < SUMMED
    for _ in range(SUMMED - 1):
        key, other = jax.random.split(key)
        whole = small & (rest >= 1 - 1e-6)
        total = total + jnp.where(whole, _polya_gamma(other, logit, table), 0)
        rest = rest - whole
    shape = jnp.maximum(rest, 0) * mean**2 / variance
    part = jax.random.gamma(key, jnp.maximum(shape, 1e-6)) * (variance / mean)
    return total + jnp.where(rest > 1e-3, part, 0)


def _omega(
    key: jax.Array, data: Data, state: State, logit: jax.Array, table: jax.Array, fractional: bool
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Weights, what pulls on the logits, and the dispersion."""
    weight, response = _weighted(data)
    if data.code is not None:
        return _polya_gamma(key, logit, table) * weight, weight * (response - 0.5), state.dispersion
    dispersion = jnp.float32(1)
    if fractional:
        p = jax.nn.sigmoid(logit)
        dispersion = jnp.sum(weight * (response - p) ** 2) / jnp.sum(weight * p * (1 - p))
        dispersion = jnp.clip(dispersion, 1e-3, 1)
    count = weight / dispersion
    return _polya_gamma_sum(key, count, logit, table), count * (response - 0.5), dispersion


def _design(ability: jax.Array) -> jax.Array:
    return jnp.column_stack([jnp.ones(len(ability)), ability])


def _logit(state: State) -> jax.Array:
    return jnp.matmul(state.factor, _design(state.ability).T, precision=EXACT)


@partial(jax.jit, static_argnames=("fractional",))
def _sweep(
    data: Data, state: State, precision: jax.Array, pull: jax.Array, *, table: jax.Array, fractional: bool
) -> Drawn:
    key, for_weights, for_learners, for_samples = jax.random.split(state.key, 4)
    logit = _logit(state)
    omega, drag, dispersion = _omega(for_weights, data, state, logit, table, fractional)
    loading = state.factor[:, 1:]
    information = _squares(omega.T, loading) + jnp.eye(loading.shape[1])
    linear = jnp.matmul((drag - omega * state.factor[:, :1]).T, loading, precision=EXACT)
    ability, _ = _normal(for_learners, information, linear)
    design = _design(ability)
    information = _squares(omega, design) + precision
    linear = jnp.matmul(drag, design, precision=EXACT) + pull
    factor, root = _normal(for_samples, information, linear)
    factor = jnp.clip(factor, -FURTHEST, FURTHEST)
    middle = factor.mean(axis=0)
    away = factor - middle
    scatter = jnp.matmul(away.T, away, precision=EXACT)
    total, square = ability.sum(axis=0), (ability**2).sum(axis=0)
    state = State(key, ability, factor, dispersion)
    return Drawn(state, middle, scatter, total, square, root, linear)


@jax.jit
def _moved(state: State, shift: jax.Array, stretch: jax.Array) -> State:
    level = state.factor[:, :1] - jnp.matmul(state.factor[:, 1:], shift, precision=EXACT)[:, None]
    factor = jnp.concatenate([level, state.factor[:, 1:] * stretch], axis=1)
    return state._replace(ability=(state.ability + shift) / stretch, factor=factor)


def _squares(omega: jax.Array, rows: jax.Array) -> jax.Array:
    """Σ ω x x' over the rows x, for each row of ω: through the upper triangles, half the work."""
    width = rows.shape[1]
    i, j = np.triu_indices(width)
    upper = jnp.matmul(omega, rows[:, i] * rows[:, j], precision=EXACT)
    where = np.empty((width, width), np.intp)
    where[i, j] = where[j, i] = np.arange(len(i))
    return upper[:, where]


def _normal(key: jax.Array, information: jax.Array, linear: jax.Array) -> tuple[jax.Array, jax.Array]:
    """N(P⁻¹ linear, P⁻¹) for each information P, and the roots of P."""
    diagonal = jnp.diagonal(information, axis1=1, axis2=2)
    root = jnp.linalg.cholesky(information + JITTER * diagonal[:, :, None] * jnp.eye(linear.shape[1]))
    x = solve_triangular(root, linear[:, :, None], lower=True)
    x = x + jax.random.normal(key, x.shape)
    return solve_triangular(root, x, lower=True, trans=1)[:, :, 0], root


@jax.jit
def _conditional(root: jax.Array, linear: jax.Array) -> tuple[jax.Array, jax.Array]:
    width = root.shape[1]
    inverse = solve_triangular(root, jnp.broadcast_to(jnp.eye(width), root.shape), lower=True)
    inverse = jnp.swapaxes(inverse, 1, 2)
    mean = jnp.einsum("jkl,jml,jm->jk", inverse, inverse, linear, precision=EXACT)
    return mean, inverse


@partial(jax.jit, donate_argnums=(1,))
def _tally(state: State, sums: Any) -> tuple[jax.Array, Any]:
    logit = _logit(state)
    chance = jax.nn.sigmoid(logit)
    level = logit.mean(axis=0)
    level = (level - level.mean()) / jnp.maximum(level.std(), 1e-9)
    slope = jnp.matmul(logit, level, precision=EXACT) / len(level)
    middle = logit.mean(axis=1)
    slopes = jnp.stack([slope, middle, slope**2, middle**2, slope * middle])
    total = (sums[0] + chance, sums[1] + logit, sums[2] + logit**2, sums[3] + slopes)
    return chance.mean(axis=0), total
