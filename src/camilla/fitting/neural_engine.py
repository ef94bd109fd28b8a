"""The neural engine's answers; only training, placing and standard errors load JAX."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from camilla.arrays import Floats, Watch, sigmoid
from camilla.extras import may_accelerate
from camilla.fitting.layout import BLOCK_CELLS, Layout
from camilla.fitting.protocol import Indices, Level, Placement, Readout, Solution, Spread, se_along
from camilla.fitting.shard_layout import compact
from camilla.fitting.training import (
    Neural,
    Start,
    neural_expected,
    neural_logit,
    neural_logit_at,
    neural_slopes,
)
from camilla.table.cells import Cells

LISTED_CELLS = 4_000_000  # in memory: 16 bytes for each while it is trained on, and 20 to draw their order
REACH = 1e4  # levels looked at, in logits: a sample of the least weight moves by a hundred
HALVINGS = 60
AS_EXPECTED = 4.0  # answers added to those on a skill, as expected: one alone does not make an ability


class NeuralEngine:
    """camilla, neural-cd, ka-ncd, hier-mirt, hier-ncd, qc-cdm: mastery compared with samples by a network."""

    packages: ClassVar[tuple[str, ...]] = ("jax",)
    continues: ClassVar[bool] = False

    def tempered(self, diagnoser: Neural) -> bool:
        return True

    def taken(self, layout: Layout) -> Layout:
        """Many responses as bytes that cells are drawn from; an accelerator has room for lists of them."""
        if layout.n_cells <= LISTED_CELLS or layout.drawn or may_accelerate():
            return layout
        return compact(layout)

    def solve(
        self, diagnoser: Neural, layout: Layout, rng: np.random.Generator, watch: Watch,
        *, valid: Layout | None = None, earlier: Solution | None = None,
    ) -> Solution:  # fmt: skip
        from camilla.fitting.neural import solve

        return solve(diagnoser, layout, rng, watch, valid=valid, earlier=earlier)

    def as_tried(self, diagnoser: Neural) -> Neural:
        plan = diagnoser.training
        if plan.trial_epochs is None or plan.trial_epochs >= plan.epochs:
            return diagnoser
        shorter = plan._replace(epochs=plan.trial_epochs)
        return replace(diagnoser, training=shorter)  # type: ignore[type-var]

    def settled(
        self, diagnoser: Neural, solution: Solution, layout: Layout,
        *, valid: Layout | None = None, earlier: Solution | None = None,
    ) -> Solution:  # fmt: skip
        from camilla.fitting.neural import settled

        return settled(diagnoser, solution, layout, valid=valid, earlier=earlier)

    def logit(self, diagnoser: Neural, params: tuple[Any, ...], learner: Indices, sample: Indices) -> Floats:
        return neural_logit(diagnoser, params, learner, sample)

    def logit_se(
        self, diagnoser: Neural, params: tuple[Any, ...], readout: Readout, learner: Indices, sample: Indices
    ) -> Floats:
        return se_along(neural_slopes(diagnoser, params, learner, sample), readout, learner)

    def pool(self, diagnoser: Neural, params: tuple[Any, ...], readout: Readout) -> Level:
        return Level(readout.ability, readout.covariance)

    def place(
        self,
        diagnoser: Neural,
        params: tuple[Any, ...],
        weight: Floats,
        right: Floats,
        sample_weight: Floats | None,
    ) -> Placement:
        from camilla.fitting.neural import place

        return place(diagnoser, params, weight, right, sample_weight)

    def level(self, diagnoser: Neural, params: tuple[Any, ...], placement: Placement) -> Level:
        from camilla.fitting.learner_rows import levels

        read = levels(diagnoser, params, placement.row[None], placement.covariance[None])
        return Level(read.ability[0], read.covariance[0])

    def spread(
        self, diagnoser: Neural, params: tuple[Any, ...], layout: Layout,
        *, standard: bool = True, errors: bool = True,
    ) -> Spread:  # fmt: skip
        from camilla.fitting.compiling import kept_programs
        from camilla.fitting.learner_rows import neural_spread

        with kept_programs():
            return neural_spread(diagnoser, params, layout)

    def expected(
        self, diagnoser: Neural, params: tuple[Any, ...], readout: Readout,
        ability: Floats, covariance: Floats, samples: Indices, answers: Cells | None = None,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Where samples do not count alike, the weighted count is read as a mean response.

        With `answers` and a map in the fit: see `_put_right`.
        """
        weight, logit = readout.sample_weight, readout.sample_logit
        counts = np.ones(diagnoser.size.n_samples) if weight is None else weight
        value, slope = neural_expected(diagnoser, params, ability, samples, counts)
        se = np.sqrt(np.einsum("nk,nkl,nl->n", slope, covariance, slope))
        if weight is not None and logit is not None:
            value, by_value = unweighted(value, weight[samples], logit[samples])
            se = se * by_value
        if answers is None or not diagnoser.n_mapped:
            return value, se
        chance = sigmoid(neural_logit_at(diagnoser, params, ability, answers.learner, answers.sample))
        return _put_right(value, se, answers, chance, (1 + counts) / 2, readout.dispersion)

    def parameter_count(self, diagnoser: Neural) -> int:
        """Every entry of the parameters, moments aside."""
        start = Start(np.zeros(diagnoser.size.n_learners), np.zeros(diagnoser.size.n_samples))
        fields = diagnoser.init(np.random.default_rng(0), start)._asdict()
        untrained = ("moment", "constant")
        trained = [value for name, value in fields.items() if diagnoser.axes[name][0] not in untrained]
        parts = [part for value in trained for part in (value if isinstance(value, tuple) else (value,))]
        return sum(part.size for part in parts if part is not None)


def _put_right(
    value: Floats, se: Floats, answers: Cells, chance: Floats, sample_weight: Floats, dispersion: float
) -> tuple[Floats, Floats]:
    """Expected responses plus Σ g (x − p) / (Σ g + AS_EXPECTED) of what was answered, and standard errors.

    The difference estimator of survey sampling (Särndal, Swensson, Wretman 1992).
    """
    weight, n = answers.weight * sample_weight[answers.sample], len(value)
    count, beyond, noise = (
        np.bincount(answers.learner, part, n)
        for part in (
            weight,
            weight * (answers.response - chance),
            dispersion * weight * sample_weight[answers.sample] * chance * (1 - chance),
        )
    )
    total = count + AS_EXPECTED
    exact = np.clip(value + beyond / total, 0, 1)
    return exact, np.sqrt(noise + (AS_EXPECTED * se) ** 2) / total


def unweighted(value: Floats, weight: Floats, logit: Floats) -> tuple[Floats, Floats]:
    """Mean responses at the levels where weighted ones have these values, and their slopes by them.

    At level ℓ sample j has the chance σ(logitⱼ + weightⱼ ℓ), so both means rise with ℓ: bisection.
    """
    mean, by_value = np.empty(len(value)), np.empty(len(value))
    step = max(1, BLOCK_CELLS // len(weight))
    for rows in (slice(start, start + step) for start in range(0, len(value), step)):
        low, high = np.full(len(value[rows]), -REACH), np.full(len(value[rows]), REACH)
        for _ in range(HALVINGS):
            level = (low + high) / 2
            p = sigmoid(logit + weight * level[:, None])
            under = p @ weight < value[rows] * weight.sum()
            low, high = np.where(under, level, low), np.where(under, high, level)
        change = p * (1 - p) * weight
        mean[rows] = p.mean(axis=1)
        by_value[rows] = change.mean(axis=1) / np.maximum(change @ weight / weight.sum(), 1e-300)
    return mean, by_value
