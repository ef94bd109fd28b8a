"""Is it worth searching on? From the EPPs of the configurations tried so far (section 6 of the paper).

Configurations drawn at random are exchangeable. So before looking at their EPPs the next one is the
best of n + 1 with probability 1/(n + 1), whatever the distribution; the fitted distribution says
what these n EPPs add to that, and how much there is to gain.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from camilla.arrays import sigmoid
from camilla.errors import DataError, SettingError
from camilla.ranking.matches import Array

FEWEST = 20  # EPPs; with fewer there is no tail to fit
TAIL_SHARE = 0.25  # of the EPPs, from which the tail is fitted
SHAPES = (-0.3, 1.0)  # k from a heavy tail to a uniform one


class Search(NamedTuple):
    """What further random search may bring.

    Attributes
    ----------
    best : float
        EPP of the best configuration so far; shrunken when standard errors were given.
    p_next : float
        Probability that the next configuration is better, by the fitted tail.
    p_next_any : float
        The same for any distribution: 1 / (n + 1).
    p_within : float
        Probability that at least one within the budget is better.
    median_gain : float
        Median gain of EPP by the best of them, if one is better.
    p_win : float
        Probability that the next configuration wins a match against the best so far.

    Examples
    --------
    >>> tried = np.random.default_rng(1).normal(size=40)
    >>> search = camilla.worth_searching(tried, budget=20)
    >>> search.p_next < search.p_within
    True
    """

    best: float  # EPP of the best so far, shrunken when standard errors were given
    p_next: float  # the next configuration's EPP exceeds the best, by the fitted distribution
    p_next_any: float  # the same for any distribution: 1 / (n + 1)
    p_within: float  # at least one of the next `budget` does
    median_gain: float  # EPP gained by the best of them, if one does: the middle of what may happen
    p_win: float  # the next configuration wins a match against the best so far

    def line(self) -> str:
        """Returns what further search may bring, in a sentence.

        Returns
        -------
        str
            A sentence.

        Examples
        --------
        >>> tried = np.random.default_rng(1).normal(size=40)
        >>> search = camilla.worth_searching(tried, budget=20)
        >>> search.line()[:24]
        'the best so far has EPP '
        """
        return (
            f"the best so far has EPP {self.best:.2f}; further random configurations beat it with "
            f"probability {self.p_within:.2f}, then by {self.median_gain:.2f} of EPP (median)."
        )


def worth_searching(epp: ArrayLike, se: ArrayLike | None = None, *, budget: int = 1) -> Search:
    """Estimates the chance that further random configurations beat the best one so far.

    The upper quarter of the EPPs is fitted with a generalised Pareto tail (Pickands, 1975), averaged over its
    shape and scale, because a single best fit would promise too little. With standard errors, spread due to
    noise is removed first and the best is shrunk towards the mean, because the best of many noisy EPPs is
    partly luck.

    Parameters
    ----------
    epp : array
        EPPs of the configurations of one algorithm that were tried.
    se : array, optional
        Their standard errors.
    budget : int
        Number of further random configurations.

    Returns
    -------
    Search
        `best`, `p_next`, `p_next_any`, `p_within`, `median_gain`, `p_win`.

    Examples
    --------
    >>> tried = np.random.default_rng(0).normal(size=100)
    >>> 0.05 < camilla.worth_searching(tried, budget=20).p_within < 0.4
    True
    """
    values = np.sort(np.asarray(epp, np.float64))
    n = len(values)
    if n < FEWEST or not np.isfinite(values).all():
        raise DataError(
            f"got {n} EPPs, {int(np.isfinite(values).sum())} of them finite; at least {FEWEST} finite ones "
            "are needed to fit a tail. Try more configurations first."
        )
    if budget < 1:
        raise SettingError(f"budget is a number of configurations, 1 or more; got {budget}.")
    if np.ptp(values) == 0:
        raise DataError(f"all {n} EPPs are {values[0]:g}; there is no distribution to search in.")
    best = values[-1]
    if se is not None:
        values, best = _without_noise(values, np.asarray(se, np.float64))
    tail = _fit_tail(values)
    steps = np.linspace(0, 1, 60) ** 2 * 10 * (best - np.median(values))
    beyond = np.stack([tail.beyond(best + step) for step in steps])  # [steps, shapes]
    some = (1 - (1 - beyond) ** budget) @ tail.weight  # P(the best of the budget exceeds best + step)
    return Search(
        best=float(best),
        p_next=float(beyond[0] @ tail.weight),
        p_next_any=1 / (n + 1),
        p_within=float(some[0]),
        median_gain=float(np.interp(-some[0] / 2, -some, steps)),
        p_win=float(np.mean(sigmoid(values - best))),
    )


def algorithm_of(player: str) -> str:
    """`gbm_1305` is a configuration of `gbm`: the name without its trailing number."""
    return re.sub(r"[-_. ]?\d+$", "", player) or player


def search_by_algorithm(
    players: Sequence[str], epp: Array, se: Array | None, *, budget: int
) -> dict[str, Search]:
    """`worth_searching` for each algorithm of which enough numbered configurations were tried."""
    groups: dict[str, list[int]] = {}
    for i, player in enumerate(players):
        groups.setdefault(algorithm_of(player), []).append(i)
    found = {
        name: worth_searching(epp[rows], None if se is None else se[rows], budget=budget)
        for name, rows in groups.items()
        if len(rows) >= FEWEST and np.ptp(epp[rows]) > 0
    }
    if not found:
        raise DataError(
            f"no algorithm has {FEWEST} configurations: players are to be named like gbm_1, gbm_2. "
            f"The largest group has {max(map(len, groups.values()))}."
        )
    return found


class _Tail(NamedTuple):
    """P(X > x) = share · (1 − k(x − threshold)/scale)^{1/k}, over a grid of weighted (k, scale)."""

    threshold: float
    share: float  # of the distribution beyond the threshold
    k: Array  # [shapes]; > 0: a ceiling, < 0: heavier than exponential
    scale: Array  # [shapes]
    weight: Array  # [shapes], sum 1

    def beyond(self, x: float) -> Array:
        inside = np.maximum(1 - self.k * (x - self.threshold) / self.scale, 0.0)
        return np.asarray(self.share * inside ** (1 / self.k))


def _fit_tail(values: Array) -> _Tail:
    """Generalised Pareto excesses over an order statistic, flat in k and log scale."""
    n_tail = max(int(TAIL_SHARE * len(values)), 10)
    threshold = values[-n_tail - 1]
    excess = values[-n_tail:] - threshold
    shape = np.linspace(*SHAPES, 41)  # steps of 0.0325 pass over k = 0, where the formula is a limit
    size = np.log(excess.mean()) + np.linspace(-1.5, 1.5, 61)
    k, scale = (grid.ravel() for grid in np.meshgrid(shape, np.exp(size)))
    inside = 1 - k * excess[:, None] / scale  # [tail, shapes]
    possible = (inside > 0).all(axis=0)
    logs = np.log(np.where(inside > 0, inside, 1.0)).sum(axis=0)
    likelihood = np.where(possible, -n_tail * np.log(scale) + (1 / k - 1) * logs, -np.inf)
    weight = np.exp(likelihood - likelihood.max())
    share = (n_tail + 1) / (len(values) + 1)
    return _Tail(float(threshold), share, k, scale, weight / weight.sum())


def _without_noise(values: Array, se: Array) -> tuple[Array, float]:
    if se.shape != values.shape or not (se >= 0).all():
        raise DataError(
            f"got {se.size} standard errors for {values.size} EPPs; expected one each, 0 or more."
        )
    mean, noise = values.mean(), float(np.mean(se**2))
    true_share = max(1 - noise / values.var(ddof=1), 0.0)
    return mean + np.sqrt(true_share) * (values - mean), float(mean + true_share * (values[-1] - mean))
