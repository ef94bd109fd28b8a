"""Which samples to look at, decided here once: `items`, the report and its browser page only show it.

The judge is a 2PL. Doubtful keys are found by likelihood ratios, negative discriminations by false discovery
control and a profile-likelihood interval, noise by such an interval too, twins by their residuals. Learners
that answer alike count as one.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.display import counted, percent
from camilla.samples.answers import Answers
from camilla.samples.evidence import Doubt, JudgedBy, doubt
from camilla.samples.texts import TextFaults
from camilla.samples.twins import NO_TWINS, Twins
from camilla.statistics.discrimination import DiscriminationCurves, discrimination_ends
from camilla.statistics.intervals import LEVEL, Ends
from camilla.statistics.items import MeanSquares, learner_weights, mean_squares
from camilla.statistics.multiplicity import benjamini_hochberg
from camilla.statistics.wald import below_zero_p
from camilla.table.cells import zero_or_one

FEWEST_LEARNERS = 3
RATE = 0.05  # share of false flags accepted, of negative discriminations and twins
FLAT, FLAT_LEVEL = 0.5, 0.99  # of the median discrimination: what lies surely below it is noise
DECISIVE = 2.5  # log₁₀ of a likelihood ratio: a sound sample in 1,000 has more (docs/results/broken.md)
MOST_REVERSED = (
    0.1  # share of samples that look as if their key were wrong; more is a habit or a second ability
)

# In the order in which a benchmark owner should look.
FLAGS = {
    "keys differ": "keys differ: another file, or a copy of it, has another key",
    "not an option": "not an option: its key is none of its options",
    "doubtful": "doubtful: what learners answer is far likelier if its key is wrong, or its text is unclear, "
    "than if it is right",
    "negative": "negative discrimination: strong learners fail it more often than weak ones",
    "everyone wrong": "nobody solved it",
    "noisy": "noisy: hardly separates strong from weak learners, whatever the others do",
    "twin": "twin: learners respond to it nearly as to another sample",
    "duplicate": "duplicate: its text and options are those of another sample",
    "everyone right": "everybody solved it: it does not distinguish learners",
}
FAULTY = ("keys differ", "not an option")  # the flags of samples that are broken by their text
CONTRADICTING = (*FAULTY, "doubtful", "negative")  # the flags of samples that contradict the able learners


def too_few_learners(n_learners: int) -> str | None:
    """Why samples cannot be judged, if they cannot."""
    if n_learners >= FEWEST_LEARNERS:
        return None
    return (
        f"the table has {counted(n_learners, 'learner')}; samples are judged by how learners differ on "
        "them, which takes at least three learners and says little with fewer than twenty."
    )


class JudgingFit(NamedTuple):
    """Fitted 2PLs, and the responses they are to judge: [learners, samples], NaN where missing.

    Where the samples' keys are known each key has its 2PL; else there is one.
    """

    matrix: Floats
    predicted: Floats  # [learners, samples], expected responses
    ability: Floats  # [keys, learners], standardised
    key: NDArray[np.intp]  # [samples], row of `ability`
    curves: tuple[DiscriminationCurves, ...]  # of each key, over its samples
    discrimination: Floats  # [samples]
    discrimination_se: Floats
    dispersion: Floats  # [keys], of fractional responses and means of trials; 1 of right/wrong ones
    weight: Floats  # [learners], how much each counts beside those that answer like it

    @property
    def is_binary(self) -> bool:
        return bool(zero_or_one(self.matrix[~np.isnan(self.matrix)]).all())

    @property
    def n_independent(self) -> float:
        """How many learners there are when those that answer alike count once."""
        return float(self.weight.sum())

    @property
    def design_effect(self) -> float:
        """How many times as large variances are as with independent learners."""
        return len(self.weight) / self.n_independent

    @property
    def little(self) -> float:
        """A discrimination that hardly tells learners apart, beside those of the other samples."""
        return FLAT * float(np.median(self.discrimination))

    def discrimination_ends(
        self,
        among: NDArray[np.bool_] | None = None,
        information: Floats | None = None,
        level: float = LEVEL,
    ) -> Ends:
        """Intervals by the responses alone, stretched to the 2PL's estimate where that lies outside.

        `information` of all samples, where this judges only some of them.
        """
        low, high = np.full((2, len(self.key)), np.nan)
        for key, curves in enumerate(self.curves):
            own = self.key == key
            low[own], high[own] = discrimination_ends(
                self.matrix[:, own],
                curves,
                dispersion=float(self.dispersion[key]) * self.design_effect,
                level=level,
                among=None if among is None else among[own],
                information=information,
            )
        return Ends(np.minimum(low, self.discrimination), np.maximum(high, self.discrimination))


class KeyFit(NamedTuple):
    """A 2PL, the samples that it judges, and their places among its own."""

    found: Diagnosis
    samples: NDArray[np.intp]
    places: NDArray[np.intp]


def judging_fit(*fits: KeyFit) -> JudgingFit:
    """2PLs' diagnoses as the arrays that flags are decided from."""
    n_samples = sum(len(fit.samples) for fit in fits)
    discrimination, spread, slope = np.full((3, n_samples), np.nan)
    key = np.zeros(n_samples, np.intp)
    matrices, chances, curves, dispersions = [], [], [], []
    for number, (found, samples, places) in enumerate(fits):
        readout, params = found.readout, found.params
        matrix, predicted = _responses(found), found.probabilities()
        plain = bool((found.cells.weight == 1).all())
        dispersions.append(readout.dispersion if plain else mean_dispersion(matrix, predicted))
        matrices.append(matrix if len(fits) == 1 else matrix[:, places])
        chances.append(predicted if len(fits) == 1 else predicted[:, places])
        slope[samples] = params.loading[places, 0]
        curves.append(DiscriminationCurves(params.ability[:, 0], slope[samples], params.intercept[places]))
        discrimination[samples] = readout.discrimination[places]
        if readout.discrimination_se is not None:
            spread[samples] = readout.discrimination_se[places]
        key[samples] = number
    back = np.argsort(np.concatenate([fit.samples for fit in fits]), kind="stable")
    matrix, predicted = (
        parts[0] if len(fits) == 1 else np.hstack(parts)[:, back] for parts in (matrices, chances)
    )
    # Under the hypothesis that keys are right: a negative slope explains nothing.
    weight = learner_weights(matrix, predicted, slope < 0)
    abilities = np.array([fit.found.readout.ability[:, 0] for fit in fits])
    return JudgingFit(
        matrix,
        predicted,
        abilities,
        key,
        tuple(curves),
        discrimination,
        spread,
        np.array(dispersions),
        weight,
    )


def _responses(found: Diagnosis) -> Floats:
    """[learners, samples], NaN where missing."""
    matrix = np.full((len(found.learner_names), len(found.sample_names)), np.nan)
    matrix[found.cells.learner, found.cells.sample] = found.cells.response
    return matrix


def mean_dispersion(matrix: Floats, predicted: Floats) -> float:
    """How far means of trials scatter: Pearson's χ² per degree of freedom of a 2PL, responses as they are."""
    n, fitted = int(np.sum(~np.isnan(matrix))), matrix.shape[0] + 2 * matrix.shape[1]
    p = np.clip(predicted, 1e-9, 1 - 1e-9)
    square = np.nansum((matrix - p) ** 2 / (p * (1 - p)))
    return float(square / (n - min(fitted, n // 2)))


class SampleFlags(NamedTuple):
    """`marks[flag]` says which samples have a flag; the numbers that decided it, [samples] each."""

    marks: dict[str, NDArray[np.bool_]]  # in the order of FLAGS; without "twin" where none was looked for
    doubt: Doubt
    negative_q: Floats  # false discovery rate
    fit: MeanSquares

    @property
    def only_ordered(self) -> str | None:
        """Why no sample is called doubtful, where too many look so."""
        if self.doubt.share <= MOST_REVERSED:
            return None
        return (
            f"The responses to {percent(round(self.doubt.share, 2))} of the samples look as if the key were "
            "wrong, which is too many for wrong keys: learners differ in a habit of answering or in a second "
            "ability. Samples are ordered by the evidence, and none is flagged as doubtful."
        )

    def names(self, sample: int) -> list[str]:
        """The flags of a sample, the worst first."""
        return [flag for flag, mark in self.marks.items() if mark[sample]]


def sample_flags(
    judge: JudgingFit,
    answers: Answers | None,
    pairs: Twins | None,
    texts: TextFaults | None = None,
    *,
    rate: float = RATE,
) -> SampleFlags:
    """What is odd about each sample.

    Doubtful: its responses and answers are three hundred times likelier under a wrong key, and by more than
    such samples are rare in the table. Negative: the false discovery rate of a discrimination below 0 is
    within `rate`, and the whole 95 % profile-likelihood interval is below 0. Noisy: the whole 99 % interval
    is below half of the pool's median discrimination. All count learners that answer alike once. `pairs` are
    the twins, or None where they were not looked for; `texts` what is wrong with texts.
    """
    matrix = judge.matrix
    votes = None if answers is None else answers.votes(matrix, judge.weight)
    against = doubt(matrix, JudgedBy(judge.ability, judge.key, judge.weight), votes)
    fit = mean_squares(matrix, judge.predicted)
    seen = ~np.isnan(matrix)
    answered, right, wrong = (np.asarray(part.any(axis=0)) for part in (seen, matrix > 0, matrix < 1))
    suspects = Suspects(against, fit, answered & ~right, answered & ~wrong)
    return decided(
        judge, suspects, pairs,
        lambda among, level: judge.discrimination_ends(among=among, level=level).high, texts, rate=rate,
    )  # fmt: skip


class Suspects(NamedTuple):
    """What flags are decided from, beside discriminations and their intervals: of all samples."""

    doubt: Doubt
    fit: MeanSquares
    nobody: NDArray[np.bool_]  # solved it
    everybody: NDArray[np.bool_]


def decided(
    judge: JudgingFit,
    suspects: Suspects,
    pairs: Twins | None,
    highest: Callable[[NDArray[np.bool_], float], Floats],
    texts: TextFaults | None = None,
    *,
    rate: float,
) -> SampleFlags:
    """The flags; of the judge only discriminations and learners are looked at.

    `highest`: upper ends of intervals of discriminations, of this level, at least of the samples asked for.
    """
    against = suspects.doubt
    spread = judge.discrimination_se * np.sqrt(judge.design_effect)
    negative_q = benjamini_hochberg(below_zero_p(judge.discrimination, spread))
    negative = negative_q <= rate
    negative &= highest(negative, LEVEL) < 0
    doubtful = (against.evidence >= max(DECISIVE, against.rarity)) & (against.share <= MOST_REVERSED)
    explained = doubtful | negative | suspects.nobody | suspects.everybody
    flat = ~explained & (judge.discrimination < judge.little)
    flat &= highest(flat, FLAT_LEVEL) < judge.little
    marks: dict[str, NDArray[np.bool_]] = {
        "doubtful": doubtful,
        "negative": negative,
        "everyone wrong": suspects.nobody,
        "noisy": flat,
        "twin": (NO_TWINS if pairs is None else pairs).is_twin,
        "everyone right": suspects.everybody,
    }
    if texts is not None:
        by_text = (texts.keys_differ, texts.not_an_option, texts.duplicate)
        marks |= dict(zip((*FAULTY, "duplicate"), by_text, strict=True))
    if pairs is None:
        del marks["twin"]
    looked_for = {flag: marks[flag] for flag in FLAGS if flag in marks}
    return SampleFlags(looked_for, against, negative_q, suspects.fit)
