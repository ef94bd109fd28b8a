"""Names of learners, samples and skills, as messages show them."""

from collections import Counter
from collections.abc import Iterable, Sequence

SHOWN = 5


def repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, in order of first occurrence."""
    return [name for name, count in Counter(names).items() if count > 1]


def quoted(names: Sequence[object]) -> str:
    """The first few names in quotes, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
