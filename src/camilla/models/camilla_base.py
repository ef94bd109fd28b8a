"""Camilla-Base: one ability per skill, skills given by a map."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from camilla.fitting.factors import FACTOR_AXES, Bilinear, Factors
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout, Spread, needed_skills
from camilla.fitting.training import RELEASED, Training


@dataclass(frozen=True, eq=False)
class CamillaBase:
    """p = σ(Σₖ Qⱼₖ bⱼₖ (Aᵢₖ − Dⱼ)), fitted as Σₖ Qⱼₖ bⱼₖ Aᵢₖ − dⱼ with Dⱼ = dⱼ / Σₖ Qⱼₖ bⱼₖ.

    Eq. 5 of the Camilla paper. Flipping the signs of a skill's A and b changes no prediction, so
    discriminations are kept ≥ 0 unless `signs="free"`: then samples may point the wrong way, which
    predicts better and reads worse. A learner's skills are alike: Aᵢ ~ N(0, (1 − ρ) I + ρ 11') with
    ρ = `skill_correlation`; b ~ N(1, 1/precision). Overall ability is Eq. 12.
    """

    name: ClassVar[str] = "camilla-base"
    engine: ClassVar[str] = "bilinear"
    parameters_type: ClassVar[Any] = Factors
    axes: ClassVar[dict[str, tuple[str, ...]]] = FACTOR_AXES
    size: Size
    signs: Literal["positive", "free"] = "positive"
    skill_correlation: float = 0.5
    precision: float = 1.0
    training: Training | None = None  # None: the posterior mode; else Adam, as published

    def __post_init__(self) -> None:
        needed_skills(self.size, self.name)

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {"skill_correlation": (0.5, 0.0, 0.9), "precision": (1.0, 0.3, 3.0)}

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """Free signs, trained by Adam without priors."""
        return {"signs": "free", "skill_correlation": 0.0, "precision": 1.0, "training": RELEASED}

    def problem(self) -> Bilinear:
        mask = needed_skills(self.size, self.name)
        n_skills = mask.shape[1]
        alike = (1 - self.skill_correlation) * np.eye(n_skills) + self.skill_correlation
        return Bilinear(
            free=mask,
            ability_precision=np.linalg.inv(alike),
            loading_mean=np.ones(n_skills),
            loading_precision=self.precision,
            positive=self.signs == "positive",
            explained=True,
        )

    def readout(self, params: Factors, spread: Spread) -> Readout:
        mask = needed_skills(self.size, self.name)
        return spread.read(mask / mask.sum(axis=1, keepdims=True), explicit=True)
