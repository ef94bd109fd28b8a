"""Rank consistency: does ability order learners as plain accuracy does, also where it has not looked?"""

from typing import Any

import numpy as np

from camilla import auto
from camilla.data.responses import ResponseTable
from camilla.diagnoser import Floats
from camilla.diagnosing import layout_of_table
from camilla.experiments.contenders import overall_ability


def rank_consistency(
    found: auto.Found, train: ResponseTable, test: ResponseTable, ordered: ResponseTable
) -> list[dict[str, Any]]:
    """Kendall and Spearman of ability, fitted on the cells of `train`, with mean responses.

    Against "held out", the mean over the fifth that no fit saw, and "all", the mean over all cells, the
    fitted ones among them. `vanilla` is plain accuracy on the cells of `train`.
    """
    ability = overall_ability(found, layout_of_table(train))
    rows = []
    for comparison, part in (("held out", test), ("all", ordered)):
        rows += correlations(ability, part.learner_means().mean, comparison=comparison)
    return rows


def correlations(one: Floats, other: Floats, **where: Any) -> list[dict[str, Any]]:
    """Kendall's tau-b and tau-a and Spearman's rho over learners that both know.

    Tau-b forgives ties, of which accuracies have many and abilities few; in tau-a a tied pair is one in
    neither order.
    """
    from scipy.stats import kendalltau, spearmanr  # here, because it costs half a second to import

    known = np.isfinite(one) & np.isfinite(other)
    kendall = kendalltau(one[known], other[known]).statistic
    spearman = spearmanr(one[known], other[known]).statistic
    return [
        {"score": "kendall", "value": float(kendall), **where},
        {"score": "spearman", "value": float(spearman), **where},
        {
            "score": "tau_a",
            "value": float(kendall * np.sqrt(untied(one[known]) * untied(other[known]))),
            **where,
        },
    ]


def untied(values: Floats) -> float:
    """The share of pairs that differ."""
    n, alike = len(values), np.unique(values, return_counts=True)[1]
    return 1 - float((alike * (alike - 1)).sum()) / max(n * (n - 1), 1)
