"""Multidimensional item response theory, with a skill map or with latent dimensions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.factors import FACTOR_AXES, Bilinear, Factors
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout, Spread, needed_skills
from camilla.fitting.training import RELEASED, Training

MOST_DIMENSIONS = 50  # 80 gained nothing on any table we measured


@dataclass(frozen=True, eq=False)
class MIRT:
    """p = σ(Σₖ aⱼₖ θᵢₖ − bⱼ) (Reckase 1997).

    With `use_skills` a sample loads only on its own skills, aⱼₖ ≥ 0, and θ is read per skill,
    standardised in the pool. Without, the dimensions are latent and only identified up to rotation:
    θ is then not read at all, and a learner's ability is its expected response. One dimension leans to
    a = 1, the others to 0; θ ~ N(0, I), a ~ N(·, 1/precision).
    """

    name: ClassVar[str] = "mirt"
    engine: ClassVar[str] = "bilinear"
    parameters_type: ClassVar[Any] = Factors
    axes: ClassVar[dict[str, tuple[str, ...]]] = FACTOR_AXES
    size: Size
    dimensions: int = 10
    precision: float = 3.0
    use_skills: bool = False
    training: Training | None = None  # None: the posterior mode; else Adam, as published

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        if given.get("use_skills"):
            return {"precision": (3.0, 1.0, 10.0)}
        most = max(1, min(MOST_DIMENSIONS, size.n_learners - 2, size.n_samples - 2))
        dimensions = tuple(sorted({1, 3, 10, most} & set(range(1, most + 1))))
        return {"dimensions": dimensions, "precision": (3.0, 1.0, 10.0, 30.0, 100.0)}

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """As many dimensions as skills (5 without a map), trained by Adam without priors."""
        return {"dimensions": max(2, size.n_skills or 5), "precision": 1.0, "training": RELEASED}

    def problem(self) -> Bilinear:
        if self.use_skills:
            mask = needed_skills(self.size, self.name)
            return Bilinear(
                free=mask,
                ability_precision=np.eye(mask.shape[1]),
                loading_mean=np.ones(mask.shape[1]),
                loading_precision=self.precision,
                positive=True,
                norm=True,
                explained=True,
            )
        return Bilinear(
            free=np.ones((self.size.n_samples, self.dimensions), bool),
            ability_precision=np.eye(self.dimensions),
            loading_mean=np.append(1.0, np.zeros(self.dimensions - 1)),
            loading_precision=self.precision,
            standardise=False,
            norm=True,
            explained=True,
        )

    def readout(self, params: Factors, spread: Spread) -> Readout:
        """MDISC = ‖a‖ and MDIFF = b/‖a‖; the latent form carries the sign of the general dimension."""
        if self.use_skills:
            mask = needed_skills(self.size, self.name)
            return spread.read(mask / mask.sum(axis=1, keepdims=True), explicit=True)
        signed = spread._replace(discrimination=_direction(params) * spread.discrimination)
        return signed.read(None, unit_scale=True)


def _direction(params: Factors) -> Floats:
    """+1 where the sample's logit rises with the learners' mean logit, −1 where it falls."""
    overall = params.ability @ params.loading.mean(axis=0)
    covariance = params.loading @ (params.ability.T @ (overall - overall.mean()))
    return np.where(covariance < 0, -1.0, 1.0)
