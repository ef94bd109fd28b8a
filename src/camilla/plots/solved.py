"""Figure 5C, right: how hard the samples are that a learner solves."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from camilla.diagnosis import LEVEL, Diagnosis
from camilla.metrics.intervals import Ends, mean_ends
from camilla.plots.canvas import COLOURS, GREY, blank, entry, legend
from camilla.plots.profiles import Floats, places, responses, sample_column

SHOWN = 4
BINS = 12


def solved_figure(diagnosis: Diagnosis, *, learners: Sequence[str] | None = None) -> Figure:
    """Left: how many of each difficulty a learner solves. Right: what share of those it met, with 95 %.

    Bins hold equally many samples, so that no share rests on a handful.
    """
    shown = places(diagnosis, learners, SHOWN)
    difficulty = sample_column(diagnosis, "difficulty", "solved")
    matrix = responses(diagnosis)[shown]
    known = np.isfinite(difficulty)
    edges = np.unique(np.quantile(difficulty[known], np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, difficulty, side="right") - 1, 0, len(edges) - 2)
    order = [np.flatnonzero(known & (bins == b)) for b in range(len(edges) - 1)]
    figure, (left, right) = blank(9.6, 4.2, ncols=2)
    left.stairs([len(rows) for rows in order], color=GREY, fill=True, alpha=0.25, label="all samples")
    spots = np.arange(len(order))
    for k, row in enumerate(matrix):
        colour, name = COLOURS[k % len(COLOURS)], entry(diagnosis.learner_names[shown[k]])
        met = [row[rows][np.isfinite(row[rows])] for rows in order]
        left.stairs([one.sum() for one in met], color=colour, lw=1.8, label=name)
        share = np.array([one.mean() if len(one) else np.nan for one in met])
        right.fill_between(spots + 0.5, *_interval(met, share), color=colour, alpha=0.18, lw=0)
        right.plot(spots + 0.5, share, "o-", color=colour, ms=3.5)
    ticks = np.arange(0, len(edges), max(1, len(edges) // 6))
    for axes in (left, right):
        axes.set_xticks(ticks, _told_apart(edges[ticks]))
        axes.set_xlabel("difficulty of the samples (bins of equal size)")
    left.set_ylabel("samples solved")
    right.set(ylabel="share solved", ylim=(-0.03, 1.03))
    legend(figure, "outside lower center", ncols=3)
    return figure


def _interval(met: list[Floats], share: Floats) -> Ends:
    """95 %, of every bin, as of learners: Wilson's for right/wrong responses, else with Student's t."""
    n = np.array([len(one) for one in met], np.float64)
    variance = np.array([one.var(ddof=1) / len(one) if len(one) > 1 else np.nan for one in met])
    exact = np.array([np.isin(one, (0, 1)).all() for one in met])
    return mean_ends(share, variance, n, n - 1, exact, LEVEL)


def _told_apart(numbers: Floats) -> list[str]:
    """With as few decimals as keep rising numbers apart, at most four."""
    for decimals in range(1, 5):
        shown = [f"{round(number, decimals) + 0.0:.{decimals}f}" for number in numbers]
        if len(set(shown)) == len(shown):
            break
    return shown
