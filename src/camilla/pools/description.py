"""What a pool is: its data, how they are prepared and split, its learners."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError
from camilla.names import quoted, repeated


class Split(NamedTuple):
    """Row numbers."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


@dataclass(frozen=True)
class Folds:
    """k folds: every sample is predicted once, by a fit that has not seen it.

    Folds of classes are stratified. `shuffle` False takes the rows in their order.
    """

    number: int = 5
    shuffle: bool = True

    def splits(self, data: "DataSet", seed: int) -> list[Split]:
        from sklearn.model_selection import KFold, StratifiedKFold

        if self.number < 2:
            raise SettingError(f"{self.number} folds; expected at least 2.")
        _check_enough(data, self.number, f"{self.number} folds")
        kind = StratifiedKFold if data.classes else KFold
        cut = kind(self.number, shuffle=self.shuffle, random_state=seed if self.shuffle else None)
        return [Split(train, test) for train, test in cut.split(np.zeros(data.n_samples), data.target)]


@dataclass(frozen=True)
class Holdout:
    """One split: a share of the samples, stratified by class, is held out and predicted."""

    share: float = 0.4

    def splits(self, data: "DataSet", seed: int) -> list[Split]:
        from sklearn.model_selection import train_test_split

        if not 0 < self.share < 1:
            raise SettingError(f"the share held out lies between 0 and 1; it is {self.share}.")
        _check_enough(data, 2, "a hold-out")
        classes = data.target if data.classes else None
        rows = np.arange(data.n_samples)
        train, test = train_test_split(rows, test_size=self.share, random_state=seed, stratify=classes)
        return [Split(np.sort(train), np.sort(test))]


@dataclass(frozen=True)
class Given:
    """The split that came with the data: learn from one file, predict another."""

    def splits(self, data: "DataSet", seed: int) -> list[Split]:
        if data.held_out is None or data.held_out.all() or not data.held_out.any():
            raise DataError(
                f"{data.name}: no samples, or all samples, are marked as held out; expected some."
            )
        return [Split(np.flatnonzero(~data.held_out), np.flatnonzero(data.held_out))]


Validation = Folds | Holdout | Given


def _check_enough(data: "DataSet", wanted: int, what: str) -> None:
    """A fold without one of the classes cannot be learned from or judged."""
    if not data.classes:
        if data.n_samples < wanted:
            raise DataError(f"{data.name}: {data.n_samples} samples are too few for {what}.")
        return
    counts = np.bincount(data.target.astype(np.int64), minlength=len(data.classes))
    if counts.min() < wanted:
        scarce = data.classes[int(counts.argmin())]
        raise DataError(
            f"{data.name}: class {scarce!r} has {counts.min()} samples, too few for {what}. "
            "Leave the data set out or ask for fewer folds."
        )


@dataclass(frozen=True)
class Preparation:
    """scale: `numbers`, `all` (one-hot columns too) or `none`; fill: mean or most frequent value for a
    missing one; drop_first: one column fewer a category; scale_target: learn the target as z-scores;
    scale_apart: the numbers of the test rows by their own mean and spread, as the Titanic log was made."""

    scale: Literal["numbers", "all", "none"] = "numbers"
    fill: bool = False
    drop_first: bool = False
    scale_target: bool = False
    scale_apart: bool = False

    def matrices(self, features: pl.DataFrame, split: Split) -> tuple[NDArray[np.float64], ...]:
        """Training and test rows as matrices."""
        numbers = [name for name, kind in features.schema.items() if kind.is_numeric()]
        prepared = self._transformer(numbers, [name for name in features.columns if name not in numbers])
        train = np.ascontiguousarray(prepared.fit_transform(features[split.train]))
        test = np.ascontiguousarray(prepared.transform(features[split.test]))
        if self.scale_apart:
            own = test[:, : len(numbers)]
            test[:, : len(numbers)] = (own - own.mean(axis=0)) / own.std(axis=0)
        return train, test

    def _transformer(self, numbers: list[str], labels: list[str]) -> Any:
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

        as_is = FunctionTransformer(np.asarray)
        one_hot = OneHotEncoder(
            sparse_output=False, handle_unknown="ignore", drop="first" if self.drop_first else None
        )
        columns = ColumnTransformer(
            [
                (
                    "numbers",
                    make_pipeline(
                        SimpleImputer() if self.fill else as_is,
                        StandardScaler() if self.scale == "numbers" else as_is,
                    ),
                    numbers,
                ),
                (
                    "labels",
                    make_pipeline(
                        SimpleImputer(strategy="most_frequent", missing_values=None) if self.fill else as_is,
                        one_hot,
                    ),
                    labels,
                ),
            ]
        )
        return make_pipeline(columns, StandardScaler() if self.scale == "all" else as_is)


PoolTask = Literal["scores", "labels", "values"]


@dataclass(frozen=True)
class Learner:
    """A name and an unfitted estimator: anything with `fit` and what the pool's task asks for.

    `cost` is a guess of the seconds of one fit on 1,000 rows; only the order of work hangs on it.
    """

    name: str
    estimator: Any
    family: str = "own"
    settings: dict[str, Any] = field(default_factory=dict)
    cost: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.cost < math.inf:
            raise SettingError(
                f"{self.name!r}: its cost, a guess of the seconds of a fit, is {self.cost!r}; expected a "
                "number above 0."
            )


@dataclass(frozen=True, eq=False)
class DataSet:
    """Samples with features and a target: class codes 0, 1, … where there are `classes`, else numbers."""

    name: str
    features: pl.DataFrame
    target: NDArray[np.float64]
    samples: tuple[str, ...]
    classes: tuple[str, ...] = ()
    skills: pl.DataFrame | None = None  # columns of labels, rows in the order of samples
    held_out: NDArray[np.bool_] | None = None  # the samples a `Given` validation tests on
    n_incomplete: int = 0  # rows left out because a value is missing

    def __post_init__(self) -> None:
        if not self.features.width:
            raise DataError(f"{self.name}: there is no column beside the target to learn from.")
        sizes = {self.features.height, len(self.target), len(self.samples)}
        if len(sizes) > 1:
            raise DataError(f"{self.name}: features, target and samples differ in length: {sorted(sizes)}.")
        if twice := repeated(self.samples):
            raise DataError(f"{self.name}: sample names occur more than once: {quoted(twice)}.")

    @property
    def n_samples(self) -> int:
        return len(self.samples)


@dataclass(frozen=True, eq=False)
class Pool:
    """Learners × data sets, and how each learner comes to its predictions.

    task: `scores` (of the positive class: `predict_proba`, else `decision_function`), `labels` or `values`
    (`predict`). shared_seed: the seed of a fit depends on data set and fold only, so that two learners that
    differ in nothing that matters come out the same; else it depends on the learner's name as well.
    """

    name: str
    task: PoolTask
    data: Sequence[DataSet]
    learners: Sequence[Learner]
    validation: Validation = field(default_factory=Folds)
    preparation: Preparation = field(default_factory=Preparation)
    seed: int = 0
    shared_seed: bool = True
    notes: tuple[str, ...] = ()  # what a reader of the results must know: settings mapped, learners left out

    def __post_init__(self) -> None:
        for kind, things in (("data sets", self.data), ("learners", self.learners)):
            if not things:
                raise SettingError(f"the pool has no {kind}.")
            if twice := repeated(thing.name for thing in things):
                raise SettingError(f"{kind} with one name: {quoted(twice)}. Give each its own name.")
        reserved = {"data_set", "sample", "truth", "fold"} & {learner.name for learner in self.learners}
        if reserved:
            raise SettingError(
                f"a learner cannot be called {quoted(sorted(reserved))}, because columns have these names."
            )
        if self.task == "scores" and (other := [one for one in self.data if len(one.classes) != 2]):
            raise DataError(
                f"{other[0].name}: the target has {len(other[0].classes)} classes; scores compare one class "
                "with the other; expected two."
            )


LearnerKind = Literal[
    "optimal", "pessimal", "majority", "minority", "mean_target", "uniform_random", "balanced_random"
]
KINDS: tuple[LearnerKind, ...] = (
    "optimal",
    "pessimal",
    "majority",
    "minority",
    "mean_target",
    "uniform_random",
    "balanced_random",
)


@dataclass(frozen=True)
class Artificial:
    """Scores made from the truth alone; class 1 is the positive one."""

    kind: LearnerKind

    def scores(self, truth: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        """The truth or its opposite, one constant, or coin throws."""
        rng = np.random.default_rng([seed, KINDS.index(self.kind)])
        share, size = float(truth.mean()), len(truth)
        match self.kind:
            case "optimal":
                return truth
            case "pessimal":
                return 1 - truth
            case "majority":
                return np.full(size, float(share > 0.5))
            case "minority":
                return np.full(size, float(share <= 0.5))
            case "mean_target":
                return np.full(size, share)
            case "uniform_random":
                return rng.binomial(1, 0.5, size).astype(np.float64)
            case "balanced_random":
                return rng.binomial(1, share, size).astype(np.float64)


def artificial_learners() -> tuple[Learner, ...]:
    """The seven of the paper."""
    return tuple(Learner(kind, Artificial(kind), "artificial", {}, 1e-3) for kind in KINDS)
