"""How much less than right/wrong responses fractional ones vary, and intervals of difficulty, by hand."""

import numpy as np
import polars as pl
import pytest
from item_worlds import item_world

from camilla.diagnosing import diagnose
from camilla.samples.sample_flags import KeyFit, judging_fit, mean_dispersion
from camilla.table.responses import ResponseTable


def pearson(response: np.ndarray, p: np.ndarray, weight: np.ndarray, fitted: int) -> float:
    """Σ w (x − p)² / (p (1 − p)) over n cells, by n less the fitted numbers, which count for half at most."""
    seen = weight > 0
    n = int(seen.sum())
    total = 0.0
    for x, chance, w in zip(response[seen], p[seen], weight[seen], strict=True):
        total += w * (x - chance) ** 2 / (chance * (1 - chance))
    return total / (n - min(fitted, n // 2))


@pytest.mark.parametrize("shape", [(20, 60), (3, 8)])  # the second has fewer cells than twice its parameters
def test_the_dispersion_of_scores_is_pearsons_chi_square_per_degree_of_freedom(
    shape: tuple[int, int],
) -> None:
    """Fitted are an ability per learner, a slope and an intercept per sample."""
    n, m = shape
    world = item_world(1, n, m, dispersion=0.2)
    world.responses[0, :3] = np.nan
    found = diagnose(ResponseTable.from_matrix(world.responses), "irt", precision=3.0)
    params = found.params
    p = 1 / (1 + np.exp(-(params.ability[:, :1] * params.loading[:, 0] + params.intercept)))
    weight = np.ones(shape)
    weight[0, :3] = 0
    # learners and samples of from_matrix are in the order of their names
    truth = pearson(world.responses, p, weight, n + 2 * m)
    assert found.readout.dispersion == pytest.approx(truth, rel=1e-9)


def test_right_or_wrong_responses_have_none() -> None:
    found = diagnose(ResponseTable.from_matrix(item_world(1, 20, 60).responses), "irt", precision=3.0)
    assert found.readout.dispersion == 1


def test_scores_that_vary_a_fifth_as_much_have_a_dispersion_of_a_fifth() -> None:
    """Beta(kp, k(1 − p)) has the variance p(1 − p)/(k + 1), here a fifth; 3,000 cells, five percent."""
    world = item_world(2, 50, 60, dispersion=0.2)
    found = diagnose(ResponseTable.from_matrix(world.responses), "irt", precision=3.0)
    assert found.readout.dispersion == pytest.approx(0.2, rel=0.1)


def test_standard_errors_shrink_with_the_root_of_the_dispersion() -> None:
    """The sample information of a 2PL by hand: Σ p(1 − p)(θ, 1)(θ, 1)' + prior; intercept and slope to
    difficulty b = −c/a by the delta method, then √dispersion."""
    world = item_world(3, 40, 30, dispersion=0.2)
    found = diagnose(ResponseTable.from_matrix(world.responses), "irt", precision=3.0)
    problem = found.diagnoser.problem()
    theta, a, c = found.params.ability[:, 0], found.params.loading[:, 0], found.params.intercept
    mean, sd = theta.mean(), theta.std()
    for j in (0, 7, 21):
        p = 1 / (1 + np.exp(-(theta * a[j] + c[j])))
        design = np.column_stack([theta, np.ones(40)])
        information = (design * (p * (1 - p))[:, None]).T @ design
        information += np.diag([problem.loading_precision, problem.intercept_precision])
        covariance = np.linalg.inv(information)
        slope_of_difficulty = np.array([c[j] / a[j] ** 2 / sd, -1 / a[j] / sd])  # of (−c/a − mean)/sd
        se = np.sqrt(slope_of_difficulty @ covariance @ slope_of_difficulty * found.readout.dispersion)
        assert found.readout.difficulty[j] == pytest.approx((-c[j] / a[j] - mean) / sd, rel=1e-6)
        assert found.readout.difficulty_se[j] == pytest.approx(se, rel=1e-6)
        row = found.samples.row(j, named=True)
        assert row["difficulty_high"] - row["difficulty"] == pytest.approx(1.959964 * se, rel=1e-6)
        assert row["difficulty"] - row["difficulty_low"] == pytest.approx(1.959964 * se, rel=1e-6)


def test_the_dispersion_of_means_of_trials_counts_cells_not_trials() -> None:
    """Three trials a cell: χ² of the cells' means against p, a cell being one."""
    world, rng = item_world(4, 20, 60), np.random.default_rng(4)
    p = 1 / (1 + np.exp(-world.slope * (world.ability[:, None] - world.place)))
    each = (rng.random((*p.shape, 3)) < p[..., None]).astype(float)
    learner, sample, _ = (part.ravel() for part in np.indices(each.shape))
    frame = pl.DataFrame(
        {
            "learner": [f"m{i:02d}" for i in learner],
            "sample": [f"s{j:02d}" for j in sample],
            "response": each.ravel(),
        }
    )
    found = diagnose(ResponseTable.from_long(frame), "irt", precision=3.0)
    expected = found.probabilities()
    truth = pearson(each.mean(axis=2), expected, np.ones(p.shape), 20 + 2 * 60)
    judge = judging_fit(KeyFit(found, np.arange(60), np.arange(60)))
    assert judge.dispersion[0] == pytest.approx(truth, rel=1e-9)
    assert mean_dispersion(each.mean(axis=2), expected) == pytest.approx(truth, rel=1e-9)
    assert truth == pytest.approx(1 / 3, rel=0.2)  # the variance of a mean of three


@pytest.mark.parametrize("dispersion", [1.0, 0.2])
def test_intervals_of_difficulty_cover(dispersion: float) -> None:
    """Ten tables of 60 × 100: 1,000 intervals that hang together by table. Truth is on the scale of the pool:
    difficulties less the mean of the learners' abilities, by their standard deviation. Intervals a tenth
    narrower would cover 92 %, a fifth narrower 88 %; of wider ones a fifth more 98 %."""
    inside = []
    for seed in range(10):
        world = item_world(100 + seed, 60, 100, dispersion=dispersion)
        found = diagnose(ResponseTable.from_matrix(world.responses), "irt", precision=3.0).samples
        truth = (world.place - world.ability.mean()) / world.ability.std()
        low, high = (found[f"difficulty_{end}"].to_numpy() for end in ("low", "high"))
        inside.append((low <= truth) & (truth <= high))
    assert 0.93 < np.mean(inside) < 0.975
