"""NeuralCD: mastery of given skills, compared with samples through a monotone network."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout, needed_skills
from camilla.fitting.training import OURS, Start, Training
from camilla.models.networks import raised, released_biases, sigmoid, through, xavier


class NeuralCDParams(NamedTuple):
    """Raw parameters; each is squashed where it is used."""

    ability: Floats  # [learners, skills]
    difficulty: Floats  # [samples, skills]
    discrimination: Floats  # [samples, 1]
    weights: tuple[Floats, ...]  # used as |W|
    biases: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class NeuralCD:
    """z = σ(e) (σ(u) − σ(d)) ∘ Q; p = σ(|W₃| σ(|W₂| σ(|W₁| z + b₁) + b₂) + b₃).

    Wang et al. (2020). |W| keeps p rising in every mastery. Mastery and difficulty enter only as a
    difference inside an arbitrary rising map: the order of learners on a skill has a meaning, levels
    on different skills do not compare. Raw learner and sample parameters ~ N(0, 1/precision).
    """

    name: ClassVar[str] = "neural-cd"
    engine: ClassVar[str] = "neural"
    weighs_samples: ClassVar[bool] = False
    n_mapped: ClassVar[int] = 0  # read as they are, not as expected responses
    exact_sizes: ClassVar[bool] = False
    parameters_type: ClassVar[Any] = NeuralCDParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "ability": ("learner", "skill"),
        "difficulty": ("sample", "skill"),
        "discrimination": ("sample", ""),
        "weights": ("",),
        "biases": ("",),
    }
    size: Size
    hidden: tuple[int, ...] = (64, 32)
    precision: float = 1.0
    training: Training = OURS

    def __post_init__(self) -> None:
        needed_skills(self.size, self.name)

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {"precision": (1.0, 0.1)}

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """Hidden layers of 512 and 256, dropout .5, batches of 256, rate .002, ten epochs; no prior."""
        return {
            "hidden": (512, 256),
            "precision": 0.0,
            "training": Training(
                rate=0.002, batch=256, epochs=10, patience=5, worth=0.0, least_steps=1, dropout=0.5,
                averaged=False,
                loss="mse" if size.fractional else "bce", monitor="auc",
            ),
        }  # fmt: skip

    def init(self, rng: np.random.Generator, start: Start) -> NeuralCDParams:
        n, m, k = self.size.n_learners, self.size.n_samples, self.size.n_skills
        widths = (k, *self.hidden, 1)
        return NeuralCDParams(
            raised(xavier(rng, n, k), start.learner),
            raised(xavier(rng, m, k), start.sample),
            xavier(rng, m, 1),
            tuple(xavier(rng, a, b) for a, b in pairwise(widths)),
            released_biases(rng, widths),
        )

    @property
    def model(self) -> Any:
        return type(self)

    @staticmethod
    def mastery(at: NeuralCDParams, xp: Any) -> Any:
        return sigmoid(at.ability, xp)

    @staticmethod
    def compare(mastery: Any, at: NeuralCDParams, mask: Any, xp: Any, mode: Any) -> Any:
        gap = sigmoid(at.discrimination, xp) * (mastery - sigmoid(at.difficulty, xp)) * mask
        layers = zip(map(xp.abs, at.weights), at.biases, strict=True)
        return through(gap, layers, lambda h: sigmoid(h, xp), mode)

    @staticmethod
    def project(params: NeuralCDParams, xp: Any) -> NeuralCDParams:
        return params

    @staticmethod
    def penalty(params: NeuralCDParams, at: NeuralCDParams, skill_mask: Any, xp: Any) -> float:
        return 0.0

    @staticmethod
    def sample_factors(at: NeuralCDParams, mask: Any, xp: Any) -> tuple[Any, Any]:
        """(mean difficulty over the sample's skills, discrimination) of gathered samples."""
        level = (sigmoid(at.difficulty, xp) * mask).sum(axis=-1) / mask.sum(axis=-1)
        return level, sigmoid(at.discrimination, xp)[..., 0]

    def readout(self, params: NeuralCDParams, spread: Any) -> Readout:
        mask = needed_skills(self.size, self.name)
        return spread.read(mask / mask.sum(axis=1, keepdims=True), unit_scale=True, explicit=True)
