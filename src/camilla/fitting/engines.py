"""The engines by name. Adding one takes its file and a line here."""

from typing import Any, ClassVar, Protocol

import numpy as np

from camilla.arrays import Floats, Watch
from camilla.fitting.bilinear import BilinearEngine
from camilla.fitting.layout import Layout
from camilla.fitting.neural_engine import NeuralEngine
from camilla.fitting.protocol import (
    Diagnoser,
    Engine,
    Indices,
    Level,
    P_contra,
    Placement,
    Readout,
    Solution,
    Spread,
)
from camilla.table.cells import Cells


class SelfFitting(Protocol[P_contra]):
    """A diagnoser that brings its own fit."""

    @property
    def tempered(self) -> bool: ...

    def solve(self, layout: Layout, rng: np.random.Generator, watch: Watch) -> Solution: ...

    def logit(self, params: P_contra, learner: Indices, sample: Indices) -> Floats: ...

    def place(self, params: P_contra, weight: Floats, right: Floats) -> Placement: ...

    def level(self, params: P_contra, placement: Placement) -> Level: ...


class SelfExpecting(SelfFitting[P_contra], Protocol[P_contra]):
    """One whose abilities are read as expected responses."""

    def expected(
        self, params: P_contra, ability: Floats, covariance: Floats, samples: Indices
    ) -> tuple[Floats, Floats]: ...


class OwnEngine:
    """Passes every question on to the diagnoser: vanilla, skill-vanilla, dina, gaussian."""

    packages: ClassVar[tuple[str, ...]] = ()
    continues: ClassVar[bool] = False

    def tempered(self, diagnoser: SelfFitting[Any]) -> bool:
        return diagnoser.tempered

    def taken(self, layout: Layout) -> Layout:
        return layout

    def solve(
        self, diagnoser: SelfFitting[Any], layout: Layout, rng: np.random.Generator, watch: Watch,
        *, valid: Layout | None = None, earlier: Solution | None = None,
    ) -> Solution:  # fmt: skip
        return diagnoser.solve(layout, rng, watch)

    def as_tried(self, diagnoser: SelfFitting[Any]) -> SelfFitting[Any]:
        return diagnoser

    def settled(
        self, diagnoser: SelfFitting[Any], solution: Solution, layout: Layout,
        *, valid: Layout | None = None, earlier: Solution | None = None,
    ) -> Solution:  # fmt: skip
        return solution

    def logit(
        self, diagnoser: SelfFitting[P_contra], params: P_contra, learner: Indices, sample: Indices
    ) -> Floats:
        return diagnoser.logit(params, learner, sample)

    def logit_se(
        self, diagnoser: SelfFitting[P_contra], params: P_contra, readout: Readout,
        learner: Indices, sample: Indices,
    ) -> Floats | None:  # fmt: skip
        """Counts and states have none."""
        return None

    def pool(self, diagnoser: SelfFitting[P_contra], params: P_contra, readout: Readout) -> Level:
        return Level(readout.ability, readout.covariance)

    def place(
        self, diagnoser: SelfFitting[P_contra], params: P_contra,
        weight: Floats, right: Floats, sample_weight: Floats | None,
    ) -> Placement:  # fmt: skip
        return diagnoser.place(params, weight, right)

    def level(self, diagnoser: SelfFitting[P_contra], params: P_contra, placement: Placement) -> Level:
        return diagnoser.level(params, placement)

    def spread(
        self, diagnoser: SelfFitting[P_contra], params: P_contra, layout: Layout,
        *, standard: bool = True, errors: bool = True,
    ) -> Spread | None:  # fmt: skip
        return None

    def expected(
        self, diagnoser: SelfExpecting[P_contra], params: P_contra, readout: Readout,
        ability: Floats, covariance: Floats, samples: Indices, answers: Cells | None = None,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        return diagnoser.expected(params, ability, covariance, samples)

    def parameter_count(self, diagnoser: SelfFitting[Any]) -> int:
        raise TypeError("a diagnoser that counts or runs its own EM is not measured in parameters")


class SampledEngine(OwnEngine):
    """bayes: as a diagnoser that fits itself, with draws of scores and standard errors of logits."""

    def logit_se(
        self, diagnoser: Any, params: Any, readout: Readout, learner: Indices, sample: Indices
    ) -> Floats | None:
        return diagnoser.logit_se(params, learner, sample)

    def pool(self, diagnoser: Any, params: Any, readout: Readout) -> Level:
        return diagnoser.pool(params, readout)


ENGINES: dict[str, Engine[Any, Any]] = {
    "bilinear": BilinearEngine(),
    "neural": NeuralEngine(),
    "own": OwnEngine(),
    "sampled": SampledEngine(),
}


def engine_of(diagnoser: Diagnoser | type[Diagnoser]) -> Engine[Any, Any]:
    """Who fits this diagnoser."""
    return ENGINES[diagnoser.engine]
