"""Which samples a learner learns from and which it is asked about."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError

if TYPE_CHECKING:
    from camilla.pools.description import DataSet


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
            raise SettingError(f"{self.number} folds; at least 2 were wanted.")
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
            raise DataError(f"{data.name}: no samples are marked as held out, or all; some were wanted.")
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
