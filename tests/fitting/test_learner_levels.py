"""Learners whose rows are raised or lowered as a whole, and where new ones begin."""

import numpy as np

from camilla.fitting.layout import layout_of_table, size_of
from camilla.fitting.learner_rows import learner_rows, place_rows, with_learner_rows
from camilla.fitting.training import neural_logit, start_of
from camilla.models.camilla import Camilla
from camilla.table.examples import simulate


def test_a_level_is_at_the_mode_of_the_penalised_likelihood_along_it() -> None:
    """Σⱼ log p(xⱼ | row + s) − ½ τ |row + s|² has its top at s = 0, by differences of the formula.

    The objective is in float32 at some hundreds, so a difference over steps of .05 is good to about 1e-3;
    a level that is off by a tenth of its standard error would show a hundred times that.
    """
    table = simulate(12, 300, seed=3).table.in_fitting_order()
    layout = layout_of_table(table)
    diagnoser = Camilla(size_of(table), dimensions=4, hidden=(8, 4))
    begin = diagnoser.init(np.random.default_rng(0), start_of(layout, informed=True))
    weight, right = layout.block(np.arange(layout.n_samples))
    rows, _, _ = place_rows(diagnoser, begin, weight.T, right.T, start=True, level=True)
    shift = rows - learner_rows(diagnoser, begin)
    np.testing.assert_allclose(shift, shift[:, :1] * np.ones(4), atol=1e-6)
    assert np.abs(shift[:, 0]).max() > 0.1

    learner, sample, _, response = layout.cells()

    def objective(s: float) -> np.ndarray:
        logit = neural_logit(diagnoser, with_learner_rows(diagnoser, begin, rows + s), learner, sample)
        fit = np.bincount(learner, response * logit - np.logaddexp(0, logit))
        return fit - 0.5 * diagnoser.precision * ((rows + s) ** 2).sum(axis=1)

    up, here, down = (objective(s) for s in (0.05, 0.0, -0.05))
    slope, curvature = (up - down) / 0.1, (2 * here - up - down) / 0.05**2
    assert (curvature > 0).all()
    assert (np.abs(slope) / np.sqrt(curvature) < 0.05).all()


def test_a_new_learner_begins_at_the_row_of_the_pool_that_fits_it_best() -> None:
    """The least of −Σⱼ log p(xⱼ | row) + ½ τ |row|² over the pool and the prior's mean 0, written out; a
    learner who is wrong throughout is not begun at 0."""
    table = simulate(12, 300, seed=3).table.in_fitting_order()
    layout = layout_of_table(table)
    diagnoser = Camilla(size_of(table), dimensions=4, hidden=(8, 4))
    begin = diagnoser.init(np.random.default_rng(0), start_of(layout, informed=True))
    weight, right = (part.T[:5].copy() for part in layout.block(np.arange(layout.n_samples)))
    right[0] = 0
    found, _, _ = place_rows(diagnoser, begin, weight, right, rounds=0)
    known = np.vstack([learner_rows(diagnoser, begin), np.zeros(4)]).astype(np.float32)
    everyone = np.repeat(np.arange(13), 300)
    logit = neural_logit(
        diagnoser, with_learner_rows(diagnoser, begin, known), everyone, np.tile(np.arange(300), 13)
    ).reshape(13, 300)
    loss = weight @ np.logaddexp(0, logit).T - right @ logit.T
    best = np.argmin(loss + 0.5 * diagnoser.precision * (known**2).sum(axis=1), axis=1)
    np.testing.assert_allclose(found, known[best], atol=1e-6)
    assert len(set(best)) > 1
    assert best[0] != 12
