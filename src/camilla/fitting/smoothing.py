"""Chances on unseen samples from a kernel alone, and how far a posterior's predictions go towards them.

The posterior's regression is of logits, in few dimensions and with one residual variance. This one is of
every learner's fitted chances themselves. Both together predict better where those assumptions fail, and
samples held out say by how much (docs/design/features.md).
"""

import numpy as np

from camilla.arrays import Floats, rounded, sigmoid
from camilla.fitting.layout import Encoded
from camilla.fitting.regression import Expansion
from camilla.fitting.sampler import Chain, Design, Designs, Responses
from camilla.statistics.ridge import LEAST_FREEDOM, PENALTIES
from camilla.statistics.row_levels import MASSES, NODES

CHOOSING_LEARNERS = 50  # that the penalty is chosen on
FOLDS, BURN_IN, DRAWS = 5, 30, 50  # of the posteriors that are compared with
MOST_DIMS, MOST_SAMPLES, MOST_LEARNERS = 2, 1000, 150
FEWEST_SAMPLES = 20
SHARES = np.linspace(0, 0.8, 17)
LEAST_CHANCE = 0.002  # of a response on a new sample, as smoothed


def smoothing(columns: Floats, chance: Floats) -> Floats:
    """Ridge regression of each learner's chances on columns that are orthogonal and of mean 0.

    The first row is the mean, the others are weights. The penalty has the smallest leave-one-out error.
    """
    mean, size = chance.mean(axis=0), (columns**2).sum(axis=0)
    away = chance - mean
    towards = columns.T @ away
    step = max(1, chance.shape[1] // CHOOSING_LEARNERS)
    some, onto = away[:, ::step], towards[:, ::step]
    errors = []
    for penalty in PENALTIES:
        freedom = 1 - 1 / len(chance) - (columns**2) @ (1 / (size + penalty))
        left = (some - columns @ (onto / (size + penalty)[:, None])).T / np.maximum(freedom, LEAST_FREEDOM)
        errors.append(float((left**2).mean()))
    penalty = PENALTIES[int(np.argmin(rounded(np.array(errors))))]
    return np.vstack([mean, towards / (size + penalty)[:, None]])


def smoothed(weights: Floats, columns: Floats) -> Floats:
    """Chances by what `smoothing` found, [rows, learners]; its columns are the last ones."""
    chance = weights[0] + columns[:, columns.shape[1] + 1 - len(weights) :] @ weights[1:]
    return np.asarray(np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE))


def learned_share(data: Responses, features: Encoded, n_dims: int, rng: np.random.Generator) -> float:
    """The weight of smoothed chances beside the posterior's that predicts held-out samples best.

    Posteriors of fewer draws, dimensions, learners and samples are made for it.
    """
    n_samples, n_learners = data.weight.shape
    if n_samples < FEWEST_SAMPLES:
        return 0.0
    some = np.sort(rng.permutation(n_samples)[:MOST_SAMPLES])
    learners = np.arange(0, n_learners, -(-n_learners // MOST_LEARNERS))
    at = np.ix_(some, learners)
    part = Responses(data.weight[at], data.response[at], data.fractional)
    columns, fold = features.columns[some], rng.permutation(len(some)) % FOLDS
    n_dims, losses = min(n_dims, MOST_DIMS), np.empty((len(SHARES), len(some)))
    for held in range(FOLDS):
        seen, new = fold != held, fold == held
        basis = Expansion.fit(columns[seen], features.block)
        if not basis.n_orthogonal:
            return 0.0
        design = Design(basis.of(columns[seen]), basis.block, basis.n_orthogonal)
        chain = Chain(
            Responses(part.weight[seen], part.response[seen], part.fractional),
            n_dims, rng, Designs(design),
        )  # fmt: skip
        beyond = basis.kernels[-1].left(columns[new])
        inside, outside = _chances(chain, basis.of(columns[new]), beyond)
        other = smoothed(smoothing(design.columns[:, -basis.n_orthogonal :], inside), basis.of(columns[new]))
        losses[:, new] = _losses(part.weight[new], part.response[new], outside, other)
    return mean_share(losses)


def _chances(chain: Chain, columns: Floats, beyond: Floats) -> tuple[Floats, Floats]:
    """Mean chances on the samples of a chain, and on others by their features.

    `beyond` is the variance of the last kernel that the columns lack. Residuals are integrated out: the
    noise of drawn ones would count for the smoothed chances, which have none.
    """
    inside, outside = np.zeros(chain.shape), np.zeros((len(columns), chain.shape[1]))
    for step in range(BURN_IN + DRAWS):
        chain.sweep()
        regression = chain.regressions.samples
        if step < BURN_IN or regression is None:
            continue
        inside += sigmoid(chain.logit())
        design = np.column_stack([np.ones(chain.shape[1]), chain.ability])
        logit = (chain.hyper.mean + columns @ regression.weight) @ design.T
        variance = (design @ np.linalg.inv(chain.hyper.precision) * design).sum(axis=1)
        variance = variance + beyond[:, None] * (design**2 @ regression.variance[-1])
        outside += mean_chance(logit, np.sqrt(variance))
    return inside / DRAWS, outside / DRAWS


def mean_chance(logit: Floats, deviation: Floats) -> Floats:
    """E σ(l) of l ~ N(logit, deviation²), by Gauss–Hermite quadrature."""
    total = MASSES.sum()
    parts = (
        mass / total * sigmoid(logit + node * deviation) for node, mass in zip(NODES, MASSES, strict=True)
    )
    return np.asarray(sum(parts))


def _losses(weight: Floats, response: Floats, one: Floats, other: Floats) -> Floats:
    """Of the responses to held-out samples, for each share of the second prediction: [shares, samples]."""
    losses = []
    for share in SHARES:
        p = np.clip((1 - share) * one + share * other, LEAST_CHANCE, 1 - LEAST_CHANCE)
        losses.append(-(weight * (response * np.log(p) + (1 - response) * np.log1p(-p))).sum(axis=1))
    return np.array(losses)


def mean_share(losses: Floats) -> float:
    """The mean of the shares, each weighted by exp(−t²/2); losses: [shares, samples].

    t is of the paired test against the best share, with samples as the independent units. One sample more or
    less moves the best share by a lot, and this mean by little.
    """
    best = int(np.argmin(rounded(losses.sum(axis=1))))
    more = losses - losses[best]
    error = more.std(axis=1, ddof=1) * np.sqrt(losses.shape[1])
    t = np.divide(more.sum(axis=1), error, out=np.zeros(len(SHARES)), where=error > 0)
    return float(np.average(SHARES, weights=np.exp(-(t**2) / 2)))
