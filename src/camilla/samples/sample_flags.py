"""Which samples to look at, decided here once: `items`, the report and its browser page only show it.

The judge is a 2PL. Wrong keys are found by a mixture, negative discriminations by false discovery control
and a profile-likelihood interval, noise by infit, twins by their residuals.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from camilla.arrays import Floats
from camilla.samples.twins import Twins
from camilla.samples.wrong_keys import WrongKeys, wrong_keys
from camilla.statistics.discrimination import DiscriminationCurves, discrimination_ends
from camilla.statistics.intervals import Ends
from camilla.statistics.items import MeanSquares, mean_squares
from camilla.statistics.multiplicity import benjamini_hochberg
from camilla.statistics.wald import below_zero_p
from camilla.table.cells import zero_or_one

FEWEST_LEARNERS = 3
RATE = 0.05  # share of false flags accepted, of each kind
NOISY = 1.3  # infit above which a sample is too unpredictable to be useful (Wright and Linacre 1994)

# In the order in which a benchmark owner should look.
FLAGS = {
    "mislabelled": "probably mislabelled: it is solved as if its key were wrong, by those who know least",
    "negative": "negative discrimination: able learners fail it, and weaker ones do not",
    "everyone wrong": "nobody solved it",
    "noisy": "noisy: responses are more erratic than ability explains",
    "twin": "twin: its responses are nearly those of another sample",
    "everyone right": "everybody solved it: it tells no learner from another",
}
CONTRADICTING = ("mislabelled", "negative")  # the flags of samples that contradict the able learners


def too_few_learners(n_learners: int) -> str | None:
    """Why samples cannot be judged, if they cannot."""
    if n_learners >= FEWEST_LEARNERS:
        return None
    return (
        f"the table has {n_learners} learners; samples are judged by how learners differ on them, "
        "which takes three at least and says little below twenty."
    )


class JudgingFit(NamedTuple):
    """A fitted 2PL, and the responses it is to judge: [learners, samples], NaN where missing."""

    matrix: Floats
    predicted: Floats  # [learners, samples], expected responses
    ability: Floats  # [learners], standardised
    curves: DiscriminationCurves
    discrimination: Floats  # [samples]
    discrimination_se: Floats
    dispersion: float  # of fractional responses and means of trials; 1 of right/wrong ones

    @property
    def is_binary(self) -> bool:
        return bool(zero_or_one(self.matrix[~np.isnan(self.matrix)]).all())

    def discrimination_ends(self, among: NDArray[np.bool_] | None = None) -> Ends:
        """Intervals by the responses alone, stretched to the 2PL's estimate where that lies outside."""
        ends = discrimination_ends(self.matrix, self.curves, dispersion=self.dispersion, among=among)
        return Ends(np.minimum(ends.low, self.discrimination), np.maximum(ends.high, self.discrimination))


class SampleFlags(NamedTuple):
    """`marks[flag]` says which samples have a flag; the numbers that decided it, [samples] each."""

    marks: dict[str, NDArray[np.bool_]]  # in the order of FLAGS; without "twin" where none was looked for
    keys: WrongKeys
    negative_q: Floats  # false discovery rate
    noisy_q: Floats  # NaN unless responses are right or wrong
    fit: MeanSquares

    def names(self, sample: int) -> list[str]:
        """The flags of a sample, the worst first."""
        return [flag for flag, mark in self.marks.items() if mark[sample]]


def sample_flags(judge: JudgingFit, pairs: Twins | None, *, rate: float = RATE) -> SampleFlags:
    """What is odd about each sample, with at most `rate` of each kind of flag expected to be false.

    Negative: the false discovery rate of a discrimination below 0 is within `rate`, and the whole 95 %
    profile-likelihood interval is below 0. `pairs` are the twins, or None where they were not looked for.
    """
    matrix = judge.matrix
    keys = wrong_keys(matrix, judge.ability, rate=rate)
    fit = mean_squares(matrix, judge.predicted)
    negative_q = benjamini_hochberg(below_zero_p(judge.discrimination, judge.discrimination_se))
    noisy_q = benjamini_hochberg(ndtr(-fit.infit_z)) if judge.is_binary else np.full(len(negative_q), np.nan)
    negative = negative_q <= rate
    negative &= judge.discrimination_ends(among=negative).high < 0
    seen = ~np.isnan(matrix)
    answered, right, wrong = (np.asarray(part.any(axis=0)) for part in (seen, matrix > 0, matrix < 1))
    marks: dict[str, NDArray[np.bool_]] = {
        "mislabelled": keys.flagged,
        "negative": negative,
        "everyone wrong": answered & ~right,
        "noisy": (noisy_q <= rate) & (fit.infit > NOISY),
        "twin": np.zeros(len(negative), bool) if pairs is None else pairs.is_twin,
        "everyone right": answered & ~wrong,
    }
    looked_for = {flag: marks[flag] for flag in FLAGS if flag != "twin" or pairs is not None}
    return SampleFlags(looked_for, keys, negative_q, noisy_q, fit)
