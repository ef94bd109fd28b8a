"""Figure 4A, right: how alike learners respond."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from camilla.diagnosis import Diagnosis
from camilla.plots.canvas import blank, name_ticks
from camilla.plots.profiles import places, responses

NAMED = 60  # more names than this cannot be read on one page
PRINTED = 12  # more numbers than this squared cannot either


def alike(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 − mean |difference| over the samples both answered: for right or wrong, the share answered alike.

    The paper calls this a Jaccard similarity; it is the simple matching coefficient.
    """
    there = np.isfinite(matrix)
    n = len(matrix)
    out = np.ones((n, n))
    for i in range(n):
        both = there[i] & there
        gap = np.where(both, np.abs(matrix - matrix[i]), 0).sum(axis=1)
        with np.errstate(invalid="ignore"):
            out[i] = 1 - gap / both.sum(axis=1)
    return out


def similarity_figure(diagnosis: Diagnosis, *, learners: Sequence[str] | None = None) -> Figure:
    """A square a pair of learners, those that respond alike side by side."""
    shown = places(diagnosis, learners, len(diagnosis.learner_names))
    values = alike(responses(diagnosis)[shown])
    if len(shown) > 2:
        apart = 1 - np.nan_to_num(values, nan=0.0)  # pairs that share no sample: as far as can be
        np.fill_diagonal(apart, 0)
        order = leaves_list(linkage(squareform((apart + apart.T) / 2, checks=False), "average"))
        shown, values = [shown[i] for i in order], values[np.ix_(order, order)]
    names = [diagnosis.learner_names[i] for i in shown]
    named = len(names) <= NAMED
    side = 2.2 + (0.17 * len(names) if named else 5.5)
    figure, axes = blank(max(side + 1.2, 4.6), max(side, 3.8))
    image = axes.imshow(values, cmap="cividis", vmax=1, interpolation="nearest")
    figure.colorbar(image, label="share of samples answered alike", shrink=0.7)
    axes.spines[:].set_visible(False)
    if named:
        name_ticks(axes, "y", range(len(names)), names)
        name_ticks(axes, "x", range(len(names)), names)
        axes.tick_params(axis="x", rotation=90)
        axes.tick_params(labelsize=7 if len(names) > 20 else 9, length=0)
    else:
        axes.set_xlabel(f"{len(names)} learners, ordered by how they respond")
        axes.set_yticks([])
    if len(names) <= PRINTED:
        middle = (np.nanmin(values) + 1) / 2
        for i, j in np.ndindex(values.shape):
            ink = "white" if values[i, j] < middle else "black"
            axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", fontsize=7, color=ink)
    return figure
