"""How well predicted responses agree with the responses: arrays in, floats out."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.statistics.intervals import student


def auc(response: Floats, predicted: Floats) -> float:
    """P(a right response is predicted above a wrong one), ties counting one half; NaN with one class only."""
    right = response > 0.5
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    if n_right == 0 or n_wrong == 0:
        return float("nan")
    _, value, count = np.unique(predicted, return_inverse=True, return_counts=True)
    mid_rank = np.cumsum(count) - (count - 1) / 2
    return float((mid_rank[value][right].sum() - n_right * (n_right + 1) / 2) / (n_right * n_wrong))


def accuracy(response: Floats, predicted: Floats) -> float:
    """The share of responses on the same side of one half as their prediction."""
    return float(np.mean((predicted >= 0.5) == (response >= 0.5)))


def macro_f1(response: Floats, predicted: Floats) -> float:
    """The mean of the F1 scores of right and of wrong responses; a class that never occurs scores 0."""
    truth, guess = response >= 0.5, predicted >= 0.5
    scores = []
    for side in (True, False):
        hits = np.sum((truth == side) & (guess == side))
        total = np.sum(truth == side) + np.sum(guess == side)
        scores.append(2 * hits / total if total else 0.0)
    return float(np.mean(scores))


def rmse(response: Floats, predicted: Floats) -> float:
    """Root mean squared error."""
    return float(np.sqrt(np.mean((response - predicted) ** 2)))


def mae(response: Floats, predicted: Floats) -> float:
    """Mean absolute error."""
    return float(np.mean(np.abs(response - predicted)))


class ErrorGain(NamedTuple):
    """By how much one way's errors are smaller than another's, with a 95 % interval."""

    gain: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        return self.low > 0


def error_gain(
    difference: Floats, learner: NDArray[np.integer], fold: NDArray[np.integer] | None = None
) -> ErrorGain:
    """The mean of paired differences of errors, one for each time that a learner was tested.

    Student's t over learners. Where all learners of a `fold` share what was chosen for it, of the standard
    errors over learners and over folds the larger holds.
    """
    known = ~np.isnan(difference)
    difference, learner = difference[known], learner[known]
    if len(np.unique(learner)) < 2:
        return ErrorGain(float(difference.mean()) if len(difference) else np.nan, np.nan, np.nan)
    groups = [learner] if fold is None else [learner, fold[known]]
    means = [_group_means(difference, group) for group in groups]
    se = max(group.std(ddof=1) / np.sqrt(len(group)) for group in means if len(group) > 1)
    mean = float(difference.mean())
    ends = student(mean, se, len(means[0]) - 1)
    return ErrorGain(mean, float(ends.low), float(ends.high))


def _group_means(values: Floats, group: NDArray[np.integer]) -> Floats:
    _, place, count = np.unique(group, return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(place, values) / count)


class Offer(NamedTuple):
    """What choosing samples offers on held-out learners over ways that choose nothing.

    `over_random`: the plain mean of as many random samples; `over_weighted`: as many random samples with the
    same estimator; `over_guess`: the mean of the other learners, without any response.
    """

    over_guess: ErrorGain
    over_random: ErrorGain
    over_weighted: ErrorGain

    @property
    def as_good(self) -> Literal["guess", "random", "random, weighted"] | None:
        """The simplest way that is not surely worse; None if choosing is surely better than all of them."""
        if not self.over_guess.is_sure:
            return "guess"
        if not self.over_random.is_sure:
            return "random"
        return None if self.over_weighted.is_sure else "random, weighted"

    @property
    def helps(self) -> bool:
        return self.as_good is None

    @property
    def verdict(self) -> Literal["choosing helps", "simpler is as good"]:
        return "choosing helps" if self.helps else "simpler is as good"

    def to_document(self) -> dict[str, Any]:
        """Everything as plain data, the decision first."""
        gains = {name: gain._asdict() for name, gain in self._asdict().items()}
        return {"helps": self.helps, "as_good": self.as_good, **gains}
