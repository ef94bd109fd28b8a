"""What each budget buys: samples are moved to dearer learners where most is expected per unit of cost.

With expected responses q and costs c, a price μ gives sample i to the learner with the largest q − μ c. All
prices together are a path: every sample starts at its best learner of the lowest cost, and moves are made in
the order of their expected gain per cost. A budget is the point of the path with that mean cost. Moves of
equal rates are made together, in part where the budget ends among them: as by lot.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, rounded

Indices = NDArray[np.int64]
GRID = 101  # budgets at which a frontier is drawn and its intervals are made
FIRST_PRICE = 1.001  # times the highest rate: too dear for all samples that were seen
SLOPE_PART = 10  # a slope is taken over this part of the budgets to either side
MOST_CELLS = 10_000_000  # budgets times samples that are kept of a way
FEWEST_BUDGETS = 21


class Path(NamedTuple):
    """Where samples start, and the moves in their order; equal rates share a `group`."""

    start: Indices  # [samples], learners
    sample: Indices  # [moves]
    before: Indices  # [moves], the learner left
    after: Indices  # [moves], the learner moved to
    rate: Floats  # [moves], expected gain per unit of cost, falling
    group: Indices  # [moves], 0, 1, … by rate
    cost: Floats  # [groups + 1], mean cost per sample before the first and after each group

    def shares(self, budgets: Floats) -> Floats:
        """Which part of each group of moves each budget pays for: [budgets, groups]."""
        step = np.diff(self.cost)
        return np.clip((np.asarray(budgets)[:, None] - self.cost[:-1]) / step, 0.0, 1.0)

    def earned(self, values: Floats, budgets: Floats) -> Floats:
        """Per budget and sample the value of its learner [learners, samples], in parts where it is split."""
        n = len(self.start)
        gain = values[self.after, self.sample] - values[self.before, self.sample]
        shares = self.shares(budgets)[:, self.group]
        out = np.tile(values[self.start, np.arange(n)], (len(shares), 1))
        for moves in _by_turn(self.sample):
            out[:, self.sample[moves]] += shares[:, moves] * gain[moves]
        return out

    def mean_over_budgets(self, values: Floats, low: float, high: float) -> Floats:
        """Per sample the value of its learner, averaged over all budgets from low to high, exactly."""
        n, (left, right) = len(self.start), (self.cost[:-1], self.cost[1:])
        inside = np.clip([left, right], low, high)
        # a group's share rises from 0 to 1 between its two costs, and stays 1 beyond
        middle = (inside.mean(axis=0) - left) / (right - left) * (inside[1] - inside[0])
        share = (middle + high - inside[1]) / (high - low)
        gain = values[self.after, self.sample] - values[self.before, self.sample]
        total = np.bincount(self.sample, share[self.group] * gain, n)
        return values[self.start, np.arange(n)] + total

    def price(self, budget: float) -> float:
        """Between the rates of the moves that the budget pays for and of those it does not, or not wholly.

        It is 0 where all are paid for.
        """
        at = int(np.searchsorted(self.cost, budget * (1 + 1e-12), side="right")) - 1
        rates = self.rate[np.flatnonzero(np.diff(self.group, prepend=-1))]
        if at >= len(rates):
            return 0.0
        return float((rates[at] + rates[at - 1]) / 2 if at else rates[0] * FIRST_PRICE)


def _by_turn(sample: Indices) -> list[Indices]:
    """Moves in turns, each sample at most once per turn, so that they can be added at once."""
    order = np.argsort(sample, kind="stable")
    starts = np.diff(sample[order], prepend=-1) != 0
    position = np.arange(len(order))
    turn = position - np.maximum.accumulate(np.where(starts, position, 0))
    return [order[turn == k] for k in range(int(turn.max(initial=-1)) + 1)]


def path_of(expected: Floats, costs: Floats, last: int | None = None) -> Path:
    """The path of expected responses [learners, samples] at these costs per learner.

    It ends where no dearer learner is expected to be better. With `last` it goes on: samples move to that
    learner at an expected loss, the smallest loss per cost first, until it answers all it is dearer for.
    """
    n_samples = expected.shape[1]
    everyone = np.arange(n_samples)
    lowest = np.flatnonzero(costs <= costs.min())
    start = lowest[np.argmax(rounded(expected[lowest]), axis=0)]
    current, moves = start.copy(), []
    for _ in range(len(costs) - 1):
        rates = _rates(expected, costs, current)
        best = np.argmax(rates, axis=0)
        moving = np.flatnonzero(rates[best, everyone] > 0)
        if not len(moving):
            break
        moves.append((moving, current[moving], best[moving], rates[best[moving], moving]))
        current[moving] = best[moving]
    if last is not None:
        moving = np.flatnonzero(costs[current] < costs[last])
        loss = expected[last, moving] - expected[current[moving], moving]
        rate = np.minimum(rounded(loss / (costs[last] - costs[current[moving]])), 0.0)
        moves.append((moving, current[moving], np.full(len(moving), last), rate))
    return _ordered(start, moves, costs)


def _rates(expected: Floats, costs: Floats, current: Indices) -> Floats:
    """Expected gain per unit of cost of moving each sample to each dearer learner: [learners, samples]."""
    gain = expected - expected[current, np.arange(expected.shape[1])]
    more = costs[:, None] - costs[current]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(more > 0, rounded(gain / more), -np.inf)


def _ordered(start: Indices, moves: list[tuple[Indices, Indices, Indices, Floats]], costs: Floats) -> Path:
    columns = [np.concatenate(column) for column in zip(*moves, strict=True)] if moves else []
    if not columns:
        columns = [np.zeros(0, np.int64)] * 3 + [np.zeros(0)]
    order = np.argsort(-columns[3], kind="stable")
    sample, before, after, rate = (column[order] for column in columns)
    group = np.cumsum(np.diff(rate, prepend=np.inf) != 0) - 1
    more = np.bincount(group, costs[after] - costs[before]) if len(group) else np.zeros(0)
    spent = np.concatenate(([0.0], np.cumsum(more))) / len(start) + costs[start].mean()
    return Path(start, sample, before, after, rate, group.astype(np.int64), spent)


def chosen_at(expected: Floats, costs: Floats, price: float) -> Indices:
    """The learner of each sample at a price: the largest q − μ c, of equals the cheapest."""
    order = np.lexsort((np.arange(len(costs)), costs))
    worth = rounded(expected - price * costs[:, None])
    return order[np.argmax(worth[order], axis=0)]


class Mixture(NamedTuple):
    """Learners between which lots are drawn: the corners of the convex hull of (cost, mean response)."""

    learners: Indices  # by cost
    cost: Floats

    def weights(self, budgets: Floats, n_learners: int) -> Floats:
        """How often each learner is drawn at each budget: [budgets, learners]."""
        out = np.zeros((len(budgets), n_learners))
        for corner, unit in zip(self.learners, np.eye(len(self.learners)), strict=True):
            out[:, corner] = np.interp(budgets, self.cost, unit)
        return out


def mixture_of(means: Floats, costs: Floats) -> Mixture:
    """From the best learner of the lowest cost on, always to the one that gains most per cost."""
    path = path_of(means[:, None], costs)
    learners = np.concatenate((path.start, path.after))
    return Mixture(learners, costs[learners])


def budgets_between(low: float, high: float, n_samples: int) -> Floats:
    """The budgets of a frontier, fewer for very many samples; one where there is nothing between."""
    if not high > low:
        return np.array([low])
    return np.linspace(low, high, int(np.clip(MOST_CELLS // max(n_samples, 1), FEWEST_BUDGETS, GRID)))


def at_fixed_cost(quality: Floats, budgets: Floats, cost: Floats, end: float = np.inf) -> Floats:
    """What each sample says of the mean quality at each budget: [budgets, samples].

    A sample that takes a dearer learner than others raises the price at which a budget is met: its quality
    less the slope of the frontier times its cost beyond the budget (the influence function of a mean under a
    constraint on another mean). From `end` on, where every move is paid for, a budget constrains nothing.
    """
    if len(budgets) < 2:
        return quality
    mean = quality.mean(axis=1)
    at = np.arange(len(budgets))
    reach = max(len(budgets) // SLOPE_PART, 1)
    left, right = np.maximum(at - reach, 0), np.minimum(at + reach, len(budgets) - 1)
    slope = np.where(
        budgets < end * (1 - 1e-12), (mean[right] - mean[left]) / (budgets[right] - budgets[left]), 0.0
    )
    return quality - slope[:, None] * (cost - cost.mean(axis=1)[:, None])
