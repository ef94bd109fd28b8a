"""Two learners on the same samples: the estimate, its interval, and the paired test, defined here once."""

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from camilla.arrays import Floats
from camilla.statistics.clusters import MeanSpread, spread_of
from camilla.statistics.intervals import NONE, Ends, student, tango, tango_score
from camilla.table.cells import zero_or_one
from camilla.table.responses import ResponseTable


class PairTest(NamedTuple):
    """A two-sided p-value, and the test it is of."""

    p_value: float
    method: str  # "exact McNemar", "Student's t over samples", "Student's t over clusters"


def mcnemar_p(lost: ArrayLike, won: ArrayLike) -> Floats:
    """Exact two-sided p of `won` against `lost` flips: min(1, 2 P(X ≤ fewer)), X ~ Binomial(both, ½)."""
    lost, won = np.asarray(lost, np.int64), np.asarray(won, np.int64)
    fewer, both = np.minimum(lost, won).ravel(), (lost + won).ravel()
    order = np.argsort(both, kind="stable")
    starts = np.flatnonzero(np.diff(both[order], prepend=-1))
    p = np.empty(len(both))
    for rows in np.split(order, starts[1:]):
        p[rows] = _two_sided(int(both[rows[0]]))[fewer[rows]]
    return p.reshape((lost + won).shape)


@lru_cache(maxsize=1)
def mcnemar_table(n: int) -> Floats:
    """`mcnemar_p` of every outcome with at most n flips: [fewer, both]."""
    table = np.ones((n // 2 + 1, n + 1))
    for both in range(n + 1):
        table[: both // 2 + 1, both] = _two_sided(both)
    return table


def _two_sided(both: int) -> Floats:
    """p for 0, 1, … both/2 fewer flips. NumPy alone: SciPy's binomial takes a fifth of a second to load."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, both + 1)))))  # log k!
    fewer = np.arange(both // 2 + 1)
    log_share = logs[both] - logs[fewer] - logs[both - fewer] - both * np.log(2)
    return np.minimum(1.0, 2 * np.cumsum(np.exp(log_share)))


def student_p(spread: MeanSpread) -> Floats:
    """Two-sided p of a mean of 0; 1 where it cannot be known.

    Where all units agree to the last digit there is no spread to judge by, and p is what their signs
    say: 2^(1 − units), or 1 if the mean is 0.
    """
    from scipy.special import stdtr  # here, because right/wrong responses do without

    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * stdtr(spread.df, -np.abs(spread.mean) / np.sqrt(spread.variance))
        signs = np.where(np.abs(spread.mean) < NONE, 1.0, np.exp2(1 - spread.units))
    return np.nan_to_num(np.where(spread.is_flat, signs, p), nan=1.0)


class PairedResponses(NamedTuple):
    """Mean responses of A and B on their shared samples, one entry per sample."""

    sample: NDArray[np.int64]  # index into the table's samples
    a: Floats
    b: Floats
    noise: Floats  # variance of b − a over trials; NaN where either has one trial
    group: NDArray[np.int64] | None  # cluster of each sample
    only_a: int  # samples that B has not answered
    only_b: int

    @property
    def difference(self) -> Floats:
        return self.b - self.a

    @property
    def is_binary(self) -> bool:
        return bool(zero_or_one(self.a).all() and zero_or_one(self.b).all())

    def take(self, rows: NDArray[np.bool_]) -> "PairedResponses":
        """The shared samples of this mask."""
        group = None if self.group is None else np.unique(self.group[rows], return_inverse=True)[1]
        return self._replace(
            sample=self.sample[rows], a=self.a[rows], b=self.b[rows], noise=self.noise[rows], group=group
        )


class Estimate(NamedTuple):
    """b − a over the shared samples."""

    n: int
    units: int  # clusters, or samples where there are none
    mean_a: float
    mean_b: float
    difference: float
    se: float  # NaN where it cannot be known
    low: float
    high: float
    df: float


class Noise(NamedTuple):
    """What repeated trials say: how much of the spread of differences is chance within samples."""

    share: float  # of the variance of a sample's difference, 0 to 1
    se_rerun: float  # standard error of the difference if the same samples were run again
    n: int  # samples that both learners answered more than once


def pair_of(table: ResponseTable, a: int, b: int) -> PairedResponses:
    """Each sample counts once: its response is the mean over trials."""
    mean_a, noise_a = _over_trials(table, a)
    mean_b, noise_b = _over_trials(table, b)
    shared = np.flatnonzero(~np.isnan(mean_a) & ~np.isnan(mean_b))
    group = None
    if table.cluster is not None:
        group = np.unique(np.array(table.cluster)[shared], return_inverse=True)[1]
    return PairedResponses(
        shared,
        mean_a[shared],
        mean_b[shared],
        (noise_a + noise_b)[shared],
        group,
        int(np.sum(~np.isnan(mean_a))) - len(shared),
        int(np.sum(~np.isnan(mean_b))) - len(shared),
    )


def _over_trials(table: ResponseTable, learner: int) -> tuple[Floats, Floats]:
    """Mean over trials of every sample, and that mean's variance, Σw(r − mean)² / (W(W − 1)).

    A row of weight 2 is the row twice, so that W, the total weight, is the number of trials.
    """
    cells = table.cells()
    own = cells.take(cells.learner == learner)
    mean, trials = np.full(table.n_samples, np.nan), np.zeros(table.n_samples)
    mean[own.sample], trials[own.sample] = own.response, own.weight
    rows = table.learner == learner
    sample, weight = table.sample[rows], np.ones(1) if table.weight is None else table.weight[rows]
    square = np.bincount(sample, weight * (table.response[rows] - mean[sample]) ** 2, table.n_samples)
    noise = np.full(table.n_samples, np.nan)
    np.divide(square, trials * (trials - 1), out=noise, where=trials > 1)
    return mean, noise


def estimate(pair: PairedResponses, level: float) -> Estimate:
    """The mean difference with a `level` interval.

    Right/wrong without clusters: Tango (1998). Else Student's t over samples or, with clusters, CR2.
    Where no unit differs from another the first is used, a unit counting as a sample. One cluster has none.
    """
    difference = pair.difference
    spread = spread_of(difference, pair.group)
    se = float(np.sqrt(spread.variance))
    if pair.group is None and pair.is_binary:
        ends = tango(np.sum(difference > 0), np.sum(difference < 0), len(difference), level)
    elif pair.group is not None and spread.units < 2:
        ends = Ends(np.array(np.nan), np.array(np.nan))
    else:
        ends = difference_ends(spread, level)
    return Estimate(
        n=len(difference),
        units=int(spread.units),
        mean_a=float(pair.a.mean()),
        mean_b=float(pair.b.mean()),
        difference=float(spread.mean),
        se=se,
        low=float(np.clip(ends.low, -1, 1)),
        high=float(np.clip(ends.high, -1, 1)),
        df=float(spread.df),
    )


def difference_ends(spread: MeanSpread, level: float) -> Ends:
    """Student's; Tango's where no unit differs from another, a unit counting as a sample."""
    ends = student(spread.mean, np.sqrt(spread.variance), spread.df, level)
    flat = spread.is_flat | (spread.units < 2)
    if not flat.any():
        return ends
    with np.errstate(invalid="ignore", divide="ignore"):
        ahead = spread.mean * spread.units
        by_units = tango(np.maximum(ahead, 0.0), np.maximum(-ahead, 0.0), spread.units, level)
    return Ends(*(np.where(flat, here, there) for here, there in zip(by_units, ends, strict=True)))


def paired_test(pair: PairedResponses) -> PairTest:
    """Whether two learners differ: what a paired test is, everywhere.

    Exact McNemar where both are right or wrong on every shared sample, without clusters; else Student's t
    over samples or, with clusters, CR2. `all_pairs.pair_tests` is the same for every pair of a board.
    """
    if pair.group is None and pair.is_binary:
        won, lost = (np.sum(side * pair.difference > 0) for side in (1, -1))
        return PairTest(float(mcnemar_p(lost, won)), "exact McNemar")
    p = float(student_p(spread_of(pair.difference, pair.group)))
    return PairTest(p, f"Student's t over {'samples' if pair.group is None else 'clusters'}")


def worse_by_p(pair: PairedResponses, allowed: float) -> float:
    """Two-sided p of B being exactly `allowed` below A; 0 allowed is `paired_test`.

    Right/wrong without clusters: the score test that Tango's interval inverts. Else Student's t.
    """
    if allowed == 0:
        return paired_test(pair).p_value
    if pair.group is None and pair.is_binary:
        won, lost = (float(np.sum(side * pair.difference > 0)) for side in (1, -1))
        score = float(tango_score(np.asarray(-allowed), won, lost, float(len(pair.difference))))
        return 2 * NormalDist().cdf(-abs(score))
    return float(student_p(spread_of(pair.difference + allowed, pair.group)))


def noise_of(pair: PairedResponses) -> Noise | None:
    """Trial noise, from samples that both answered several times; None if there are fewer than two.

    Of the variance v of their differences w is chance, at most all of it: share w/v, se_rerun √(w/n).
    """
    repeated = ~np.isnan(pair.noise)
    if repeated.sum() < 2:
        return None
    spread = float(np.var(pair.difference[repeated], ddof=1))
    within = min(float(pair.noise[repeated].mean()), spread)
    share = within / spread if spread > 0 else 0.0
    return Noise(share, float(np.sqrt(within / len(pair.a))), int(repeated.sum()))


class SplitEffect(NamedTuple):
    """b − a where a and b were chosen on other samples, and judged again for every split of the samples."""

    difference: float  # mean over splits
    low: float
    high: float
    p_value: float
    won: float  # samples on which b is ahead, mean over splits
    lost: float
    method: str


def over_splits(pairs: Sequence[PairedResponses], level: float) -> SplitEffect:
    """The median p-value, and the medians of the ends of intervals: what one split says, without its luck.

    Each split has a valid test and interval, whatever was chosen. The mean over splits varies less than one
    of them, so that the medians hold the truth at least as often as one does. No theorem says so: that is of
    twice the median p-value (Rüger, 1978). `docs/results/committees.md` has measured both.
    """
    effects, tests = [estimate(pair, level) for pair in pairs], [paired_test(pair) for pair in pairs]
    return SplitEffect(
        difference=float(np.mean([one.difference for one in effects])),
        low=float(np.median([one.low for one in effects])),
        high=float(np.median([one.high for one in effects])),
        p_value=float(np.median([test.p_value for test in tests])),
        won=float(np.mean([np.sum(pair.difference > 0) for pair in pairs])),
        lost=float(np.mean([np.sum(pair.difference < 0) for pair in pairs])),
        method=tests[0].method,
    )


# What a paired test comes to in one word, decided here for text, JSON, Markdown and the report.
Verdict = Literal["better", "worse", "probably better", "probably worse", "tied", "too few samples"]


def verdict_of(
    difference: float, p_value: float, low: float, high: float, *,
    units: float, level: float, adjusted_p: float | None = None, tests: int = 1,
) -> Verdict:  # fmt: skip
    """B against A; `units` are samples or clusters, `adjusted_p` is Holm's over `tests` tests.

    better, worse        the test, adjusted if there are several, rejects equality at 1 − level
    probably …           it does not, but the p-value alone would, or the unadjusted interval excludes 0
    too few samples      no outcome could have been significant: 2^(1 − units) ≥ (1 − level) / tests
    tied                 none of these
    """
    alpha = 1 - level
    if (p_value if adjusted_p is None else adjusted_p) < alpha:
        return "better" if difference > 0 else "worse"
    if low > 0 or (p_value < alpha and difference > 0):
        return "probably better"
    if high < 0 or (p_value < alpha and difference < 0):
        return "probably worse"
    return "too few samples" if 2.0 ** (1 - min(units, 1000)) >= alpha / tests else "tied"
