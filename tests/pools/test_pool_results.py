"""What a pool predicts, keeps and reports."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pool_learners import Centroids, Dies, Drawing, Infinite, Refuses, Speechless
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from camilla.errors import DataError, SettingError
from camilla.pools.description import (
    DataSet,
    Folds,
    Given,
    Holdout,
    Learner,
    Pool,
    Preparation,
    artificial_learners,
)
from camilla.pools.results import PoolResults, only, summary, write_pool
from camilla.pools.running import run

FOREST = Learner("forest", RandomForestClassifier(5), "forest")


def scored(data: DataSet, folder: Path, *learners: Learner, jobs: int = 1) -> PoolResults:
    return run(Pool("test", "scores", [data], learners, Folds(3)), folder, jobs=jobs)


@pytest.mark.parametrize(
    ("estimator", "method"),
    [(LogisticRegression(), "predict_proba"), (SVC(), "decision_function"), (Centroids(), None)],
    ids=lambda value: type(value).__name__,
)
def test_scores_are_those_of_cross_val_predict(
    estimator: object, method: str | None, data: DataSet, tmp_path: Path
) -> None:
    """scikit-learn's own out-of-fold predictions on the pool's folds, preparation inside the folds. Equal to
    rounding: SciPy's optimisers see features in another column order."""
    results = scored(data, tmp_path, Learner("it", estimator))
    frame = results.predictions()
    folds = [(part.split.train, part.split.test) for part in results.prepared[0].parts]
    prepared = make_column_transformer(
        (StandardScaler(), ["height", "weight", "noise"]), (OneHotEncoder(), ["colour"])
    )
    if method is None:
        matrix = np.empty(len(data.target))
        for train, test in folds:
            seen = prepared.fit_transform(data.features[train])
            unseen = prepared.transform(data.features[test])
            matrix[test] = Centroids().fit(seen, data.target[train]).decision_function(unseen)
    else:
        pipeline = make_pipeline(prepared, estimator)
        matrix = cross_val_predict(pipeline, data.features, data.target, cv=folds, method=method)
    wanted = matrix[:, 1] if matrix.ndim == 2 else matrix
    np.testing.assert_allclose(frame["it"], wanted, atol=2e-4)
    assert frame["truth"].to_list() == data.target.tolist()


def test_every_sample_is_predicted_once_and_folds_are_stratified(data: DataSet, tmp_path: Path) -> None:
    """35 % of 120 in three folds: each fold's share is within one sample of the whole's."""
    prepared = scored(data, tmp_path, FOREST).prepared[0]
    tests = np.concatenate([part.split.test for part in prepared.parts])
    assert sorted(tests) == list(range(120))
    counts = [data.target[part.split.test].sum() for part in prepared.parts]
    assert max(counts) - min(counts) <= 1
    for part in prepared.parts:
        assert not set(part.split.train) & set(part.split.test)


def test_order_and_number_of_jobs_change_nothing(data: DataSet, tmp_path: Path) -> None:
    learners = [FOREST, Learner("drawing", Drawing()), Learner("tree", DecisionTreeClassifier())]
    one = scored(data, tmp_path / "a", *learners).predictions()
    two = scored(data, tmp_path / "b", *learners[::-1], jobs=2).predictions()
    assert one.equals(two.select(one.columns))


def test_seed_changes_what_is_random(data: DataSet, tmp_path: Path) -> None:
    runs = [
        run(Pool("test", "scores", [data], [FOREST], Folds(3), seed=seed), tmp_path).predictions()
        for seed in (0, 1)
    ]
    assert not runs[0]["forest"].equals(runs[1]["forest"])


def test_a_failed_fit_costs_that_learner_and_is_reported(data: DataSet, tmp_path: Path) -> None:
    bad = [Learner("refuses", Refuses()), Learner("mute", Speechless()), Learner("infinite", Infinite())]
    results = scored(data, tmp_path, *bad, FOREST)
    document = write_pool(results, tmp_path)
    said = {failure["learner"]: failure["error"] for failure in document["failed"]}
    assert said == {
        "refuses": "ValueError: no luck today",
        "mute": "TypeError: Speechless has neither predict_proba nor decision_function",
        "infinite": "ValueError: 40 predictions are not finite",
    }
    scores = pl.read_parquet(tmp_path / "scores.parquet")
    assert {name for name in scores.columns if scores[name].null_count()} == set(said)
    assert scores.select(list(said)).null_count().row(0) == (120, 120, 120)


def test_a_learner_that_takes_its_process_with_it_costs_only_itself(data: DataSet, tmp_path: Path) -> None:
    others = [Learner("centroids", Centroids()), FOREST]
    results = scored(data, tmp_path / "a", others[0], Learner("dies", Dies()), others[1], jobs=2)
    failed = results.fits().filter(pl.col("error").is_not_null())
    assert failed["learner"].to_list() == ["dies"]
    assert failed["error"].item().startswith("its process died")
    untroubled = scored(data, tmp_path / "b", *others).predictions()
    assert results.predictions().drop("dies").equals(untroubled)


def test_warnings_of_every_fit_are_kept(data: DataSet, tmp_path: Path) -> None:
    fits = scored(data, tmp_path, Learner("hasty", MLPClassifier((3,), max_iter=1)), FOREST).fits()
    hasty = fits.filter(pl.col("learner") == "hasty")["warnings"].to_list()
    assert len(hasty) == 3
    assert all(said[0].startswith("ConvergenceWarning: Stochastic Optimizer") for said in hasty)
    assert fits.filter(pl.col("learner") == "forest")["warnings"].list.len().sum() == 0


def test_learners_that_order_samples_alike_are_duplicates(data: DataSet, tmp_path: Path) -> None:
    """Entropy and log-loss are one criterion; three constants are one order; a forest is a copy of none."""
    learners = [
        Learner("entropy", DecisionTreeClassifier(criterion="entropy")),
        Learner("log_loss", DecisionTreeClassifier(criterion="log_loss")),
        FOREST,
        *artificial_learners(),
    ]
    results = scored(data, tmp_path, *learners)
    copies = {"log_loss": "entropy", "minority": "majority", "mean_target": "majority"}
    assert results.duplicates() == copies
    assert write_pool(results, tmp_path)["duplicates"] == copies
    assert not set(pl.read_parquet(tmp_path / "scores.parquet").columns) & set(copies)
    rows = pl.read_parquet(tmp_path / "learners.parquet").drop_nulls("duplicate_of")
    assert dict(rows.select("learner", "duplicate_of").iter_rows()) == copies


def test_artificial_learners_are_what_they_are_called(data: DataSet, tmp_path: Path) -> None:
    """AUC by scikit-learn; the shares of coin throws lie within four standard errors of theirs (1 in 10⁴)."""
    frame = scored(data, tmp_path, *artificial_learners()).predictions()
    auc = {one.name: roc_auc_score(frame["truth"], frame[one.name]) for one in artificial_learners()}
    assert (auc["optimal"], auc["pessimal"]) == (1.0, 0.0)
    assert [auc[name] for name in ("majority", "minority", "mean_target")] == [0.5] * 3
    share = data.target.mean()
    assert frame["mean_target"].unique().to_list() == [share]
    assert (frame["majority"].unique().item(), frame["minority"].unique().item()) == (0.0, 1.0)
    for name, wanted in (("uniform_random", 0.5), ("balanced_random", share)):
        assert set(frame[name]) == {0.0, 1.0}
        assert abs(frame[name].mean() - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / 120)  # type: ignore[operator]


def test_summary_tells_auc_as_scikit_learn_does(data: DataSet, tmp_path: Path) -> None:
    results = scored(data, tmp_path, FOREST)
    frame = results.predictions()
    assert summary(results)["auc"].item() == pytest.approx(roc_auc_score(frame["truth"], frame["forest"]))


def test_holdout_predicts_its_share_only(data: DataSet, tmp_path: Path) -> None:
    pool = Pool("test", "scores", [data], [FOREST], Holdout(0.4))
    assert run(pool, tmp_path).predictions().height == 48


def test_values_learn_a_scaled_target_and_answer_on_its_own_scale(tmp_path: Path) -> None:
    """A tree that memorises gives back the targets it has seen: train and test hold the same rows."""
    target = np.array([3.0, 500.0, 7000.0, 12.5])
    data = DataSet(
        "twice", pl.DataFrame({"x": [1.0, 2, 3, 4] * 2}), np.tile(target, 2), tuple("abcdefgh"),
        held_out=np.arange(8) >= 4,
    )  # fmt: skip
    pool = Pool(
        "test",
        "values",
        [data],
        [Learner("tree", DecisionTreeRegressor())],
        Given(),
        Preparation(scale_target=True),
    )
    frame = run(pool, tmp_path).predictions()
    assert frame["sample"].to_list() == ["e", "f", "g", "h"]
    np.testing.assert_allclose(frame["tree"], target, rtol=1e-12)


def test_labels_become_right_or_wrong(data: DataSet, tmp_path: Path) -> None:
    pool = Pool("test", "labels", [data], [Learner("tree", DecisionTreeClassifier())], Folds(3))
    results = run(pool, tmp_path)
    frame = results.predictions()
    assert set(frame["tree"]) == {"well", "ill"}
    right = (frame["tree"] == frame["truth"]).cast(pl.Float64)
    assert results.responses().matrix()[0].tolist() == right.to_list()


def test_descriptions_that_cannot_be_run_are_refused(data: DataSet) -> None:
    with pytest.raises(SettingError, match="no learners"):
        Pool("test", "scores", [data], [])
    with pytest.raises(SettingError, match="one name: 'forest'"):
        Pool("test", "scores", [data], [FOREST, FOREST])
    with pytest.raises(SettingError, match="cannot be called 'truth'"):
        Pool("test", "scores", [data], [Learner("truth", Centroids())])
    with pytest.raises(SettingError, match=r"no family 'forrest'. Did you mean 'forest'"):
        only(Pool("test", "scores", [data], [FOREST]), ["forrest"])
    with pytest.raises(SettingError, match="1 folds"):
        Folds(1).splits(data, 0)
    with pytest.raises(SettingError, match="between 0 and 1"):
        Holdout(1.5).splits(data, 0)
    with pytest.raises(DataError, match="too few for 60 folds"):
        Folds(60).splits(data, 0)
    with pytest.raises(DataError, match="held out"):
        Given().splits(data, 0)


def test_provenance_travels_with_the_scores(data: DataSet, tmp_path: Path) -> None:
    import sklearn

    document = write_pool(scored(data, tmp_path, FOREST), tmp_path)
    assert document["versions"]["scikit-learn"] == sklearn.__version__
    assert document["validation"] == {"kind": "folds", "number": 3, "shuffle": True}
    assert document["data"][0]["classes"] == ["well", "ill"]
    assert len(document["data"][0]["sha256"]) == 64
    assert (document["seed"], document["fits"]) == (0, 3)


def test_folds_are_those_of_scikit_learn(data: DataSet) -> None:
    """So that a user can make them without us."""
    cut = StratifiedKFold(4, shuffle=True, random_state=11)
    wanted = [test.tolist() for _, test in cut.split(np.zeros(120), data.target)]
    assert [split.test.tolist() for split in Folds(4).splits(data, 11)] == wanted
