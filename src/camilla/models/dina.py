"""DINA: a learner has a skill or has it not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from camilla.arrays import Floats, Watch
from camilla.errors import SettingError
from camilla.fitting.layout import Layout, Size, clipped_logit
from camilla.fitting.protocol import Level, Placement, Readout, Solution, Spread, needed_skills

MOST_SKILLS = 12  # 2¹² states a learner
LOW, HIGH = 1e-3, 0.5 - 1e-3  # slip and guess stay here, so that 1 − slip > guess


class DINAParams(NamedTuple):
    slip: Floats  # [samples]
    guess: Floats  # [samples]
    share: Floats  # [states], of the pool
    posterior: Floats  # [learners, states]


@dataclass(frozen=True, eq=False)
class DINA:
    """p = (1 − sⱼ)^η gⱼ^(1−η) with η = 1 exactly when the learner has every skill the sample needs.

    Junker and Sijtsma (2001), by EM over the 2^K states (de la Torre 2009), counting observed cells
    only. A skill that never occurs alone cannot be told from those it occurs with: its mastery then
    stays between 0 and 1 however many responses there are.
    """

    name: ClassVar[str] = "dina"
    engine: ClassVar[str] = "own"
    tempered: ClassVar[bool] = True
    parameters_type: ClassVar[Any] = DINAParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "slip": ("sample",),
        "guess": ("sample",),
        "share": ("",),
        "posterior": ("learner", ""),
    }
    size: Size
    tolerance: float = 1e-4
    max_steps: int = 500

    def __post_init__(self) -> None:
        if needed_skills(self.size, self.name).shape[1] > MOST_SKILLS:
            raise SettingError(
                f"dina keeps 2^K states and takes at most {MOST_SKILLS} skills; the map has "
                f"{self.size.n_skills}. Merge skills, or use camilla-base."
            )

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {}

    @property
    def states(self) -> NDArray[np.bool_]:
        """[states, skills]: who has what."""
        numbers = np.arange(2**self.size.n_skills)
        return (numbers[:, None] >> np.arange(self.size.n_skills) & 1).astype(bool)

    @property
    def able(self) -> NDArray[np.bool_]:
        """η: [states, samples]."""
        mask = needed_skills(self.size, self.name)
        return (~self.states).astype(np.int64) @ mask.T.astype(np.int64) == 0

    def solve(self, layout: Layout, rng: np.random.Generator, watch: Watch) -> Solution:
        weight, right = (part.T for part in layout.block(np.arange(layout.n_samples)))
        able = self.able.astype(np.float64)
        n_states = len(able)
        slip, guess = np.full(layout.n_samples, 0.2), np.full(layout.n_samples, 0.2)
        share = np.full(n_states, 1 / n_states)
        moved = np.inf
        for step in range(1, self.max_steps + 1):  # noqa: B007 (the last step is reported)
            posterior, loss = _states_given_responses(able, slip, guess, share, weight, right)
            with_skill, right_with = (posterior.T @ weight * able).sum(0), (posterior.T @ right * able).sum(0)
            without, right_without = weight.sum(0) - with_skill, right.sum(0) - right_with
            new_slip = np.clip(_ratio(with_skill - right_with, with_skill, slip), LOW, HIGH)
            new_guess = np.clip(_ratio(right_without, without, guess), LOW, HIGH)
            new_share = posterior.mean(axis=0)
            moved = max(
                np.abs(new_slip - slip).max(),
                np.abs(new_guess - guess).max(),
                np.abs(new_share - share).max(),
            )
            slip, guess, share = new_slip, new_guess, new_share
            if moved < self.tolerance:
                break
        watch(f"{step} steps, loss {loss:.4f}")
        posterior, loss = _states_given_responses(able, slip, guess, share, weight, right)
        return Solution(
            DINAParams(slip, guess, share, posterior), loss, float(moved), step, bool(moved < self.tolerance)
        )

    def probability(self, params: DINAParams) -> Floats:
        """[states, samples]."""
        return np.where(self.able, 1 - params.slip, params.guess)

    def logit(self, params: DINAParams, learner: NDArray[np.integer], sample: NDArray[np.integer]) -> Floats:
        given_state = self.probability(params).T
        out = np.empty(len(learner))
        for start in range(0, len(out), 65_536):
            rows = slice(start, start + 65_536)
            out[rows] = np.einsum("cs,cs->c", params.posterior[learner[rows]], given_state[sample[rows]])
        return clipped_logit(out)

    def place(self, params: DINAParams, weight: Floats, right: Floats) -> Placement:
        """One E-step: the row is the posterior over states."""
        posterior, _ = _states_given_responses(
            self.able.astype(np.float64), params.slip, params.guess, params.share, weight[None], right[None]
        )
        return Placement(posterior[0], np.zeros((0, 0)), True)

    def level(self, params: DINAParams, placement: Placement) -> Level:
        """Mastery of the skills, from the posterior over states."""
        read = self.readout(params._replace(posterior=placement.row[None]), None)
        return Level(read.ability[0], read.covariance[0])

    def readout(self, params: DINAParams, spread: Spread | None) -> Readout:
        """Mastery is the posterior probability of the skill; its 95 % set holds 0, 1 or both."""
        mask = needed_skills(self.size, self.name)
        states = self.states.astype(np.float64)
        mastery = np.clip(params.posterior @ states, 0, 1)
        together = np.einsum("ns,sk,sl->nkl", params.posterior, states, states, optimize=True)
        covariance = together - mastery[:, :, None] * mastery[:, None, :]
        diagonal = np.arange(self.size.n_skills)
        covariance[:, diagonal, diagonal] = mastery * (1 - mastery)  # no rounding below 0
        expected = params.posterior.mean(axis=0) @ self.probability(params)
        return Readout(
            ability=mastery,
            covariance=covariance,
            skill_weight=mask / mask.sum(axis=1, keepdims=True),
            difficulty=1 - expected,
            discrimination=1 - params.slip - params.guess,
            interval="credible set of having the skill",
            unit_scale=True,
            explicit=True,
            guessing=params.guess,
            credible=True,
        )


def _states_given_responses(
    able: Floats, slip: Floats, guess: Floats, share: Floats, weight: Floats, right: Floats
) -> tuple[Floats, float]:
    """E-step in logs: posterior [learners, states] and the mean loss per response."""
    given = np.where(able > 0, 1 - slip, guess)
    with np.errstate(divide="ignore"):
        joint = right @ np.log(given).T + (weight - right) @ np.log1p(-given).T + np.log(share)
    whole = logsumexp(joint, axis=1, keepdims=True)
    return np.exp(joint - whole), float(-whole.sum() / weight.sum())


def _ratio(part: Floats, whole: Floats, fallback: Floats) -> Floats:
    """part / whole, or the old value where nobody is in the state."""
    return np.where(whole > 1e-12, part / np.where(whole > 1e-12, whole, 1), fallback)
