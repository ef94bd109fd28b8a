"""Pictures of experiments."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from camilla.errors import DataError, SettingError
from camilla.experiments.results import experiment_summary, read_results, told_apart
from camilla.show.pictures.canvas import (
    BLUE,
    COLOURS,
    GREY,
    MARKERS,
    ORANGE,
    blank,
    entry,
    label,
    legend,
    name_ticks,
)

PLAIN = "vanilla"
ACROSS = 3  # panels beside each other


def consistency_figure(results: pl.DataFrame) -> Figure:
    """Kendall's τ of ability and mean response on unseen cells: one bar per diagnoser, ± s.d. over seeds."""
    rows = results.filter(
        (pl.col("experiment") == "rank-consistency")
        & (pl.col("comparison") == "held out")
        & (pl.col("score") == "kendall")
    )
    return _bars(rows, "consistency", "Kendall with the mean response on held-out cells", best_first=True)


def reliability_figure(results: pl.DataFrame) -> Figure:
    """RMSE on held-out cells: one bar per diagnoser, ± s.d. over seeds."""
    rows = results.filter((pl.col("experiment") == "reliability") & (pl.col("score") == "rmse"))
    return _bars(rows, "reliability", "RMSE on held-out cells", best_first=False)


def _bars(rows: pl.DataFrame, picture: str, title: str, *, best_first: bool) -> Figure:
    if rows.is_empty():
        raise DataError(
            f"the picture {picture} has nothing to draw: these results contain no such experiment. Run "
            f"camilla experiment {'rank-consistency' if picture == 'consistency' else picture}."
        )
    tables = rows["table"].unique(maintain_order=True).to_list()
    means = experiment_summary(rows).sort(
        ["mean", "diagnoser"], descending=[best_first, False], nulls_last=True
    )
    frames = {name: means.filter(pl.col("table") == name) for name in tables}
    rows_of = [list(frames)[start : start + ACROSS] for start in range(0, len(frames), ACROSS)]
    tallest = [max(frames[name].height for name in names) for names in rows_of]
    across = min(ACROSS, len(frames))
    figure, axes = blank(
        1.4 + 3.9 * across, sum(0.9 + 0.3 * bars for bars in tallest) + 0.3,
        nrows=len(rows_of), ncols=across, squeeze=False, height_ratios=[0.9 + 0.3 * bars for bars in tallest],
    )  # fmt: skip
    for panel in axes.flat[len(frames) :]:
        panel.remove()
    for number, (panel, (name, frame)) in enumerate(zip(axes.flat, frames.items(), strict=False)):
        places = np.arange(frame.height)
        colours = [ORANGE if one == PLAIN else BLUE for one in frame["diagnoser"]]
        spread = frame["sd"].fill_null(0).to_numpy()
        panel.barh(places, frame["mean"], xerr=spread, color=colours, height=0.65, error_kw={"lw": 1})
        if PLAIN in frame["diagnoser"]:
            plain = frame.filter(pl.col("diagnoser") == PLAIN)["mean"][0]
            panel.axvline(plain, color=GREY, lw=0.8, ls="--")
        name_ticks(panel, "y", places, frame["diagnoser"].to_list())
        panel.set_ylim(tallest[number // ACROSS] - 0.4, -0.6)
        low = float(np.nanmin(frame["mean"].to_numpy() - spread))
        panel.set_xlim(left=min(0.0, low) if low < 0.5 or not best_first else low - 0.05)
        counts = frame["seeds"].to_list()
        seeds = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
        panel.set_title(f"{label(name)}, {seeds} seeds", fontsize=10, parse_math=False)
    figure.supxlabel(f"{title} ± s.d. over seeds (orange, dashed: plain accuracy)", fontsize=9)
    return figure


PLAIN = "vanilla"


def stability_figure(results: pl.DataFrame) -> Figure:
    """Kendall between disjoint partitions with 95 % bands of the mean; one row per table."""
    rows = results.filter((pl.col("experiment") == "rank-stability") & (pl.col("score") == "kendall"))
    if rows.is_empty():
        raise DataError(
            "the picture stability has nothing to draw: these results contain no such experiment. Run "
            "camilla experiment rank-stability."
        )
    means = experiment_summary(rows)
    tables = rows["table"].unique(maintain_order=True).to_list()
    kinds = sorted(rows["comparison"].unique().to_list())
    names = sorted(rows["diagnoser"].unique().to_list(), key=lambda name: (name == PLAIN, name))
    size = {"nrows": len(tables), "ncols": len(kinds), "squeeze": False}
    figure, axes = blank(1.2 + 4.2 * len(kinds), 0.9 + 3.4 * len(tables), sharey="row", **size)
    for (i, table), (j, kind) in ((one, two) for one in enumerate(tables) for two in enumerate(kinds)):
        panel = axes[i, j]
        part = means.filter((pl.col("table") == table) & (pl.col("comparison") == kind))
        for k, name in enumerate(names):
            curve = part.filter(pl.col("diagnoser") == name).sort("size")
            colour = "black" if name == PLAIN else COLOURS[k % len(COLOURS)]
            line = ("--" if name == PLAIN else "-") + MARKERS[k % len(MARKERS)]
            shown = entry("plain accuracy" if name == PLAIN else name) if i == j == 0 else None
            panel.fill_between(curve["size"], curve["low"], curve["high"], color=colour, alpha=0.15, lw=0)
            panel.plot(curve["size"], curve["mean"], line, color=colour, ms=4, lw=1.5, label=shown)
        panel.set_xscale("log")
        ticks = sorted(part["size"].unique().to_list())
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        panel.set_xticks([], minor=True)
        panel.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
        panel.set_title(f"{label(table)}, {kind}", fontsize=10, parse_math=False)
        panel.set_xlabel("samples n")
    for panel in axes[:, 0]:
        panel.set_ylabel("Kendall")
    legend(figure, "outside lower center", ncols=4)
    return figure


EXPERIMENT_PICTURES: dict[str, Callable[[pl.DataFrame], Figure]] = {
    "consistency": consistency_figure,
    "reliability": reliability_figure,
    "stability": stability_figure,
}


def draw_experiment(path: Path, picture: str) -> Figure:
    """One picture of a file written by an experiment; other data or versions under one name are apart."""
    if picture not in EXPERIMENT_PICTURES:
        raise SettingError(
            f"no picture {picture!r} of an experiment; there are {', '.join(EXPERIMENT_PICTURES)}."
        )
    return EXPERIMENT_PICTURES[picture](told_apart(read_results(path)))
