"""Which learner should answer each sample, at what cost: chosen on some samples and judged on others."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.arrays import Floats, Watch, one_blas_thread
from camilla.display import watching
from camilla.errors import DataError, SettingError
from camilla.learners.costs import confidences_of, costs_of
from camilla.learners.expected import METHODS
from camilla.learners.frontier import Path, path_of
from camilla.learners.route_figures import (
    Judge,
    frontier_rows,
    learner_rows,
    over_single,
    portfolio_frame,
    recovered,
    same_quality,
    task_rows,
    ways_at,
)
from camilla.learners.routed import (
    CASCADE,
    MIXING,
    ROUTED,
    Curves,
    Partition,
    Problem,
    best_single,
    cross_fitted,
    fit_on,
    partitions_of,
    problem_of,
)
from camilla.learners.routing import SINGLE, Routing
from camilla.learners.saved_route import Route, cascade_costs
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

PORTFOLIOS = (2, 3)
NAMES = {ROUTED: "by sample", CASCADE: "cascade"}
PARTITIONS = ((5_000, 5),)  # samples up to which they are dealt so often
FEWEST_PARTITIONS = 3  # of more samples


class Settings(NamedTuple):
    """What was asked for."""

    budget: float | None
    quality: float | None
    portfolio: tuple[int, ...]
    methods: tuple[str, ...]
    folds: int
    partitions: int | None
    level: float
    seed: int


def route(
    table: TableLike, *, rows: WideRows | None = None, costs: Any = None, features: Any = None,
    confidence: Any = None, first: str | None = None, budget: float | None = None,
    quality: float | None = None, portfolio: Sequence[int] = PORTFOLIOS, methods: Sequence[str] = METHODS,
    folds: int = 5, partitions: int | None = None, level: float = 0.95, seed: int = 0,
    progress: bool | None = None, watch: Watch | None = None,
) -> Routing:  # fmt: skip
    """Finds which learner should answer each sample, at what cost, and whether choosing pays.

    Expected responses of every learner are predicted from what is known of a sample: its task or skills, and
    features. A sample goes to the learner with the largest expected response less price times cost. Samples
    are dealt into folds; each is judged by a route made on the others, beside the best single learner, lots
    between learners at the same cost, and an oracle that knows all responses.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        Responses of two learners or more.
    rows : {"samples", "learners"}, optional
        What the rows of a wide table are.
    costs : mapping, str, path or dataframe, optional
        Cost of an answer of each learner: {name: cost}, "name=cost,name=cost", or a table with the columns
        learner and cost. With a column sample, costs are those of single answers: their means decide, and
        what was paid is reported. Without costs all answers cost 1.
    features : path, dataframe, Features or list of them, optional
        What is known of samples before they are answered, see `ResponseTable.with_features`. Tasks and skills
        of the table are used too.
    confidence : path or dataframe, optional
        How sure learners were of their answers: columns learner, sample and confidence, or FILE:column. It
        makes a cascade possible: one learner is asked first, and another where that answer is doubtful.
    first : str, optional
        The first learner of a cascade; by default the cheapest one with confidences.
    budget : float, optional
        Mean cost per sample that may be spent.
    quality : float, optional
        Mean response to reach at the lowest cost. With neither, it is that of the best single learner; where
        all learners cost the same, the highest mean response is looked for.
    portfolio : sequence of int
        Sizes of portfolios to choose: the best k learners to keep.
    methods : sequence of {"tasks", "regression", "neighbours"}
        How responses may be predicted; weights are chosen by cross-fitting.
    folds : int
        Parts of the samples; samples of a cluster stay together.
    partitions : int, optional
        How often samples are dealt into folds. By default 5 times, and 3 times where there are more than
        5,000. With one, intervals do not know how much another deal changes routes, and are too narrow.
    level : float
        Coverage of intervals; 1 − level is the error rate of the test.
    seed : int
        Deals the samples.
    progress : bool, optional
        A line on standard error while it runs: True at once, False never, None after two seconds on a
        terminal or in a notebook.
    watch : callable, optional
        Takes the lines of progress instead.

    Returns
    -------
    Routing
        `route` (save it, apply it), `better`, `frontier`, `ways`, `apgr`, `portfolios`, `answer`, `notes`.

    Raises
    ------
    DataError
        A learner has no cost or a negative one, nothing is known of samples, too few samples were answered
        by all learners, or no route reaches the quality.

    Examples
    --------
    >>> import camilla
    >>> table = camilla.digits()
    >>> table = table.take_learners([table.learners.index(name) for name in ("knn 1", "sgd")])
    >>> routing = camilla.route(table, costs={"knn 1": 5, "sgd": 1}, methods=["tasks"])
    >>> routing.single, routing.weak
    ('knn 1', 'sgd')
    >>> routing.route.choose({"skill": "3"})["learner"].to_list()
    ['knn 1']
    """
    asked = Settings(
        budget, quality, tuple(sorted(set(portfolio))), tuple(methods), folds, partitions, level, seed
    )
    _check_settings(asked)
    responses = as_table(table, rows=rows)
    if features is not None:
        responses = responses.with_features(samples=features)
    with watching("routing", progress, watch) as watch, one_blas_thread():
        return _routing(responses, costs, confidence, first, asked, watch)


def _check_settings(asked: Settings) -> None:
    if asked.budget is not None and asked.quality is not None:
        raise SettingError("give a budget or a quality, not both: each follows from the frontier.")
    if asked.budget is not None and not 0 <= asked.budget < np.inf:
        raise SettingError(f"the budget is a mean cost per sample from 0 on; got {asked.budget:g}.")
    if asked.quality is not None and not 0 <= asked.quality <= 1:
        raise SettingError(f"the quality is a mean response from 0 to 1; got {asked.quality:g}.")
    if any(not isinstance(size, int | np.integer) or size < 1 for size in asked.portfolio):
        raise SettingError(f"sizes of portfolios are whole numbers from 1 on; got {list(asked.portfolio)}.")
    if unknown := [name for name in asked.methods if name not in METHODS]:
        raise SettingError(f"methods are {', '.join(METHODS)}; got {unknown[0]!r}.")
    _check_judging(asked)


def _check_judging(asked: Settings) -> None:
    if asked.folds < 2:
        raise SettingError(f"expected at least 2 folds; got {asked.folds}.")
    if asked.partitions is not None and asked.partitions < 1:
        raise SettingError(f"expected at least 1 partition; got {asked.partitions}.")
    if not 0 < asked.level < 1:
        raise SettingError(f"level must lie between 0 and 1; got {asked.level:g}.")


def _routing(
    table: ResponseTable, cost_source: Any, confidence_source: Any, first: str | None, asked: Settings,
    watch: Watch,
) -> Routing:  # fmt: skip
    ordered = table.canonical().table
    costs = costs_of(cost_source, ordered.learners, ordered.samples)
    sure = None
    if confidence_source is not None:
        sure = confidences_of(confidence_source, ordered.learners, ordered.samples)
    elif first is not None:
        raise SettingError("first (--first) does nothing without confidence (--confidence).")
    problem = problem_of(ordered, costs, sure, first)
    if problem.features is None and problem.confidence is None:
        raise DataError(
            "nothing is known about samples before they are answered: the table has neither tasks nor "
            "skills nor features, so a route cannot tell samples apart. Give features (--features), a "
            "column of tasks (--task), skills (--skills), or confidence (--confidence)."
        )
    if asked.budget is not None and asked.budget < problem.costs.min():
        raise DataError(
            f"a budget of {asked.budget:g} per sample buys no answer: the cheapest learner costs "
            f"{problem.costs.min():g}."
        )
    sizes = tuple(size for size in asked.portfolio if size < len(problem.learners))
    dealings = asked.partitions or usual_partitions(len(problem.judged))
    folds = []
    for number in range(dealings):
        told = _of_partition(watch, number, dealings)
        most = max(sizes, default=1)
        folds.append(cross_fitted(problem, asked.folds, most, asked.methods, asked.seed, told, number))
    parts = partitions_of(problem, folds, asked.budget)
    watch("fitting on all samples")
    return _result(table, problem, parts, sizes, asked, given=costs.given)


def usual_partitions(n_samples: int) -> int:
    """How often samples are dealt into folds: less often where there are many."""
    return next((times for most, times in PARTITIONS if n_samples <= most), FEWEST_PARTITIONS)


def _of_partition(watch: Watch, number: int, dealings: int) -> Watch:
    return lambda line: watch(f"partition {number + 1} of {dealings}, {line}")


def _result(
    table: ResponseTable, problem: Problem, parts: list[Partition], sizes: tuple[int, ...], asked: Settings,
    *, given: bool,
) -> Routing:  # fmt: skip
    group = problem.group
    judge = Judge(None if group is None else np.unique(group[problem.judged], return_inverse=True)[1],
                  asked.level)  # fmt: skip
    way = _judged_way(problem, parts, judge)
    gain = _gain(problem, parts, way, judge)
    better = _is_ahead(gain, asked.level)
    curves = parts[0].curves
    single = None if better else _single(problem, curves, asked)
    at = _point(problem, parts, way, asked, single)
    budget = float(curves.budgets[at])
    made = made_of(
        table, **asked._asdict(), costs=dict(zip(problem.learners, problem.costs.tolist(), strict=True))
    )
    ways = ways_at(parts, at, judge)
    facts = {
        "choosing_is_better": better,
        "expected": _expected(problem, curves, ways, way, single, judge),
        "provenance": made,
    }
    fitted = _route(problem, parts, way, asked, facts, budget, single)
    return Routing(
        fitted.route,
        better,
        way,
        problem.learners[curves.strong],
        problem.learners[curves.weak],
        asked.level,
        budget,
        gain,
        recovered(problem, parts, judge),
        frontier_rows(parts, judge),
        same_quality(parts, way, judge),
        ways,
        learner_rows(problem, fitted.shares, judge),
        task_rows(problem, parts, way, at, judge),
        portfolio_frame(problem, parts, sizes, judge),
        fitted.methods,
        (*problem.notes, *_notes(problem, fitted, asked, given=given)),
        made,
    )


def _judged_way(problem: Problem, parts: list[Partition], judge: Judge) -> str:
    """The cascade where nothing else can choose, or where it is significantly better; else by sample."""
    if CASCADE not in parts[0].curves.ways:
        return ROUTED
    if problem.features is None:
        return CASCADE
    row = judge.difference(
        _between(problem, parts, CASCADE, ROUTED), ("difference", "low", "high", "p_value")
    )
    return CASCADE if _is_ahead(row, judge.level) else ROUTED


def _is_ahead(row: Mapping[str, Any], level: float) -> bool:
    """Whether a difference is above 0, and significantly so."""
    return bool(row["difference"] > 0 and row["p_value"] < 1 - level)


def _expected(
    problem: Problem, curves: Curves, ways: pl.DataFrame, way: str, single: int | None, judge: Judge
) -> dict[str, Any]:
    """What the route reaches; of a route to another learner than the best, that learner's mean and cost."""
    if single is None or single == curves.strong:
        return ways.row(by_predicate=pl.col("way") == (way if single is None else SINGLE), named=True)
    of_learner = judge.quality([problem.responses[single, problem.judged]])
    return {"way": "single", "cost": float(problem.costs[single])} | of_learner


def _range(problem: Problem, curves: Curves) -> tuple[float, float]:
    """The budgets over which ways are compared: from the cheapest to the best single learner."""
    low, high = problem.costs[curves.weak], problem.costs[curves.strong]
    return float(low), float(max(low, high))


def _between(problem: Problem, parts: list[Partition], way: str, other: str) -> list[Floats]:
    """What each sample says of a way beyond another one, averaged over the budgets, or at the highest one."""
    low, high = _range(problem, parts[0].curves)
    out = []
    for part in parts:
        curves, one, beyond = part.curves, part.curves.ways[way], part.curves.ways[other]
        if high > low:
            out.append(one.between(curves.budgets, low, high) - beyond.between(curves.budgets, low, high))
        else:
            out.append(one.at_budget[-1] - beyond.at_budget[-1])
    return out


def _gain(problem: Problem, parts: list[Partition], way: str, judge: Judge) -> dict[str, Any]:
    """What choosing adds to lots at the same cost; where nothing dearer is better, to the best single one."""
    names = ("difference", "low", "high", "p_value")
    low, high = _range(problem, parts[0].curves)
    if high > low:
        over = {"beyond": MIXING, "budgets": [low, high]}
        return judge.difference(_between(problem, parts, way, MIXING), names) | over
    return judge.difference(over_single(parts, way, -1), names) | {"beyond": SINGLE, "budgets": []}


def _single(problem: Problem, curves: Curves, asked: Settings) -> int:
    """The learner of a route to one: the best within the budget, or the cheapest that reaches the quality."""
    means, costs = problem.responses[:, problem.judged].mean(axis=1), problem.costs
    if asked.budget is not None:
        possible = np.flatnonzero(costs <= asked.budget)
    elif asked.quality is not None:
        enough = np.flatnonzero(means >= asked.quality - 1e-12)
        if not len(enough):
            raise DataError(
                f"no learner reaches a mean response of {asked.quality:g}, and choosing per sample is not "
                f"shown to be better; the highest mean is {means.max():.3f}. Ask for less, or add a better "
                "learner."
            )
        possible = enough[costs[enough] <= costs[enough].min()]
    else:
        return curves.strong
    return int(possible[best_single(means[possible], costs[possible])])


def _point(problem: Problem, parts: list[Partition], way: str, asked: Settings, single: int | None) -> int:
    """The budget of the route: the one asked for, the lowest that is enough, or a learner's cost."""
    curves = parts[0].curves
    budgets = curves.budgets
    if asked.budget is not None:
        return int(np.searchsorted(budgets, asked.budget))
    if single is not None:
        return int(np.searchsorted(budgets * (1 + 1e-12), problem.costs[single]))
    quality = np.mean([part.curves.ways[way].quality.mean(axis=1) for part in parts], axis=0)
    target = asked.quality
    if target is None:
        low, high = _range(problem, curves)
        target = float(np.mean([part.curves.single for part in parts])) if high > low else np.inf
    reached = np.flatnonzero(quality >= target - 1e-12)
    if len(reached):
        return int(reached[0])
    if asked.quality is not None:
        raise DataError(
            f"no route reaches a mean response of {target:g}; the highest on held-out samples is "
            f"{quality.max():.3f}. Ask for less, or add a better learner."
        )
    return int(np.argmax(np.round(quality, 9)))


class _Fitted(NamedTuple):
    route: Route
    shares: Floats  # [learners], of the samples that each answers
    methods: pl.DataFrame
    tells_apart: bool


def _route(
    problem: Problem, parts: list[Partition], way: str, asked: Settings, facts: dict[str, Any],
    budget: float, single: int | None,
) -> _Fitted:  # fmt: skip
    """The route made of all samples, to one learner or at the price that met the budget on held-out ones."""
    fit = fit_on(
        problem, np.arange(len(problem.samples)), np.random.default_rng([asked.seed, 1]), asked.methods
    )
    expectation = fit.cascade if way == CASCADE and fit.cascade is not None else fit.expectation
    costs = cascade_costs(problem.costs, problem.first) if way == CASCADE else problem.costs
    folds = [fold for part in parts for fold in part.folds]
    held_out = [one.cascade if way == CASCADE and one.cascade is not None else one.expected for one in folds]
    expected = np.concatenate(held_out, axis=1)
    path = path_of(expected, costs)
    price = path.price(budget)
    weights = [(name, expectation.contrast[name], expectation.common[name]) for name in expectation.contrast]
    kinds = {"method": pl.String, "contrast": pl.Float64, "common": pl.Float64}
    methods = pl.DataFrame(weights, schema=kinds, orient="row") if weights else pl.DataFrame(schema=kinds)
    learners = problem.learners
    if single is not None:
        only = Route("single", learners, tuple(problem.costs.tolist()), 0.0, learners[single],
                     expectation._replace(methods={}, contrast={}, common={}), facts=facts)  # fmt: skip
        return _Fitted(only, np.eye(len(learners))[single], methods, expectation.tells_apart)
    shares = _shares(path, len(learners), budget)
    best = learners[parts[0].curves.strong]
    first = problem.learners[problem.first] if way == CASCADE else ""
    made = Route(NAMES[way], learners, tuple(problem.costs.tolist()), price, best, expectation,
                 fit.sight, first, fit.middle, facts)  # fmt: skip
    return _Fitted(made, shares, methods, expectation.tells_apart)


def _shares(path: Path, n_learners: int, budget: float) -> Floats:
    """Which part of the samples each learner answers at a budget."""
    n = len(path.start)
    shares = np.bincount(path.start, minlength=n_learners) / n
    part = path.shares(np.array([budget]))[0][path.group] / n if len(path.group) else np.zeros(0)
    shares = shares - np.bincount(path.before, part, n_learners) + np.bincount(path.after, part, n_learners)
    return np.asarray(shares)


def _notes(problem: Problem, fitted: _Fitted, asked: Settings, *, given: bool) -> list[str]:
    notes = []
    if not given:
        notes.append("no costs were given, so every answer costs 1; give them with --costs (costs=…).")
    if not fitted.tells_apart:
        notes.append(
            "what is known about samples does not predict which learner is better on them: on folds within "
            "the samples of the fit, predictions were no better than the learners' means."
        )
    if gone := [str(size) for size in asked.portfolio if size >= len(problem.learners)]:
        notes.append(
            f"portfolios of {', '.join(gone)} are left out: there are {len(problem.learners)} learners."
        )
    return notes
