"""Figure 4A, left: how unevenly a learner does over the skills."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from camilla.diagnosis import Diagnosis
from camilla.plots.canvas import COLOURS, GREY, blank, name_ticks
from camilla.plots.profiles import by_skill, need_skills, places

SHOWN = 6


def skill_boxes_figure(diagnosis: Diagnosis, *, learners: Sequence[str] | None = None) -> Figure:
    """A box a learner: its plain accuracy on each skill, a dot a skill."""
    need_skills(diagnosis, "skill-boxes")
    shown = places(diagnosis, learners, SHOWN)
    accuracy = by_skill(diagnosis, "accuracy")[shown]
    figure, axes = blank(6.5, 1.2 + 0.5 * len(shown))
    spots = np.arange(len(shown))
    boxes = axes.boxplot(
        [row[np.isfinite(row)] for row in accuracy],
        positions=spots,
        orientation="horizontal",
        widths=0.55,
        showfliers=False,
        patch_artist=True,
        medianprops={"color": "black"},
    )
    jitter = np.random.default_rng(0).uniform(-0.16, 0.16, accuracy.shape)
    for spot, box in enumerate(boxes["boxes"]):
        box.set(facecolor=COLOURS[spot % len(COLOURS)], alpha=0.45)
        axes.plot(accuracy[spot], spot + jitter[spot], "o", ms=2.5, color=GREY, mew=0)
    name_ticks(axes, "y", spots, [diagnosis.learner_names[i] for i in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel(f"accuracy on each of {accuracy.shape[1]} skills")
    return figure
