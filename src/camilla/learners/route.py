"""Which learner should answer each sample, at what cost: chosen on some samples and judged on others."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, one_blas_thread
from camilla.display import watching
from camilla.errors import DataError, SettingError
from camilla.learners.costs import confidences_of, costs_of
from camilla.learners.expected import METHODS
from camilla.learners.frontier import Path, chosen_at, path_of
from camilla.learners.rank import learner_ends
from camilla.learners.routed import (
    CASCADE,
    MIXING,
    ORACLE,
    ROUTED,
    Curves,
    Fold,
    Problem,
    cross_fitted,
    curves_of,
    fit_on,
    portfolio_order,
    portfolio_rows,
    problem_of,
    recovery,
)
from camilla.learners.routing import SINGLE, Routing
from camilla.learners.saved_route import Route, cascade_costs
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.clusters import spread_of
from camilla.statistics.intervals import student
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import student_p
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

PORTFOLIOS = (2, 3)
NAMES = {ROUTED: "by sample", CASCADE: "cascade"}
FRONTIER_WAYS = (ROUTED, CASCADE, MIXING, ORACLE)


class Settings(NamedTuple):
    """What was asked for."""

    budget: float | None
    quality: float | None
    portfolio: tuple[int, ...]
    methods: tuple[str, ...]
    folds: int
    level: float
    seed: int


def route(
    table: TableLike, *, rows: WideRows | None = None, costs: Any = None, features: Any = None,
    confidence: Any = None, first: str | None = None, budget: float | None = None,
    quality: float | None = None, portfolio: Sequence[int] = PORTFOLIOS, methods: Sequence[str] = METHODS,
    folds: int = 5, level: float = 0.95, seed: int = 0, progress: bool | None = None,
    watch: Watch | None = None,
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
    asked = Settings(budget, quality, tuple(sorted(set(portfolio))), tuple(methods), folds, level, seed)
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
    if asked.folds < 2:
        raise SettingError(f"at least 2 folds are wanted; got {asked.folds}.")
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
            "nothing is known of samples before they are answered: the table has neither tasks nor skills "
            "nor features, so no sample can be given to another learner than the next. Give features "
            "(--features), a column of tasks (--task), skills (--skills), or confidence (--confidence)."
        )
    if asked.budget is not None and asked.budget < problem.costs.min():
        raise DataError(
            f"a budget of {asked.budget:g} per sample buys no answer: the cheapest learner costs "
            f"{problem.costs.min():g}."
        )
    sizes = tuple(size for size in asked.portfolio if size < len(problem.learners))
    folds = cross_fitted(problem, asked.folds, max(sizes, default=1), asked.methods, asked.seed, watch)
    curves = curves_of(problem, folds, asked.budget)
    watch("fitting on all samples")
    return _result(table, problem, folds, curves, sizes, asked, given=costs.given)


class _Judge(NamedTuple):
    """Means of held-out samples with their intervals."""

    group: NDArray[np.integer] | None
    level: float

    def quality(self, values: Floats) -> dict[str, float | None]:
        """Mean, low, high of values in [0, 1]."""
        spread = spread_of(values[None], self.group)
        ends = learner_ends(values[None], spread, self.group, self.level)
        return _row(float(spread.mean[0]), float(ends.low[0]), float(ends.high[0]), "quality", "low", "high")

    def difference(self, values: Floats, names: tuple[str, ...]) -> dict[str, float | None]:
        """Mean, low, high and, with a fourth name, the p-value of a mean of 0."""
        spread = spread_of(values, self.group)
        mean, se = float(spread.mean), float(np.sqrt(spread.variance))
        if not np.any(np.abs(values) > 1e-12):  # the same on every sample
            row = _row(0.0, 0.0, 0.0, *names[:3])
        else:
            ends = student(mean, se, spread.df, self.level)
            row = _row(mean, float(ends.low), float(ends.high), *names[:3])
        return row | {name: float(student_p(spread)) for name in names[3:]}


def _row(value: float, low: float, high: float, *names: str) -> dict[str, float | None]:
    return {
        name: number if np.isfinite(number) else None
        for name, number in zip(names, (value, low, high), strict=True)
    }


def _result(
    table: ResponseTable, problem: Problem, folds: list[Fold], curves: Curves, sizes: tuple[int, ...],
    asked: Settings, *, given: bool,
) -> Routing:  # fmt: skip
    group = problem.group
    judge = _Judge(None if group is None else np.unique(group[curves.samples], return_inverse=True)[1],
                   asked.level)  # fmt: skip
    way = _judged_way(problem, curves, judge)
    gain = _gain(problem, curves, way, judge)
    better = bool(gain["difference"] > 0 and gain["p_value"] < 1 - asked.level)
    at = _point(problem, curves, way, asked, better=better)
    budget = float(curves.budgets[at])
    made = made_of(
        table, **asked._asdict(), costs=dict(zip(problem.learners, problem.costs.tolist(), strict=True))
    )
    ways = _ways(curves, at, judge)
    facts = {
        "choosing_is_better": better,
        "expected": next(row for row in ways.to_dicts() if row["way"] == (way if better else SINGLE)),
        "provenance": made,
    }
    fitted = _route(problem, folds, way, asked, facts, budget, better=better)
    return Routing(
        fitted.route,
        better,
        way,
        problem.learners[curves.strong],
        problem.learners[curves.weak],
        asked.level,
        budget,
        gain,
        _apgr(problem, folds, curves, judge),
        _frontier(curves, judge),
        _same_quality(curves, way, judge),
        ways,
        _learners(problem, curves, folds, fitted.shares, judge),
        _tasks(problem, folds, curves, way, at, judge),
        _portfolios(problem, folds, sizes, curves, judge),
        fitted.methods,
        (*problem.notes, *_notes(problem, fitted, asked, given=given)),
        made,
    )


def _judged_way(problem: Problem, curves: Curves, judge: _Judge) -> str:
    """The cascade where nothing else can choose, or where it is significantly better; else by sample."""
    if CASCADE not in curves.ways:
        return ROUTED
    if problem.features is None:
        return CASCADE
    low, high = _range(problem, curves)
    cascade, routed = (curves.ways[way].between(curves.budgets, low, high) for way in (CASCADE, ROUTED))
    row = judge.difference(cascade - routed, ("difference", "low", "high", "p_value"))
    ahead = (row["difference"] or 0) > 0 and (row["p_value"] or 1) < 1 - judge.level
    return CASCADE if ahead else ROUTED


def _range(problem: Problem, curves: Curves) -> tuple[float, float]:
    """The budgets over which ways are compared: from the cheapest to the best single learner."""
    low, high = problem.costs[curves.weak], problem.costs[curves.strong]
    return float(low), float(max(low, high))


def _gain(problem: Problem, curves: Curves, way: str, judge: _Judge) -> dict[str, Any]:
    """What choosing adds to lots at the same cost; where nothing dearer is better, to the best single one."""
    names = ("difference", "low", "high", "p_value")
    low, high = _range(problem, curves)
    if high > low:
        routed, mixed = (curves.ways[one].between(curves.budgets, low, high) for one in (way, MIXING))
        over = {"beyond": MIXING, "budgets": [low, high]}
        return judge.difference(routed - mixed, names) | over
    routed = curves.ways[way].at_budget[-1]
    return judge.difference(routed - curves.single, names) | {"beyond": SINGLE, "budgets": []}


def _point(problem: Problem, curves: Curves, way: str, asked: Settings, *, better: bool) -> int:
    """Which budget the route is to meet."""
    budgets = curves.budgets
    if asked.budget is not None:
        return int(np.searchsorted(budgets, asked.budget))
    if not better:
        return _single_point(problem, curves, asked)
    quality = curves.ways[way].quality.mean(axis=1)
    target = asked.quality
    if target is None:
        low, high = _range(problem, curves)
        target = float(curves.single.mean()) if high > low else np.inf
    reached = np.flatnonzero(quality >= target - 1e-12)
    if len(reached):
        return int(reached[0])
    if asked.quality is not None:
        raise DataError(
            f"no route reaches a mean response of {target:g}; the highest on held-out samples is "
            f"{quality.max():.3f}. Ask for less, or add a better learner."
        )
    return int(np.argmax(np.round(quality, 9)))


def _single_point(problem: Problem, curves: Curves, asked: Settings) -> int:
    """The budget of the single learner to use: the best one, or the cheapest one that is good enough."""
    learner = curves.strong
    if asked.quality is not None:
        means = problem.responses[:, curves.samples].mean(axis=1)
        enough = np.flatnonzero(means >= asked.quality)
        if not len(enough):
            raise DataError(
                f"no learner reaches a mean response of {asked.quality:g}, and choosing per sample is not "
                f"shown to be better; the highest mean is {means.max():.3f}."
            )
        learner = int(enough[np.argmin(problem.costs[enough])])
    return int(np.argmin(np.abs(curves.budgets - problem.costs[learner])))


def _apgr(problem: Problem, folds: list[Fold], curves: Curves, judge: _Judge) -> pl.DataFrame:
    rows = []
    for way in (ROUTED, CASCADE, MIXING, ORACLE):
        found = recovery(problem, folds, curves, way) if way in curves.ways else None
        if found is None or (way == ROUTED and problem.features is None):
            continue
        slope = (found.influence - found.value * found.gap) / found.gap.mean()
        spread = spread_of(slope, judge.group)
        ends = student(found.value, np.sqrt(spread.variance), spread.df, judge.level)
        rows.append({"way": way, "apgr": found.value, "low": float(ends.low), "high": float(ends.high)})
    kinds = {"way": pl.String} | dict.fromkeys(("apgr", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema=kinds)


def _frontier(curves: Curves, judge: _Judge) -> pl.DataFrame:
    rows = []
    mixed = curves.ways[MIXING].at_budget
    over = ("over_mixing", "over_mixing_low", "over_mixing_high")
    for way in FRONTIER_WAYS:
        if way not in curves.ways:
            continue
        curve = curves.ways[way]
        for number, budget in enumerate(curves.budgets):
            row = {"way": way, "budget": float(budget), "paid": float(curve.paid[number].mean())}
            values = curve.at_budget[number]
            ends = judge.difference(values, ("quality", "low", "high"))
            row |= {name: None if one is None else float(np.clip(one, 0, 1)) for name, one in ends.items()}
            rows.append(row | judge.difference(values - mixed[number], over))
    kinds = {"way": pl.String} | dict.fromkeys(
        ("budget", "paid", "quality", "low", "high", *over), pl.Float64
    )
    return pl.DataFrame(rows, schema=kinds)


def _same_quality(curves: Curves, way: str, judge: _Judge) -> dict[str, Any]:
    """The lowest budget at which a way is as good as the best single learner, by its difference."""
    names = ("difference", "low", "high")
    rows = [judge.difference(values - curves.single, names) for values in curves.ways[way].at_budget]

    def lowest(name: str) -> float | None:
        found = [float(b) for b, row in zip(curves.budgets, rows, strict=True) if (row[name] or 0) >= 0]
        return found[0] if found else None

    return {
        "single_cost": float(curves.single_cost.mean()),
        "cost": lowest("difference"),
        "low": lowest("high"),
        "high": lowest("low"),
    }


def _ways(curves: Curves, at: int, judge: _Judge) -> pl.DataFrame:
    """Every way at one budget, beside the best single learner."""
    names = ("difference", "difference_low", "difference_high", "p_value")
    rows = [{"way": SINGLE, "cost": float(curves.single_cost.mean())} | judge.quality(curves.single)]
    for way in (MIXING, ROUTED, CASCADE, ORACLE):
        if way not in curves.ways:
            continue
        curve = curves.ways[way]
        row = {"way": way, "cost": float(curve.paid[at].mean())} | judge.quality(curve.quality[at])
        if len(curves.budgets) > 1 and way != MIXING:
            ends = judge.difference(curve.at_budget[at], ("quality", "low", "high"))
            row |= {name: None if one is None else float(np.clip(one, 0, 1)) for name, one in ends.items()}
        rows.append(row | judge.difference(curve.at_budget[at] - curves.single, names))
    columns = ("cost", "quality", "low", "high", *names)
    return pl.DataFrame(rows, schema={"way": pl.String} | dict.fromkeys(columns, pl.Float64))


class _Fitted(NamedTuple):
    route: Route
    shares: Floats  # [learners], of the samples that each answers
    methods: pl.DataFrame
    tells_apart: bool


def _route(
    problem: Problem, folds: list[Fold], way: str, asked: Settings, facts: dict[str, Any], budget: float, *,
    better: bool,
) -> _Fitted:  # fmt: skip
    """The route made of all samples, at the price that met the budget on held-out ones."""
    fit = fit_on(
        problem, np.arange(len(problem.samples)), np.random.default_rng([asked.seed, 1]), asked.methods
    )
    expectation = fit.cascade if way == CASCADE and fit.cascade is not None else fit.expectation
    costs = cascade_costs(problem.costs, problem.first) if way == CASCADE else problem.costs
    held_out = [one.cascade if way == CASCADE and one.cascade is not None else one.expected for one in folds]
    expected = np.concatenate(held_out, axis=1)
    path = path_of(expected, costs)
    price = path.price(budget)
    weights = [(name, expectation.contrast[name], expectation.common[name]) for name in expectation.contrast]
    kinds = {"method": pl.String, "contrast": pl.Float64, "common": pl.Float64}
    methods = pl.DataFrame(weights, schema=kinds, orient="row") if weights else pl.DataFrame(schema=kinds)
    means, learners = expectation.means, problem.learners
    affordable = np.flatnonzero(problem.costs <= budget * (1 + 1e-9))
    single = int(affordable[np.argmax(np.round(means[affordable], 9))]) if len(affordable) else 0
    if not better:
        only = Route("single", learners, tuple(problem.costs.tolist()), 0.0, learners[single],
                     expectation._replace(methods={}, contrast={}, common={}), facts=facts)  # fmt: skip
        return _Fitted(only, np.eye(len(learners))[single], methods, expectation.tells_apart)
    shares = _shares(path, len(learners), budget)
    best = learners[int(np.argmax(np.round(means, 9)))]
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


def _learners(
    problem: Problem, curves: Curves, folds: list[Fold], shares: Floats, judge: _Judge
) -> pl.DataFrame:
    responses = problem.responses[:, curves.samples]
    rows = [
        {"learner": name, "cost": float(cost)} | judge.quality(row) | {"share": float(share)}
        for name, cost, row, share in zip(problem.learners, problem.costs, responses, shares, strict=True)
    ]
    kinds = {"learner": pl.String} | dict.fromkeys(("cost", "quality", "low", "high", "share"), pl.Float64)
    frame = pl.DataFrame(rows, schema=kinds).rename({"quality": "mean"})
    return frame.sort(pl.col("share").round(9), pl.col("mean").round(9), descending=True, maintain_order=True)


def _tasks(
    problem: Problem, folds: list[Fold], curves: Curves, way: str, at: int, judge: _Judge
) -> pl.DataFrame:
    """Of each task what the way gets at the budget, beside the best single learner; Holm is over tasks."""
    kinds: dict[str, Any] = {"task": pl.String, "samples": pl.Int64, "learner": pl.String}
    numbers = ("quality", "single", "difference", "low", "high", "holm_p")
    kinds |= dict.fromkeys(numbers, pl.Float64)
    if problem.features is None or not problem.task_column:
        return pl.DataFrame(schema=kinds)
    labels = problem.features.frame[problem.task_column].fill_null("").to_numpy()[curves.samples]
    chosen = _chosen(problem, folds, way, float(curves.budgets[at]))
    quality, gain = curves.ways[way].quality[at], curves.ways[way].quality[at] - curves.single
    rows = []
    for label in sorted(set(labels.tolist())):
        inside = labels == label
        group = None if judge.group is None else np.unique(judge.group[inside], return_inverse=True)[1]
        of_task = _Judge(group, judge.level)
        row = of_task.difference(gain[inside], ("difference", "low", "high", "p"))
        most = problem.learners[int(np.argmax(np.bincount(chosen[inside])))]
        means = {"quality": float(quality[inside].mean()), "single": float(curves.single[inside].mean())}
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
    return np.concatenate(out)


def _portfolios(
    problem: Problem, folds: list[Fold], sizes: tuple[int, ...], curves: Curves, judge: _Judge
) -> pl.DataFrame:
    """Of each size what its oracle and its choice per sample get, and the members that all samples choose."""
    kinds: dict[str, Any] = {"size": pl.Int64, "learners": pl.List(pl.String)}
    ends = ("", "_low", "_high")
    kinds |= {f"{name}{end}": pl.Float64 for name in ("oracle", "routed", "gain") for end in ends}
    order = portfolio_order(problem.responses[:, problem.judged], max(sizes, default=1))
    rows = []
    for size in sizes:
        found = portfolio_rows(problem, folds, size)
        row: dict[str, Any] = {"size": size, "learners": [problem.learners[i] for i in order[:size]]}
        for name, values in found.items():
            one = judge.quality(values)
            row |= {name: one["quality"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
        row |= judge.difference(found["routed"] - curves.single, ("gain", "gain_low", "gain_high"))
        rows.append(row)
    return pl.DataFrame(rows, schema=kinds)


def _notes(problem: Problem, fitted: _Fitted, asked: Settings, *, given: bool) -> list[str]:
    notes = []
    if not given:
        notes.append("no costs were given, so every answer costs 1; give them with --costs (costs=…).")
    if not fitted.tells_apart:
        notes.append(
            "what is known of samples does not predict which learner is better on them: on folds within the "
            "samples of the fit, predictions were no better than the learners' means."
        )
    if gone := [str(size) for size in asked.portfolio if size >= len(problem.learners)]:
        notes.append(
            f"portfolios of {', '.join(gone)} are left out: there are {len(problem.learners)} learners."
        )
    return notes
