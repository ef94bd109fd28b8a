"""What rows and columns of a table of means suggest for its cells: no interaction. Arrays only."""

import numpy as np

from camilla.arrays import Floats, sigmoid

SWEEPS = 60
PRIOR = 1.0  # precision of row and column effects: keeps those of rows that are all right finite
STEP = 4.0  # logits that one sweep may move an effect


def main_effects(mean: Floats, count: Floats) -> Floats:
    """σ(aᵢ + bₖ) fitted to means [rows, columns] of so many responses each; 0 responses: nothing known.

    Maximum of the binomial likelihood (quasi-likelihood of fractions) with a normal prior of variance 1 on
    the effects, around the overall level.
    """
    known = count > 0
    right = np.where(known, mean * count, 0.0)
    total = right.sum() / max(count.sum(), 1e-300)
    level = float(np.log((total + 1e-9) / (1 - total + 1e-9)))
    effects = [np.zeros((1, mean.shape[1])), np.zeros((len(mean), 1))]  # of columns, of rows
    for _ in range(SWEEPS):
        moved = 0.0
        for axis in (1, 0):
            chance = sigmoid(level + effects[0] + effects[1])
            slope = (right - count * chance).sum(axis=axis, keepdims=True) - PRIOR * effects[axis]
            bend = (count * chance * (1 - chance)).sum(axis=axis, keepdims=True) + PRIOR
            step = np.clip(slope / bend, -STEP, STEP)
            effects[axis] = effects[axis] + step
            moved = max(moved, float(np.abs(step).max()))
        if moved < 1e-9:
            break
    return sigmoid(level + effects[0] + effects[1])
