"""Rank stability: do disjoint sets of samples put the learners in the same order?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from camilla import auto
from camilla.data.responses import ResponseTable
from camilla.diagnoser import Floats
from camilla.diagnosing import in_fitting_order, layout_of_table, size_of
from camilla.errors import SettingError
from camilla.experiments.contenders import Contender, fitted, overall_ability
from camilla.experiments.rank_consistency import correlations


def sizes_for(n_samples: int) -> tuple[int, ...]:
    """Fortieths, twentieths, tenths, quarters and halves of the samples, ten samples at least."""
    return tuple(sorted({n_samples // part for part in (40, 20, 10, 4, 2) if n_samples // part >= 10}))


def check_sizes(sizes: Sequence[int], n_samples: int) -> Sequence[int]:
    """The sizes; refuses partitions that leave nothing to compare with."""
    if outside := [size for size in sizes if not 2 <= size < n_samples]:
        raise SettingError(
            f"a partition of {outside[0]} samples cannot be had of {n_samples}: sizes run from 2 to one less."
        )
    return sizes


def rank_stability(
    ordered: ResponseTable, one: Contender, seed: int, *, size: int
) -> tuple[list[dict[str, Any]], auto.Found]:
    """Kendall and Spearman of abilities fitted on disjoint samples.

    "n v rest": n random samples against all others. "n v n": against n of the others, where there are
    as many. Figure 8B of the Camilla paper is n v rest, n counted a class.
    """
    drawn = np.random.default_rng([seed, size]).permutation(ordered.n_samples)
    part, rest = drawn[:size], drawn[size:]
    ability, found = _ability(ordered, part, one, seed=seed)
    others, _ = _ability(ordered, rest, one, seed=seed)
    rows = correlations(ability, others, comparison="n v rest")
    if len(rest) >= size:
        if len(rest) > size:
            others, _ = _ability(ordered, rest[:size], one, seed=seed)
        rows += correlations(ability, others, comparison="n v n")
    return rows, found


def _ability(
    ordered: ResponseTable, samples: NDArray[np.integer], one: Contender, *, seed: int
) -> tuple[Floats, auto.Found]:
    """Abilities on these samples alone; a learner without a response to them has none."""
    table = in_fitting_order(ordered.take_samples(np.sort(samples)))
    layout = layout_of_table(table)
    found = fitted(one, size_of(table), layout, seed=seed, valid=None)
    answered = np.bincount(table.learner, minlength=table.n_learners) > 0
    return np.where(answered, overall_ability(found, layout), np.nan), found
