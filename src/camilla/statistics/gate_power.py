"""What the gate of two learners can see: its tests run on outcomes drawn from a design. Floats only.

A gate has a test over all samples and, by task, one for each task; all see the same responses, so that its
power is no product of theirs. Outcomes of right/wrong responses are drawn as samples won and lost, others as
the mean and variance of normal differences, with clusters as the units. Then the gate's own tests decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.statistics.intervals import critical_value, tango_score
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import mcnemar_p
from camilla.statistics.power import Design, fewest

DRAWS = 10_000  # a chance is known to ± 1 point (two standard errors)
SEED = 0
PRECISION = 5e-4  # of a loss


@dataclass(frozen=True)
class GateDesign:
    """How two learners differ on each task, how many samples each has, and what the gate asks.

    `margin` is what has to be shown, overall and on each task where `allowed` says no other; without it the
    gate asks whether B is significantly worse, on a task by more than `allowed`.
    """

    tasks: tuple[Design, ...]
    samples: tuple[int, ...]
    by_task: bool = False
    margin: float | None = None
    allowed: tuple[float, ...] = ()  # of each task; empty: 0, or the margin
    alpha: float = 0.05

    def of_size(self, samples: int) -> "GateDesign":
        """The same gate with so many samples, shared by tasks as now."""
        share = np.array(self.samples) / sum(self.samples)
        counts = tuple(int(count) for count in np.maximum(np.rint(share * samples), 2))
        return GateDesign(self.tasks, counts, self.by_task, self.margin, self.allowed, self.alpha)


def chance_of_passing(gate: GateDesign, losses: float | Sequence[float]) -> float:
    """P(the gate lets B pass) where B is truly so far below A, on all tasks or on each."""
    rng = np.random.default_rng(SEED)
    each = np.broadcast_to(np.asarray(losses, np.float64), len(gate.tasks))
    allowed = gate.allowed or (gate.margin or 0.0,) * len(gate.tasks)
    parts = [
        _outcomes(design, n, float(loss), rng)
        for design, n, loss in zip(gate.tasks, gate.samples, each, strict=True)
    ]
    passed = ~_refused(_together(parts), gate.margin, gate.margin or 0.0, gate.alpha)
    if not gate.by_task:
        return float(passed.mean())
    if gate.margin is not None:
        for part, most in zip(parts, allowed, strict=True):
            passed &= ~_refused(part, gate.margin, most, gate.alpha)
        return float(passed.mean())
    p = np.stack([_p_of(part, most) for part, most in zip(parts, allowed, strict=True)], axis=1)
    below = np.stack([part.mean < -most for part, most in zip(parts, allowed, strict=True)], axis=1)
    return float((passed & ~((holm(p) < gate.alpha) & below).any(axis=1)).mean())


def loss_caught(gate: GateDesign, power: float = 0.8, *, task: int | None = None) -> float | None:
    """The smallest loss, on all tasks alike or on one alone, that the gate catches so often; None if none."""

    def caught(loss: float) -> float:
        losses = np.zeros(len(gate.tasks))
        losses[slice(None) if task is None else task] = loss
        return 1 - chance_of_passing(gate, losses.tolist())

    low, high = 0.0, 1.0
    if caught(high) < power:
        return None
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if caught(middle) >= power else (middle, high)
    return high


def samples_to_pass(gate: GateDesign, power: float = 0.8) -> int | None:
    """The fewest samples with which an equally good B passes so often; None if no number is enough."""
    if gate.margin == 0:
        return None
    return fewest(lambda n: chance_of_passing(gate.of_size(n), 0.0) >= power)


@dataclass(frozen=True)
class _Outcomes:
    """Draws of what is seen of the samples of a task: won and lost, or the mean and variance of units."""

    n: int
    mean: Floats
    variance: Floats  # of the mean
    df: float
    won: Floats | None = None
    lost: Floats | None = None


def _outcomes(design: Design, n: int, loss: float, rng: np.random.Generator) -> _Outcomes:
    if design.is_exact:
        discordance = max(design.discordance or 0.0, loss)
        flips = rng.binomial(n, discordance, DRAWS)
        won = rng.binomial(flips, (discordance - loss) / (2 * discordance)).astype(np.float64)
        lost = flips - won
        mean = (won - lost) / n
        spread = ((won + lost) / n - mean**2) / max(n - 1, 1)
        return _Outcomes(n, mean, spread, n - 1, won, lost)
    units = max(n / design.cluster_size, 1.0)
    true = max(design.variance(loss), 1e-12) / n
    mean = rng.normal(-loss, np.sqrt(true), DRAWS)
    df = max(units - 1, 1e-9)
    return _Outcomes(n, mean, true * rng.chisquare(df, DRAWS) / df, df)


def _together(parts: Sequence[_Outcomes]) -> _Outcomes:
    """The same draws of all samples as one."""
    n = sum(part.n for part in parts)
    share = [part.n / n for part in parts]
    mean = np.sum([w * part.mean for w, part in zip(share, parts, strict=True)], axis=0)
    if all(part.won is not None for part in parts):
        won, lost = (np.sum([getattr(part, side) for part in parts], axis=0) for side in ("won", "lost"))
        spread = ((won + lost) / n - mean**2) / max(n - 1, 1)
        return _Outcomes(n, mean, spread, n - 1, won, lost)
    apart = np.sum([w * (part.mean - mean) ** 2 for w, part in zip(share, parts, strict=True)], axis=0)
    within = np.sum([w**2 * part.variance for w, part in zip(share, parts, strict=True)], axis=0)
    return _Outcomes(n, mean, within + apart / n, sum(part.df for part in parts) + len(parts) - 1)


def _refused(part: _Outcomes, margin: float | None, most: float, alpha: float) -> NDArray[np.bool_]:
    """Where one test does not let B pass."""
    if margin is None:
        return np.asarray((_p_of(part, 0.0) < alpha) & (part.mean < 0))
    if part.won is not None and part.lost is not None:
        score, df = tango_score(np.asarray(-most), part.won, part.lost, part.n), np.inf
    else:
        score, df = (part.mean + most) / np.sqrt(part.variance), part.df
    return ~np.asarray(score >= critical_value(1 - alpha, df))


def _p_of(part: _Outcomes, allowed: float) -> Floats:
    """Two-sided p of B being exactly so far below A, by the tests of `paired`."""
    from scipy.special import ndtr, stdtr  # here, because reading a gate's other answers does without

    if part.won is not None and part.lost is not None:
        if allowed == 0:
            return mcnemar_p(part.lost, part.won)
        score = tango_score(np.asarray(-allowed), part.won, part.lost, part.n)
        return np.asarray(2 * ndtr(-np.abs(score)))
    return np.asarray(2 * stdtr(part.df, -np.abs(part.mean + allowed) / np.sqrt(part.variance)))
