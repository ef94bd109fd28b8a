"""How many samples show a difference, and what difference samples can show. Floats only.

The difference of one sample varies with variance σ², of which a share s is chance within the sample.
k trials and clusters of m samples that correlate by ρ make a sample's worth

    σ² (1 − s + s/k) (1 + (m − 1) ρ)

Right/wrong responses, one trial, no clusters: the power of the exact McNemar test, summed over every
outcome; else that of the paired t-test (non-central t on n/m − 1 degrees of freedom).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrik, gammaln, stdtrit, xlog1py, xlogy

from camilla.errors import SettingError

MOST = 10**9  # samples; beyond it a difference counts as out of reach


@dataclass(frozen=True)
class Design:
    """How the paired difference of two learners varies from sample to sample, and how samples are laid out.

    Give `discordance` for right/wrong responses, else `sd`.

    Parameters
    ----------
    discordance : float, optional
        Share of samples that exactly one of the two learners gets right. The variance of a sample's
        difference is then discordance − difference².
    sd : float, optional
        Standard deviation of a sample's difference, with one trial each.
    trial_share : float
        Share of the variance that is chance within a sample.
    trials : int
        Trials per sample.
    cluster_size : float
        Mean number of samples per cluster.
    icc : float
        Correlation of differences within a cluster.

    Raises
    ------
    SettingError
        A number is out of range, or not exactly one of `discordance` and `sd` was given.

    Examples
    --------
    >>> camilla.Design(sd=0.4, trials=4, trial_share=0.5).effect
    0.625
    """

    discordance: float | None = None
    sd: float | None = None
    trial_share: float = 0.0
    trials: int = 1
    cluster_size: float = 1.0
    icc: float = 0.0

    def __post_init__(self) -> None:
        if (self.discordance is None) == (self.sd is None):
            raise SettingError("give one of discordance (right/wrong responses) and sd (any), or a table.")
        ranges = {"discordance": (0, 1), "sd": (0, 2), "trial_share": (0, 1), "icc": (-1, 1)}
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if value is not None and not (low <= value <= high and value == value):
                raise SettingError(f"{name} must lie between {low} and {high}; got {value:g}.")
        if self.discordance == 0 or self.sd == 0:
            raise SettingError(
                "discordance and sd must be above 0; where nothing differs nothing can be shown."
            )
        if self.trials < 1 or self.cluster_size < 1:
            raise SettingError(
                f"trials and cluster_size are 1 at least; got {self.trials} and {self.cluster_size:g}."
            )

    @property
    def effect(self) -> float:
        """The factor by which trials and clusters change the variance. Below 1 fewer samples are needed."""
        return self.trial_effect * max(1 + (self.cluster_size - 1) * self.icc, 1e-9)

    @property
    def trial_effect(self) -> float:
        """The factor by which trials alone change the variance."""
        return 1 - self.trial_share + self.trial_share / self.trials

    @property
    def is_exact(self) -> bool:
        """Whether the power is that of the exact McNemar test."""
        return self.discordance is not None and self.trials == 1 and self.cluster_size == 1

    def variance(self, difference: float) -> float:
        """Returns the variance of a sample's difference in this layout.

        Parameters
        ----------
        difference : float
            The true difference of the two learners.

        Returns
        -------
        float
            The variance.

        Examples
        --------
        >>> camilla.Design(discordance=0.1).variance(0.1)
        0.09
        """
        if self.discordance is not None:
            return max(self.discordance - difference**2, 0) * self.effect
        return (self.sd or 0) ** 2 * self.effect


def power_of(design: Design, difference: float, n: int, *, alpha: float = 0.05) -> float:
    """P(two-sided test rejects) when the difference is real."""
    if design.is_exact:
        return _mcnemar_power(design.discordance or 0.0, difference, n, alpha)
    df = n / design.cluster_size - 1
    if df <= 0:
        return 0.0
    sigma = np.sqrt(design.variance(difference))
    if sigma == 0:
        return 1.0
    from scipy.stats import nct  # here, for it loads slowly; scipy.special's is NaN at shifts near 38

    shift, reach = abs(difference) * np.sqrt(n) / sigma, stdtrit(df, 1 - alpha / 2)
    return float(np.sum(nct.sf(reach, df, [shift, -shift])))


def _mcnemar_power(discordance: float, difference: float, n: int, alpha: float) -> float:
    """Σ_m P(m flips) P(exact p ≤ α | m), m within nine standard deviations of its mean."""
    middle, spread = n * discordance, 9 * np.sqrt(n * discordance * (1 - discordance)) + 1
    m = np.arange(max(0, int(middle - spread)), min(n, int(middle + spread)) + 1, dtype=np.float64)
    ways = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
    log = ways + xlogy(m, discordance) + xlog1py(n - m, -discordance)
    lean = min((discordance + abs(difference)) / (2 * discordance), 1.0)
    whole = m.astype(np.int64)
    last = np.floor(np.nan_to_num(bdtrik(alpha / 2, whole, 0.5), nan=-1.0) + 1e-9)
    last = np.where(bdtr(np.maximum(last, 0), whole, 0.5) * 2 <= alpha, last, -1)
    fewer = np.maximum(last, 0)
    reject = np.where(last < 0, 0.0, bdtr(fewer, whole, lean) + bdtr(fewer, whole, 1 - lean))
    return float(np.sum(np.exp(log) * reject))


def fewest(enough: Callable[[int], bool]) -> int | None:
    """The smallest number from 2 on that is enough, where every larger one is; None above MOST."""
    high = 2
    while not enough(high):
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def samples_for(design: Design, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The fewest samples that show `difference` with this power; None if no number does."""
    _check(power, alpha)
    most = design.discordance if design.discordance is not None else 1.0
    if not 0 < abs(difference) <= most:
        raise SettingError(
            f"a difference of {difference:g} is not between 0 and {most:g}, the most that can be."
        )

    def enough(n: int) -> bool:
        return power_of(design, difference, n, alpha=alpha) >= power

    return fewest(enough)


def difference_for(design: Design, n: int, *, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest difference that n samples show with this power; None if they show none."""
    _check(power, alpha)
    low, high = 0.0, design.discordance if design.discordance is not None else 1.0
    if power_of(design, high, n, alpha=alpha) < power:
        return None
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(design, middle, n, alpha=alpha) >= power else (middle, high)
    return high


def _check(power: float, alpha: float) -> None:
    if not (0 < alpha < power < 1):
        raise SettingError(f"expected 0 < alpha < power < 1; got alpha {alpha:g} and power {power:g}.")
