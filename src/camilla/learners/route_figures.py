"""The tables of a route: each figure a mean over held-out samples of all partitions, with its interval."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.learners.frontier import chosen_at, path_of
from camilla.learners.routed import (
    CASCADE,
    MIXING,
    ORACLE,
    ROUTED,
    Fold,
    Partition,
    Problem,
    Recovery,
    in_order,
    portfolio_order,
    portfolio_rows,
    recovery,
)
from camilla.learners.routing import SINGLE
from camilla.learners.saved_route import cascade_costs
from camilla.statistics.clusters import MeanSpread, spread_of
from camilla.statistics.intervals import mean_ends, student
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import student_p
from camilla.statistics.partitions import over_partitions
from camilla.table.cells import zero_or_one

FRONTIER_WAYS = (ROUTED, CASCADE, MIXING, ORACLE)
Row = dict[str, float | None]


class Judge(NamedTuple):
    """Means of held-out samples with their intervals; `values` has one row of samples per partition."""

    group: NDArray[np.integer] | None
    level: float

    def spread(self, values: Sequence[Floats]) -> MeanSpread:
        """The mean, and how sure it is, with what another deal of the samples changes."""
        return over_partitions([spread_of(one, self.group) for one in values])

    def quality(self, values: Sequence[Floats]) -> Row:
        """Mean, low, high of values in [0, 1]."""
        spread = self.spread(values)
        counted = np.array(all(zero_or_one(one).all() for one in values))
        exact = counted & (self.group is None) & (len(values) == 1)
        ends = mean_ends(spread.mean, spread.variance, spread.units, spread.df, exact, self.level, counted)
        return _row(float(spread.mean), float(ends.low), float(ends.high), "quality", "low", "high")

    def difference(self, values: Sequence[Floats], names: tuple[str, ...]) -> Row:
        """Mean, low, high and, with a fourth name, the p-value of a mean of 0."""
        spread = self.spread(values)
        if all(not np.any(np.abs(one) > 1e-12) for one in values):  # the same on every sample
            row = _row(0.0, 0.0, 0.0, *names[:3])
        else:
            ends = student(spread.mean, np.sqrt(spread.variance), spread.df, self.level)
            row = _row(float(spread.mean), float(ends.low), float(ends.high), *names[:3])
        return row | {name: float(student_p(spread)) for name in names[3:]}


def _row(value: float, low: float, high: float, *names: str) -> Row:
    return {
        name: number if np.isfinite(number) else None
        for name, number in zip(names, (value, low, high), strict=True)
    }


def recovered(problem: Problem, parts: list[Partition], judge: Judge) -> pl.DataFrame:
    """The share of the gap that each way recovers, averaged over budgets."""
    rows = []
    for way in (ROUTED, CASCADE, MIXING, ORACLE):
        if way not in parts[0].curves.ways or (way == ROUTED and problem.features is None):
            continue
        of_parts = [recovery(problem, part.folds, part.curves, way) for part in parts]
        found = [one for one in of_parts if one is not None]
        if not found:
            continue
        shares = [_share(one) for one in found]
        rows.append({"way": way} | judge.difference(shares, ("apgr", "low", "high")))
    kinds = {"way": pl.String} | dict.fromkeys(("apgr", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema=kinds)


def _share(found: Recovery) -> Floats:
    """What each sample says of a ratio of two means, to first order (delta method)."""
    pushes = (found.influence - found.value * found.gap) / found.gap.mean()
    return np.asarray(found.value + pushes - pushes.mean())


def frontier_rows(parts: list[Partition], judge: Judge) -> pl.DataFrame:
    """What each way gets at each budget, and its gain over lots."""
    rows = []
    over = ("over_mixing", "over_mixing_low", "over_mixing_high")
    for way in FRONTIER_WAYS:
        if way not in parts[0].curves.ways:
            continue
        for at, budget in enumerate(parts[0].curves.budgets):
            values = [part.curves.ways[way].at_budget[at] for part in parts]
            gains = [
                one - part.curves.ways[MIXING].at_budget[at] for one, part in zip(values, parts, strict=True)
            ]
            rows.append(
                {"way": way, "budget": float(budget), "paid": _paid(parts, way, at)}
                | within_0_and_1(judge.difference(values, ("quality", "low", "high")))
                | judge.difference(gains, over)
            )
    kinds = {"way": pl.String} | dict.fromkeys(
        ("budget", "paid", "quality", "low", "high", *over), pl.Float64
    )
    return pl.DataFrame(rows, schema=kinds)


def _paid(parts: list[Partition], way: str, at: int) -> float:
    return float(np.mean([part.curves.ways[way].paid[at].mean() for part in parts]))


def within_0_and_1(row: Row) -> Row:
    """The same figures, none of them beyond what a mean response can be."""
    return {name: None if one is None else float(np.clip(one, 0, 1)) for name, one in row.items()}


def same_quality(parts: list[Partition], way: str, judge: Judge) -> dict[str, Any]:
    """The lowest budget at which a way is as good as the best single learner, by its difference."""
    names = ("difference", "low", "high")
    budgets = parts[0].curves.budgets
    rows = [judge.difference(over_single(parts, way, at), names) for at in range(len(budgets))]

    def lowest(name: str) -> float | None:
        return next(
            (float(budget) for budget, row in zip(budgets, rows, strict=True) if reaches(row[name])), None
        )

    def reaches(end: float | None) -> bool:
        return end is not None and end >= 0

    return {
        "single_cost": _single_cost(parts),
        "cost": lowest("difference"),
        "low": lowest("high"),
        "high": lowest("low"),
    }


def over_single(parts: list[Partition], way: str, at: int) -> list[Floats]:
    """What a way gets at a budget beyond the best single learner."""
    return [part.curves.ways[way].at_budget[at] - part.curves.single for part in parts]


def _single_cost(parts: list[Partition]) -> float:
    return float(np.mean([part.curves.single_cost.mean() for part in parts]))


def ways_at(parts: list[Partition], at: int, judge: Judge) -> pl.DataFrame:
    """Every way at one budget, beside the best single learner."""
    names = ("difference", "difference_low", "difference_high", "p_value")
    single = judge.quality([part.curves.single for part in parts])
    rows = [{"way": SINGLE, "cost": _single_cost(parts)} | single]
    for way in (MIXING, ROUTED, CASCADE, ORACLE):
        if way not in parts[0].curves.ways:
            continue
        row = {"way": way, "cost": _paid(parts, way, at)}
        row |= judge.quality([part.curves.ways[way].quality[at] for part in parts])
        if len(parts[0].curves.budgets) > 1 and way != MIXING:
            values = [part.curves.ways[way].at_budget[at] for part in parts]
            row |= within_0_and_1(judge.difference(values, ("quality", "low", "high")))
        rows.append(row | judge.difference(over_single(parts, way, at), names))
    columns = ("cost", "quality", "low", "high", *names)
    return pl.DataFrame(rows, schema={"way": pl.String} | dict.fromkeys(columns, pl.Float64))


def learner_rows(problem: Problem, shares: Floats, judge: Judge) -> pl.DataFrame:
    """Each learner's mean response, and which part of the samples the route gives it."""
    responses = problem.responses[:, problem.judged]
    rows = [
        {"learner": name, "cost": float(cost)} | judge.quality([row]) | {"share": float(share)}
        for name, cost, row, share in zip(problem.learners, problem.costs, responses, shares, strict=True)
    ]
    kinds = {"learner": pl.String} | dict.fromkeys(("cost", "quality", "low", "high", "share"), pl.Float64)
    frame = pl.DataFrame(rows, schema=kinds).rename({"quality": "mean"})
    return frame.sort(pl.col("share").round(9), pl.col("mean").round(9), descending=True, maintain_order=True)


def task_rows(problem: Problem, parts: list[Partition], way: str, at: int, judge: Judge) -> pl.DataFrame:
    """Of each task what the way gets at the budget, beside the best single learner; Holm is over tasks."""
    kinds: dict[str, Any] = {"task": pl.String, "samples": pl.Int64, "learner": pl.String}
    numbers = ("quality", "single", "difference", "low", "high", "holm_p")
    kinds |= dict.fromkeys(numbers, pl.Float64)
    if problem.features is None or not problem.task_column:
        return pl.DataFrame(schema=kinds)
    labels = problem.features.frame[problem.task_column].fill_null("").to_numpy()[problem.judged]
    budget = float(parts[0].curves.budgets[at])
    chosen = [_chosen(problem, part.folds, way, budget) for part in parts]
    quality = np.array([part.curves.ways[way].quality[at] for part in parts])
    single = np.array([part.curves.single for part in parts])
    rows = []
    for label in sorted(set(labels.tolist())):
        inside = labels == label
        group = None if judge.group is None else np.unique(judge.group[inside], return_inverse=True)[1]
        of_task = Judge(group, judge.level)
        gain = list(quality[:, inside] - single[:, inside])
        row = of_task.difference(gain, ("difference", "low", "high", "p"))
        counts = np.bincount(np.concatenate([one[inside] for one in chosen]))
        most = problem.learners[int(np.argmax(counts))]
        means = {"quality": float(quality[:, inside].mean()), "single": float(single[:, inside].mean())}
        rows.append({"task": label, "samples": int(inside.sum()), "learner": most} | means | row)
    adjusted = holm(np.array([1.0 if row["p"] is None else row["p"] for row in rows]))
    frame = pl.DataFrame(rows, schema=kinds | {"p": pl.Float64}).drop("p", "holm_p")
    return frame.with_columns(holm_p=pl.Series(adjusted, dtype=pl.Float64)).select(list(kinds))


def _chosen(problem: Problem, folds: list[Fold], way: str, budget: float) -> NDArray[np.integer]:
    """The learner of each judged sample at the price of the budget in its fold."""
    costs = cascade_costs(problem.costs, problem.first) if way == CASCADE else problem.costs
    out = []
    for fold in folds:
        expected = fold.cascade if way == CASCADE and fold.cascade is not None else fold.expected
        out.append(chosen_at(expected, costs, path_of(expected, costs).price(budget)))
    return in_order(folds, out)


def portfolio_frame(
    problem: Problem, parts: list[Partition], sizes: tuple[int, ...], judge: Judge
) -> pl.DataFrame:
    """Of each size what its oracle and its choice per sample get, and the members that all samples choose."""
    kinds: dict[str, Any] = {"size": pl.Int64, "learners": pl.List(pl.String)}
    ends = ("", "_low", "_high")
    kinds |= {f"{name}{end}": pl.Float64 for name in ("oracle", "routed", "gain") for end in ends}
    order = portfolio_order(problem.responses[:, problem.judged], max(sizes, default=1))
    rows = []
    for size in sizes:
        found = [portfolio_rows(problem, part.folds, size) for part in parts]
        row: dict[str, Any] = {"size": size, "learners": [problem.learners[i] for i in order[:size]]}
        for name in ("oracle", "routed"):
            one = judge.quality([row[name] for row in found])
            row |= {name: one["quality"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
        gains = [values["routed"] - part.curves.single for values, part in zip(found, parts, strict=True)]
        row |= judge.difference(gains, ("gain", "gain_low", "gain_high"))
        rows.append(row)
    return pl.DataFrame(rows, schema=kinds)
