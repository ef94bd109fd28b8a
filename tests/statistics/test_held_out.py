"""Scores of unseen units: their values are scikit-learn's, and their intervals hold what they should."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, r2_score, roc_auc_score, root_mean_squared_error

from camilla.statistics.held_out import HeldOut, auc_sums, mean_sums, r2_sums, rmse_sums, unit_interval


def world(seed: int, n_samples: int = 60, n_learners: int = 12) -> tuple[HeldOut, np.ndarray]:
    """logit = ability − difficulty, difficulty = x + u; predicted from x and ability alone."""
    rng = np.random.default_rng(seed)
    ability, x, u = rng.normal(0, 1, n_learners), rng.normal(0, 1, n_samples), rng.normal(0, 1, n_samples)
    row, learner = np.repeat(np.arange(n_samples), n_learners), np.tile(np.arange(n_learners), n_samples)
    chance = 1 / (1 + np.exp(-(ability[learner] - x[row] - u[row])))
    response = (rng.random(len(row)) < chance).astype(float)
    predicted = 1 / (1 + np.exp(-(ability[learner] - x[row])))
    return HeldOut(response, np.ones(len(row)), row, row, row % 3), predicted


def test_scores_are_those_of_scikit_learn() -> None:
    tested, p = world(1)
    areas = [roc_auc_score(tested.response[tested.fold == f], p[tested.fold == f]) for f in range(3)]
    assert unit_interval(auc_sums(tested, p)).value == pytest.approx(np.mean(areas), abs=1e-12)
    loss = -tested.response * np.log(p) - (1 - tested.response) * np.log(1 - p)
    assert unit_interval(mean_sums(tested, loss)).value == pytest.approx(log_loss(tested.response, p))
    root = root_mean_squared_error(tested.response, p)
    assert unit_interval(rmse_sums(tested, p)).value == pytest.approx(root)
    means = [np.bincount(tested.row, values) / 12 for values in (tested.response, p)]
    constant = np.full(len(p), means[0].mean())
    assert unit_interval(r2_sums(tested, p, constant)).value == pytest.approx(r2_score(*means))


def test_repeated_responses_count_by_weight() -> None:
    tested, p = world(2)
    twice = HeldOut(*(np.repeat(part, 2) for part in tested))
    heavy = tested._replace(weight=np.full(len(p), 2.0))
    one = unit_interval(auc_sums(twice, np.repeat(p, 2)))
    assert unit_interval(auc_sums(heavy, p)) == pytest.approx(one)


def test_intervals_over_samples_hold_the_score_of_new_samples() -> None:
    """400 worlds with the same 12 learners; a world's own spread of a coverage of .95 is .011, allow .03.

    The truth is the mean over 4,000 worlds: of AUC within folds of a third, and of squared error.
    """
    rng = np.random.default_rng(0)
    ability = rng.normal(0, 1, 12)

    def drawn(seed: int) -> tuple[HeldOut, np.ndarray]:
        own = np.random.default_rng(seed)
        x, u = own.normal(0, 1, (2, 60))
        chance = 1 / (1 + np.exp(-(ability - x[:, None] - u[:, None])))
        response = (own.random((60, 12)) < chance).astype(float).ravel()
        row = np.repeat(np.arange(60), 12)
        return HeldOut(response, np.ones(720), row, row, row % 3), (ability - x[:, None]).ravel()

    found = []
    for seed in range(400):
        tested, logit = drawn(seed)
        p = 1 / (1 + np.exp(-logit))
        found.append([*unit_interval(auc_sums(tested, logit)), *unit_interval(rmse_sums(tested, p))])
    area, area_low, area_high, root, root_low, root_high = np.array(found).T
    assert 0.92 < np.mean((area_low < area.mean()) & (area.mean() < area_high)) < 0.98
    truth = np.sqrt(np.mean(root**2))
    assert 0.92 < np.mean((root_low < truth) & (truth < root_high)) < 0.98


def test_a_difference_is_paired() -> None:
    """A predictor and itself with a little noise differ by far less than either varies."""
    tested, p = world(3)
    noisy = p + np.random.default_rng(0).normal(0, 0.01, len(p))
    alone, paired = (
        unit_interval(auc_sums(tested, p)),
        unit_interval(auc_sums(tested, p), auc_sums(tested, noisy)),
    )
    assert paired.high - paired.low < 0.2 * (alone.high - alone.low)
    same = unit_interval(auc_sums(tested, p), auc_sums(tested, p))
    assert same == (0.0, 0.0, 0.0)


def test_units_of_several_samples_widen_the_interval() -> None:
    """Samples come in identical copies: with copies as one unit the interval is that of one copy."""
    tested, p = world(4)
    copies = HeldOut(*(np.tile(part, 4) for part in tested))
    copies = copies._replace(row=np.concatenate([tested.row + 60 * k for k in range(4)]))
    together = unit_interval(auc_sums(copies, np.tile(p, 4)))
    assert together == pytest.approx(unit_interval(auc_sums(tested, p)), abs=1e-9)
    apart = unit_interval(auc_sums(copies._replace(unit=copies.row), np.tile(p, 4)))
    assert apart.high - apart.low < 0.6 * (together.high - together.low)
