"""Whether B may replace A: overall, and on each task, with what each task may lose."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from camilla.display import brief, counted, percent
from camilla.errors import SettingError
from camilla.learners.power import design_of_pair
from camilla.names import nearest
from camilla.statistics.gate_power import GateDesign, chance_of_passing, loss_caught
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import worse_by_p

if TYPE_CHECKING:
    from camilla.learners.compare import Comparison


@dataclass(frozen=True)
class GateCheck:
    """One condition of a gate."""

    task: str | None  # None for all samples together
    allowed: float  # how far B may be below A
    p_value: float | None  # of B being exactly that far below; over tasks adjusted (Holm); None with a margin
    low: float  # lower end of the interval of B − A, which a margin is compared with
    passed: bool


@dataclass(frozen=True)
class GateSight:
    """What a gate can see with so many samples, whatever B turns out to be."""

    samples: int
    power: float  # how often a loss is caught
    loss: float | None  # the smallest loss on all samples that is; None with a margin, or if none is
    task_losses: tuple[float | None, float | None] | None  # on the largest and smallest task alone
    passes: float | None  # with a margin: how often an equally good B passes

    def to_document(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self) | {"task_losses": None if self.task_losses is None else list(self.task_losses)}

    @property
    def sentence(self) -> str:
        """For a reader of the verdict."""
        of = f"With {counted(self.samples, 'sample')}"
        if self.passes is not None:
            return (
                f"{of}, this gate lets an equally good B pass {percent(round(self.passes, 2))} of the time."
            )
        often = f"{percent(self.power)} of the time"
        if self.loss is None:
            return f"{of}, this gate catches no loss {often}."
        said = f"{of}, this gate catches a loss of {100 * self.loss:.1f} points {often}"
        if self.task_losses is None:
            return f"{said}."
        largest, smallest = ("none" if loss is None else f"{100 * loss:.1f}" for loss in self.task_losses)
        return f"{said}; on the largest task alone {largest}, on the smallest {smallest}."


@dataclass(frozen=True)
class Gate:
    """The conditions, and which of them failed."""

    failed: bool
    rule: str
    reasons: tuple[str, ...]  # one sentence for each condition that failed
    checks: tuple[GateCheck, ...]
    sight: "GateSight"

    def to_document(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "failed": self.failed,
            "rule": self.rule,
            "reasons": list(self.reasons),
            "checks": [vars(check) for check in self.checks],
            "sight": self.sight.to_document(),
        }


def gate_of(found: "Comparison", *, by: str | None, margin: float | None, allow: Mapping[str, float]) -> Gate:
    """The gate of a comparison; settings that cannot act are errors."""
    _check(found, by, margin, allow)
    checks = [_overall(found, margin)]
    if by == "task" and found.tasks:
        checks += _shown_within(found, margin, allow) if margin is not None else _not_worse(found, allow)
    reasons = tuple(_reason(found, check, margin) for check in checks if not check.passed)
    sight = sight_of(_design(found, by, margin, allow))
    return Gate(bool(reasons), _rule(found, by, margin, allow), reasons, tuple(checks), sight)


def sight_of(gate: GateDesign, power: float = 0.8) -> GateSight:
    """What is caught so often, or how often an equally good B passes."""
    n = sum(gate.samples)
    if gate.margin is not None:
        return GateSight(n, power, None, None, chance_of_passing(gate, 0.0))
    tasks = None
    if gate.by_task:
        ends = int(np.argmax(gate.samples)), int(np.argmin(gate.samples))
        tasks = loss_caught(gate, power, task=ends[0]), loss_caught(gate, power, task=ends[1])
    return GateSight(n, power, loss_caught(gate, power), tasks, None)


def _design(
    found: "Comparison", by: str | None, margin: float | None, allow: Mapping[str, float]
) -> GateDesign:
    """How the two differ from sample to sample, as seen on these samples, and what is asked of them."""
    whole = design_of_pair(found.paired)
    pairs, allowed = [found.paired], []
    if by == "task" and found.tasks and found.stratum is not None:
        pairs = [found.paired.take(found.stratum == k) for k in range(len(found.tasks))]
        allowed = [allow.get(effect.task or "", margin or 0.0) for effect in found.tasks]
    designs = (whole,) if len(pairs) == 1 else tuple(design_of_pair(pair, whole) for pair in pairs)
    sizes = tuple(len(pair.sample) for pair in pairs)
    return GateDesign(designs, sizes, bool(allowed), margin, tuple(allowed), 1 - found.level)


def _check(found: "Comparison", by: str | None, margin: float | None, allow: Mapping[str, float]) -> None:
    if by not in (None, "task"):
        raise SettingError(f"a gate is by 'task', or only overall; got {by!r}.")
    if margin is not None and not 0 <= margin < 1:
        raise SettingError(f"--margin {margin:g}: a margin lies in 0 ≤ margin < 1.")
    if allow and by is None:
        raise SettingError("--allow says what a task may lose; it goes with --by task.")
    names = [effect.task for effect in found.tasks if effect.task is not None]
    if allow and not names:
        raise SettingError("--allow names a task, and the shared samples are of one task; use --margin.")
    for task, allowed in allow.items():
        if task not in names:
            raise SettingError(f"--allow: no task is called {task!r}. {nearest(task, names)}")
        if not 0 <= allowed <= 1:
            raise SettingError(f"--allow {task}={allowed:g}: what a task may lose lies in 0 to 1.")


def _overall(found: "Comparison", margin: float | None) -> GateCheck:
    p = None if margin is not None else found.overall.p_value
    return GateCheck(None, margin or 0.0, p, found.overall.low, not found.is_worse(margin))


def _not_worse(found: "Comparison", allow: Mapping[str, float]) -> Iterator[GateCheck]:
    """Each task: not significantly further below A than allowed, Holm over all tasks."""
    assert found.stratum is not None
    allowed = [allow.get(effect.task or "", 0.0) for effect in found.tasks]
    pairs = [found.paired.take(found.stratum == k) for k in range(len(found.tasks))]
    p_values = np.array([worse_by_p(pair, most) for pair, most in zip(pairs, allowed, strict=True)])
    for effect, most, p in zip(found.tasks, allowed, holm(p_values).tolist(), strict=True):
        worse = effect.difference < -most and p < 1 - found.level
        yield GateCheck(effect.task, most, p, effect.low, not worse)


def _shown_within(found: "Comparison", margin: float, allow: Mapping[str, float]) -> Iterator[GateCheck]:
    """Each task: shown to be at most its margin below A. B passes only if all do, so nothing is adjusted."""
    for effect in found.tasks:
        most = allow.get(effect.task or "", margin)
        yield GateCheck(effect.task, most, None, effect.low, bool(effect.low >= -most))


def _reason(found: "Comparison", check: GateCheck, margin: float | None) -> str:
    a, b = brief(found.a), brief(found.b)
    where = "" if check.task is None else f" on {brief(check.task)}"
    if margin is not None:
        return f"it is not shown that {b} is at most {check.allowed:g} below {a}{where}."
    if check.task is None:
        return f"{b} is worse than {a}."
    by = f" by more than {check.allowed:g}" if check.allowed else ""
    return f"{b} is worse than {a}{where}{by} (Holm-adjusted p = {check.p_value:.2g})."


def _rule(found: "Comparison", by: str | None, margin: float | None, allow: Mapping[str, float]) -> str:
    alpha = f"{1 - found.level:.3g}"
    tasks = by == "task" and bool(found.tasks)
    some = f"; {counted(len(allow), 'task')} may lose what --allow says" if allow else ""
    if margin is not None:
        where = f" overall and on each of {len(found.tasks)} tasks{some}" if tasks else ""
        interval = f"{percent(found.level)} CI of B − A"
        return f"B passes if the lower end of the {interval} is at least −{margin:g}{where}."
    if not tasks:
        return f"B fails if it is significantly worse than A (p < {alpha})."
    return (
        f"B fails if it is significantly worse than A overall (p < {alpha}) or on any of {len(found.tasks)} "
        f"tasks (Holm-adjusted p < {alpha}){some}."
    )
