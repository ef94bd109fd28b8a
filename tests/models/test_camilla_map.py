"""Camilla with a skill map in the fit, in worlds whose formula is written here."""

from collections.abc import Iterator
from functools import cache

import jax
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

import camilla
from camilla.errors import DataError, SettingError
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

Matrix = NDArray[np.float64]
SKILLS = ("a", "b", "c", "d")


@pytest.fixture(autouse=True, scope="module")
def _quickly_compiled() -> Iterator[None]:
    """Compiling takes longer than these fits; what is promised holds for whatever code the compiler makes."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


pytestmark = pytest.mark.filterwarnings("ignore::camilla.ConvergenceWarning")


@cache
def world(seed: int, correlation: float, guessing: float) -> tuple[ResponseTable, Matrix]:
    """p = c + (1 − c) σ(a (θ − D)), θ, D ~ N(0, 1), a ~ LogNormal(0, .3); one skill each, 20 % missing."""
    rng = np.random.default_rng(seed)
    shared = np.full((4, 4), correlation) + (1 - correlation) * np.eye(4)
    theta = rng.normal(size=(40, 4)) @ np.linalg.cholesky(shared).T
    skill = np.arange(200) % 4
    a, level = np.exp(0.3 * rng.normal(size=200)), rng.normal(size=200)
    p = guessing + (1 - guessing) / (1 + np.exp(-a * (theta[:, skill] - level)))
    x = (rng.random(p.shape) < p).astype(float)
    x[rng.random(p.shape) < 0.2] = np.nan
    return ResponseTable.from_matrix(x).with_skills(SkillMap(SKILLS, np.eye(4, dtype=bool)[skill])), theta


@cache
def fitted(seed: int, correlation: float, guessing: float) -> camilla.Diagnosis:
    return camilla.diagnose(world(seed, correlation, guessing)[0], "camilla", precision=3.0, map_trust=2.0)


def by_skill(found: camilla.Diagnosis, table: ResponseTable, column: str) -> Matrix:
    wide = found.skills.pivot("skill", index="learner", values=column)
    rows = {row["learner"]: [row[skill] for skill in SKILLS] for row in wide.to_dicts()}
    return np.array([rows[name] for name in table.learners])


def profile(levels: Matrix) -> Matrix:
    return levels - levels.mean(axis=1, keepdims=True)


def agreement(one: Matrix, other: Matrix) -> list[float]:
    return [float(spearmanr(one[:, k], other[:, k]).statistic) for k in range(4)]


WORLDS = [(1, 0.0, 0.0), (2, 0.5, 0.25), (3, 0.9, 0.0)]
EACH = [WORLDS[0], *(pytest.param(which, marks=pytest.mark.slow) for which in WORLDS[1:])]
BRIEF = camilla.Training(epochs=3)  # for what holds however long a network was trained


@pytest.mark.parametrize("which", EACH)
def test_profiles_are_never_reversed(which: tuple[int, float, float]) -> None:
    """Who is better on a skill than overall is so by ability as by accuracy: ρ of 40 learners that were
    unrelated would be below .55 in all but one of 4,000 worlds, and a reversed skill has it below 0."""
    table, _ = world(*which)
    found = fitted(*which)
    both = (profile(by_skill(found, table, column)) for column in ("ability", "accuracy"))
    assert min(agreement(*both)) > 0.8


@pytest.mark.parametrize("which", EACH)
def test_skills_and_profiles_follow_the_truth_as_accuracy_does(which: tuple[int, float, float]) -> None:
    """On average over the skills; two readings of the same 40 responses per learner and skill that differ
    in what they make of missing ones may differ by .03 in a single world."""
    table, theta = world(*which)
    ours, plain = (by_skill(fitted(*which), table, column) for column in ("ability", "accuracy"))
    assert np.mean(agreement(ours, theta)) > np.mean(agreement(plain, theta)) - 0.03
    ours, plain, theta = profile(ours), profile(plain), profile(theta)
    assert np.mean(agreement(ours, theta)) > np.mean(agreement(plain, theta)) - 0.03


def test_abilities_on_skills_are_put_right_by_what_was_answered() -> None:
    """m + Σ g (x − p) / (Σ g + 4) over answers, m the expected response on the skill's samples and
    g halfway between the sample's weight and 1."""
    table, _ = world(*WORLDS[0])
    found = fitted(*WORLDS[0])
    x = np.array([[table.matrix()[i, j] for j in map(table.samples.index, found.sample_names)]
                  for i in map(table.learners.index, found.learner_names)])  # fmt: skip
    pairs = np.repeat(np.arange(40), 200), np.tile(np.arange(200), 40)
    p = 1 / (1 + np.exp(-found.logit(*pairs) * found.temperature)).reshape(40, 200)
    g = (1 + found.samples.sort("sample")["weight"].to_numpy()) / 2
    inside = np.array([table.samples.index(name) % 4 == 2 for name in found.sample_names])
    names = [name for name, within in zip(found.sample_names, inside, strict=True) if within]
    plain = dict(found.ability(samples=names).select("learner", "ability").rows())
    beyond = np.where(np.isnan(x), 0, g * (x - p))[:, inside].sum(axis=1)
    count = np.where(np.isnan(x), 0, g)[:, inside].sum(axis=1)
    wanted = [
        plain[name] + b / (n + 4) for name, b, n in zip(found.learner_names, beyond, count, strict=True)
    ]
    shown = dict(found.skills.filter(skill="c").select("learner", "ability").rows())
    np.testing.assert_allclose([shown[name] for name in found.learner_names], wanted, atol=1e-6)
    assert max(abs(shown[name] - plain[name]) for name in plain) > 0.005


def test_a_learner_added_again_has_the_skills_it_had() -> None:
    table, _ = world(*WORLDS[0])
    found = fitted(*WORLDS[0])
    again = found.place_skills(table.take_learners([5, 17])).sort("learner", "skill")
    before = found.skills.filter(found.skills["learner"].is_in(again["learner"])).sort("learner", "skill")
    np.testing.assert_allclose(again["ability"], before["ability"], atol=2e-3)
    np.testing.assert_allclose(again["se"], before["se"], rtol=0.02)


def test_masks_keep_to_the_map_and_leave_a_share_to_latent_skills() -> None:
    """q = ((1 − s) Q / |Q|, s softmax): rows sum to 1, skills that are not needed have none."""
    table, _ = world(*WORLDS[0])
    found = fitted(*WORLDS[0])
    frame = found.skill_mask()
    assert set(frame.columns) == {"sample", *SKILLS, *(f"latent {k + 1}" for k in range(10))}
    mask = frame.select(*SKILLS, "^latent.*$").to_numpy()
    np.testing.assert_allclose(mask.sum(axis=1), 1, atol=1e-6)
    needed = dict(zip(table.samples, table.skill_map.mask, strict=True))  # type: ignore[union-attr]
    wanted = np.array([needed[name] for name in frame["sample"]])
    assert (mask[:, :4][~wanted] == 0).all()
    assert (mask[:, :4][wanted] > 0.5).all()


def test_a_guessing_floor_is_never_undercut() -> None:
    """p = c + (1 − c) σ(·) ≥ c before any temperature, and the samples say which floor it was."""
    table, _ = world(*WORLDS[1])
    found = camilla.diagnose(table, "camilla", precision=3.0, map_trust=2.0, guessing=0.25, training=BRIEF)
    logit = found.logit(np.repeat(np.arange(40), 200), np.tile(np.arange(200), 40)) * found.temperature
    assert (1 / (1 + np.exp(-logit))).min() >= 0.25 - 1e-6
    assert set(found.samples["guessing"]) == {0.25}
    with pytest.raises(SettingError, match="guessing must be a number from 0 to"):
        camilla.diagnose(table, "camilla", guessing=1.0)


def test_without_the_map_skills_are_latent_as_they_were() -> None:
    table, _ = world(*WORLDS[0])
    found = camilla.diagnose(table, "camilla", precision=3.0, use_skills=False, dimensions=3, training=BRIEF)
    assert found.skill_mask().columns == ["sample", "latent 1", "latent 2", "latent 3"]
    assert found.params.beyond is None


def test_auto_says_whose_abilities_have_no_skill_mask() -> None:
    found = camilla.diagnose(camilla.simulate(8, 30, seed=1).table)
    with pytest.raises(DataError, match="auto takes abilities from bayes, which does not estimate"):
        found.skill_mask()
