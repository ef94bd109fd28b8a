"""Infit and outfit by formulas written out here."""

import numpy as np
import pytest

from camilla.statistics.items import mean_squares


def test_mean_squares_are_the_sums_of_the_textbook() -> None:
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.9, (25, 6))
    x = (rng.random((25, 6)) < p).astype(float)
    x[3, 2] = np.nan
    found = mean_squares(x, p)
    for j in range(6):
        seen = [i for i in range(25) if not np.isnan(x[i, j])]
        square = sum((x[i, j] - p[i, j]) ** 2 for i in seen)
        variance = sum(p[i, j] * (1 - p[i, j]) for i in seen)
        assert found.infit[j] == pytest.approx(square / variance, rel=1e-12)
        each = [(x[i, j] - p[i, j]) ** 2 / (p[i, j] * (1 - p[i, j])) for i in seen]
        assert found.outfit[j] == pytest.approx(sum(each) / len(each), rel=1e-12)


def test_z_is_standard_normal_where_the_model_is_the_truth() -> None:
    """20,000 samples of 100 learners with known p: mean and standard deviation of z are those of N(0, 1) up
    to the cube root's approximation, 0.05; a twentieth beyond ±1.96 up to 1.5 points."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.2, 0.8, (100, 20_000))
    found = mean_squares((rng.random(p.shape) < p).astype(float), p)
    for z in (found.infit_z, found.outfit_z):
        assert abs(z.mean()) < 0.05
        assert abs(z.std() - 1) < 0.05
        assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.05, abs=0.015)
