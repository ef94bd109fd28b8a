"""The figures of a route, and the sentences and tables that show them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from camilla.display import Grid, Part, Printable, brief, intervals, percent, signed
from camilla.learners.routed import MIXING, ORACLE, ROUTED
from camilla.learners.saved_route import Route

SINGLE = "best single learner"
PRINTED_BUDGETS = 6
PRINTED_TASKS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Routing(Printable):
    """Whether choosing a learner per sample pays, what each budget buys, and the route to use.

    All figures are on samples that had no part in the choices they judge. `route` is what to use: it chooses
    per sample only where that is significantly better than drawing lots at the same cost.

    Attributes
    ----------
    route : Route
        The route to use.
    better : bool
        Whether choosing per sample is significantly better than drawing lots at the same cost.
    way : str
        The way that was judged: chosen by sample, or a cascade.
    single : str
        The best single learner.
    weak : str
        The best learner of the lowest cost.
    level : float
        Coverage of the intervals.
    budget : float
        The budget per sample at which `ways` compares; a route does not cost more.
    gain : mapping
        How much better choosing is than drawing lots: difference, interval, p-value.
    apgr : DataFrame
        Average performance gap recovered of each way; empty where the best learner is the
        cheapest.
    frontier : DataFrame
        One row per way and budget: what it buys.
    same_quality : mapping
        What the quality of the best single learner costs by the route.
    ways : DataFrame
        One row per way at the budget.
    learners : DataFrame
        One row per learner: its cost, its mean, and how often it is chosen.
    tasks : DataFrame
        One row per task: the learner most often chosen, and what that brings.
    portfolios : DataFrame
        One row per number of learners: what an oracle and the route reach with them.
    methods : DataFrame
        How well each method predicts which learner solves a sample.
    notes : tuple of str
        Sentences that a reader must know before using the result.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.

    Examples
    --------
    >>> table = camilla.digits()
    >>> table = table.take_learners([table.learners.index(name) for name in ("knn 1", "sgd")])
    >>> routing = camilla.route(table, costs={"knn 1": 5, "sgd": 1}, methods=["tasks"])
    >>> routing.learners.height
    2
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"budgets": 4, "tasks": 4}

    route: Route
    better: bool
    way: str  # judged: "chosen by sample" or "cascade"
    single: str  # the best single learner
    weak: str  # the best learner of the lowest cost
    level: float
    budget: float  # per sample, at which `ways` compares
    gain: Mapping[str, Any]  # difference, low, high, p_value, over: what it is an average of and over
    apgr: pl.DataFrame  # way, apgr, low, high; empty where the best single learner is the cheapest
    frontier: pl.DataFrame  # way, budget, quality, low, high, over_mixing, over_mixing_low, over_mixing_high
    same_quality: Mapping[str, Any]  # cost, low, high: of the quality of the best single learner
    ways: pl.DataFrame  # at the budget: way, cost, quality, low, high, difference, …
    learners: pl.DataFrame  # learner, cost, mean, low, high, share
    tasks: (
        pl.DataFrame
    )  # task, samples, learner (most chosen), quality, single, difference, low, high, holm_p
    portfolios: pl.DataFrame  # size, learners, oracle, …, routed, …
    methods: pl.DataFrame  # method, contrast, common
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def answer(self) -> str:
        """The verdict, its evidence, and what to use."""
        return _answer(self)

    def parts(self, *, budgets: int = PRINTED_BUDGETS, tasks: int = PRINTED_TASKS) -> list[Part]:
        """Returns what `text` prints: the verdict, the frontier, learners, tasks, portfolios, notes.

        Parameters
        ----------
        budgets : int
            How many budgets to list.
        tasks : int
            How many tasks to list.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> table = camilla.digits()
        >>> table = table.take_learners([table.learners.index(name) for name in ("knn 1", "sgd")])
        >>> routing = camilla.route(table, costs={"knn 1": 5, "sgd": 1}, methods=["tasks"])
        >>> len(routing.parts(budgets=1)) > 1
        True
        """
        out: list[Part] = [self.answer, _ways_grid(self)]
        if budgets and self.frontier["budget"].n_unique() > 1:
            out.append(_frontier_grid(self, budgets))
        if self.apgr.height:
            out.append(_apgr_grid(self))
        out.append(_learners_grid(self))
        if tasks and self.tasks.height:
            out.append(_tasks_grid(self, tasks))
        if self.portfolios.height:
            out.append(_portfolio_grid(self))
        return [*out, *(f"note: {note}" for note in self.notes)]

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> table = camilla.digits()
        >>> table = table.take_learners([table.learners.index(name) for name in ("knn 1", "sgd")])
        >>> routing = camilla.route(table, costs={"knn 1": 5, "sgd": 1}, methods=["tasks"])
        >>> routing.to_document()["verdict"]
        'by sample'
        """
        frames = ("apgr", "frontier", "ways", "learners", "tasks", "portfolios", "methods")
        return {
            "verdict": self.route.way,
            "answer": self.answer,
            "better": self.better,
            "way": self.way,
            "single": self.single,
            "weak": self.weak,
            "level": self.level,
            "budget": self.budget,
            "gain": dict(self.gain),
            "same_quality": dict(self.same_quality),
            **{name: getattr(self, name).to_dicts() for name in frames},
            "route": {"way": self.route.way, "price": self.route.price, "columns": list(self.route.columns)},
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }


def _points(row: Mapping[str, Any], level: float) -> str:
    value, low, high = (row[name] for name in ("difference", "low", "high"))
    ends = f", {percent(level)} CI {signed(100 * low)} to {signed(100 * high)}" if low is not None else ""
    p = "" if row.get("p_value") is None else f"; p = {row['p_value']:.2g}"
    p = "; p < 1e-300" if row.get("p_value") == 0 else p
    return f"{signed(100 * value)} points{ends}{p}"


def _answer(found: Routing) -> str:
    way = "Choosing a learner per sample" if found.way == ROUTED else "The cascade"
    gain, mixing = found.gain, found.gain["beyond"] == MIXING
    than = "drawing lots at the same cost" if mixing else f"the best single learner ({brief(found.single)})"
    mean = ", averaged over budgets" if mixing else ""
    evidence = f"{_points(gain, found.level)}{mean}, on samples that had no part in the choice."
    if not found.better:
        use = brief(found.route.single)
        return f"{way} is not shown to be better than {than}: {evidence} Every sample goes to {use}."
    return f"{way} is better than {than}: {evidence}{_saving(found)}{_expected(found)}"


def _saving(found: Routing) -> str:
    """What the quality of the best single learner costs with the route."""
    same = found.same_quality
    single = same["single_cost"]
    if found.gain["beyond"] != MIXING or same["cost"] is None or not same["cost"] < single:
        return ""
    low = f"{same['low']:.3g}" if same["low"] is not None else f"{same['cost']:.3g}"
    ends = f"{low} to {same['high']:.3g}" if same["high"] is not None else f"from {low}, with no upper end"
    return (
        f" The mean response of {brief(found.single)} costs {same['cost']:.3g} per sample instead of "
        f"{single:.3g} ({percent(found.level)} CI {ends})."
    )


def _expected(found: Routing) -> str:
    row = found.ways.filter(pl.col("way") == found.way).row(0, named=True)
    ends = f" ({row['low']:.3f} to {row['high']:.3f})" if row["low"] is not None else ""
    return f" The route: mean response {row['quality']:.3f}{ends} at a cost of {row['cost']:.3g} per sample."


def _ways_grid(found: Routing) -> Grid:
    interval = f"{percent(found.level)} CI"
    ways = found.ways
    frame = ways.select(
        "way",
        "cost",
        "quality",
        pl.Series(interval, intervals(ways, "low", "high"), pl.String),
        "difference",
        pl.Series("CI of difference", intervals(ways, "difference_low", "difference_high"), pl.String),
        "p_value",
    )
    title = (
        f"At a budget of {found.budget:.4g} per sample: mean response on held-out samples, and "
        "difference from the best single learner"
    )
    return Grid(title, frame, fixed=("way", interval, "CI of difference"), spare=("p_value",))


def _frontier_grid(found: Routing, most: int) -> Grid:
    interval, over = f"{percent(found.level)} CI", "CI of gain"
    rows = found.frontier.filter(pl.col("way") == found.way)
    taken = np.unique(np.linspace(0, rows.height - 1, max(most, 2)).round().astype(int))
    rows = rows[taken]
    beside = {
        way: found.frontier.filter(pl.col("way") == way)["quality"].gather(taken) for way in (MIXING, ORACLE)
    }
    frame = rows.select(
        "budget",
        pl.col("quality").alias(found.way),
        pl.Series(interval, intervals(rows, "low", "high"), pl.String),
        beside[MIXING].alias(MIXING),
        pl.col("over_mixing").alias("gain"),
        pl.Series(over, intervals(rows, "over_mixing_low", "over_mixing_high"), pl.String),
        beside[ORACLE].alias(ORACLE),
    )
    return Grid("What a budget per sample buys, on held-out samples", frame, fixed=(interval, over))


def _apgr_grid(found: Routing) -> Grid:
    interval = f"{percent(found.level)} CI"
    frame = found.apgr.select(
        "way", "apgr", pl.Series(interval, intervals(found.apgr, "low", "high"), pl.String)
    )
    title = (
        f"Share of the gap between {brief(found.weak)} and {brief(found.single)} that is recovered, averaged "
        "over budgets (APGR)"
    )
    return Grid(title, frame, fixed=("way", interval))


def _learners_grid(found: Routing) -> Grid:
    interval, most = f"{percent(found.level)} CI", 10
    rows = found.learners.head(most)
    frame = rows.select(
        "learner", "cost", "mean", pl.Series(interval, intervals(rows, "low", "high"), pl.String), "share"
    )
    more = f", the first {most} of {found.learners.height}" if found.learners.height > most else ""
    return Grid(
        f"Learners{more}; share is the part of the samples that the route gives them", frame, (interval,)
    )


def _tasks_grid(found: Routing, most: int) -> Grid:
    interval = f"{percent(found.level)} CI"
    rows = found.tasks.sort(pl.col("difference").round(9), descending=True, maintain_order=True).head(most)
    frame = rows.select(
        "task", "samples", "learner", "quality", "single", "difference",
        pl.Series(interval, intervals(rows, "low", "high"), pl.String), "holm_p",
    )  # fmt: skip
    more = f", the first {most} of {found.tasks.height}" if found.tasks.height > most else ""
    title = f"Tasks by their difference from the best single learner, held-out samples{more}"
    return Grid(title, frame, fixed=(interval,), spare=("single", "samples"))


def _portfolio_grid(found: Routing) -> Grid:
    of = found.portfolios
    names = [", ".join(map(brief, row)) for row in of["learners"].to_list()]
    frame = of.select(
        "size", pl.Series("learners", names, pl.String), "oracle",
        pl.Series("CI", intervals(of, "oracle_low", "oracle_high"), pl.String), "routed",
        pl.Series("CI of routed", intervals(of, "routed_low", "routed_high"), pl.String),
    )  # fmt: skip
    title = "The best portfolio of each size: an oracle's choice within it, and the choice per sample"
    return Grid(title, frame, fixed=("CI", "CI of routed"))
