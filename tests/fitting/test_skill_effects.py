"""What learners make of skills: its conditional distribution, its scale, and the abilities that follow."""

from typing import Any

import numpy as np
import pytest

import camilla
from camilla.fitting import skill_effects
from camilla.fitting.sampler import Chain, Designs, Responses
from camilla.fitting.skill_effects import SkillEffects, has_effects, skill_weights
from camilla.fitting.systems import normal_draws, products, triangle
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

ONE = np.eye(3, dtype=bool)[np.arange(12) % 3]
SEVERAL = ONE | np.eye(3, dtype=bool)[(np.arange(12) // 3) % 3]


def test_each_system_is_drawn_from_its_own_normal() -> None:
    """N(P⁻¹ l, P⁻¹): of 60,000 draws, means are off by .004 standard deviations and covariances by 1 %."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(2, 5, 3))
    information, linear = half.transpose(0, 2, 1) @ half, rng.normal(size=(2, 3))
    prior = np.diag([1.0, 2.0, 0.5])
    first, second = triangle(3)
    many = np.repeat(information[:, first, second].T, 60_000, axis=1)
    drawn = normal_draws(rng, many, prior, np.repeat(linear.T, 60_000, axis=1)).reshape(3, 2, -1)
    for one in range(2):
        covariance = np.linalg.inv(information[one] + prior)
        np.testing.assert_allclose(drawn[:, one].mean(axis=1), covariance @ linear[one], atol=0.02)
        np.testing.assert_allclose(np.cov(drawn[:, one]), covariance, atol=0.02)


def test_products_are_those_of_every_two_columns() -> None:
    columns = np.arange(6.0).reshape(2, 3)
    assert products(columns).T.tolist() == [[0, 0, 0, 1, 2, 4], [9, 12, 15, 16, 20, 25]]


@pytest.mark.parametrize("needs", [ONE, SEVERAL], ids=["one skill", "several skills"])
@pytest.mark.parametrize("width", [256, 1], ids=["together", "in turn"])
def test_dimensions_and_effects_have_their_joint_conditional(
    needs: Any, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N(P⁻¹ X'r, P⁻¹) with P = X'ΩX + diag(1, 1/τ²), X = (V, W), written out for one learner of 40,000 alike.

    Drawn in turn it is the chain's limit: 60 rounds from anywhere.
    """
    monkeypatch.setattr(skill_effects, "JOINT_WIDTH", width)
    rng, n = np.random.default_rng(1), 40_000
    loading, share = rng.normal(size=(12, 2)), skill_weights(needs)
    omega, pull = rng.uniform(0.1, 0.25, 12), rng.normal(size=12)
    both, tau = np.hstack([loading, share]), 0.7
    precision = both.T @ (omega[:, None] * both) + np.diag([1, 1, *[tau**-2] * 3])
    covariance = np.linalg.inv(precision)
    effects = SkillEffects(share, n, np.float64)
    for _ in range(60 if width == 1 and needs is SEVERAL else 1):
        effects.variance = tau**2
        ability = effects.draw(
            rng, np.repeat(omega[:, None], n, axis=1), np.repeat(pull[:, None], n, axis=1), loading,
            np.zeros((1, 2)),
        )  # fmt: skip
    drawn = np.hstack([ability, effects.value])
    np.testing.assert_allclose(drawn.mean(axis=0), covariance @ both.T @ pull, atol=0.025)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.03)
    np.testing.assert_allclose(effects.offset()[:, 0], share @ effects.value[0])


def test_the_scale_is_that_of_the_effects() -> None:
    """τ² given 400,000 effects of variance .49 is .49 within √(2/400,000) = .2 %; three times that."""
    rng = np.random.default_rng(2)
    effects = SkillEffects(np.eye(4), 100_000, np.float64)
    effects.value = rng.normal(0, 0.7, (100_000, 4))
    effects._draw_variance(rng)
    assert effects.variance == pytest.approx(0.49, rel=0.007)


def test_a_map_that_gives_every_sample_the_same_skills_has_no_effects() -> None:
    assert not has_effects(None)
    assert not has_effects(np.ones((5, 1), bool))
    assert not has_effects(np.tile([True, False], (5, 1)))
    assert has_effects(ONE)


def test_moving_effects_into_intercepts_changes_no_logit() -> None:
    rng = np.random.default_rng(3)
    x = (rng.random((12, 9)) < 0.6) * 1.0
    chain = Chain(Responses(np.ones_like(x), x, False), 2, rng, Designs(skills=skill_weights(SEVERAL)))
    n_moved = 0
    for _ in range(30):
        chain.sweep()
        before, mean = chain.logit(), chain.effects.value.mean(axis=0)
        chain._move_effects()
        n_moved += int((mean != chain.effects.value.mean(axis=0)).sum())
        np.testing.assert_allclose(chain.logit(), before, atol=1e-9)
        np.testing.assert_allclose(
            chain.logit(), chain.factor @ chain._design().T + chain.effects.offset(), atol=1e-9
        )
    assert 30 < n_moved < 90  # of three skills in 30 sweeps


def world(seed: int, sd: float, n_learners: int = 20, n_skills: int = 4, each: int = 60) -> Any:
    """A table with its map, and the scores that are true of each learner and skill on these samples.

    Skills are of very unequal difficulty: means 1.5 apart.
    """
    rng = np.random.default_rng(seed)
    skill = np.arange(n_skills * each) % n_skills
    level = rng.normal(size=len(skill)) + 1.5 * (skill - (n_skills - 1) / 2) / n_skills
    effect = sd * rng.normal(size=(n_learners, n_skills))
    slope = np.exp(0.3 * rng.normal(size=len(skill)))
    p = 1 / (1 + np.exp(-slope * (rng.normal(size=(n_learners, 1)) + effect[:, skill] - level)))
    table = ResponseTable.from_matrix((rng.random(p.shape) < p) * 1.0)
    needs = SkillMap.from_labels([f"skill {k}" for k in skill])
    truth = {
        (table.learners[i], f"skill {k}"): p[i, skill == k].mean()
        for i in range(n_learners)
        for k in range(n_skills)
    }
    return table.with_skills(needs), truth


def off(found: camilla.Diagnosis, truth: Any, column: str) -> Any:
    return np.array([row[column] - truth[row["learner"], row["skill"]] for row in found.skills.to_dicts()])


def test_abilities_per_skill_cover_and_are_no_worse_than_counting() -> None:
    """Five worlds, 400 intervals: a 95 % interval covers .95 ± .011, that of .47 failed here before."""
    covered, ours, plain = [], [], []
    for seed in range(5):
        table, truth = world(seed, 0.8)
        found = camilla.diagnose(table, "bayes", draws=200)
        low, high = off(found, truth, "low"), off(found, truth, "high")
        covered.append((low <= 0) & (high >= 0))
        ours.append(off(found, truth, "ability") ** 2)
        plain.append(off(found, truth, "accuracy") ** 2)
    assert 0.91 <= np.mean(covered) <= 0.99
    assert np.mean(ours) <= np.mean(plain)


def test_where_skills_do_not_matter_scores_are_pooled_and_a_note_says_so() -> None:
    """Effects must not take up how hard a skill is: τ came out as .6, and errors as .92 of counting's."""
    table, truth = world(12, 0.0, n_learners=40, each=100)
    found = camilla.diagnose(table, "bayes", draws=200)
    ours, plain = (float(np.mean(off(found, truth, name) ** 2)) for name in ("ability", "accuracy"))
    assert np.sqrt(ours / plain) < 0.75
    effect = found.provenance["skill_effect"]
    assert effect["high"] < 0.25
    assert not effect["told_apart"]
    assert any("do not tell learners apart" in note for note in found.provenance["notes"])


def test_learners_placed_on_skills_are_covered() -> None:
    """Ten placed learners in two worlds, with all samples and with 30: 160 intervals, .95 ± .017."""
    covered = []
    for seed in (21, 22):
        table, truth = world(seed, 0.8, n_learners=25)
        found = camilla.diagnose(table.take_learners(range(20)), "bayes", draws=200)
        rng = np.random.default_rng(seed)
        for some in (range(table.n_samples), sorted(rng.permutation(table.n_samples)[:30].tolist())):
            rows = found.place_skills(table.take_learners(range(20, 25)).take_samples(some))
            for row in rows.to_dicts():
                covered.append(row["low"] <= truth[row["learner"], row["skill"]] <= row["high"])
    assert np.mean(covered) >= 0.88


def test_new_samples_of_unknown_skills_are_predicted_as_random_ones() -> None:
    table, _ = world(31, 0.8)
    found = camilla.diagnose(table, "bayes", draws=60)
    new = found.predict_new(samples=["another"])
    assert any("skills of a new sample are unknown" in note for note in new.notes)
    means = found.learners.sort("learner")["accuracy"].to_numpy()
    np.testing.assert_allclose(new.responses.sort("learner")["probability"], means, atol=0.06)
