"""What a paired test comes to in one word, decided here for text, JSON, Markdown and the report."""

from typing import Literal

Verdict = Literal["better", "worse", "probably better", "probably worse", "tied", "too few samples"]


def verdict_of(
    difference: float, p_value: float, low: float, high: float, *,
    units: float, level: float, adjusted_p: float | None = None, tests: int = 1,
) -> Verdict:  # fmt: skip
    """B against A; `units` are samples or clusters, `adjusted_p` is Holm's over `tests` tests.

    better, worse        the test, adjusted if there are several, rejects equality at 1 − level
    probably …           it does not, but the p-value alone would, or the unadjusted interval excludes 0
    too few samples      no outcome could have been significant: 2^(1 − units) ≥ (1 − level) / tests
    tied                 none of these
    """
    alpha = 1 - level
    if (p_value if adjusted_p is None else adjusted_p) < alpha:
        return "better" if difference > 0 else "worse"
    if low > 0 or (p_value < alpha and difference > 0):
        return "probably better"
    if high < 0 or (p_value < alpha and difference < 0):
        return "probably worse"
    return "too few samples" if 2.0 ** (1 - min(units, 1000)) >= alpha / tests else "tied"
