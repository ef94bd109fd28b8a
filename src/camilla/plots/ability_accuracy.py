"""Figure 4C, left: ability against plain accuracy, a colour a family of learners."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import kendalltau

from camilla.diagnosis import Diagnosis
from camilla.plots.canvas import GREY, blank, dots, legend
from camilla.plots.profiles import group_names, largest, overall

COLOURED = 7


def ability_accuracy_figure(diagnosis: Diagnosis, *, families: Mapping[str, str] | None = None) -> Figure:
    """A dot a learner with the interval of its ability; learners level in accuracy may differ in ability."""
    level = overall(diagnosis)
    figure, axes = blank(6.8, 4.6)
    axes.vlines(level.accuracy, level.low, level.high, color=GREY, lw=0.5, alpha=0.5, zorder=1)
    for k, (family, rows) in enumerate(largest(group_names(diagnosis, families), COLOURED).items()):
        dots(axes, level.accuracy[rows], level.ability[rows], k, family)
    axes.set_xlabel("accuracy")
    axes.set_ylabel("ability")
    tau = kendalltau(level.accuracy, level.ability).statistic
    shown = "" if np.isnan(tau) else f"Kendall {tau:.2f}"
    axes.set_title(f"{len(level.ability)} learners by {diagnosis.diagnoser.name}   {shown}", fontsize=10)
    legend(figure, "outside right upper")
    return figure
