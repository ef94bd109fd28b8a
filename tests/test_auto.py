"""What auto reads and predicts with, and what it says of it."""

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.diagnosing import combination
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def answered(p: np.ndarray, rng: np.random.Generator) -> ResponseTable:
    return ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float))


def two_parameter(rng: np.random.Generator, n_learners: int = 40, n_samples: int = 150) -> np.ndarray:
    """p = σ(a (θ − b))."""
    ability, difficulty = rng.normal(size=n_learners), rng.normal(size=n_samples)
    return sigmoid(rng.uniform(0.6, 1.8, n_samples) * (ability[:, None] - difficulty))


def one_ability() -> ResponseTable:
    rng = np.random.default_rng(1)
    return answered(two_parameter(rng), rng)


def five_abilities() -> ResponseTable:
    rng = np.random.default_rng(2)
    return answered(sigmoid(rng.normal(size=(80, 5)) @ rng.normal(0, 1.5, (5, 120))), rng)


def four_skills() -> ResponseTable:
    """Every skill has its own ability."""
    rng = np.random.default_rng(3)
    skill = rng.integers(4, size=160)
    p = sigmoid(2 * (rng.normal(size=(40, 4))[:, skill] - rng.normal(size=160)))
    return answered(p, rng).with_skills(SkillMap.from_labels([f"skill {k}" for k in skill]))


@pytest.fixture(scope="module")
def by_skill() -> camilla.Diagnosis:
    return camilla.diagnose(four_skills())


@pytest.fixture(scope="module")
def clustered() -> camilla.Diagnosis:
    """One ability; the samples are in two clusters."""
    return camilla.diagnose(dataclasses.replace(one_ability(), cluster=tuple("ab" * 75)))


def test_a_skill_map_improves_predictions_where_skills_matter() -> None:
    """Log-loss on a fifth of the cells of a world with one ability per skill, by the definition."""
    table = four_skills()
    train, test = camilla.split(table, proportions=(8, 2), seed=1)
    with_map = held_out_loss(camilla.diagnose(train), test)
    without = held_out_loss(camilla.diagnose(dataclasses.replace(train, skill_map=None)), test)
    assert with_map < 0.98 * without


def held_out_loss(found: camilla.Diagnosis, test: ResponseTable) -> float:
    cells, who, what = test.cells(), list(found.learner_names), list(found.sample_names)
    learner = np.array([who.index(test.learners[i]) for i in cells.learner])
    sample = np.array([what.index(test.samples[j]) for j in cells.sample])
    p = found.chances(learner, sample).probability
    return float(-np.mean(cells.response * np.log(p) + (1 - cells.response) * np.log(1 - p)))


def test_fractional_responses_weigh_by_how_little_they_vary() -> None:
    """x = p + ε with a standard deviation of .02: 400 of them tell that the second column is right."""
    rng = np.random.default_rng(8)
    right, off = rng.normal(0, 0.3, 400), rng.normal(0, 0.3, 400)
    response = np.clip(sigmoid(right) + rng.normal(0, 0.02, 400), 0, 1)
    share = combination(np.column_stack([off, right]), response, np.ones(400))
    assert share[0] < 0.1
    assert share[1] == pytest.approx(1, abs=0.1)


def test_the_combination_predicts_what_was_held_out_as_well_as_its_best_part() -> None:
    """Log-loss on a fifth of the cells, by the definition; learning weights on few cells may cost 2 %."""
    table = four_skills()
    train, test = camilla.split(table, proportions=(8, 2), seed=1)
    loss = {
        name: held_out_loss(camilla.diagnose(train, name), test)
        for name in ("auto", "bayes", "gaussian", "vanilla")
    }
    assert loss["auto"] <= 1.02 * min(loss["bayes"], loss["gaussian"])
    assert loss["auto"] < loss["vanilla"]


def test_ability_is_the_mean_expected_response_of_the_draws_on_any_samples(
    clustered: camilla.Diagnosis,
) -> None:
    """Recomputed from the kept draws: σ(c + v·θ), averaged over samples and draws."""
    found = clustered
    ability, factor = (part.astype(float) for part in (found.params.ability, found.params.factor))
    p = sigmoid(np.einsum("djk,dnk->dnj", factor[:, :, 1:], ability) + factor[:, None, :, 0])
    some = [3, 40, 77]
    mean = dict(zip(found.learner_names, p[:, :, some].mean(axis=(0, 2)), strict=True))
    board = found.ability([found.sample_names[j] for j in some])
    np.testing.assert_allclose(board["ability"], [mean[n] for n in board["learner"]], rtol=1e-4)
    whole = dict(zip(found.learner_names, p.mean(axis=(0, 2)), strict=True))
    np.testing.assert_allclose(
        found.learners["ability"], [whole[n] for n in found.learners["learner"]], atol=0.01
    )  # of all draws, where those kept are every third


def test_samples_like_these_leave_more_open_and_clusters_still_more() -> None:
    """Clusters of five samples with the same difficulty carry a fifth of the information."""
    rng = np.random.default_rng(6)
    p = sigmoid(rng.normal(size=(25, 1)) - np.repeat(rng.normal(0, 1.5, 30), 5))
    table = answered(p, rng)
    names = tuple(f"group {j // 5}" for j in range(150))
    grouped = dataclasses.replace(table, cluster=names)

    def width(board: pl.DataFrame) -> float:
        return float((board["high"] - board["low"]).mean())

    plain, found = camilla.diagnose(table, "bayes"), camilla.diagnose(grouped, "bayes")
    these, like = width(plain.ability(these_samples=True)), width(plain.ability())
    assert these < 0.95 * like
    assert 1.3 * like < width(found.ability())
    assert width(found.ability(these_samples=True)) == pytest.approx(these)


def test_a_diagnosis_without_draws_says_what_to_do() -> None:
    found = camilla.diagnose(one_ability(), "irt")
    assert found.standing() is None
    for ask in (found.simultaneous, found.learners_on_these, lambda: found.better("a", "b")):
        with pytest.raises(camilla.DataError):
            ask()
    with pytest.raises(camilla.DataError, match="Diagnose with auto"):
        found.simultaneous()


def test_standing_and_predictions_come_back_from_a_saved_diagnosis(
    clustered: camilla.Diagnosis, tmp_path: Path
) -> None:
    found = clustered
    again = camilla.Diagnosis.load(found.save(tmp_path / "found"))
    assert again.learners.equals(found.learners)
    assert again.predict().equals(found.predict())
    assert again.ability(these_samples=True).equals(found.ability(these_samples=True))
    assert again.place(one_ability().take_learners([2])).equals(found.place(one_ability().take_learners([2])))
    assert found.learners["p_best"].sum() == pytest.approx(1)
    assert (found.learners["rank_low"] <= found.learners["rank_high"]).all()


def test_skills_difficulty_and_discrimination_are_still_there(by_skill: camilla.Diagnosis) -> None:
    found = by_skill
    assert found.skills["skill"].unique().sort().to_list() == [f"skill {k}" for k in range(4)]
    assert found.skills.select((pl.col("low") <= pl.col("high")).all()).item()
    assert found.samples["difficulty"].null_count() < found.samples.height / 10
    assert found.samples["discrimination_se"].is_not_null().all()
    assert found.place(four_skills().take_learners([3]))["ability"].is_between(0, 1).all()


def test_intervals_cover_the_expected_response() -> None:
    """10 worlds of 30 learners: a standard error of 1.3 points. Over 200 worlds: docs/design/posterior.md."""
    covered, placed = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = two_parameter(rng, 30, 150)
        found = camilla.diagnose(answered(p, rng), "bayes", draws=150)
        board, truth = found.learners.sort("learner"), p.mean(axis=1)
        covered.append((board["low"].to_numpy() <= truth) & (truth <= board["high"].to_numpy()))
        new = found.place(answered(p, rng).take_learners([0, 1])).sort("learner")
        placed.append((new["low"].to_numpy() <= truth[:2]) & (truth[:2] <= new["high"].to_numpy()))
    assert 0.9 < np.mean(covered) < 0.99
    assert np.mean(placed) >= 0.75  # of 20


def test_a_table_too_large_for_draws_is_counted_and_put_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a complete table the ability is accuracy, and 95 % intervals cover: 15 worlds of 30 learners."""
    monkeypatch.setattr("camilla.diagnosing.MOST_SAMPLED", 100)
    covered = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        p = two_parameter(rng, 30, 100)
        found = camilla.diagnose(answered(p, rng))
        board = found.learners.sort("learner")
        assert found.provenance["diagnoser"] in ("irt", "mirt")
        np.testing.assert_allclose(board["ability"], board["accuracy"], atol=1e-6)
        truth = p.mean(axis=1)
        covered.append((board["low"].to_numpy() <= truth) & (truth <= board["high"].to_numpy()))
    assert 0.92 < np.mean(covered) < 0.98


def test_auto_takes_no_settings_and_is_of_no_paper() -> None:
    with pytest.raises(camilla.SettingError, match="takes only chains and draws"):
        camilla.diagnose(one_ability(), precision=3.0)
    with pytest.raises(camilla.SettingError, match="not from a paper"):
        camilla.diagnose(one_ability(), as_published=True)
