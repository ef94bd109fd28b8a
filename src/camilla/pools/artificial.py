"""Learners that do not learn: the ends and the middle of every scale (paper 003, section 4.2)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from camilla.pools.description import Learner

LearnerKind = Literal[
    "optimal", "pessimal", "majority", "minority", "mean_target", "uniform_random", "balanced_random"
]
KINDS: tuple[LearnerKind, ...] = (
    "optimal",
    "pessimal",
    "majority",
    "minority",
    "mean_target",
    "uniform_random",
    "balanced_random",
)


@dataclass(frozen=True)
class Artificial:
    """Scores made from the truth alone; class 1 is the positive one."""

    kind: LearnerKind

    def scores(self, truth: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        """The truth or its opposite, one constant, or coin throws."""
        rng = np.random.default_rng([seed, KINDS.index(self.kind)])
        share, size = float(truth.mean()), len(truth)
        match self.kind:
            case "optimal":
                return truth
            case "pessimal":
                return 1 - truth
            case "majority":
                return np.full(size, float(share > 0.5))
            case "minority":
                return np.full(size, float(share <= 0.5))
            case "mean_target":
                return np.full(size, share)
            case "uniform_random":
                return rng.binomial(1, 0.5, size).astype(np.float64)
            case "balanced_random":
                return rng.binomial(1, share, size).astype(np.float64)


def artificial_learners() -> tuple[Learner, ...]:
    """The seven of the paper."""
    return tuple(Learner(kind, Artificial(kind), "artificial", {}, 1e-3) for kind in KINDS)
