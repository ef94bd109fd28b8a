"""Figure 8B: how alike disjoint sets of samples rank the learners, as the sets grow."""

import polars as pl
from matplotlib.figure import Figure

from camilla.errors import DataError
from camilla.experiments.summary import experiment_summary
from camilla.plots.canvas import COLOURS, GREY, MARKERS, blank, entry, label, legend

PLAIN = "vanilla"


def stability_figure(results: pl.DataFrame) -> Figure:
    """Kendall between disjoint partitions with 95 % bands of the mean; a row a table."""
    rows = results.filter((pl.col("experiment") == "rank-stability") & (pl.col("score") == "kendall"))
    if rows.is_empty():
        raise DataError(
            "the picture stability has nothing to draw: these results hold no such experiment. "
            "Run camilla experiment rank-stability."
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
