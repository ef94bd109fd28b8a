"""What auto chooses, and what it says of it."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
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


def fractions() -> ResponseTable:
    """Linear in three factors, five standard deviations inside [0, 1]."""
    rng = np.random.default_rng(4)
    x = 0.5 + rng.normal(0, 0.05, (20, 3)) @ rng.normal(size=(3, 300)) + rng.normal(0, 0.03, (20, 300))
    return ResponseTable.from_matrix(np.clip(x, 0, 1))


@pytest.mark.parametrize(
    ("table", "wanted"),
    [(one_ability, "irt"), (five_abilities, "mirt"), (four_skills, "camilla-base"), (fractions, "gaussian")],
)
def test_auto_finds_the_kind_of_world(table: Any, wanted: str) -> None:
    made = camilla.diagnose(table()).provenance
    assert made["diagnoser"] == wanted
    tried = {trial["diagnoser"]: trial for trial in made["candidates"]}
    best = min(trial["validation_loss"] for trial in tried.values())
    assert tried[wanted]["validation_loss"] - best <= tried[wanted]["behind_se"]


def test_ability_is_the_mean_expected_response_on_any_samples() -> None:
    """Predictions are tempered one by one; a mean over samples is of what the fit expects, untempered."""
    for table in (one_ability(), four_skills(), fractions()):
        found = camilla.diagnose(table)
        tempered = found.probabilities()
        expected = sigmoid(np.log(tempered / (1 - tempered)) * found.temperature)
        for wanted in (slice(None), slice(0, 7)):
            mean = dict(zip(found.learner_names, expected[:, wanted].mean(axis=1), strict=True))
            board = found.ability(found.sample_names[wanted])
            np.testing.assert_allclose(board["ability"], [mean[n] for n in board["learner"]], rtol=1e-9)


def test_skills_difficulty_and_discrimination_are_still_there() -> None:
    found = camilla.diagnose(four_skills())
    assert found.skills["skill"].unique().sort().to_list() == [f"skill {k}" for k in range(4)]
    assert found.skills.select((pl.col("low") <= pl.col("high")).all()).item()
    assert found.samples["difficulty"].null_count() < found.samples.height / 10
    assert found.samples["discrimination_se"].is_not_null().all()
    assert found.place(four_skills().take_learners([3]))["ability"].is_between(0, 1).all()


def test_intervals_cover_the_expected_response() -> None:
    """20 worlds of 30 learners: a standard error of a point.

    Samples rest on 30 responses each and count as known: 92.6 % is what that leaves of 95 % for θ of 40
    learners (docs/design/intervals.md).
    """
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = two_parameter(rng, 30, 100)
        board = camilla.diagnose(answered(p, rng)).learners.sort("learner")
        truth = p.mean(axis=1)
        covered.append((board["low"].to_numpy() <= truth) & (truth <= board["high"].to_numpy()))
    assert 0.90 < np.mean(covered) < 0.98


def test_auto_takes_no_settings_and_is_of_no_paper() -> None:
    with pytest.raises(camilla.SettingError, match="takes none"):
        camilla.diagnose(one_ability(), precision=3.0)
    with pytest.raises(camilla.SettingError, match="of no paper"):
        camilla.diagnose(one_ability(), as_published=True)


def test_large_tables_are_chosen_for_on_fewer_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for 60 samples the losses are of other cells, and the fit is still of all 150 samples."""
    whole = camilla.diagnose(one_ability())
    monkeypatch.setattr("camilla.diagnosing.MOST_CELLS", 40 * 60)
    found = camilla.diagnose(one_ability())
    first, other = (each.provenance["candidates"][0]["validation_loss"] for each in (whole, found))
    assert first != other
    assert found.samples.height == 150
    assert found.samples["difficulty"].null_count() == 0
