"""Names of learners, samples and skills: made, compared, shown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

SHOWN = 5
LONGEST = 200  # characters; a cell of a table may have millions


def repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once, in order of first occurrence."""
    return [name for name, count in Counter(names).items() if count > 1]


def quoted(names: Sequence[object]) -> str:
    """The first few names in quotes, and how many more there are."""
    shown = ", ".join(in_quotes(name) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def in_quotes(value: object) -> str:
    """A value as Python writes it, control characters spelled out, the middle of a long text left out."""
    return repr(shortened(value, LONGEST) if isinstance(value, str) else value)


def shortened(text: str, longest: int) -> str:
    """A text without its middle where it is too long: names of samples often differ at their ends."""
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[len(text) - end :]}"


def shown(name: str) -> str:
    """A name from data made harmless for a terminal: control characters are spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def numbered(kind: str, count: int) -> tuple[str, ...]:
    """kind-0, kind-1, …, padded so that the order of names is the order of numbers."""
    width = len(str(max(count - 1, 0)))
    return tuple(f"{kind}-{i:0{width}d}" for i in range(count))


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint for a name that is not there: the nearest that is, or what there is."""
    close = get_close_matches(name, names, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"There are {quoted(names)}."


def name_index(names: Iterable[str]) -> dict[str, int]:
    """Each name's position; of a name that repeats, the last."""
    return {name: position for position, name in enumerate(names)}
