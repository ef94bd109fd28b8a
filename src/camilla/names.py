"""Names of learners, samples and skills: made, compared, shown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import takewhile

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


def distinctly_shortened(names: Iterable[str], longest: int) -> dict[str, str]:
    """Each name as a table shows it: harmless, at most `longest` characters, no two of them alike.

    Names that would look the same without their middle keep the part in which they differ; where that is
    still too long, they are numbered.
    """
    brief = {name: shortened(shown(name), longest) for name in names}
    for alike in _alike(brief):
        brief |= _around_the_difference(alike, longest)
    for alike in _alike(brief):
        taken = {text for name, text in brief.items() if name not in alike}
        number = 0
        for name in alike:
            while (tagged := _tagged(brief[name], number := number + 1, longest)) in taken:
                continue
            brief[name] = tagged
    return brief


def _alike(brief: dict[str, str]) -> list[list[str]]:
    by_text: dict[str, list[str]] = {}
    for name, text in brief.items():
        by_text.setdefault(text, []).append(name)
    return [names for names in by_text.values() if len(names) > 1]


def _around_the_difference(names: Sequence[str], longest: int) -> dict[str, str]:
    """A little of what the names begin and end with in common, and between them what they do not."""
    texts = [shown(name) for name in names]
    before = _in_common(texts)
    after = min(_in_common([text[::-1] for text in texts]), min(len(text) for text in texts) - before)
    edge = longest // 5
    head = texts[0][:before] if before <= edge + 1 else texts[0][:edge] + "…"
    tail = texts[0][len(texts[0]) - after :] if after <= edge + 1 else "…" + texts[0][-edge:]
    room = longest - len(head) - len(tail)
    return {
        name: head + shortened(text[before : len(text) - after], room) + tail
        for name, text in zip(names, texts, strict=True)
    }


def _in_common(texts: Sequence[str]) -> int:
    """How many characters all texts begin with."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False)))


def _tagged(text: str, number: int, longest: int) -> str:
    tag = f"~{number}"
    return text[: max(longest - len(tag), 1)] + tag


def shown(name: str) -> str:
    """A name from data made harmless for a terminal: control characters are spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def numbered(kind: str, count: int) -> tuple[str, ...]:
    """kind-0, kind-1, …, padded so that the order of names is the order of numbers."""
    width = len(str(max(count - 1, 0)))
    return tuple(f"{kind}-{i:0{width}d}" for i in range(count))


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint for a name that is not there: the nearest that is, or what there is."""
    close = get_close_matches(str(name), names, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"There are {quoted(names)}."


def name_index(names: Iterable[str]) -> dict[str, int]:
    """Each name's position; of a name that repeats, the last."""
    return {name: position for position, name in enumerate(names)}
