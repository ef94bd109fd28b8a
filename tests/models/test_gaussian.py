"""The Gaussian diagnoser against the multivariate normal it stands for."""

from typing import NamedTuple

import numpy as np

import camilla
from camilla.experiments.protocols import split
from camilla.fitting.fit import fit
from camilla.fitting.layout import layout_of_table, size_of
from camilla.models.gaussian import Gaussian
from camilla.table.responses import ResponseTable


class World(NamedTuple):
    """x = μ + Λz + ε, written out."""

    mean: np.ndarray  # [learners]
    loading: np.ndarray  # [learners, 3]
    factor: np.ndarray  # [samples, 3]
    complete: np.ndarray  # [learners, samples]
    shown: np.ndarray  # the same with three cells in ten missing


NOISE = 0.08


def world(rng: np.random.Generator, n_learners: int, n_samples: int) -> World:
    """Responses stay inside [0, 1]: four standard deviations fit."""
    mean = rng.uniform(0.4, 0.6, n_learners)
    loading = rng.normal(0, 0.05, (n_learners, 3))
    factor = rng.normal(size=(n_samples, 3))
    complete = mean[:, None] + loading @ factor.T + rng.normal(0, NOISE, (n_learners, n_samples))
    complete = np.clip(complete, 0, 1)
    shown = np.where(rng.random(complete.shape) < 0.3, np.nan, complete)
    return World(mean, loading, factor, complete, shown)


def test_missing_cells_are_foretold_almost_as_well_as_with_the_true_covariance() -> None:
    """The best forecast is the normal's conditional mean; 12 learners × 600 samples leave 3 % to learn."""
    made = world(np.random.default_rng(3), 12, 600)
    found = camilla.diagnose(ResponseTable.from_matrix(made.shown), "gaussian", precision=3.0, dimensions=3)
    expected = found.probabilities()[:, [found.sample_names.index(f"sample-{j:03}") for j in range(600)]]
    covariance = made.loading @ made.loading.T + NOISE**2 * np.eye(12)
    best = np.empty_like(made.complete)
    for j, column in enumerate(made.shown.T):
        seen = ~np.isnan(column)
        gain = covariance[:, seen] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        best[:, j] = made.mean + gain @ (column[seen] - made.mean[seen])
    hidden = np.isnan(made.shown)

    def error(predicted: np.ndarray) -> float:
        return float(np.sqrt(np.mean((predicted - made.complete)[hidden] ** 2)))

    assert error(best) < error(np.broadcast_to(made.mean[:, None], best.shape))
    assert error(expected) < 1.03 * error(best)


def test_intervals_of_ability_cover_the_expected_response() -> None:
    """60 worlds of 15 learners: coverage has a standard error of .7 points; the truth is mean μ + λ·z.

    The factors of samples are estimated and count as known, so a little less than 95 % is owed.
    """
    covered = []
    for seed in range(60):
        made = world(np.random.default_rng(seed), 15, 120)
        found = camilla.diagnose(
            ResponseTable.from_matrix(made.shown), "gaussian", precision=3.0, dimensions=3
        ).learners.sort("learner")
        truth = made.mean + made.loading @ made.factor.mean(axis=0)
        covered.append((found["low"].to_numpy() <= truth) & (truth <= found["high"].to_numpy()))
    assert 0.92 < np.mean(covered) < 0.98


def test_a_regressors_log_is_foretold_better_than_by_the_papers_camilla(esol: ResponseTable) -> None:
    """The Camilla paper and its code reach an RMSE of .253; a full covariance by EM .227 (three seeds)."""
    ordered = esol.in_fitting_order()
    train, valid, test = split(ordered, by="cell", proportions=(6, 2, 2), seed=7)
    found = fit(
        Gaussian, size_of(ordered), layout_of_table(train),
        settings={}, seed=7, valid=layout_of_table(valid), watch=lambda line: None,
    )  # fmt: skip
    cells = test.cells()
    logits = found.temperature * found.logit(cells.learner, cells.sample)
    assert np.sqrt(np.mean((1 / (1 + np.exp(-logits)) - cells.response) ** 2)) < 0.230
