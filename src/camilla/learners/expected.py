"""Expected responses of learners to samples that nobody answered yet, from features of the samples.

    q = mean of the learner + Σ w (what a method adds for this learner) + Σ v (what it adds for all)

Three methods: tasks (shrunken means), a logistic regression per learner, the mean of the nearest samples. The
weights w and v come from cross-fitting within the samples of the fit, by non-negative least squares. Where
nothing predicts differences between learners better than the means do, all weights are 0: then every sample
gets the same expected responses. There is no other threshold: with one, a route would be there or not by
chance, and another deal of the samples would change it as a whole.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, rounded, sigmoid
from camilla.learners.votes import dealt
from camilla.statistics.clusters import spread_of

Indices = NDArray[np.int64]
METHODS = ("tasks", "regression", "neighbours")
INNER_FOLDS = 4
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # of squared weights; a feature has total variance 1
NEIGHBOURS = (10, 30, 100)
STEPS = 60  # of the regression, which moves in steps of a bound of its curvature
SETTLED = 1e-4  # a step of all weights below it ends the regression
MOST_CARRIED = 5000  # samples of a fit up to which neighbours are tried: a route carries all of them
BLOCK = 2000  # samples whose neighbours are looked up at once
NEEDED = 1.0  # standard errors by which neighbours must make it better to be carried along
LONGEST_LOGIT = 12.0


class Known(NamedTuple):
    """What is known of samples before anybody answers."""

    x: Floats  # [samples, columns], blocks of mean 0 and total variance 1; no columns without features
    task: Indices  # [samples], −1 where it has none or one that was not fitted
    n_tasks: int

    def take(self, samples: Indices) -> "Known":
        """The same of some samples."""
        return self._replace(x=self.x[samples], task=self.task[samples])


class TaskMeans(NamedTuple):
    """Shrunken deviations of tasks from each learner's mean: [learners, tasks]."""

    deviation: Floats

    def added(self, known: Known) -> Floats:
        """Beyond the means: [learners, samples]; 0 for an unknown task."""
        found = self.deviation[:, np.maximum(known.task, 0)]
        return np.where(known.task >= 0, found, 0.0)


class Regression(NamedTuple):
    """Logits: [learners] and [learners, columns]."""

    intercept: Floats
    weights: Floats
    means: Floats  # [learners], of the responses

    def added(self, known: Known) -> Floats:
        """Beyond the means: [learners, samples]."""
        logit = self.intercept[:, None] + self.weights @ known.x.T
        return sigmoid(np.clip(logit, -LONGEST_LOGIT, LONGEST_LOGIT)) - self.means[:, None]


class Neighbours(NamedTuple):
    """The fitted samples and what learners' responses there are beyond their means; 0 where missing."""

    x: NDArray[np.float32]  # [samples, columns]
    beyond: NDArray[np.float32]  # [learners, samples]
    answered: NDArray[np.float32]  # [learners, samples], 0 or 1
    nearest: int  # how many of them are asked

    def added(self, known: Known) -> Floats:
        """Beyond the means: [learners, samples]."""
        return _neighbour_means(self, known.x, (self.nearest,))[0]


Method = TaskMeans | Regression | Neighbours


class Expectation(NamedTuple):
    """A fit: means of learners, the methods, and the weights of what they add."""

    means: Floats  # [learners]
    methods: dict[str, Method]
    contrast: dict[str, float]  # weight of what a method adds for one learner beyond all
    common: dict[str, float]  # weight of what it adds for all learners

    def expected(self, known: Known) -> Floats:
        """[learners, samples], in [0, 1]."""
        out = np.repeat(self.means[:, None], len(known.x), axis=1)
        for name, method in self.methods.items():
            added = method.added(known)
            shared = added.mean(axis=0)
            out = out + self.contrast[name] * (added - shared) + self.common[name] * shared
        return np.clip(out, 0.0, 1.0)

    @property
    def tells_apart(self) -> bool:
        """Whether samples differ in which learner is expected to be better."""
        return any(weight > 0 for weight in self.contrast.values())


def fit_expectation(
    known: Known, responses: Floats, units: NDArray[np.integer], rng: np.random.Generator,
    methods: Sequence[str] = METHODS,
) -> Expectation:  # fmt: skip
    """Settings and weights by cross-fitting over units, then each method on all samples.

    `responses` is [learners, samples], NaN where a learner did not answer.
    """
    tried = _settings(known, methods)
    means = np.nanmean(responses, axis=1)
    if not tried:
        return Expectation(means, {}, {}, {})
    added, target = _cross_fitted(known, responses, units, tried, rng)
    units = np.unique(units, return_inverse=True)[1]
    chosen = _best_settings(added, target)
    contrast, common = _weights({key: added[key] for key in chosen}, target, units)
    used = [key for key in chosen if contrast[key[0]] > 0 or common[key[0]] > 0]
    fitted = _fitted(known, responses, used) if used else {}
    return Expectation(means, {key[0]: fitted[key] for key in used}, contrast, common)


Setting = tuple[str, float]  # a method and its penalty, or its number of neighbours


def _settings(known: Known, methods: Sequence[str]) -> list[Setting]:
    settings: list[Setting] = []
    if "tasks" in methods and known.n_tasks > 1:
        settings.append(("tasks", 0.0))
    if known.x.shape[1]:
        settings += [("regression", one) for one in PENALTIES if "regression" in methods]
        if "neighbours" in methods and len(known.x) <= MOST_CARRIED:
            settings += [("neighbours", float(one)) for one in NEIGHBOURS]
    return settings


def _cross_fitted(
    known: Known, responses: Floats, units: NDArray[np.integer], tried: list[Setting],
    rng: np.random.Generator,
) -> tuple[dict[Setting, Floats], Floats]:  # fmt: skip
    """What each setting adds on folds it was not fitted on, and what it should have added."""
    numbers = np.unique(units, return_inverse=True)[1]
    fold = dealt(numbers, INNER_FOLDS, rng)
    added = {one: np.zeros(responses.shape) for one in tried}
    target = np.full(responses.shape, np.nan)
    for number in range(INNER_FOLDS):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        if not len(inside) or not len(outside):
            continue
        target[:, inside] = responses[:, inside] - _means(responses[:, outside])[:, None]
        held_out = known.take(inside)
        for setting, values in _added(known.take(outside), responses[:, outside], held_out, tried):
            added[setting][:, inside] = values
    return added, target


def _means(responses: Floats) -> Floats:
    """The mean of each learner; of one without a response the mean of all."""
    answered = ~np.isnan(responses)
    count = answered.sum(axis=1)
    total = np.where(answered, responses, 0.0).sum(axis=1)
    overall = total.sum() / max(int(count.sum()), 1)
    return np.where(count > 0, total / np.maximum(count, 1), overall)


def _added(
    known: Known, responses: Floats, held_out: Known, tried: Sequence[Setting]
) -> list[tuple[Setting, Floats]]:
    """What each setting, fitted here, adds there; neighbours are looked up once for all their numbers."""
    counts = [int(value) for name, value in tried if name == "neighbours"]
    fitted = _fitted(known, responses, [one for one in tried if one[0] != "neighbours"])
    out = [(setting, method.added(held_out)) for setting, method in fitted.items()]
    if counts:
        nearest = _neighbours(known, responses, counts[-1])
        means = _neighbour_means(nearest, held_out.x, counts)
        out += [(("neighbours", float(count)), one) for count, one in zip(counts, means, strict=True)]
    return out


def _fitted(known: Known, responses: Floats, settings: Sequence[Setting]) -> dict[Setting, Method]:
    out: dict[Setting, Method] = {}
    penalties = [value for name, value in settings if name == "regression"]
    if penalties:
        fits = _regressions(known.x, responses, penalties)
        out |= {("regression", value): fit for value, fit in zip(penalties, fits, strict=True)}
    for name, value in settings:
        if name == "tasks":
            out[name, value] = _task_means(known, responses)
        elif name == "neighbours":
            out[name, value] = _neighbours(known, responses, int(value))
    return {one: out[one] for one in settings}


def _task_means(known: Known, responses: Floats) -> TaskMeans:
    """Deviations of tasks, for all learners and for each beyond all, shrunken by their own variance."""
    answered = ~np.isnan(responses)
    beyond = np.where(answered, responses - _means(responses)[:, None], 0.0)
    seen = answered.sum(axis=0)
    shared = beyond.sum(axis=0) / np.maximum(seen, 1)
    common = _shrunken(shared[None], (seen > 0)[None], known)
    own = _shrunken(np.where(answered, beyond - shared, 0.0), answered, known)
    return TaskMeans(common + own)


def _shrunken(values: Floats, answered: NDArray[np.bool_], known: Known) -> Floats:
    """Means by task times τ²/(τ² + σ²/n); τ² is the mean of mean² − σ²/n, at least 0, one for all rows."""
    rows, tasks = len(values), known.n_tasks
    inside = known.task >= 0
    cell = (np.arange(rows)[:, None] * tasks + known.task)[:, inside].ravel()
    weight, value = answered[:, inside].astype(np.float64).ravel(), values[:, inside].ravel()
    count = np.bincount(cell, weight, rows * tasks).reshape(rows, tasks)
    total = np.bincount(cell, weight * value, rows * tasks).reshape(rows, tasks)
    mean = total / np.maximum(count, 1)
    square = np.bincount(cell, weight * value**2, rows * tasks).reshape(rows, tasks)
    within = np.maximum(square - count * mean**2, 0).sum(axis=1)
    noise = within / np.maximum((count - 1).clip(0).sum(axis=1), 1)  # one variance per row
    known_cells = count > 0
    of_mean = noise[:, None] / np.maximum(count, 1)
    spread = (mean**2 - of_mean)[known_cells]
    between = max(float(spread.mean()), 0.0) if len(spread) else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        shrinkage = np.where(of_mean + between > 0, between / (between + of_mean), 0.0)
    return np.where(known_cells, shrinkage * mean, 0.0)


def _regressions(x: Floats, responses: Floats, penalties: Sequence[float]) -> list[Regression]:
    """Logistic regressions of responses in [0, 1], all learners and penalties at once.

    Each minimises the log-loss + penalty/2 |weights|². The curvature of a log-loss is at most ¼ (Böhning,
    1992): in the directions of XᵀX one step solves that bound exactly, without a matrix to invert.
    """
    values, directions = np.linalg.eigh(x.T @ x)
    turned = x @ directions
    learners, columns = len(responses), x.shape[1]
    answered = (~np.isnan(responses)).T.astype(np.float64)  # [samples, learners]
    target = np.nan_to_num(responses).T
    means = _means(responses)
    start = np.clip(means, 1e-3, 1 - 1e-3)
    repeats = len(penalties)
    answered, target = np.tile(answered, repeats), np.tile(target, repeats)
    intercept = np.tile(np.log(start / (1 - start)), repeats)
    weights = np.zeros((columns, learners * repeats))
    penalty = np.repeat(np.asarray(penalties), learners)
    bound = np.maximum(values, 0)[:, None] / 4 + penalty
    ahead = weights
    for step in range(STEPS):
        p = sigmoid(turned @ ahead + intercept)
        rest = answered * (target - p)
        slope = rest.sum(axis=0)
        curvature = np.maximum((answered * p * (1 - p)).sum(axis=0), 1.0)
        intercept = intercept + np.clip(slope / curvature, -1.0, 1.0)
        moved = (turned.T @ rest - penalty * ahead) / bound
        before, weights = weights, ahead + moved
        ahead = weights + step / (step + 3) * (weights - before)  # Nesterov (1983)
        if np.abs(moved).max() < SETTLED and np.abs(slope / curvature).max() < SETTLED:
            break
    back = (directions @ weights).T.reshape(repeats, learners, columns)
    levels = intercept.reshape(repeats, learners)
    return [Regression(level, weight, means) for level, weight in zip(levels, back, strict=True)]


def _neighbours(known: Known, responses: Floats, count: int) -> Neighbours:
    answered = ~np.isnan(responses)
    beyond = np.where(answered, responses - _means(responses)[:, None], 0.0)
    return Neighbours(
        known.x.astype(np.float32), beyond.astype(np.float32), answered.astype(np.float32), count
    )


def _neighbour_means(fitted: Neighbours, x: Floats, counts: Sequence[int]) -> list[Floats]:
    """Means over the nearest samples (Euclid), one array per number of neighbours."""
    near, most = fitted.x, min(max(counts), len(fitted.x))
    length = np.sum(near.astype(np.float64) ** 2, axis=1)
    out = [np.zeros((len(fitted.beyond), len(x))) for _ in counts]
    for begin in range(0, len(x), BLOCK):
        rows = slice(begin, begin + BLOCK)
        distance = length - 2 * (x[rows].astype(np.float32) @ near.T)
        order = np.argpartition(distance, most - 1, axis=1)[:, :most]
        inside = np.take_along_axis(distance, order, axis=1).argsort(axis=1, kind="stable")
        order = np.take_along_axis(order, inside, axis=1)
        for values, count in zip(out, counts, strict=True):
            nearest = order[:, : min(count, most)]
            total = fitted.beyond[:, nearest].sum(axis=2)
            values[:, rows] = total / np.maximum(fitted.answered[:, nearest].sum(axis=2), 1)
    return out


def _centred(values: Floats, answered: NDArray[np.bool_]) -> Floats:
    """Less the mean over the learners that answered the sample; 0 where one did not."""
    count = np.maximum(answered.sum(axis=0), 1)
    return np.where(answered, values - np.where(answered, values, 0.0).sum(axis=0) / count, 0.0)


def _best_settings(added: dict[Setting, Floats], target: Floats) -> list[Setting]:
    """Of each method the setting with the smallest squared error of differences between learners."""
    answered = ~np.isnan(target)
    wanted = _centred(np.nan_to_num(target), answered)
    loss = {one: float(np.sum((wanted - _centred(values, answered)) ** 2)) for one, values in added.items()}
    names = dict.fromkeys(name for name, _ in added)
    return [
        min((one for one in added if one[0] == name), key=lambda one: rounded(loss[one])) for name in names
    ]


def _weights(
    added: dict[Setting, Floats], target: Floats, units: NDArray[np.integer]
) -> tuple[dict[str, float], dict[str, float]]:
    """Non-negative least squares of what was added on what should have been; 0 where that is no better."""
    answered = ~np.isnan(target)
    full, names = np.nan_to_num(target), [name for name, _ in added]
    wanted = _centred(full, answered)
    offered = np.array([_centred(values, answered) for values in added.values()])
    contrast = _of_methods(names, offered, wanted, units)
    shared = np.maximum(answered.sum(axis=0), 1)
    wanted = (np.where(answered, full, 0.0).sum(axis=0) / shared)[None]
    offered = np.array([np.where(answered, one, 0.0).sum(axis=0) / shared for one in added.values()])[:, None]
    return contrast, _of_methods(names, offered, wanted, units)


def _of_methods(
    names: Sequence[str], offered: Floats, wanted: Floats, units: NDArray[np.integer]
) -> dict[str, float]:
    """Weights of all methods; neighbours, which a route has to carry, only where the others do worse."""
    light = [at for at, name in enumerate(names) if name != "neighbours"]
    weights, plain = np.zeros(len(names)), (wanted**2).sum(axis=0)
    for taken, needed in ((light, 0.0), (list(range(len(names))), NEEDED if light else 0.0)):
        if not taken or (len(taken) == len(light) and taken is not light):
            continue
        some = _least_squares(offered[taken], wanted)
        loss = ((wanted - np.tensordot(some, offered[taken], 1)) ** 2).sum(axis=0)
        spread = spread_of(plain - loss, units)
        if float(spread.mean) > needed * float(np.sqrt(spread.variance)):
            weights[:] = 0
            weights[taken], plain = some, loss
    return {name: float(one) for name, one in zip(names, rounded(weights), strict=True)}


def _least_squares(offered: Floats, wanted: Floats) -> Floats:
    """Non-negative weights of [methods, rows, samples] for [rows, samples]."""
    from scipy.optimize import nnls

    flat = offered.reshape(len(offered), -1)
    cross, own = flat @ flat.T, flat @ wanted.ravel()
    scale = max(float(np.trace(cross)), 1e-300)
    root = np.linalg.cholesky(cross / scale + 1e-9 * np.eye(len(cross)))
    return np.asarray(nnls(root.T, np.linalg.solve(root, own / scale))[0])
