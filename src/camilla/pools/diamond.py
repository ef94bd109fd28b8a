"""The Diamond pool: 157 regressors on the prices of diamonds, 5-fold (Liu et al., 2024, Table 6).

Settings that Table 6 leaves open (depth of the forests, learning rate of LightGBM, features without depth,
target learned as z-scores) are those of the authors' published training script.
"""

from pathlib import Path

import numpy as np
import polars as pl

from camilla.pools.description import DataSet, Folds, Pool, Preparation
from camilla.pools.grids import CATBOOST, Grid, Made, made
from camilla.table.frame_files import read_frame

SKILLS = ("cut", "color", "clarity")
NUMBERS = ("carat", "table", "x", "y", "z")
TENTH = 10

GRIDS = (
    Grid("support_vector", "sklearn.svm:SVR", {"kernel": ["rbf", "linear"]}, {"cache_size": 500}, cost=0.06),
    Grid("ridge", "sklearn.linear_model:Ridge", {"alpha": [0.5]}, {"max_iter": 500, "tol": 1e-3}, cost=0.001),
    Grid(
        "decision_tree",
        "sklearn.tree:DecisionTreeRegressor",
        {"min_samples_leaf": [2, 4, 8], "min_samples_split": [2, 4, 8]},
        cost=0.01,
    ),
    Grid(
        "lightgbm",
        "lightgbm:LGBMRegressor",
        {"max_depth": [2, 4, 8], "n_estimators": [500, 1000, 2000]},
        {"learning_rate": 0.05, "n_jobs": 1, "verbosity": -1},
        cost=lambda settings: 6e-5 * settings["n_estimators"],
    ),
    Grid(
        "random_forest",
        "sklearn.ensemble:RandomForestRegressor",
        {"max_features": [2, 4, 8], "min_samples_split": [4, 8, 10], "n_estimators": [200, 500]},
        {"max_depth": 6},
        cost=lambda settings: 4e-4 * settings["n_estimators"],
    ),
    Grid(
        "k_neighbors",
        "sklearn.neighbors:KNeighborsRegressor",
        {"leaf_size": [10, 20, 30, 50], "n_neighbors": [3, 5, 7]},
        cost=0.005,
    ),
    Grid(
        "gradient_boosting",
        "sklearn.ensemble:GradientBoostingRegressor",
        {"min_samples_split": [2, 4, 8, 10], "n_estimators": [100, 200, 300, 500]},
        cost=lambda settings: 1e-3 * settings["n_estimators"],
    ),
    Grid(
        "xgboost",
        "xgboost:XGBRegressor",
        {
            "learning_rate": [0.03, 0.1, 0.3],
            "min_child_weight": [0.0001, 0.001, 0.01],
            "reg_lambda": [0.5, 1.0, 2.0],
        },
        {"n_jobs": 1},
        cost=0.02,
    ),
    Grid(
        "adaboost",
        "sklearn.ensemble:AdaBoostRegressor",
        {"learning_rate": [0.03, 0.3, 1.0], "loss": ["square"], "n_estimators": [50, 100, 500]},
        cost=lambda settings: 1.2e-3 * settings["n_estimators"],
    ),
    Grid(
        "mlp",
        "sklearn.neural_network:MLPRegressor",
        {
            "learning_rate_init": [0.0001, 0.001, 0.01],
            "hidden_layer_sizes": [(32,), (64,), (32, 32)],
            "alpha": [0.001, 0.01, 0.1],
        },
        cost=0.2,
    ),
    Grid(
        "catboost",
        "catboost:CatBoostRegressor",
        {"learning_rate": [0.003, 0.03, 0.1], "l2_leaf_reg": [0.3, 1.0, 3.0], "depth": [4, 7, 10]},
        CATBOOST,
        cost=lambda settings: 0.018 * 1.6 ** settings["depth"],
    ),
)
NOTES = (
    "adaboost: Table 6 names two losses and 18 combinations but counts 9 learners; loss=square is taken",
    "mlp: learning_rate of Table 6 is scikit-learn's learning_rate_init",
)


def table_6() -> Made:
    """The 157 regressors, without those whose package is missing."""
    chosen = made(GRIDS)
    return Made(chosen.learners, (*chosen.notes, *NOTES))


def diamond_data(path: Path, *, full: bool = False) -> DataSet:
    """Prices from carat, table, x, y, z, cut, color and clarity; the last three are the skills.

    A stratified tenth unless `full`: every tenth diamond in the order of cut, color, clarity and price.
    Samples are called by their row in the file, from 0.
    """
    file = path / "diamonds.parquet" if path.is_dir() else path
    frame = read_frame(file, columns=(*SKILLS, *NUMBERS, "price")).with_row_index("row")
    if not full:
        frame = frame.sort(*SKILLS, "price", "row").gather_every(TENTH, TENTH // 2).sort("row")
    return DataSet(
        "diamond",
        frame.select(*NUMBERS, *(pl.col(name).cast(pl.String) for name in SKILLS)),
        frame["price"].to_numpy().astype(np.float64),
        tuple(frame["row"].cast(pl.String).to_list()),
        skills=frame.select(pl.col(name).cast(pl.String) for name in SKILLS),
    )


def diamond_pool(path: Path, *, full: bool = False, seed: int = 0) -> Pool:
    """One-hot columns without the first, all columns and the target as z-scores, five shuffled folds."""
    chosen = table_6()
    return Pool(
        "diamond", "values", [diamond_data(path, full=full)], chosen.learners, Folds(5),
        Preparation(scale="all", drop_first=True, scale_target=True), seed, notes=chosen.notes,
    )  # fmt: skip
