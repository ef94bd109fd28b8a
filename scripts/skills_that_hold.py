"""The part of docs/results/classifiers.md on skills that were found in the responses."""

from typing import Any

import polars as pl

from camilla.classifiers import ranked
from camilla.classifiers.mastery import mastery_agreement
from camilla.diagnosing import diagnose
from camilla.samples.skills import skills
from camilla.table.responses import ResponseTable
from figures import number, with_interval

FIVE = (0, 1, 2, 3, 4)  # seeds of halvings


def skills_that_hold(table: ResponseTable) -> str:
    """Data-driven skills: how they hold on other learners, and how diagnosers agree with them."""
    return "\n".join([held_out(table), by_diagnosers(table), one_finding(table)])


def held_out(table: ResponseTable) -> str:
    """Ways to find skills, judged on the half of the classifiers that had no part in it."""
    ways: dict[str, tuple[int, str]] = {
        "4 skills by sample": (4, "sample"),
        "7 skills by sample": (7, "sample"),
        "12 skills by sample": (12, "sample"),
        "7 skills by data set": (7, "task"),
        "16 data sets": (16, "task"),
        "7 attributes × 3 families": (3, "attribute"),
    }
    lines = [
        "| skills | DOA | random groups | ceiling | DOA by samples | random by samples |",
        "|---|---|---|---|---|---|",
    ]
    names = ("doa", "random", "ceiling", "doa_weighted", "random_weighted")
    for label, (number_of, by) in ways.items():
        found = [skills(table, number_of, by=by, seed=seed).judgement for seed in FIVE]  # type: ignore[arg-type]
        cells = [with_interval(pl.Series([getattr(one, name) for one in found])) for name in names]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return f"""## Skills confirmed on held-out classifiers

Skills are found on half of the classifiers and evaluated on the other half by the Borda score; random groups
have the same sizes. The table shows means over five random halvings with 95 % intervals.

{chr(10).join(lines)}
"""


def by_diagnosers(table: ResponseTable) -> str:
    """Fits to all classifiers, on seven skills that half of them found."""
    contenders: dict[str, tuple[str, dict[str, Any], bool]] = {
        "mirt:use_skills=true, ranks": ("mirt", {"use_skills": True, "precision": 1.0}, True),
        "mirt:use_skills=true": ("mirt", {"use_skills": True, "precision": 1.0}, False),
        "camilla-base:skill_correlation=0, ranks": (
            "camilla-base",
            {"skill_correlation": 0.0, "precision": 1.0},
            True,
        ),
        "camilla-base:skill_correlation=0": (
            "camilla-base",
            {"skill_correlation": 0.0, "precision": 1.0},
            False,
        ),
        "camilla-base:skill_correlation=0.5": (
            "camilla-base",
            {"skill_correlation": 0.5, "precision": 1.0},
            False,
        ),
        "skill-vanilla": ("skill-vanilla", {}, False),
    }
    names = ("r2_within", "doa", "doc", "ceiling", "ceiling_weighted", "borda", "doa_star", "doa_weighted")
    lines = [f"| diagnoser | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    maps = [skills(table, 7, seed=seed).skill_map for seed in FIVE]
    for label, (name, settings, ranks) in contenders.items():
        found = []
        for skill_map in maps:
            known = table.with_skills(skill_map)
            responses = ranked(known, known) if ranks else known
            found.append(mastery_agreement(responses, diagnose(responses, name, **settings)).summary)
        cells = [with_interval(pl.Series([one[key] for one in found]), 4) for key in names]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return f"""Seven such skills and fitted diagnosers, all {table.n_learners} classifiers; over the
same five halvings. "Ranks" replaces each metric by the classifier's rank (`camilla classifiers --ranks`).
Each sample has one skill here, so apart from ties DOC is at most the ceiling by samples, `ceiling_weighted`.
The diagnosers come close to this ceiling.

{chr(10).join(lines)}
"""


def one_finding(table: ResponseTable) -> str:
    """The skills of the first halving, as found."""
    found = skills(table, 7, seed=FIVE[0])
    lines = ["| skill | samples | DOA | ceiling | random |", "|---|---|---|---|---|"]
    for row in found.judgement.skills.to_dicts():
        cells = " | ".join(number(row[name]) for name in ("doa", "ceiling", "random"))
        lines.append(f"| {row['skill']} | {row['samples']} | {cells} |")
    return f"""The seven skills of the first halving, on the {found.judgement.learners} classifiers
that evaluated them. They are families of data sets, not of metrics: a classifier's skill differs by kind of
data, hardly by kind of metric.

{chr(10).join(lines)}
"""
