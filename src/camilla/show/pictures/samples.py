"""Pictures of samples and skills: factors, masks, boxes, difficulty, what is solved."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.extras import needing
from camilla.show.pictures.canvas import COLOURS, CROWD, GREY, SKY, blank, caption, entry, legend, name_ticks
from camilla.show.pictures.diagnosis import (
    by_skill,
    difficulty_scale,
    need_skills,
    places,
    responses,
    sample_column,
    unit,
)
from camilla.statistics.intervals import LEVEL, Ends, mean_ends
from camilla.table.cells import zero_or_one

FARTHEST = 6.0  # standard deviations of the pool; no learner is there to tell such difficulties apart


def factors_figure(diagnosis: Diagnosis) -> Figure:
    """A dot for each sample; colour is the spread of its latent skill mask, or plain accuracy without one.

    Difficulty is the intercept over the discrimination: samples that hardly discriminate have wild ones,
    which are drawn at the edge.
    """
    difficulty = sample_column(diagnosis, "difficulty", "factors")
    discrimination = sample_column(diagnosis, "discrimination", "factors")
    mask = diagnosis.readout.skill_weight
    latent = mask is not None and not diagnosis.readout.explicit and mask.shape[1] > 1
    colour = mask.std(axis=1) if latent and mask is not None else sample_column(diagnosis, "accuracy", "")
    finite = difficulty[np.isfinite(difficulty)]
    beyond = int((np.abs(finite) > FARTHEST).sum())
    figure, axes = blank(6.8, 4.8)
    size = 16 if len(finite) < 1000 else 5
    dots = axes.scatter(
        np.clip(difficulty, -FARTHEST, FARTHEST),
        discrimination,
        c=colour,
        cmap="cividis",
        s=size,
        alpha=0.7,
        lw=0,
        rasterized=len(finite) > CROWD,
    )
    figure.colorbar(dots, label="s.d. of the skill mask" if latent else "accuracy", shrink=0.8)
    if np.nanmin(discrimination) < 0:
        axes.axhline(0, color=GREY, lw=0.8, ls="--")
    axes.set(xlabel=difficulty_scale(diagnosis), ylabel="discrimination")
    at_edge = f", {beyond} of them drawn at the edge" if beyond else ""
    axes.set_title(f"{len(finite)} samples by {diagnosis.diagnoser.name}{at_edge}", fontsize=10)
    return figure


MOST = 5000  # samples; t-SNE's time grows faster than their number


def mask_map_figure(diagnosis: Diagnosis, *, seed: int = 0) -> Figure:
    """t-SNE of the skill masks (van der Maaten, Hinton 2008); distances between far groups mean nothing."""
    mask = diagnosis.readout.skill_weight
    if mask is None or diagnosis.readout.explicit or mask.shape[1] < 2:
        raise DataError(
            f"the picture mask-map shows latent skill masks, and {diagnosis.diagnoser.name} has none. "
            "Diagnose with camilla."
        )
    with needing("the picture mask-map"):
        from sklearn.manifold import TSNE

    difficulty = sample_column(diagnosis, "difficulty", "mask-map")
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(mask))[:MOST])
    perplexity = min(30.0, max(2.0, (len(rows) - 1) / 4))
    place = TSNE(perplexity=perplexity, random_state=seed, init="pca").fit_transform(
        mask[rows].astype(np.float32)
    )
    figure, axes = blank(6.6, 5.2)
    size = 14 if len(rows) < 1000 else 5
    spots = axes.scatter(*place.T, c=difficulty[rows], cmap="cividis", s=size, lw=0, rasterized=True)
    figure.colorbar(spots, label="difficulty", shrink=0.8)
    axes.set(xticks=[], yticks=[], xlabel="t-SNE of the skill masks")
    axes.spines[:].set_visible(False)
    some = "" if len(rows) == len(mask) else f" of {len(mask)}"
    axes.set_title(f"{len(rows)}{some} samples, {mask.shape[1]} latent skills, seed {seed}", fontsize=10)
    return figure


SHOWN_SKILLS = 6


def skill_boxes_figure(diagnosis: Diagnosis, *, learners: Sequence[str] | None = None) -> Figure:
    """A box for each learner: its plain accuracy on each skill, a dot for each skill."""
    need_skills(diagnosis, "skill-boxes")
    shown = places(diagnosis, learners, SHOWN_SKILLS)
    accuracy = by_skill(diagnosis, "accuracy")[shown]
    figure, axes = blank(6.5, 1.2 + 0.5 * len(shown))
    spots = np.arange(len(shown))
    boxes = axes.boxplot(
        [row[np.isfinite(row)] for row in accuracy],
        positions=spots,
        orientation="horizontal",
        widths=0.55,
        showfliers=False,
        patch_artist=True,
        medianprops={"color": "black"},
    )
    jitter = np.random.default_rng(0).uniform(-0.16, 0.16, accuracy.shape)
    for spot, box in enumerate(boxes["boxes"]):
        box.set(facecolor=COLOURS[spot % len(COLOURS)], alpha=0.45)
        axes.plot(accuracy[spot], spot + jitter[spot], "o", ms=2.5, color=GREY, mew=0)
    name_ticks(axes, "y", spots, [diagnosis.learner_names[i] for i in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel(f"accuracy on each of {accuracy.shape[1]} skills")
    axes.set_title(f"How even {len(shown)} learners are over the skills", fontsize=10)
    return figure


NAMED_SKILLS = 40


def skill_difficulty_figure(diagnosis: Diagnosis, *, skills: Sequence[str] | None = None) -> Figure:
    """A box for each skill, hardest first; of more than 40 skills the 20 hardest and the 20 easiest.

    Difficulties are on (0, 1) where abilities are drawn so, through σ; where abilities are scores they have a
    scale of their own, with far ones at its ends.
    """
    need_skills(diagnosis, "skill-difficulty")
    difficulty = sample_column(diagnosis, "difficulty", "skill-difficulty")
    own_scale = diagnosis.readout.unit_scale and not diagnosis.readout.counted
    difficulty = np.clip(difficulty, -FARTHEST, FARTHEST) if own_scale else unit(difficulty, diagnosis)
    groups = {diagnosis.skill_names[k]: difficulty[rows] for k, rows in diagnosis.skill_samples()}
    groups = {name: values[np.isfinite(values)] for name, values in groups.items()}
    wanted = [name for name in groups if len(groups[name]) and (not skills or name in skills)]
    ranked = sorted(wanted, key=lambda name: -float(np.median(groups[name])))
    cut = len(ranked) > NAMED_SKILLS
    shown = ranked[: NAMED_SKILLS // 2] + ranked[-NAMED_SKILLS // 2 :] if cut else ranked
    figure, axes = blank(6.8, 1.2 + 0.22 * len(shown))
    axes.boxplot(
        [groups[name] for name in shown],
        positions=range(len(shown)),
        orientation="horizontal",
        widths=0.6,
        patch_artist=True,
        boxprops={"facecolor": SKY, "lw": 0.8},
        medianprops={"color": "black"},
        flierprops={"ms": 1.5, "marker": "o", "mec": GREY},
    )
    name_ticks(axes, "y", range(len(shown)), shown)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel(
        difficulty_scale(diagnosis) if own_scale else "difficulty of the skill's samples on (0, 1)"
    )
    axes.set_title(f"How hard the samples of {len(shown)} skills are", fontsize=10)
    edge = f" Difficulties beyond ±{FARTHEST:g} are drawn there." if own_scale else ""
    caption(figure, f"Boxes hold the middle half of a skill's samples, the line is the median.{edge}")
    if cut:
        axes.axhline(NAMED_SKILLS // 2 - 0.5, color=GREY, lw=0.8, ls="--")
        axes.set_title(f"the {NAMED_SKILLS // 2} hardest and easiest of {len(ranked)} skills", fontsize=10)
    return figure


SHOWN = 4
BINS = 12


def solved_figure(diagnosis: Diagnosis, *, learners: Sequence[str] | None = None) -> Figure:
    """Left: how many of each difficulty a learner solves. Right: what share of those it met, with 95 %.

    Bins hold equally many samples, so that no share rests on a handful.
    """
    shown = places(diagnosis, learners, SHOWN)
    difficulty = sample_column(diagnosis, "difficulty", "solved")
    matrix = responses(diagnosis)[shown]
    known = np.isfinite(difficulty)
    edges = np.unique(np.quantile(difficulty[known], np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, difficulty, side="right") - 1, 0, len(edges) - 2)
    order = [np.flatnonzero(known & (bins == b)) for b in range(len(edges) - 1)]
    figure, (left, right) = blank(9.6, 4.2, ncols=2)
    left.stairs([len(rows) for rows in order], color=GREY, fill=True, alpha=0.25, label="all samples")
    spots = np.arange(len(order))
    for k, row in enumerate(matrix):
        colour, name = COLOURS[k % len(COLOURS)], entry(diagnosis.learner_names[shown[k]])
        met = [row[rows][np.isfinite(row[rows])] for rows in order]
        left.stairs([one.sum() for one in met], color=colour, lw=1.8, label=name)
        share = np.array([one.mean() if len(one) else np.nan for one in met])
        right.fill_between(spots + 0.5, *_band(met, share), color=colour, alpha=0.18, lw=0)
        right.plot(spots + 0.5, share, "o-", color=colour, ms=3.5)
    ticks = np.arange(0, len(edges), max(1, len(edges) // 6))
    for axes in (left, right):
        axes.set_xticks(ticks, _told_apart(edges[ticks]))
        axes.set_xlabel(f"{difficulty_scale(diagnosis)}, bins of equal size")
    figure.suptitle(f"What {len(shown)} learners solve, by difficulty", fontsize=10)
    left.set_ylabel("samples solved")
    right.set(ylabel="share solved", ylim=(-0.03, 1.03))
    legend(figure, "outside lower center", ncols=3)
    caption(figure, "Bands are 95 % intervals of the share solved.")
    return figure


def _band(met: list[Floats], share: Floats) -> Ends:
    """95 %, of every bin, as of learners: Wilson's for right/wrong responses, else with Student's t."""
    n = np.array([len(one) for one in met], np.float64)
    variance = np.array([one.var(ddof=1) / len(one) if len(one) > 1 else np.nan for one in met])
    exact = np.array([zero_or_one(one).all() for one in met])
    return mean_ends(share, variance, n, n - 1, exact, LEVEL)


def _told_apart(numbers: Floats) -> list[str]:
    """With as few decimals as keep rising numbers apart, at most four."""
    for decimals in range(1, 5):
        shown = [f"{round(number, decimals) + 0.0:.{decimals}f}" for number in numbers]
        if len(set(shown)) == len(shown):
            break
    return shown
