"""Assumption checks (Figure 4A): are learners unlike each other, skill by skill and response by response?"""

from typing import Any

import numpy as np

from camilla.data.responses import ResponseTable
from camilla.diagnoser import Floats

SIMILAR_LEARNERS = 500  # beyond, pairs are of this many learners drawn at random


def assumptions(table: ResponseTable, *, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of accuracy by learner and skill, and of agreement and Jaccard similarity by pair of learners.

    agreement = 1 − mean |x − y| over samples both answered, for right/wrong responses the share on which both
    are right or both wrong, which the Camilla paper calls Jaccard; jaccard = Σ min(x, y) / Σ max(x, y), for
    right/wrong responses the share right in both among those right in either.
    """
    matrix = table.matrix()
    return [*_by_skill(table, matrix), *_by_pair(table, matrix, np.random.default_rng(seed))]


def _by_skill(table: ResponseTable, matrix: Floats) -> list[dict[str, Any]]:
    if table.skill_map is None:
        return []
    rows = []
    for skill, needed in zip(table.skill_map.skills, table.skill_map.mask.T, strict=True):
        part = matrix[:, needed]
        count = (~np.isnan(part)).sum(axis=1)
        total = np.nansum(part, axis=1)
        rows += [
            {"learner": learner, "skill": skill, "score": "accuracy", "value": float(t / n)}
            for learner, t, n in zip(table.learners, total, count, strict=True)
            if n
        ]
    return rows


def _by_pair(table: ResponseTable, matrix: Floats, rng: np.random.Generator) -> list[dict[str, Any]]:
    some = np.arange(table.n_learners)
    if table.n_learners > SIMILAR_LEARNERS:
        some = np.sort(rng.permutation(table.n_learners)[:SIMILAR_LEARNERS])
    rows: list[dict[str, Any]] = []
    for place, i in enumerate(some[:-1]):
        others = some[place + 1 :]
        both = ~np.isnan(matrix[i]) & ~np.isnan(matrix[others])
        x, y = np.where(both, matrix[i], 0), np.where(both, matrix[others], 0)
        n, low, high = both.sum(axis=1), np.minimum(x, y).sum(axis=1), np.maximum(x, y).sum(axis=1)
        for j, count, least, most in zip(others, n, low, high, strict=True):
            pair = {"learner": table.learners[i], "other": table.learners[j]}
            if count:
                rows.append(pair | {"score": "agreement", "value": float(1 - (most - least) / count)})
            if most > 0:
                rows.append(pair | {"score": "jaccard", "value": float(least / most)})
    return rows
