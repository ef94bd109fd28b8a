"""Samples of a table larger than memory judged stretch by stretch, with what `items` judges a table by.

The 2PL is fitted to the shards. What a stretch of samples needs to know of all others are totals of learners,
how much each learner counts, and how rare wrong keys are; these are taken first.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, one_blas_thread, sigmoid
from camilla.diagnosing_large import diagnose_shards
from camilla.diagnosis import Diagnosis
from camilla.fitting.shard_layout import ShardLayout
from camilla.samples.evidence import (
    MOST,
    Doubt,
    JudgedBy,
    KeyPrior,
    key_evidence,
    key_prior,
)
from camilla.samples.measures import SampleMeasures, contradicting, quarters
from camilla.samples.sample_flags import FLAT_LEVEL, JudgingFit, SampleFlags, Suspects, decided
from camilla.samples.twins import Twins, twins
from camilla.statistics.discrimination import DiscriminationCurves, ability_information
from camilla.statistics.intervals import Ends
from camilla.statistics.items import (
    MOST_RESIDUALS,
    ItemRest,
    LearnerTotals,
    MeanSquares,
    item_rest,
    learner_weights,
    mean_squares,
    spaced,
)
from camilla.table.shards import ShardFolder

BLOCK_CELLS = 4_000_000  # judged at once: a dozen arrays of them are held
GATHERED_CELLS = 40_000_000  # of samples that stand for all
TWIN_CELLS = 20_000_000  # cells of a table up to which twins are looked for


class ShardJudgement(NamedTuple):
    """What `items` shows of a table, [samples] each."""

    diagnosis: Diagnosis
    flags: SampleFlags
    measures: SampleMeasures
    judge: JudgingFit  # without responses
    able: Floats  # mean response of the ablest quarter of those who answered
    weak: Floats
    failing: NDArray[np.int64]  # learners
    failed: list[list[str]]
    solved: list[list[str]]
    twins: Twins | None
    matrix: Floats  # [learners, samples] where twins were looked for, else empty


class _Judge:
    """A fitted 2PL, and stretches of samples for it to judge."""

    def __init__(self, folder: ShardFolder, found: Diagnosis) -> None:
        self.layout, self.found = ShardLayout(folder.shards), found
        params, readout = found.params, found.readout
        self.ability, self.slope, self.intercept = (
            params.ability[:, 0],
            params.loading[:, 0],
            params.intercept,
        )
        n_samples = len(self.slope)
        spread = readout.discrimination_se
        self.discrimination, self.key = readout.discrimination, np.zeros(n_samples, np.intp)
        self.spread = np.full(n_samples, np.nan) if spread is None else spread
        self.weight = self._weights()

    def _weights(self) -> Floats:
        most = max(1, GATHERED_CELLS // self.layout.n_learners)
        some = spaced(len(self.slope), min(MOST_RESIDUALS, most))
        matrix = self.responses(some)
        return learner_weights(matrix, self.predicted(some), self.slope[some] < 0)

    def responses(self, samples: NDArray[np.intp]) -> Floats:
        """[learners, samples], NaN where missing."""
        weight, right = self.layout.block(samples)
        return np.where(weight > 0, right, np.nan).astype(np.float64).T

    def predicted(self, samples: NDArray[np.intp]) -> Floats:
        """Expected responses [learners, samples]."""
        logit = np.outer(self.ability, self.slope[samples]) + self.intercept[samples]
        return np.asarray(sigmoid(logit / self.found.temperature))

    def of(self, samples: NDArray[np.intp], *, responses: bool = True) -> JudgingFit:
        """The judge of some samples; without `responses` only of what the fit says."""
        none = np.empty((self.layout.n_learners, 0))
        curves = DiscriminationCurves(self.ability, self.slope[samples], self.intercept[samples])
        return JudgingFit(
            self.responses(samples) if responses else none, self.predicted(samples) if responses else none,
            self.found.readout.ability[:, 0][None], self.key[samples], (curves,),
            self.discrimination[samples], self.spread[samples],
            np.array([self.found.readout.dispersion]), self.weight,
        )  # fmt: skip

    def stretches(self) -> Iterator[NDArray[np.intp]]:
        step = max(1, BLOCK_CELLS // self.layout.n_learners)
        for start in range(0, len(self.slope), step):
            yield np.arange(start, min(start + step, len(self.slope)))

    def information(self) -> Floats:
        """What all samples say of each learner's ability."""
        total = np.zeros(self.layout.n_learners)
        for samples in self.stretches():
            judge = self.of(samples)
            total += ability_information(judge.matrix, judge.curves[0])
        return total

    def prior(self) -> KeyPrior:
        most = min(MOST, max(1, GATHERED_CELLS // self.layout.n_learners))
        judge = self.of(spaced(len(self.slope), most))
        return key_prior(judge.matrix, _judged_by(judge))


def _judged_by(judge: JudgingFit) -> JudgedBy:
    return JudgedBy(judge.ability, judge.key, judge.weight)


class _Stretch(NamedTuple):
    """What is known of a stretch of samples."""

    evidence: Floats
    fit: MeanSquares
    rest: ItemRest
    ends: Ends
    able: Floats
    weak: Floats
    failing: NDArray[np.int64]
    flat_high: Floats  # upper end of the discrimination's interval that noise is decided by


def judge_shards(folder: ShardFolder, *, rate: float, seed: int, watch: Watch) -> ShardJudgement:
    """Every sample's measures and flags, from three passes over the shards after the fit."""
    found = diagnose_shards(folder, "irt", watch, seed=seed)
    watch("what is odd about each sample")
    with one_blas_thread():
        return _judgement(folder, _Judge(folder, found), rate, watch)


def _judgement(folder: ShardFolder, judge: _Judge, rate: float, watch: Watch) -> ShardJudgement:
    totals, every = judge.layout.by_sample, np.arange(len(folder.samples))
    prior = judge.prior()
    of_learner = LearnerTotals(*judge.layout.by_learner)
    information, little = judge.information(), judge.of(every, responses=False).little
    parts: list[_Stretch] = []
    failed: list[list[str]] = []
    solved: list[list[str]] = []
    for samples in judge.stretches():
        watch(f"what is odd about each sample, {samples[0] + 1:,} of {len(every):,}")
        part = judge.of(samples)
        parts.append(_stretch(part, prior, of_learner, information, little))
        strong, weak = contradicting(part, folder.learners)
        failed += strong
        solved += weak
    whole = _joined(parts)
    matrix, pairs = np.empty((len(folder.learners), 0)), None
    if len(folder.learners) * len(every) <= TWIN_CELLS:
        matrix = judge.responses(every)
        pairs = twins(matrix, judge.predicted(every), rate=rate)
    against = Doubt(whole.evidence, prior.share)
    answered = totals.n > 0
    suspects = Suspects(
        against, whole.fit, answered & (totals.right == 0), answered & (totals.right == totals.n)
    )  # fmt: skip
    bare = judge.of(every, responses=False)

    def highest(_: NDArray[np.bool_], level: float) -> Floats:
        return whole.flat_high if level == FLAT_LEVEL else whole.ends.high

    flags = decided(bare, suspects, pairs, highest, rate=rate)
    measures = SampleMeasures(whole.rest, whole.ends)
    return ShardJudgement(
        judge.found,
        flags,
        measures,
        bare,
        whole.able,
        whole.weak,
        whole.failing,
        failed,
        solved,
        pairs,
        matrix,
    )


def _stretch(
    judge: JudgingFit, prior: KeyPrior, of_learner: LearnerTotals, information: Floats, little: float
) -> _Stretch:
    by = _judged_by(judge)
    able, weak = quarters(judge)
    return _Stretch(
        key_evidence(judge.matrix, by, prior),
        mean_squares(judge.matrix, judge.predicted),
        item_rest(judge.matrix, of_learner),
        judge.discrimination_ends(information=information),
        able,
        weak,
        (judge.matrix < 0.5).sum(axis=0),  # NaN is not
        judge.discrimination_ends(judge.discrimination < little, information, FLAT_LEVEL).high,
    )


def _joined(parts: list[_Stretch]) -> _Stretch:
    """All stretches one after the other."""

    def of(values: list[Any]) -> Any:
        first = values[0]
        if isinstance(first, np.ndarray):
            return np.concatenate(values)
        return type(first)(*map(of, map(list, zip(*values, strict=True))))

    whole: _Stretch = of(list(parts))
    return whole
