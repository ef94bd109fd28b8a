"""One learner on one data set: fit on each fold, predict what it has not seen, keep its messages."""

import copy
import hashlib
import time
import warnings
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from camilla.pools.description import Artificial, Learner, PoolTask

SEEDS = ("random_state", "random_seed")


class LearnerFit(msgspec.Struct, frozen=True):
    """What one fit cost (CPU seconds) and said."""

    fold: int
    seconds: float
    warnings: list[str]
    error: str | None = None


class Outcome(msgspec.Struct, frozen=True):
    """A learner's predictions on a data set, one per sample: float64, NaN where none was asked for."""

    learner: str
    data_set: str
    key: str
    fits: list[LearnerFit]
    predictions: bytes

    @property
    def values(self) -> NDArray[np.float64]:
        return np.frombuffer(self.predictions, "<f8")

    @property
    def failed(self) -> bool:
        """Whether a fold ended in an error, after which no further one was fitted."""
        return self.fits[-1].error is not None


class FoldPart(msgspec.Struct, frozen=True):
    """A fold with its features ready."""

    split: Any
    train: Any  # [rows, features]
    test: Any


class Work(msgspec.Struct, frozen=True):
    """All that a worker is given."""

    learner: Learner
    data_set: str
    key: str
    task: PoolTask
    parts: Sequence[FoldPart]
    target: Any
    seed: int
    scale_target: bool


def fit_learner(work: Work) -> Outcome:
    """Fits on every fold, one BLAS and OpenMP thread each; the first error ends this learner here."""
    predictions = np.full(len(work.target), np.nan)
    fits: list[LearnerFit] = []
    with threadpool_limits(1):
        for fold, part in enumerate(work.parts):
            fits.append(_guarded(work, fold, part, predictions))
            if fits[-1].error is not None:
                predictions[:] = np.nan
                break
    return Outcome(work.learner.name, work.data_set, work.key, fits, predictions.astype("<f8").tobytes())


def _guarded(work: Work, fold: int, part: FoldPart, predictions: NDArray[np.float64]) -> LearnerFit:
    """Whatever a learner raises is its own failure and not the run's."""
    error = None
    started = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            predictions[part.split.test] = _predicted(work, fold, part)
        except Exception as raised:  # noqa: BLE001
            error = f"{type(raised).__name__}: {raised}"
    seconds = time.process_time() - started
    texts = dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in said)
    return LearnerFit(fold, seconds, list(texts), error)


def _predicted(work: Work, fold: int, part: FoldPart) -> NDArray[np.float64]:
    seed = seed_of(work.seed, work.data_set, fold)
    estimator = work.learner.estimator
    if isinstance(estimator, Artificial):
        return estimator.scores(work.target, seed_of(work.seed, work.data_set, 0))[part.split.test]
    ready = seeded(estimator, seed)
    target = work.target[part.split.train]
    mean, spread = (target.mean(), target.std() or 1.0) if work.scale_target else (0.0, 1.0)
    learned = target.astype(np.int64) if work.task != "values" else (target - mean) / spread
    ready.fit(part.train, learned)
    answer = scores(ready, part.test) if work.task == "scores" else np.asarray(ready.predict(part.test))
    answer = np.asarray(answer, np.float64).reshape(-1) * spread + mean
    if len(answer) != len(part.split.test):
        raise ValueError(f"got {len(answer)} predictions for {len(part.split.test)} samples")
    if not np.isfinite(answer).all():
        raise ValueError(f"{(~np.isfinite(answer)).sum()} predictions are not finite")
    return answer


def scores(fitted: Any, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(class 1) where the learner has probabilities, else its decision function."""
    if hasattr(fitted, "predict_proba"):
        return np.asarray(fitted.predict_proba(features))[:, 1]
    if hasattr(fitted, "decision_function"):
        return np.asarray(fitted.decision_function(features))
    raise TypeError(f"{type(fitted).__name__} has neither predict_proba nor decision_function")


def seeded(estimator: Any, seed: int) -> Any:
    """A fresh copy; every random_state in it, nested ones too, and NumPy's own generator get the seed."""
    np.random.seed(seed)  # for learners that draw from it
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    from sklearn.base import clone

    fresh = clone(estimator)
    seeds = [name for name in fresh.get_params() if name.split("__")[-1] in SEEDS]
    return fresh.set_params(**dict.fromkeys(seeds, seed))


def seed_of(*parts: object) -> int:
    """31 bits that depend on the words alone: not on the order of work nor on the number of workers."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "little") >> 1
