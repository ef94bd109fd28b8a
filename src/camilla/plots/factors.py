"""Figure 7, right: discrimination against difficulty of the samples."""

import numpy as np
from matplotlib.figure import Figure

from camilla.diagnosis import Diagnosis
from camilla.plots.canvas import CROWD, GREY, blank
from camilla.plots.profiles import sample_column

FARTHEST = 6.0  # standard deviations of the pool; no learner is there to tell such difficulties apart


def factors_figure(diagnosis: Diagnosis) -> Figure:
    """A dot a sample; colour is the spread of its latent skill mask, or plain accuracy without one.

    Difficulty is the intercept over the discrimination: samples that hardly discriminate have wild ones,
    which are drawn at the edge.
    """
    difficulty = sample_column(diagnosis, "difficulty", "factors")
    discrimination = sample_column(diagnosis, "discrimination", "factors")
    mask = diagnosis.readout.skill_weight
    latent = mask is not None and not diagnosis.readout.explicit and mask.shape[1] > 1
    colour = mask.std(axis=1) if latent and mask is not None else sample_column(diagnosis, "accuracy", "")
    finite = difficulty[np.isfinite(difficulty)]
    beyond = int((np.abs(finite) > FARTHEST).sum())
    figure, axes = blank(6.8, 4.8)
    size = 16 if len(finite) < 1000 else 5
    dots = axes.scatter(
        np.clip(difficulty, -FARTHEST, FARTHEST),
        discrimination,
        c=colour,
        cmap="cividis",
        s=size,
        alpha=0.7,
        lw=0,
        rasterized=len(finite) > CROWD,
    )
    figure.colorbar(dots, label="s.d. of the skill mask" if latent else "accuracy", shrink=0.8)
    if np.nanmin(discrimination) < 0:
        axes.axhline(0, color=GREY, lw=0.8, ls="--")
    axes.set(xlabel="difficulty", ylabel="discrimination")
    at_edge = f", {beyond} of them drawn at the edge" if beyond else ""
    axes.set_title(f"{len(finite)} samples by {diagnosis.diagnoser.name}{at_edge}", fontsize=10)
    return figure
