"""Which samples behave as if their key were wrong. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from camilla.arrays import Floats, rounded, sigmoid

SLOPES = np.array([0.35, 0.7, 1.2, 2.0, 3.5, 6.0])  # a standard deviation of ability
DIFFICULTIES = np.linspace(-4.5, 4.5, 31)  # standard deviations of ability
HITS = np.array([1.0, 0.4, 0.12])  # how often a wrong answer is the one a wrong key calls right
MOST = 4000  # samples that the shares and curves are estimated from
BLOCK = 2000  # samples judged at once
LAPSE = 0.01  # any learner may miss any sample, and hit any, for reasons of its own


class WrongKeys(NamedTuple):
    """How sure it is that a sample's key is wrong, and which samples to look at."""

    probability: Floats  # [samples]
    flagged: NDArray[np.bool_]  # [samples], at most `rate` of them expected to be false
    share: float  # of samples with a wrong key, as estimated


def wrong_keys(matrix: Floats, ability: Floats, *, rate: float = 0.05) -> WrongKeys:
    """A mixture of right keys, P(x = 1) = σ(a(θ − b)), and wrong ones, P(x = 1) = h(1 − σ(a(θ − b))).

    Learners who know answer against a wrong key, and those who do not hit it now and then. The
    distribution of (a > 0, b) over a grid and the share of wrong keys are those of the highest likelihood
    (EM, on at most MOST samples evenly taken); abilities are standardised and held fixed. Samples are
    flagged while the mean of 1 − probability over the flagged stays within `rate`: the expected share of
    false flags.
    """
    seen = ~np.isnan(matrix)
    right = np.where(seen, matrix, 0.0).T  # [samples, learners]
    wrong = np.where(seen, 1 - matrix, 0.0).T
    spaced = np.linspace(0, len(right) - 1, min(len(right), MOST)).round().astype(np.intp)
    curves, shares = _fitted(*_likelihoods(right[spaced], wrong[spaced], ability))
    with np.errstate(divide="ignore"):
        log_curves, log_hits = np.log(curves), np.log(shares[1:, None] / shares[1:].sum())
    log_ratio = np.empty(len(right))
    for start in range(0, len(right), BLOCK):
        rows = slice(start, start + BLOCK)
        clean, flipped = _likelihoods(right[rows], wrong[rows], ability)
        by_wrong = logsumexp(flipped + log_curves + log_hits, axis=(1, 2))
        log_ratio[rows] = by_wrong - logsumexp(clean + log_curves, axis=1)
    share = float(shares[1:].sum())
    probability = sigmoid(log_ratio + np.log(share) - np.log1p(-share))
    return WrongKeys(probability, below_rate(probability, rate), share)


def _likelihoods(right: Floats, wrong: Floats, ability: Floats) -> tuple[Floats, Floats]:
    """Log likelihoods of a right key [samples, curves], and of a wrong one [samples, hits, curves]."""
    a, b = (part.ravel() for part in np.meshgrid(SLOPES, DIFFICULTIES, indexing="ij"))
    curve = sigmoid(a * (ability[:, None] - b))  # [learners, curves]

    def likelihood(p: Floats) -> Floats:
        p = LAPSE / 2 + (1 - LAPSE) * p
        return right @ np.log(p) + wrong @ np.log1p(-p)

    return likelihood(curve), np.stack([likelihood(h * (1 - curve)) for h in HITS], axis=1)


def _fitted(clean: Floats, flipped: Floats) -> tuple[Floats, Floats]:
    """(weights of the curves, shares of right keys and of wrong ones by hit rate) after EM.

    One pseudo-sample with a right key spread over all curves keeps every weight positive, and Beta(1, 99)
    keeps the share of wrong keys small where nothing speaks for them.
    """
    n_curves = clean.shape[1]
    curves = np.full(n_curves, 1 / n_curves)
    shares = np.append(0.97, np.full(len(HITS), 0.03 / len(HITS)))
    both = np.concatenate([clean[:, None], flipped], axis=1)  # [samples, 1 + hits, curves]
    likelihood = np.exp(both - both.max(axis=(1, 2), keepdims=True))
    for _ in range(60):
        of_key = likelihood @ curves  # [samples, 1 + hits]
        weight = shares / (of_key @ shares)[:, None]
        curves = curves * np.einsum("sh,shk->k", weight, likelihood, optimize=True) + 1 / n_curves
        curves /= curves.sum()
        counts = (weight * of_key).sum(axis=0) + np.append(99.0, np.full(len(HITS), 1 / len(HITS)))
        shares = counts / counts.sum()
    return curves, shares


def below_rate(probability: Floats, rate: float) -> NDArray[np.bool_]:
    """The most probable ones, as many as leave the mean of 1 − probability within the rate."""
    order = np.argsort(-rounded(probability), kind="stable")
    false = np.cumsum(1 - probability[order]) / np.arange(1, len(order) + 1)
    flagged = np.zeros(len(order), bool)
    flagged[order[: int((false <= rate).sum())]] = True
    return flagged
