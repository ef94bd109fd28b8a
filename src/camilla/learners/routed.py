"""Routes on samples that had no part in making them: cross-fitted choices, and what every budget buys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, rounded
from camilla.display import counted
from camilla.errors import DataError
from camilla.learners.costs import Costs
from camilla.learners.expected import Expectation, Known, fit_expectation
from camilla.learners.frontier import (
    Path,
    at_fixed_cost,
    budgets_between,
    chosen_at,
    mixture_of,
    path_of,
)
from camilla.learners.saved_route import Sight, cascade_costs, sight_of, with_confidence, with_lengths
from camilla.learners.votes import dealt
from camilla.table.features import Features, Kind
from camilla.table.responses import ResponseTable

Indices = NDArray[np.int64]
FEWEST_UNITS = 20  # samples or clusters; with fewer, what is held out says nothing
LEAST_ANSWERED = 0.5  # of the samples, by a learner that can be chosen
TASK_COLUMNS = ("task", "skill")  # categories whose means are methods of their own
MIXING, ROUTED, CASCADE, ORACLE = "random mixing", "chosen by sample", "cascade", "oracle"


@dataclass(frozen=True)
class Problem:
    """What is to be routed: learners that can be chosen, samples, costs, and what is known of samples."""

    learners: tuple[str, ...]
    samples: tuple[str, ...]
    responses: Floats  # [learners, samples], NaN where missing
    costs: Floats  # [learners]
    cost_cells: Floats  # [learners, samples]
    features: Features | None
    task_column: str
    units: Indices  # [samples], samples of a cluster share one
    group: Indices | None  # None without clusters
    judged: Indices  # samples that all these learners answered
    confidence: Floats | None  # of the first learner of a cascade, [samples]
    first: int  # that learner, −1 without a cascade
    notes: tuple[str, ...]

    def sight(self, rows: Indices) -> Sight:
        """How to see samples, learned from some."""
        if self.features is None:
            return Sight(None, (), "")
        return sight_of(self.features, self.task_column, rows)

    def known(self, sight: Sight, rows: Indices) -> Known:
        """What is known of some samples."""
        if self.features is None or (sight.encoder is None and not sight.task_column):
            return sight.nothing(len(rows))
        return sight.known(self.features, rows)


def problem_of(ordered: ResponseTable, costs: Costs, confidence: Floats | None, first: str | None) -> Problem:
    """The learners that answered at least half of the samples, and what is known of these."""
    matrix = ordered.matrix()
    active = np.flatnonzero((~np.isnan(matrix)).mean(axis=1) >= LEAST_ANSWERED)
    notes = []
    if gone := ordered.n_learners - len(active):
        notes.append(f"{counted(gone, 'learner')} with answers to less than half of the samples left out.")
    if len(active) < 2:
        raise DataError(
            f"{counted(len(active), 'learner')} answered at least half of the {ordered.n_samples} samples; a "
            "route chooses between two at least."
        )
    matrix = matrix[active]
    judged = np.flatnonzero(~np.isnan(matrix).any(axis=0))
    units, group = np.arange(ordered.n_samples), None
    if ordered.cluster is not None:
        units = group = np.unique(ordered.cluster, return_inverse=True)[1].astype(np.int64)
    n_units = len(np.unique(units[judged]))
    if n_units < FEWEST_UNITS:
        units_came = counted(n_units, "sample" if group is None else "cluster")
        raise DataError(
            f"{units_came} {'was' if n_units == 1 else 'were'} answered by all {len(active)} learners; "
            f"evaluating a route on held-out samples takes at least {FEWEST_UNITS}."
        )
    if skipped := ordered.n_samples - len(judged):
        notes.append(
            f"{counted(skipped, 'sample')} that some learner did not answer are used to fit, not to evaluate."
        )
    learners = tuple(ordered.learners[i] for i in active)
    described = _described(ordered)
    asked = _first(learners, costs.mean[active], confidence, active, first)
    return Problem(
        learners, ordered.samples, matrix, costs.mean[active], costs.cells[active], described.features,
        described.task_column, units, group, judged,
        None if confidence is None or asked < 0 else confidence[active[asked]], asked,
        (*notes, *described.notes),
    )  # fmt: skip


class _Described(NamedTuple):
    features: Features | None
    task_column: str
    notes: tuple[str, ...]


def _described(table: ResponseTable) -> _Described:
    """Features with the length of texts, and beside them the tasks and skills of the table."""
    given = None if table.sample_features is None else with_lengths(table.sample_features)
    columns = _columns_of(table)
    clash = [] if given is None else [name for name in columns if name in given.kinds]
    notes = [f"{name!r} is a feature and the table's own; the feature is used." for name in clash]
    own = {name: one for name, one in columns.items() if name not in clash}
    features = given
    if own:
        kinds: dict[str, Kind] = {
            name: "category" if isinstance(values[0], str) else "number" for name, values in own.items()
        }
        beside = Features(table.samples, pl.DataFrame(own), kinds)
        features = beside if given is None else given.beside(beside)
    tasks = [name for name in TASK_COLUMNS if features and features.kinds.get(name) == "category"]
    return _Described(features, tasks[0] if tasks else "", tuple(notes))


def _columns_of(table: ResponseTable) -> dict[str, list[str] | list[float]]:
    """The task of each sample, and its skill where it needs one alone, else 0 or 1 for each skill."""
    columns: dict[str, list[str] | list[float]] = {}
    if table.task is not None and len(set(table.task)) > 1:
        columns["task"] = list(table.task)
    if table.skill_map is None:
        return columns
    mask, skills = table.skill_map.mask.astype(np.float64), table.skill_map.skills
    if len(skills) > 1 and (mask.sum(axis=1) == 1).all():
        return columns | {"skill": [skills[k] for k in mask.argmax(axis=1)]}
    return columns | {name: mask[:, k].tolist() for k, name in enumerate(skills) if np.ptp(mask[:, k]) > 0}


def _first(
    learners: tuple[str, ...], costs: Floats, confidence: Floats | None, active: Indices, first: str | None
) -> int:
    """The first learner of a cascade: the one named, or the cheapest with enough confidences."""
    if confidence is None:
        return -1
    known = (~np.isnan(confidence[active])).mean(axis=1) >= LEAST_ANSWERED
    if first is not None:
        at = learners.index(first) if first in learners else -1
        if at < 0 or not known[at]:
            raise DataError(
                f"learner {first!r} has no confidence for at least half of the samples; the first learner of "
                "a cascade needs one."
            )
        return at
    if not known.any():
        raise DataError("no learner has a confidence for at least half of the samples; a cascade needs one.")
    return int(min(np.flatnonzero(known), key=lambda i: (costs[i], i)))


class Fold(NamedTuple):
    """Samples, and what those outside them say of them."""

    inside: Indices  # those judged, into the samples of the problem
    expected: Floats  # [learners, inside]
    cascade: Floats | None  # the same, given the confidence of the first learner
    means: Floats  # of learners, outside
    coverage: Indices  # learners in the order in which a portfolio takes them, by what one of them gets right
    portfolio: Indices  # and by what is expected of the best of them


def in_order(folds: "Sequence[Fold]", parts: Sequence[Floats]) -> Floats:
    """What the folds say of their samples, [..., samples], in the order of the samples."""
    order = np.argsort(np.concatenate([one.inside for one in folds]), kind="stable")
    return np.concatenate(list(parts), axis=-1)[..., order]


class Fit(NamedTuple):
    """What some samples make."""

    sight: Sight
    expectation: Expectation
    cascade: Expectation | None
    middle: tuple[float, float]  # mean and standard deviation of the confidence


def fit_on(problem: Problem, rows: Indices, rng: np.random.Generator, methods: Sequence[str]) -> Fit:
    """Expected responses from these samples."""
    sight = problem.sight(rows)
    known, responses, units = problem.known(sight, rows), problem.responses[:, rows], problem.units[rows]
    expectation = fit_expectation(known, responses, units, rng, methods)
    if problem.confidence is None:
        return Fit(sight, expectation, None, (0.0, 1.0))
    sure = problem.confidence[rows]
    spread = float(np.nanstd(sure))
    middle = (float(np.nanmean(sure)), spread if spread > 0 else 1.0)
    more = with_confidence(known, sure, middle)
    wanted = tuple(dict.fromkeys((*methods, "regression")))
    return Fit(sight, expectation, fit_expectation(more, responses, units, rng, wanted), middle)


def cross_fitted(
    problem: Problem, folds: int, most: int, methods: Sequence[str], seed: int, watch: Watch,
    partition: int = 0,
) -> list[Fold]:  # fmt: skip
    """Every sample by a fit on the other folds; portfolios have up to `most` learners.

    Each partition deals the samples anew.
    """
    rng = np.random.default_rng([seed, 2 * partition])
    numbers = np.unique(problem.units, return_inverse=True)[1]
    fold = dealt(numbers, folds, rng)
    is_judged = np.zeros(len(fold), bool)
    is_judged[problem.judged] = True
    out = []
    for number in range(folds):
        watch(f"fold {number + 1} of {folds}")
        inside = np.flatnonzero((fold == number) & is_judged)
        outside = np.flatnonzero(fold != number)
        if not len(inside):
            continue
        fit = fit_on(problem, outside, rng, methods)
        known = problem.known(fit.sight, inside)
        cascade = None
        if fit.cascade is not None and problem.confidence is not None:
            cascade = fit.cascade.expected(with_confidence(known, problem.confidence[inside], fit.middle))
        seen = np.intersect1d(outside, problem.judged)
        own = fit.expectation.expected(problem.known(fit.sight, seen))
        out.append(
            Fold(
                inside, fit.expectation.expected(known), cascade, fit.expectation.means,
                portfolio_order(problem.responses[:, seen], most), portfolio_order(own, most),
            )
        )  # fmt: skip
    return out


def portfolio_order(worth: Floats, most: int) -> Indices:
    """Learners in the order taken, each adding most to the mean of the best one's worth on each sample."""
    taken: list[int] = []
    best = np.zeros(worth.shape[1])
    for _ in range(min(most, len(worth))):
        gain = rounded(np.maximum(worth - best, 0).mean(axis=1)) if taken else rounded(worth.mean(axis=1))
        if taken and gain.max() <= 0:  # nobody adds: the next best by itself
            gain = rounded(worth.mean(axis=1))
        gain[taken] = -np.inf
        taken.append(int(np.argmax(gain)))
        best = np.maximum(best, worth[taken[-1]]) if len(taken) > 1 else worth[taken[0]]
    return np.array(taken, np.int64)


class Curve(NamedTuple):
    """A way at every budget, on held-out samples: [budgets, judged samples]."""

    quality: Floats
    paid: Floats  # by the costs of each sample
    at_budget: Floats  # quality, corrected for what a sample does to the price of the budget

    def between(self, budgets: Floats, low: float, high: float) -> Floats:
        """What each sample says of the quality, averaged over the budgets from low to high."""
        inside = (budgets >= low - 1e-12) & (budgets <= high + 1e-12)
        return np.asarray(self.at_budget[inside].mean(axis=0))


class Curves(NamedTuple):
    """All ways at the same budgets; columns are the judged samples."""

    budgets: Floats
    ways: dict[str, Curve]
    single: Floats  # [samples], the response of the best single learner of the other folds
    single_cost: Floats
    weak: int  # the best learner of the lowest cost, on all samples
    strong: int  # the best single learner, on all samples


class Partition(NamedTuple):
    """Samples dealt into folds once, and what the routes of these folds do."""

    folds: list[Fold]
    curves: Curves


def curves_of(problem: Problem, folds: list[Fold], budget: float | None) -> Curves:
    """Every way at budgets from the lowest cost to the highest that buys anything, and at `budget`."""
    (only,) = partitions_of(problem, [folds], budget)
    return only.curves


def partitions_of(problem: Problem, dealt_folds: list[list[Fold]], budget: float | None) -> list[Partition]:
    """The same of several partitions, all at the same budgets."""
    paths = [_paths(problem, folds) for folds in dealt_folds]
    samples = np.sort(np.concatenate([one.inside for one in dealt_folds[0]]))
    means, costs = problem.responses[:, samples].mean(axis=1), problem.costs
    weak, strong = int(mixture_of(means, costs).learners[0]), best_single(means, costs)
    bought = [one.cost[-1] for some in paths for way in (ROUTED, CASCADE) for one in some.get(way, [])]
    n_columns = len(samples) * len(dealt_folds)
    budgets = budgets_between(float(costs.min()), float(max(costs[strong], *bought)), n_columns)
    if budget is not None:
        budgets = np.unique(np.append(budgets, budget))
    return [
        Partition(folds, _curves(problem, folds, of_folds, budgets, (weak, strong)))
        for folds, of_folds in zip(dealt_folds, paths, strict=True)
    ]


def _paths(problem: Problem, folds: list[Fold]) -> dict[str, list[Path]]:
    paths = {ROUTED: [path_of(one.expected, problem.costs) for one in folds]}
    if problem.first >= 0:
        through = cascade_costs(problem.costs, problem.first)
        paths[CASCADE] = [path_of(one.cascade, through) for one in folds if one.cascade is not None]
    paths[ORACLE] = [path_of(problem.responses[:, one.inside], problem.costs) for one in folds]
    return paths


def _curves(
    problem: Problem, folds: list[Fold], paths: dict[str, list[Path]], budgets: Floats, ends: tuple[int, int]
) -> Curves:
    ways = {MIXING: _mixed(problem, folds, budgets)}
    for way, of_folds in paths.items():
        ways[way] = _curve(problem, folds, of_folds, budgets, is_cascade=way == CASCADE)
    best = [best_single(one.means, problem.costs) for one in folds]
    chosen = list(zip(best, folds, strict=True))
    single = in_order(folds, [problem.responses[i, one.inside] for i, one in chosen])
    paid = in_order(folds, [problem.cost_cells[i, one.inside] for i, one in chosen])
    return Curves(budgets, ways, single, paid, *ends)


def best_single(means: Floats, costs: Floats) -> int:
    """The learner with the highest mean response; of equals the cheapest."""
    top = np.flatnonzero(rounded(means) >= rounded(means).max())
    return int(top[np.argmin(costs[top])])


def _curve(
    problem: Problem, folds: list[Fold], paths: list[Path], budgets: Floats, *, is_cascade: bool
) -> Curve:
    """A way over all folds, each with the prices that meet the budgets in it."""
    costs = cascade_costs(problem.costs, problem.first) if is_cascade else problem.costs
    quality, cost, paid = [], [], []
    for fold, path in zip(folds, paths, strict=True):
        inside = fold.inside
        cells = problem.cost_cells[:, inside]
        if is_cascade:
            cells = cells + cells[problem.first]
            cells[problem.first] = problem.cost_cells[problem.first, inside]
        quality.append(path.earned(problem.responses[:, inside], budgets))
        cost.append(path.earned(np.repeat(costs[:, None], len(inside), axis=1), budgets))
        paid.append(path.earned(cells, budgets))
    right, spent, bill = (in_order(folds, part) for part in (quality, cost, paid))
    end = max(float(path.cost[-1]) for path in paths)
    return Curve(right, bill, at_fixed_cost(right, budgets, spent, end))


def _mixed(problem: Problem, folds: list[Fold], budgets: Floats) -> Curve:
    """Lots between the learners that the other folds show to be worth their cost."""
    quality, paid = [], []
    for fold in folds:
        weights = mixture_of(fold.means, problem.costs).weights(budgets, len(problem.costs))
        quality.append(weights @ problem.responses[:, fold.inside])
        paid.append(weights @ problem.cost_cells[:, fold.inside])
    right, bill = (in_order(folds, part) for part in (quality, paid))
    return Curve(right, bill, right)


class Recovery(NamedTuple):
    """APGR: of each sample what it adds, and the two ends; the figure is mean(between)/mean(gap)."""

    between: Floats  # averaged over budgets, less the weak learner's response
    influence: Floats  # the same, corrected for what a sample does to the price of each budget
    gap: Floats  # the strong learner's response less the weak one's

    @property
    def value(self) -> float:
        return float(self.between.mean() / self.gap.mean())


def recovery(problem: Problem, folds: list[Fold], curves: Curves, way: str) -> Recovery | None:
    """The share of the gap between weak and strong that is recovered, averaged over budgets.

    None where the best single learner is the cheapest. Budgets are spent to the last: at the highest one the
    strong learner answers every sample.
    """
    weak, strong = curves.weak, curves.strong
    costs = cascade_costs(problem.costs, problem.first) if way == CASCADE else problem.costs
    low, high = float(problem.costs[weak]), float(problem.costs[strong])
    responses = problem.responses[:, problem.judged]
    gap = responses[strong] - responses[weak]
    if high <= low or not rounded(gap.mean()) > 0:
        return None
    if way == MIXING:
        return _of_lots(problem, folds, responses[weak], gap, (low, high))
    exact, quality, cost = [], [], []
    budgets = budgets_between(low, high, responses.shape[1])
    for fold in folds:
        inside = problem.responses[:, fold.inside]
        expected = {ORACLE: inside, CASCADE: fold.cascade}.get(way, fold.expected)
        if expected is None:
            return None
        path = path_of(expected, costs, None if way == CASCADE else strong)
        exact.append(path.mean_over_budgets(inside, low, high))
        quality.append(path.earned(inside, budgets))
        cost.append(path.earned(np.repeat(costs[:, None], inside.shape[1], axis=1), budgets))
    corrected = at_fixed_cost(in_order(folds, quality), budgets, in_order(folds, cost))
    weak_responses = responses[weak]
    return Recovery(in_order(folds, exact) - weak_responses, corrected.mean(axis=0) - weak_responses, gap)


def _of_lots(
    problem: Problem, folds: list[Fold], weak: Floats, gap: Floats, ends: tuple[float, float]
) -> Recovery:
    """Lots at every budget: straight between the corners of the hull, so that trapezes are exact."""
    parts = []
    for fold in folds:
        mixture = mixture_of(fold.means, problem.costs)
        inside = mixture.cost[(mixture.cost > ends[0]) & (mixture.cost < ends[1])]
        nodes = np.concatenate(([ends[0]], inside, [ends[1]]))
        earned = mixture.weights(nodes, len(problem.costs)) @ problem.responses[:, fold.inside]
        parts.append(np.trapezoid(earned, nodes, axis=0) / (ends[1] - ends[0]))
    between = in_order(folds, parts) - weak
    return Recovery(between, between, gap)


def portfolio_rows(problem: Problem, folds: list[Fold], size: int) -> dict[str, Floats]:
    """What a portfolio of this size gets on held-out samples: by oracle, and by the choice per sample."""
    free = np.zeros(len(problem.costs))
    oracle, routed = [], []
    for fold in folds:
        inside = problem.responses[:, fold.inside]
        oracle.append(inside[fold.coverage[:size]].max(axis=0))
        members = fold.portfolio[:size]
        chosen = chosen_at(fold.expected[members], free[members], 0.0)
        routed.append(inside[members[chosen], np.arange(inside.shape[1])])
    return {"oracle": in_order(folds, oracle), "routed": in_order(folds, routed)}
