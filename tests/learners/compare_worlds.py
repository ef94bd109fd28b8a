"""Responses of two learners, A and B, whose true difference is known by formula."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import multinomial, norm

from camilla.arrays import Floats
from camilla.statistics.paired import PairedResponses

SIZES = (2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12)  # of clusters


class World(NamedTuple):
    """Many tables at once: responses [tables, samples], clusters of samples, the true B − A and mean of A."""

    a: Floats
    b: Floats
    group: NDArray[np.int64] | None
    difference: Floats | float  # a table, or the same for all
    mean_a: Floats | float

    def pairs(self) -> list[PairedResponses]:
        samples = np.arange(self.a.shape[1])
        unknown = np.full(len(samples), np.nan)
        return [
            PairedResponses(samples, a, b, unknown, self.group, 0, 0)
            for a, b in zip(self.a, self.b, strict=True)
        ]


def right_or_wrong(rng: np.random.Generator, tables: int, n: int = 200) -> World:
    """One draw a sample: both right .45, A alone .125, B alone .175, both wrong .25."""
    u = rng.random((tables, n))
    a = (u < 0.45) | ((u >= 0.45) & (u < 0.575))
    b = (u < 0.45) | ((u >= 0.575) & (u < 0.75))
    return World(a.astype(float), b.astype(float), None, 0.05, 0.575)


def few_flips(rng: np.random.Generator, tables: int, n: int) -> World:
    """Both right .6, A alone .01, B alone .04, both wrong .35."""
    u = rng.random((tables, n))
    return World((u < 0.61).astype(float), ((u < 0.6) | (u > 0.96)).astype(float), None, 0.03, 0.61)


def varied_flips(rng: np.random.Generator, tables: int, n: int = 200) -> World:
    """Rates of their own for each table: 2.5 to 50 flips expected, evenly on the logarithm, of which any
    share is B's; of the other samples both have .6 right."""
    flips = np.exp(rng.uniform(np.log(2.5), np.log(50), (tables, 1))) / n
    share = rng.random((tables, 1))
    both, lost, won = 0.6 * (1 - flips), flips * (1 - share), flips * share
    u = rng.random((tables, n))
    a, b = u < both + lost, (u < both) | (u > 1 - won)
    return World(a.astype(float), b.astype(float), None, (won - lost)[:, 0], (both + lost)[:, 0])


class Outcomes(NamedTuple):
    """Every outcome of n samples, one entry each, and how likely it is."""

    won: NDArray[np.int64]
    lost: NDArray[np.int64]
    chance: Floats
    difference: float


def outcomes(n: int, flips: float, lean: float) -> Outcomes:
    """With this many flips expected, of which a share of (1 + lean)/2 is B's; far more of them left out."""
    most = min(n, int(flips + 8 * np.sqrt(flips) + 8))
    won, lost = (part.ravel() for part in np.meshgrid(np.arange(most + 1), np.arange(most + 1)))
    won, lost = won[won + lost <= n], lost[won + lost <= n]
    up, down = flips / n * (1 + lean) / 2, flips / n * (1 - lean) / 2
    counts = np.column_stack([won, lost, n - won - lost])
    return Outcomes(won, lost, multinomial.pmf(counts, n, [up, down, 1 - up - down]), up - down)


def scores(rng: np.random.Generator, tables: int, n: int = 100) -> World:
    """a ~ Beta(2, 2), b = .7a + .3v with v ~ Beta(3, 2): means .5 and .35 + .18."""
    a = rng.beta(2, 2, (tables, n))
    return World(a, 0.7 * a + 0.3 * rng.beta(3, 2, (tables, n)), None, 0.03, 0.5)


def clustered(rng: np.random.Generator, tables: int, sizes: tuple[int, ...] = SIZES) -> World:
    """Gaussian copula with correlation .3 inside clusters; the same four outcomes as `right_or_wrong`."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(size=(tables, len(sizes)))[:, group]
    u = norm.cdf(np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=(tables, len(group))))
    a, b = u < 0.575, (u >= 0.125) & (u < 0.575) | (u > 0.825)
    return World(a.astype(float), b.astype(float), group, 0.05, 0.575)


def trials(rng: np.random.Generator, tables: int, n: int = 120, each: int = 3) -> World:
    """Right/wrong trials with pₐ ~ Beta(2, 2) a sample and p_b = pₐ + .1(1 − pₐ): difference .05."""
    p = rng.beta(2, 2, (tables, n))
    a = rng.binomial(each, p) / each
    b = rng.binomial(each, p + 0.1 * (1 - p)) / each
    return World(a, b, None, 0.05, 0.5)


WORLDS = {"right/wrong": right_or_wrong, "scores": scores, "clusters": clustered, "trials": trials}


class Board(NamedTuple):
    """12 learners who differ in nothing: each sample is as hard for all."""

    matrix: Floats
    group: NDArray[np.int64] | None


def equal_answers(rng: np.random.Generator) -> Board:
    return Board((rng.random((12, 100)) < rng.random(100)).astype(float), None)


def equal_scores(rng: np.random.Generator) -> Board:
    p = rng.random(100)
    return Board(rng.beta(2 * p + 0.1, 2 - 2 * p + 0.1, (12, 100)), None)


def equal_in_clusters(rng: np.random.Generator) -> Board:
    """A learner has moods: it does better or worse on a whole cluster."""
    group = np.repeat(np.arange(25), 4)
    own = rng.normal(size=(12, 25))[:, group] + rng.normal(size=(12, 100))
    return Board((own > rng.normal(size=100)).astype(float), group)


def equal_with_gaps(rng: np.random.Generator) -> Board:
    """Scores of which a third is missing, of some samples more than of others."""
    matrix = equal_scores(rng).matrix
    matrix[rng.random(matrix.shape) < np.linspace(0.1, 0.6, 100)] = np.nan
    return Board(matrix, None)


def equal_over_trials(rng: np.random.Generator) -> Board:
    """Means of three trials on 40 samples."""
    return Board(rng.binomial(3, rng.random(40), (12, 40)) / 3, None)


NULLS = {
    "right/wrong": equal_answers,
    "scores": equal_scores,
    "scores with gaps": equal_with_gaps,
    "3 trials of 40 samples": equal_over_trials,
    "clusters": equal_in_clusters,
}
