"""From a learner's fitted row to the scale it is read on, and from there to probabilities."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, sigmoid
from camilla.fitting.bilinear import pool_scale
from camilla.fitting.layout import BLOCK_CELLS
from camilla.fitting.protocol import Placement, Readout, Spread

REACH = 1e4  # levels looked at, in logits: a sample of the least weight moves by a hundred
HALVINGS = 60


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
        from camilla.fitting.learner_rows import levels

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
    from camilla.fitting.training import neural_slopes

    return neural_slopes(diagnoser, params, learner, sample)


def expected_on(
    diagnoser: Any, params: Any, readout: Readout,
    ability: Floats, covariance: Floats, samples: NDArray[np.integer],
) -> tuple[Floats, Floats]:  # fmt: skip
    """Mean expected response over the samples of learners on the read scale, and its standard error.

    The delta method: the slope of the mean by the ability is Σⱼ pⱼ(1 − pⱼ) aⱼ / n. No temperature: it mends
    single predictions that are too sure, while the fit's own means are right, and it would draw them to ½.
    """
    if diagnoser.engine == "linear":
        return diagnoser.expected(params, ability, covariance, samples)
    if diagnoser.engine == "neural":
        from camilla.fitting.training import neural_expected

        weight, logit = readout.sample_weight, readout.sample_logit
        counts = np.ones(diagnoser.size.n_samples) if weight is None else weight
        value, slope = neural_expected(diagnoser, params, ability, samples, counts)
        se = np.sqrt(np.einsum("nk,nkl,nl->n", slope, covariance, slope))
        if weight is None or logit is None:
            return value, se
        mean, by_value = unweighted(value, weight[samples], logit[samples])
        return mean, se * by_value
    mean, sd = pool_scale(diagnoser.problem(), params)
    loading = params.loading[samples]
    logits = (ability * sd + mean) @ loading.T + params.intercept[samples]
    p = 0.5 * (np.tanh(0.5 * logits) + 1)
    slope = (p * (1 - p)) @ (loading * sd) / len(samples)
    return p.mean(axis=1), np.sqrt(np.einsum("nk,nkl,nl->n", slope, covariance, slope))


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
            p = sigmoid(logit + weight * level[:, None], np)
            under = p @ weight < value[rows] * weight.sum()
            low, high = np.where(under, level, low), np.where(under, high, level)
        change = p * (1 - p) * weight
        mean[rows] = p.mean(axis=1)
        by_value[rows] = change.mean(axis=1) / np.maximum(change @ weight / weight.sum(), 1e-300)
    return mean, by_value


def bare_spread(diagnoser: Any, params: Any) -> Spread:
    """Abilities of a bilinear fit as they are read, without the work of saying how sure they are."""
    mean, sd = pool_scale(diagnoser.problem(), params)
    n_learners, n_dims = params.ability.shape
    none = np.zeros(len(params.intercept))
    ability = (params.ability - mean) / sd
    return Spread(ability, np.zeros((n_learners, n_dims, n_dims)), "none", none, none, none, none)
