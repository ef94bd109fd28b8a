"""Vanilla: plain accuracy, the score every other has to beat."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.fitting.layout import GroupMeans, Layout, Size, clipped_logit, learner_means, sample_means
from camilla.fitting.protocol import Level, Placement, Readout, Solution, Spread


class VanillaParams(NamedTuple):
    mean: Floats  # [learners]
    variance: Floats  # [learners], of the mean
    sample_mean: Floats  # [samples]
    sample_variance: Floats
    item_rest: Floats  # [samples], correlation of the response with the learner's mean


@dataclass(frozen=True, eq=False)
class Vanilla:
    """p = ρᵢ, the learner's mean response; a learner without responses has the pool's mean."""

    name: ClassVar[str] = "vanilla"
    engine: ClassVar[str] = "own"
    tempered: ClassVar[bool] = False
    parameters_type: ClassVar[Any] = VanillaParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "mean": ("learner",),
        "variance": ("learner",),
        "sample_mean": ("sample",),
        "sample_variance": ("sample",),
        "item_rest": ("sample",),
    }
    size: Size

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {}

    def solve(self, layout: Layout, rng: np.random.Generator, watch: Watch) -> Solution:
        learners, samples = learner_means(layout), sample_means(layout)
        params = VanillaParams(*learners, *samples, item_rest(layout, learners))
        return Solution(params, float("nan"), 0.0, 1, True)

    def logit(
        self, params: VanillaParams, learner: NDArray[np.integer], sample: NDArray[np.integer]
    ) -> Floats:
        return clipped_logit(params.mean[learner])

    def place(self, params: VanillaParams, weight: Floats, right: Floats) -> Placement:
        if weight.sum() == 0:
            return Placement(params.mean.mean(keepdims=True), np.full((1, 1), 0.25), True)
        mean = right.sum() / weight.sum()
        seen = weight > 0
        count = max(seen.sum(), 2)
        variance = np.sum((right[seen] - weight[seen] * mean) ** 2) / weight.sum() ** 2 * count / (count - 1)
        return Placement(np.array([mean]), np.array([[variance]]), True)

    def level(self, params: VanillaParams, placement: Placement) -> Level:
        return Level(placement.row, placement.covariance)

    def readout(self, params: VanillaParams, spread: Spread | None) -> Readout:
        return Readout(
            ability=params.mean[:, None],
            covariance=params.variance[:, None, None],
            skill_weight=np.ones((self.size.n_samples, 1)),
            difficulty=1 - params.sample_mean,
            discrimination=params.item_rest,
            interval="Student's t, over samples" if self.size.fractional else "Wilson's, over samples",
            unit_scale=True,
            counted=True,
            difficulty_se=np.sqrt(params.sample_variance),
        )


def item_rest(layout: Layout, learners: GroupMeans) -> Floats:
    """Correlation of each sample's responses with the learners' means, over the learners that saw it."""
    out = np.full(layout.n_samples, np.nan)
    for start in range(0, layout.n_samples, 4096):
        rows = np.arange(start, min(layout.n_samples, start + 4096))
        weight, right = layout.block(rows)
        seen = weight > 0
        response = np.where(seen, right / np.where(seen, weight, 1), 0)
        n = np.maximum(seen.sum(axis=1), 1)
        x = np.where(seen, response - (response.sum(axis=1) / n)[:, None], 0)
        level = np.where(seen, learners.mean, 0)
        z = np.where(seen, level - (level.sum(axis=1) / n)[:, None], 0)
        power = np.sqrt((x**2).sum(axis=1) * (z**2).sum(axis=1))
        out[rows] = np.divide((x * z).sum(axis=1), power, out=np.full(len(rows), np.nan), where=power > 0)
    return out
