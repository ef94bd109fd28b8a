"""KaNCD: mastery of every skill from a learner's traits, so that skills lend strength to each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout, needed_skills
from camilla.fitting.training import OURS, Start, Training
from camilla.models.networks import raised, released_biases, rising_network, sigmoid, through, xavier

GAIN = 4.0
Form = Literal["gmf", "mf", "ncf1", "ncf2"]


class KaParams(NamedTuple):
    """Raw parameters; each is squashed where it is used."""

    ability: Floats  # [learners, latent], traits s
    difficulty: Floats  # [samples, latent], traits t
    skill: Floats  # [skills, latent], traits c
    discrimination: Floats  # [samples, 1]
    weights: tuple[Floats, ...]  # used as |W|
    biases: tuple[Floats, ...]
    mastery_map: tuple[Floats, ...] = ()
    difficulty_map: tuple[Floats, ...] = ()


AXES: dict[str, tuple[str, ...]] = {
    "ability": ("learner", "latent"),
    "difficulty": ("sample", "latent"),
    "skill": ("skill", "latent"),
    "discrimination": ("sample", ""),
    "weights": ("",),
    "biases": ("",),
    "mastery_map": ("",),
    "difficulty_map": ("",),
}


@dataclass(frozen=True)
class KaNetwork:
    """What is compiled for one form."""

    axes: ClassVar[dict[str, tuple[str, ...]]] = AXES
    form: Form

    def level(self, rows: Any, skill: Any, into: Any, xp: Any) -> Any:
        """σ(·) of traits on every skill: s·c (mf), w·(s ∘ c) + b (gmf), w·[s; c] + b, or a layer between."""
        d = skill.shape[1]
        if self.form == "mf":
            raw = rows @ skill.T
        elif self.form == "gmf":
            raw = (rows * into[0][:, 0]) @ skill.T + into[1]
        elif self.form == "ncf1":
            raw = rows @ into[0][:d] + (skill @ into[0][d:]).T + into[1]
        else:
            hidden = (rows @ into[0][:d])[:, None] + skill @ into[0][d:] + into[1]
            raw = (sigmoid(hidden, xp) @ into[2])[..., 0] + into[3]
        return sigmoid(raw, xp)

    def mastery(self, at: KaParams, xp: Any) -> Any:
        return self.level(at.ability, at.skill, at.mastery_map, xp)

    def compare(self, mastery: Any, at: KaParams, mask: Any, xp: Any, mode: Any) -> Any:
        gap = mastery - self.level(at.difficulty, at.skill, at.difficulty_map, xp)
        layers = [(xp.abs(weight), bias) for weight, bias in zip(at.weights, at.biases, strict=True)]
        return through(sigmoid(at.discrimination, xp) * gap * mask, layers, xp.tanh, mode)

    def project(self, params: KaParams, xp: Any) -> KaParams:
        return params

    def penalty(self, params: KaParams, at: KaParams, skill_mask: Any, xp: Any) -> float:
        return 0.0

    def sample_factors(self, at: KaParams, mask: Any, xp: Any) -> tuple[Any, Any]:
        """(mean difficulty over the sample's skills, discrimination) of gathered samples."""
        asked = self.level(at.difficulty, at.skill, at.difficulty_map, xp) * mask
        return asked.sum(axis=-1) / mask.sum(axis=-1), sigmoid(at.discrimination, xp)[..., 0]


@dataclass(frozen=True, eq=False)
class KaNCD:
    """m = σ(f(s, c)), D = σ(g(t, c)); z = σ(e)(m − D) ∘ Q; p = σ(|W₃| tanh(|W₂| tanh(|W₁| z + …) + b₂) + b₃).

    Wang et al. (2022), KaNCD. Learners, samples and skills have traits s, t, c of the same length; f and g
    put two of them together (`form`). |W| keeps p rising in every mastery, though not in every trait.
    Only the order of learners on a skill has a meaning; s, c and the map can be rescaled against
    each other. Raw learner and sample parameters ~ N(0, 1/precision).
    """

    name: ClassVar[str] = "ka-ncd"
    engine: ClassVar[str] = "neural"
    weighs_samples: ClassVar[bool] = False
    n_mapped: ClassVar[int] = 0  # read as they are, not as expected responses
    exact_sizes: ClassVar[bool] = False
    parameters_type: ClassVar[Any] = KaParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = AXES
    size: Size
    form: Form = "gmf"
    dimensions: int = 32
    hidden: tuple[int, ...] = (64, 32)
    precision: float = 1.0
    training: Training = OURS

    def __post_init__(self) -> None:
        needed_skills(self.size, self.name)

    @property
    def model(self) -> KaNetwork:
        return KaNetwork(self.form)

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {"precision": (1.0, 0.1)}

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """gmf, hidden layers of 256 and 128, dropout .5, Xavier's start, rate .002; no prior."""
        return {
            "hidden": (256, 128),
            "precision": 0.0,
            "training": Training(
                rate=0.002, batch=256, epochs=100, patience=10, worth=0.0, least_steps=1, dropout=0.5,
                averaged=False, monitor="auc",
            ),
        }  # fmt: skip

    def init(self, rng: np.random.Generator, start: Start) -> KaParams:
        n, m, k, d = self.size.n_learners, self.size.n_samples, self.size.n_skills, self.dimensions
        informed = self.precision > 0
        widths = (k, *self.hidden, 1)
        weights: Any = tuple(xavier(rng, a, b) for a, b in pairwise(widths))
        biases: Any = released_biases(rng, widths)
        if informed:
            weights, biases = rising_network(rng, widths, GAIN, rest=0, slope=1)
        scale = np.float32(1 / np.sqrt(d))
        skill = xavier(rng, k, d)
        if informed:
            skill = (skill + 1) * (scale if self.form == "mf" else 1)
        maps = [_map(rng, self.form, d, informed=informed) for _ in range(2)]
        return KaParams(
            raised(xavier(rng, n, d), scale * start.learner),
            raised(xavier(rng, m, d), scale * start.sample),
            skill,
            xavier(rng, m, 1),
            weights,
            biases,
            *maps,
        )

    def readout(self, params: KaParams, spread: Any) -> Readout:
        mask = needed_skills(self.size, self.name)
        return spread.read(mask / mask.sum(axis=1, keepdims=True), unit_scale=True, explicit=True)


def _map(rng: np.random.Generator, form: Form, d: int, *, informed: bool) -> tuple[Floats, ...]:
    """Weights and biases of f or g; informed ones start by adding the traits up."""
    if form == "mf":
        return ()
    nothing = np.zeros(1, np.float32)
    if form == "ncf2":
        inner, outer = xavier(rng, 2 * d, d), xavier(rng, d, 1)
        if informed:
            inner[:d], outer = np.abs(inner[:d]), 4 * np.abs(outer)
        return inner, np.zeros(d, np.float32), outer, -outer.sum(axis=0) / 2 if informed else nothing
    weight = xavier(rng, d if form == "gmf" else 2 * d, 1)
    if informed:
        weight[:d] = 1 / np.sqrt(d)
    return weight, nothing
