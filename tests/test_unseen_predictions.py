"""Predictions of new samples and learners: coverage in worlds made by formula, fallback, disk, command."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from command_line import camilla as run


def world(
    rng: np.random.Generator, n_learners: int = 40, n_samples: int = 160
) -> tuple[camilla.ResponseTable, ...]:
    """Easiness 1.3 x + noise of .7 over ability 0.8 u + noise of .6; a fifth of the samples is new."""
    x, u = rng.normal(size=n_samples), rng.normal(size=n_learners)
    ability = 0.8 * u + 0.6 * rng.normal(size=n_learners)
    chance = 1 / (1 + np.exp(-(ability[:, None] + 1.3 * x + 0.7 * rng.normal(size=n_samples))))
    table = camilla.ResponseTable.from_matrix((rng.random(chance.shape) < chance) * 1.0)
    table = table.with_features(
        samples=pl.DataFrame({"sample": table.samples, "x": x}),
        learners=pl.DataFrame({"learner": table.learners, "u": u}),
    )
    cut = n_samples * 3 // 4
    return table.take_samples(np.arange(cut)), table.take_samples(np.arange(cut, n_samples))


def test_intervals_of_new_samples_hold_their_success_rates() -> None:
    """160 new samples of four worlds: the binomial spread of .95 is .017; three of them, both ways."""
    inside, error, constant = [], [], []
    for seed in range(4):
        seen, new = world(np.random.default_rng(seed))
        found = camilla.diagnose(seen, "bayes", dimensions=2, draws=200, seed=seed)
        rows = found.predict_new(samples=new.sample_features).samples
        rate = new.sample_means().mean
        inside += ((rate >= rows["low"].to_numpy()) & (rate <= rows["high"].to_numpy())).tolist()
        error.append(np.mean((rate - rows["success_rate"].to_numpy()) ** 2))
        constant.append(np.mean((rate - seen.response.mean()) ** 2))
    assert 0.89 < np.mean(inside) <= 1
    assert np.mean(error) < 0.5 * np.mean(constant)


def test_intervals_hold_where_the_regression_is_wrong() -> None:
    """Easiness with sign, sine and heavy tails, 600 new samples of three worlds."""
    inside = []
    for seed in range(3):
        rng = np.random.default_rng(70 + seed)
        x, ability = rng.normal(size=(360, 4)), rng.normal(size=40)
        easiness = 1.5 * np.sin(2 * x[:, 0]) + np.sign(x[:, 1]) * np.abs(rng.normal(size=360))
        easiness += 0.5 * rng.standard_t(2, size=360)
        chance = 1 / (1 + np.exp(-(np.outer(ability, np.exp(0.4 * rng.normal(size=360))) + easiness)))
        table = camilla.ResponseTable.from_matrix((rng.random(chance.shape) < chance) * 1.0)
        known = {"sample": table.samples, **{f"x{k}": x[:, k] for k in range(4)}}
        table = table.with_features(samples=pl.DataFrame(known))
        seen, new = table.take_samples(np.arange(160)), table.take_samples(np.arange(160, 360))
        found = camilla.diagnose(seen, "bayes", dimensions=2, draws=150)
        rows, rate = found.predict_new(samples=new.sample_features).samples, new.sample_means().mean
        inside += ((rate >= rows["low"].to_numpy()) & (rate <= rows["high"].to_numpy())).tolist()
    assert 0.9 < np.mean(inside) < 0.99


def test_intervals_of_new_learners_hold_their_scores() -> None:
    """40 learners left out of four worlds of 40 samples: at least .85, three spreads of .034 below .95."""
    inside, gain = [], []
    for seed in range(4):
        seen, _ = world(np.random.default_rng(10 + seed), n_learners=60, n_samples=80)
        old, new = seen.take_learners(np.arange(50)), seen.take_learners(np.arange(50, 60))
        found = camilla.diagnose(old, "bayes", dimensions=2, draws=200)
        rows = found.predict_new(learners=new.learner_features).learners
        score = new.learner_means().mean
        inside += ((score >= rows["low"].to_numpy()) & (score <= rows["high"].to_numpy())).tolist()
        gain.append(np.corrcoef(score, rows["score"].to_numpy())[0, 1])
    assert np.mean(inside) >= 0.85
    assert np.mean(gain) > 0.6


def test_without_features_new_samples_are_the_constant_baseline() -> None:
    """Every new sample is expected to be as the mean of those that were fitted, and the note says so."""
    seen, _ = world(np.random.default_rng(20))
    plain = seen.take_samples(np.arange(seen.n_samples))
    plain = camilla.ResponseTable.from_matrix(plain.matrix())
    for name in ("bayes", "irt"):
        found = camilla.diagnose(plain, name, **({"draws": 120} if name == "bayes" else {"precision": 1.0}))
        new = found.predict_new(samples=["p", "q"])
        assert "the constant baseline" in new.notes[0]
        assert new.samples["success_rate"].to_numpy() == pytest.approx(plain.response.mean(), abs=0.03)


def test_a_saved_diagnosis_predicts_the_same_and_the_command_writes_it(tmp_path: Path) -> None:
    seen, new = world(np.random.default_rng(30), n_learners=8, n_samples=40)
    found = camilla.diagnose(seen, "bayes", dimensions=1, draws=120)
    features = new.sample_features
    assert features is not None
    wanted = found.predict_new(samples=features)
    again = camilla.Diagnosis.load(found.save(tmp_path / "d"))
    assert again.predict_new(samples=features).responses.equals(wanted.responses)
    features.to_frame().write_csv(tmp_path / "new.csv")
    end = run("predict", "d", "--new-samples", "new.csv", "--json", cwd=tmp_path)
    document = json.loads(end.stdout)
    assert document["samples"][0]["sample"] == features.names[0]
    assert document["samples"][0]["success_rate"] == pytest.approx(
        wanted.samples["success_rate"][0], abs=1e-6
    )
    pl.DataFrame({"sample": ["n"], "other": [1]}).write_csv(tmp_path / "bad.csv")
    end = run("predict", "d", "--new-samples", "bad.csv", cwd=tmp_path)
    assert end.returncode == 1
    assert "no column 'x'" in end.stderr


def test_features_are_refused_where_they_would_do_nothing() -> None:
    seen, _ = world(np.random.default_rng(40), n_learners=6, n_samples=20)
    with pytest.raises(camilla.SettingError, match="irt does nothing with features; auto and bayes use them"):
        camilla.diagnose(seen, "irt")


def test_a_category_that_was_never_fitted_is_named() -> None:
    """It is expected as the mean of those that were, and a note says that nothing is known of it."""
    table = camilla.simulate(6, 40, seed=1).table
    topics = pl.DataFrame({"sample": table.samples, "topic": ["law", "art"] * 20})
    found = camilla.diagnose(table.with_features(samples=topics), "bayes", draws=100)
    new = pl.DataFrame({"sample": ["a", "b"], "topic": ["bio", "law"]})
    notes = found.predict_new(samples=new).notes
    assert [note for note in notes if "nothing is known of 'topic' 'bio'" in note and "law" not in note]
