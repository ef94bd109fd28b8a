"""The Titanic pool: 353 classifiers learn from one file and meet 418 passengers (Liu et al., 2024, Table 3).

Of the grids of Table 3 the authors kept the learners whose responses differ; which ones is read off the
column names of their released log.
"""

from pathlib import Path

import numpy as np
import polars as pl

from camilla.errors import DataError
from camilla.pools.description import DataSet, Given, Learner, Pool, Preparation
from camilla.pools.grids import Grid, Made, made
from camilla.table.frame_files import read_frame

SKILLS = ("Sex", "Embarked", "Pclass")
NUMBERS = ("Age", "Fare", "SibSp", "Parch")
AUTO = {"max_features": {"auto": {"max_features": "sqrt"}}}

FOREST = Grid(
    "random_forest",
    "sklearn.ensemble:RandomForestClassifier",
    {
        "n_estimators": [10, 50, 100],
        "criterion": ["gini", "entropy"],
        "max_depth": [5, 10, None],
        "max_features": ["auto", "sqrt", "log2"],
        "min_samples_leaf": [1, 3, 5],
    },
    now=AUTO,
    cost=0.2,
)
TREE = Grid(
    "decision_tree",
    "sklearn.tree:DecisionTreeClassifier",
    {
        "criterion": ["gini", "entropy"],
        "splitter": ["best", "random"],
        "max_features": ["auto", "sqrt", "log2"],
    },
    now=AUTO,
    cost=0.01,
)
LOGISTIC = Grid(
    "logistic_regression",
    "sklearn.linear_model:LogisticRegression",
    {
        "penalty": ["none", "l2", "l1"],
        "C": [0.1, 0.5, 10],
        "solver": ["lbfgs", "saga", "liblinear"],
        "warm_start": [True, False],
    },
    {"max_iter": 10_000},
    now={
        "penalty": {"none": {"C": np.inf}, "l2": {"l1_ratio": 0.0}, "l1": {"l1_ratio": 1.0}},
    },
    cost=0.05,
    kept="none 10 lbfgs True, l2 0.1 saga True, l1 0.5 liblinear False, l1 0.1 saga True",
)
SVC = Grid(
    "svc",
    "sklearn.svm:SVC",
    {
        "kernel": ["rbf", "sigmoid", "poly", "linear"],
        "gamma": ["scale", "auto"],
        "coef0": [0.0, 0.1, 1.0],
        "tol": [0.01, 0.001, 0.0001],
    },
    {"max_iter": 1000},
    cost=0.1,
    kept="""
        rbf scale 1.0 0.0001, rbf auto 0.0 0.001, linear auto 0.0 0.01, poly auto 1.0 0.01,
        poly auto 0.1 0.001, poly auto 0.0 0.001, poly scale 0.0 0.0001, poly scale 0.1 0.0001,
        poly scale 1.0 0.01, sigmoid scale 1.0 0.0001, sigmoid scale 0.1 0.001, sigmoid scale 0.0 0.001,
        sigmoid auto 0.0 0.01, sigmoid auto 1.0 0.01, sigmoid auto 0.1 0.01
    """,
)
LINEAR_SVC = Grid(
    "linear_svc",
    "sklearn.svm:LinearSVC",
    {"penalty": ["l2"], "loss": ["squared_hinge", "hinge"], "C": [0.5, 1.0], "tol": [0.001]},
    {"max_iter": 100_000},
    cost=0.2,
    kept="l2 squared_hinge 0.5 0.001, l2 hinge 1.0 0.001",
)
NEIGHBORS = Grid(
    "k_nearest_neighbors",
    "sklearn.neighbors:KNeighborsClassifier",
    {
        "n_neighbors": [3, 5, 7],
        "weights": ["uniform", "distance"],
        "algorithm": ["auto", "ball_tree", "kd_tree", "brute"],
        "p": [1, 2],
    },
    cost=0.05,
    kept="""
        3 distance auto 1, 3 distance auto 2, 3 distance brute 1, 3 distance brute 2, 3 uniform auto 1,
        3 uniform auto 2, 3 uniform brute 1, 3 uniform brute 2, 5 distance ball_tree 1, 5 distance brute 1,
        5 distance kd_tree 1, 5 distance kd_tree 2, 5 uniform auto 1, 5 uniform auto 2, 5 uniform ball_tree 1,
        5 uniform brute 1, 7 distance ball_tree 1, 7 distance brute 2, 7 uniform ball_tree 1,
        7 uniform brute 2
    """,
)
BAYES = Grid("gaussian_naive_bayes", "sklearn.naive_bayes:GaussianNB", {"var_smoothing": [1e-9]}, cost=0.01)
PERCEPTRON = Grid(
    "perceptron",
    "sklearn.linear_model:Perceptron",
    {"penalty": ["l2", "l1", "elasticnet"], "eta0": [1.0, 0.1, 0.5], "early_stopping": [True, False]},
    cost=0.02,
    kept="""
        l2 0.1 True, l2 0.1 False, l2 0.5 True, l2 0.5 False, l2 1.0 True, l2 1.0 False, l1 0.1 True,
        l1 0.1 False, l1 0.5 False, elasticnet 0.1 True, elasticnet 0.1 False, elasticnet 0.5 True,
        elasticnet 0.5 False, elasticnet 1.0 True, elasticnet 1.0 False
    """,
)

ETA0 = (0.1, 0.001, 0.0001)
PENALTIES = ("l1", "l2", "elasticnet")
# For each loss and learning rate, which of ETA0 were kept under l1, l2 and elasticnet; − is none.
DESCENT_KEPT = {
    "hinge": {"constant": "01 02 0", "optimal": "012 012 012", "invscaling": "12 - 2", "adaptive": "0 - -"},
    "log": {"constant": "02 0 01", "optimal": "012 012 012", "invscaling": "1 012 01", "adaptive": "2 0 0"},
    "modified_huber": {
        "constant": "01 01 01", "optimal": "012 012 012", "invscaling": "2 012 01", "adaptive": "0 - 2",
    },
    "squared_hinge": {
        "constant": "0 01 01", "optimal": "012 012 012", "invscaling": "0 0 02", "adaptive": "01 0 0",
    },
    "perceptron": dict.fromkeys(("constant", "optimal", "invscaling", "adaptive"), "012 012 012"),
}  # fmt: skip
DESCENT = Grid(
    "stochastic_gradient_descent",
    "sklearn.linear_model:SGDClassifier",
    {
        "loss": list(DESCENT_KEPT),
        "penalty": list(PENALTIES),
        "learning_rate": ["constant", "optimal", "invscaling", "adaptive"],
        "eta0": list(ETA0),
    },
    {"max_iter": 100_000},
    now={"loss": {"log": {"loss": "log_loss"}}},
    cost=0.05,
    kept=", ".join(
        f"{loss} {penalty} {rate} {ETA0[int(digit)]}"
        for loss, rates in DESCENT_KEPT.items()
        for rate, words in rates.items()
        for penalty, word in zip(PENALTIES, words.split(), strict=True)
        for digit in word.replace("-", "")
    ),
)
GRIDS = (LOGISTIC, TREE, SVC, LINEAR_SVC, NEIGHBORS, FOREST, BAYES, PERCEPTRON, DESCENT)


def table_3() -> Made:
    """The 353 classifiers."""
    return made(GRIDS)


def titanic_data(folder: Path) -> DataSet:
    """train.csv to learn from, test_with_truth.csv to predict; sex, port and class are the skills."""
    files = [folder / name for name in ("train.csv", "test_with_truth.csv")]
    columns = ("PassengerId", "Survived", *SKILLS, *NUMBERS)
    parts = []
    for held_out, file in enumerate(files):
        frame = read_frame(file, columns=columns)
        if frame["Survived"].null_count():
            raise DataError(f"{file}: {frame['Survived'].null_count()} passengers have no Survived.")
        kinds = {"PassengerId": pl.String, "Pclass": pl.String} | dict.fromkeys(NUMBERS, pl.Float64)
        parts.append(frame.cast(kinds).select(columns).with_columns(held_out=pl.lit(bool(held_out))))  # type: ignore[arg-type]
    both = pl.concat(parts)
    return DataSet(
        "titanic",
        both.select(*SKILLS, *NUMBERS),
        both["Survived"].to_numpy().astype(np.float64),
        tuple(both["PassengerId"].to_list()),
        ("0", "1"),
        both.select(SKILLS),
        both["held_out"].to_numpy(),
    )


def titanic_pool(folder: Path, *, seed: int = 0) -> Pool:
    """Right or wrong on 418 passengers. Each learner has its own seed: settings that one learner does not
    look at (eta0 under the optimal learning rate) stand for other draws, as in the paper."""
    chosen = table_3()
    learners: tuple[Learner, ...] = chosen.learners
    return Pool(
        "titanic", "labels", [titanic_data(folder)], learners, Given(),
        Preparation(fill=True, scale_apart=True), seed, shared_seed=False, notes=chosen.notes,
    )  # fmt: skip
