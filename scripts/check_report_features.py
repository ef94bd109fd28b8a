"""Effects of features of a report computed anew from the responses: own code, NumPy and SciPy alone.

The mixed model's integrals are sums over a fine grid of levels, its variances maximise the restricted
likelihood by a search, ridge regressions are solved from normal equations, one fold after the other.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import f as f_distribution
from scipy.stats import t

from check_report_rules import Truth, false_statements, need
from check_report_truth import holm

GRID = np.linspace(-14, 14, 421)
PENALTIES = np.logspace(-2, 5, 15)
FOLDS, LEAST_FREEDOM, COLUMN_PRECISION = 10, 0.05, 0.1
CLOSE = 5e-3  # logits: the model is fitted until a round changes less than 1e-4
Array = Any


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


class Levels(NamedTuple):
    """What each row's responses say of its level, and how noisy that is."""

    observed: Array
    noise: Array
    columns: Array
    variance: float


def levels_of(right: Array, x: Array) -> Levels:
    """A logistic mixed model of complete right/wrong responses [rows, columns]; a row's level is x·w + u."""
    n = right.shape[1]
    columns = np.log(right.sum(axis=0) + 0.5) - np.log(len(right) - right.sum(axis=0) + 0.5)
    columns = columns - columns.mean()
    score = right.sum(axis=1)
    start = np.log(score + 0.5) - np.log(n - score + 0.5)
    w, variance = np.linalg.lstsq(x, start, rcond=None)[0], 1.0
    for _ in range(600):
        centre = x @ w
        chance = sigmoid(GRID[:, None] + columns)
        failed = np.log(1 - chance).sum(axis=1)
        density = score[:, None] * GRID + failed - (GRID - centre[:, None]) ** 2 / (2 * variance)
        share = np.exp(density - density.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        mean = share @ GRID
        spread = share @ GRID**2 - mean**2
        trust = np.clip(1 - spread / variance, 1e-6, 1)
        observed = centre + (mean - centre) / trust
        information = np.linalg.inv((x.T * trust) @ x)
        new = information @ (x.T @ (trust * observed))
        leverage = variance * np.einsum("rf,fg,rg->r", x, information, x)
        next_variance = max(float(trust**2 @ ((observed - x @ new) ** 2 + leverage) / trust.sum()), 1e-6)
        expected, square = share @ chance, share @ chance**2
        slope = (right - expected).sum(axis=0) - COLUMN_PRECISION * columns
        known = (expected - square - (square - expected**2)).sum(axis=0)
        curve = np.maximum(known, 0.2 * (expected - square).sum(axis=0)) + COLUMN_PRECISION
        step = slope / curve
        step = step - step.mean()
        moved = max(
            np.abs(step).max(), np.abs(x @ new - centre).max(), abs(next_variance**0.5 - variance**0.5)
        )
        w, variance, columns = new, next_variance, columns + step
        if moved < 1e-5:
            break
    return Levels(observed, variance * (1 / trust - 1), columns, variance)


class Fit(NamedTuple):
    weights: Array
    covariance: Array
    variance: float
    df: int


def regression(levels: Levels, x: Array) -> Fit:
    """The variance between rows of the highest restricted likelihood, and weighted least squares with it."""

    def parts(variance: float) -> tuple[Array, Array, Array]:
        weight = 1 / (variance + levels.noise)
        information = (x.T * weight) @ x
        return weight, information, np.linalg.solve(information, x.T @ (weight * levels.observed))

    def loss(log_variance: float) -> float:
        weight, information, w = parts(float(np.exp(log_variance)))
        rest = levels.observed - x @ w
        return float(-np.log(weight).sum() + np.linalg.slogdet(information)[1] + weight @ rest**2)

    variance = float(
        np.exp(minimize_scalar(loss, bounds=(-14, 6), method="bounded", options={"xatol": 1e-10}).x)
    )
    _, information, w = parts(variance)
    return Fit(w, np.linalg.inv(information), variance, len(x) - x.shape[1])


class Term(NamedTuple):
    feature: str
    contrast: Array


def design_of(features: dict[str, Array]) -> tuple[Array, list[Term], dict[str, list[int]]]:
    """An intercept; a column for each number, and for each level of a category but the most frequent one."""
    columns, terms, own = (
        [np.ones(len(next(iter(features.values()))))],
        list[tuple[str, dict[int, float]]](),
        {},
    )
    for name, values in features.items():
        if values.dtype.kind == "f":
            own[name] = [len(columns)]
            terms.append((name, {len(columns): 1.0}))
            columns.append((values - values.mean()) / values.std())
            continue
        labels, counts = np.unique(values, return_counts=True)
        order = sorted(range(len(labels)), key=lambda k: (-counts[k], labels[k]))
        places = [None, *range(len(columns), len(columns) + len(order) - 1)]
        own[name] = list(places[1:])
        columns += [(values == labels[k]).astype(float) for k in order[1:]]
        share = {
            place: counts[k] / len(values)
            for place, k in zip(places, order, strict=True)
            if place is not None
        }
        if len(order) == 2:
            terms.append((name, {places[1]: 1.0}))
            continue
        for place in places:
            weights = {one: -part for one, part in share.items()}
            if place is not None:
                weights[place] += 1.0
            terms.append((name, weights))
    x = np.column_stack(columns)
    return (
        x,
        [Term(name, np.array([weights.get(k, 0.0) for k in range(x.shape[1])])) for name, weights in terms],
        own,
    )


class Effect(NamedTuple):
    value: float
    low: float
    high: float
    p: float


def effect(fit: Fit, contrast: Array, sign: float) -> Effect:
    value = sign * float(contrast @ fit.weights)
    se = float(np.sqrt(contrast @ fit.covariance @ contrast))
    half = float(t.ppf(0.975, fit.df)) * se
    return Effect(value, value - half, value + half, float(2 * t.sf(abs(value) / se, fit.df)))


def coded(values: Array, train: Array) -> Array:
    """The columns of a feature, in total of variance 1 on the rows of the fit."""
    if values.dtype.kind == "f":
        sd = values[train].std()
        return ((values - values[train].mean()) / sd)[:, None] if sd > 0 else np.empty((len(values), 0))
    labels = np.unique(values[train])
    share = np.array([(values[train] == one).mean() for one in labels])
    if len(labels) < 2:
        return np.empty((len(values), 0))
    hot = np.column_stack([values[:, None] == labels, ~np.isin(values, labels)])
    return (hot - np.append(share, 0.0)) / np.sqrt(1 - (share**2).sum())


def ridge(x: Array, y: Array, weight: Array) -> tuple[Callable[[Array], Array], float]:
    """The penalty with the smallest leave-one-out error, by the weights of the rows."""
    mean, centre = np.average(y, weights=weight), np.average(x, axis=0, weights=weight)
    z, best = x - centre, (np.inf, np.zeros(x.shape[1]))
    for penalty in PENALTIES:
        inverse = (
            np.linalg.inv((z.T * weight) @ z + penalty * np.eye(x.shape[1]))
            if x.shape[1]
            else np.zeros((0, 0))
        )
        w = inverse @ (z.T @ (weight * (y - mean)))
        leverage = weight * np.einsum("rf,fg,rg->r", z, inverse, z) + weight / weight.sum()
        rest = (y - mean - z @ w) / np.maximum(1 - leverage, LEAST_FREEDOM)
        error = float(np.average(rest**2, weights=weight))
        if error < best[0] * (1 - 1e-6):
            best = (error, w)
    return lambda new: mean + (new - centre) @ best[1], best[0]


class Anew:
    """Every figure of a section on features of samples (or, with −1 turned to 1, of learners)."""

    def __init__(
        self, right: Array, features: dict[str, Array], *, sign: float = -1.0, seed: int = 0
    ) -> None:
        self.right, self.features, self.sign = right, features, sign
        x, terms, own = design_of(features)
        levels = levels_of(right, x)
        self.full = regression(levels, x)
        self.effects = [effect(self.full, one.contrast, sign) for one in terms]
        self.terms = [one.feature for one in terms]
        self.holm = holm(np.array([one.p for one in self.effects]))
        self.alone = []
        for one in terms:
            columns = [0, *own[one.feature]]
            self.alone.append(effect(regression(levels, x[:, columns]), one.contrast[columns], sign))
        self.share = max(1 - self.full.variance / regression(levels, x[:, :1]).variance, 0.0)
        self.p = {name: self._joint(columns) for name, columns in own.items()}
        names = list(features)
        sets = {"all": names, "none": []} | {
            f"without {one}": [k for k in names if k != one] for one in names
        }
        sets |= {f"alone {one}": [one] for one in names}
        self.predicted = self._held_out(sets, seed)
        self.observed = right.mean(axis=1)

    def _joint(self, columns: list[int]) -> float:
        w, spread = self.full.weights[columns], self.full.covariance[np.ix_(columns, columns)]
        return float(
            f_distribution.sf(w @ np.linalg.solve(spread, w) / len(columns), len(columns), self.full.df)
        )

    def _held_out(self, sets: dict[str, list[str]], seed: int) -> dict[str, Array]:
        n = len(self.right)
        bare = levels_of(self.right, np.ones((n, 1)))
        trust = bare.variance / (bare.variance + bare.noise)
        fold = np.random.default_rng(seed).permutation(n) % min(FOLDS, n)
        out = {key: np.empty(n) for key in sets}
        for k in range(FOLDS):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            blocks = {name: coded(values, train) for name, values in self.features.items()}
            for key, names in sets.items():
                x = np.hstack([np.empty((n, 0)), *(blocks[name] for name in names)])
                predict, error = ridge(x[train], bare.observed[train], trust[train])
                spread = max(error - float(np.average(bare.noise[train], weights=trust[train])), 0.0)
                logit = (predict(x[test])[:, None] + bare.columns) / np.sqrt(1 + np.pi * spread / 8)
                out[key][test] = sigmoid(logit).mean(axis=1)
        return out

    def score(self, key: str, other: str | None = None) -> Effect:
        """R² of held-out mean responses, or how much it is above another's: delta method, Student's t."""
        spread = (self.observed - self.predicted["none"]) ** 2

        def values(one: str) -> Array:
            error = (self.observed - self.predicted[one]) ** 2
            a, b = error.mean(), spread.mean()
            return 1 - a / b - (error - a) / b + a * (spread - b) / b**2

        rows = values(key) - (values(other) if other else 0.0)
        half = float(t.ppf(0.975, len(rows) - 1) * rows.std(ddof=1) / np.sqrt(len(rows)))
        return Effect(rows.mean(), rows.mean() - half, rows.mean() + half, np.nan)


def check_features(section: dict[str, Any], of: Anew) -> tuple[int, list[str]]:
    """Statements, and the tables of effects, shares and predictions."""

    def rule(said: dict[str, Any]) -> Truth:
        if said["kind"] == "features fitted":
            return {"variance_explained": (of.share, CLOSE)}
        if said["kind"] == "features effects":
            return _largest(said, of)
        if said["kind"] == "features most":
            lost = {name: of.score("all", f"without {name}") for name in of.features}
            first = said["names"]["feature"]
            most = max(one.value for one in lost.values())
            need(lost[first].value >= most - CLOSE / 10, "more is lost without another")
            return {
                name: (end, CLOSE)
                for name, end in zip(("lost", "lost_low", "lost_high"), lost[first], strict=False)
            }
        found = of.score("all")
        need(
            (said["kind"] == "features explained") == (found.low > 0),
            f"the interval begins at {found.low:.4f}",
        )
        ends = ("explained", "explained_low", "explained_high")
        return {name: (end, CLOSE / 2) for name, end in zip(ends, found, strict=False)}

    n, wrong = false_statements(section, rule)
    for told, true, what in _pairs(section, of):
        n += 1
        if abs(told - true) > CLOSE * max(1.0, abs(true)):
            wrong.append(f"{what}: {told:.5g} is shown, {true:.5g} is true")
    return n, wrong


def _largest(said: dict[str, Any], of: Anew) -> Truth:
    sizes = [abs(one.value) for one in of.effects]
    k = int(np.argmax(sizes))
    need(said["names"]["feature"] == of.terms[k], f"the largest is of {of.terms[k]}")
    found = of.effects[k]
    return {
        "significant": int((of.holm < 0.05).sum()), "effects": f"{len(sizes)} effects",
        "effect": (found.value, CLOSE), "effect_low": (found.low, CLOSE), "effect_high": (found.high, CLOSE),
        "p": (of.holm[k], max(0.1 * of.holm[k], 1e-6)),
    }  # fmt: skip


def _pairs(section: dict[str, Any], of: Anew) -> list[tuple[float, float, str]]:
    """Numbers of the tables beside the true ones."""
    out = []
    order = sorted(range(len(of.effects)), key=lambda k: -abs(of.effects[k].value))
    for row, k in zip(_rows(section), order, strict=True):
        names = ("effect", "low", "high", "alone", "alone, low", "alone, high")
        true = (*of.effects[k][:3], *of.alone[k][:3])
        out += [
            (row[name], one, f"{row['feature']}, {row['term']}: {name}")
            for name, one in zip(names, true, strict=True)
        ]
        out += [
            (row["p"], of.effects[k].p, f"{row['term']}: p"),
            (row["p (Holm)"], of.holm[k], f"{row['term']}: Holm"),
        ]
    shares, predicted = section["more"]
    for row in _rows(shares):
        name = row["feature"]
        true = (*of.score(f"alone {name}")[:3], *of.score("all", f"without {name}")[:3], of.p[name])
        keys = ("alone", "alone, low", "alone, high", "lost", "lost, low", "lost, high", "p")
        out += [(row[key], one, f"share of {name}: {key}") for key, one in zip(keys, true, strict=True)]
    told = sorted(row["predicted"] for row in _rows(predicted))
    true = np.sort(of.predicted["all"])
    out += [(one, right, "a predicted mean response") for one, right in zip(told, true.tolist(), strict=True)]
    return out


def _rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
