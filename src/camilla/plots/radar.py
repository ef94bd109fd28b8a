"""Figures 4B and 5B: a learner's profile over the skills, beside its accuracy or other learners."""

import re
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from camilla.diagnosis import Diagnosis
from camilla.plots.canvas import BLUE, COLOURS, GREY, ORANGE, entry, label, labels, legend
from camilla.plots.profiles import TOKEN, by_skill, need_skills, places, unit

SPOKES = 16  # more names than this overlap around a circle
LINES = ("-", "--", "-.", ":")
LINE = 18  # letters of a name; longer ones take two lines
CIRCLE, LETTER = 4.4, 0.09  # inches


def radar_figure(
    diagnosis: Diagnosis, *, learners: Sequence[str] | None = None, skills: Sequence[str] | None = None
) -> Figure:
    """One learner: mastery with its interval and plain accuracy. Several: the mastery of each.

    Of more than 16 skills those are drawn on which the lines differ most.
    """
    need_skills(diagnosis, "radar")
    shown = places(diagnosis, learners, 1)
    mastery = unit(by_skill(diagnosis, "ability"), diagnosis)[shown]
    accuracy = by_skill(diagnosis, "accuracy")[shown]
    gap = np.abs(mastery[0] - accuracy[0]) if len(shown) == 1 else np.ptp(mastery, axis=0)
    chosen = _spokes(diagnosis, skills, gap)
    angle = np.linspace(0, 2 * np.pi, len(chosen), endpoint=False)
    names = [_in_two(name) for name in labels([diagnosis.skill_names[k] for k in chosen])]
    widest = max(len(line) for name in names for line in name.split("\n"))
    width = max(6.2, CIRCLE + 2 * LETTER * widest)
    figure = Figure(figsize=(width, 6.4), layout="constrained", dpi=150)
    axes = figure.add_subplot(projection="polar")
    axes.set(theta_offset=np.pi / 2, theta_direction=-1, ylim=(0, 1))
    if len(shown) == 1:
        low, high = (unit(by_skill(diagnosis, side), diagnosis)[shown[0], chosen] for side in ("low", "high"))
        axes.fill_between(_closed(angle), _closed(low), _closed(high), color=BLUE, alpha=0.2, lw=0)
        axes.plot(_closed(angle), _closed(mastery[0, chosen]), color=BLUE, lw=1.8, label="mastery, 95 %")
        axes.plot(_closed(angle), _closed(accuracy[0, chosen]), "--", color=ORANGE, lw=1.8, label="accuracy")
    else:
        for k, row in enumerate(mastery):
            name = diagnosis.learner_names[shown[k]]
            colour, line = COLOURS[k % len(COLOURS)], LINES[k // 2 % len(LINES)]
            axes.plot(_closed(angle), _closed(row[chosen]), line, color=colour, lw=1.8, label=entry(name))
    axes.set_xticks(angle, names)
    axes.set_yticks([0.25, 0.5, 0.75, 1], ["", ".5", "", "1"], color=GREY, fontsize=8)
    axes.tick_params(axis="x", pad=4)
    for text, turn in zip(axes.get_xticklabels(), angle, strict=True):
        side = np.sin(turn)
        text.set_horizontalalignment("center" if abs(side) < 0.1 else "left" if side > 0 else "right")
    legend(figure, "outside lower center", ncols=2)
    texts = list(axes.get_xticklabels())
    title = label(diagnosis.learner_names[shown[0]]) if len(shown) == 1 else "mastery"
    some = "" if len(chosen) == len(gap) else f"\n{len(chosen)} of {len(gap)} skills, the most different"
    texts.append(axes.set_title(title + some, fontsize=10, pad=18))
    for text in texts:
        text.set_parse_math(False)
    return figure


def _spokes(diagnosis: Diagnosis, skills: Sequence[str] | None, gap: NDArray[np.float64]) -> list[int]:
    from camilla.data.names import nearest
    from camilla.errors import DataError

    names = diagnosis.skill_names
    if skills:
        if unknown := [name for name in skills if name not in names]:
            raise DataError(f"no skill {unknown[0]!r} in this diagnosis. {nearest(unknown[0], names)}")
        return [names.index(name) for name in skills]
    most = np.argsort(-np.nan_to_num(gap, nan=-1.0), kind="stable")[:SPOKES]
    return sorted(most.tolist(), key=lambda k: [word.rjust(9) for word in TOKEN.findall(names[k])])


def _in_two(name: str) -> str:
    """A long name on two lines, parted between words where that leaves them most alike."""
    breaks = [place.end() for place in re.finditer(r"[^\w]|_", name[:-1])]
    if len(name) <= LINE or not breaks:
        return name
    middle = min(breaks, key=lambda place: abs(2 * place - len(name)))
    return f"{name[:middle]}\n{name[middle:]}"


def _closed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.append(values, values[0])
