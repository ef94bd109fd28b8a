"""Two learners on the samples both answered: the difference, its interval, its test, its noise."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from camilla.compare.clusters import spread_of
from camilla.compare.sign_tests import SignTest, mcnemar_p, sign_flip
from camilla.data.responses import ResponseTable
from camilla.metrics.intervals import Ends, tango

Floats = NDArray[np.float64]


class Pair(NamedTuple):
    """Mean responses of A and B on their shared samples, one entry a sample."""

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
        return bool(np.isin(self.a, (0, 1)).all() and np.isin(self.b, (0, 1)).all())

    def take(self, rows: NDArray[np.bool_]) -> "Pair":
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


def pair_of(table: ResponseTable, a: int, b: int) -> Pair:
    """Each sample counts once: its response is the mean over trials."""
    mean_a, noise_a = _over_trials(table, a)
    mean_b, noise_b = _over_trials(table, b)
    shared = np.flatnonzero(~np.isnan(mean_a) & ~np.isnan(mean_b))
    group = None
    if table.cluster is not None:
        group = np.unique(np.array(table.cluster)[shared], return_inverse=True)[1]
    return Pair(
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


def estimate(pair: Pair, level: float) -> Estimate:
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
    elif spread.is_flat or spread.units < 2:
        ahead = float(spread.mean * spread.units)
        ends = tango(max(ahead, 0.0), max(-ahead, 0.0), spread.units, level)
    else:
        ends = student(spread.mean, np.sqrt(spread.variance), spread.df, level)
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


def student(mean: Floats, se: Floats, df: Floats, level: float) -> Ends:
    """mean ± t(df) · se."""
    half = stdtrit(df, 0.5 + level / 2) * se
    return Ends(mean - half, mean + half)


def tested(pair: Pair, seed: int) -> SignTest:
    """Exact McNemar where differences are −1, 0 or 1 and clusters none, else sign flips of whole clusters."""
    difference = pair.difference
    if pair.group is None and np.isin(difference, (-1, 0, 1)).all():
        return SignTest(float(mcnemar_p(np.sum(difference < 0), np.sum(difference > 0))), "exact McNemar")
    units = difference if pair.group is None else np.bincount(pair.group, difference).astype(np.float64)
    return sign_flip(units, seed=seed)


def noise_of(pair: Pair) -> Noise | None:
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
