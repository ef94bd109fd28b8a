"""Regressions of a posterior on features: the columns they are made of, and their weights draw by draw."""

from typing import Any, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.layout import Size
from camilla.fitting.regression import Expansion
from camilla.fitting.sampler import Chain, Design, Designs


class Bases(NamedTuple):
    """What the columns of the regressions are made of."""

    samples: Expansion | None
    learners: Expansion | None

    def designs(self, size: Size) -> Designs:
        """The columns of the rows that are fitted."""
        both = zip(self, (size.sample_features, size.learner_features), strict=True)
        return Designs(
            *(
                None
                if basis is None or known is None
                else Design(basis.of(known.columns), basis.block, basis.n_orthogonal)
                for basis, known in both
            )
        )


class RegressionDraws(NamedTuple):
    """Weights of features, draw by draw."""

    mean: list[Floats]
    root: list[Floats]
    weight: list[Floats]
    beyond: list[Floats]
    learner_weight: list[Floats]
    learner_beyond: list[Floats]

    def add(self, chain: Chain) -> None:
        """Keeps the present draw."""
        if chain.regressions.samples is not None:
            self.mean.append(chain.hyper.mean)
            self.root.append(np.linalg.inv(np.linalg.cholesky(chain.hyper.precision)).T)
            self.weight.append(chain.regressions.samples.weight.copy())
            self.beyond.append(np.sqrt(chain.regressions.samples.variance[-1]))
        if chain.regressions.learners is not None:
            self.learner_weight.append(chain.regressions.learners.weight.copy())
            self.learner_beyond.append(np.sqrt(chain.regressions.learners.variance[-1]))

    def fields(self, bases: Bases) -> dict[str, Any]:
        """Of the parameters; nothing where there are no features."""
        found: dict[str, Any] = {}
        if bases.samples is not None:
            found |= {
                "sample_mean": np.array(self.mean, np.float32),
                "sample_root": np.array(self.root, np.float32),
                "sample_weight": np.array(self.weight, np.float32),
                "sample_basis": bases.samples.arrays(),
                "sample_beyond": np.array(self.beyond, np.float32),
            }
        if bases.learners is not None:
            found |= {
                "learner_weight": np.array(self.learner_weight, np.float32),
                "learner_basis": bases.learners.arrays(),
                "learner_beyond": np.array(self.learner_beyond, np.float32),
            }
        return found
