"""A world whose skills build on each other, found again; its formula is written here."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

import camilla
from camilla.fitting.training import READING, gathered
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap

Matrix = NDArray[np.float64]
SKILLS = ("a", "b", "c", "d")
GRAPH = SkillGraph((("a", "c"), ("b", "c"), ("c", "d")))

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::camilla.ConvergenceWarning")]


@cache
def world() -> tuple[ResponseTable, Matrix]:
    """m_a, m_b ~ U(0, 1); m_c = Π over a, b of (.95^½ m + .2^½ (1 − m)), m_d = .95 m_c + .1 (1 − m_c) ± .1;
    p = 1 / (1 + exp(−10 (mean of the needed m − D))), D ~ U(.2, .8); 120 learners, 160 samples."""
    rng = np.random.default_rng(4)
    mastery = np.empty((120, 4))
    mastery[:, :2] = rng.random((120, 2))
    mastery[:, 2] = np.prod(0.95**0.5 * mastery[:, :2] + 0.2**0.5 * (1 - mastery[:, :2]), axis=1)
    mastery[:, 3] = 0.95 * mastery[:, 2] + 0.1 * (1 - mastery[:, 2]) + rng.normal(0, 0.1, 120)
    mask = np.eye(4, dtype=bool)[np.arange(160) % 4]
    mask[::5, 0] = True
    difficulty = rng.uniform(0.2, 0.8, 160)
    gap = mastery @ mask.T / mask.sum(axis=1) - difficulty
    responses = (rng.random((120, 160)) < 1 / (1 + np.exp(-10 * gap))).astype(float)
    table = ResponseTable.from_matrix(responses).with_skills(SkillMap(SKILLS, mask), graph=GRAPH)
    return table, mastery


@cache
def fitted(name: str) -> camilla.Diagnosis:
    return camilla.diagnose(
        world()[0], name, seed=1, **({} if name == "skill-vanilla" else {"precision": 1.0})
    )


def agreement(name: str) -> Matrix:
    """Spearman's correlation of found and true mastery, skill by skill."""
    table, truth = world()
    frame = fitted(name).skills
    found = {
        row["learner"]: row for row in frame.pivot("skill", index="learner", values="mastery").to_dicts()
    }
    return np.array(
        [
            spearmanr([found[who][skill] for who in table.learners], truth[:, k]).statistic
            for k, skill in enumerate(SKILLS)
        ]
    )


@pytest.mark.parametrize("name", ["ka-ncd", "hier-mirt", "hier-ncd", "qc-cdm"])
def test_mastery_is_ordered_as_in_the_world(name: str) -> None:
    """At least as well as plain means on each skill order it, within .05: the standard error of a
    correlation of .9 among 120 learners is .02, and one order is measured against the other."""
    found, plain = agreement(name), agreement("skill-vanilla")
    assert plain.min() > 0.7
    assert (found > plain - 0.05).all(), (found, plain)


@pytest.mark.parametrize("name", ["hier-mirt", "hier-ncd"])
def test_mastering_a_parent_hurts_nobody(name: str) -> None:
    """cp ≥ cn for every learner and edge, within the .05 over which the penalty is round."""
    params = fitted(name).params
    assert (params.positive - params.negative).min() > -0.05


def test_kept_moments_are_those_of_what_goes_through_the_network() -> None:
    """Mean and variance of the first block's inputs over all responses, within the noise of 4,096 cells:
    a mean within four standard errors of 1/64 of a standard deviation, a variance within a fifth."""
    found = fitted("qc-cdm")
    cells, model, params = found.cells, found.diagnoser.model, found.params
    at = gathered(model.axes, params, cells.learner, cells.sample)
    seen: list[Matrix] = []

    class Listening:
        """Reads, and keeps what comes to be normed."""

        @staticmethod
        def drop(x: Matrix) -> Matrix:
            return x

        @staticmethod
        def norm(x: Matrix, moments: Matrix) -> Matrix:
            seen.append(x)
            return READING.norm(x, moments)

    mask = found.diagnoser.size.skill_mask[cells.sample]
    model.compare(model.mastery(at, np), at, mask, np, Listening)
    mean, variance = params.moments[0]
    assert (np.abs(seen[0].mean(axis=0) - mean) < 4 / 64 * np.sqrt(variance) + 1e-6).all()
    np.testing.assert_allclose(seen[0].var(axis=0), variance, rtol=0.2, atol=1e-8)
