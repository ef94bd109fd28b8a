"""The blank figure every picture starts from: colours for all eyes, names that are only names."""

import re
import textwrap
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from camilla.names import shortened

# Okabe and Ito (2008): told apart under every common colour blindness.
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW, SILVER = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
    "#F0E442",
    "#BBBBBB",
)
COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW, SILVER)
GREY = "#7F7F7F"
OTHER = "other"  # the family of those in none
LONGEST = 40  # characters of a name on an axis
CROWD = 2000  # dots; beyond, a vector file grows heavy
MARKERS = "osD^vPX*"  # a family keeps its shape where its colour is lost


def blank(width: float, height: float, **rest: Any) -> tuple[Figure, Any]:
    """A figure in inches and its axes, without pyplot's global state."""
    figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
    axes = figure.subplots(**rest)
    for one in figure.axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def caption(figure: Figure, text: str) -> None:
    """What a reader needs to read the picture, in small letters beneath it."""
    figure.supxlabel("\n".join(textwrap.wrap(text, 100)), fontsize=8, color=GREY, x=0.01, ha="left")


def label(name: str) -> str:
    """A name from data, printable and not too long."""
    return labels([name])[0]


def labels(names: Sequence[str]) -> list[str]:
    """Names of one list: of what is too long first the end goes that others have too, then the middle.

    HELM's `math:subject=algebra,level=1,use_chain_of_thought=True` is `math:subject=algebra…` beside others.
    """
    printable = ["".join(c if c.isprintable() else "�" for c in name) for name in names]
    own = [_own_part(name, printable) if len(name) > LONGEST else name for name in printable]
    return [
        shortened(part if own.count(part) == 1 else name, LONGEST)
        for part, name in zip(own, printable, strict=True)
    ]


def _own_part(name: str, names: Sequence[str]) -> str:
    """The name up to the words at its end that another has too."""
    shared = max((_common_end(name, other) for other in names if other != name), default=0)
    words = re.search(r"\W", name[len(name) - shared :])
    end = 0 if words is None else len(name) - shared + words.start()
    return f"{name[:end]}…" if end else name


def _common_end(one: str, other: str) -> int:
    pairs = zip(one[::-1], other[::-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def name_ticks(axes: Axes, axis: str, places: Any, names: list[str]) -> None:
    """Puts names on an axis; a dollar sign in a name is a dollar sign."""
    which = axes.xaxis if axis == "x" else axes.yaxis
    which.set_ticks(list(places), labels(names))
    for tick in which.get_ticklabels():
        tick.set_parse_math(False)


def dots(axes: Axes, x: Any, y: Any, place: int, family: str, *, listed: bool = True) -> None:
    """A scatter of one family, `listed` in the legend; many dots become pixels inside a vector file."""
    axes.plot(
        x,
        y,
        MARKERS[place % len(MARKERS)],
        color=GREY if family == OTHER else COLOURS[place % len(COLOURS)],
        ms=4.5 if len(x) < CROWD else 2,
        alpha=0.75,
        mew=0,
        label=entry(f"{family} ({len(x)})") if listed else None,
        rasterized=len(x) >= CROWD,
    )


def entry(name: str) -> str:
    """A name as a legend takes it: one that begins with an underscore would be left out."""
    shown = label(name)
    return " " + shown if shown.startswith("_") else shown


Corner = Literal["outside right upper", "outside lower center"]


def legend(figure: Figure, place: Corner, **rest: Any) -> None:
    """A legend beside the axes; a dollar sign in a name is a dollar sign."""
    made = figure.legend(loc=place, fontsize=8, frameon=False, **rest)
    for text in made.get_texts():
        text.set_parse_math(False)
