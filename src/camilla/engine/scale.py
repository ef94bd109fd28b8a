"""From a learner's fitted row to the scale it is read on, and from there to probabilities."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.diagnoser import Floats, Placement
from camilla.engine.factors import pool_scale


class Level(NamedTuple):
    """A learner on the scale abilities are read on."""

    ability: Floats  # [skills]
    covariance: Floats  # [skills, skills]


def level_of(diagnoser: Any, params: Any, placement: Placement) -> Level:
    """A placed learner on the pool's scale."""
    row, covariance = placement.row, placement.covariance
    if diagnoser.engine == "bilinear":
        mean, sd = pool_scale(diagnoser.problem(), params)
        return Level((row - mean) / sd, covariance / np.outer(sd, sd))
    if diagnoser.engine == "neural":
        from camilla.engine.learner_rows import levels

        read = levels(diagnoser, params, row[None], covariance[None])
        return Level(read.ability[0], read.covariance[0])
    if diagnoser.engine == "em":
        said = diagnoser.readout(params._replace(posterior=row[None]), None)
        return Level(said.ability[0], said.covariance[0])
    return Level(row, covariance)


def logit_slopes(
    diagnoser: Any, params: Any, learner: NDArray[np.integer], sample: NDArray[np.integer]
) -> Floats | None:
    """d logit / d ability on the read scale for each pair: [pairs, skills]; None for counts and EM."""
    if diagnoser.engine == "bilinear":
        _, sd = pool_scale(diagnoser.problem(), params)
        return np.asarray(params.loading[sample] * sd)
    if diagnoser.engine != "neural":
        return None
    from camilla.engine.training import neural_slopes

    return neural_slopes(diagnoser, params, learner, sample)
