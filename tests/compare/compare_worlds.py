"""Responses of two learners, A and B, whose true difference is known by formula."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from camilla.compare.paired import Pair

Floats = NDArray[np.float64]
SIZES = (2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12)  # of clusters


class World(NamedTuple):
    """Many tables at once: responses [tables, samples], clusters of samples, the true B − A and mean of A."""

    a: Floats
    b: Floats
    group: NDArray[np.int64] | None
    difference: float
    mean_a: float

    def pairs(self) -> list[Pair]:
        samples = np.arange(self.a.shape[1])
        unknown = np.full(len(samples), np.nan)
        return [Pair(samples, a, b, unknown, self.group, 0, 0) for a, b in zip(self.a, self.b, strict=True)]


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
