"""Priors of factors whose means are features times weights, with the weights solved for or integrated out.

A column b of factors has the prior N(m + Xw, 1/λ), and its weights N(0, τ²). Whatever b is, the best w is a
ridge regression of b − m on X with the penalty 1/(λτ²). With this w put in, minus the log of the prior is
½ λ (b − m)'(I − H)(b − m), H = X (X'X + 1/(λτ²))⁻¹ X'. So the mode over b alone is the mode over b and w
together, and the search has no number more. It is also the prior with w integrated out: N(m, I/λ + τ² XX').
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from camilla.arrays import Floats


def smoother(x: Floats, penalty: float, *, constant: bool = False) -> Floats:
    """Q with QQ' = H, of a ridge regression on x; a constant beside the features has no penalty."""
    design, ridge = _design(x, penalty, constant=constant)
    root = np.linalg.cholesky(design.T @ design + np.diag(ridge))
    return np.asarray(solve_triangular(root, design.T, lower=True, check_finite=False).T)


def ridge_weights(x: Floats, penalty: float, target: Floats, *, constant: bool = False) -> Floats:
    """The weights of that regression, without the constant's."""
    design, ridge = _design(x, penalty, constant=constant)
    found = np.linalg.solve(design.T @ design + np.diag(ridge), design.T @ target)
    return np.asarray(found[1:] if constant else found)


def _design(x: Floats, penalty: float, *, constant: bool) -> tuple[Floats, Floats]:
    ridge = np.full(x.shape[1], penalty)
    return (np.column_stack([np.ones(len(x)), x]), np.append(0.0, ridge)) if constant else (x, ridge)


class Held(NamedTuple):
    """Q of every column of factors that is explained by features; no columns where there are no features."""

    intercept: Floats  # [samples, …]
    loading: tuple[Floats, ...]  # of each dimension: [samples, …], 0 where a loading is not free
    ability: tuple[Floats, ...]  # of each dimension: [learners, …]

    def explained(self, ability: Floats, loading: Floats, intercept: Floats) -> tuple[Floats, Floats, Floats]:
        """H of each column: what the features explain of it."""
        by_sample = [root @ (root.T @ column) for root, column in zip(self.loading, loading.T, strict=True)]
        by_learner = [root @ (root.T @ column) for root, column in zip(self.ability, ability.T, strict=True)]
        own = self.intercept @ (self.intercept.T @ intercept)
        return np.column_stack(by_learner), np.column_stack(by_sample), own

    def astype(self, kind: type[np.floating]) -> "Held":
        """The same in another precision."""
        return Held(
            self.intercept.astype(kind),
            tuple(one.astype(kind) for one in self.loading),
            tuple(one.astype(kind) for one in self.ability),
        )


class Regressed(NamedTuple):
    """The distribution of factors of new rows, given their features; arrays, and saved as such."""

    mean: Floats  # [factors], of a row whose features are all at their means
    mean_error: Floats  # [factors], its standard error
    weight: Floats  # [columns, factors]
    turn: Floats  # [columns, directions], orthonormal: the directions in which fitted rows differ
    error: Floats  # [1 + directions, factors]: standard errors of the weights outside these, then along each
    root: Floats  # [factors, factors]: residuals are standard normal numbers times it
    precision: Floats  # [factors], of the prior that the fit held residuals by

    def expected(self, x: Floats) -> Floats:
        """[rows, factors]"""
        return self.mean + x @ self.weight

    def drawn(self, x: Floats, shared: np.random.Generator, own: np.random.Generator) -> Floats:
        """A draw of [rows, factors]: weights, the same for all rows, from `shared`, residuals from `own`."""
        mean = self.mean + self.mean_error * shared.standard_normal(len(self.mean))
        free = shared.standard_normal(self.weight.shape)
        along = self.turn.T @ free
        weight = self.weight + self.error[0] * (free - self.turn @ along)
        weight += self.turn @ (self.error[1:] * along)
        return np.asarray(mean + x @ weight + own.standard_normal((len(x), len(mean))) @ self.root)
