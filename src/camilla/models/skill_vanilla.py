"""Skill-Vanilla: plain accuracy on samples with the same skills."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.fitting.layout import Layout, Size, clipped_logit, grouped_means, learner_means, sample_means
from camilla.fitting.protocol import Level, Placement, Readout, Solution, Spread, needed_skills


class SkillVanillaParams(NamedTuple):
    pattern: NDArray[np.integer]  # [samples], which set of skills a sample needs
    by_pattern: Floats  # [learners, patterns]
    by_skill: Floats  # [learners, skills]
    variance: Floats  # [learners, skills], of the mean
    sample_mean: Floats  # [samples]
    sample_variance: Floats


@dataclass(frozen=True, eq=False)
class SkillVanilla:
    """pᵢⱼ = mean response of i over samples with the same skills as j; without any, i's plain mean.

    Per skill: the mean over all samples that need it.
    """

    name: ClassVar[str] = "skill-vanilla"
    engine: ClassVar[str] = "own"
    tempered: ClassVar[bool] = False
    parameters_type: ClassVar[Any] = SkillVanillaParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "pattern": ("sample",),
        "by_pattern": ("learner", ""),
        "by_skill": ("learner", "skill"),
        "variance": ("learner", "skill"),
        "sample_mean": ("sample",),
        "sample_variance": ("sample",),
    }
    size: Size

    def __post_init__(self) -> None:
        needed_skills(self.size, self.name)

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {}

    @property
    def mask(self) -> NDArray[np.bool_]:
        return needed_skills(self.size, self.name)

    def solve(self, layout: Layout, rng: np.random.Generator, watch: Watch) -> Solution:
        learner, sample, weight, right = layout.cells()
        patterns, pattern = np.unique(self.mask, axis=0, return_inverse=True)
        overall = learner_means(layout).mean
        group = learner.astype(np.int64) * len(patterns) + pattern[sample]
        by_pattern = grouped_means(group, weight, right, layout.n_learners * len(patterns)).mean
        seen = np.bincount(group, minlength=len(by_pattern)).reshape(-1, len(patterns)) > 0
        by_pattern = np.where(seen, by_pattern.reshape(-1, len(patterns)), overall[:, None])
        skills = [
            grouped_means(learner[n], weight[n], right[n], layout.n_learners)
            for n in _rows(self.mask, sample)
        ]
        params = SkillVanillaParams(
            pattern.astype(np.int64), by_pattern,
            np.column_stack([s.mean for s in skills]), np.column_stack([s.variance for s in skills]),
            *sample_means(layout),
        )  # fmt: skip
        return Solution(params, float("nan"), 0.0, 1, True)

    def logit(
        self, params: SkillVanillaParams, learner: NDArray[np.integer], sample: NDArray[np.integer]
    ) -> Floats:
        return clipped_logit(params.by_pattern[learner, params.pattern[sample]])

    def place(self, params: SkillVanillaParams, weight: Floats, right: Floats) -> Placement:
        sample = np.flatnonzero(weight)
        skills = [
            grouped_means(np.zeros(len(rows), int), weight[sample[rows]], right[sample[rows]], 1)
            for rows in _rows(self.mask, sample)
        ]
        row = np.array([s.mean[0] for s in skills])
        return Placement(row, np.diag([s.variance[0] for s in skills]), True)

    def level(self, params: SkillVanillaParams, placement: Placement) -> Level:
        return Level(placement.row, placement.covariance)

    def readout(self, params: SkillVanillaParams, spread: Spread | None) -> Readout:
        covariance = np.zeros((*params.variance.shape, params.variance.shape[1]))
        diagonal = np.arange(params.variance.shape[1])
        covariance[:, diagonal, diagonal] = params.variance
        return Readout(
            ability=params.by_skill,
            covariance=covariance,
            skill_weight=self.mask / self.mask.sum(axis=1, keepdims=True),
            difficulty=1 - params.sample_mean,
            discrimination=np.full(self.size.n_samples, np.nan),
            interval="Student's t, over samples" if self.size.fractional else "Wilson's, over samples",
            unit_scale=True,
            counted=True,
            explicit=True,
            difficulty_se=np.sqrt(params.sample_variance),
        )


def _rows(mask: NDArray[np.bool_], sample: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """For each skill, the cells whose sample needs it; a skill nobody saw falls back to all cells."""
    found = [np.flatnonzero(mask[sample, k]) for k in range(mask.shape[1])]
    return [rows if len(rows) else np.arange(len(sample)) for rows in found]
