"""Figure 5A without images: how hard the samples of each skill are."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from camilla.diagnosis import Diagnosis
from camilla.plots.canvas import GREY, SKY, blank, name_ticks
from camilla.plots.profiles import need_skills, sample_column, unit

NAMED = 40


def skill_difficulty_figure(diagnosis: Diagnosis, *, skills: Sequence[str] | None = None) -> Figure:
    """A box a skill, hardest first; of more than 40 skills the 20 hardest and the 20 easiest."""
    need_skills(diagnosis, "skill-difficulty")
    difficulty = unit(sample_column(diagnosis, "difficulty", "skill-difficulty"), diagnosis)
    groups = {diagnosis.skill_names[k]: difficulty[rows] for k, rows in diagnosis.skill_samples()}
    groups = {name: values[np.isfinite(values)] for name, values in groups.items()}
    wanted = [name for name in groups if len(groups[name]) and (not skills or name in skills)]
    ranked = sorted(wanted, key=lambda name: -float(np.median(groups[name])))
    cut = len(ranked) > NAMED
    shown = ranked[: NAMED // 2] + ranked[-NAMED // 2 :] if cut else ranked
    figure, axes = blank(6.8, 1.2 + 0.22 * len(shown))
    axes.boxplot(
        [groups[name] for name in shown],
        positions=range(len(shown)),
        orientation="horizontal",
        widths=0.6,
        patch_artist=True,
        boxprops={"facecolor": SKY, "lw": 0.8},
        medianprops={"color": "black"},
        flierprops={"ms": 1.5, "marker": "o", "mec": GREY},
    )
    name_ticks(axes, "y", range(len(shown)), shown)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("difficulty of the skill's samples on (0, 1)")
    if cut:
        axes.axhline(NAMED // 2 - 0.5, color=GREY, lw=0.8, ls="--")
        axes.set_title(f"the {NAMED // 2} hardest and easiest of {len(ranked)} skills", fontsize=10)
    return figure
