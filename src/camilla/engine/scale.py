"""From a learner's fitted row to the scale it is read on, and from there to probabilities."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.diagnoser import Floats, Placement
from camilla.engine.factors import pool_scale
from camilla.engine.fit import logit


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
        ability = 1 / (1 + np.exp(-row))
        rate = ability * (1 - ability)
        return Level(ability, covariance * np.outer(rate, rate))
    if diagnoser.engine == "em":
        read = diagnoser.readout(params._replace(posterior=row[None]), None)
        return Level(read.ability[0], read.covariance[0])
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
    step = 1e-3
    start = params._replace(ability=params.ability.astype(np.float64))
    base = logit(diagnoser, start, learner, sample)
    slopes = np.empty((len(learner), start.ability.shape[1]))
    for k in range(slopes.shape[1]):
        moved = start.ability.copy()
        moved[:, k] += step
        slopes[:, k] = (logit(diagnoser, start._replace(ability=moved), learner, sample) - base) / step
    squashed = 1 / (1 + np.exp(-start.ability[learner]))
    return slopes / (squashed * (1 - squashed))
