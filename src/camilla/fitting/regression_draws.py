"""Regressions of a posterior on features: the columns they are made of, and their weights draw by draw."""

from typing import Any, NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.fitting.layout import Encoded, Size
from camilla.fitting.regression import Expansion
from camilla.fitting.sampler import Chain, Design, Designs
from camilla.fitting.skill_effects import has_effects, skill_weights


class Bases(NamedTuple):
    """What the columns of the regressions are made of."""

    samples: Expansion | None
    learners: Expansion | None

    def designs(self, size: Size) -> Designs:
        """The columns of the rows that are fitted, and the skills that samples need."""
        mask = size.skill_mask
        return Designs(
            _design(self.samples, size.sample_features),
            _design(self.learners, size.learner_features),
            skill_weights(mask) if mask is not None and has_effects(mask) else None,
        )


def _design(basis: Expansion | None, known: Encoded | None) -> Design | None:
    if basis is None or known is None:
        return None
    return Design(basis.of(known.columns), basis.block, basis.n_orthogonal)


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
