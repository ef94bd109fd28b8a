"""A learner's scores on skills: expected ones put right by what was observed, and whether the two agree."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, sigmoid
from camilla.display import brief
from camilla.fitting.engines import engine_of
from camilla.fitting.protocol import Level
from camilla.names import name_index
from camilla.statistics.intervals import Z
from camilla.statistics.posterior import CLIP
from camilla.statistics.skill_scores import (
    Observed,
    Repaired,
    misfit,
    profile_spread,
    repaired,
    spread_beyond,
)
from camilla.table.cells import Cells
from camilla.table.responses import ResponseTable

if TYPE_CHECKING:
    from camilla.diagnosis import Diagnosis

SKILLS_ALIKE = 0.2  # logits: what learners differ by on skills, below which skills are not told apart
SLOPE = 0.25  # of a chance by its logit, at most


class SkillFrames(NamedTuple):
    """Abilities, mastery, scores and accuracies of learners, one frame per skill."""

    frames: list[pl.DataFrame]
    spread: float | None  # variance of the pool's scores on skills beyond what the fit expects


def skill_frames(
    found: "Diagnosis", level: Level, answers: Cells, accuracies: Sequence[pl.DataFrame],
    spread: float | None = None,
) -> SkillFrames:  # fmt: skip
    """`spread` is that of the pool where learners are placed, and is estimated otherwise."""
    frames = [found.skill_ability(level, skill, samples, answers) for skill, samples in found.skill_samples()]
    readout, mapped = found.readout, found.diagnoser.size.skill_mask is not None
    own_scale = readout.explicit and not readout.unit_scale
    expects = readout.unit_scale and readout.skill_weight is None and not readout.counted
    if mapped and level.draws is None and (expects or own_scale):
        scores, spread = _scores(found, level, accuracies, spread)
        for k, frame in enumerate(frames):
            score, se = scores.value[:, k], scores.se[:, k]
            low, high = _ends(score, se)
            if own_scale:
                frames[k] = frame.with_columns(score=score, score_se=se, score_low=low, score_high=high)
            else:
                frames[k] = frame.with_columns(ability=score, se=se, low=low, high=high, mastery=score)
    beside = zip(frames, accuracies, strict=True)
    return SkillFrames([found.beside_accuracy(frame, accuracy) for frame, accuracy in beside], spread)


def all_skills(bare: "Diagnosis", table: ResponseTable) -> pl.DataFrame:
    """One row per learner and skill, in the table's order. What the fit misses goes into the provenance."""
    accuracies = [bare.accuracy_on(samples) for _, samples in bare.skill_samples()]
    frames, bare.provenance["skill_spread"] = skill_frames(bare, bare.pool, bare.cells, accuracies)
    who = pl.DataFrame({"learner": bare.learner_names})
    parts = [
        who.with_columns(skill=pl.lit(name)).hstack(frame)
        for name, frame in zip(bare.skill_names, frames, strict=True)
    ]
    given = bare.skill_names if table.skill_map is None else table.skill_map.skills
    return pl.concat(parts).sort(
        pl.col("learner").replace_strict(name_index(table.learners), return_dtype=pl.Int64),
        pl.col("skill").replace_strict(name_index(given), return_dtype=pl.Int64),
    )


def _scores(
    found: "Diagnosis", level: Level, accuracies: Sequence[pl.DataFrame], spread: float | None
) -> tuple[Repaired, float]:
    """What the fit expects on each skill, drawn to what was observed: [learners, skills]."""
    engine = engine_of(found.diagnoser)
    parts = [
        engine.expected(
            found.diagnoser, found.params, found.readout, level.ability, level.covariance, samples
        )
        for _, samples in found.skill_samples()
    ]
    value, se = (np.column_stack(columns) for columns in zip(*parts, strict=True))
    observed = _observed(found, value, accuracies)
    spread = spread_beyond(value, observed) if spread is None else spread
    return repaired(value, se, observed, spread), spread


def _ends(score: Floats, se: Floats) -> tuple[Floats, Floats]:
    """A normal interval on the logit scale."""
    inside = np.clip(score, CLIP, 1 - CLIP)
    logit, half = np.log(inside) - np.log1p(-inside), Z * se / (inside * (1 - inside))
    return np.minimum(sigmoid(logit - half), score), np.maximum(sigmoid(logit + half), score)


def _observed(found: "Diagnosis", expected: Floats, accuracies: Sequence[pl.DataFrame]) -> Observed:
    """Accuracies and their chance on each skill: [learners, skills]."""

    def column(name: str) -> Floats:
        return np.column_stack([frame[name].cast(pl.Float64).fill_null(np.nan) for frame in accuracies])

    fractional = bool(found.provenance["fractional"]) or bool((found.cells.weight != 1).any())
    se = column("accuracy_se") if fractional else None
    return Observed.of(expected, column("accuracy"), column("n"), se)


def agreement(found: "Diagnosis") -> dict[str, Any] | None:
    """How far expected scores are from accuracies, over what chance explains: overall and by skill.

    None where responses are not kept.
    """
    if found.provenance.get("out_of_core"):
        return None
    size, names = found.diagnoser.size, found.skill_names
    everywhere = np.arange(len(found.sample_names))
    sets = [everywhere] if size.skill_mask is None else [rows for _, rows in found.skill_samples()]
    expected = _expected(found, [everywhere, *sets])
    observed = _observed(found, expected, [found.accuracy_on(rows) for rows in (everywhere, *sets)])

    def of(columns: slice | int) -> dict[str, Any]:
        part = Observed(observed.mean[:, columns], observed.noise[:, columns])
        return misfit(expected[:, columns], part)._asdict()

    facts: dict[str, Any] = {"overall": of(0)}
    if size.skill_mask is not None:
        facts["skills"] = of(slice(1, None))
        facts["by_skill"] = {name: of(1 + k) for k, name in enumerate(names)}
    return facts


def _expected(found: "Diagnosis", sets: Sequence[NDArray[np.integer]]) -> Floats:
    """Scores as printed where abilities are scores, else those that the model expects: [learners, sets]."""
    readout = found.readout
    printed = {row: k for k, row in enumerate(found.learner_names)}

    def of(frame: pl.DataFrame, column: str) -> Floats:
        order = np.argsort([printed[name] for name in frame["learner"].to_list()])
        return frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()[order]

    is_score = readout.unit_scale and (readout.skill_weight is None or readout.expected or readout.counted)
    column = "score" if "score" in found.skills.columns else "ability" if is_score else None
    chances = None if column == "ability" else found.probabilities()
    overall = of(found.learners, "ability") if chances is None else chances.mean(axis=1)
    columns = [overall]
    for k, rows in enumerate(sets[1:]):
        if column is not None and found.diagnoser.size.skill_mask is not None:
            columns.append(of(found.skills.filter(pl.col("skill") == found.skill_names[k]), column))
        elif chances is not None:
            columns.append(chances[:, rows].mean(axis=1) if len(rows) else np.full(len(overall), np.nan))
        else:
            columns.append(overall)
    return np.column_stack(columns)


def agreement_notes(facts: dict[str, Any] | None, name: str) -> list[str]:
    """What to say where abilities and accuracies do not agree; `name` is the diagnoser that was asked for."""
    if facts is None:
        return []
    instead = "trust accuracy" if name == "auto" else "trust accuracy, or diagnose with auto"
    apart = "the squared distance from accuracy is {:.1f} times what chance explains"
    notes = []
    if facts["overall"]["alarming"]:
        notes.append(
            f"Overall scores of {name} do not agree with accuracy: {apart.format(facts['overall']['value'])} "
            f"(1 is expected, 1.3 is the limit). For overall scores, {instead}."
        )
    by_skill = facts.get("by_skill", {})
    doubted = {skill: fit["value"] for skill, fit in by_skill.items() if fit["alarming"]}
    if by_skill and (facts["skills"]["alarming"] or doubted):
        worst = max(by_skill, key=lambda skill: float(by_skill[skill]["value"]))
        notes.append(
            f"Scores of {name} on skills do not agree with accuracy: "
            f"{apart.format(facts['skills']['value'])} (1 is expected, 1.3 is the limit), most on "
            f"{brief(worst)} ({by_skill[worst]['value']:.1f}). On skills, {instead}."
        )
    return notes


def doubts(made: Mapping[str, Any]) -> list[str]:
    """What to say of abilities on skills wherever they are shown; `made` is the provenance."""
    name = "auto" if made.get("combined") else str(made["diagnoser"])
    return [
        *agreement_notes(made.get("agreement"), name),
        *skill_effect_notes(made.get("skill_effect")),
    ]


def skill_effect(found: "Diagnosis") -> dict[str, Any] | None:
    """How much learners differ by skill beyond their level, in logits; None without draws of it."""
    scale = getattr(found.params, "effect_scale", None)
    if scale is None:
        return None
    low, middle, high = np.quantile(scale, (0.025, 0.5, 0.975))
    ability = found.skills.pivot("skill", index="learner", values="ability").drop("learner").to_numpy()
    alike = bool(high < SKILLS_ALIKE and profile_spread(ability) < SKILLS_ALIKE)
    return {"median": float(middle), "low": float(low), "high": float(high), "told_apart": not alike}


def skill_effect_notes(facts: dict[str, Any] | None) -> list[str]:
    """What to say where all skills order learners alike."""
    if facts is None or facts["told_apart"]:
        return []
    return [
        "The skills do not tell learners apart: beyond its overall level and the difficulty of the skill, a "
        "learner's chance differs from skill to skill by a standard deviation of less than "
        f"{100 * SLOPE * facts['high']:.1f} percentage points. Read the overall ranking instead of one per "
        "skill."
    ]
