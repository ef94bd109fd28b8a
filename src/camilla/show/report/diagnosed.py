"""What a reader asks of a diagnosis, as the page shows it: standing, pairs, strengths, flags, surprises."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.diagnosis_skills import doubts
from camilla.names import name_index
from camilla.samples.judged_diagnosis import JudgedDiagnosis, judged_diagnosis
from camilla.samples.sample_flags import (
    CONTRADICTING,
    FLAGS,
    SampleFlags,
    too_few_learners,
)
from camilla.show.report.packing import Bits, Rounded
from camilla.statistics.all_pairs import pair_ends, pair_tests
from camilla.statistics.intervals import LEVEL, Z
from camilla.statistics.profiles import Profile, additive_expectation, profile
from camilla.statistics.standing import PairChances, Standing
from camilla.statistics.wald import surely_not_zero
from camilla.table.cells import zero_or_one

MOST_SAMPLES = 50_000  # above, the page keeps KEPT of them and the rest lies beside it
KEPT = 20_000
MOST_EXPECTED = 1_500_000  # cells whose expected response the page carries
MOST_TWINNED = 10_000  # samples among which twins are looked for, in a second or two
MOST_SHOWN = 400  # learners whose paired counts go into the page
STRAIGHT = 1e-3  # logits that are rounding
MOST_SLOPES = 250_000  # numbers that the logits of a large page may take
TOP = 12  # samples that name a latent skill
OF_THE_POOL = ("dina", "gaussian", "hier-mirt")  # diagnosers whose difficulty is 1 − the expected response
OF_MASTERY = ("camilla", "hier-ncd", "ka-ncd", "neural-cd", "qc-cdm")  # whose difficulty is between 0 and 1
ROUNDING = 1e-9  # abilities no farther apart are one


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


def strengths(found: Diagnosis, profile: Profile | None) -> Strengths | None:
    """(Aᵢₖ − Ā·ₖ) − (Aᵢ − Ā·) where skills have abilities of their own, else response less expectation.

    Rows are in the order of the diagnosis' names; `profile` holds each learner's responses on each skill.
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
        kind = "ability on the skill minus ability overall, both measured from the pool's mean"
        return _sure(difference, np.sqrt(np.maximum(variance, 0)), kind)
    if profile is None:
        return None
    kind = "mean response on the skill's samples minus the mean expected from one level for all skills"
    return _sure(profile.difference, profile.se, kind)


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
    def standing(self) -> Standing | None:
        """Ranks and ties, as the diagnosis itself decides them."""
        return self.found.told_apart()

    @cached_property
    def chances(self) -> PairChances | None:
        """Who is how probably above whom; None where learners are too many for the page."""
        return None if len(self.learners) > MOST_SHOWN else self.found.pair_chances()

    @cached_property
    def is_score(self) -> bool:
        """Whether ability is an expected score, estimated by a model."""
        readout = self.found.readout
        return readout.unit_scale and readout.skill_weight is None and not readout.counted

    @cached_property
    def like_these(self) -> bool:
        """Whether ability is the expected score on samples like these."""
        return self.is_score and "samples like these" in self.estimand

    @cached_property
    def estimand(self) -> str:
        """What an ability is, in words."""
        if self.found.readout.counted:
            return "mean response on the samples that were answered"
        return str(self.found.provenance.get("estimand", "ability on the diagnoser's own scale"))

    @cached_property
    def difficulty_means(self) -> str:
        """What a difficulty is, on which scale."""
        if self.found.readout.counted:
            return "1 minus the mean response"
        if self.found.diagnoser.name in OF_THE_POOL:
            return "1 minus the mean expected response"
        if self.found.diagnoser.name in OF_MASTERY:
            return "From 0 to 1, on the scale of mastery"
        if not self.found.readout.unit_scale:
            if self.found.readout.guessing is not None:
                return "The ability at which the chance of being right is half way between guessing and 1"
            return "The ability at which a learner is right half the time"
        return (
            "The level at which a learner is right half the time, in standard deviations of the pool. It has "
            "a scale of its own, not that of abilities, which are scores from 0 to 1"
        )

    @cached_property
    def plain_cells(self) -> bool:
        """Whether every cell is one response."""
        return bool((self.found.cells.weight == 1).all())

    @cached_property
    def leader_on_these(self) -> dict[str, Any] | None:
        """The first learner on exactly these samples; None without draws."""
        if self.found.pool.draws is None:
            return None
        return self.found.ability(these_samples=True).filter(learner=self.learners[0]).row(0, named=True)

    @cached_property
    def one_for_all(self) -> bool:
        """Whether every learner has one ability for all skills, such as irt's."""
        return len(self.skills) > 1 and bool((np.ptp(self.by_skill["ability"], axis=1) < ROUNDING).all())

    @cached_property
    def profile(self) -> Profile | None:
        """Each learner's responses on each skill against one level for all; None without a skill map."""
        if self.mask is None or len(self.skills) < 2 or len(self.learners) < 2:
            return None
        return profile(self.responses, additive_expectation(self.responses), self.mask)

    @cached_property
    def why_not_judged(self) -> str | None:
        """Why no sample is flagged, where learners are too few to judge samples by."""
        return too_few_learners(len(self.learners))

    @cached_property
    def _judged(self) -> JudgedDiagnosis | None:
        if self.why_not_judged is not None:
            return None
        return judged_diagnosis(self.found, look_for_twins=len(self.samples) <= MOST_TWINNED)

    @property
    def _decided(self) -> SampleFlags | None:
        return None if self._judged is None else self._judged.flags

    @cached_property
    def why(self) -> list[str]:
        """What `camilla items` says of each sample; empty where nothing speaks against it."""
        if self._judged is None:
            return [""] * len(self.samples)
        return self._judged.why.gather(self.order[1]).to_list()

    @cached_property
    def flags(self) -> dict[str, NDArray[np.bool_]]:
        """Which samples have which flag, as `camilla items` decides it; empty where nothing was judged."""
        decided = self._decided
        return {} if decided is None else {flag: mark[self.order[1]] for flag, mark in decided.marks.items()}

    @cached_property
    def evidence(self) -> Floats:
        """How strongly learners speak against the key, log₁₀ of a likelihood ratio; NaN: not judged."""
        decided = self._decided
        if decided is None:
            return np.full(len(self.samples), np.nan)
        return decided.doubt.evidence[self.order[1]]

    @cached_property
    def only_ordered(self) -> str | None:
        """Why no sample is called doubtful, where too many look so."""
        return None if self._decided is None else self._decided.only_ordered

    @cached_property
    def strengths(self) -> Strengths | None:
        if len(self.skills) < 2:
            return None
        who, skill = self.order[0], _places(self.skills, self.found.skill_names)
        back = np.ix_(np.argsort(who), np.argsort(skill))
        own = None if self.profile is None else Profile(*(part[back] for part in self.profile))
        found = strengths(self.found, own)
        if found is None:
            return None
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
        """Flagged samples whose key is doubted, the strongest evidence first."""
        if not self.flags:
            return np.empty(0, np.intp)
        worth = np.flatnonzero(
            np.any([self.flags[flag] for flag in CONTRADICTING if flag in self.flags], axis=0)
        )
        evidence = np.nan_to_num(self.evidence[worth], nan=-np.inf)
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
        "score": of.is_score,
        "like_these": of.like_these,
        "estimand": of.estimand,
        "difficulty_means": of.difficulty_means,
        "by_ability": made["diagnoser"] == "irt" and not of.found.readout.unit_scale,
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
        "ties": [] if place is None else [list(places) for places in place.ties],
        "with_first": [] if place is None else list(place.with_first),
        "rank": of.column("learners", "rank").astype(np.uint32),
        "rank_low": None if place is None else place.rank_low.astype(np.uint32),
        "rank_high": None if place is None else place.rank_high.astype(np.uint32),
        "p_best": None if place is None or place.p_best is None else Rounded(place.p_best, 3),
    }


def _skills(of: Diagnosed) -> dict[str, Any]:
    columns = ("ability", "low", "high", "mastery", "accuracy", "accuracy_low", "accuracy_high", "n")
    strong = of.strengths
    return {
        "name": of.skills,
        "count": None if of.mask is None else of.mask.sum(axis=0).astype(np.uint32),
        **{name: Rounded(of.by_skill[name], 3) for name in columns},
        "one_for_all": of.one_for_all,
        "doubts": doubts(of.found.provenance),
        "profile": None
        if of.profile is None
        else {
            "observed": Rounded(of.profile.observed, 3),
            "expected": Rounded(of.profile.expected, 3),
            "se": Rounded(of.profile.se, 3),
        },
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
        "evidence": Rounded(of.evidence[kept], 2),
        "why": [of.why[j] for j in kept],
        "only_ordered": of.only_ordered,
        "needs": None if of.mask is None else Bits(of.mask[kept]),
        "seen": None if seen.all() else Bits(seen),
        "right": Bits(responses == 1)
        if of.binary
        else np.rint(np.where(seen, responses, 0) * 254).astype(np.uint8),
        "chance": np.rint(of.expected.T[kept] * 254).astype(np.uint8) if shown_expected else None,
        "line": None if shown_expected or of.found.readout.counted else _line(of),
    }


def _line(of: Diagnosed) -> dict[str, Any] | None:
    """The model's own logits as level + slopes · places of the learner, where abilities are few; else None.

    In place of the matrix of expected responses where that is too large: a few numbers for each sample.
    """
    logit = np.log(of.expected) - np.log1p(-of.expected)  # [learners, samples]
    if not np.isfinite(logit).all():
        return None
    level = logit.mean(axis=0)
    some = (logit - level)[:, np.linspace(0, logit.shape[1] - 1, min(logit.shape[1], 200)).astype(int)]
    most = min(len(logit), MOST_SLOPES // logit.shape[1])
    axes = np.linalg.svd(some, full_matrices=False)[0][:, :most] * np.sqrt(len(logit))  # [learners, axes]
    slope = axes.T @ (logit - level) / len(logit)
    for n in range(1, axes.shape[1] + 1):
        if np.abs(logit - level - axes[:, :n] @ slope[:n]).max() < STRAIGHT:
            kept = of.kept
            rows = Rounded(slope[:n, kept].T, 3)
            return {"place": axes[:, :n], "level": Rounded(level[kept], 3), "slope": rows}
    return None


def _pairs(of: Diagnosed) -> dict[str, Any] | None:
    if of.chances is None:
        return None
    upper = np.triu_indices(len(of.learners), 1)
    chances = {
        "better": Rounded(of.chances.better[upper], 3),
        "half": Rounded(of.chances.half[upper], 3),
        "by_draws": of.standing is not None and of.standing.p_best is not None,
    }
    found = paired(of.responses)
    if found.only is not None:
        most = int(found.shared.max())
        small = np.uint16 if most < 65536 else np.uint32
        complete = bool((found.shared == most).all())
        shared = most if complete else found.shared.astype(small)
        return {"shared": shared, "only": found.only.astype(small)} | chances
    return found._asdict() | chances


def _surprises(of: Diagnosed) -> dict[str, Any]:
    """Sample places are those of the page; the expected response has the ability's interval."""
    kept = of.kept
    found = surprises(of.expected[:, kept], of.responses[:, kept])
    read = replace(of.found, combined=None)  # what is read of, as everywhere on the page
    out: dict[str, Any] = {}
    for kind, sample in found._asdict().items():
        who, rank = np.nonzero(sample >= 0)
        chance = read.chances(of.order[0][who], of.order[1][kept[sample[who, rank]]])
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
