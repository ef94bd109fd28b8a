"""Pictures of learners: ability and accuracy, radar, similarity, duels, spread."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from scipy.stats import kendalltau

from camilla.arrays import Floats, sigmoid
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.fitting.protocol import Level
from camilla.names import name_index, nearest
from camilla.show.pictures.canvas import (
    BLUE,
    COLOURS,
    GREY,
    MARKERS,
    ORANGE,
    OTHER,
    SILVER,
    blank,
    caption,
    dots,
    entry,
    label,
    labels,
    legend,
    name_ticks,
)

TOKEN = re.compile(r"[^\W\d_]+|\d[\d.]*")


class Overall(NamedTuple):
    """One entry per learner, in the order of `learner_names`; ability in (0, 1) as the paper draws it."""

    ability: Floats
    low: Floats
    high: Floats
    accuracy: Floats


def overall(diagnosis: Diagnosis) -> Overall:
    """Every learner's ability and plain accuracy."""
    frame = pl.DataFrame({"learner": diagnosis.learner_names}).join(
        diagnosis.learners, on="learner", maintain_order="left"
    )
    ability, low, high = (unit(frame[name].to_numpy(), diagnosis) for name in ("ability", "low", "high"))
    return Overall(ability, low, high, frame["accuracy"].to_numpy())


def by_skill(diagnosis: Diagnosis, column: str) -> Floats:
    """A column of `diagnosis.skills` as [learners, skills]; NaN where there is none."""
    rows = name_index(diagnosis.learner_names)
    columns = name_index(diagnosis.skill_names)
    matrix = np.full((len(rows), len(columns)), np.nan)
    frame = diagnosis.skills
    at = [rows[name] for name in frame["learner"]], [columns[name] for name in frame["skill"]]
    matrix[at] = frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return matrix


def unit(ability: Floats, diagnosis: Diagnosis) -> Floats:
    """Ability on (0, 1): as it is where the diagnoser's scale is that, else through σ."""
    return ability if diagnosis.readout.unit_scale else sigmoid(ability)


def difficulty_scale(diagnosis: Diagnosis) -> str:
    """What difficulties are measured in, for an axis."""
    if diagnosis.readout.counted:
        return "difficulty (1 minus the mean response)"
    return "difficulty (standard deviations of the pool)"


def ability_scale(diagnosis: Diagnosis) -> str:
    """What abilities are measured in, for an axis, as the report says it."""
    if not diagnosis.readout.unit_scale:
        return "ability (standard deviations of the pool)"
    expected = diagnosis.readout.skill_weight is None and not diagnosis.readout.counted
    return str(diagnosis.provenance["estimand"]) if expected else "ability (0 to 1)"


def need_skills(diagnosis: Diagnosis, picture: str) -> None:
    """Raises unless the diagnosis has at least two skills to tell apart."""
    if len(diagnosis.skill_names) < 2:
        raise DataError(
            f"the picture {picture} compares skills, and this diagnosis of {diagnosis.diagnoser.name} has "
            f"{len(diagnosis.skill_names)}. Diagnose with a skill map (--skills) or with camilla."
        )


def places(diagnosis: Diagnosis, learners: Sequence[str] | None, most: int) -> list[int]:
    """Indices of the named learners; without names, some spread evenly from the best to the worst."""
    names = diagnosis.learner_names
    if learners:
        if unknown := [name for name in learners if name not in names]:
            raise DataError(f"no learner {unknown[0]!r} in this diagnosis. {nearest(unknown[0], names)}")
        return [names.index(name) for name in learners]
    ranked = diagnosis.learners["learner"].to_list()
    picks = np.unique(np.linspace(0, len(ranked) - 1, min(most, len(ranked))).round().astype(int))
    return [names.index(ranked[pick]) for pick in picks]


def families(names: Sequence[str]) -> list[str]:
    """The family of each learner, from how names begin: random_forest_50_gini is a random forest.

    Words and numbers are told apart; a family's name grows as long as all that begin so go on alike,
    and never ends in a number.
    """
    words = [TOKEN.findall(name) or [name] for name in names]
    return [_shared_beginning(mine, words) or name for mine, name in zip(words, names, strict=True)]


def _shared_beginning(mine: list[str], words: list[list[str]]) -> str:
    length = 1
    while length < len(mine):
        nexts = {tuple(one[length : length + 1]) for one in words if one[:length] == mine[:length]}
        if len(nexts) > 1:
            break
        length += 1
    prefix = mine[:length]
    while len(prefix) > 1 and prefix[-1][0].isdigit():
        prefix.pop()
    return " ".join(prefix)


def largest(groups: Sequence[str], most: int) -> dict[str, NDArray[np.int64]]:
    """Members of the `most` largest groups, largest first; all others together as `other`."""
    sizes = Counter(groups)
    ranked = sorted(sizes, key=lambda name: (-sizes[name], name))
    kept = ranked if len(ranked) <= most else ranked[: most - 1]
    member = np.array(groups, object)
    found = {name: np.flatnonzero(member == name) for name in kept}
    rest = np.flatnonzero(~np.isin(member, kept))
    return found | ({OTHER: rest} if len(rest) else {})


def skill_names_of(diagnosis: Diagnosis, given: Mapping[str, str] | None) -> list[str]:
    """The family of every learner: as given, else read from the names."""
    if given is None:
        return families(diagnosis.learner_names)
    return [given.get(name, OTHER) for name in diagnosis.learner_names]


def responses(diagnosis: Diagnosis) -> Floats:
    """The responses the diagnosis was made of: [learners, samples], NaN where missing."""
    matrix = np.full((len(diagnosis.learner_names), len(diagnosis.sample_names)), np.nan)
    matrix[diagnosis.cells.learner, diagnosis.cells.sample] = diagnosis.cells.response
    return matrix


def sample_column(diagnosis: Diagnosis, column: str, picture: str) -> Floats:
    """A column of `diagnosis.samples` in the order of `sample_names`."""
    if column not in diagnosis.samples.columns or diagnosis.samples[column].null_count() == len(
        diagnosis.sample_names
    ):
        raise DataError(
            f"the picture {picture} needs each sample's {column}, which {diagnosis.diagnoser.name} does not "
            "estimate. Diagnose with irt, camilla-base or camilla."
        )
    frame = pl.DataFrame({"sample": diagnosis.sample_names}).join(
        diagnosis.samples, on="sample", maintain_order="left"
    )
    return frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()


COLOURED = 7
FOREST = 60  # more names than this cannot be read on one page


def forest_figure(
    diagnosis: Diagnosis, *, learners: Sequence[str] | None = None, families: Mapping[str, str] | None = None
) -> Figure:
    """The leaderboard: every ability with its interval, ties as bars at the left, accuracy at the right.

    Of more than 60 learners the first 60; scale, ranks and ties are the report's.
    """
    board = diagnosis.learners.with_row_index("place")
    if learners:
        wanted = [diagnosis.learner_names[i] for i in places(diagnosis, learners, len(learners))]
        board = board.filter(pl.col("learner").is_in(wanted))
    board = board.head(FOREST)
    n = board.height
    figure, axes = blank(8.4, 1.7 + 0.2 * n)
    rows = np.arange(n)
    kind = dict(zip(diagnosis.learner_names, skill_names_of(diagnosis, families), strict=True))
    groups = largest([kind[name] for name in board["learner"]], COLOURED)
    ability, low, high = (
        board[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("ability", "low", "high")
    )
    for k, (family, inside) in enumerate(groups.items()):
        colour = GREY if family == OTHER else COLOURS[k % len(COLOURS)]
        axes.hlines(rows[inside], low[inside], high[inside], color=colour, lw=1.6)
        dots(axes, ability[inside], rows[inside], k, family)
    name_ticks(axes, "y", rows, board["learner"].to_list())
    axes.set(ylim=(n - 0.4, -0.6), xlabel=f"{ability_scale(diagnosis)}, with 95 % intervals")
    axes.tick_params(axis="y", labelsize=8, length=0, pad=12)
    _accuracies(axes, board)
    place = diagnosis.told_apart()
    if place is not None:
        _tie_bars(axes, place.ties, board["place"].to_list())
    if len(groups) > 1:
        legend(figure, "outside right upper")
    some = "" if n == len(diagnosis.learner_names) else f"{n} of "
    axes.set_title(
        f"{some}{len(diagnosis.learner_names)} learners by {diagnosis.diagnoser.name}", fontsize=10
    )
    how = (
        "on samples like these"
        if place is not None and place.p_best is not None
        else "Wald tests, Holm over all pairs"
    )
    tied = "" if place is None else f" Bars at the left join learners that cannot be told apart ({how})."
    caption(figure, f"Lines are 95 % intervals; the figure at the right is accuracy.{tied}")
    return figure


def _accuracies(axes: Axes, board: pl.DataFrame) -> None:
    for row, share in enumerate(board["accuracy"].to_list()):
        text = "" if share is None else f"{100 * share:.1f} %"
        axes.text(1.01, row, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8, color=GREY)


def _tie_bars(axes: Axes, ties: Sequence[tuple[int, ...]], shown: Sequence[int]) -> None:
    """A bar for each set of learners, in two lanes because sets may overlap; thin beside those not in it."""
    at = {place: row for row, place in enumerate(shown)}
    look: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "color": ORANGE, "clip_on": False}
    for number, places in enumerate(ties):
        rows = [at[place] for place in places if place in at]
        if len(rows) > 1:
            x = -0.012 - 0.008 * (number % 2)
            axes.plot([x, x], [rows[0], rows[-1]], lw=0.6, **look)
            for row in rows:
                axes.plot([x, x], [row - 0.3 - (row - 1 in rows) * 0.2, row + 0.3], lw=2, **look)


def ability_accuracy_figure(diagnosis: Diagnosis, *, families: Mapping[str, str] | None = None) -> Figure:
    """A dot for each learner with the interval of its ability, over its accuracy."""
    level = overall(diagnosis)
    figure, axes = blank(6.8, 4.6)
    axes.vlines(level.accuracy, level.low, level.high, color=GREY, lw=0.5, alpha=0.5, zorder=1)
    for k, (family, rows) in enumerate(largest(skill_names_of(diagnosis, families), COLOURED).items()):
        dots(axes, level.accuracy[rows], level.ability[rows], k, family)
    axes.set_xlabel("accuracy")
    axes.set_ylabel("ability" if not diagnosis.readout.unit_scale else ability_scale(diagnosis))
    tau = kendalltau(level.accuracy, level.ability).statistic
    shown = "" if np.isnan(tau) else f"Kendall {tau:.2f}"
    axes.set_title(f"{len(level.ability)} learners by {diagnosis.diagnoser.name}   {shown}", fontsize=10)
    legend(figure, "outside right upper")
    caption(figure, "Lines are 95 % intervals of ability.")
    return figure


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


NAMED = 60  # more names than this cannot be read on one page
PRINTED = 12  # more numbers than this squared cannot either


def alike(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 − mean |difference| over the samples both answered: for right or wrong, the share answered alike.

    The paper calls this a Jaccard similarity; it is the simple matching coefficient.
    """
    there = np.isfinite(matrix)
    n = len(matrix)
    out = np.ones((n, n))
    for i in range(n):
        both = there[i] & there
        gap = np.where(both, np.abs(matrix - matrix[i]), 0).sum(axis=1)
        with np.errstate(invalid="ignore"):
            out[i] = 1 - gap / both.sum(axis=1)
    return out


def similarity_figure(diagnosis: Diagnosis, *, learners: Sequence[str] | None = None) -> Figure:
    """A square for each pair of learners, those that respond alike side by side."""
    shown = places(diagnosis, learners, len(diagnosis.learner_names))
    values = alike(responses(diagnosis)[shown])
    if len(shown) > 2:
        apart = 1 - np.nan_to_num(values, nan=0.0)  # pairs that share no sample: as far as can be
        np.fill_diagonal(apart, 0)
        order = leaves_list(linkage(squareform((apart + apart.T) / 2, checks=False), "average"))
        shown, values = [shown[i] for i in order], values[np.ix_(order, order)]
    names = [diagnosis.learner_names[i] for i in shown]
    named = len(names) <= NAMED
    side = 2.2 + (0.17 * len(names) if named else 5.5)
    figure, axes = blank(max(side + 1.2, 4.6), max(side, 3.8))
    image = axes.imshow(values, cmap="cividis", vmax=1, interpolation="nearest")
    figure.colorbar(image, label="share of samples answered alike", shrink=0.7)
    axes.spines[:].set_visible(False)
    if named:
        name_ticks(axes, "y", range(len(names)), names)
        name_ticks(axes, "x", range(len(names)), names)
        axes.tick_params(axis="x", rotation=90)
        axes.tick_params(labelsize=7 if len(names) > 20 else 9, length=0)
    else:
        axes.set_xlabel(f"{len(names)} learners, ordered by how they respond")
        axes.set_yticks([])
    axes.set_title(f"How alike {len(names)} learners respond", fontsize=10)
    if len(names) <= PRINTED:
        middle = (np.nanmin(values) + 1) / 2
        for i, j in np.ndindex(values.shape):
            ink = "white" if values[i, j] < middle else "black"
            axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", fontsize=7, color=ink)
    return figure


LEARNERS, SAMPLES = 3, 6


def duels_figure(
    diagnosis: Diagnosis, *, learners: Sequence[str] | None = None, samples: Sequence[str] | None = None
) -> Figure:
    """Left: responses. Right: bars are difficulties, points abilities on each sample with their intervals.

    Where abilities are scores, bars are the pool's expected response and points the learner's.
    """
    shown = places(diagnosis, learners, LEARNERS)
    difficulty = sample_column(diagnosis, "difficulty", "duels")
    chosen = _samples(diagnosis, samples, difficulty)
    score = diagnosis.readout.unit_scale and not diagnosis.readout.counted
    bars = sample_column(diagnosis, "expected", "duels") if score else unit(difficulty, diagnosis)
    names = [diagnosis.sample_names[j] for j in chosen]
    figure, (left, right) = blank(10.4, 1.9 + 0.5 * len(chosen), ncols=2, width_ratios=[1, 2])
    grid = responses(diagnosis)[np.ix_(shown, chosen)].T
    left.imshow(grid, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for j, i in np.ndindex(grid.shape):
        value = grid[j, i]
        text = "–" if np.isnan(value) else f"{value:.2f}".removesuffix(".00")
        ink = "black" if np.isnan(value) or value > 0.5 else "white"
        left.text(i, j, text, ha="center", va="center", fontsize=9, color=ink)
    left.spines[:].set_visible(False)
    name_ticks(left, "y", range(len(chosen)), names)
    left.set(xticks=[], ylim=(len(chosen) + 0.1, -0.5))
    for k in range(len(shown)):
        left.plot(k, len(chosen) - 0.2, MARKERS[k % len(MARKERS)], color=COLOURS[k % len(COLOURS)], ms=6)
    left.set_title("response", fontsize=10)
    rows = np.arange(len(chosen))
    right.barh(rows, bars[chosen], color=SILVER, height=0.6, label="all learners" if score else "difficulty")
    for k, learner in enumerate(shown):
        level = [(_expected_on if score else _on_one)(diagnosis, learner, j) for j in chosen]
        value, low, high = (np.array(one) for one in zip(*level, strict=True))
        at = rows + 0.22 * (k - (len(shown) - 1) / 2)
        right.hlines(at, low, high, color=COLOURS[k % len(COLOURS)], lw=1.2)
        name = entry(diagnosis.learner_names[learner])
        marker = MARKERS[k % len(MARKERS)]
        right.plot(value, at, marker, color=COLOURS[k % len(COLOURS)], ms=5.5, label=name)
    right.set(ylim=(len(chosen) + 0.1, -0.5), xlim=(0, 1), yticks=[])
    right.set_xlabel(
        "expected response: of all learners (bar), of the learner (point)" if score
        else "difficulty (bar) and ability on the sample (point), both on (0, 1)"
    )  # fmt: skip
    legend(figure, "outside lower center", ncols=4)
    order = "" if samples else ", from easy to hard"
    figure.suptitle(f"{len(shown)} learners on {len(chosen)} samples{order}", fontsize=10)
    return figure


def _samples(
    diagnosis: Diagnosis, samples: Sequence[str] | None, difficulty: NDArray[np.float64]
) -> list[int]:
    """Named samples, else some spread evenly from the easiest to the hardest."""
    names = diagnosis.sample_names
    if samples:
        if unknown := [name for name in samples if name not in names]:
            raise DataError(f"no sample {unknown[0]!r} in this diagnosis. {nearest(unknown[0], names)}")
        return [names.index(name) for name in samples]
    order = np.argsort(difficulty)[: np.isfinite(difficulty).sum()]
    picks = np.linspace(0.05, 0.95, min(SAMPLES, len(order))) * (len(order) - 1)
    return [int(order[int(pick)]) for pick in picks]


def _expected_on(diagnosis: Diagnosis, learner: int, sample: int) -> tuple[float, float, float]:
    """The expected response with its interval, by the fit that is read."""
    found = replace(diagnosis, combined=None).chances(np.array([learner]), np.array([sample]))
    value = float(found.probability[0])
    if found.low is None or found.high is None:
        return value, value, value
    return value, float(found.low[0]), float(found.high[0])


def _on_one(diagnosis: Diagnosis, learner: int, sample: int) -> tuple[float, float, float]:
    """Ability on one sample, low, high, on (0, 1): by the skills it asks for, as its difficulty is."""
    readout = diagnosis.readout
    level = Level(readout.ability[[learner]], readout.covariance[[learner]])
    row = replace(diagnosis, readout=readout._replace(expected=False)).ability_on(level, np.array([sample]))
    value, low, high = (unit(row[name].to_numpy(), diagnosis)[0] for name in ("ability", "low", "high"))
    return float(value), float(low), float(high)


SPREAD_COLOURED = 7
ROUNDING = 1e-9  # a standard deviation below it is none


def spread_figure(diagnosis: Diagnosis, *, families: Mapping[str, str] | None = None) -> Figure:
    """Standard deviation over skills: of mastery against that of accuracy, and against mean mastery."""
    need_skills(diagnosis, "spread")
    mastery = unit(by_skill(diagnosis, "ability"), diagnosis)
    accuracy = by_skill(diagnosis, "accuracy")
    uneven, uneven_accuracy = np.nanstd(mastery, axis=1), np.nanstd(accuracy, axis=1)
    if np.nanmax(uneven) < ROUNDING:
        raise DataError(
            f"the picture spread shows how mastery differs between skills, and {diagnosis.diagnoser.name} "
            "has one ability for all of them. Diagnose with auto, camilla-base or camilla."
        )
    figure, (left, right) = blank(9.6, 4.2, ncols=2)
    for k, (family, rows) in enumerate(largest(skill_names_of(diagnosis, families), SPREAD_COLOURED).items()):
        dots(left, uneven_accuracy[rows], uneven[rows], k, family)
        dots(right, np.nanmean(mastery, axis=1)[rows], uneven[rows], k, family, listed=False)
    left.set(xlabel="s.d. of accuracy over skills", ylabel="s.d. of mastery over skills")
    right.set(xlabel="mean mastery over skills", ylabel="s.d. of mastery over skills")
    figure.suptitle(f"How uneven {len(mastery)} learners are over {mastery.shape[1]} skills", fontsize=10)
    legend(figure, "outside right upper")
    return figure
