"""Own learners for tests of pools; imported by path, so that subprocesses can have them."""

import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class Centroids:
    """Distance to the mean of class 0 less that to class 1: a decision function, no probabilities."""

    def fit(self, features: Matrix, target: NDArray[np.int64]) -> "Centroids":
        self.means = [features[target == one].mean(axis=0) for one in (0, 1)]
        return self

    def decision_function(self, features: Matrix) -> Matrix:
        away = [np.linalg.norm(features - mean, axis=1) for mean in self.means]
        return away[0] - away[1]


class Slow(Centroids):
    """Takes a moment, and leaves a line in the file FITS_LOG at every fit."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, features: Matrix, target: NDArray[np.int64]) -> "Slow":
        with Path(os.environ["FITS_LOG"]).open("a") as log:
            log.write(f"{self.name}\n")
        time.sleep(0.05)
        super().fit(features, target)
        return self


class Refuses:
    """Cannot be fitted."""

    def fit(self, features: Matrix, target: NDArray[np.int64]) -> None:
        raise ValueError("no luck today")


class Unlucky(Centroids):
    """Is out of memory as long as there is a file of this name."""

    def __init__(self, full: str) -> None:
        self.full = full

    def fit(self, features: Matrix, target: NDArray[np.int64]) -> "Unlucky":
        if Path(self.full).exists():
            raise MemoryError("no room left")
        super().fit(features, target)
        return self


class Dies(Centroids):
    """Takes its process with it."""

    def fit(self, features: Matrix, target: NDArray[np.int64]) -> "Dies":
        os._exit(7)


class Speechless:
    """Fits, and then has nothing to say."""

    def fit(self, features: Matrix, target: NDArray[np.int64]) -> "Speechless":
        return self


class Infinite(Centroids):
    """Scores without a bound."""

    def decision_function(self, features: Matrix) -> Matrix:
        return np.full(len(features), np.inf)


class Drawing(Centroids):
    """Draws its scores from NumPy's own generator."""

    def decision_function(self, features: Matrix) -> Matrix:
        return np.random.random(len(features))


SLOW = {f"slow-{i}": Slow(f"slow-{i}") for i in range(12)}
MINE = {"centroids": Centroids(), "refuses": Refuses()}
NOTHING = 3
