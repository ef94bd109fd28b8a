"""Files to data sets, features to matrices, names to learners: what comes in, and what is refused."""

from collections import Counter
from math import prod
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pool_learners import Centroids

from camilla.errors import DataError, SettingError
from camilla.parallel import parallel
from camilla.pools import classifiers, diamond, titanic
from camilla.pools.description import DataSet, Preparation, Split
from camilla.pools.grids import Grid, made
from camilla.pools.sources import (
    binary_data_set,
    error_responses,
    join_predictions,
    own_learners,
    read_classification,
)


def test_the_rarer_class_is_positive_and_incomplete_rows_are_left_out() -> None:
    frame = pl.DataFrame(
        {
            "y": ["b", "a", "a", "b", "a", "a"],
            "x": [1.0, None, 3.0, 4.0, float("nan"), 6.0],
            "z": list("pqrstu"),
        }
    )
    data = binary_data_set(frame, "tiny", target="y")
    assert data.classes == ("a", "b")
    assert data.samples == ("0", "2", "3", "5")
    assert data.target.tolist() == [1, 0, 1, 0]
    assert data.n_incomplete == 2
    assert data.features.columns == ["x", "z"]


def test_every_table_of_a_folder_is_a_data_set(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.write_csv(tmp_path / "one.csv")
    frame.write_parquet(tmp_path / "two.parquet")
    frame.write_csv(tmp_path / "_notes.csv")
    (tmp_path / "read.me").write_text("not a table")
    found = read_classification([tmp_path])
    assert [data.name for data in found] == ["one", "two"]
    assert found[0].classes == ("well", "ill")


@pytest.mark.parametrize(
    ("change", "target", "said"),
    [
        ({}, "clas", "no column 'clas'. Did you mean 'class'"),
        ({"class": pl.lit("ill")}, None, "'class' has 1 classes in 120 complete rows"),
        ({"class": pl.col("noise")}, None, "'class' has 120 classes"),
        ({"noise": pl.lit(None)}, None, "'class' has 0 classes in 0 complete rows"),
    ],
    ids=["no such column", "one class", "numbers", "nothing complete"],
)
def test_targets_that_cannot_be_learned_are_refused(
    change: dict[str, pl.Expr], target: str | None, said: str, frame: pl.DataFrame
) -> None:
    with pytest.raises(DataError, match=said):
        binary_data_set(frame.with_columns(**change), "small", target=target)


def test_folders_without_tables_and_lonely_targets_are_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no table"):
        read_classification([tmp_path])
    with pytest.raises(DataError, match="no such file or folder"):
        read_classification([tmp_path / "nowhere"])
    with pytest.raises(DataError, match="no column beside the target"):
        binary_data_set(frame.select("class"), "bare")


def test_preparation_learns_from_training_rows_only() -> None:
    """Mean 2 and spread 1 of (1, 3); the gap becomes the mean, the colour nobody saw is no colour."""
    features = pl.DataFrame({"x": [1.0, 3.0, None, 5.0], "c": ["red", "blue", "red", "green"]})
    split = Split(np.array([0, 1]), np.array([2, 3]))
    train, test = Preparation(fill=True).matrices(features, split)
    np.testing.assert_allclose(train, [[-1, 0, 1], [1, 1, 0]])
    np.testing.assert_allclose(test, [[0, 0, 1], [3, 0, 0]])


def test_preparation_can_drop_a_column_scale_all_or_nothing_or_apart() -> None:
    features = pl.DataFrame({"x": [1.0, 3.0, 10.0, 20.0], "c": ["red", "blue", "red", "blue"]})
    split = Split(np.array([0, 1]), np.array([2, 3]))
    assert Preparation(scale="none").matrices(features, split)[0].tolist() == [[1, 0, 1], [3, 1, 0]]
    both = Preparation(scale="all", drop_first=True).matrices(features, split)[0]
    assert both.tolist() == [[-1, 1], [1, -1]]
    apart = Preparation(scale_apart=True).matrices(features, split)[1]
    assert apart.tolist() == [[-1, 0, 1], [1, 1, 0]]


def counted(grids: tuple[Grid, ...]) -> dict[str, int]:
    """Without building them, because some packages may be missing."""
    return {
        grid.family: len(grid.kept.split(",")) if grid.kept else prod(map(len, grid.settings.values()))
        for grid in grids
    }


def test_grids_have_as_many_learners_as_the_papers_count() -> None:
    """Breskanu and Maisuradze, Table 3; Liu et al. (2024) Tables 3 and 6."""
    assert list(counted(classifiers.GRIDS).values()) == [120, 60, 12, 9, 9, 30, 40, 15]
    assert list(counted(titanic.GRIDS).values()) == [4, 12, 15, 2, 20, 162, 1, 15, 122]
    assert list(counted(diamond.GRIDS).values()) == [2, 1, 9, 9, 18, 12, 16, 27, 9, 27, 27]
    assert len(classifiers.table_3().learners) == 302


def test_titanic_learners_are_those_of_the_released_log(data_folder: Path) -> None:
    """Their column names hold family and settings; sorted words of both must agree."""
    log = pl.read_parquet_schema(data_folder / "camilla_responses/titanic_353x418.parquet")
    renamed = {
        "SGD_100000.0": "stochastic_gradient_descent", "knn": "k_nearest_neighbors",
        "Linear_SVC": "linear_svc", "SVC": "svc", "gaussianNB": "gaussian_naive_bayes",
    }  # fmt: skip
    theirs = []
    for name in list(log)[1:]:
        old = next((old for old in renamed if name.startswith(old + "_")), None)
        theirs.append(name if old is None else renamed[old] + name.removeprefix(old))
    ours = [
        "_".join([learner.family, *(str(value) for value in learner.settings.values())])
        for learner in titanic.table_3().learners
    ]
    assert Counter(ours) == Counter(theirs)


def test_settings_that_were_dropped_are_mapped_and_said() -> None:
    found = {learner.name: learner.estimator for learner in titanic.table_3().learners}
    forest = "random_forest:n_estimators=10:criterion=gini:max_depth=5:max_features=auto:min_samples_leaf=1"
    assert found[forest].max_features == "sqrt"
    assert np.isinf(found["logistic_regression:penalty=none:C=10:solver=lbfgs:warm_start=True"].C)
    assert found["logistic_regression:penalty=l1:C=0.1:solver=saga:warm_start=True"].l1_ratio == 1.0
    assert "random_forest: max_features=auto is now max_features=sqrt" in titanic.table_3().notes


def test_a_missing_package_costs_its_family_and_is_said() -> None:
    there = Grid("tree", "sklearn.tree:DecisionTreeClassifier", {"max_depth": [1, 2]})
    found = made([Grid("boost", "no_such_package:Boost", {"depth": [1]}), there])
    assert [learner.name for learner in found.learners] == ["tree:max_depth=1", "tree:max_depth=2"]
    assert found.notes[0].startswith("boost: left out, no_such_package is not installed")
    with pytest.raises(SettingError, match="'3' is not a combination"):
        Grid("tree", "sklearn.tree:DecisionTreeClassifier", {"max_depth": [1, 2]}, kept="3").learners()


def test_own_learners_are_found_by_path() -> None:
    found = own_learners("pool_learners:MINE")
    assert [learner.name for learner in found] == ["centroids", "refuses"]
    (one,) = own_learners("pool_learners:Centroids")
    assert isinstance(one.estimator, Centroids)
    for path, said in [
        ("pool_learners", "is not module:name"),
        ("pool_learners:NONE", "has no 'NONE'"),
        ("no_such_module:X", "cannot be imported"),
        ("pool_learners:NOTHING", "has no fit"),
    ]:
        with pytest.raises(SettingError, match=said):
            own_learners(path)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(SettingError, match="no backend 'cloud'"), parallel("cloud"):
        pass


def predictions() -> pl.DataFrame:
    return pl.DataFrame(
        {"data_set": ["d"] * 2, "sample": ["0", "1"], "truth": [1.0, 2.0], "fold": [0, 1], "ours": [1.0, 3.0]}
    )


def test_stored_predictions_join_by_sample(tmp_path: Path) -> None:
    """Errors (0, 1) and (1, 0): each is best once, so the relative errors are 1, 0 and 0, 1."""
    file = tmp_path / "stored.csv"
    pl.DataFrame({"id": [1, 0], "label": [2.0, 1.0], "theirs": [2.0, 2.0], "ours": [9.0, 9.0]}).write_csv(
        file
    )
    joined = join_predictions(predictions(), file)
    assert joined["theirs"].to_list() == [2.0, 2.0]
    assert joined["ours"].to_list() == [1.0, 3.0]
    assert error_responses(joined).matrix().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"id": [0, 1], "label": [1.0, 2.5], "a": [0, 0]}, "truth of sample '1' is 2.0 in the pool and 2.5"),
        ({"id": [0, 7], "label": [1.0, 2.0], "a": [0, 0]}, "1 of 2 samples differ or are missing"),
        ({"id": [0, 1], "a": [0, 0]}, "truth"),
    ],
    ids=["other truth", "other sample", "no truth"],
)
def test_stored_predictions_of_other_samples_are_refused(
    table: dict[str, list[float]], said: str, tmp_path: Path
) -> None:
    pl.DataFrame(table).write_csv(tmp_path / "stored.csv")
    with pytest.raises(DataError, match=said):
        join_predictions(predictions(), tmp_path / "stored.csv")


def test_the_tenth_of_the_diamonds_is_stratified(data_folder: Path) -> None:
    """Every tenth in sorted order: a level of cut differs from a tenth of its count by less than one run of
    ten; color and clarity are sorted within, so by less than one a run, of which cut × color has 35."""
    tenth = diamond.diamond_data(data_folder / "diamonds")
    whole = diamond.diamond_data(data_folder / "diamonds", full=True)
    assert (tenth.n_samples, whole.n_samples) == (5394, 53940)
    for skill, runs in (("cut", 1), ("color", 5), ("clarity", 35)):
        counts = dict(_counts(tenth, skill).iter_rows())
        for level, count in _counts(whole, skill).iter_rows():
            assert abs(counts[level] - count / 10) <= runs
    assert tenth.target.mean() == pytest.approx(whole.target.mean(), rel=0.01)


def _counts(data: DataSet, skill: str) -> pl.DataFrame:
    assert data.skills is not None
    return data.skills[skill].value_counts()
