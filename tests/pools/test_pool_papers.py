"""The pools of the papers against the papers' tables, as far as a test can afford."""

from pathlib import Path

import pytest

from camilla.pools.esol import esol_pool
from camilla.pools.results import only, summary, write_pool
from camilla.pools.running import run
from camilla.pools.titanic import titanic_pool
from camilla.reading.inputs import read


def test_titanic_families_are_as_good_as_table_3_says(data_folder: Path, tmp_path: Path) -> None:
    """Families without chance in them: within .005, two of 418 passengers, for six years of scikit-learn."""
    published = {
        "logistic_regression": 0.769, "svc": 0.730, "linear_svc": 0.766, "k_nearest_neighbors": 0.752,
        "gaussian_naive_bayes": 0.751,
    }  # fmt: skip
    results = run(only(titanic_pool(data_folder / "titanic"), list(published)), tmp_path)
    found = dict(summary(results).select("family", "accuracy").iter_rows())
    assert found == {family: pytest.approx(accuracy, abs=0.005) for family, accuracy in published.items()}
    write_pool(results, tmp_path)
    table = read(tmp_path / "responses.parquet", skills=f"{tmp_path / 'skills.parquet'}:Sex,Embarked,Pclass")
    assert (table.n_learners, table.n_samples) == (42, 418)
    assert table.skill_map is not None
    assert table.skill_map.n_skills == 8


def test_esol_regressors_are_as_good_as_table_5_says(data_folder: Path, tmp_path: Path) -> None:
    """Within .05; the learners not run here come from the stored log, so that there are 22."""
    published = {"LR": 1.216, "Ridge": 1.187, "KRN": 1.156}
    results = run(only(esol_pool(data_folder / "esol"), list(published)), tmp_path)
    found = dict(summary(results).select("family", "mae").iter_rows())
    assert found == {name: pytest.approx(mae, abs=0.05) for name, mae in published.items()}
    write_pool(results, tmp_path, join=data_folder / "camilla_responses/esol_22x1127.parquet")
    table = read(tmp_path / "responses.parquet")
    assert (table.n_learners, table.n_samples) == (22, 1127)
