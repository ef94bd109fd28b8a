"""Intervals of learners placed by models whose mastery is a function of many numbers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from camilla.fitting.layout import Size
from camilla.fitting.learner_rows import levels, place_rows, with_learner_rows
from camilla.fitting.neural import InTraining, remembered
from camilla.fitting.training import READING, Start
from camilla.models import DIAGNOSERS

EDGES = ((0, 2), (1, 2), (2, 3))
MASK = np.eye(4, dtype=bool)[np.arange(120) % 4]
N_NEW = 100
SHARPER = {"ka-ncd": 2, "hier-mirt": 2, "qc-cdm": 1}  # so that 30 responses tell masteries apart


def frozen(name: str) -> tuple[Any, Any]:
    """Samples and a network as training starts them, with moments of what goes through it."""
    rng = np.random.default_rng(2)
    diagnoser: Any = DIAGNOSERS[name](Size(N_NEW, 120, MASK, skill_edges=EDGES), precision=1.0)  # type: ignore[call-arg]
    start = Start(np.zeros(N_NEW), rng.normal(size=120))
    params = diagnoser.model.project(diagnoser.init(rng, start), np)
    mode = InTraining(0.0, jax.random.key(0))
    diagnoser.model.compare(jnp.asarray(rng.random((120, 4))), params, jnp.asarray(MASK), jnp, mode)
    params = jax.tree.map(np.asarray, remembered(params, mode.seen, 1.0))
    *weights, last = params.weights
    *biases, offset = params.biases
    times = SHARPER[name]
    return diagnoser, params._replace(weights=(*weights, times * last), biases=(*biases, times * offset))


def drawn(name: str, diagnoser: Any, params: Any) -> Any:
    """Learners from the prior N(0, 1/precision); the larger of each cp, cn is cp, as the penalty asks."""
    rng = np.random.default_rng(5)
    width = sum(
        getattr(params, field).shape[1] for field, axis in diagnoser.axes.items() if axis[0] == "learner"
    )
    truth = with_learner_rows(diagnoser.model, params, rng.normal(size=(N_NEW, width)))
    if name.startswith("hier"):
        both = np.sort(np.stack([truth.negative, truth.positive]), axis=0)
        truth = truth._replace(negative=both[0], positive=both[1])
    return truth


@pytest.mark.parametrize("name", SHARPER)
def test_intervals_of_placed_mastery_cover_it(name: str) -> None:
    """100 learners drawn from the prior answer 30 samples of each of 4 skills, samples and network known.

    Of 400 masteries 95 % should lie inside. Four skills of a learner hang together, so that the share
    has a standard error of at most 2.2 points. Below, two of these and half a point are allowed; above nearly
    all, for the intervals of HierMIRT do not know that cn > cp is ruled out and are wider than they need be.
    """
    diagnoser, params = frozen(name)
    truth = drawn(name, diagnoser, params)
    mastery = diagnoser.model.mastery(truth, np)
    rng = np.random.default_rng(8)
    logits = np.stack(
        [diagnoser.model.compare(np.tile(m, (120, 1)), params, MASK, np, READING) for m in mastery]
    )
    right = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    rows, covariance, _ = place_rows(diagnoser, params, np.ones_like(right), right)
    found = levels(diagnoser, params, rows, covariance)
    se = np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2))
    inside = np.abs(found.ability - mastery) < 1.96 * se
    assert 0.90 < inside.mean() < 0.995
    assert np.corrcoef(found.ability.ravel(), mastery.ravel())[0, 1] > 0.5
