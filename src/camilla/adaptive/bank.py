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
MANY = 500  # learners from which on two more dimensions and a weaker prior pay
STEPS = 400  # of L-BFGS: predictions have settled, the last digits of the loss have not


class Bank(NamedTuple):
    """p = σ(aⱼ·θ + cⱼ) of every sample, and the pool θ ~ N(mean, covariance) that learners come from."""

    samples: tuple[str, ...]
    loading: Floats  # [samples, dims]
    intercept: Floats  # [samples]
    mean: Floats  # [dims]
    covariance: Floats  # [dims, dims]
    ability: Floats  # [learners, dims], of the learners it was calibrated on
    dispersion: float = 1.0  # of fractional responses: their variance over p(1 − p)

    def probabilities(self) -> Floats:
        """Expected responses of the learners it was calibrated on: [learners, samples]."""
        return sigmoid(self.ability @ self.loading.T + self.intercept)


def calibrate(table: ResponseTable, *, dimensions: int | None = None, seed: int = 0) -> Bank:
    """Multidimensional IRT of the table at its posterior mode.

    Three dimensions leaning on one (precision 10); five and precision 3 from 500 learners on.
    """
    check_diagnosable(table)
    many = table.n_learners >= MANY
    dimensions = (5 if many else min(3, table.n_learners - 1)) if dimensions is None else dimensions
    if not 1 <= dimensions < table.n_learners:
        raise SettingError(
            f"{dimensions} dimensions from {table.n_learners} learners; at least 1 and fewer than learners "
            "were wanted."
        )
    settings = {"dimensions": dimensions, "precision": 3.0 if many else 10.0}
    diagnoser = build(DIAGNOSERS["mirt"], size_of(table), settings)
    with one_blas_thread():
        found = bilinear.solve(
            diagnoser, layout_of_table(table), np.random.default_rng(seed), lambda line: None, max_steps=STEPS
        ).params
    covariance = np.atleast_2d(np.cov(found.ability.T)) + 1e-3 * np.eye(dimensions)
    bank = Bank(
        table.samples, found.loading, found.intercept, found.ability.mean(axis=0), covariance, found.ability
    )
    return bank if table.is_binary else bank._replace(dispersion=_dispersion(bank, table))


def _dispersion(bank: Bank, table: ResponseTable) -> float:
    """Σ(x − p)² / Σp(1 − p) over the observed cells."""
    cells = table.cells()
    p = bank.probabilities()[cells.learner, cells.sample]
    return float(np.sum((cells.response - p) ** 2) / np.sum(p * (1 - p)))


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ)."""
    return 0.5 * (np.tanh(0.5 * x) + 1)
