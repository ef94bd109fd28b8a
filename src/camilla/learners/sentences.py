"""A comparison in sentences: the answer, the evidence, the caveat."""

from typing import TYPE_CHECKING

from camilla.display import counted, percent, signed
from camilla.statistics.strata import MacroEffect

if TYPE_CHECKING:
    from camilla.learners.compare import Effect


def sentence(effect: "Effect", level: float) -> str:
    """The answer, the evidence, the caveat; differences in points, hundredths of the mean response."""
    difference, interval = in_points(effect, level)
    over = "" if effect.n_clusters is None else f" in {counted(effect.n_clusters, 'cluster')}"
    test = f"p = {effect.p_value:.2g}, {_test_name(effect.test)}"
    verdict, n = effect.verdict(level), f"{effect.n} shared samples{over}"
    if verdict == "tied":
        return f"A and B cannot be told apart: B − A = {difference} points ({interval}) on {n} ({test})."
    if verdict == "too few samples":
        return (
            f"A and B cannot be told apart: B − A = {difference} points ({interval}) on {n}, too few for any "
            f"difference to be significant ({test})."
        )
    if verdict in ("better", "worse"):
        return f"B is {verdict}: {difference} points ({interval}) on {n} ({test})."
    return f"B is {verdict}: {difference} points ({interval}), but {n} are too few to be sure ({test})."


def in_points(effect: "Effect | MacroEffect", level: float) -> tuple[str, str]:
    """The difference in points, and its interval in words."""
    decimals = 1 if not effect.high - effect.low < 0.002 else 2
    difference, low, high = (
        signed(100 * value, decimals) for value in (effect.difference, effect.low, effect.high)
    )
    known = effect.low == effect.low
    return difference, f"{percent(level)} CI {low} to {high}" if known else "no confidence interval"


def macro_sentence(macro: MacroEffect, level: float) -> str:
    """The macro average, named, and what the first sentence averages over."""
    difference, interval = in_points(macro, level)
    return (
        f"Macro average (mean over {macro.n_tasks} tasks, each counted once): B − A = {difference} points "
        f"({interval}). The first line has the micro average: each sample counted once."
    )


def _test_name(method: str) -> str:
    """Exact McNemar test; Student's t test over samples."""
    return method.replace("Student's t", "Student's t test") if "Student's t" in method else f"{method} test"
