"""Which samples to look at, decided here once: `items`, the report and its browser page only show it.

The judge is a 2PL. Contrary samples are found by a mixture, negative discriminations by false discovery
control and a profile-likelihood interval, noise by infit, twins by their residuals. Learners that answer
alike count as one.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from camilla.arrays import Floats
from camilla.diagnosing import diagnose
from camilla.diagnosis import Diagnosis
from camilla.display import counted
from camilla.errors import DataError
from camilla.samples.contrary import Contrary, JudgedBy, contrary
from camilla.samples.twins import Twins, twins
from camilla.statistics.discrimination import DiscriminationCurves, discrimination_ends
from camilla.statistics.intervals import Ends
from camilla.statistics.items import MeanSquares, learner_weights, mean_squares
from camilla.statistics.multiplicity import benjamini_hochberg
from camilla.statistics.wald import below_zero_p
from camilla.table.cells import zero_or_one
from camilla.table.responses import ResponseTable

FEWEST_LEARNERS = 3
FEWEST_INDEPENDENT = 20  # learners that an accusation takes, those that answer alike counted once
RATE = 0.05  # share of false flags accepted, of negative discriminations, noise and twins
NOISY = 1.3  # infit above which a sample is too unpredictable to be useful (Wright and Linacre 1994)
DECISIVE = 2.0  # log₁₀ of a likelihood ratio that settles a question (Jeffreys 1961)

# In the order in which a benchmark owner should look.
FLAGS = {
    "contrary": "contrary: weak learners solve it, strong learners fail it; the key is wrong, or the sample "
    "is ambiguous or an exception",
    "negative": "negative discrimination: strong learners fail it more often than weak ones",
    "everyone wrong": "nobody solved it",
    "noisy": "noisy: responses are more erratic than ability explains",
    "twin": "twin: its responses are nearly those of another sample",
    "everyone right": "everybody solved it: it does not distinguish learners",
}
CONTRADICTING = ("contrary", "negative")  # the flags of samples that contradict the able learners


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

    def discrimination_ends(
        self, among: NDArray[np.bool_] | None = None, information: Floats | None = None
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
    contrary: Contrary
    negative_q: Floats  # false discovery rate
    noisy_q: Floats  # NaN unless responses are right or wrong
    fit: MeanSquares
    n_independent: float  # learners, those that answer alike counted once

    @property
    def only_ordered(self) -> str | None:
        """Why no sample is called contrary, where independent learners are too few."""
        if self.n_independent >= FEWEST_INDEPENDENT:
            return None
        return (
            f"The learners count as {self.n_independent:.0f} independent ones; flagging a sample as "
            f"contrary takes {FEWEST_INDEPENDENT}. Samples are ordered by how contrary they are, and none "
            "is flagged."
        )

    def names(self, sample: int) -> list[str]:
        """The flags of a sample, the worst first."""
        return [flag for flag, mark in self.marks.items() if mark[sample]]


def sample_flags(judge: JudgingFit, pairs: Twins | None, *, rate: float = RATE) -> SampleFlags:
    """What is odd about each sample.

    Contrary: its responses are a hundred times likelier under a reversed key, by more than such samples are
    rare in the table, and independent learners are enough to say so. Negative: the false discovery rate of a
    discrimination below 0 is within `rate`, and the whole 95 % profile-likelihood interval is below 0; both
    count learners that answer alike once. `pairs` are the twins, or None where they were not looked for.
    """
    matrix = judge.matrix
    against = contrary(matrix, JudgedBy(judge.ability, judge.key, judge.weight))
    fit = mean_squares(matrix, judge.predicted)
    seen = ~np.isnan(matrix)
    answered, right, wrong = (np.asarray(part.any(axis=0)) for part in (seen, matrix > 0, matrix < 1))
    suspects = Suspects(against, fit, answered & ~right, answered & ~wrong, judge.is_binary)
    return decided(
        judge, suspects, pairs, lambda among: judge.discrimination_ends(among=among).high, rate=rate
    )


class Suspects(NamedTuple):
    """What flags are decided from, beside discriminations and their intervals: of all samples."""

    contrary: Contrary
    fit: MeanSquares
    nobody: NDArray[np.bool_]  # solved it
    everybody: NDArray[np.bool_]
    is_binary: bool


def decided(
    judge: JudgingFit,
    suspects: Suspects,
    pairs: Twins | None,
    highest: Callable[[NDArray[np.bool_]], Floats],
    *,
    rate: float,
) -> SampleFlags:
    """The flags; of the judge only discriminations and learners are looked at.

    `highest`: upper ends of the intervals of discriminations, at least of the samples it is asked for.
    """
    against, fit = suspects.contrary, suspects.fit
    spread = judge.discrimination_se * np.sqrt(judge.design_effect)
    negative_q = benjamini_hochberg(below_zero_p(judge.discrimination, spread))
    noisy_q = (
        benjamini_hochberg(ndtr(-fit.infit_z)) if suspects.is_binary else np.full(len(negative_q), np.nan)
    )
    negative = negative_q <= rate
    negative &= highest(negative) < 0
    enough = judge.n_independent >= FEWEST_INDEPENDENT
    marks: dict[str, NDArray[np.bool_]] = {
        "contrary": (against.evidence >= max(DECISIVE, against.rarity)) & enough,
        "negative": negative,
        "everyone wrong": suspects.nobody,
        "noisy": (noisy_q <= rate) & (fit.infit > NOISY),
        "twin": np.zeros(len(negative), bool) if pairs is None else pairs.is_twin,
        "everyone right": suspects.everybody,
    }
    looked_for = {flag: marks[flag] for flag in FLAGS if flag != "twin" or pairs is not None}
    return SampleFlags(looked_for, against, negative_q, noisy_q, fit, judge.n_independent)


def flags_of_diagnosis(found: Diagnosis, *, look_for_twins: bool = True) -> SampleFlags:
    """The flags of `items` for a diagnosis' samples, in the order of its names.

    A 2PL judges them: the diagnosis itself if it is one, else one that is fitted as `items` does. Twins
    take a time that grows with the square of the samples. Raises DataError where learners are too few.
    """
    if few := too_few_learners(len(found.learner_names)):
        raise DataError(few)
    settings = found.provenance["settings"]
    is_2pl = found.provenance["diagnoser"] == "irt" and settings["form"] == "2pl"
    fitted = found if is_2pl and not found.provenance["combined"] else _judged_by_2pl(found)
    every = np.arange(len(fitted.sample_names))
    judge = judging_fit(KeyFit(fitted, every, every))
    return sample_flags(judge, twins(judge.matrix, judge.predicted, rate=RATE) if look_for_twins else None)


def _judged_by_2pl(found: Diagnosis) -> Diagnosis:
    """The 2PL of a diagnosis' responses; a cell of right/wrong trials is its right and its wrong ones."""
    cells, right = found.cells, found.cells.response
    learner, sample, response, weight = cells.learner, cells.sample, right, cells.weight
    if not found.provenance["fractional"]:
        learner, sample = np.tile(learner, 2), np.tile(sample, 2)
        response = np.repeat([1.0, 0.0], len(right))
        weight = np.concatenate([weight * right, weight * (1 - right)])
    rows = weight > 0
    table = ResponseTable(
        found.learner_names, found.sample_names, learner[rows], sample[rows], response[rows], weight[rows]
    )
    return diagnose(table, "irt", seed=found.provenance["seed"], across_blocks=True)
