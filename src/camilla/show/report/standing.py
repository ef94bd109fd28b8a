"""Who can be told from whom: tie groups, ranks that may be, paired counts, strengths. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from camilla.arrays import Floats
from camilla.diagnosis import LEVEL, Diagnosis
from camilla.ranking import inference
from camilla.statistics.all_pairs import pair_tests
from camilla.statistics.multiplicity import holm, holm_over_pairs, tie_groups

MOST_PAIRED = 2000  # learners; above, the pairs alone would fill the memory of a small machine
MOST_SHOWN = 400  # learners whose paired counts go into the page


class BoardStanding(NamedTuple):
    """Learners in order of ability: which ranks they may have, and runs that no test tells apart."""

    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    ties: list[tuple[int, int]]  # first and last place of each run of two or more


def standing(ability: Floats, se: Floats) -> BoardStanding | None:
    """Wald tests of all pairs, Holm over a learner's own pairs for ranks and over all pairs for ties.

    The errors of two learners count as independent. None where errors are not known or learners are too
    many.
    """
    if not np.isfinite(se).all() or not 2 <= len(ability) <= MOST_PAIRED:
        return None
    statistic = inference.wald_statistics(ability, np.diag(se**2))
    p = inference.chi_p_values(statistic, df=1, rounds_df=np.inf)
    ranks = inference.rank_intervals(ability, p, LEVEL)
    runs = tie_groups(holm_over_pairs(p) < 1 - LEVEL)
    return BoardStanding(ranks.low, ranks.high, [(first, last) for first, last in runs if last > first])


class Paired(NamedTuple):
    """Two learners on the samples both answered, for every pair [row, column]."""

    shared: NDArray[np.uint32]
    only: NDArray[np.uint32] | None  # samples that the row solved and the column did not; right/wrong only
    difference: Floats  # mean response, row less column
    se: Floats
    p: Floats | None  # Student's t over samples; None where `only` gives the exact test


def paired(responses: Floats) -> Paired:
    """From responses [learners, samples], NaN where missing: d̄ and s_d/√n over shared samples."""
    seen = np.isfinite(responses)
    observed = seen.astype(np.float32)
    right = np.where(seen, responses, 0).astype(np.float32)
    shared = (observed @ observed.T).astype(np.float64)
    own = (right @ observed.T).astype(np.float64)
    square = ((right**2) @ observed.T).astype(np.float64)
    both = (right @ right.T).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (own - own.T) / shared
        variance = (square + square.T - 2 * both - shared * mean**2) / (shared - 1)
        se = np.sqrt(np.maximum(variance, 0) / shared)
    binary = bool(np.isin(responses[seen], (0, 1)).all())
    only = np.rint(own - both).astype(np.uint32) if binary else None
    p = None if binary else pair_tests(responses, None).p_value
    return Paired(np.rint(shared).astype(np.uint32), only, mean, se, p)


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
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * ndtr(-np.abs(difference / se))
    sure = holm(np.where(np.isfinite(p), p, 1.0)) < 1 - LEVEL
    return Strengths(difference, se, sure, kind)
