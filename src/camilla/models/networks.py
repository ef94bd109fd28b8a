"""What the networks of several diagnosers are built from: starts, and a pass through layers."""

from itertools import pairwise
from typing import Any

import numpy as np

from camilla.arrays import Floats

RAISE = 0.3


def sigmoid(x: Any, xp: Any) -> Any:
    """1 / (1 + e⁻ˣ) in NumPy or JAX: NumPy's tanh is the quickest and overflows nowhere, JAX has its own."""
    if xp is np:
        return 0.5 * (np.tanh(0.5 * x) + 1)
    from jax.nn import sigmoid as of_jax

    return of_jax(x)


def softmax(x: Any, xp: Any) -> Any:
    """eˣ / Σ eˣ over the last axis."""
    up = xp.exp(x - x.max(axis=-1, keepdims=True))
    return up / up.sum(axis=-1, keepdims=True)


def xavier(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """N(0, 2 / (rows + columns))."""
    return rng.normal(0, np.sqrt(2 / (rows + columns)), (rows, columns)).astype(np.float32)


def released_biases(rng: np.random.Generator, widths: tuple[int, ...]) -> tuple[Floats, ...]:
    """U(±1 / √inputs) for each layer: torch's start of linear layers."""
    bound = [(outputs, 1 / np.sqrt(inputs)) for inputs, outputs in pairwise(widths)]
    return tuple(rng.uniform(-by, by, outputs).astype(np.float32) for outputs, by in bound)


def raised(rows: Floats, level: Floats) -> Floats:
    """Rows moved as a whole to where their learner or sample stands."""
    return (rows + RAISE * level[:, None]).astype(np.float32)


def rising_network(
    rng: np.random.Generator, widths: tuple[int, ...], gain: float, *, rest: float = 0.5, slope: float = 0.25
) -> tuple[Any, Any]:
    """Non-negative weights and biases that pass a gap of either sign on without saturating.

    Xavier's weights leave a monotone network almost flat around 0, where every gap starts; here the
    first layer multiplies by `gain` and each later one is centred on its inputs' `rest` value. The defaults
    are those of σ; tanh rests at 0 with slope 1.
    """
    weights, biases = [], []
    last = len(widths) - 2
    for layer, (inputs, outputs) in enumerate(pairwise(widths)):
        weight = np.abs(rng.normal(0, 1, (inputs, outputs)))
        weight *= gain if layer == 0 else (4 if layer == last else 2) / (slope * inputs)
        weights.append(weight.astype(np.float32))
        biases.append((np.zeros(outputs) if layer == 0 else -rest * weight.sum(axis=0)).astype(np.float32))
    return tuple(weights), tuple(biases)


def through(h: Any, layers: Any, squash: Any, mode: Any) -> Any:
    """[rows]: squashed and dropped layers (weight, bias), the last one linear."""
    *hidden, (last, offset) = layers
    for weight, bias in hidden:
        h = mode.drop(squash(h @ weight + bias))
    return (h @ last + offset)[:, 0]


def sloped_through(h: Any, layers: Any) -> tuple[Any, Any]:
    """In NumPy, layers of σ with the last one linear: [rows], and the slope by each input [rows, inputs]."""
    *hidden, (last, offset) = layers
    seen = []
    for weight, bias in hidden:
        h = sigmoid(h @ weight + bias, np)
        seen.append((weight, h * (1 - h)))
    back = np.broadcast_to(last[:, 0], h.shape)
    for weight, rise in reversed(seen):
        back = (back * rise) @ weight.T
    return (h @ last + offset)[:, 0], back
