"""Item–rest correlations against NumPy, and whether their intervals cover."""

import numpy as np
import pytest
from item_worlds import item_world

from camilla.statistics.items import item_rest


def test_the_correlation_is_that_of_numpy_with_missing_left_out() -> None:
    rng = np.random.default_rng(1)
    matrix = (rng.random((30, 8)) < 0.6).astype(float)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    found = item_rest(matrix)
    for j in range(8):
        seen = ~np.isnan(matrix[:, j])
        rest = np.nanmean(np.delete(matrix, j, axis=1)[seen], axis=1)
        assert found.r[j] == pytest.approx(np.corrcoef(matrix[seen, j], rest)[0, 1], abs=1e-12)


def test_samples_that_do_not_vary_have_no_correlation() -> None:
    matrix = np.column_stack(
        [np.ones(9), np.zeros(9), np.tile([0.0, 1.0, 1.0], 3), np.tile([1.0, 0.0, 0.0], 3)]
    )
    found = item_rest(matrix)
    assert np.isnan(found.r[:2]).all()
    assert np.isnan(found.low[:2]).all()
    assert np.isfinite(found.r[2:]).all()


def covered(n_learners: int, n_samples: int, seed: int) -> float:
    """Share of intervals that hold the correlation of the whole population of learners."""
    world = item_world(seed, n_learners, n_samples)
    found, truth = item_rest(world.responses), world.item_rest()
    known = np.isfinite(found.low)
    return float(np.mean((found.low <= truth)[known] & (truth <= found.high)[known]))


def test_95_percent_intervals_cover_about_95_percent() -> None:
    """100 tables of 60 samples: correlations of a table hang together, its share varies by about .05, the
    mean of 100 by .005; the limits asked for are 93 to 97 %."""
    shares = [covered(80, 60, seed) for seed in range(100)]
    assert 0.93 < np.mean(shares) < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("size", [(30, 100), (60, 150), (134, 200), (400, 60)])
def test_95_percent_intervals_cover_over_500_tables(size: tuple[int, int]) -> None:
    shares = [covered(*size, seed) for seed in range(500)]
    assert 0.93 < np.mean(shares) < 0.97
