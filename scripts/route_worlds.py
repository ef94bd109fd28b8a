"""Worlds in which what a route gains is known: how often its intervals hold it, and what is called better.

Responses are right with probability σ(level of the learner + ease of the sample + what the features say).
What they say is strength × tanh of a direction of five numbers, another one for each learner; in worlds of
tasks it is strength × a normal number for each learner and task. In worlds of clusters ten samples share
their ease, most of their features, and what each learner finds easy.

The truth is that of the route made of all samples of the table, on many samples more: its gain over lots at
the same cost, averaged over budgets (where all cost the same: its gain over the best single learner of the
table); its APGR; its mean response at the budget in the middle.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

import camilla
from camilla.learners.costs import costs_of
from camilla.learners.expected import METHODS
from camilla.learners.frontier import budgets_between, mixture_of, path_of
from camilla.learners.routed import ROUTED, Problem, best_single, fit_on, problem_of
from camilla.learners.routing import Routing
from camilla.table.responses import ResponseTable

FIGURES = ("gain", "apgr", "middle")
NUMBERS = 5
FEWEST_PEOPLE = 10_000  # samples on which the truth is found
JUDGED_FROM = 1000  # seeds; how intervals are made was settled on lower ones


@dataclass(frozen=True)
class World:
    """How responses come about."""

    costs: tuple[float, ...]
    strength: float
    tasks: int = 0
    of_cluster: int = 0

    @property
    def learners(self) -> int:
        return len(self.costs)

    @property
    def level(self) -> Any:
        if len(set(self.costs)) == 1:
            return np.full(self.learners, 0.3)
        return np.linspace(-0.4, 0.6, self.learners)

    def drawn(self, rng: np.random.Generator, n: int) -> tuple[ResponseTable, Any]:
        """A table, and the chance of each response, both in the order of the samples' names."""
        own = np.random.default_rng(5 + self.learners + NUMBERS + self.tasks)
        direction = own.normal(size=(self.learners, NUMBERS))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        of_task = own.normal(size=(self.learners, max(self.tasks, 1)))
        x, ease = rng.normal(size=(n, NUMBERS)), 0.8 * rng.normal(size=n)
        cluster = None
        if self.of_cluster:
            cluster = np.arange(n) // self.of_cluster
            count = int(cluster.max()) + 1
            x = np.sqrt(0.7) * rng.normal(size=(count, NUMBERS))[cluster] + np.sqrt(0.3) * x
            ease = 0.8 * rng.normal(size=count)[cluster]
            ease = ease + 0.5 * rng.normal(size=(count, self.learners))[cluster].T
        task = rng.integers(0, max(self.tasks, 1), n)
        said = of_task[:, task] if self.tasks else np.tanh(direction @ x.T)
        p = 1 / (1 + np.exp(-(self.level[:, None] + ease + self.strength * said)))
        samples = [f"s{k:06d}" for k in range(n)]
        table = ResponseTable.from_matrix(
            (rng.random(p.shape) < p).astype(float),
            learners=[f"m{k}" for k in range(self.learners)], samples=samples,
        )  # fmt: skip
        if cluster is not None:
            table = replace(table, cluster=tuple(f"g{k:06d}" for k in cluster))
        if self.tasks:
            return replace(table, task=tuple(f"t{k:02d}" for k in task)), p
        columns = {f"x{k}": x[:, k] for k in range(NUMBERS)}
        return table.with_features(samples=pl.DataFrame({"sample": samples, **columns})), p


TWO, FIVE, TEN = (1.0, 10.0), (1.0, 2.0, 4.0, 7.0, 10.0), (1.0,) * 10
KINDS = {
    "two learners, strong features": World(TWO, 0.8),
    "two learners, weak features": World(TWO, 0.25),
    "two learners, useless features": World(TWO, 0.0),
    "five learners, strong features": World(FIVE, 1.0),
    "five learners, weak features": World(FIVE, 0.3),
    "five learners, 8 tasks": World(FIVE, 0.5, tasks=8),
    "three equals, strong features": World((1.0,) * 3, 0.8),
    "ten equals, weak features": World(TEN, 0.3),
    "ten equals, useless features": World(TEN, 0.0),
    "ten equals, 12 tasks": World(TEN, 0.5, tasks=12),
    "two learners, strong features, clusters of 10": World(TWO, 0.8, of_cluster=10),
    "five learners, weak features, clusters of 10": World(FIVE, 0.3, of_cluster=10),
}
SIZES = dict.fromkeys(KINDS, (400,)) | {
    "two learners, strong features": (200, 400, 2000, 5000),
    "five learners, weak features": (200, 400, 2000),
    "ten equals, 12 tasks": (400, 2000),
    "two learners, useless features": (400, 2000),
    "two learners, strong features, clusters of 10": (1000,),
    "five learners, weak features, clusters of 10": (1000,),
}
WORLDS = {f"{kind}, {n:,} samples": (KINDS[kind], n) for kind, sizes in SIZES.items() for n in sizes}
WITHOUT_GAIN = [name for name in WORLDS if "useless" in name]


def truth(world: World, problem: Problem, found: Routing, seed: int) -> dict[str, float]:
    """What the route made of all these samples does in truth."""
    rng = np.random.default_rng([seed, 1])
    fit = fit_on(problem, np.arange(len(problem.samples)), rng, METHODS)
    n = max(FEWEST_PEOPLE, 5 * len(problem.samples))
    table, p = world.drawn(np.random.default_rng([seed, n, 1]), n)
    costs = problem.costs
    many = problem_of(table, costs_of(_named(world), table.learners, table.samples), None, None)
    expected = fit.expectation.expected(many.known(fit.sight, np.arange(n)))
    weak, strong = (problem.learners.index(name) for name in (found.weak, found.single))
    low, high = float(costs[weak]), float(costs[strong])
    if not high > low:
        chosen = path_of(expected, costs).earned(p, np.array([found.frontier["budget"].max()]))[0].mean()
        single = best_single(fit.expectation.means, costs)
        return {"gain": float(chosen - p[single].mean()), "middle": float(chosen)}
    path, budgets = path_of(expected, costs), budgets_between(low, high, len(problem.samples))
    lots = mixture_of(fit.expectation.means, costs).weights(budgets, len(costs)) @ p.mean(axis=1)
    spent = path_of(expected, costs, strong).mean_over_budgets(p, low, high).mean()
    return {
        "gain": float((path.earned(p, budgets).mean(axis=1) - lots).mean()),
        "apgr": float((spent - p[weak].mean()) / (p[strong].mean() - p[weak].mean())),
        "middle": float(path.earned(p, np.array([_middle(found)]))[0].mean()),
    }


def _named(world: World) -> dict[str, float]:
    return {f"m{k}": cost for k, cost in enumerate(world.costs)}


def _middle(found: Routing) -> float:
    """The budget of the frontier in the middle between the cheapest and the best single learner."""
    budgets = found.frontier["budget"].unique().sort().to_numpy()
    ends = found.gain["budgets"] or [float(budgets[-1])]
    return float(budgets[np.argmin(np.abs(budgets - np.mean(ends)))])


def told(found: Routing) -> dict[str, dict[str, Any]]:
    """The figures of a route with their intervals."""
    gain = {"value": found.gain["difference"], "low": found.gain["low"], "high": found.gain["high"]}
    rows = found.frontier.filter((pl.col("way") == ROUTED) & (pl.col("budget") == _middle(found)))
    row = rows.row(0, named=True)
    out = {"gain": gain, "middle": {"value": row["quality"], "low": row["low"], "high": row["high"]}}
    for one in found.apgr.filter(pl.col("way") == ROUTED).to_dicts():
        out["apgr"] = {"value": one["apgr"], "low": one["low"], "high": one["high"]}
    return out


def judged(name: str, seed: int) -> dict[str, Any]:
    """One table: what is told, what is true, whether choosing is called better or worse."""
    world, n = WORLDS[name]
    table, _ = world.drawn(np.random.default_rng([seed, n]), n)
    costs = _named(world)
    found = camilla.route(table, costs=costs, seed=seed, portfolio=(), progress=False)
    ordered = table.canonical().table
    problem = problem_of(ordered, costs_of(costs, ordered.learners, ordered.samples), None, None)
    right, said = truth(world, problem, found, seed), told(found)
    p, difference = found.gain["p_value"], found.gain["difference"]
    return {
        "better": found.better, "worse": bool(p < 0.05 and difference < 0), "p": p,
        "figures": {key: said[key] | {"truth": right[key]} for key in said if key in right},
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts and means over tables."""
    out: dict[str, Any] = {"tables": len(rows)}
    out |= {key: sum(row[key] for row in rows) for key in ("better", "worse")}
    disagree = [
        (row["p"] < 0.05) != (not one["low"] - 1e-9 <= 0 <= one["high"] + 1e-9)
        for row in rows
        for one in [row["figures"]["gain"]]
    ]
    out["p_and_interval_disagree"] = sum(disagree)
    for key in FIGURES:
        known = [row["figures"][key] for row in rows if key in row["figures"]]
        if not known:
            continue
        held = [one["low"] - 1e-9 <= one["truth"] <= one["high"] + 1e-9 for one in known]
        out[key] = {
            "tables": len(known), "held": sum(held),
            "above": sum(one["truth"] > one["high"] + 1e-9 for one in known),
            "value": float(np.mean([one["value"] for one in known])),
            "truth": float(np.mean([one["truth"] for one in known])),
            "width": float(np.mean([one["high"] - one["low"] for one in known])),
        }  # fmt: skip
    return out
