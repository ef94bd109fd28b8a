"""Who can be told from whom, as the page shows it: standing, pairs, strengths."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.statistics.all_pairs import pair_ends, pair_tests
from camilla.statistics.intervals import LEVEL
from camilla.statistics.wald import BoardStanding, board_standing, surely_not_zero
from camilla.table.cells import zero_or_one

MOST_PAIRED = 2000  # learners; above, the pairs alone would fill the memory of a small machine
MOST_SHOWN = 400  # learners whose paired counts go into the page


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
