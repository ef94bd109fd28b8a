"""Samples that the weak solve and the able miss, and what a person's verdicts say of them. Arrays only."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from camilla.arrays import Floats, rounded, sigmoid
from camilla.statistics.intervals import Z
from camilla.table.cells import zero_or_one

SLOPES = np.array([0.35, 0.7, 1.2, 2.0, 3.5, 6.0])  # a standard deviation of ability
DIFFICULTIES = np.linspace(-4.5, 4.5, 31)  # standard deviations of ability
HITS = np.array([1.0, 0.4, 0.12])  # how often a learner that does not know gives what a wrong key calls right
MOST = 4000  # samples that the shares and curves are estimated from
BLOCK = 2000  # samples judged at once
LAPSE = 0.01  # any learner may miss any sample, and hit any, for reasons of its own
RARE = 0.01  # share of reversed samples where nothing speaks for or against any
NEARLY_ALL = 1 - 1e-9  # the largest chance of equal responses that is told from 1


class JudgedBy(NamedTuple):
    """Who judges: abilities [keys, learners], which of them judges a sample, how much a learner counts."""

    ability: Floats
    key: NDArray[np.intp]  # [samples], row of `ability`
    weight: Floats  # [learners]


class Contrary(NamedTuple):
    """How strongly responses speak for a reversed key, and the share of samples that look so."""

    evidence: Floats  # [samples], log₁₀ of the likelihood ratio; NaN where all answered alike
    share: float

    @property
    def rarity(self) -> float:
        """log₁₀ of the odds against a sample's looking so."""
        return float(np.log10((1 - self.share) / self.share))


def contrary(matrix: Floats, by: JudgedBy) -> Contrary:
    """Log likelihood ratios of P(x = 1) = h(1 − σ(a(θ − b))) against P(x = 1) = σ(a(θ − b)), a > 0.

    `matrix` is [learners, samples], NaN where missing. The first curve is that of a key that is wrong, an
    exception or a trap: learners who know answer against it, and others hit it with probability h. The
    distribution of (a, b) over a grid and the share of reversed samples are those of the highest likelihood
    (EM, on at most MOST samples evenly taken, every learner counting alike); abilities are held fixed. In the
    ratio of a sample each learner's log likelihood is multiplied by its weight. Samples that all solve or all
    miss say nothing of who solves them: they are left out, and likelihoods are given that a sample is not one
    of them.
    """
    seen = ~np.isnan(matrix)
    varied = varied_samples(np.nansum(matrix, axis=0), seen.sum(axis=0))
    if not len(varied):
        return Contrary(np.full(matrix.shape[1], np.nan), RARE)
    binary = bool(zero_or_one(matrix[seen]).all())
    spaced = spaced_samples(varied, MOST)
    prior = contrary_prior(matrix[:, spaced], by._replace(key=by.key[spaced]), binary=binary)
    return Contrary(contrary_evidence(matrix, by, prior), prior.share)


def varied_samples(total: Floats, n: NDArray[np.number]) -> NDArray[np.intp]:
    """The samples that some solve and some miss, by the sum of their responses and how many there are."""
    return np.flatnonzero((total > 0) & (total < n))


def spaced_samples(samples: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most so many of these, evenly taken."""
    return samples[np.linspace(0, len(samples) - 1, min(len(samples), most)).round().astype(np.intp)]


class ContraryPrior(NamedTuple):
    """What a table says of its samples as a whole: curves, and how often keys are reversed."""

    log_curves: Floats
    log_hits: Floats
    share: float  # of reversed keys
    binary: bool


def contrary_prior(matrix: Floats, by: JudgedBy, *, binary: bool) -> ContraryPrior:
    """The curves and shares of the highest likelihood of samples [learners, samples] that vary."""
    equal = by._replace(weight=np.ones(len(matrix)))
    blocks = [part[1:] for part in _likelihoods(matrix, equal, np.arange(matrix.shape[1]), binary=binary)]
    curves, shares = _fitted(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
    with np.errstate(divide="ignore"):
        log_curves, log_hits = np.log(curves), np.log(shares[1:, None] / shares[1:].sum())
    return ContraryPrior(log_curves, log_hits, float(shares[1:].sum()), binary)


def contrary_evidence(matrix: Floats, by: JudgedBy, prior: ContraryPrior) -> Floats:
    """log₁₀ of the likelihood ratio of each sample; NaN where all answered alike."""
    varied = varied_samples(np.nansum(matrix, axis=0), (~np.isnan(matrix)).sum(axis=0))
    evidence = np.full(matrix.shape[1], np.nan)
    for samples, clean, reversed_ in _likelihoods(matrix, by, varied, binary=prior.binary):
        against = logsumexp(reversed_ + prior.log_curves + prior.log_hits, axis=(1, 2))
        evidence[samples] = (against - logsumexp(clean + prior.log_curves, axis=1)) / np.log(10)
    return evidence


def _likelihoods(
    matrix: Floats, by: JudgedBy, samples: NDArray[np.intp], *, binary: bool
) -> Iterator[tuple[NDArray[np.intp], Floats, Floats]]:
    """Blocks of samples, their log likelihoods [samples, curves] and reversed [samples, hits, curves]."""
    a, b = (part.ravel() for part in np.meshgrid(SLOPES, DIFFICULTIES, indexing="ij"))
    for key, ability in enumerate(by.ability):
        own = samples[by.key[samples] == key]
        curve = sigmoid(a * (ability[:, None] - b))  # [learners, curves]
        chances = [LAPSE / 2 + (1 - LAPSE) * p for p in (curve, *(h * (1 - curve) for h in HITS))]
        for start in range(0, len(own), BLOCK):
            part = own[start : start + BLOCK]
            x = matrix[:, part].T
            seen = by.weight * ~np.isnan(x)
            right = by.weight * np.nan_to_num(x)
            clean, *others = (_log_likelihood(p, right, seen, binary=binary) for p in chances)
            yield part, clean, np.stack(others, axis=1)


def _log_likelihood(p: Floats, right: Floats, seen: Floats, *, binary: bool) -> Floats:
    """[samples, curves], given that right/wrong responses to a sample are not all alike."""
    log_p, log_q = np.log(p), np.log1p(-p)
    value = right @ log_p + (seen - right) @ log_q
    if not binary:
        return value
    alike = np.exp(seen @ log_p) + np.exp(seen @ log_q)
    return value - np.log1p(-np.minimum(alike, NEARLY_ALL))


def _fitted(clean: Floats, reversed_: Floats) -> tuple[Floats, Floats]:
    """(weights of the curves, shares of right keys and of reversed ones by hit rate) after EM.

    One pseudo-sample with a right key spread over all curves keeps every weight positive, and Beta(1, 99)
    keeps the share of reversed keys small where nothing speaks for them.
    """
    n_curves = clean.shape[1]
    curves = np.full(n_curves, 1 / n_curves)
    shares = np.append(0.97, np.full(len(HITS), 0.03 / len(HITS)))
    both = np.concatenate([clean[:, None], reversed_], axis=1)  # [samples, 1 + hits, curves]
    likelihood = np.exp(both - both.max(axis=(1, 2), keepdims=True))
    for _ in range(60):
        of_key = likelihood @ curves  # [samples, 1 + hits]
        weight = shares / (of_key @ shares)[:, None]
        curves = curves * np.einsum("sh,shk->k", weight, likelihood, optimize=True) + 1 / n_curves
        curves /= curves.sum()
        counts = (weight * of_key).sum(axis=0) + np.append(99.0, np.full(len(HITS), 1 / len(HITS)))
        shares = counts / counts.sum()
    return curves, shares


class AblestFail(NamedTuple):
    """The learners that fail a sample before the first that solves it, the ablest first: [samples] each."""

    learners: NDArray[np.int64]  # how many
    weight: Floats  # as how many independent learners they count
    surprise: Floats  # −log of the chance of it if solving had nothing to do with ability


def ablest_fail(matrix: Floats, by: JudgedBy) -> AblestFail:
    """Chance (1 − m)ʷ, m the weighted mean response, w the weight of those who fail before one solves it."""
    n_samples = matrix.shape[1]
    count, weight = np.zeros(n_samples, np.int64), np.zeros(n_samples)
    for key, ability in enumerate(by.ability):
        every = np.flatnonzero(by.key == key)
        order = np.argsort(-rounded(ability), kind="stable")
        for start in range(0, len(every), BLOCK):
            own = every[start : start + BLOCK]
            x = matrix[np.ix_(order, own)]
            before = ~np.isnan(x) & (np.cumsum(x >= 0.5, axis=0) == 0)
            count[own], weight[own] = before.sum(axis=0), by.weight[order] @ before
    seen = by.weight @ ~np.isnan(matrix)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = by.weight @ np.nan_to_num(matrix) / seen
        surprise = -weight * np.log1p(-np.minimum(mean, NEARLY_ALL))
    return AblestFail(count, weight, np.nan_to_num(surprise))


# What is thought of verdicts before any is given, in log odds of an error.
BASE_SD = 2.0  # of a sample that nothing is known of, around even odds
SLOPE, SLOPE_SD = 0.3, 0.3  # that a tenfold likelihood ratio adds
GROUP_SD = 0.6  # between groups of samples: keys, tasks, skills
NEXT = 50  # samples whose share of errors is foretold


def filled(evidence: Floats, mean: Floats) -> Floats:
    """Evidence of all samples: one that nobody solved is like the hardest tenth of the others on average, one
    that everybody solved like the easiest tenth, and one that nobody answered like all."""
    varied = np.flatnonzero(~np.isnan(evidence))
    if not len(varied):
        return np.zeros(len(evidence))
    by_mean = evidence[varied[np.argsort(rounded(mean[varied]), kind="stable")]]
    tenth = max(len(varied) // 10, 1)
    alike = np.where(mean == 0, by_mean[:tenth].mean(), by_mean[-tenth:].mean())
    alike = np.where(np.isnan(mean), by_mean.mean(), alike)
    return np.where(np.isnan(evidence), alike, evidence)


class Recalibrated(NamedTuple):
    """Shares of errors expected by a person's verdicts."""

    share: Floats  # [samples], among samples like this one
    next: NDArray[np.intp]  # the samples to judge next, the likeliest errors first
    next_share: float
    next_low: float
    next_high: float


def recalibrated(evidence: Floats, groups: NDArray[np.bool_], verdict: Floats) -> Recalibrated:
    """Bayesian logistic regression of verdicts on evidence and groups, Laplace's approximation.

    `verdict` [samples] is 1 for an error, 0 for none, NaN where nobody looked; `groups` is [samples, groups].
    Chances are averaged over the posterior as MacKay (1992) does. The interval of the next samples' share
    holds what the regression leaves open and the luck of so few samples.
    """
    judged = np.flatnonzero(~np.isnan(verdict))
    base = np.full(len(evidence), BASE_SD)
    features = np.column_stack([base, SLOPE_SD * evidence, GROUP_SD * groups])
    known = features[judged].any(axis=0)
    own, rest = features[:, known], features[:, ~known]
    beta, precision = _posterior(own[judged], SLOPE * evidence[judged], verdict[judged])
    spread = own @ np.linalg.inv(np.linalg.cholesky(precision)).T
    variance = (spread**2).sum(axis=1) + (rest**2).sum(axis=1)
    shrunk = 1 / np.sqrt(1 + np.pi / 8 * variance)
    share = sigmoid(shrunk * (SLOPE * evidence + own @ beta))
    order = np.argsort(-rounded(share), kind="stable")
    following = order[np.isnan(verdict[order])][:NEXT]
    if not len(following):
        return Recalibrated(share, following, np.nan, np.nan, np.nan)
    p = share[following]
    slope = p * (1 - p) * shrunk[following]
    together = spread[following] @ spread[following].T + rest[following] @ rest[following].T
    np.fill_diagonal(together, 0)
    half = Z * float(np.sqrt(np.sum(p * (1 - p)) + slope @ together @ slope)) / len(p)
    mean = float(p.mean())
    return Recalibrated(share, following, mean, max(mean - half, 0.0), min(mean + half, 1.0))


def _posterior(x: Floats, offset: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Mode and precision of β ~ N(0, 1) in logit P(y = 1) = offset + xβ, by Newton's method, steps halved."""
    beta = np.zeros(x.shape[1])

    def loss(at: Floats) -> float:
        logit = offset + x @ at
        return float(np.sum(np.logaddexp(0, logit) - y * logit) + 0.5 * at @ at)

    value = loss(beta)
    for _ in range(100):
        p = sigmoid(offset + x @ beta)
        precision = (x.T * (p * (1 - p))) @ x + np.eye(len(beta))
        step = np.linalg.solve(precision, x.T @ (y - p) - beta)
        while loss(beta + step) > value + 1e-12:
            step = step / 2
        beta, value = beta + step, loss(beta + step)
        if np.abs(step).max() < 1e-9:
            break
    return beta, precision
