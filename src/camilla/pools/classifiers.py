"""The pool of score-based classifiers: 295 learned and 7 artificial ones (Breskanu and Maisuradze, Table 3).

The paper names the settings that vary and how many classifiers they make, not their values; the values
here are ours.
"""

from collections.abc import Sequence

import numpy as np

from camilla.pools.description import DataSet, Folds, Pool, Validation, artificial_learners
from camilla.pools.grids import Grid, Made, made

GRIDS = (
    Grid(
        "logistic_regression",
        "sklearn.linear_model:LogisticRegression",
        {
            "C": [float(f"{c:.3g}") for c in np.logspace(-4, 4, 20)],
            "solver": ["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"],
        },
        {"max_iter": 200},
        cost=0.05,
    ),
    Grid(
        "decision_tree",
        "sklearn.tree:DecisionTreeClassifier",
        {"max_depth": list(range(1, 21)), "criterion": ["gini", "entropy", "log_loss"]},
        cost=0.01,
    ),
    Grid(
        "random_forest",
        "sklearn.ensemble:RandomForestClassifier",
        {"max_depth": [3, 6, 12, None], "n_estimators": [10, 50, 100]},
        cost=0.2,
    ),
    Grid(
        "gradient_boosting",
        "sklearn.ensemble:GradientBoostingClassifier",
        {"n_estimators": [20, 50, 100], "learning_rate": [0.01, 0.1, 0.5]},
        cost=0.3,
    ),
    Grid(
        "lightgbm",
        "lightgbm:LGBMClassifier",
        {"n_estimators": [20, 50, 100], "num_leaves": [7, 31, 127]},
        {"n_jobs": 1, "verbosity": -1},
        cost=0.1,
    ),
    Grid(
        "svm",
        "sklearn.svm:SVC",
        {
            "C": [float(f"{c:.3g}") for c in np.logspace(-2, 1, 10)],
            "kernel": ["linear", "poly", "rbf"],
        },
        {"cache_size": 500},
        cost=0.3,
    ),
    Grid(
        "k_nearest_neighbors",
        "sklearn.neighbors:KNeighborsClassifier",
        {"n_neighbors": list(range(1, 40, 2)), "weights": ["uniform", "distance"]},
        cost=0.03,
    ),
    Grid(
        "multilayer_perceptron",
        "sklearn.neural_network:MLPClassifier",
        {
            "hidden_layer_sizes": [(5,), (10,), (20,), (50,), (20, 20)],
            "activation": ["logistic", "tanh", "relu"],
        },
        cost=0.8,
    ),
)


def table_3() -> Made:
    """The 302 classifiers, without those whose package is missing."""
    learned = made(GRIDS)
    return Made((*learned.learners, *artificial_learners()), learned.notes)


def classifiers_pool(
    data: Sequence[DataSet],
    *,
    classifiers: Made | None = None,
    validation: Validation | None = None,
    seed: int = 0,
) -> Pool:
    """Scores of the positive class, out of fold; one-hot categories, scaled numbers, complete cases."""
    chosen = table_3() if classifiers is None else classifiers
    validation = Folds(5) if validation is None else validation
    return Pool("classifiers", "scores", data, chosen.learners, validation, seed=seed, notes=chosen.notes)
