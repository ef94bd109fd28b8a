"""How strongly features explain a column of factors, chosen on rows that were left out.

The penalty has the smallest exact leave-one-out error of a weighted ridge regression of what responses alone
say of each row's factor. The variance of residuals is what these errors show beyond the noise of responses
(Paule and Mandel 1982). Where rows have few responses, what they say is no normal distribution: there it is
taken from the mean and variance of the posterior, by adaptive Gauss–Hermite quadrature, as in
`statistics.row_levels`.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.fitting.factors import Bilinear, Factors, over_guessing
from camilla.fitting.laplace import curvature
from camilla.fitting.layout import BLOCK_CELLS, Layout
from camilla.statistics.ridge import Ridge, ridge_regression
from camilla.statistics.row_levels import MASSES, NODES

VARIANCES = (0.01, 25.0)  # that residuals may have
VARIANCE_STEPS = 30
FEW_RESPONSES = 50  # per row: below, quadrature
NOTHING = 1e9  # a penalty under which weights are 0
ROUNDS = 30  # of quadrature
SETTLED = 0.01  # relative change of a variance


class Column(NamedTuple):
    """One column of factors as its rows' responses alone tell it, the other columns held where they are."""

    observed: Floats  # [rows]
    information: Floats  # [rows], 0 where the factor is not free


class Strength(NamedTuple):
    """How one column of factors is explained."""

    penalty: float  # 1 / variance of a weight
    variance: float  # of the residuals


def columns_of(problem: Bilinear, at: Factors, layout: Layout) -> tuple[list[Column], list[Column]]:
    """Intercepts and loadings, and abilities: a Newton step from where they are, and its information."""
    slopes = layout.slopes(at.ability, at.loading, at.intercept, at.guessing)
    n_samples, n_dims = at.loading.shape
    of_samples, of_learners = np.empty((n_samples, 1 + n_dims)), np.zeros(at.ability.shape)
    square = np.column_stack([np.ones(len(at.ability)), at.ability**2])
    step = max(1, 16 * BLOCK_CELLS // layout.n_learners)
    for start in range(0, n_samples, step):
        rows = np.arange(start, min(n_samples, start + step))
        curve = curvature(at, layout, rows)
        of_samples[rows] = curve @ square
        of_learners += curve.T @ at.loading[rows] ** 2
    of_samples[:, 1:] *= problem.free
    value = np.column_stack([at.intercept, at.loading])
    slope = np.column_stack([slopes.intercept, slopes.loading])
    return _stepped(value, slope, of_samples), _stepped(at.ability, slopes.ability, of_learners)


def _stepped(value: Floats, slope: Floats, information: Floats) -> list[Column]:
    known = information > 1e-9
    observed = value - np.where(known, slope, 0) / np.where(known, information, 1)
    return [Column(*both) for both in zip(observed.T, (information * known).T, strict=True)]


class Line(NamedTuple):
    """The cells of all rows along one factor: logit = base + slope · factor."""

    row: NDArray[np.integer]
    base: Floats
    slope: Floats
    weight: Floats
    right: Floats
    guessing: Floats | None
    n_rows: int

    def moments(self, centre: Floats, variance: float, start: Column) -> tuple[Floats, Floats]:
        """Mean and variance of each row's factor, whose prior is N(centre, variance)."""
        spread = 1 / (start.information + 1 / variance)
        level = spread * (start.information * start.observed + centre / variance)
        nodes = level[:, None] + np.sqrt(spread)[:, None] * NODES
        density = np.log(MASSES) + NODES**2 / 2 - (nodes - centre[:, None]) ** 2 / (2 * variance)
        for place in range(len(NODES)):
            logit = self.base + self.slope * nodes[self.row, place]
            if self.guessing is not None:
                logit = over_guessing(logit, self.guessing)
            likelihood = self.right * logit - self.weight * np.logaddexp(0, logit)
            density[:, place] += np.bincount(self.row, likelihood, self.n_rows)
        share = np.exp(density - density.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        mean = (share * nodes).sum(axis=1)
        return mean, (share * (nodes - mean[:, None]) ** 2).sum(axis=1)


def sample_lines(at: Factors, layout: Layout) -> Iterator[Line]:
    """Along the intercept, then each loading."""
    slopes = np.column_stack([np.ones(len(at.ability)), at.ability])
    return _lines(at, layout, np.column_stack([at.intercept, at.loading]), slopes, of_samples=True)


def learner_lines(at: Factors, layout: Layout) -> Iterator[Line]:
    """Along each ability."""
    return _lines(at, layout, at.ability, at.loading, of_samples=False)


def _lines(
    at: Factors, layout: Layout, factors: Floats, slopes: Floats, *, of_samples: bool
) -> Iterator[Line]:
    """Along each column of `factors`, by which the logit moves as the same column of `slopes` says."""
    learner, sample, weight, right = layout.cells()
    row, column = (sample, learner) if of_samples else (learner, sample)
    logit = at.intercept[sample] + np.einsum("ck,ck->c", at.ability[learner], at.loading[sample])
    guessing = None if at.guessing is None else at.guessing[sample]
    for factor, slope in zip(factors.T, slopes.T, strict=True):
        by = slope[column]
        yield Line(row, logit - by * factor[row], by, weight, right, guessing, len(factors))


def strengths_along(
    x: Floats, columns: list[Column], lines: Iterable[Line], explained: NDArray[np.bool_]
) -> tuple[Strength, ...]:
    """Of each column, from the responses along its line where they are few.

    Features are not used for a column that is not `explained`: latent dimensions whose loadings have the
    prior mean 0 can be rotated into each other.
    """
    found = []
    for column, line, by_features in zip(columns, lines, explained, strict=True):
        strength = _strength(x if by_features else x[:, :0], column, line)
        found.append(strength if by_features else strength._replace(penalty=NOTHING))
    return tuple(found)


def _strength(x: Floats, column: Column, line: Line) -> Strength:
    free = column.information > 0
    if not free.any():
        return Strength(1.0, 1.0)
    found, variance = _ridge_and_variance(
        x[free], Column(column.observed[free], column.information[free]), 1.0
    )
    if len(line.row) >= FEW_RESPONSES * line.n_rows:
        return Strength(found.penalty, variance)
    estimate = column
    for _ in range(ROUNDS):
        centre = found.predict(x)
        mean, spread = line.moments(centre, variance, estimate)
        trust = np.clip(1 - spread / variance, 1e-6, 1 - 1e-6)
        information = np.where(free, trust / (variance * (1 - trust)), 0)
        estimate = Column(centre + (mean - centre) / trust, information)
        before = variance
        found, variance = _ridge_and_variance(
            x[free], Column(estimate.observed[free], information[free]), variance
        )
        if abs(variance - before) < SETTLED * before:
            break
    return Strength(found.penalty, variance)


def _ridge_and_variance(x: Floats, column: Column, variance: float) -> tuple[Ridge, float]:
    """The ridge regression with the smallest leave-one-out error, and the residuals' variance."""
    information = column.information
    for _ in range(VARIANCE_STEPS):
        weight = information / (1 + variance * information)
        found = ridge_regression(x, column.observed, weight, exact=True)
        expected = len(weight) / weight.sum()  # of variance + noise, in the mean by these weights
        before, variance = variance, float(np.clip(variance + found.spread - expected, *VARIANCES))
        if abs(variance - before) < 1e-3 * before:
            break
    return found, variance
