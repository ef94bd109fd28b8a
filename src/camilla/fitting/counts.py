"""Weighted means of learners and samples: what needs counting and no fitting."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.fitting.layout import Layout

CLIP = 1e-7  # keeps the logit of a mean of 0 or 1 finite


class GroupMeans(NamedTuple):
    """Means and their sampling variances; without responses the mean of all and the variance ¼."""

    mean: Floats
    variance: Floats


def learner_means(layout: Layout) -> GroupMeans:
    """Of each learner over its samples."""
    learner, _, weight, right = layout.cells()
    return grouped_means(learner, weight, right, layout.n_learners)


def sample_means(layout: Layout) -> GroupMeans:
    """Of each sample over its learners."""
    _, sample, weight, right = layout.cells()
    return grouped_means(sample, weight, right, layout.n_samples)


def grouped_means(group: NDArray[np.integer], weight: Floats, right: Floats, n_groups: int) -> GroupMeans:
    """m = Σ wx / W with variance n/(n − 1) Σ (w (x − m))² / W² over the n cells of each group."""
    total = np.bincount(group, weight, n_groups)
    whole = right.sum() / weight.sum()
    mean = np.where(total > 0, np.bincount(group, right, n_groups) / np.where(total > 0, total, 1), whole)
    n = np.bincount(group, minlength=n_groups)
    spread = np.bincount(group, (right - weight * mean[group]) ** 2, n_groups)
    variance = spread / np.where(total > 0, total, 1) ** 2 * n / np.maximum(n - 1, 1)
    return GroupMeans(mean, np.where(n > 1, variance, 0.25))


def clipped_logit(p: Floats) -> Floats:
    """log(p / (1 − p)), finite at 0 and 1."""
    inside = np.clip(p, CLIP, 1 - CLIP)
    return np.log(inside) - np.log1p(-inside)
