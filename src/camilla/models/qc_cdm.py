"""QCCDM: skills cause each other through a linear graph, and samples may ask for more than their map says."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout, needed_graph, needed_skills
from camilla.fitting.training import OURS, Start, Training
from camilla.models.networks import raised, released_biases, sigmoid, xavier

FACTORS = 32  # of a factorised augmentation
NEAR_ZERO = -4.0  # raw start of an augmentation that is to stay small
LAST_GAIN = 4.0
Activation = Literal["sigmoid", "softplus", "tanh"]


class QCParams(NamedTuple):
    """Raw parameters, except graph and a single augmentation, which are kept in [0, 1]."""

    ability: Floats  # [learners, skills]
    difficulty: Floats  # [samples, skills]
    discrimination: Floats  # [samples, 1]
    augmentation: Floats  # [samples, skills] single, [samples, factors] mf, [samples, 0] without
    skill: Floats  # [skills, factors] mf, else [skills, 0]
    graph: Floats  # [skills, skills] weight of an edge parent → child, [0, 0] in mode 2
    weights: tuple[Floats, ...]  # ≥ 0
    biases: tuple[Floats, ...]
    scales: tuple[Floats, ...]  # of the batch norms
    shifts: tuple[Floats, ...]
    moments: tuple[Floats, ...]  # [2, width]: mean and variance that reading uses


AXES: dict[str, tuple[str, ...]] = {
    "ability": ("learner", "skill"),
    "difficulty": ("sample", "skill"),
    "discrimination": ("sample", ""),
    "augmentation": ("sample", "free"),
    "skill": ("skill", ""),
    "graph": ("skill", "skill"),
    "weights": ("",),
    "biases": ("",),
    "scales": ("",),
    "shifts": ("",),
    "moments": ("moment",),
}


@dataclass(frozen=True)
class QCNetwork:
    """What is compiled for one graph and mode."""

    axes: ClassVar[dict[str, tuple[str, ...]]] = AXES
    edges: tuple[tuple[int, int], ...]
    mode: int
    augmentation: str
    activation: Activation
    penalised: float
    rising: bool

    @property
    def floor(self) -> float:
        """The least that σ of a positive number can be: where levels inherit, they are read from here up."""
        return 0.5 if self.mode != 2 and self.activation != "tanh" else 0.0

    def inherited(self, graph: Any, xp: Any) -> Any:
        """T = (I − A)⁻¹ = Σ Aⁿ, A the weights of the edges: finite, for no path is longer than the skills."""
        n_skills = graph.shape[0]
        here = np.zeros((n_skills, n_skills), np.float32)
        for parent, child in self.edges:
            here[parent, child] = 1
        total = one = xp.eye(n_skills, dtype=graph.dtype)
        for _ in range(_longest(self.edges)):
            total = one + total @ (graph * here)
        return total

    def level(self, raw: Any, graph: Any, xp: Any) -> Any:
        """(σ(f(u) T) − floor) / (1 − floor), one more f outside T if f is not σ; σ(u) in mode 2."""
        if self.mode == 2:
            return sigmoid(raw, xp)
        passed = self.squashed(raw, xp) @ self.inherited(graph, xp)
        full = sigmoid(passed if self.activation == "sigmoid" else self.squashed(passed, xp), xp)
        return (full - self.floor) / (1 - self.floor)

    def squashed(self, x: Any, xp: Any) -> Any:
        if self.activation == "softplus":
            return xp.logaddexp(0, x)
        return xp.tanh(x) if self.activation == "tanh" else sigmoid(x, xp)

    def added(self, at: QCParams, xp: Any) -> Any:
        """What samples ask for beyond their map, in [0, 1]."""
        if self.augmentation == "mf":
            return sigmoid(at.augmentation @ at.skill.T, xp)
        return at.augmentation

    def mastery(self, at: QCParams, xp: Any) -> Any:
        return self.level(at.ability, at.graph, xp)

    def compare(self, mastery: Any, at: QCParams, mask: Any, xp: Any, mode: Any) -> Any:
        asked = mask if self.mode == 1 else mask + (1 - mask) * self.added(at, xp)
        gap = (1 - self.floor) * (mastery - self.level(at.difficulty, at.graph, xp))
        h = sigmoid(at.discrimination, xp) * gap * asked
        blocks = zip(at.weights[:-1], at.biases[:-1], at.scales, at.shifts, at.moments, strict=True)
        for weight, bias, scale, shift, moments in blocks:
            h = xp.tanh(mode.drop(scale * mode.norm(h @ weight + bias, moments) + shift))
        return (h @ at.weights[-1] + at.biases[-1])[:, 0]

    def project(self, params: QCParams, xp: Any) -> QCParams:
        single = self.augmentation == "single"
        return params._replace(
            graph=xp.clip(params.graph, 0, 1),
            augmentation=xp.clip(params.augmentation, 0, 1) if single else params.augmentation,
            weights=tuple(xp.maximum(weight, 0) for weight in params.weights),
            scales=tuple(xp.maximum(s, 0) for s in params.scales) if self.rising else params.scales,
        )

    def penalty(self, params: QCParams, at: QCParams, skill_mask: Any, xp: Any) -> Any:
        """λ times the mean over all samples and skills of what is added beyond the map."""
        if self.mode == 1:
            return 0.0
        return self.penalised * (self.added(params, xp) * (1 - skill_mask)).mean()

    def sample_factors(self, at: QCParams, mask: Any, xp: Any) -> tuple[Any, Any]:
        """(mean difficulty over the skills of the map, on the scale of mastery; discrimination)."""
        asked = (self.level(at.difficulty, at.graph, xp) * mask).sum(axis=-1) / mask.sum(axis=-1)
        return asked, sigmoid(at.discrimination, xp)[..., 0]


def _longest(edges: tuple[tuple[int, int], ...]) -> int:
    """Edges on the longest path."""
    depth: dict[int, int] = {}
    for _ in edges:
        for parent, child in edges:
            depth[child] = max(depth.get(child, 0), depth.get(parent, 0) + 1)
    return max(depth.values(), default=0)


@dataclass(frozen=True, eq=False)
class QCCDM:
    """m = σ(f(u) T), D = σ(f(d) T), T = (I − g ∘ B)⁻¹; z = σ(e)(m − D) ∘ Q̂; p = σ(network(z)), weights ≥ 0.

    Liu et al. (2023), QCCDM. B are the edges of the skill graph and g their weights in [0, 1]: each skill
    inherits from its parents (modes 1 and 12). Q̂ = Q + (1 − Q) ∘ Qₙ lets samples ask for skills beyond
    their map (modes 2 and 12), held by λ mean|Qₙ ∘ (1 − Q)|. Blocks of the network are linear, batch norm,
    dropout, tanh. A child's level exceeds its own latent, so that levels on different skills do not
    compare; m is read as 2m − 1. Raw learner and sample parameters ~ N(0, 1/precision).
    """

    name: ClassVar[str] = "qc-cdm"
    engine: ClassVar[str] = "neural"
    weighs_samples: ClassVar[bool] = False
    n_mapped: ClassVar[int] = 0  # read as they are, not as expected responses
    exact_sizes: ClassVar[bool] = True  # a penalty is a mean over all samples
    parameters_type: ClassVar[Any] = QCParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = AXES
    size: Size
    mode: Literal[1, 2, 12] = 1
    augmentation: Literal["single", "mf"] = "single"
    activation: Activation = "sigmoid"
    hidden: tuple[int, ...] = (64, 32)
    penalty: float = 1.0
    scales: Literal["rising", "free"] = "rising"
    precision: float = 1.0
    training: Training = OURS

    def __post_init__(self) -> None:
        (needed_skills if self.mode == 2 else needed_graph)(self.size, self.name)

    @property
    def model(self) -> QCNetwork:
        augmentation = "" if self.mode == 1 else self.augmentation
        edges = () if self.mode == 2 else needed_graph(self.size, self.name)
        return QCNetwork(
            edges, self.mode, augmentation, self.activation, self.penalty, self.scales == "rising"
        )

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {"precision": (1.0, 0.1)}

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """Mode 12, single augmentation, blocks of 512 and 256, dropout .5, free scales, λ = .01; no prior."""
        return {
            "mode": 12,
            "hidden": (512, 256),
            "penalty": 0.01,
            "scales": "free",
            "precision": 0.0,
            "training": Training(
                rate=0.002, batch=128, epochs=100, patience=10, worth=0.0, least_steps=1, dropout=0.5,
                averaged=False, monitor="auc", clip=20.0,
            ),
        }  # fmt: skip

    def init(self, rng: np.random.Generator, start: Start) -> QCParams:
        n, m, k = self.size.n_learners, self.size.n_samples, self.size.n_skills
        informed = self.precision > 0
        widths = (k, *self.hidden, 1)
        weights = tuple(xavier(rng, a, b) for a, b in pairwise(widths))
        if informed:
            weights = (*map(np.abs, weights[:-1]), LAST_GAIN * np.abs(weights[-1]))
        graph = xavier(rng, k, k) if self.mode != 2 else np.zeros((0, 0), np.float32)
        return QCParams(
            raised(xavier(rng, n, k), start.learner),
            raised(xavier(rng, m, k), start.sample),
            xavier(rng, m, 1),
            *self._augmentation(rng, informed=informed),
            np.abs(graph) if informed else graph,
            weights,
            released_biases(rng, widths),
            tuple(np.ones(width, np.float32) for width in self.hidden),
            tuple(np.zeros(width, np.float32) for width in self.hidden),
            tuple(np.stack([np.zeros(w), np.ones(w)]).astype(np.float32) for w in self.hidden),
        )

    def _augmentation(self, rng: np.random.Generator, *, informed: bool) -> tuple[Floats, Floats]:
        m, k = self.size.n_samples, self.size.n_skills
        nothing = np.zeros((k, 0), np.float32)
        if self.mode == 1:
            return np.zeros((m, 0), np.float32), nothing
        if self.augmentation == "single":
            raw = xavier(rng, m, k) + np.float32(NEAR_ZERO if informed else 0)
            return sigmoid(raw, np), nothing
        apart = np.float32(np.sqrt(-NEAR_ZERO / FACTORS) if informed else 0)
        return xavier(rng, m, FACTORS) + apart, xavier(rng, k, FACTORS) - apart

    def readout(self, params: QCParams, spread: Any) -> Readout:
        mask = needed_skills(self.size, self.name)
        return spread.read(mask / mask.sum(axis=1, keepdims=True), unit_scale=True, explicit=True)
