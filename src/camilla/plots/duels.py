"""Figure 6: abilities over difficulties for a few samples, with what was responded."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from camilla.data.names import nearest
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.plots.canvas import COLOURS, MARKERS, SILVER, blank, entry, legend, name_ticks
from camilla.plots.profiles import places, responses, sample_column, unit

LEARNERS, SAMPLES = 3, 6


def duels_figure(
    diagnosis: Diagnosis, *, learners: Sequence[str] | None = None, samples: Sequence[str] | None = None
) -> Figure:
    """Left: responses. Right: bars are difficulties, points abilities on each sample with their intervals."""
    shown = places(diagnosis, learners, LEARNERS)
    difficulty = unit(sample_column(diagnosis, "difficulty", "duels"), diagnosis)
    chosen = _samples(diagnosis, samples, difficulty)
    names = [diagnosis.sample_names[j] for j in chosen]
    figure, (left, right) = blank(10.4, 1.9 + 0.5 * len(chosen), ncols=2, width_ratios=[1, 2])
    grid = responses(diagnosis)[np.ix_(shown, chosen)].T
    left.imshow(grid, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for j, i in np.ndindex(grid.shape):
        value = grid[j, i]
        text = "–" if np.isnan(value) else f"{value:.2f}".removesuffix(".00")
        ink = "black" if np.isnan(value) or value > 0.5 else "white"
        left.text(i, j, text, ha="center", va="center", fontsize=9, color=ink)
    left.spines[:].set_visible(False)
    name_ticks(left, "y", range(len(chosen)), names)
    left.set(xticks=[], ylim=(len(chosen) + 0.1, -0.5))
    for k in range(len(shown)):
        left.plot(k, len(chosen) - 0.2, MARKERS[k % len(MARKERS)], color=COLOURS[k % len(COLOURS)], ms=6)
    left.set_title("response", fontsize=10)
    rows = np.arange(len(chosen))
    right.barh(rows, difficulty[chosen], color=SILVER, height=0.6, label="difficulty")
    for k, learner in enumerate(shown):
        level = [_on_one(diagnosis, learner, j) for j in chosen]
        value, low, high = (np.array(one) for one in zip(*level, strict=True))
        at = rows + 0.22 * (k - (len(shown) - 1) / 2)
        right.hlines(at, low, high, color=COLOURS[k % len(COLOURS)], lw=1.2)
        name = entry(diagnosis.learner_names[learner])
        marker = MARKERS[k % len(MARKERS)]
        right.plot(value, at, marker, color=COLOURS[k % len(COLOURS)], ms=5.5, label=name)
    right.set(ylim=(len(chosen) + 0.1, -0.5), xlim=(0, 1), yticks=[])
    right.set_xlabel("difficulty (bar) and ability on the sample (point), both on (0, 1)")
    legend(figure, "outside lower center", ncols=4)
    return figure


def _samples(
    diagnosis: Diagnosis, samples: Sequence[str] | None, difficulty: NDArray[np.float64]
) -> list[int]:
    """Named samples, else some spread evenly from the easiest to the hardest."""
    names = diagnosis.sample_names
    if samples:
        if unknown := [name for name in samples if name not in names]:
            raise DataError(f"no sample {unknown[0]!r} in this diagnosis. {nearest(unknown[0], names)}")
        return [names.index(name) for name in samples]
    order = np.argsort(difficulty)[: np.isfinite(difficulty).sum()]
    picks = np.linspace(0.05, 0.95, min(SAMPLES, len(order))) * (len(order) - 1)
    return [int(order[int(pick)]) for pick in picks]


def _on_one(diagnosis: Diagnosis, learner: int, sample: int) -> tuple[float, float, float]:
    """Ability on one sample, low, high, on (0, 1): by the skills it asks for, as its difficulty is."""
    readout = diagnosis.readout
    row = replace(diagnosis, readout=readout._replace(expected=False)).ability_on(
        readout.ability[[learner]], readout.covariance[[learner]], np.array([sample])
    )
    value, low, high = (unit(row[name].to_numpy(), diagnosis)[0] for name in ("ability", "low", "high"))
    return float(value), float(low), float(high)
