"""Matrix factorisation: a predictor without skills, kept as the papers' baseline."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from camilla.diagnoser import Readout, Size, Spread
from camilla.engine.bilinear import FACTOR_AXES, Bilinear, Factors


@dataclass(frozen=True, eq=False)
class MF:
    """p = σ(uᵢ · vⱼ + βⱼ) with u ~ N(0, I), v ~ N(0, 1/precision).

    Mnih and Salakhutdinov (2007). Any rotation of u and v predicts the same, so no coordinate has a
    meaning and none is read: ability is the expected response. `bias=False` drops βⱼ and is the plain
    dot product; the concatenated form of the released code is additive and equals 1PL.
    """

    name: ClassVar[str] = "mf"
    engine: ClassVar[str] = "bilinear"
    axes: ClassVar[dict[str, tuple[str, ...]]] = FACTOR_AXES | {
        "ability": ("learner", "latent"),
        "loading": ("sample", "latent"),
    }
    size: Size
    dimensions: int = 10
    precision: float = 3.0
    bias: bool = True

    @classmethod
    def choices(cls, size: Size) -> dict[str, tuple[Any, ...]]:
        most = max(1, min(30, size.n_learners - 2))
        dimensions = tuple(sorted({2, 10, most} & set(range(1, most + 1)))) or (1,)
        return {"dimensions": dimensions, "precision": (3.0, 1.0, 10.0)}

    def problem(self) -> Bilinear:
        return Bilinear(
            free=np.ones((self.size.n_samples, self.dimensions), bool),
            ability_precision=np.eye(self.dimensions),
            loading_mean=np.zeros(self.dimensions),
            loading_precision=self.precision,
            intercept_precision=0.1 if self.bias else 1e6,
            standardise=False,
            norm=True,
        )

    def readout(self, params: Factors, spread: Spread) -> Readout:
        return Readout(
            ability=spread.ability,
            covariance=spread.covariance,
            skill_weight=None,
            difficulty=spread.difficulty,
            discrimination=spread.discrimination,
            interval=spread.kind,
            unit_scale=True,
            difficulty_se=spread.difficulty_se,
            discrimination_se=spread.discrimination_se,
        )
