"""Logit-bilinear diagnosers trained as the released code trains them: minibatch Adam, no prior."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from camilla.arrays import Floats, Watch
from camilla.errors import SettingError
from camilla.fitting import neural
from camilla.fitting.bilinear import Factors, HasProblem
from camilla.fitting.layout import Layout
from camilla.fitting.protocol import Size, Solution
from camilla.fitting.training import Start, Training


def solve(
    diagnoser: Any, layout: Layout, rng: np.random.Generator, watch: Watch,
    *, valid: Layout | None = None, earlier: Solution | None = None,
) -> Solution:  # fmt: skip
    """The same factors as the bilinear engine hands out, arrived at the released way."""
    problem = diagnoser.problem()
    if problem.guessing_limit:
        raise SettingError("guessing (form='3pl') is fitted at its mode only; leave training out.")
    trained = (_Loaded if problem.free.any() else _Additive)(diagnoser, diagnoser.training)
    solution = neural.solve(trained, layout, rng, watch, valid=valid, earlier=earlier)
    ability, loading, intercept = (part.astype(np.float64) for part in solution.params[:3])
    kept = np.where(problem.free, loading, problem.fixed)
    return solution._replace(params=Factors(ability, kept, intercept))


class _Loaded:
    """σ(Σₖ free ∘ loading ∘ ability + intercept), started at A, d ~ N(0, 1), b ~ U(0, 1)."""

    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "ability": ("learner", ""),
        "loading": ("sample", ""),
        "intercept": ("sample",),
    }
    precision = 0.0
    weighs_samples = False

    def __init__(self, diagnoser: HasProblem, training: Training) -> None:
        self.problem = diagnoser.problem()
        self.size: Size = replace(diagnoser.size, skill_mask=self.problem.free)
        self.training = training

    def init(self, rng: np.random.Generator, start: Start) -> Factors:
        n_samples, n_dims = self.problem.free.shape
        return Factors(
            _single(rng.normal(size=(self.size.n_learners, n_dims))),
            _single(rng.uniform(size=(n_samples, n_dims))),
            _single(rng.normal(size=n_samples)),
        )

    @property
    def model(self) -> Any:
        return type(self)

    @staticmethod
    def mastery(at: Factors, xp: Any) -> Any:
        return at.ability

    @staticmethod
    def compare(mastery: Any, at: Factors, mask: Any, xp: Any, mode: Any) -> Any:
        return (mastery * at.loading * mask).sum(axis=-1) + at.intercept

    @staticmethod
    def project(params: Factors, xp: Any) -> Factors:
        return params

    @staticmethod
    def penalty(params: Factors, at: Factors, skill_mask: Any, xp: Any) -> float:
        return 0.0


class _Additive(_Loaded):
    """σ(ability + intercept): 1PL, and what concatenating embeddings under a linear layer comes to."""

    @staticmethod
    def compare(mastery: Any, at: Factors, mask: Any, xp: Any, mode: Any) -> Any:
        return mastery.sum(axis=-1) + at.intercept


def _single(values: Any) -> Floats:
    return values.astype(np.float32)
