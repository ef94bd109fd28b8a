"""The pictures of experiments by name."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from camilla.errors import SettingError
from camilla.experiments.results import read_results
from camilla.experiments.summary import told_apart
from camilla.plots.experiment_bars import consistency_figure, reliability_figure
from camilla.plots.stability import stability_figure

PICTURES: dict[str, Callable[[pl.DataFrame], Figure]] = {
    "consistency": consistency_figure,
    "reliability": reliability_figure,
    "stability": stability_figure,
}


def draw_experiment(path: Path, picture: str) -> Figure:
    """One picture of a file written by an experiment; other data or versions under one name are apart."""
    if picture not in PICTURES:
        raise SettingError(f"no picture {picture!r} of an experiment; there are {', '.join(PICTURES)}.")
    return PICTURES[picture](told_apart(read_results(path)))
