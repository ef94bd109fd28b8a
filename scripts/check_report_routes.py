"""The route of a report computed anew from the table, costs and features, with NumPy, SciPy, scikit-learn.

Fits are found in another way than camilla finds them: regressions by Newton's method, weights by SciPy's
nnls on the whole matrix, neighbours by sorting all distances, paths by a loop over samples, APGR by trapezes.
The deals of the samples into folds are the same random numbers.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.stats import t

from check_report_rules import Truth, false_statements, need
from check_report_truth import Raw

PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
NEIGHBOURS = (10, 30, 100)
INNER, FOLDS, GRID, REACH = 4, 5, 101, 10
OWN = 2e-3  # regressions are not solved to the last digit there: where a sample stands in a path may differ
ROUTED, LOTS, ORACLE, SINGLE = "chosen by sample", "random mixing", "oracle", "best single learner"
Array = Any


class Known(NamedTuple):
    """What is known of samples: one task each, numbers, texts; and how responses are predicted from it.

    Where tasks are all that is known, many samples are equally near: neighbours are then left out.
    """

    tasks: list[str] | None
    numbers: dict[str, Array]
    texts: dict[str, list[str]]

    @property
    def methods(self) -> tuple[str, ...]:
        neighbours = ("neighbours",) if self.numbers or self.texts else ()
        return (*(("tasks",) if self.tasks else ()), "regression", *neighbours)


def encoder(known: Known, rows: Array) -> Callable[[Array], Array]:
    """Blocks of mean 0 and total variance 1 over these rows."""
    blocks: list[Callable[[Array], Array]] = []
    numbers = known.numbers | {
        f"length of {name}": np.log1p([len(one) for one in texts]) for name, texts in known.texts.items()
    }
    for values in numbers.values():
        mean, sd = values[rows].mean(), values[rows].std()
        if sd > 0:
            blocks.append(lambda at, v=values, m=mean, s=sd: ((v[at] - m) / s)[:, None])
    if known.tasks is not None:
        labels = np.array(known.tasks)
        levels = sorted(set(labels[rows]))
        share = np.array([(labels[rows] == level).mean() for level in levels])
        hot = (labels[:, None] == np.array(levels)) - share
        other = (~np.isin(labels, levels)).astype(float)[:, None]
        columns = np.hstack([hot, other]) / math.sqrt(1 - (share**2).sum())
        blocks.append(lambda at, c=columns: c[at])
    for texts in known.texts.values():
        blocks.append(_directions(texts, rows))
    return lambda at: np.hstack([block(at) for block in blocks])


def _directions(texts: list[str], rows: Array) -> Callable[[Array], Array]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), max_features=20_000, min_df=2)
    weights = words.fit_transform([texts[k] for k in rows])
    found = TruncatedSVD(min(50, weights.shape[1] - 1, len(rows) - 1), random_state=0).fit(weights)
    fitted = weights @ found.components_.T
    whole = (words.transform(texts) @ found.components_.T - fitted.mean(axis=0)) / np.sqrt(
        fitted.var(axis=0).sum()
    )
    return lambda at: whole[at]


def by_tasks(task: Array, new: Array, y: Array) -> Array:
    """Means by task beyond each learner's mean: common to all and of each, shrunken by their variances."""
    beyond = y - y.mean(axis=1, keepdims=True)
    common = beyond.mean(axis=0, keepdims=True)
    levels = sorted(set(task))
    out = np.zeros((len(y), len(new)))
    for values in (common, beyond - common):
        rows = len(values)
        mean = np.array([values[:, task == level].mean(axis=1) for level in levels]).T
        count = np.array([(task == level).sum() for level in levels], float)
        rest = sum(
            ((values[:, task == level].T - mean[:, k]) ** 2).sum(axis=0) for k, level in enumerate(levels)
        )
        noise = (rest / (count - 1).sum())[:, None] / count
        between = max(float((mean**2 - noise).mean()), 0.0)
        shrunk = mean * between / np.where(between + noise > 0, between + noise, 1.0)
        for k, level in enumerate(levels):
            out[:, new == level] += np.broadcast_to(shrunk[:, [k]], (max(rows, 1), int((new == level).sum())))
    return out


def logistic(x: Array, y: Array, penalty: float) -> tuple[float, Array]:
    """Log-loss + penalty/2 |w|² with a free intercept, by Newton's method."""
    design = np.column_stack([np.ones(len(x)), x])
    ridge = np.full(design.shape[1], penalty)
    ridge[0] = 0.0
    mean = np.clip(y.mean(), 1e-3, 1 - 1e-3)
    w = np.zeros(design.shape[1])
    w[0] = np.log(mean / (1 - mean))
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ w))
        slope = design.T @ (y - p) - ridge * w
        curve = (design.T * np.maximum(p * (1 - p), 1e-9)) @ design + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        w = w + step * min(1.0, 4.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return float(w[0]), w[1:]


def by_regression(x: Array, new: Array, y: Array, penalty: float) -> Array:
    fits = [logistic(x, row, penalty) for row in y]
    return np.array(
        [1 / (1 + np.exp(-(a + new @ w))) - row.mean() for (a, w), row in zip(fits, y, strict=True)]
    )


def by_neighbours(x: Array, new: Array, y: Array, counts: tuple[int, ...]) -> list[Array]:
    beyond = y - y.mean(axis=1, keepdims=True)
    order = np.argsort(((new[:, None] - x[None]) ** 2).sum(axis=2), axis=1, kind="stable")
    return [beyond[:, order[:, :count]].mean(axis=2) for count in counts]


Setting = tuple[str, float]


def added(
    x: Array, task: Array | None, y: Array, new: tuple[Array, Array], tried: list[Setting]
) -> dict[Setting, Array]:
    """What each setting says of new samples beyond the learners' means."""
    out: dict[Setting, Array] = {}
    counts = tuple(int(value) for name, value in tried if name == "neighbours")
    for name, value in tried:
        if name == "tasks":
            out[name, value] = by_tasks(task, new[1], y)
        elif name == "regression":
            out[name, value] = by_regression(x, new[0], y, value)
    if counts:
        found = by_neighbours(x, new[0], y, counts)
        out |= {("neighbours", float(count)): one for count, one in zip(counts, found, strict=True)}
    return out


def weights(offered: dict[str, Array], wanted: Array) -> dict[str, float]:
    """Non-negative least squares; neighbours only where they make it better by a standard error."""
    out, plain = dict.fromkeys(offered, 0.0), (wanted**2).sum(axis=0)
    light = [name for name in offered if name != "neighbours"]
    rounds = [(light, 0.0)] * bool(light)
    if "neighbours" in offered:
        rounds.append((list(offered), 1.0 if light else 0.0))
    for names, needed in rounds:
        found = nnls(np.column_stack([offered[name].ravel() for name in names]), wanted.ravel())[0]
        rest = wanted - sum(weight * offered[name] for weight, name in zip(found, names, strict=True))
        gain = plain - (rest**2).sum(axis=0)
        if gain.mean() > needed * gain.std(ddof=1) / math.sqrt(len(gain)):
            out = dict.fromkeys(offered, 0.0) | dict(zip(names, found.tolist(), strict=True))
            plain = (rest**2).sum(axis=0)
    return out


def expected(known: Known, y: Array, rows: Array, new: Array, rng: np.random.Generator) -> Array:
    """What is expected of `new` samples by a fit on `rows`: [learners, samples]."""
    coded = encoder(known, rows)
    x, x_new = coded(rows), coded(new)
    labels = None if known.tasks is None else np.array(known.tasks)
    task, task_new = (None if labels is None else labels[at] for at in (rows, new))
    settings = {"tasks": (0.0,), "regression": PENALTIES, "neighbours": tuple(map(float, NEIGHBOURS))}
    tried: list[Setting] = [(name, value) for name in known.methods for value in settings[name]]
    fold = rng.permutation(len(rows)) % INNER
    inner = {one: np.zeros((len(y), len(rows))) for one in tried}
    target = np.zeros((len(y), len(rows)))
    for k in range(INNER):
        out, inside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        fitted = y[:, rows[out]]
        target[:, inside] = y[:, rows[inside]] - fitted.mean(axis=1, keepdims=True)
        held = (x[inside], None if task is None else task[inside])
        for one, values in added(x[out], None if task is None else task[out], fitted, held, tried).items():
            inner[one][:, inside] = values
    own = {one: values - values.mean(axis=0) for one, values in inner.items()}
    wanted = target - target.mean(axis=0)
    loss = {one: ((wanted - values) ** 2).sum() for one, values in own.items()}
    best = [
        min((one for one in tried if one[0] == name), key=loss.__getitem__)
        for name in dict.fromkeys(n for n, _ in tried)
    ]
    contrast = weights({one[0]: own[one] for one in best}, wanted)
    common = weights({one[0]: inner[one].mean(axis=0)[None] for one in best}, target.mean(axis=0)[None])
    used = [one for one in best if contrast[one[0]] > 0 or common[one[0]] > 0]
    q = np.repeat(y[:, rows].mean(axis=1)[:, None], len(new), axis=1)
    for one, values in added(x, task, y[:, rows], (x_new, task_new), used).items():
        shared = values.mean(axis=0)
        q = q + contrast[one[0]] * (values - shared) + common[one[0]] * shared
    return np.clip(q, 0, 1)


class Moves(NamedTuple):
    """Samples at their cheapest best learner, and the moves to dearer ones, the steepest first."""

    start: Array
    sample: Array
    old: Array
    new: Array
    knots: Array  # mean cost before and after each group of moves of one rate
    group: Array

    def earned(self, values: Array, budgets: Array) -> Array:
        """[budgets, samples]: a budget that ends within a group pays for a part of each of its moves."""
        out = np.tile(values[self.start, np.arange(len(self.start))], (len(budgets), 1))
        steps = np.diff(self.knots)
        for k, budget in enumerate(budgets):
            share = np.clip((budget - self.knots[:-1]) / steps, 0, 1)[self.group]
            np.add.at(
                out[k], self.sample, share * (values[self.new, self.sample] - values[self.old, self.sample])
            )
        return out


def moves(q: Array, costs: Array, last: int | None = None) -> Moves:
    """Up the concave hull of each sample's (cost, expected response)."""
    start, rows = [], []
    cheapest = np.flatnonzero(costs == costs.min())
    for i, column in enumerate(q.T):
        at = cheapest[np.argmax(column[cheapest].round(9))]
        start.append(at)
        while True:
            dearer = np.flatnonzero(costs > costs[at])
            rates = (column[dearer] - column[at]) / (costs[dearer] - costs[at])
            if not len(dearer) or rates.max() <= 1e-12:
                break
            steep = dearer[np.argmax(rates.round(9))]
            rows.append((i, at, steep, float(rates.max())))
            at = steep
        if last is not None and costs[last] > costs[at]:
            rows.append((i, at, last, min((column[last] - column[at]) / (costs[last] - costs[at]), 0.0)))
    first = np.array(start)
    rows.sort(key=lambda row: -row[3])
    rate = np.array([float(f"{row[3]:.6g}") for row in rows])
    group = np.cumsum(np.diff(rate, prepend=np.inf) != 0) - 1 if rows else np.zeros(0, int)
    sample, old, new = (np.array([row[k] for row in rows], int) for k in range(3))
    more = np.bincount(group, costs[new] - costs[old]) if rows else np.zeros(0)
    knots = costs[first].mean() + np.concatenate([[0.0], np.cumsum(more)]) / len(first)
    return Moves(first, sample, old, new, knots, group)


def lots(means: Array, costs: Array, budgets: Array) -> Array:
    """Shares of learners that are drawn at each budget, on the hull of costs and means."""
    hull = moves(means[:, None], costs)
    corners = [int(hull.start[0]), *hull.new.tolist()]
    return np.array([
        np.interp(budgets, costs[corners], np.eye(len(costs))[corners][:, k]) for k in range(len(costs))
    ]).T  # fmt: skip


def corrected(quality: Array, budgets: Array, cost: Array, end: float = math.inf) -> Array:
    """Each sample's part in the quality at a fixed mean cost; from `end` on the cost is not fixed."""
    if len(budgets) < 2:
        return quality
    k = np.arange(len(budgets))
    reach = max(len(budgets) // REACH, 1)
    a, b = np.maximum(k - reach, 0), np.minimum(k + reach, len(k) - 1)
    mean = quality.mean(axis=1)
    slope = (mean[b] - mean[a]) / (budgets[b] - budgets[a])
    slope[budgets >= end - 1e-12] = 0
    return quality - slope[:, None] * (cost - cost.mean(axis=1, keepdims=True))


class Figure(NamedTuple):
    value: float
    low: float
    high: float
    p: float


def pooled(rows: list[Array]) -> Figure:
    """The mean over partitions; the mean variance within, and the variance between them; Student's t."""
    n, means = len(rows[0]), np.array([row.mean() for row in rows])
    variance = np.mean([row.var(ddof=1) / n for row in rows])
    if len(rows) > 1:
        variance = variance + means.var(ddof=1)
    value, half = float(means.mean()), float(t.ppf(0.975, n - 1) * math.sqrt(variance))
    p = 1.0 if variance == 0 else float(2 * t.sf(abs(value) / math.sqrt(variance), n - 1))
    return Figure(value, value - half, value + half, p)


def wilson(rows: list[Array]) -> Figure:
    """Of a mean response: Wilson's with n = m(1 − m)/variance and Student's t for the normal."""
    plain = pooled(rows)
    n = len(rows[0])
    z = float(t.ppf(0.975, n - 1))
    variance = ((plain.high - plain.value) / z) ** 2
    m = plain.value
    size = m * (1 - m) / variance if variance > 0 else n
    centre = (m + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * math.sqrt(m * (1 - m) / size + z**2 / (4 * size**2))
    return Figure(m, centre - half, centre + half, math.nan)


class Anew:
    """Every figure of a route's section."""

    def __init__(
        self, raw: Raw, costs: dict[str, float], known: Known, *, seed: int, partitions: int, budget: float
    ) -> None:
        order = sorted(range(len(raw.learners)), key=raw.learners.__getitem__)
        self.names = [raw.learners[i] for i in order]
        self.y, self.c = raw.matrix[order], np.array([costs[name] for name in self.names], float)
        n, means = self.y.shape[1], self.y.mean(axis=1)
        self.tasks = known.tasks
        self.strong = min(np.flatnonzero(means >= means.max() - 1e-9), key=lambda i: self.c[i])
        cheap = np.flatnonzero(self.c == self.c.min())
        self.weak = cheap[np.argmax(means[cheap])]
        self.low, self.high = self.c[self.weak], self.c[self.strong]
        self.parts = []
        for number in range(partitions):
            rng = np.random.default_rng([seed, 2 * number])
            fold = rng.permutation(n) % FOLDS
            inside = [np.flatnonzero(fold == k) for k in range(FOLDS)]
            q = [expected(known, self.y, np.flatnonzero(fold != k), inside[k], rng) for k in range(FOLDS)]
            self.parts.append((inside, q, [self.y[:, fold != k].mean(axis=1) for k in range(FOLDS)]))
        ends = [moves(q, self.c).knots[-1] for _, qs, _ in self.parts for q in qs]
        top = max([self.high, *ends])
        grid = np.linspace(self.c.min(), top, GRID) if top > self.c.min() else np.array([self.c.min()])
        self.grid = np.unique(np.append(grid, budget))
        self.at = int(np.argmin(np.abs(self.grid - budget)))
        self.curves = [self._ways(*part) for part in self.parts]

    def _ways(self, inside: list[Array], q: list[Array], means: list[Array]) -> dict[str, Array]:
        """Quality, and quality corrected for costs, of every way: [budgets, samples]."""
        n, flat = self.y.shape[1], np.repeat(self.c[:, None], self.y.shape[1], axis=1)
        out = {key: np.empty((len(self.grid), n)) for key in (ROUTED, ORACLE, LOTS, "cost", "dear")}
        single, chosen, ends = np.empty(n), np.empty(n, int), {ROUTED: 0.0, ORACLE: 0.0}
        for at, one, mean in zip(inside, q, means, strict=True):
            for key, spent, path in (
                (ROUTED, "cost", moves(one, self.c)), (ORACLE, "dear", moves(self.y[:, at], self.c))
            ):  # fmt: skip
                out[key][:, at] = path.earned(self.y[:, at], self.grid)
                out[spent][:, at] = path.earned(flat[:, at], self.grid)
                ends[key] = max(ends[key], path.knots[-1])
            out[LOTS][:, at] = lots(mean, self.c, self.grid) @ self.y[:, at]
            top = np.flatnonzero(mean >= mean.max() - 1e-9)
            single[at] = self.y[top[np.argmin(self.c[top])], at]
        fixed = {
            f"{ROUTED} fixed": corrected(out[ROUTED], self.grid, out["cost"], ends[ROUTED]),
            f"{ORACLE} fixed": corrected(out[ORACLE], self.grid, out["dear"], ends[ORACLE]),
            f"{LOTS} fixed": out[LOTS],
        }  # fmt: skip
        return out | fixed | {SINGLE: single, "chosen": chosen}

    def gain(self) -> Figure:
        if self.high > self.low:
            between = (self.grid >= self.low - 1e-12) & (self.grid <= self.high + 1e-12)
            return pooled([(one[f"{ROUTED} fixed"] - one[LOTS])[between].mean(axis=0) for one in self.curves])
        return pooled([one[f"{ROUTED} fixed"][-1] - one[SINGLE] for one in self.curves])

    def apgr(self, way: str) -> Figure:
        """The area under the curve that ends at the strong learner, by trapezes between its knots."""
        gap = self.y[self.strong] - self.y[self.weak]
        rows = []
        for inside, q, means in self.parts:
            exact, quality, cost = np.empty(len(gap)), np.empty((GRID, len(gap))), np.empty((GRID, len(gap)))
            grid = np.linspace(self.low, self.high, GRID)
            for at, one, mean in zip(inside, q, means, strict=True):
                y = self.y[:, at]
                if way == LOTS:
                    fine = np.unique(
                        np.concatenate([grid, self.c[(self.c > self.low) & (self.c < self.high)]])
                    )
                    drawn = lots(mean, self.c, fine) @ y
                    exact[at] = np.trapezoid(drawn, fine, axis=0) / (self.high - self.low)
                    continue
                path = moves(y if way == ORACLE else one, self.c, self.strong)
                knots = np.unique(np.clip(np.concatenate([path.knots, grid]), self.low, self.high))
                exact[at] = np.trapezoid(path.earned(y, knots), knots, axis=0) / (self.high - self.low)
                quality[:, at] = path.earned(y, grid)
                cost[:, at] = path.earned(np.repeat(self.c[:, None], len(at), axis=1), grid)
            pushes = exact if way == LOTS else corrected(quality, grid, cost).mean(axis=0)
            value = (exact - self.y[self.weak]).mean() / gap.mean()
            slope = (pushes - self.y[self.weak] - value * gap) / gap.mean()
            rows.append(value + slope - slope.mean())
        return pooled(rows)

    def way(self, name: str) -> tuple[Figure, Figure | None]:
        """The mean response of a way at the budget, and its difference from the best single learner."""
        if name == SINGLE:
            return wilson([one[SINGLE] for one in self.curves]), None
        gap = pooled([one[f"{name} fixed"][self.at] - one[SINGLE] for one in self.curves])
        if len(self.grid) > 1 and name != LOTS:
            return self.frontier(name, self.at), gap
        return wilson([one[name][self.at] for one in self.curves]), gap

    def frontier(self, name: str, at: int) -> Figure:
        found = pooled([one[f"{name} fixed"][at] for one in self.curves])
        return Figure(*(min(max(end, 0.0), 1.0) for end in found[:3]), found.p)

    def task(self, label: str) -> Figure:
        inside = np.array(self.tasks) == label
        return pooled([(one[ROUTED][self.at] - one[SINGLE])[inside] for one in self.curves])


def check_route(section: dict[str, Any], of: Anew, *, slack: float = OWN) -> tuple[int, list[str]]:
    """Statements, pictures and the table of a section; every number of them is counted."""

    def rule(said: dict[str, Any]) -> Truth:
        if said["kind"] == "route apgr":
            found = of.apgr(said["names"]["way"])
            size = 25 * slack
            return {
                "apgr": (found.value, size),
                "apgr_low": (found.low, size),
                "apgr_high": (found.high, size),
            }
        found = of.gain()
        better = found.value > 0 and found.p < 0.05
        need(said["names"]["single"] == of.names[of.strong], "another learner is the best single one")
        need((said["kind"] == "route better") == better, f"p is {found.p:.3g}")
        need((found.p < 0.05) == (found.low > 0 or found.high < 0) or slack > 0, "p and interval disagree")
        ends = {"difference": found.value, "difference_low": found.low, "difference_high": found.high}
        p_slack = max(0.3 * found.p, 1e-6) if slack else 1e-6
        return {name: (value, slack) for name, value in ends.items()} | {"p": (found.p, p_slack)}

    n, wrong = false_statements(section, rule)
    for picture in section["pictures"]:
        for series in picture["series"]:
            for k, x in enumerate(series["x"]):
                n += 1
                true = _of_picture(picture, series["name"], x, of)
                told = Figure(series["value"][k], series["low"][k], series["high"][k], 0.0)
                if any(
                    one is None or abs(one - right) > slack + 1e-6
                    for one, right in zip(told[:3], true[:3], strict=True)
                ):
                    what = f"{picture['title']}, {series['name']} at {x}"
                    wrong.append(f"{what}: {told[:3]} is shown, {true[:3]} is true")
    return n, wrong + _rows(section, of, slack)


def _of_picture(picture: dict[str, Any], name: str, x: float, of: Anew) -> Figure:
    if picture["kind"] == "lines":
        return of.frontier(name, int(np.argmin(np.abs(of.grid - x))))
    return of.task(name) if "by task" in picture["title"] else of.way(name)[0]


def _rows(section: dict[str, Any], of: Anew, slack: float) -> list[str]:
    """The table of ways: mean responses, and differences with their p-values."""
    out = []
    for row in (dict(zip(section["columns"], one, strict=True)) for one in section["rows"]):
        quality, gap = of.way(row["way"])
        pairs = [(row["quality"], quality.value), (row["low"], quality.low), (row["high"], quality.high)]
        if gap is not None:
            ends = ("difference", "difference_low", "difference_high")
            pairs += list(zip((row[end] for end in ends), gap[:3], strict=True))
            pairs.append((row["p_value"], gap.p))
        allowed = [slack] * 6 + [slack * max(1.0, 100 * pairs[-1][1])]
        off = [abs(one - right) > most + 1e-6 for (one, right), most in zip(pairs, allowed, strict=False)]
        if any(off):
            out.append(f"table, {row['way']}: told and true are {np.round(pairs, 5).tolist()}")
    return out
