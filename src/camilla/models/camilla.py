"""Camilla: abilities on latent skills, compared with samples through a monotone network."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Readout
from camilla.fitting.training import QUICK, Start, Training
from camilla.models.networks import raised, rising_network, sigmoid, sloped_through, softmax, through, xavier

GAIN = 4.0


class CamillaParams(NamedTuple):
    """Raw parameters; each is squashed where it is used."""

    ability: Floats  # [learners, latent]
    skill_mask: Floats  # [samples, latent]
    difficulty: Floats  # [samples, latent]
    discrimination: Floats  # [samples, 1]
    weights: tuple[Floats, ...]  # ≥ 0
    biases: tuple[Floats, ...]
    beyond: Floats | None = None  # [samples, 1] how much is asked beyond the map
    constants: Floats | None = None  # the trust in the map, and the guessing floor where there is one


@dataclass(frozen=True, eq=False)
class Camilla:
    """A = σ(·), q = softmax(·), D = σ(·), b = σ(·); Y = b q ∘ (A − D); p = network(Y), weights ≥ 0.

    Eqs. 6–10 of the Camilla paper, with the two hidden layers of its hyper-parameter table. The
    non-negative weights keep p rising in every ability. Latent skills come in no order, and a skill
    that no sample asks for says nothing. The paper reads abilities weighted by masks q (Eqs. 13–14, `reading`
    "masks"); but what a skill weighs is also in the network, so ours are expected responses, in which samples
    answered right or wrong count by how well they tell learners apart.
    With a skill map Q its skills come first and q = ((1 − s) Q/|Q|, s softmax(·)), s = σ(t − map_trust):
    a sample asks for the skills it needs, on which it has one difficulty, and for latent ones beside them.
    With `guessing` c, p = c + (1 − c) network(Y).
    Raw learner and sample parameters ~ N(0, 1/precision).
    """

    name: ClassVar[str] = "camilla"
    engine: ClassVar[str] = "neural"
    parameters_type: ClassVar[Any] = CamillaParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "ability": ("learner", "latent"),
        "skill_mask": ("sample", "latent"),
        "difficulty": ("sample", "latent"),
        "discrimination": ("sample", ""),
        "weights": ("",),
        "biases": ("",),
        "beyond": ("sample", ""),
        "constants": ("constant",),
    }
    exact_sizes: ClassVar[bool] = False
    size: Size
    dimensions: int = 10
    hidden: tuple[int, ...] = (32, 16)
    precision: float = 3.0
    training: Training = QUICK
    reading: Literal["expected", "masks"] = "expected"
    use_skills: bool = True
    map_trust: float = 2.0
    guessing: float = 0.0

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        mapped = size.skill_mask is not None and given.get("use_skills", True)
        return {"precision": (3.0, 1.0)} | ({"map_trust": (2.0, 0.0)} if mapped else {})

    @classmethod
    def as_published(cls, size: Size) -> dict[str, Any]:
        """Dropout .5, batches of 256, ten epochs, no prior; skills are latent, whatever the map.

        The learning rate is .005, that of the released code; the paper prints .001.
        """
        return {
            "dimensions": 10 if size.fractional else 5,
            "hidden": (64, 32) if size.fractional else (128, 64),
            "precision": 0.0,
            "reading": "masks",
            "use_skills": False,
            "training": Training(
                rate=0.005, batch=256, epochs=10, patience=5, worth=0.0, least_steps=1, dropout=0.5,
                averaged=False,
                loss="mse" if size.fractional else "bce", monitor="auc",
            ),
        }  # fmt: skip

    def init(self, rng: np.random.Generator, start: Start) -> CamillaParams:
        n, m, latent = self.size.n_learners, self.size.n_samples, self.dimensions
        k = latent + self.n_mapped
        widths = (k, *self.hidden, 1)
        flat = tuple(xavier(rng, a, b) for a, b in pairwise(widths))
        weights, biases = flat, tuple(np.zeros(b, np.float32) for b in widths[1:])
        if self.precision > 0:
            weights, biases = rising_network(rng, widths, GAIN)
        return CamillaParams(
            raised(xavier(rng, n, k), start.learner),
            xavier(rng, m, latent),
            raised(xavier(rng, m, latent + (self.n_mapped > 0)), start.sample),
            xavier(rng, m, 1),
            weights,
            biases,
            np.zeros((m, 1), np.float32) if self.n_mapped else None,
            self._constants(),
        )

    def _constants(self) -> Floats | None:
        if not self.n_mapped and not self.guessing:
            return None
        return np.array([self.map_trust] + [self.guessing] * (self.guessing > 0), np.float32)

    @property
    def n_mapped(self) -> int:
        """The skills of the map that are in the fit."""
        return self.size.n_skills if self.use_skills else 0

    @property
    def model(self) -> Any:
        return type(self)

    @property
    def weighs_samples(self) -> bool:
        return self.reading == "expected" and not self.size.fractional

    @staticmethod
    def mastery(at: CamillaParams, xp: Any) -> Any:
        return sigmoid(at.ability, xp)

    @staticmethod
    def asked(at: CamillaParams, mask: Any, xp: Any) -> tuple[Any, Any]:
        """(q, D) of gathered samples on the skills of the map and the latent ones."""
        latent, level = softmax(at.skill_mask, xp), sigmoid(at.difficulty, xp)
        if at.beyond is None or at.constants is None:
            return latent, level
        beyond = sigmoid(at.beyond - at.constants[0], xp)
        named = mask / mask.sum(axis=-1, keepdims=True)
        q = xp.concatenate([(1 - beyond) * named, beyond * latent], axis=-1)
        alike = xp.broadcast_to(level[..., :1], named.shape)
        return q, xp.concatenate([alike, level[..., 1:]], axis=-1)

    @staticmethod
    def compare(mastery: Any, at: CamillaParams, mask: Any, xp: Any, mode: Any) -> Any:
        q, level = Camilla.asked(at, mask, xp)
        gap = sigmoid(at.discrimination, xp) * q * (mastery - level)
        logit = through(gap, zip(at.weights, at.biases, strict=True), lambda h: sigmoid(h, xp), mode)
        if at.constants is None or len(at.constants) == 1:
            return logit
        floor = at.constants[1]  # logit of c + (1 − c) σ(l)
        return xp.logaddexp(logit, xp.log(floor)) - xp.log1p(-floor)

    @staticmethod
    def sloped(mastery: Any, at: CamillaParams, mask: Any) -> tuple[Any, Any]:
        """The logit in NumPy, and its slope by mastery."""
        q, level = Camilla.asked(at, mask, np)
        steep = sigmoid(at.discrimination, np) * q
        logit, slope = sloped_through(steep * (mastery - level), zip(at.weights, at.biases, strict=True))
        if at.constants is None or len(at.constants) == 1:
            return logit, steep * slope
        floor = at.constants[1]
        above = sigmoid(logit - np.log(floor), np)[:, None]
        return np.logaddexp(logit, np.log(floor)) - np.log1p(-floor), above * steep * slope

    @staticmethod
    def project(params: CamillaParams, xp: Any) -> CamillaParams:
        return params._replace(weights=tuple(xp.maximum(w, 0) for w in params.weights))

    @staticmethod
    def penalty(params: CamillaParams, at: CamillaParams, skill_mask: Any, xp: Any) -> float:
        return 0.0

    @staticmethod
    def sample_factors(at: CamillaParams, mask: Any, xp: Any) -> tuple[Any, Any]:
        """(difficulty Σₖ qₖDₖ, discrimination b) of gathered samples."""
        q, level = Camilla.asked(at, mask, xp)
        return (q * level).sum(axis=-1), sigmoid(at.discrimination, xp)[..., 0]

    def readout(self, params: CamillaParams, spread: Any) -> Readout:
        exact = params._replace(skill_mask=params.skill_mask.astype(np.float64))
        mask, _ = self.asked(exact, self.size.skill_mask, np)
        floor = np.full(self.size.n_samples, self.guessing) if self.guessing else None
        expected = self.reading == "expected"
        return spread.read(mask, unit_scale=True, expected=expected, guessing=floor, n_mapped=self.n_mapped)
