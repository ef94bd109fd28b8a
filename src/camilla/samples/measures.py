"""What is shown of samples beside their flags: of a table in memory, or of a stretch of a larger one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from camilla.arrays import Floats, rounded
from camilla.samples.sample_flags import JudgingFit
from camilla.statistics.intervals import Ends
from camilla.statistics.items import ItemRest

NAMED = 3  # learners named for each sample and direction


class SampleMeasures(NamedTuple):
    """What is shown of samples beside their flags, [samples] each."""

    rest: ItemRest
    ends: Ends  # of discriminations


def quarters(judge: JudgingFit) -> tuple[Floats, Floats]:
    """Mean responses of the ablest quarter of the learners that answered a sample, and of the weakest."""
    means = np.full((2, len(judge.key)), np.nan)
    for key, ability in enumerate(judge.ability):
        own = np.flatnonzero(judge.key == key)
        order = np.argsort(-rounded(ability), kind="stable")
        for end, who in enumerate((order, order[::-1])):
            x = judge.matrix[np.ix_(who, own)]
            seen = ~np.isnan(x)
            first = seen & (np.cumsum(seen, axis=0) <= np.ceil(seen.sum(axis=0) / 4))
            with np.errstate(invalid="ignore"):
                means[end, own] = np.where(first, x, 0).sum(axis=0) / first.sum(axis=0)
    return means[0], means[1]


def contradicting(judge: JudgingFit, learners: Sequence[str]) -> tuple[list[list[str]], list[list[str]]]:
    """For each sample, the ablest learners that failed it and the weakest that solved it."""
    failed, solved = [], []
    sides = []
    for ability in rounded(judge.ability):
        order = np.argsort(-ability, kind="stable")
        above = int((ability > np.median(ability)).sum())
        sides.append((order[:above], order[::-1][: len(order) - above]))
    for key, column in zip(judge.key, judge.matrix.T, strict=True):
        strong, weak = sides[key]
        failed.append([learners[i] for i in strong[column[strong] < 0.5][:NAMED]])
        solved.append([learners[i] for i in weak[column[weak] > 0.5][:NAMED]])
    return failed, solved
