"""Figure 4: boxplots of EPP for each algorithm, a panel for each tournament."""

import re
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from camilla.plots.canvas import COLOURS, GREY, blank, label, name_ticks

PANELS_A_ROW = 4


def algorithm_of(player: str) -> str:
    """`gbm_1305` is a configuration of `gbm`: the name without its trailing number."""
    return re.sub(r"[-_. ]?\d+$", "", player) or player


def algorithms_figure(epps: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """`epps[tournament][algorithm]` are the EPPs of its configurations; a long box is worth tuning."""
    algorithms = list(dict.fromkeys(name for groups in epps.values() for name in groups))
    columns = min(len(epps), PANELS_A_ROW)
    rows = -(-len(epps) // columns)
    tall = 0.6 + 0.32 * len(algorithms)
    figure, axes = blank(
        1.6 + 2.6 * columns, tall * rows + 0.5, nrows=rows, ncols=columns, squeeze=False, sharey=True
    )
    for panel, (tournament, groups) in zip(axes.flat, epps.items(), strict=False):
        places = np.arange(len(algorithms))
        there = [place for place in places if algorithms[place] in groups]
        boxes = panel.boxplot(
            [np.asarray(groups[algorithms[place]], np.float64) for place in there],
            positions=there,
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
            flierprops={"ms": 1.5, "marker": "o", "mec": GREY},
            medianprops={"color": "black"},
        )
        for place, box in zip(there, boxes["boxes"], strict=True):
            box.set_facecolor(COLOURS[place % len(COLOURS)])
        panel.axvline(0, color=GREY, lw=0.8, ls="--")
        panel.set_title(label(tournament), fontsize=9, parse_math=False)
        name_ticks(panel, "y", places, algorithms)
        panel.set_ylim(len(algorithms) - 0.4, -0.6)
    for panel in list(axes.flat)[len(epps) :]:
        panel.set_visible(False)
    figure.supxlabel("EPP (dashed: the average player)", fontsize=9)
    return figure
