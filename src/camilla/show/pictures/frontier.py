"""The picture of a route: what a budget buys."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from camilla.errors import DataError, SettingError
from camilla.show.pictures.canvas import BLUE, GREEN, GREY, ORANGE, blank, caption, label

ROUTE_PICTURES = ("frontier",)
BLACK: dict[str, Any] = {"color": "black", "ms": 4, "lw": 0.8}
LOTS = "random mixing"
STYLES = {
    "chosen by sample": (BLUE, "-"),
    "cascade": (GREEN, "-"),
    LOTS: (GREY, "--"),
    "oracle": (ORANGE, ":"),
}
MOST_NAMED = 12  # learners whose names stand beside their dots


def frontier_figure(document: dict[str, Any]) -> Figure:
    """Mean response over the mean cost per sample: the route with its band, lots, oracle and learners."""
    frontier = pl.DataFrame(document["frontier"], infer_schema_length=None)
    if frontier["budget"].n_unique() < 2:
        raise DataError(
            "the picture frontier has nothing to draw: all learners cost the same, so there is one budget. "
            "Give costs to camilla route."
        )
    figure, axes = blank(7.2, 4.6)
    for way in frontier["way"].unique(maintain_order=True).to_list():
        rows, (colour, line) = frontier.filter(pl.col("way") == way), STYLES.get(way, (GREY, "-"))
        if way not in (LOTS, "oracle"):
            low, high = (rows[end].fill_null(float("nan")).to_numpy() for end in ("low", "high"))
            axes.fill_between(rows["budget"], low, high, color=colour, alpha=0.18, lw=0)
        axes.plot(rows["budget"], rows["quality"], line, color=colour, lw=1.8, label=way)
    _learners(axes, document["learners"], float(frontier["budget"].max()))  # type: ignore[arg-type]
    axes.axvline(document["budget"], color=GREY, lw=0.7)
    axes.set_xlabel("mean cost per sample")
    axes.set_ylabel("mean response")
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    level = f"{100 * document['level']:g} %"
    caption(
        figure,
        f"Held-out samples; bands are {level} intervals at each budget. Lots are drawn between learners at "
        f"the same "
        "cost. The vertical line is the budget of the route.",
    )
    return figure


def _learners(axes: Any, learners: list[dict[str, Any]], dearest: float) -> None:
    """A dot with its interval for each learner within the picture; the best of them by name."""
    inside = [one for one in learners if one["cost"] <= dearest * (1 + 1e-9)]
    for one in inside:
        ends = [[one["mean"] - (one["low"] or one["mean"])], [(one["high"] or one["mean"]) - one["mean"]]]
        axes.errorbar(
            [one["cost"]], [one["mean"]], yerr=np.maximum(ends, 0), fmt="o", color="black", ms=4, lw=0.8
        )
    for one in sorted(inside, key=lambda one: -round(one["mean"], 9))[:MOST_NAMED]:
        right = one["cost"] > dearest / 2
        axes.annotate(
            label(one["learner"]), (one["cost"], one["mean"]), (-6 if right else 6, -10), fontsize=7,
            textcoords="offset points", ha="right" if right else "left", parse_math=False,
        )  # fmt: skip


def draw_route(path: Path, picture: str) -> Figure:
    """A picture of the JSON that camilla route --json printed."""
    if picture not in ROUTE_PICTURES:
        raise SettingError(f"no picture {picture!r} of a route; there is {', '.join(ROUTE_PICTURES)}.")
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda _: None)
        return frontier_figure(document)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: contains no figures of a route ({error!r}). Write them with camilla route TABLE --json."
        ) from error
