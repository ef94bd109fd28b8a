"""How strongly responses and answers speak against a sample's key. Arrays only.

    evidence = log₁₀ P(right/wrong | key is wrong) / P(right/wrong | key is right)
             + log₁₀ P(wrong answers | key is wrong) / P(wrong answers | key is right)

The first ratio needs nothing but right and wrong; a sample that nobody solves has it too. The second is that
of what those answer who fail: one and the same where the key is wrong, what attracts where it is right.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp

from camilla.arrays import Floats, sigmoid
from camilla.statistics.items import spaced

SLOPES = np.array([0.35, 0.7, 1.2, 2.0, 3.5, 6.0])  # a standard deviation of ability
DIFFICULTIES = np.linspace(-4.5, 4.5, 31)  # standard deviations of ability
HITS = np.array([1.0, 0.4, 0.1, 0.01])  # how often a learner that does not know gives a wrong key's answer
MOST = 4000  # samples that the shares and curves are estimated from
BLOCK = 2000  # samples judged at once
LAPSE = 0.005  # any learner may miss any sample, and hit any, for reasons of its own

# What those answer who fail a sample whose key is wrong.
SCATTERED = 0.2  # share of such samples that have no right answer, or an unclear text
TRUTH, OTHERS = 4.0, 1.0  # Dirichlet: four of five name the answer that is right
ATTRACTIONS = (-4.0, 3.0)  # of log c, the concentration where the key is right
RARE_OPTIONS = 0.99  # share of samples that have at most as many wrong answers as options are counted


class JudgedBy(NamedTuple):
    """Who judges: abilities [keys, learners], which of them judges a sample, how much a learner counts."""

    ability: Floats
    key: NDArray[np.intp]  # [samples], row of `ability`
    weight: Floats  # [learners]


class Votes(NamedTuple):
    """Wrong answers, one entry per sample and answer: how many independent learners give it."""

    sample: NDArray[np.intp]
    weight: Floats
    n_samples: int

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many wrong answers each sample has."""
        return np.bincount(self.sample, minlength=self.n_samples)


class Doubt(NamedTuple):
    """The evidence against each sample's key, and the share of samples whose responses look so."""

    evidence: Floats  # [samples], log₁₀ of the likelihood ratio
    share: float

    @property
    def rarity(self) -> float:
        """log₁₀ of the odds against a sample's looking so."""
        return float(np.log10((1 - self.share) / self.share))


def doubt(matrix: Floats, by: JudgedBy, votes: Votes | None = None) -> Doubt:
    """Likelihood ratios of P(x = 1) = h(1 − σ(a(θ − b))) against P(x = 1) = σ(a(θ − b)), a > 0, and of votes.

    `matrix` is [learners, samples], NaN where missing. The first curve is that of a key that is wrong:
    learners who know answer against it, and others hit it with probability h. The distribution of (a, b) over
    a grid and the share of reversed samples are those of the highest likelihood (EM, on at most MOST samples
    evenly taken, every learner counting alike); abilities are held fixed. In the ratio of a sample each
    learner's log likelihood is multiplied by its weight. Where answers are known, a wrong key is one of
    several wrong answers, and evidence is that of h < 1; samples with h = 1 still count in the share.
    """
    some = spaced(matrix.shape[1], MOST)
    prior = key_prior(matrix[:, some], by._replace(key=by.key[some]))
    if votes is None:
        return Doubt(key_evidence(matrix, by, prior), prior.share)
    evidence = key_evidence(matrix, by, prior.below_one()) + votes_evidence(votes)
    return Doubt(evidence, prior.share)


class KeyPrior(NamedTuple):
    """What a table says of its samples as a whole: curves, and how often keys are reversed."""

    log_curves: Floats
    hits: Floats
    log_hits: Floats
    share: float  # of reversed keys

    def below_one(self) -> "KeyPrior":
        """Without the keys that everybody hits who does not know."""
        rest = self.log_hits[1:]
        return self._replace(hits=self.hits[1:], log_hits=rest - logsumexp(rest))


def key_prior(matrix: Floats, by: JudgedBy) -> KeyPrior:
    """The curves and shares of the highest likelihood of samples [learners, samples]."""
    equal = by._replace(weight=np.ones(len(matrix)))
    blocks = [part[1:] for part in _likelihoods(matrix, equal, HITS)]
    curves, shares = _fitted(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
    with np.errstate(divide="ignore"):
        log_curves, log_hits = np.log(curves), np.log(shares[1:, None] / shares[1:].sum())
    return KeyPrior(log_curves, HITS, log_hits, float(shares[1:].sum()))


def key_evidence(matrix: Floats, by: JudgedBy, prior: KeyPrior) -> Floats:
    """log₁₀ of the likelihood ratio of right and wrong of each sample."""
    evidence = np.zeros(matrix.shape[1])
    for samples, clean, reversed_ in _likelihoods(matrix, by, prior.hits):
        against = logsumexp(reversed_ + prior.log_curves + prior.log_hits, axis=(1, 2))
        evidence[samples] = (against - logsumexp(clean + prior.log_curves, axis=1)) / np.log(10)
    return evidence


def _likelihoods(
    matrix: Floats, by: JudgedBy, hits: Floats
) -> Iterator[tuple[NDArray[np.intp], Floats, Floats]]:
    """Blocks of samples, their log likelihoods [samples, curves] and reversed [samples, hits, curves]."""
    a, b = (part.ravel() for part in np.meshgrid(SLOPES, DIFFICULTIES, indexing="ij"))
    for key, ability in enumerate(by.ability):
        own = np.flatnonzero(by.key == key)
        curve = sigmoid(a * (ability[:, None] - b))  # [learners, curves]
        chances = [LAPSE / 2 + (1 - LAPSE) * p for p in (curve, *(h * (1 - curve) for h in hits))]
        for start in range(0, len(own), BLOCK):
            part = own[start : start + BLOCK]
            x = matrix[:, part].T
            seen = by.weight * ~np.isnan(x)
            right = by.weight * np.nan_to_num(x)
            clean, *others = (right @ np.log(p) + (seen - right) @ np.log1p(-p) for p in chances)
            yield part, clean, np.stack(others, axis=1)


def _fitted(clean: Floats, reversed_: Floats) -> tuple[Floats, Floats]:
    """(weights of the curves, shares of right keys and of reversed ones by hit rate) after EM.

    One pseudo-sample with a right key spread over all curves keeps every weight positive, and Beta(1, 99)
    keeps the share of reversed keys small where nothing speaks for them.
    """
    n_hits, n_curves = reversed_.shape[1:]
    curves = np.full(n_curves, 1 / n_curves)
    shares = np.append(0.97, np.full(n_hits, 0.03 / n_hits))
    both = np.concatenate([clean[:, None], reversed_], axis=1)  # [samples, 1 + hits, curves]
    likelihood = np.exp(both - both.max(axis=(1, 2), keepdims=True))
    for _ in range(60):
        of_key = likelihood @ curves  # [samples, 1 + hits]
        weight = shares / (of_key @ shares)[:, None]
        curves = curves * np.einsum("sh,shk->k", weight, likelihood, optimize=True) + 1 / n_curves
        curves /= curves.sum()
        counts = (weight * of_key).sum(axis=0) + np.append(99.0, np.full(n_hits, 1 / n_hits))
        shares = counts / counts.sum()
    return curves, shares


def worth(matrix: Floats) -> Floats:
    """How far each learner is right where others are, from 0 to 1: r with their mean response, r ≥ 0, by the
    largest r. The vote of one that guesses is worth nothing."""
    seen = ~np.isnan(matrix)
    x = np.where(seen, matrix, 0.0)
    n, total = seen.sum(axis=0) - seen, x.sum(axis=0) - x
    both = seen & (n > 0)
    others = np.where(both, total / np.maximum(n, 1), 0.0)
    count = np.maximum(both.sum(axis=1), 1)
    off = [np.where(both, part - (part * both).sum(axis=1, keepdims=True) / count[:, None], 0.0)
           for part in (x, others)]  # fmt: skip
    product, first, second = (
        (p * q).sum(axis=1) for p, q in ((off[0], off[1]), (off[0],) * 2, (off[1],) * 2)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.maximum(np.nan_to_num(product / np.sqrt(first * second)), 0.0)
    return np.asarray(r / r.max() if r.max() > 0 else np.ones(len(matrix)))


def votes_evidence(votes: Votes) -> Floats:
    """log₁₀ of the likelihood ratio of wrong answers, [samples]; 0 where only one is possible.

    With K wrong answers possible and vₒ votes for each, P(v) = Γ(A)/Γ(A + Σv) Π Γ(αₒ + vₒ)/Γ(αₒ), A = Σα
    (Pólya). Where the key is right every αₒ is c, of the highest likelihood over all samples: what attracts
    one attracts others. Where it is wrong one answer, any of the K, has α = TRUTH and the others share
    OTHERS; or, SCATTERED of the times, all have 1.
    """
    counts, total = votes.counts, np.bincount(votes.sample, votes.weight, votes.n_samples)
    failed = counts[counts > 0]
    most = int(np.quantile(failed, RARE_OPTIONS)) if len(failed) else 0
    if most < 2:
        return np.zeros(votes.n_samples)
    options = np.maximum(most, counts)

    def summed(values: Floats) -> Floats:
        return np.bincount(votes.sample, values, votes.n_samples)

    def risen(alpha: float) -> Floats:
        return np.asarray(gammaln(alpha + votes.weight) - gammaln(alpha))

    def alike(alpha: float) -> Floats:
        whole = options * alpha
        return np.asarray(gammaln(whole) - gammaln(whole + total) + summed(risen(alpha)))

    c = np.exp(minimize_scalar(lambda log_c: -alike(np.exp(log_c)).sum(), bounds=ATTRACTIONS).x)
    rest = OTHERS / (most - 1)
    whole = TRUTH + OTHERS
    others = gammaln(whole) - gammaln(whole + total) + summed(risen(rest))
    truth = np.log((summed(np.exp(risen(TRUTH) - risen(rest))) + options - counts) / options)
    wrong = np.logaddexp(others + truth + np.log(1 - SCATTERED), alike(1.0) + np.log(SCATTERED))
    return np.asarray((wrong - alike(float(c))) / np.log(10))
