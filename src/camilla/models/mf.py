"""Matrix factorisation: a predictor without skills, kept as the papers' baseline."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from camilla.fitting.factors import FACTOR_AXES, Bilinear, Factors
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout, Spread
from camilla.fitting.training import RELEASED, Training


@dataclass(frozen=True, eq=False)
class MF:
    """p = σ(uᵢ · vⱼ + βⱼ) with u ~ N(0, I), v ~ N(0, 1/precision).

    Mnih and Salakhutdinov (2007). Any rotation of u and v predicts the same, so no coordinate has a
    meaning and none is read: ability is the expected response. `bias=False` drops βⱼ and is the plain
    dot product. `concat=True` is the released code's linear layer over [uᵢ; vⱼ]: additive in i and j,
    so exactly 1PL whatever the dimensions.
    """

    name: ClassVar[str] = "mf"
    engine: ClassVar[str] = "bilinear"
    parameters_type: ClassVar[Any] = Factors
    axes: ClassVar[dict[str, tuple[str, ...]]] = FACTOR_AXES | {
        "ability": ("learner", "latent"),
        "loading": ("sample", "latent"),
    }
    size: Size
    dimensions: int = 10
    precision: float = 3.0
    bias: bool = True
    concat: bool = False
    training: Training | None = None  # None: the posterior mode; else Adam, as published

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        if given.get("concat"):
            return {}
        most = max(1, min(50, size.n_learners - 2))
        dimensions = tuple(sorted({2, 10, most} & set(range(1, most + 1)))) or (1,)
        return {"dimensions": dimensions, "precision": (3.0, 1.0, 10.0)}

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """Concatenated embeddings under a linear layer, which is additive; Adam without priors."""
        return {"concat": True, "precision": 1.0, "training": RELEASED}

    def problem(self) -> Bilinear:
        n_dims = 1 if self.concat else self.dimensions
        return Bilinear(
            free=np.full((self.size.n_samples, n_dims), not self.concat),
            ability_precision=np.eye(n_dims),
            loading_mean=np.zeros(n_dims),
            fixed=1.0 if self.concat else 0.0,
            loading_precision=self.precision,
            intercept_precision=0.2 if self.bias else 1e6,
            standardise=False,
            norm=True,
        )

    def readout(self, params: Factors, spread: Spread) -> Readout:
        return spread.read(None, unit_scale=True)
