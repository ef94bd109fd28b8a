"""Calibrated samples: what adaptive testing and subset selection know of a table."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.data.responses import ResponseTable
from camilla.data.validity import check_diagnosable
from camilla.diagnosers import DIAGNOSERS
from camilla.diagnosing import layout_of_table, size_of
from camilla.engine import bilinear
from camilla.engine.fit import build
from camilla.engine.threads import one_blas_thread
from camilla.errors import SettingError

Floats = NDArray[np.float64]
LEAN, RICH = 3.0, 40.0  # precision of the loadings with one dimension, with several
MOST_DIMENSIONS = 15
STARTS = 2  # of several dimensions: their posterior has many modes, and two averaged are better than one
FEWEST_PEERS = 10  # with 4 in a simulated 2PL errors were a sixth larger than without, from 6 on no larger
MOST_PEERS = 200  # evenly spaced by score: each is placed anew for every score
STEPS = 100  # of L-BFGS: averaged predictions have settled, the loss has not


class Model(NamedTuple):
    """p = σ(aⱼ·θ + cⱼ) of every sample, and the pool θ ~ N(mean, covariance) that learners come from."""

    loading: Floats  # [samples, dims]
    intercept: Floats  # [samples]
    mean: Floats  # [dims]
    covariance: Floats  # [dims, dims]
    ability: Floats  # [learners, dims], of the learners it was calibrated on
    dispersion: float = 1.0  # of fractional responses: their variance over p(1 − p)

    def probabilities(self) -> Floats:
        """Expected responses of the learners it was calibrated on: [learners, samples]."""
        return sigmoid(self.ability @ self.loading.T + self.intercept)


class Peers(NamedTuple):
    """Calibrating learners that answered every sample."""

    learner: NDArray[np.integer]  # [peers], rows of the models' abilities
    response: Floats  # [peers, samples]


class Bank(NamedTuple):
    """The samples under models that are averaged, and how far learners are from what the models expect."""

    samples: tuple[str, ...]
    models: tuple[Model, ...]
    peers: Peers | None = None
    misfit: float = 0.0  # sd over new learners of their mean response around the models', chance apart


def calibrate(table: ResponseTable, *, dimensions: int | None = None, seed: int = 0) -> Bank:
    """One dimension, and twice 15 (or what learners allow) that lean on one; the misfit is not looked for."""
    check_diagnosable(table)
    dimensions = min(MOST_DIMENSIONS, table.n_learners - 1) if dimensions is None else dimensions
    if not 1 <= dimensions < table.n_learners:
        raise SettingError(
            f"{dimensions} dimensions from {table.n_learners} learners; at least 1 and fewer than learners "
            "were wanted."
        )
    models = [fitted(table, dimensions=1, precision=LEAN, seed=seed)]
    if dimensions > 1:
        starts = range(seed, seed + STARTS)
        models += [fitted(table, dimensions=dimensions, precision=RICH, seed=start) for start in starts]
    return Bank(table.samples, tuple(models), _peers(table))


def _peers(table: ResponseTable) -> Peers | None:
    matrix = table.matrix()
    whole = np.flatnonzero(~np.isnan(matrix).any(axis=1))
    if len(whole) < FEWEST_PEERS:
        return None
    by_score = whole[np.argsort(matrix[whole].mean(axis=1), kind="stable")]
    chosen = by_score[np.unique(np.linspace(0, len(whole) - 1, MOST_PEERS).astype(np.intp))]
    return Peers(chosen, matrix[chosen])


def fitted(
    table: ResponseTable, *, dimensions: int, precision: float, seed: int, steps: int = STEPS
) -> Model:
    """Multidimensional IRT near its posterior mode: a ~ N(1 on the first dimension, else 0; 1/precision).

    Stopped after `steps`, and not asked whether it converged. Averaged over a bank's models, expectations of
    fits that ran to their end (up to 201 steps) differed by .001 to .004, and scores of tested learners by
    .27 standard errors at most (means on the digits and two simulated tables); the misfit is seen on fits
    stopped alike.
    """
    settings = {"dimensions": dimensions, "precision": precision}
    diagnoser = build(DIAGNOSERS["mirt"], size_of(table), settings)
    with one_blas_thread():
        found = bilinear.solve(
            diagnoser, layout_of_table(table), np.random.default_rng(seed), lambda line: None, max_steps=steps
        ).params
    covariance = np.atleast_2d(np.cov(found.ability.T)) + 1e-3 * np.eye(dimensions)
    model = Model(found.loading, found.intercept, found.ability.mean(axis=0), covariance, found.ability)
    return model if table.is_binary else model._replace(dispersion=_dispersion(model, table))


def _dispersion(model: Model, table: ResponseTable) -> float:
    """Σ(x − p)² / Σp(1 − p) over the observed cells."""
    cells = table.cells()
    p = model.probabilities()[cells.learner, cells.sample]
    return float(np.sum((cells.response - p) ** 2) / np.sum(p * (1 - p)))


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ)."""
    return 0.5 * (np.tanh(0.5 * x) + 1)
