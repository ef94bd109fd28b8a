"""HierMIRT and HierNCD: mastery of a skill follows from mastery of the skills it builds on."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout, needed_graph, needed_skills
from camilla.fitting.training import OURS, Start, Training
from camilla.models.networks import raised, released_biases, rising_network, sigmoid, through, xavier
from camilla.table.skills import topological

ROUNDED = 0.05  # the hinge is round over this much, so that a learner held by it has a mode
RELEASED_BATCH = 4096
GAIN = 2.0
CROSSED_GAIN = 8.0


class HierParams(NamedTuple):
    """Raw parameters; each is squashed where it is used."""

    prior: Floats  # [learners, skills], used for roots
    positive: Floats  # [learners, edges], of the child when the parent is mastered
    negative: Floats  # [learners, edges], of the child when it is not
    difficulty: Floats  # [samples, skills]
    offset: Floats  # [samples, 1]
    weights: tuple[Floats, ...]  # ≥ 0: of mastery, of difficulty, of the crossing layers
    biases: tuple[Floats, ...]


AXES: dict[str, tuple[str, ...]] = {
    "prior": ("learner", "skill"),
    "positive": ("learner", ""),
    "negative": ("learner", ""),
    "difficulty": ("sample", "skill"),
    "offset": ("sample", ""),
    "weights": ("",),
    "biases": ("",),
}


@dataclass(frozen=True)
class HierNetwork:
    """What is compiled for one graph; crossed: HierNCD."""

    axes: ClassVar[dict[str, tuple[str, ...]]] = AXES
    edges: tuple[tuple[int, int], ...]
    penalised: float
    crossed: bool

    def mastery(self, at: HierParams, xp: Any) -> Any:
        """mₖ = σ(prior) of a root, else Πₚ (cp^{1/n} mₚ + cn^{1/n} (1 − mₚ)) over its n parents p."""
        n_skills = at.prior.shape[1]
        found = [sigmoid(at.prior[:, k], xp) for k in range(n_skills)]
        for k in topological(n_skills, self.edges):
            into = [e for e, (_, child) in enumerate(self.edges) if child == k]
            for place, e in enumerate(into):
                rise, fall = (
                    xp.exp(-xp.logaddexp(0, -part[:, e]) / len(into)) for part in (at.positive, at.negative)
                )
                parent = found[self.edges[e][0]]
                term = rise * parent + fall * (1 - parent)
                found[k] = term if place == 0 else found[k] * term
        return xp.stack(found, axis=1)

    def compare(self, mastery: Any, at: HierParams, mask: Any, xp: Any, mode: Any) -> Any:
        able = xp.tanh((mastery * mask) @ at.weights[0] + at.biases[0])
        asked = sigmoid((sigmoid(at.difficulty, xp) * mask) @ at.weights[1] + at.biases[1], xp)
        offset = sigmoid(at.offset, xp)
        if not self.crossed:
            return (able * asked).sum(axis=-1) - offset[:, 0]
        layers = zip(at.weights[2:], at.biases[2:], strict=True)
        return through((able - asked) * offset, layers, lambda h: sigmoid(h, xp), mode)

    def project(self, params: HierParams, xp: Any) -> HierParams:
        return params._replace(weights=tuple(xp.maximum(weight, 0) for weight in params.weights))

    def penalty(self, params: HierParams, at: HierParams, skill_mask: Any, xp: Any) -> Any:
        """λ times the mean over rows of Σ relu(cn − cp): mastering a parent is not to hurt."""
        return self.penalised * _hinge(at.negative - at.positive, xp).sum(axis=-1).mean()

    def sample_factors(self, at: HierParams, mask: Any, xp: Any) -> tuple[Any, Any]:
        """HierNCD: (mean difficulty over the sample's skills, e). HierMIRT: difficulty as expected
        responses say, and by how much the logit rises from no skill mastered to all."""
        if self.crossed:
            level = (sigmoid(at.difficulty, xp) * mask).sum(axis=-1) / mask.sum(axis=-1)
            return level, sigmoid(at.offset, xp)[..., 0]
        asked = sigmoid((sigmoid(at.difficulty, xp) * mask) @ at.weights[1] + at.biases[1], xp)
        rise = xp.tanh(mask @ at.weights[0] + at.biases[0]) - xp.tanh(at.biases[0])
        return None, (rise * asked).sum(axis=-1)


def _hinge(x: Any, xp: Any) -> Any:
    inside = xp.clip(x, 0, ROUNDED)
    return inside**2 / (2 * ROUNDED) + xp.maximum(x - ROUNDED, 0)


@dataclass(frozen=True, eq=False)
class _Hier:
    """What HierMIRT and HierNCD have in common: everything but the comparison."""

    name: ClassVar[str]
    crossed: ClassVar[bool]
    engine: ClassVar[str] = "neural"
    weighs_samples: ClassVar[bool] = False
    n_mapped: ClassVar[int] = 0  # read as they are, not as expected responses
    exact_sizes: ClassVar[bool] = False
    parameters_type: ClassVar[Any] = HierParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = AXES
    size: Size
    hidden: int = 64
    penalty: float = 1.0
    precision: float = 1.0
    training: Training = OURS

    def __post_init__(self) -> None:
        needed_graph(self.size, self.name)

    @property
    def model(self) -> HierNetwork:
        return HierNetwork(needed_graph(self.size, self.name), self.penalty, self.crossed)

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {"precision": (1.0, 0.1)}

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """64 units, batches of 4,096, rate .005, λ = .001 summed over the batch; no prior."""
        return {
            "precision": 0.0,
            "penalty": 0.001 * RELEASED_BATCH,
            "training": Training(
                rate=0.005, batch=RELEASED_BATCH, epochs=100, patience=10, worth=0.0, least_steps=1,
                averaged=False, monitor="auc",
            ),
        }  # fmt: skip

    def init(self, rng: np.random.Generator, start: Start) -> HierParams:
        """Xavier's start; an informed one has rising weights, and children that follow their parents."""
        size, h = self.size, self.hidden
        k, n_edges = size.n_skills, len(needed_graph(size, self.name))
        widths = (h, max(h // 2, 1), 1) if self.crossed else ()
        pairs = [(k, h), (k, h), *pairwise(widths)]
        weights = [xavier(rng, a, b) for a, b in pairs]
        biases = [released_biases(rng, pair)[0] for pair in pairs]
        informed = self.precision > 0
        if informed:
            weights[:2] = [GAIN * np.abs(weight) for weight in weights[:2]]
            biases[:2] = [-(rng.random(h) * GAIN / 4).astype(np.float32) for _ in range(2)]
        if informed and self.crossed:
            weights[2:], biases[2:] = rising_network(rng, widths, CROSSED_GAIN / h)
        positive, negative = (
            raised(xavier(rng, size.n_learners, n_edges), start.learner) + np.float32(sign * informed)
            for sign in (0.5, -0.5)
        )
        return HierParams(
            raised(xavier(rng, size.n_learners, k), start.learner),
            positive,
            negative,
            raised(xavier(rng, size.n_samples, k), start.sample),
            xavier(rng, size.n_samples, 1),
            tuple(weights),
            tuple(biases),
        )

    def readout(self, params: HierParams, spread: Any) -> Readout:
        mask = needed_skills(self.size, self.name)
        return spread.read(mask / mask.sum(axis=1, keepdims=True), unit_scale=True, explicit=True)


@dataclass(frozen=True, eq=False)
class HierMIRT(_Hier):
    """m from the skill graph; U = tanh(Wᵤ(m ∘ Q) + bᵤ), V = σ(Wᵥ(σ(d) ∘ Q) + bᵥ); p = σ(U·V − σ(e)), W ≥ 0.

    Li et al. (2022), HierCDF. A learner has a prior for each root and, for each edge, how likely the
    child is when the parent is mastered (cp) and when not (cn); λ Σ relu(cn − cp) asks that mastering a
    parent does not hurt. d is a loading and no difficulty. cp, cn and parents are only identified
    together: m is read, they are not. Raw learner and sample parameters ~ N(0, 1/precision).
    """

    name: ClassVar[str] = "hier-mirt"
    crossed: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class HierNCD(_Hier):
    """m, U and V as in HierMIRT; p = σ(C₂ σ(C₁ (U − V) σ(e) + c₁) + c₂), C ≥ 0.

    Li et al. (2022), HierCDF. V rises with σ(d), so that d is a difficulty, and e scales the gap: a
    discrimination. The rest is as in HierMIRT.
    """

    name: ClassVar[str] = "hier-ncd"
    crossed: ClassVar[bool] = True
