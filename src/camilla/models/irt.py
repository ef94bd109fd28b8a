"""Item response theory with one ability: 1PL, 2PL and 3PL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.factors import FACTOR_AXES, Bilinear, Factors
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout, Spread
from camilla.fitting.training import RELEASED, Training

GUESSING_LIMIT = 0.35  # above it a four-choice question could be all guessing


@dataclass(frozen=True, eq=False)
class IRT:
    """p = c + (1 − c) σ(D a (θ − b)), fitted as D a θ + intercept.

    Rasch (1960) for `form="1pl"` (a = 1, c = 0), Birnbaum (1968) for "2pl" (c = 0) and "3pl". The prior
    θ ~ N(0, 1) fixes origin and scale; a ~ N(1, 1/precision) with its sign free, because a negative
    discrimination marks a broken sample; c ~ Beta(5, 17) below 0.35. Abilities are read standardised
    in the pool.
    """

    name: ClassVar[str] = "irt"
    engine: ClassVar[str] = "bilinear"
    parameters_type: ClassVar[Any] = Factors
    axes: ClassVar[dict[str, tuple[str, ...]]] = FACTOR_AXES | {
        "ability": ("learner", "latent"),
        "loading": ("sample", "latent"),
    }
    size: Size
    form: Literal["1pl", "2pl", "3pl"] = "2pl"
    precision: float = 3.0
    scale: float = 1.0  # D: 1, or 1.702 for the normal-ogive metric
    training: Training | None = None  # None: the posterior mode; else Adam, as published

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {"precision": (3.0, 1.0, 10.0)}

    @staticmethod
    def parameters(
        ability: Floats, difficulty: Floats, discrimination: Floats | None = None,
        guessing: Floats | None = None, *, scale: float = 1.0,
    ) -> Factors:  # fmt: skip
        """The fitted form of textbook parameters, for an item bank calibrated elsewhere."""
        slope = scale * (np.ones(len(difficulty)) if discrimination is None else discrimination)
        return Factors(ability[:, None], slope[:, None], -slope * difficulty, guessing)

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """Eq. 15 of the Camilla paper, trained by Adam without priors."""
        return {"form": "2pl", "scale": 1.7, "precision": 1.0, "training": RELEASED}

    def problem(self) -> Bilinear:
        return Bilinear(
            free=np.full((self.size.n_samples, 1), self.form != "1pl"),
            ability_precision=np.eye(1),
            loading_mean=np.full(1, self.scale),
            loading_precision=self.precision / self.scale**2,
            fixed=self.scale,
            guessing_limit=GUESSING_LIMIT if self.form == "3pl" else 0.0,
            explained=True,
        )

    def readout(self, params: Factors, spread: Spread) -> Readout:
        in_d = spread._replace(
            discrimination=spread.discrimination / self.scale,
            discrimination_se=spread.discrimination_se / self.scale,
        )
        return in_d.read(np.ones((self.size.n_samples, 1)), guessing=params.guessing)
