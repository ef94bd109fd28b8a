"""Which features matter: effects in worlds with known weights, contrasts within a category, messages."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import DataError, SettingError
from command_line import camilla as run


def world(seed: int = 0, *, n_samples: int = 150, n_learners: int = 40) -> camilla.ResponseTable:
    """difficulty = 0.9 steps + (0, 0.7, −0.4 by topic) + residual; `noise` says nothing."""
    rng = np.random.default_rng(seed)
    steps, noise, topic = (
        rng.normal(0, 1, n_samples),
        rng.normal(0, 1, n_samples),
        rng.integers(0, 3, n_samples),
    )
    difficulty = 0.9 * steps + np.array([0.0, 0.7, -0.4])[topic] + 0.5 * rng.normal(0, 1, n_samples)
    logit = rng.normal(0, 1, n_learners)[:, None] - difficulty
    right = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(float)
    table = camilla.ResponseTable.from_matrix(right)
    known = {
        "sample": table.samples,
        "steps": steps,
        "noise": noise,
        "topic": np.array(["a", "b", "c"])[topic],
    }
    return table.with_features(samples=pl.DataFrame(known))


TABLE = world()
FOUND = camilla.feature_effects(TABLE)


def effect(found: object, feature: str, term: str | None = None) -> dict[str, float]:
    frame = found.effects.filter(pl.col("feature") == feature)  # type: ignore[attr-defined]
    return (frame if term is None else frame.filter(pl.col("term") == term)).row(0, named=True)


def test_known_effects_are_found_and_none_in_noise() -> None:
    """Within the width of their intervals, four standard errors; test_row_effects.py has coverage."""
    features = TABLE.sample_features
    assert features is not None
    true = 0.9 * features.frame["steps"].to_numpy().std()
    steps = effect(FOUND, "steps")
    assert abs(steps["effect"] - true) < steps["high"] - steps["low"]
    assert steps["high"] - steps["low"] < 0.4
    assert steps["p_value"] < 1e-6
    assert effect(FOUND, "noise")["holm_p"] > 0.05
    shares = features.frame["topic"].value_counts(normalize=True)
    of = dict(shares.iter_rows())
    average = 0.7 * of["b"] - 0.4 * of["c"]
    for topic, weight in (("a", 0.0), ("b", 0.7), ("c", -0.4)):
        row = effect(FOUND, "topic", topic)
        assert abs(row["effect"] - (weight - average)) < row["high"] - row["low"]


def test_the_most_telling_feature_comes_first_and_the_share_is_right() -> None:
    """The residual is .5² of a variance of about .81 + .2 + .25: features explain .8 of the difficulty."""
    assert FOUND.features["feature"][0] == "steps"
    assert FOUND.variance_explained == pytest.approx(0.8, abs=0.08)
    assert FOUND.explained.low > 0.5
    noise = FOUND.features.filter(pl.col("feature") == "noise").row(0, named=True)
    assert noise["lost_low"] < 0.01
    assert noise["alone"] < 0.05
    assert np.corrcoef(FOUND.predicted["observed"], FOUND.predicted["predicted"])[0, 1] > 0.75
    assert "'steps' matters most" in FOUND.answer


def agents(seed: int = 1) -> camilla.ResponseTable:
    """60 agents: ability = base model + scaffold (good: +0.8) + residual; good models have good scaffolds."""
    rng = np.random.default_rng(seed)
    base = np.repeat(np.arange(10), 6)
    good = rng.random(60) < np.linspace(0.15, 0.85, 10)[base]
    ability = np.linspace(-2, 2, 10)[base] + 0.8 * good + 0.2 * rng.normal(0, 1, 60)
    logit = ability[:, None] - rng.normal(0, 1.5, 200)
    right = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(float)
    table = camilla.ResponseTable.from_matrix(right)
    known = {
        "learner": table.learners,
        "base": [f"model {k}" for k in base],
        "scaffold": np.where(good, "good", "plain"),
    }
    return table.with_features(learners=pl.DataFrame(known))


def test_within_a_base_model_the_scaffolds_effect_is_told_from_the_models() -> None:
    """Alone, the scaffold gets what its models have; within the base model it is 0.8."""
    table = agents()
    found = camilla.feature_effects(table, within="base")
    row = found.effects.row(0, named=True)
    sign = 1 if row["term"] == "good, not plain" else -1
    within = sorted([sign * row["low"], sign * row["high"]])
    assert within[0] < 0.8 < within[1]
    assert within[1] - within[0] < 0.5
    without = camilla.feature_effects(
        replace(table, learner_features=table.learner_features.without(["base"]))  # type: ignore[union-attr]
    )
    plain = without.effects.row(0, named=True)
    assert (1 if plain["term"] == "good, not plain" else -1) * plain["effect"] > 1.2


def test_levels_that_never_meet_are_not_compared() -> None:
    """Scaffolds s and t share base model x, u and v share y: s is compared with t alone."""
    rng = np.random.default_rng(3)
    right = (rng.random((16, 60)) < 0.5).astype(float)
    table = camilla.ResponseTable.from_matrix(right)
    known = {
        "learner": table.learners,
        "base": ["x"] * 8 + ["y"] * 8,
        "scaffold": list("stststst" + "uvuvuvuv"),
    }
    found = camilla.feature_effects(table.with_features(learners=pl.DataFrame(known)), within="base")
    by_term = dict(found.effects.select("term", "effect").iter_rows())
    assert by_term["s"] == pytest.approx(-by_term["t"])
    assert by_term["u"] == pytest.approx(-by_term["v"])


def test_a_feature_that_follows_from_others_is_left_out_and_said() -> None:
    features = TABLE.sample_features
    assert features is not None
    double = features.frame.select(
        pl.Series("sample", features.names), pl.col("steps"), twice=pl.col("steps") * 2
    )
    found = camilla.feature_effects(TABLE.with_features(samples=double))
    assert found.effects.height == 0
    assert any("cannot be told from those of other features" in note for note in found.notes)
    assert found.explained.low > 0.4


def test_errors_say_what_to_give() -> None:
    bare = replace(TABLE, sample_features=None)
    with pytest.raises(DataError, match="Give --features"):
        camilla.feature_effects(bare)
    with pytest.raises(DataError, match="Give --learner-features"):
        camilla.feature_effects(TABLE, of="learners")
    with pytest.raises(SettingError, match="within takes a category; 'steps' is a number"):
        camilla.feature_effects(TABLE, within="steps")
    with pytest.raises(SettingError, match="no feature 'topics'"):
        camilla.feature_effects(TABLE, within="topics")
    with pytest.raises(SettingError, match="'samples' or 'learners'"):
        camilla.feature_effects(TABLE, of="items")


def test_the_command_prints_what_the_function_finds(tmp_path: Path) -> None:
    bare, features = replace(TABLE, sample_features=None), TABLE.sample_features
    assert features is not None
    bare.write(tmp_path / "runs.csv")
    known = features.frame.clone().insert_column(0, pl.Series("sample", features.names))
    known.write_csv(tmp_path / "known.csv")
    done = run("features", "runs.csv", "--features", "known.csv", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert document["explained"]["value"] == pytest.approx(FOUND.explained.value, abs=1e-6)
    assert len(document["effects"]) == 5
    done = run("features", "runs.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "Give --features" in done.stderr


def sparse_world(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A feature, and four responses per sample: learners have as few, so that one response moves them."""
    rng = np.random.default_rng(seed)
    x, ability = rng.normal(size=160), 1.5 * rng.normal(size=160)
    asked = np.argsort(rng.random((160, 160)), axis=1)[:, :4]
    logit = ability[asked] - x[:, None] - 0.7 * rng.normal(size=(160, 1))
    return x, asked, (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))) * 1.0


def test_a_sample_is_predicted_without_its_own_responses() -> None:
    """All responses of one sample are turned around: only predictions of the other folds may change.

    The model's levels are good to 1e-4 logits, and so are predicted means.
    """
    x, asked, right = sparse_world(1)
    names = np.array([f"s{k:03d}" for k in range(160)])
    frames = []
    for turned in (right, np.vstack([1 - right[:1], right[1:]])):
        long = pl.DataFrame({
            "sample": np.repeat(names, 4), "learner": [f"l{k:03d}" for k in asked.ravel()],
            "response": turned.ravel(),
        })  # fmt: skip
        known = pl.DataFrame({"sample": names, "x": x})
        table = camilla.ResponseTable.from_long(long).with_features(samples=known)
        frames.append(camilla.feature_effects(table).predicted.sort("sample"))
    before, after = (frame["predicted"].to_numpy() for frame in frames)
    assert after[0] == pytest.approx(before[0], abs=3e-4)
    assert np.abs(after - before).max() > 0.01


def test_a_feature_may_be_called_missing() -> None:
    """Names are names: a feature explains as much whatever it is called."""
    features = TABLE.sample_features
    assert features is not None
    renamed = features.to_frame().rename({"steps": "steps is missing"})
    found = camilla.feature_effects(TABLE.with_features(samples=renamed))
    assert found.explained.value == pytest.approx(FOUND.explained.value, abs=1e-9)
    assert "steps is missing" in found.features["feature"]
