"""Scores on skills beside what was observed: by the formulas, and by simulation."""

import numpy as np
import pytest

import camilla
from camilla.statistics.skill_scores import Observed, misfit, profile_spread, repaired, spread_beyond
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap


def test_noise_is_that_of_a_binomial_at_the_expected_score() -> None:
    observed = Observed.of(np.array([[0.5, 1.0]]), np.array([[0.6, 0.9]]), np.array([[10, 4]]))
    np.testing.assert_allclose(observed.noise, [[0.025, 0.9 * 0.1 / 4]])  # half a wrong one among 4 + 1


def test_without_responses_nothing_is_known() -> None:
    observed = Observed.of(np.array([[0.5]]), np.array([[0.0]]), np.array([[0]]))
    assert np.isnan(observed.mean).all()
    assert np.isnan(observed.noise).all()
    found = repaired(np.array([[0.5]]), np.array([[0.1]]), observed, 0.02)
    assert (found.value.item(), found.se.item()) == pytest.approx((0.5, 0.1))


def test_a_score_is_drawn_to_what_was_observed_as_far_as_the_spread_says() -> None:
    """B = .03/(.03 + .01) = .75; .4 + .75 · .2 and √(.75 · .01 + .25 · .04²)."""
    observed = Observed(np.array([[0.6]]), np.array([[0.01]]))
    found = repaired(np.array([[0.4]]), np.array([[0.04]]), observed, 0.03)
    assert found.value.item() == pytest.approx(0.55)
    assert found.se.item() == pytest.approx(np.sqrt(0.0075 + 0.0004))


def test_repaired_scores_beat_both_of_their_parts_and_cover() -> None:
    """Truth = expected + N(0, .08²): 4,000 scores; .95 ± .004 covered."""
    rng = np.random.default_rng(0)
    expected = rng.uniform(0.3, 0.7, (100, 40))
    truth = np.clip(expected + rng.normal(0, 0.08, expected.shape), 0.02, 0.98)
    n = np.full(expected.shape, 30)
    observed = Observed.of(expected, rng.binomial(30, truth) / 30, n)
    spread = spread_beyond(expected, observed)
    assert spread == pytest.approx(0.0064, rel=0.15)
    found = repaired(expected, np.full(expected.shape, 0.01), observed, spread)

    def error(value: np.ndarray) -> float:
        return float(np.sqrt(np.mean((value - truth) ** 2)))

    assert error(found.value) < 0.85 * min(error(expected), error(observed.mean))
    inside = np.abs(found.value - truth) <= 1.96 * found.se
    assert 0.93 <= inside.mean() <= 0.97


def test_a_misfit_is_one_where_chance_explains_the_distance() -> None:
    rng = np.random.default_rng(1)
    p, n = np.full((200, 10), 0.4), np.full((200, 10), 50)
    fits = misfit(p, Observed.of(p, rng.binomial(50, p) / 50, n))
    assert fits.value == pytest.approx(1, abs=3 * np.sqrt(2 / 2000))
    assert not fits.alarming
    off = misfit(p, Observed.of(p, rng.binomial(50, p + 0.1) / 50, n))
    assert off.value == pytest.approx(1 + 0.01 / (0.24 / 50), rel=0.1)
    assert off.alarming


def test_few_numbers_alarm_no_more_often_than_one_in_a_hundred() -> None:
    rng = np.random.default_rng(2)
    p, n = np.full((2, 2), 0.5), np.full((2, 2), 400)
    alarms = [misfit(p, Observed.of(p, rng.binomial(400, p) / 400, n)).alarming for _ in range(2000)]
    assert np.mean(alarms) < 0.02


def test_profiles_that_are_parallel_have_no_spread() -> None:
    level, ease = np.array([[-1.0], [0.5], [1.2]]), np.array([[0.3, -0.8, 0.1, 1.0]])
    assert profile_spread(1 / (1 + np.exp(-(level + ease)))) == pytest.approx(0, abs=1e-9)
    apart = np.array([[0.4, -0.4], [-0.4, 0.4]])
    assert profile_spread(1 / (1 + np.exp(-apart))) == pytest.approx(0.4)


@pytest.fixture(scope="module")
def reversed_skills() -> ResponseTable:
    """Two skills, on which learners are ordered oppositely: no single ability explains that."""
    rng = np.random.default_rng(3)
    level = np.linspace(-2, 2, 16)
    skill = np.arange(120) % 2
    p = 1 / (1 + np.exp(-(np.where(skill, 1, -1) * level[:, None] + rng.normal(0, 0.5, 120))))
    table = ResponseTable.from_matrix((rng.random(p.shape) < p) * 1.0)
    return table.with_skills(SkillMap.from_labels([("up", "down")[k] for k in skill]))


def test_a_diagnoser_that_misses_skills_is_said_to(reversed_skills: ResponseTable) -> None:
    found = camilla.diagnose(reversed_skills, "irt", precision=3.0)
    assert found.provenance["agreement"]["skills"]["alarming"]
    assert any("Scores of irt on skills do not agree" in note for note in found.provenance["notes"])


def test_the_default_agrees_with_accuracy(reversed_skills: ResponseTable) -> None:
    found = camilla.diagnose(reversed_skills, "bayes", draws=100)
    assert not found.provenance["agreement"]["skills"]["alarming"]
    assert not any("do not agree" in note for note in found.provenance["notes"])


def test_scores_of_a_mode_on_skills_are_put_right(reversed_skills: ResponseTable) -> None:
    """A mirt of one dimension misses half of what learners do; what it prints per skill is near accuracy."""
    found = camilla.diagnose(reversed_skills, "mirt", dimensions=1, precision=3.0)
    away = (found.skills["ability"] - found.skills["accuracy"]).abs()
    assert float(away.max()) < 0.1
    assert found.provenance["skill_spread"] > 0.003


def test_standardised_abilities_have_the_expected_score_beside_them(reversed_skills: ResponseTable) -> None:
    found = camilla.diagnose(reversed_skills, "camilla-base", skill_correlation=0.0, precision=1.0)
    rows = found.skills
    assert float((rows["score"] - rows["accuracy"]).abs().max()) < 0.1
    assert bool(((rows["score_low"] <= rows["score"]) & (rows["score"] <= rows["score_high"])).all())
    placed = found.place_skills(reversed_skills.take_learners([0]))
    again = rows.filter(learner=reversed_skills.learners[0]).sort("skill")["score"].to_list()
    assert placed.sort("skill")["score"].to_list() == pytest.approx(again, abs=0.05)
