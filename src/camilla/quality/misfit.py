"""When infit and outfit are unusual."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class MeanSquares(NamedTuple):
    """Mean squares of a sample's residuals, expected to be 1, and how far off that they are."""

    infit: Floats
    outfit: Floats
    infit_z: Floats
    outfit_z: Floats


def mean_squares(matrix: Floats, predicted: Floats) -> MeanSquares:
    """Wright and Masters (1982): with W = p(1 − p), kurtosis C = W(1 − 3W) and n learners,

        infit = Σ(x − p)² / ΣW,      variance Σ(C − W²) / (ΣW)²
        outfit = mean of (x − p)²/W, variance Σ(C/W²)/n² − 1/n

    and z by the cube root of Wilson and Hilferty. Both matrices are [learners, samples], NaN is missing.
    """
    seen = ~np.isnan(matrix)
    n = seen.sum(axis=0)
    p = np.clip(predicted, 1e-9, 1 - 1e-9)
    variance = np.where(seen, p * (1 - p), 0.0)
    square = np.where(seen, (np.where(seen, matrix, 0.0) - p) ** 2, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = variance.sum(axis=0)
        infit = square.sum(axis=0) / total
        outfit = np.where(seen, square / (p * (1 - p)), 0.0).sum(axis=0) / n
        infit_spread = np.sqrt((variance * (1 - 4 * variance)).sum(axis=0)) / total
        outfit_spread = np.sqrt(np.where(seen, 1 / (p * (1 - p)) - 3, 0.0).sum(axis=0) / n**2 - 1 / n)
    return MeanSquares(infit, outfit, _cube_root_z(infit, infit_spread), _cube_root_z(outfit, outfit_spread))


def _cube_root_z(square: Floats, spread: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (np.cbrt(square) - 1) * 3 / spread + spread / 3
