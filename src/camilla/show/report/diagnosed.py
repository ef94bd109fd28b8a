"""What a reader asks of a diagnosis, as the page shows it: standing, pairs, strengths, flags, surprises."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.names import name_index
from camilla.samples.sample_flags import (
    CONTRADICTING,
    FLAGS,
    SampleFlags,
    flags_of_diagnosis,
    too_few_learners,
)
from camilla.show.report.packing import Bits, Rounded
from camilla.statistics.all_pairs import pair_ends, pair_tests
from camilla.statistics.intervals import LEVEL, Z
from camilla.statistics.wald import BoardStanding, board_standing, surely_not_zero
from camilla.table.cells import zero_or_one

MOST_SAMPLES = 50_000  # above, the page keeps KEPT of them and the rest lies beside it
KEPT = 20_000
MOST_EXPECTED = 1_500_000  # cells whose expected response the page carries
MOST_TWINNED = 10_000  # samples among which twins are looked for, in a second or two
MOST_PAIRED = 2000  # learners; above, the pairs alone would fill the memory of a small machine
MOST_SHOWN = 400  # learners whose paired counts go into the page
TOP = 12  # samples that name a latent skill


def standing(ability: Floats, se: Floats) -> BoardStanding | None:
    """None where errors are not known or learners are too many."""
    if not np.isfinite(se).all() or not 2 <= len(ability) <= MOST_PAIRED:
        return None
    return board_standing(ability, se, LEVEL)


class Paired(NamedTuple):
    """Two learners on the samples both answered, for every pair [row, column], row less column.

    Right/wrong responses are sent as counts, of which the page makes the same interval and p-value.
    """

    shared: NDArray[np.uint32]
    only: NDArray[np.uint32] | None  # samples that the row solved and the column did not
    difference: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    p: Floats | None = None


def paired(responses: Floats) -> Paired:
    """From responses [learners, samples], NaN where missing."""
    seen = np.isfinite(responses)
    shared = np.rint(seen.astype(np.float32) @ seen.T.astype(np.float32)).astype(np.uint32)
    if zero_or_one(responses[seen]).all():
        right = (responses == 1).astype(np.float32)
        wrong = (responses == 0).astype(np.float32)
        return Paired(shared, np.rint(right @ wrong.T).astype(np.uint32))
    tests, ends = pair_tests(responses, None), pair_ends(responses, LEVEL)
    return Paired(shared, None, tests.difference, ends.low, ends.high, tests.p_value)


class Strengths(NamedTuple):
    """How much better a learner is on a skill than its level elsewhere suggests, [learners, skills]."""

    difference: Floats
    se: Floats
    sure: NDArray[np.bool_]  # Holm over the learner's skills
    kind: str


def strengths(found: Diagnosis, expected: Floats | None, responses: Floats) -> Strengths | None:
    """(Aᵢₖ − Ā·ₖ) − (Aᵢ − Ā·) where skills have abilities of their own, else response less expectation.

    `expected` and `responses` are [learners, samples] in the order of the diagnosis' names.
    """
    mask = found.diagnoser.size.skill_mask
    if found.readout.skill_weight is not None and (found.readout.explicit or mask is None):
        if len(found.skill_names) < 2:
            return None
        weight = found.readout.skill_weight.mean(axis=0)
        contrast = np.eye(len(weight)) - weight  # rows: skill k less the whole
        own = found.readout.ability - found.readout.ability.mean(axis=0)
        difference = own @ contrast.T
        variance = np.einsum("nkl,sk,sl->ns", found.readout.covariance, contrast, contrast)
        kind = "ability on the skill less ability overall, both measured from the pool's mean"
        return _sure(difference, np.sqrt(np.maximum(variance, 0)), kind)
    if mask is None or expected is None:
        return None
    seen = np.isfinite(responses)
    needs = mask.astype(np.float64)
    count = seen @ needs
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(seen, responses - expected, 0) @ needs / count
        se = np.sqrt(np.where(seen, expected * (1 - expected), 0) @ needs) / count
    return _sure(difference, se, "mean response on the skill's samples less the expected one")


def _sure(difference: Floats, se: Floats, kind: str) -> Strengths:
    return Strengths(difference, se, surely_not_zero(difference, se, LEVEL), kind)


@dataclass(frozen=True, eq=False)
class Diagnosed:
    """A diagnosis with what a reader asks of it; arrays are [learners by rank, samples as given]."""

    name: str
    found: Diagnosis

    @cached_property
    def learners(self) -> list[str]:
        return self.found.learners["learner"].to_list()

    @cached_property
    def samples(self) -> list[str]:
        return self.found.samples["sample"].to_list()

    @cached_property
    def skills(self) -> list[str]:
        return self.found.skills["skill"].unique(maintain_order=True).to_list()

    @cached_property
    def order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Places of `learners` and `samples` in the diagnosis' own names."""
        return _places(self.learners, self.found.learner_names), _places(
            self.samples, self.found.sample_names
        )

    @cached_property
    def responses(self) -> Floats:
        """NaN where missing."""
        cells = self.found.cells
        matrix = np.full((len(self.learners), len(self.samples)), np.nan)
        matrix[cells.learner, cells.sample] = cells.response
        return matrix[np.ix_(*self.order)]

    @cached_property
    def binary(self) -> bool:
        """Whether every cell is right or wrong; the mean of several trials may be neither."""
        return bool(zero_or_one(self.found.cells.response).all())

    @cached_property
    def expected(self) -> Floats:
        return self.found.probabilities()[np.ix_(*self.order)]

    @cached_property
    def standing(self) -> BoardStanding | None:
        return standing(*(self.column("learners", name) for name in ("ability", "se")))

    @cached_property
    def why_not_judged(self) -> str | None:
        """Why no sample is flagged, where learners are too few to judge samples by."""
        return too_few_learners(len(self.learners))

    @cached_property
    def _decided(self) -> SampleFlags | None:
        if self.why_not_judged is not None:
            return None
        return flags_of_diagnosis(self.found, look_for_twins=len(self.samples) <= MOST_TWINNED)

    @cached_property
    def flags(self) -> dict[str, NDArray[np.bool_]]:
        """Which samples have which flag, as `camilla items` decides it; empty where nothing was judged."""
        decided = self._decided
        return {} if decided is None else {flag: mark[self.order[1]] for flag, mark in decided.marks.items()}

    @cached_property
    def contrary(self) -> Floats:
        """How strongly responses speak for a reversed key, log₁₀ of a likelihood ratio; NaN: not judged."""
        decided = self._decided
        if decided is None:
            return np.full(len(self.samples), np.nan)
        return decided.contrary.evidence[self.order[1]]

    @cached_property
    def only_ordered(self) -> str | None:
        """Why no sample is called contrary, where independent learners are too few."""
        return None if self._decided is None else self._decided.only_ordered

    @cached_property
    def strengths(self) -> Strengths | None:
        if len(self.skills) < 2:
            return None
        who, what = self.order
        back = np.argsort(who), np.argsort(what)
        found = strengths(self.found, self.expected[np.ix_(*back)], self.responses[np.ix_(*back)])
        if found is None:
            return None
        skill = _places(self.skills, self.found.skill_names)
        at = np.ix_(who, skill)
        return Strengths(found.difference[at], found.se[at], found.sure[at], found.kind)

    @cached_property
    def by_skill(self) -> dict[str, Floats]:
        """Every column of the skills frame as [learners, skills]."""
        who, skill = name_index(self.learners), name_index(self.skills)
        frame = self.found.skills.with_columns(
            pl.col("learner").replace_strict(who, return_dtype=pl.Int64),
            pl.col("skill").replace_strict(skill, return_dtype=pl.Int64),
        ).sort("learner", "skill")
        names = [name for name in frame.columns if name not in ("learner", "skill")]
        shape = len(who), len(skill)
        return {
            name: frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy().reshape(shape) for name in names
        }

    @cached_property
    def mask(self) -> NDArray[np.bool_] | None:
        """Which sample needs which skill: [samples, skills]; None without a skill map."""
        mask = self.found.diagnoser.size.skill_mask
        return (
            None
            if mask is None
            else mask[np.ix_(self.order[1], _places(self.skills, self.found.skill_names))]
        )

    @cached_property
    def suspects(self) -> NDArray[np.intp]:
        """Samples that contradict the able learners, the most suspicious first."""
        if not self.flags:
            return np.empty(0, np.intp)
        worth = np.flatnonzero(np.any([self.flags[flag] for flag in CONTRADICTING], axis=0))
        evidence = np.nan_to_num(self.contrary[worth], nan=-np.inf)
        return worth[np.argsort(-evidence, kind="stable")]

    @cached_property
    def kept(self) -> NDArray[np.intp]:
        """The samples whose rows the page carries: all, or flagged ones and every so many by accuracy."""
        m = len(self.samples)
        if m <= MOST_SAMPLES:
            return np.arange(m)
        first = self.suspects[: KEPT // 4]
        by_accuracy = np.argsort(self.column("samples", "accuracy"), kind="stable")
        rest = by_accuracy[~np.isin(by_accuracy, first)]
        spaced = rest[np.linspace(0, len(rest) - 1, KEPT - len(first)).round().astype(int)]
        return np.sort(np.concatenate([first, spaced]))

    def column(self, frame: str, name: str) -> Floats:
        """A column of the learners or samples frame, NaN where empty."""
        values: Floats = getattr(self.found, frame)[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return values


def section(of: Diagnosed) -> dict[str, Any]:
    """Everything the page shows of a diagnosis."""
    made = of.found.provenance
    return {
        "name": of.name,
        "provenance": made,
        "model": (type(of.found.diagnoser).__doc__ or "").split("\n\n")[0],
        "unit": of.found.readout.unit_scale,
        "binary": of.binary,
        "critical": Z,
        "latent": of.mask is None and of.found.readout.skill_weight is not None and len(of.skills) > 1,
        "learners": _learners(of),
        "skills": _skills(of),
        "samples": _samples(of),
        "pairs": _pairs(of),
        "surprises": _surprises(of),
    }


def _learners(of: Diagnosed) -> dict[str, Any]:
    columns = ("ability", "se", "low", "high", "accuracy", "accuracy_low", "accuracy_high", "n")
    place = of.standing
    return {
        "name": of.learners,
        **{name: of.column("learners", name) for name in columns},
        "ties": [] if place is None else place.ties,
        "rank_low": None if place is None else place.rank_low.astype(np.uint32),
        "rank_high": None if place is None else place.rank_high.astype(np.uint32),
    }


def _skills(of: Diagnosed) -> dict[str, Any]:
    columns = ("ability", "low", "high", "mastery", "accuracy", "accuracy_low", "accuracy_high", "n")
    strong = of.strengths
    return {
        "name": of.skills,
        "count": None if of.mask is None else of.mask.sum(axis=0).astype(np.uint32),
        **{name: Rounded(of.by_skill[name], 3) for name in columns},
        "strength": None
        if strong is None
        else {
            "difference": Rounded(strong.difference, 3),
            "se": Rounded(strong.se, 3),
            "sure": Bits(strong.sure),
            "kind": strong.kind,
        },
        "top": _top_samples(of),
    }


def _top_samples(of: Diagnosed) -> dict[str, Any] | None:
    """The samples that ask most of each latent skill."""
    weight = of.found.readout.skill_weight
    if of.mask is not None or weight is None or len(of.skills) < 2:
        return None
    kept = weight[of.order[1][of.kept]]
    top = np.argsort(-kept, axis=0, kind="stable")[:TOP].T  # [skills, TOP]
    return {"sample": top.astype(np.uint32), "weight": np.take_along_axis(kept.T, top, axis=1)}


def _samples(of: Diagnosed) -> dict[str, Any]:
    kept = of.kept
    digits = {"difficulty": 2, "difficulty_se": 2, "discrimination": 2, "discrimination_se": 2, "infit": 2,
              "outfit": 2, "expected": 3, "accuracy": 3, "guessing": 3}  # fmt: skip
    columns = {name: of.column("samples", name) for name in digits if name in of.found.samples.columns}
    low, high = (of.column("samples", f"discrimination_{end}") for end in ("low", "high"))
    unsure = (low <= 0) & (high >= 0)
    columns["difficulty"] = np.where(unsure, np.nan, columns["difficulty"])
    columns["difficulty_se"] = np.where(unsure, np.nan, columns["difficulty_se"])
    responses = of.responses.T[kept]  # [samples, learners]
    seen = np.isfinite(responses)
    shown_expected = not of.found.readout.counted and seen.size <= MOST_EXPECTED
    return {
        "total": len(of.samples),
        "suspects": len(of.suspects),
        "name": [of.samples[j] for j in kept],
        **{name: Rounded(values[kept], digits[name]) for name, values in columns.items()},
        "n": of.column("samples", "n")[kept].astype(np.uint32),
        "flags": {name: Bits(mark[kept]) for name, mark in of.flags.items()},
        "flag_totals": {name: int(mark.sum()) for name, mark in of.flags.items()},
        "flag_words": {name: FLAGS[name] for name in of.flags},
        "contradicting": list(CONTRADICTING),
        "not_judged": of.why_not_judged,
        "contrary": Rounded(of.contrary[kept], 2),
        "only_ordered": of.only_ordered,
        "needs": None if of.mask is None else Bits(of.mask[kept]),
        "seen": None if seen.all() else Bits(seen),
        "right": Bits(responses == 1)
        if of.binary
        else np.rint(np.where(seen, responses, 0) * 254).astype(np.uint8),
        "chance": np.rint(of.expected.T[kept] * 254).astype(np.uint8) if shown_expected else None,
    }


def _pairs(of: Diagnosed) -> dict[str, Any] | None:
    if len(of.learners) > MOST_SHOWN:
        return None
    found = paired(of.responses)
    if found.only is not None:
        most = int(found.shared.max())
        small = np.uint16 if most < 65536 else np.uint32
        complete = bool((found.shared == most).all())
        return {"shared": most if complete else found.shared.astype(small), "only": found.only.astype(small)}
    return found._asdict()


def _surprises(of: Diagnosed) -> dict[str, Any]:
    """Sample places are those of the page; the expected response has the ability's interval."""
    kept = of.kept
    found = surprises(of.expected[:, kept], of.responses[:, kept])
    out: dict[str, Any] = {}
    for kind, sample in found._asdict().items():
        who, rank = np.nonzero(sample >= 0)
        chance = of.found.chances(of.order[0][who], of.order[1][kept[sample[who, rank]]])
        out[kind] = {"sample": sample}
        for name, values in chance._asdict().items():
            filled = np.full(sample.shape, np.nan)
            filled[who, rank] = np.nan if values is None else values
            out[kind][name] = Rounded(filled, 3)
    return out


def _places(names: list[str], among: tuple[str, ...]) -> NDArray[np.intp]:
    index = name_index(among)
    return np.array([index[name] for name in names], np.intp)


EACH = 10  # surprises of a kind kept for each learner


class Surprises(NamedTuple):
    """For each learner its least expected successes, then failures: [learners, EACH]; sample −1: none."""

    solved: NDArray[np.int32]
    failed: NDArray[np.int32]


def surprises(expected: NDArray[np.float64], responses: NDArray[np.float64]) -> Surprises:
    """By |response − expected|, of those above a half: [learners, samples] in, sample indices out."""
    excess = np.where(np.isfinite(responses), responses - expected, 0)
    return Surprises(_largest(excess), _largest(-excess))


def _largest(excess: NDArray[np.float64]) -> NDArray[np.int32]:
    n_learners, n_samples = excess.shape
    keep = min(EACH, n_samples)
    found = np.argpartition(-excess, keep - 1, axis=1)[:, :keep]
    value = np.take_along_axis(excess, found, axis=1)
    order = np.argsort(-value, axis=1, kind="stable")
    found, value = np.take_along_axis(found, order, axis=1), np.take_along_axis(value, order, axis=1)
    out = np.full((n_learners, EACH), -1, np.int32)
    out[:, :keep] = np.where(value > 0.5, found, -1)
    return out
