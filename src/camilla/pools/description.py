"""What a pool is: data, learners, preparation, validation. One description serves every pool."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.names import quoted, repeated
from camilla.errors import DataError, SettingError
from camilla.pools.preparation import Preparation
from camilla.pools.validation import Folds, Validation

Task = Literal["scores", "labels", "values"]


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
                f"{self.name!r}: its cost, a guess of the seconds of a fit, is {self.cost!r}; a number above "
                "0 was wanted."
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
        sizes = {self.features.height, len(self.target), len(self.samples)}
        if len(sizes) > 1:
            raise DataError(f"{self.name}: features, target and samples differ in length: {sorted(sizes)}.")
        if not self.features.width:
            raise DataError(f"{self.name}: there is no column beside the target to learn from.")
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
    task: Task
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
                raise SettingError(f"{kind} with one name: {quoted(twice)}. Give each its own.")
        reserved = {"data_set", "sample", "truth", "fold"} & {learner.name for learner in self.learners}
        if reserved:
            raise SettingError(f"a learner cannot be called {quoted(sorted(reserved))}: columns are.")
        if self.task == "scores" and (other := [one for one in self.data if len(one.classes) != 2]):
            raise DataError(
                f"{other[0].name}: the target has {len(other[0].classes)} classes; scores are of one class "
                "against another, so two were wanted."
            )
