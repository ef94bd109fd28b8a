"""What a learner does better or worse on each skill than its dimensions say, drawn in a Gibbs chain.

logit = cⱼ + vⱼ·θᵢ + Σₖ wⱼₖ uᵢₖ with wⱼₖ = Qⱼₖ / Σₗ Qⱼₗ, uᵢₖ ~ N(0, τ²) and τ half-t. θ and u of a learner are
drawn together, as they hold each other in place. Without u, a learner's level on a skill would be a mean of
what it makes of single samples, whose prior shrinks as samples are added (docs/design/skill-effects.md).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from camilla.arrays import Floats
from camilla.fitting.systems import normal_draws, products, triangle

FREEDOM = 2.0  # of τ's half-t
SCALE = 1.0  # of τ
FIRST_VARIANCE, LEAST_VARIANCE = 0.1, 1e-6  # τ²
JOINT_WIDTH = 256  # numbers of a learner drawn together where samples need several skills
JOINT_NUMBERS = 20_000_000  # in memory at once, of the systems of learners


LARGEST = 6e4  # that float16 can hold


def skill_weights(mask: NDArray[np.bool_]) -> Floats:
    """[samples, skills], rows sum to 1."""
    return np.asarray(mask / np.maximum(mask.sum(axis=1, keepdims=True), 1))


def has_effects(mask: NDArray[np.bool_] | None) -> bool:
    """Whether there is a skill map, and samples differ in the skills that they need."""
    return mask is not None and not bool((mask == mask[:1]).all())


class SkillEffects:
    """u [learners, skills] and τ² of a chain."""

    def __init__(self, weight: Floats, n_learners: int, kind: Any) -> None:
        self.kind = kind
        self.weight = sparse.csr_array(weight.astype(kind))
        self.rows = [np.flatnonzero(column) for column in weight.T]
        self.of_rows = [column[rows] for column, rows in zip(weight.T.astype(kind), self.rows, strict=True)]
        self.first, self.second = np.nonzero(np.triu(weight.T @ weight))  # skills that meet in a sample
        self.meeting = sparse.csr_array((weight[:, self.first] * weight[:, self.second]).T.astype(kind))
        self.apart = bool((self.first == self.second).all())
        self.value = np.zeros((n_learners, weight.shape[1]))
        self.variance = FIRST_VARIANCE

    def offset(self) -> Floats:
        """What effects add to logits: [samples, learners]."""
        return np.asarray(self.weight @ self.value.T.astype(self.kind))

    def draw(
        self, rng: np.random.Generator, omega: Floats, pull: Floats, loading: Floats, expected: Floats
    ) -> Floats:
        """Draws θ [learners, dims], which is returned, together with u.

        `pull` [samples, learners] is that of the responses without what intercepts explain. `expected`
        [learners, dims] is the mean of θ.
        """
        own = products(loading) @ omega  # [triangle, learners]
        linear = (loading.T @ pull).astype(np.float64) + expected.T
        if self.apart:
            ability, effect = self._apart(rng, omega, pull, loading, own, linear)
        elif loading.shape[1] + len(self.rows) <= JOINT_WIDTH:
            ability, effect = self._together(rng, omega, pull, loading, own, linear)
        else:
            ability, effect = self._in_turn(rng, omega, pull, loading, own, linear)
        self.value = effect.T
        self._draw_variance(rng)
        return ability.T

    def _across(self, omega: Floats, loading: Floats, learners: slice) -> Floats:
        """Information between dimensions and skills: [skills, dims, learners]."""
        parts = [
            (loading[rows] * weight[:, None]).T @ omega[rows, learners]
            for rows, weight in zip(self.rows, self.of_rows, strict=True)
        ]
        return np.array(parts, np.float64)

    def _apart(
        self, rng: np.random.Generator, omega: Floats, pull: Floats, loading: Floats, own: Floats,
        linear: Floats,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """One skill per sample: given θ, effects are independent, so that they are integrated out first."""
        n_dims, prior = loading.shape[1], np.eye(loading.shape[1])
        across = self._across(omega, loading, slice(None))
        information = (self.meeting @ omega).astype(np.float64) + 1 / self.variance  # [skills, learners]
        towards = np.asarray(self.weight.T @ pull, np.float64)
        by_learner = across.transpose(2, 1, 0)
        known = (by_learner / information.T[:, None]) @ by_learner.transpose(0, 2, 1)
        first, second = triangle(n_dims)
        own = own - known[:, first, second].T
        linear = linear - np.einsum("skn,sn->kn", across, towards / information)
        ability = normal_draws(rng, own, prior, linear)
        mean = (towards - np.einsum("skn,kn->sn", across, ability)) / information
        return ability, mean + rng.standard_normal(mean.shape) / np.sqrt(information)

    def _together(
        self, rng: np.random.Generator, omega: Floats, pull: Floats, loading: Floats, own: Floats,
        linear: Floats,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Several skills per sample: one system for all numbers of a learner."""
        n_dims, n_skills = loading.shape[1], len(self.rows)
        width, n_learners = n_dims + n_skills, omega.shape[1]
        place = np.zeros((width, width), np.intp)
        place[triangle(width)] = np.arange(width * (width + 1) // 2)
        prior = np.diag(np.append(np.ones(n_dims), np.full(n_skills, 1 / self.variance)))
        both = np.concatenate([linear, np.asarray(self.weight.T @ pull, np.float64)])
        drawn, step = np.empty((width, n_learners)), max(1, JOINT_NUMBERS // place.max())
        for start in range(0, n_learners, step):
            some = slice(start, start + step)
            information = np.zeros((place.max() + 1, both[:, some].shape[1]))
            information[place[triangle(n_dims)]] = own[:, some]
            information[place[:n_dims, n_dims:].T] = self._across(omega, loading, some)
            information[place[n_dims + self.first, n_dims + self.second]] = self.meeting @ omega[:, some]
            drawn[:, some] = normal_draws(rng, information, prior, both[:, some])
        return drawn[:n_dims], drawn[n_dims:]

    def _in_turn(
        self, rng: np.random.Generator, omega: Floats, pull: Floats, loading: Floats, own: Floats,
        linear: Floats,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Hundreds of skills that meet: θ given effects, then one skill after the other."""
        offset, effect = self.offset(), self.value.T.copy()
        linear = linear - (loading.T @ (omega * offset)).astype(np.float64)
        ability = normal_draws(rng, own, np.eye(loading.shape[1]), linear)
        left = pull - omega * (offset + loading @ ability.astype(self.kind))
        for k, (rows, weight) in enumerate(zip(self.rows, self.of_rows, strict=True)):
            information = weight**2 @ omega[rows] + 1 / self.variance
            mean = (weight @ left[rows] + (information - 1 / self.variance) * effect[k]) / information
            drawn = mean + rng.standard_normal(len(mean)) / np.sqrt(information)
            left[rows] -= omega[rows] * np.outer(weight, drawn - effect[k]).astype(self.kind)
            effect[k] = drawn
        return ability, effect

    def _draw_variance(self, rng: np.random.Generator) -> None:
        """τ² by the auxiliary number of its half-t deviation (Wand et al. 2011)."""
        auxiliary = (FREEDOM / self.variance + 1 / SCALE**2) / rng.standard_gamma((FREEDOM + 1) / 2)
        rate = FREEDOM / auxiliary + 0.5 * float((self.value**2).sum())
        shape = 0.5 * (FREEDOM + self.value.size)
        self.variance = max(rate / rng.standard_gamma(shape), LEAST_VARIANCE)


class EffectDraws(NamedTuple):
    """What is kept of a chain's effects."""

    value: list[Floats]
    scale: list[float]
    frame_scale: list[float]  # under which new learners are placed
    by_skill: list[Floats]  # what each skill makes of the mean of its samples' factors

    def fields(self, alike: NDArray[np.intp], *, predicts: bool) -> dict[str, Any]:
        """Of the parameters; nothing where there are none. `predicts` new samples, of unknown skills."""
        if not self.value:
            return {}
        found: dict[str, Any] = {
            "effect": np.clip(self.value, -LARGEST, LARGEST).astype(np.float16)[:, alike],
            "effect_scale": np.array(self.scale),
            "frame_effect_scale": np.array(self.frame_scale),
        }
        return found | ({"sample_skill": np.array(self.by_skill, np.float32)} if predicts else {})
