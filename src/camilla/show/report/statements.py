"""A statement of a page: its sentence, the numbers in it, and the evidence that it unfolds to.

Every number is kept beside the letters that show it: `scripts/check_report.py` finds and recomputes it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from camilla.names import shown

SentencePart = str | dict[str, int]
SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
SMALL = 1e-4  # p-values below it are not spelled out


class Statement(NamedTuple):
    """A statement; what it is true of (`estimand`) and how it was tested (`correction`)."""

    kind: str
    parts: list[SentencePart]  # text, or a learner, sample or skill by its place
    numbers: dict[str, tuple[float, str]]  # value and how the sentence shows it
    names: dict[str, str]  # who is meant by a role: leader, other, skill, sample
    evidence: list["Statement"]
    estimand: str
    correction: str

    def text(self, named: Callable[[SentencePart], str]) -> str:
        """The sentence with its names spelled out."""
        return "".join(map(named, self.parts))

    def document(self, named: Callable[[SentencePart], str]) -> dict[str, Any]:
        """The statement as plain data, its evidence inside."""
        return {
            "kind": self.kind,
            "parts": self.parts,
            "text": self.text(named),
            "numbers": {
                name: {"value": None if value != value else value, "text": text}
                for name, (value, text) in self.numbers.items()
            },
            "names": self.names,
            "evidence": [one.document(named) for one in self.evidence],
            "estimand": self.estimand,
            "correction": self.correction,
        }


class Draft:
    """A statement as it is written, part by part."""

    def __init__(self, kind: str, *, estimand: str = "", correction: str = "") -> None:
        self.kind, self.estimand, self.correction = kind, estimand, correction
        self.parts: list[SentencePart] = []
        self.numbers: dict[str, tuple[float, str]] = {}
        self.names: dict[str, str] = {}
        self.evidence: list[Statement] = []

    def say(self, *parts: SentencePart) -> "Draft":
        """Text, or a link."""
        self.parts += parts
        return self

    def number(self, name: str, value: float, text: str) -> "Draft":
        """A number that can be recomputed, as it is shown."""
        self.numbers[name] = (float(value), text)
        return self.say(text)

    def count(self, name: str, value: int) -> "Draft":
        """A whole number."""
        return self.number(name, int(value), f"{int(value):,}")

    def interval(
        self, name: str, value: float, low: float, high: float, show: Callable[[float], str]
    ) -> "Draft":
        """A value with its interval, or alone where that is not known."""
        self.number(name, value, show(value))
        if not (np.isfinite(low) and np.isfinite(high)):
            return self
        self.say(" (").number(f"{name}_low", low, show(low)).say(" to ")
        return self.number(f"{name}_high", high, show(high)).say(")")

    def proof(self, *evidence: Statement | None) -> "Draft":
        """What the statement unfolds to."""
        self.evidence += [one for one in evidence if one is not None]
        return self

    def done(self) -> Statement:
        return Statement(
            self.kind, self.parts, self.numbers, self.names, self.evidence, self.estimand, self.correction
        )


def plain_text(part: SentencePart) -> str:
    """A part of a statement that has no links."""
    return part if isinstance(part, str) else ""


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}{SPACE}%".replace("-", MINUS)


def chance(share: float) -> str:
    """A probability from some hundred draws: whole percents."""
    if share > 0.99:
        return f"over 99{SPACE}%"
    return f"under 1{SPACE}%" if share < 0.01 else f"{round(100 * share)}{SPACE}%"


def decimal(value: float, digits: int = 2) -> str:
    text = f"{value:.{digits}f}".replace("-", MINUS)
    return text.removeprefix(MINUS) if not text.strip(f"{MINUS}0.") else text


def three(value: float) -> str:
    return decimal(value, 3)


def points(value: float) -> str:
    """A difference of shares in hundredths, with its sign."""
    text = decimal(100 * value, 1)
    return text if text.startswith(MINUS) or text == "0.0" else f"+{text}"


def p_text(p: float) -> str:
    return f"p < {SMALL:.4f}" if p < SMALL else f"p = {p:.2g}"


def ranks_text(low: int, high: int) -> str:
    """Ranks are joined by a dash everywhere; ends of intervals by “to”."""
    return f"{low}" if low == high else f"{low}–{high}"


def name_text(name: str) -> str:
    return shown(name)
