"""How sure the strengths are, and how well they explain the matches. Arrays only.

All matches of one round share the same n scores, so matches are not independent; rounds are. The
default covariance is the round-cluster sandwich C V (Σ_r g_r g_rᵀ) V C · R/(R−1), read with Student's
t on R − 1 degrees of freedom. Where rounds come in clusters, clusters take their place.
`docs/design/epp-intervals.md` has the reasons and the coverage.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Watch, one_blas_thread, sigmoid
from camilla.errors import ConvergenceError
from camilla.parallel import in_order
from camilla.ranking.matches import Array, Record, WinMatrix
from camilla.ranking.solve import EppSolution, contrast_solver, log_likelihood, separated_groups, solve
from camilla.statistics.wald import chi_p_values

if TYPE_CHECKING:
    import polars as pl

    from camilla.ranking.plan import Plan
    from camilla.ranking.search import Search
    from camilla.ranking.teams import TeamBoard
    from camilla.statistics.ranks import Friedman


REPLICATES_AT_ONCE = 20  # of the bootstrap, in one process


@dataclass(frozen=True, eq=False)
class Spread:
    """The covariance of strengths: a matrix, or a factor F of one column per unit with covariance F Fᵀ.

    Where a prior holds separated players, `extra` and `diagonal` add E Eᵀ + C diag(δ) C, C = I − 11ᵀ/n.
    """

    matrix: Array | None = None
    factor: Array | None = None  # [players, units]
    extra: Array | None = None
    diagonal: Array | None = None

    def take(self, order: NDArray[np.int64]) -> "Spread":
        """The same with the players in another order."""
        square = None if self.matrix is None else self.matrix[np.ix_(order, order)]
        rows = (None if part is None else part[order] for part in (self.factor, self.extra, self.diagonal))
        return Spread(square, *rows)

    @property
    def variances(self) -> Array:
        if self.matrix is not None:
            return np.diag(self.matrix)
        total = np.zeros(len(self._factor))
        for part in (self._factor, self.extra):
            if part is not None:
                total += np.einsum("ij,ij->i", part, part)
        if self.diagonal is not None:
            n = len(total)
            total += self.diagonal * (1 - 2 / n) + self.diagonal.mean() / n
        return total

    def dense(self) -> Array:
        """The covariance as an n × n matrix."""
        if self.matrix is not None:
            return self.matrix
        covariance = self._factor @ self._factor.T
        if self.extra is not None:
            covariance += self.extra @ self.extra.T
        if self.diagonal is not None:
            covariance += _centred_scores(np.diag(self.diagonal))
        return covariance

    @property
    def samples(self) -> Array | None:
        """The factor where it is the whole covariance: players × units, each column one unit's say."""
        return self.factor if self.extra is None else None

    @property
    def _factor(self) -> Array:
        if self.factor is None:
            raise ValueError("a spread is a matrix or a factor")
        return self.factor


def fisher_covariance(matrix: WinMatrix, solution: EppSolution, prior: float) -> Array:
    """The inverse information: right only if every match were played in a round of its own."""
    n = len(solution.strength)
    covariance = _centred_scores(contrast_solver(matrix, solution, prior)(_centred_scores(np.eye(n))))
    return np.asarray(0.5 * (covariance + covariance.T))


def cluster_spread(record: Record, matrix: WinMatrix, solution: EppSolution, prior: float) -> Spread:
    """C V (Σ_u g_u g_uᵀ) V C · U/(U−1) over units u: honest whatever ties the matches of a unit together."""
    pushes = record.residuals(solution.strength)
    units = pushes.shape[1]
    solver = contrast_solver(matrix, solution, prior)
    correction = units / (units - 1)
    if isinstance(pushes, np.ndarray):
        influence = solver(pushes - pushes.mean(axis=1, keepdims=True))
        influence -= influence.mean(axis=0)
        return Spread(factor=np.ascontiguousarray(influence * np.sqrt(correction)))
    mean = np.asarray(pushes.mean(axis=1)).ravel()
    meat = (pushes @ pushes.T).toarray() - units * np.outer(mean, mean)
    covariance = _centred_scores(solver(solver(meat).T)) * correction
    return Spread(np.asarray(0.5 * (covariance + covariance.T)))


class Bootstrap(NamedTuple):
    """Covariance over resampled rounds, and how many replicates had separated players."""

    covariance: Array
    n_separated: int


def bootstrap_covariance(
    record: Record, solution: EppSolution, *, prior: float, replicates: int, seed: int, watch: Watch
) -> Bootstrap:
    """Draws R rounds with replacement, refits, and takes the covariance of the refits · R/(R−1).

    A replicate whose players are separated is fitted with the prior of one drawn match. Replicates are
    independent tasks; all of them draw from one stream, so that no number depends on where they run.
    """
    rng = np.random.default_rng(seed)
    n_rounds = record.n_units
    tasks = []
    for first in range(0, replicates, REPLICATES_AT_ONCE):
        count = min(REPLICATES_AT_ONCE, replicates - first)
        tasks.append((record, solution.strength, prior, deepcopy(rng), count))
        for _ in range(count):
            _drawn(rng, n_rounds)  # so that the next task goes on from there
    parts = in_order(
        _replicates, tasks, lambda done: watch(f"bootstrap: {done} of {len(tasks)} sets of replicates")
    )
    strengths = np.concatenate([part for part, _ in parts])
    covariance = np.atleast_2d(np.cov(strengths, rowvar=False)) * n_rounds / (n_rounds - 1)
    return Bootstrap(covariance, sum(separated for _, separated in parts))


def _drawn(rng: np.random.Generator, n_rounds: int) -> NDArray[np.int64]:
    """As many rounds as there are, with replacement."""
    return rng.integers(n_rounds, size=n_rounds)


def _replicates(
    record: Record, start: Array, prior: float, rng: np.random.Generator, count: int
) -> tuple[Array, int]:
    """Strengths of some replicates, and how many of them had separated players."""
    strengths, n_separated = np.empty((count, len(start))), 0
    with one_blas_thread():
        for replicate in range(count):
            matrix = record.count(np.bincount(_drawn(rng, record.n_units), minlength=record.n_units))
            separated = len(separated_groups(matrix)) > 1
            n_separated += separated
            strengths[replicate] = solve(matrix, prior=prior or float(separated), start=start).strength
    return strengths, n_separated


def _centred_scores(matrix: Array) -> Array:
    """C M C with C = I − 11ᵀ/n."""
    matrix = matrix - matrix.mean(axis=0)
    return np.asarray(matrix - matrix.mean(axis=1, keepdims=True))


def likelihood_ratio(matrix: WinMatrix, strength: Array, i: int, j: int, prior: float) -> float:
    """2(ℓ free − ℓ with b_i = b_j), the second fitted with i and j as one player."""
    keep = np.delete(np.arange(len(strength)), j)
    one = int(np.flatnonzero(keep == i)[0])
    merged = WinMatrix(*(_merge(part, i, j)[np.ix_(keep, keep)] for part in matrix))
    if not prior and len(separated_groups(merged)) > 1:
        raise ConvergenceError("the players other than the tested pair are separated; fit with prior=1.")
    alone = len(keep) == 1  # two players who are one have nobody to play
    equal = np.zeros(1) if alone else solve(merged, prior=prior, start=strength[keep]).strength
    restricted = np.insert(equal, j, equal[one])
    return max(2 * (log_likelihood(matrix, strength) - log_likelihood(matrix, restricted)), 0.0)


def _merge(part: Array, i: int, j: int) -> Array:
    part = part.copy()
    part[i] += part[j]
    part[:, i] += part[:, j]
    part[i, i] = 0.0
    return part


class PairTest(NamedTuple):
    """A test of two players; p-values are two-sided, for the hypothesis of equal strength.

    Attributes
    ----------
    player_a : str
        Name of the first player.
    player_b : str
        Name of the second player.
    difference : float
        EPP of the first less EPP of the second.
    se : float
        Standard error of the difference.
    p_win : float
        Probability that the first beats the second.
    p_win_low : float
        Lower end of its interval.
    p_win_high : float
        Upper end of its interval.
    wald : float
        Wald statistic.
    wald_p : float
        Its p-value.
    holm_p : float
        The Wald p-value, adjusted over all pairs of the board (Holm).
    lr : float or None
        Likelihood-ratio statistic; None where the board has no likelihood.
    lr_p : float or None
        Its p-value.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
    >>> test = board.test("a", "c")
    >>> test.player_a, test.p_win > 0.5
    ('a', True)
    """

    player_a: str
    player_b: str
    difference: float  # EPP of a less EPP of b
    se: float
    p_win: float  # probability that a beats b
    p_win_low: float
    p_win_high: float
    wald: float
    wald_p: float
    holm_p: float  # Wald p-value, adjusted over all pairs of the board
    lr: float | None  # None where the board has no likelihood of its own (compat)
    lr_p: float | None


class Findings(NamedTuple):
    """What was asked of a board beyond its rows."""

    tests: Sequence[PairTest] = ()
    p_value_rounds: float | None = None  # of the fit, with rounds as the independent units
    plan: "Plan | None" = None
    telling: "pl.DataFrame | None" = None  # rounds by how far they agree with the others
    friedman: "Friedman | None" = None  # mean ranks in the order of the board
    search: "Mapping[str, Search] | None" = None  # by algorithm
    teams: "TeamBoard | None" = None


NOTHING = Findings()


class GoodnessOfFit(NamedTuple):
    """Deviance of a leaderboard from the saturated model that gives each pair its own probability."""

    deviance: float
    df: int
    standardised: float  # (deviance − df) / √(2 df): comparable across sets of players; NaN if df = 0
    p_value: float  # χ² on df; NaN if df = 0


def goodness_of_fit(matrix: WinMatrix, strength: Array) -> GoodnessOfFit:
    """D = 2 Σ_{i<j} w_ij log(w_ij / m_ij p_ij) + w_ji log(w_ji / m_ij p_ji), each match counted once.

    df = pairs that met less n − 1: (n−1)(n−2)/2 when all have met. The paper's m(m−2) counts every
    match twice.
    """
    wins, played = matrix
    share = np.divide(wins, played, out=np.ones_like(wins), where=wins > 0)
    np.log(share, out=share)
    share *= wins
    saturated = float(share.sum())
    deviance = 2 * max(saturated - log_likelihood(matrix, strength), 0.0)
    df = int(np.count_nonzero(played)) // 2 - (len(strength) - 1)
    return fit_of(deviance, max(df, 0))


def fit_of(deviance: float, df: int) -> GoodnessOfFit:
    """The standardised deviance and p-value that belong to a deviance."""
    if df == 0:
        return GoodnessOfFit(deviance, 0, np.nan, np.nan)
    return GoodnessOfFit(
        deviance, df, float((deviance - df) / np.sqrt(2 * df)), float(chi_p_values(deviance, df=df))
    )


class PredictedWins(NamedTuple):
    """Observed and predicted win rates of every pair that met.

    Attributes
    ----------
    first : array
        Index of the first player of each pair.
    second : array
        Index of the second player of each pair.
    played : array
        Matches between the two.
    empirical : array
        Share of them that the first won.
    predicted : array
        Probability of winning by the model.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
    >>> board.predictions().played.tolist()
    [4.0, 4.0, 4.0]
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    played: Array
    empirical: Array
    predicted: Array


def empirical_and_predicted(matrix: WinMatrix, strength: Array) -> PredictedWins:
    """Empirical against predicted probability of winning for all pairs that met (Figure 5)."""
    first, second = np.nonzero(np.triu(matrix.played, 1))
    played = matrix.played[first, second]
    predicted = sigmoid(strength[first] - strength[second])
    return PredictedWins(
        first.astype(np.int64),
        second.astype(np.int64),
        played,
        matrix.wins[first, second] / played,
        predicted,
    )
