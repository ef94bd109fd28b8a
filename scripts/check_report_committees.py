"""The committee of a report computed anew from the answers: own code, NumPy and SciPy alone.

Weights are learned by BFGS on the posterior, McNemar's test is SciPy's binomial test, Tango's interval is
found by root finding, EPP by Bradley and Terry's likelihood. The deals of the samples into halves and folds
are the same random numbers.
"""

from collections import Counter
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import binomtest, norm, t

from check_report_rules import Truth, false_statements, need
from check_report_truth import Players, tango

FOLDS, ROUNDS, SOFT, SPREAD, LEAST = 5, 20, 0.5, 2.0, 0.05
VOTES, FINDERS = ("majority", "log-odds", "learned"), ("greedy", "best")
Array = Any
Way = tuple[str, str]  # how members are found, how votes are weighted


class Answers(NamedTuple):
    """What each learner said, all known, and which answer to each sample is right."""

    learners: list[str]
    said: Array  # [learners, samples], any labels
    right: Array  # [samples], a label; where nobody is right, one that nobody gave

    def take(self, rows: Array) -> "Answers":
        return Answers(self.learners, self.said[:, rows], self.right[rows])

    @property
    def earned(self) -> Array:
        return (self.said == self.right).astype(float)


def tries() -> list[Way]:
    """Ways in the order in which equal ones are preferred."""
    return [
        (finder, vote) for vote, finder in product(VOTES, FINDERS) if vote != "learned" or finder == "greedy"
    ]


def ordered(earned: Array) -> Array:
    return np.argsort(-earned.mean(axis=1).round(9), kind="stable")


def greedily(earned: Array, most: int) -> list[int]:
    """The best one, then whoever is right where few are."""
    taken = [int(ordered(earned)[0])]
    rank = {int(i): k for k, i in enumerate(ordered(earned))}
    while len(taken) < min(most, len(earned)):
        votes = SOFT + earned[taken].sum(axis=0)
        gain = {i: float(np.log((votes + earned[i]) / votes).sum()) for i in rank if i not in taken}
        top = max(gain.values())
        taken.append(min((i for i in gain if gain[i] > top * (1 - 1e-6)), key=rank.__getitem__))
    return taken


def voted(answers: Answers, members: list[int], weights: Array) -> Array:
    """1 where the answer with most votes is right; a tie goes to the member that stands first."""
    out = np.zeros(answers.said.shape[1])
    for j in range(len(out)):
        total: dict[Any, float] = {}
        for i, weight in zip(members, weights, strict=True):
            total[answers.said[i, j]] = total.get(answers.said[i, j], 0.0) + weight
        top = max(total.values())
        out[j] = float(next(one for one, sum_ in total.items() if sum_ >= top - 1e-9) == answers.right[j])
    return out


def by_odds(answers: Answers, members: list[int], n_classes: int) -> Array:
    earned = answers.earned[members]
    p = (earned.sum(axis=1) + 1) / (earned.shape[1] + 2)
    weights = np.maximum(np.log(max(n_classes - 1, 1)) + np.log(p / (1 - p)), 0.0)
    return weights if weights.any() else np.ones(len(members))


def learned(answers: Answers, members: list[int], prior: Array) -> Array:
    """The mode of a softmax of votes, normal around a multiple of the weights by odds."""
    rows = []
    for j in range(answers.said.shape[1]):
        said = answers.said[members, j]
        labels = list(dict.fromkeys(said))
        if len(labels) > 1 and answers.right[j] in labels:
            rows.append((np.array([said == one for one in labels], float), labels.index(answers.right[j])))
    if not rows:
        return prior

    def mode(base: Array, start: Array, centre: Array, precision: float) -> Array:
        def loss(w: Array) -> float:
            value = precision / 2 * float(((w - centre) ** 2).sum())
            for backed, right in rows:
                logit = backed @ (base @ w)
                value += float(np.logaddexp.reduce(logit) - logit[right])
            return value

        return minimize(loss, start, method="BFGS", options={"gtol": 1e-8}).x

    scale = float(mode(prior[:, None], np.ones(1), np.ones(1), 1.0)[0])
    centre = max(scale, LEAST) * prior
    found = np.maximum(mode(np.eye(len(prior)), centre, centre, (centre.mean() / SPREAD) ** -2), 0.0)
    return found if found.any() else prior


class Chosen(NamedTuple):
    size: int
    by_size: dict[int, tuple[list[int], Array]]
    best: int


def committees(
    answers: Answers, sizes: list[int], n_classes: int
) -> dict[tuple[Way, int], tuple[list[int], Array]]:
    earned = answers.earned
    members = {"best": ordered(earned).tolist(), "greedy": greedily(earned, max(sizes))}
    out = {}
    for way, size in product(tries(), sizes):
        taken = members[way[0]][:size]
        odds = by_odds(answers, taken, n_classes)
        weights = {"majority": np.ones(size), "log-odds": odds}.get(way[1])
        out[way, size] = taken, learned(answers, taken, odds) if weights is None else weights
    return out


def choose(answers: Answers, sizes: list[int], n_classes: int, rng: np.random.Generator) -> Chosen:
    """Way and size by five folds within these samples, then everything from all of them."""
    n = answers.said.shape[1]
    fold = rng.permutation(n) % FOLDS
    total = Counter[Any]()
    for k in range(FOLDS):
        inside = answers.take(np.flatnonzero(fold == k))
        for key, (members, weights) in committees(
            answers.take(np.flatnonzero(fold != k)), sizes, n_classes
        ).items():
            total[key] += float(voted(inside, members, weights).sum())
    ways = {size: max(tries(), key=lambda way: round(total[way, size], 6)) for size in sizes}
    size = max(sizes, key=lambda one: round(total[ways[one], one], 6))
    found = committees(answers, sizes, n_classes)
    return Chosen(size, {one: found[ways[one], one] for one in sizes}, int(ordered(answers.earned)[0]))


class Effect(NamedTuple):
    value: float
    low: float
    high: float
    p: float


def over_splits(first: Array, other: Array) -> Effect:
    """McNemar's test and Tango's interval of each split; medians of p and ends, the mean difference."""
    found = []
    for a, b in zip(first, other, strict=True):
        won, lost = int((b > a).sum()), int((b < a).sum())
        p = float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
        found.append(((b - a).mean(), *tango(won, lost, len(a)), p))
    columns = np.array(found).T
    return Effect(float(columns[0].mean()), *(float(np.median(one)) for one in columns[1:]))


def accuracy(earned: Array) -> Effect:
    """The mean over splits, and the medians of Wilson's ends."""
    z, n = norm.ppf(0.975), earned.shape[1]
    p = earned.mean(axis=1)
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Effect(float(p.mean()), float(np.median(centre - half)), float(np.median(centre + half)), np.nan)


class Anew:
    """Every figure of a committee's section."""

    def __init__(self, answers: Answers, sizes: list[int], n_classes: int, *, splits: int, seed: int) -> None:
        order = sorted(range(len(answers.learners)), key=answers.learners.__getitem__)
        self.of = Answers([answers.learners[i] for i in order], answers.said[order], answers.right)
        n = self.of.said.shape[1]
        single, chosen = np.empty((splits, n)), np.empty((splits, n))
        by_size = {size: np.empty((splits, n)) for size in sizes}
        for split in range(splits):
            rng = np.random.default_rng([seed, split])
            half = rng.permutation(n) % 2
            for k in range(2):
                inside, outside = np.flatnonzero(half == k), np.flatnonzero(half != k)
                found, held = choose(self.of.take(outside), sizes, n_classes, rng), self.of.take(inside)
                for size, (members, weights) in found.by_size.items():
                    by_size[size][split, inside] = voted(held, members, weights)
                chosen[split, inside] = by_size[found.size][split, inside]
                single[split, inside] = held.earned[found.best]
        final = choose(self.of, sizes, n_classes, np.random.default_rng([seed, 1]))
        everybody = voted(self.of, list(range(len(self.of.learners))), np.ones(len(self.of.learners)))
        self.best = self.of.learners[final.best]
        members = final.by_size[final.size][0]
        self.members = [self.of.learners[i] for i in members]
        self.ways = {
            "best single learner": single, "chosen committee": chosen,
            **{f"committee of {size}": one for size, one in by_size.items()},
            f"all {len(self.of.learners)} learners": np.tile(everybody, (splits, 1)),
        }  # fmt: skip
        players = {self.of.learners[i]: self.of.earned[i] for i in dict.fromkeys([*members, final.best])}
        players |= {name: one.mean(axis=0) for name, one in list(self.ways.items())[2:]}
        part = np.random.default_rng([seed, 2]).permutation(n) % ROUNDS
        scores = [[row[part == k].mean() for k in range(ROUNDS)] for row in players.values()]
        self.epp = Players(list(players), np.array(scores).round(12))

    def gap(self, way: str) -> Effect:
        return over_splits(self.ways["best single learner"], self.ways[way])

    def strength(self, player: str) -> Effect:
        k = self.epp.names.index(player)
        half = float(t.ppf(0.975, self.epp.df) * np.sqrt(self.epp.covariance[k, k]))
        return Effect(self.epp.epp[k], self.epp.epp[k] - half, self.epp.epp[k] + half, np.nan)


def check_committee(section: dict[str, Any], of: Anew) -> tuple[int, list[str]]:
    """Statements and pictures of a section, and its table of members."""

    def rule(said: dict[str, Any]) -> Truth:
        if said["kind"] == "committee size":
            need(all(name in said["text"] for name in of.members[:9]), "other learners are its members")
            return {"members": len(of.members)}
        found = of.gap("chosen committee")
        need(said["names"]["single"] == of.best, "another learner is the best single one")
        need(
            (said["kind"] == "committee better") == (found.p < 0.05 and found.value > 0),
            f"p is {found.p:.3g}",
        )
        ends = {"difference": found.value, "difference_low": found.low, "difference_high": found.high}
        return ends | {"p": found.p}

    n, wrong = false_statements(section, rule)
    more, false = _pictures(section, of)
    rows = [dict(zip(section["columns"], row, strict=True)) for row in section["rows"]]
    if [row["learner"] for row in rows] != of.members:
        wrong.append(f"the table has the members {[row['learner'] for row in rows]}; true are {of.members}")
        return n + more, wrong + false
    true = [of.of.earned[of.of.learners.index(name)].mean() for name in of.members]
    told = [row["accuracy"] for row in rows]
    off = [name for name, one, right in zip(of.members, told, true, strict=True) if abs(one - right) > 1e-9]
    return n + more + len(rows), wrong + false + [f"another accuracy of {name} is told" for name in off]


def _pictures(section: dict[str, Any], of: Anew) -> tuple[int, list[str]]:
    """Accuracies, differences and EPP."""
    n, wrong = 0, list[str]()
    figures = (lambda name: accuracy(of.ways[name]), of.gap, of.strength)
    for picture, figure in zip(section["pictures"], figures, strict=False):
        slack = 1e-3 if figure == of.strength else 1e-6
        for dot in picture["series"]:
            n += 1
            true, told = figure(dot["name"]), (dot["value"][0], dot["low"][0], dot["high"][0])
            if any(abs(one - right) > slack for one, right in zip(told, true[:3], strict=True)):
                wrong.append(f"{picture['title']}, {dot['name']}: {told} is shown, {true[:3]} is true")
    return n, wrong
