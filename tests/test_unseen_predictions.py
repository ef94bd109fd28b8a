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
    with pytest.raises(camilla.SettingError, match="mf does nothing with features; auto, bayes, irt, mirt"):
        camilla.diagnose(seen, "mf")
    with pytest.raises(camilla.SettingError, match="irt cannot use features when"):
        camilla.diagnose(seen, "irt", as_published=True)


def test_a_category_that_was_never_fitted_is_named() -> None:
    """It is expected as the mean of those that were, and a note says that nothing is known of it."""
    table = camilla.simulate(6, 40, seed=1).table
    topics = pl.DataFrame({"sample": table.samples, "topic": ["law", "art"] * 20})
    found = camilla.diagnose(table.with_features(samples=topics), "bayes", draws=100)
    new = pl.DataFrame({"sample": ["a", "b"], "topic": ["bio", "law"]})
    notes = found.predict_new(samples=new).notes
    assert [note for note in notes if "nothing is known of 'topic' 'bio'" in note and "law" not in note]


FITTED = {"irt": {"precision": 3.0}, "mirt": {"dimensions": 2, "precision": 3.0}}


@pytest.mark.parametrize("name", FITTED)
def test_intervals_of_modes_with_features_hold_what_new_samples_and_learners_show(name: str) -> None:
    """Six worlds of 40 new samples, six of 12 new learners: .95 with spreads of .014 and .026; two each.

    Rates of 40 responses are whole fortieths, so that intervals hold a little more than .95.
    """
    inside, error, constant, of_learners, agreement = [], [], [], [], []
    for seed in range(100, 106):
        seen, new = world(np.random.default_rng(seed))
        rows = camilla.diagnose(seen, name, **FITTED[name]).predict_new(samples=new.sample_features).samples
        rate = new.sample_means().mean
        inside += ((rate >= rows["low"].to_numpy()) & (rate <= rows["high"].to_numpy())).tolist()
        error.append(np.mean((rate - rows["success_rate"].to_numpy()) ** 2))
        constant.append(np.mean((rate - seen.response.mean()) ** 2))
        table, _ = world(np.random.default_rng(seed + 50), n_learners=60, n_samples=80)
        old, late = table.take_learners(np.arange(48)), table.take_learners(np.arange(48, 60))
        found = camilla.diagnose(old, name, **FITTED[name])
        rows = found.predict_new(learners=late.learner_features).learners
        score = late.learner_means().mean
        of_learners += ((score >= rows["low"].to_numpy()) & (score <= rows["high"].to_numpy())).tolist()
        agreement.append(np.corrcoef(score, rows["score"].to_numpy())[0, 1])
    assert 0.92 < np.mean(inside) < 0.99
    assert np.mean(error) < 0.45 * np.mean(constant)
    assert np.mean(of_learners) > 0.89
    assert np.mean(agreement) > 0.6


def test_features_help_samples_of_three_responses_and_do_not_hurt_known_ones() -> None:
    """Log-loss on left-out cells: three responses per sample, then thirty; four worlds each."""
    change = {}
    for kept in (3, 30):
        losses = []
        for seed in range(200, 204):
            table, _ = world(np.random.default_rng(seed), n_samples=240)
            matrix, rng = table.matrix(), np.random.default_rng(seed)
            order = np.argsort(rng.random(matrix.shape), axis=0)
            few = np.where(order < kept, matrix, np.nan)
            known = camilla.ResponseTable.from_matrix(few, learners=table.learners, samples=table.samples)
            told = known.with_features(samples=table.sample_features, learners=table.learner_features)
            losses.append([left_out_loss(one, matrix, few) for one in (known, told)])
        change[kept] = np.mean(losses, axis=0) @ [-1, 1]
    assert change[3] < -0.05
    assert change[30] < 0.002


def left_out_loss(table: camilla.ResponseTable, matrix: np.ndarray, few: np.ndarray) -> float:
    """Of the responses that were not given."""
    frame = camilla.diagnose(table, "irt", precision=3.0).predict()
    pairs = {row[:2]: row[2] for row in frame.select("learner", "sample", "probability").iter_rows()}
    chance = np.array([[pairs[who, what] for what in table.samples] for who in table.learners])
    out = np.isnan(few)
    x, p = matrix[out], chance[out]
    return float(-np.mean(x * np.log(p) + (1 - x) * np.log(1 - p)))


@pytest.mark.parametrize("name", FITTED)
def test_features_that_say_nothing_predict_as_the_constant(name: str) -> None:
    """Permuted features, five worlds: the error is above that of the constant by less than a twentieth."""
    error, constant = [], []
    for seed in range(300, 305):
        seen, new = world(np.random.default_rng(seed))
        features = seen.sample_features
        assert features is not None
        order = np.random.default_rng(seed).permutation(len(features.names))
        x = features.frame["x"].gather(order)
        seen = seen.with_features(samples=pl.DataFrame({"sample": features.names, "x": x}))
        rows = camilla.diagnose(seen, name, **FITTED[name]).predict_new(samples=new.sample_features).samples
        rate = new.sample_means().mean
        error.append(np.mean((rate - rows["success_rate"].to_numpy()) ** 2))
        constant.append(np.mean((rate - seen.response.mean()) ** 2))
    assert np.mean(error) < 1.05 * np.mean(constant)


def test_abilities_on_the_skills_of_a_map_are_explained_by_features() -> None:
    """Two skills of 40 samples each; u makes learners better at the first, v at the second."""
    rng = np.random.default_rng(400)
    u, v = rng.normal(size=(2, 60))
    ability = np.column_stack([u, v]) + 0.3 * rng.normal(size=(60, 2))
    x, skill = rng.normal(size=80), np.repeat([0, 1], 40)
    chance = 1 / (1 + np.exp(-(1.2 * ability[:, skill] + x)))
    table = camilla.ResponseTable.from_matrix((rng.random(chance.shape) < chance) * 1.0)
    skills = camilla.SkillMap(("one", "two"), skill[:, None] == [0, 1])
    table = table.with_skills(skills).with_features(
        samples=pl.DataFrame({"sample": table.samples, "x": x}),
        learners=pl.DataFrame({"learner": table.learners, "u": u, "v": v}),
    )
    found = camilla.diagnose(table, "camilla-base", precision=1.0, skill_correlation=0.0)
    late = pl.DataFrame({"learner": ["a", "b"], "u": [2.0, -2.0], "v": [-2.0, 2.0]})
    new = found.predict_new(learners=late)
    of = {name: skill[table.samples.index(name)] for name in table.samples}
    means = (
        new.responses.with_columns(skill=pl.col("sample").replace_strict(of, return_dtype=pl.Int64))
        .group_by("learner", "skill")
        .agg(pl.col("probability").mean())
        .sort("learner", "skill")["probability"]
    )
    assert means[0] > 0.7 > 0.3 > means[1]
    assert means[3] > 0.7 > 0.3 > means[2]
    hard = found.predict_new(samples=pl.DataFrame({"sample": ["hard", "easy"], "x": [-2.0, 2.0]}))
    assert hard.samples["success_rate"][0] < 0.25 < 0.75 < hard.samples["success_rate"][1]
    assert any("the skills of a new sample are unknown" in note for note in hard.notes)


def test_a_saved_mode_with_features_predicts_the_same(tmp_path: Path) -> None:
    seen, new = world(np.random.default_rng(500), n_learners=12, n_samples=40)
    late = pl.DataFrame({"learner": ["late"], "u": [1.0]})
    for name, settings in (("irt", {"form": "3pl"}), ("irt", {"form": "1pl"}), ("mirt", FITTED["mirt"])):
        found = camilla.diagnose(seen, name, **settings)
        again = camilla.Diagnosis.load(found.save(tmp_path / "d"))
        for given in ({"samples": new.sample_features}, {"samples": new.sample_features, "learners": late}):
            assert again.predict_new(**given).responses.equals(found.predict_new(**given).responses)
        responses = {"learner": "late", "sample": seen.samples, "response": seen.matrix()[0]}
        assert again.place(pl.DataFrame(responses)).equals(found.place(pl.DataFrame(responses)))


def test_what_is_wrong_with_features_is_said_by_a_mode_as_by_draws() -> None:
    seen, _ = world(np.random.default_rng(600), n_learners=8, n_samples=30)
    constant = pl.DataFrame({"sample": seen.samples, "x": 1.0})
    with pytest.raises(camilla.DataError, match="the same"):
        camilla.diagnose(seen.with_features(samples=constant), "irt")
    gaps = pl.DataFrame({"sample": seen.samples, "x": [None, *range(21)], "flat": "same"})
    bare = camilla.ResponseTable.from_matrix(seen.matrix(), learners=seen.learners, samples=seen.samples)
    found = camilla.diagnose(bare.with_features(samples=gaps), "irt", precision=3.0)
    assert any("missing" in note for note in found.provenance["features"]["samples"]["notes"])
    with pytest.raises(camilla.DataError, match="no column 'x'"):
        found.predict_new(samples=pl.DataFrame({"sample": ["n"], "other": [1.0]}))
    with pytest.raises(camilla.DataError, match="inf"):
        found.predict_new(samples=pl.DataFrame({"sample": ["n"], "x": [float("inf")]}))
    assert "random one of the table" in found.predict_new(learners=["late"]).notes[0]


def test_learners_of_equal_responses_differ_by_their_features() -> None:
    """Four samples, all answered right by learners of which features say very different things."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=60)
    chance = 1 / (1 + np.exp(-(1.5 * u + 0.3 * rng.normal(size=60))[:, None] * np.ones(4)))
    right = (rng.random(chance.shape) < chance) * 1.0
    table = camilla.ResponseTable.from_matrix(right)
    table = table.with_features(learners=pl.DataFrame({"learner": table.learners, "u": u}))
    rows = camilla.diagnose(table, "bayes", draws=200).ability()
    ability = dict(rows.select("learner", "ability").iter_rows())
    alike = [k for k in range(60) if right[k].all()]
    values = [ability[table.learners[k]] for k in alike]
    assert len(alike) > 5
    assert np.corrcoef(u[alike], values)[0, 1] > 0.7


def test_new_samples_are_at_least_one_and_each_named_once() -> None:
    seen, _ = world(np.random.default_rng(700), n_learners=6, n_samples=20)
    found = camilla.diagnose(seen, "irt", precision=3.0)
    plain = camilla.ResponseTable.from_matrix(seen.matrix())
    bare = camilla.diagnose(plain, "irt", precision=3.0)
    for of, given in ((found, pl.DataFrame({"sample": [], "x": []})), (bare, [])):
        with pytest.raises(camilla.DataError, match="no new samples to predict"):
            of.predict_new(samples=given)
    with pytest.raises(camilla.DataError, match="new sample 'n' is named twice"):
        bare.predict_new(samples=["n", "n"])
    missing = found.predict_new(samples=pl.DataFrame({"sample": ["n"], "x": [None]}))
    assert missing.samples["success_rate"][0] == pytest.approx(seen.response.mean(), abs=0.1)


def test_intervals_of_new_learners_widen_beyond_the_features_that_were_fitted() -> None:
    """Ability sin(2u), learners of |u| < 1.5 known; 80 new ones of 2 to 3.5, and 80 among the known.

    No regression knows what comes beyond. Weights of the kernel alone held 47 % of the scores there.
    """
    beyond, among = [], []
    for seed in range(4):
        rng = np.random.default_rng(300 + seed)
        far = rng.uniform(2, 3.5, size=20) * rng.choice([-1, 1], 20)
        u = np.concatenate([rng.uniform(-1.5, 1.5, size=60), far, rng.uniform(-1.5, 1.5, size=20)])
        ability = 1.2 * np.sin(2 * u) + 0.4 * rng.normal(size=100)
        chance = 1 / (1 + np.exp(-(ability[:, None] + rng.normal(size=80))))
        table = camilla.ResponseTable.from_matrix((rng.random(chance.shape) < chance) * 1.0)
        table = table.with_features(learners=pl.DataFrame({"learner": table.learners, "u": u}))
        found = camilla.diagnose(table.take_learners(np.arange(60)), "bayes", dimensions=2, draws=150)
        new = table.take_learners(np.arange(60, 100))
        rows, score = found.predict_new(learners=new.learner_features).learners, new.learner_means().mean
        inside = (score >= rows["low"].to_numpy()) & (score <= rows["high"].to_numpy())
        beyond += inside[:20].tolist()
        among += inside[20:].tolist()
    assert np.mean(beyond) > 0.68
    assert np.mean(among) > 0.88
