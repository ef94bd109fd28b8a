"""Explanatory item response models: how strongly features explain factors, and what they say of new rows.

Difficulty, discrimination and ability are features times weights plus a residual (De Boeck and Wilson 2004;
Janssen, Schepers and Peres 2004). Weights are part of the mode (`feature_priors`). How strongly they are held
is chosen on samples, or learners, that were left out (`strengths`).
"""

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.fitting.factors import Bilinear, Factors, in_pool, placed_in_pool
from camilla.fitting.feature_priors import Held, Regressed, ridge_weights, smoother
from camilla.fitting.layout import Encoded, Layout, Size
from camilla.fitting.regression import Expansion
from camilla.fitting.strengths import (
    Column,
    Strength,
    columns_of,
    learner_lines,
    sample_lines,
    strengths_along,
)

D = TypeVar("D", bound=Any)


def uses_features(diagnoser: Any) -> bool:
    """Whether the table has features, and the diagnoser regresses its factors on them."""
    size = diagnoser.size
    some = size.sample_features is not None or size.learner_features is not None
    return some and diagnoser.training is None and bool(diagnoser.problem().explained)


def without_features(diagnoser: D) -> D:
    """The same where they are unknown; itself where it does not use them."""
    if not uses_features(diagnoser):
        return diagnoser
    return replace(diagnoser, size=replace(diagnoser.size, sample_features=None, learner_features=None))


class Design(NamedTuple):
    """Features in the directions in which fitted rows differ: the same ridge regression in fewer columns."""

    x: Floats  # [rows, directions]
    turn: Floats  # [columns, directions]
    block: NDArray[np.intp]

    @classmethod
    def of(cls, features: Encoded | None) -> "Design | None":
        """None where there are no features."""
        if features is None:
            return None
        _, d, vt = np.linalg.svd(features.columns, full_matrices=False)
        turn = vt[d > 1e-9 * d.max(initial=1e-9)].T
        return cls(features.columns @ turn, turn, features.block)


class Designs(NamedTuple):
    """Of samples and of learners."""

    samples: Design | None
    learners: Design | None

    @classmethod
    def of(cls, size: Size) -> "Designs":
        return cls(Design.of(size.sample_features), Design.of(size.learner_features))

    def centred(self, at: Factors) -> Factors:
        """With features of samples: abilities of mean 0, as the intercepts' own mean is free then."""
        at = Factors(at.ability, at.loading, at.intercept, at.guessing)
        if self.samples is None:
            return at
        mean = at.ability.mean(axis=0)
        return at._replace(ability=at.ability - mean, intercept=at.intercept + at.loading @ mean)


class Strengths(NamedTuple):
    """Of every column: intercept and loadings of samples, abilities of learners."""

    samples: tuple[Strength, ...]
    learners: tuple[Strength, ...]


def strengths_of(problem: Bilinear, designs: Designs, at: Factors, layout: Layout) -> Strengths:
    """Of all columns. Abilities that the prior ties have one penalty, the geometric mean of theirs."""
    of_samples, of_learners = columns_of(problem, at, layout)
    samples, learners = designs
    by_sample, by_learner = tuple[Strength, ...](), tuple[Strength, ...]()
    explained = problem.loading_mean != 0
    if samples is not None:
        lines = sample_lines(at, layout)
        by_sample = strengths_along(samples.x, of_samples, lines, np.append(True, explained))
    if learners is not None:
        by_learner = strengths_along(learners.x, of_learners, learner_lines(at, layout), explained)
    tied = np.count_nonzero(problem.ability_precision) > len(problem.ability_precision)
    if by_learner and tied:
        penalty = float(np.exp(np.mean([np.log(each.penalty) for each in by_learner])))
        by_learner = tuple(each._replace(penalty=penalty) for each in by_learner)
    return Strengths(by_sample, by_learner)


def held_by(problem: Bilinear, designs: Designs, strengths: Strengths, n_learners: int) -> Bilinear:
    """The problem with priors whose means features explain so strongly."""
    n_samples, n_dims = problem.free.shape
    intercept, loading = np.zeros((n_samples, 0)), (np.zeros((n_samples, 0)),) * n_dims
    ability = (np.zeros((n_learners, 0)),) * n_dims
    if designs.samples is not None:
        of_intercept, *of_loadings = strengths.samples
        x = designs.samples.x
        problem = problem._replace(intercept_precision=1 / of_intercept.variance)
        intercept = smoother(x, of_intercept.penalty * of_intercept.variance, constant=True)
        loading = tuple(
            smoother(x * problem.free[:, [k]], each.penalty / problem.loading_precision)
            for k, each in enumerate(of_loadings)
        )
    if designs.learners is not None:
        ability = tuple(smoother(designs.learners.x, each.penalty) for each in strengths.learners)
    return problem._replace(held=Held(intercept, loading, ability))


def regressed(
    problem: Bilinear, designs: Designs, strengths: Strengths, at: Factors, layout: Layout, *, place: bool
) -> Factors:
    """The factors at the mode, learners placed where `place` says so, and what features say of new rows."""
    of_samples, of_learners = columns_of(problem, at, layout)
    expected = None
    if designs.samples is not None:
        found = _of_samples(problem, designs.samples, strengths.samples, at, of_samples)
        at = at._replace(sample_regression=tuple(found), sample_basis=_basis(designs.samples))
    if designs.learners is not None:
        found = _of_learners(problem, designs.learners, strengths.learners, at, of_learners)
        expected = found.mean + designs.learners.x @ (designs.learners.turn.T @ found.weight)
        at = in_pool(at._replace(learner_regression=tuple(found), learner_basis=_basis(designs.learners)))
    return placed_in_pool(problem, at, layout, expected=expected) if place else at


def _of_samples(
    problem: Bilinear, design: Design, strengths: tuple[Strength, ...], at: Factors, columns: list[Column]
) -> Regressed:
    """Weights are those that the mode has: ridge regressions of its factors."""
    of_intercept, *of_loadings = strengths
    penalty = of_intercept.penalty * of_intercept.variance
    weights = [ridge_weights(design.x, penalty, at.intercept, constant=True)]
    for k, each in enumerate(of_loadings):
        free = problem.free[:, k]
        off = np.where(free, at.loading[:, k] - problem.loading_mean[k], 0)
        penalty = each.penalty / problem.loading_precision
        weights.append(ridge_weights(design.x * free[:, None], penalty, off))
    precision = np.append(problem.intercept_precision, np.full(len(of_loadings), problem.loading_precision))
    return _distribution(design, columns, strengths, np.column_stack(weights), precision)


def _of_learners(
    problem: Bilinear, design: Design, strengths: tuple[Strength, ...], at: Factors, columns: list[Column]
) -> Regressed:
    """Residuals are correlated as in the prior; where learners are placed, they vary as was estimated."""
    weights = [
        ridge_weights(design.x, each.penalty, column)
        for each, column in zip(strengths, at.ability.T, strict=True)
    ]
    precision = np.array([1 / each.variance if problem.standardise else 1.0 for each in strengths])
    like = np.linalg.inv(problem.ability_precision)
    return _distribution(design, columns, strengths, np.column_stack(weights), precision, like)


def _correlation(residual: Floats) -> Floats:
    """Of the columns, drawn to none as if so many more rows as there are columns showed none."""
    scale = np.sqrt((residual**2).sum(axis=0))
    unit = residual / np.where(scale > 0, scale, 1)
    n_rows, width = residual.shape
    shared = n_rows / (n_rows + width) * (unit.T @ unit)
    shared[np.diag_indices(width)] = 1
    return np.asarray(shared)


def _basis(design: Design) -> tuple[Floats, ...]:
    return Expansion((), design.block).arrays()


def _distribution(
    design: Design, columns: list[Column], strengths: tuple[Strength, ...], weights: Floats,
    precision: Floats, like: Floats | None = None,
) -> Regressed:  # fmt: skip
    """What is expected of a new row; `like` is the correlation of residuals, else taken from those fitted."""
    width, n_directions = len(columns), design.x.shape[1]
    mean, mean_error, residual = np.zeros(width), np.zeros(width), np.zeros((len(design.x), width))
    error, sd = np.zeros((1 + n_directions, width)), np.zeros(width)
    for k, (column, (penalty, variance)) in enumerate(zip(columns, strengths, strict=True)):
        weight = column.information / (1 + variance * column.information)
        if not weight.any():
            mean[k] = column.observed[0]  # no factor of this kind is free
            continue
        rest = column.observed - design.x @ weights[:, k]
        mean[k] = np.average(rest, weights=weight)
        mean_error[k], sd[k] = weight.sum() ** -0.5, variance**0.5
        residual[:, k] = np.sqrt(weight) * (rest - mean[k])
        error[:, k] = np.append(penalty, penalty + weight @ design.x**2) ** -0.5
    root = np.linalg.cholesky(_correlation(residual) if like is None else like).T * sd
    return Regressed(mean, mean_error, design.turn @ weights, design.turn, error, root, precision)
