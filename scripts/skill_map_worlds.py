"""Is Camilla with a skill map at least as good as plain accuracy per skill, where the truth is known?

    python scripts/skill_map_worlds.py [--worlds 10] [--learners 60] [--samples 400]

Worlds of four skills, one per sample: θ ~ N(0, 1) with correlation 0, .5 or .9 between skills, D ~ N(0, 1),
a ~ LogNormal(0, .3), p = c + (1 − c) σ(a (θ − D)) with c 0 or .25; 20 % of the responses are missing.
Printed per kind of world: Spearman's correlation with θ of the abilities on each skill, and of profiles
(skill minus the mean of skills), averaged over the skills and the worlds, for plain accuracy and
for Camilla; and by how much Camilla falls behind accuracy in the worst world.
"""

import argparse
import warnings
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import camilla
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

SKILLS = ("a", "b", "c", "d")
KINDS = [(correlation, guessing) for correlation in (0.0, 0.5, 0.9) for guessing in (0.0, 0.25)]


def world(
    seed: int, correlation: float, guessing: float, n_learners: int, n_samples: int
) -> tuple[ResponseTable, Any]:
    """A table with its skill map, and θ [learners, skills]."""
    rng, n_skills = np.random.default_rng(seed), len(SKILLS)
    shared = np.full((n_skills, n_skills), correlation) + (1 - correlation) * np.eye(n_skills)
    theta = rng.normal(size=(n_learners, n_skills)) @ np.linalg.cholesky(shared).T
    skill = np.arange(n_samples) % n_skills
    a, level = np.exp(0.3 * rng.normal(size=n_samples)), rng.normal(size=n_samples)
    p = guessing + (1 - guessing) / (1 + np.exp(-a * (theta[:, skill] - level)))
    x = (rng.random(p.shape) < p).astype(float)
    x[rng.random(p.shape) < 0.2] = np.nan
    return ResponseTable.from_matrix(x).with_skills(
        SkillMap(SKILLS, np.eye(n_skills, dtype=bool)[skill])
    ), theta


def agreement(found: Any, theta: Any) -> tuple[float, float]:
    """Spearman with the truth, and that of profiles, averaged over the skills."""
    pairs = [(found, theta), *[(found - found.mean(axis=1)[:, None], theta - theta.mean(axis=1)[:, None])]]
    a, b = (
        float(np.mean([spearmanr(x[:, k], y[:, k]).statistic for k in range(len(SKILLS))])) for x, y in pairs
    )
    return a, b


def by_skill(found: camilla.Diagnosis, table: ResponseTable, column: str) -> Any:
    """[learners, skills] in the order of the table."""
    wide = found.skills.pivot("skill", index="learner", values=column)
    rows = {row["learner"]: [row[skill] for skill in SKILLS] for row in wide.to_dicts()}
    return np.array([rows[name] for name in table.learners])


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("--worlds", 10), ("--first", 1), ("--learners", 60), ("--samples", 400)):
        given.add_argument(name, type=int, default=value)
    asked = given.parse_args()
    warnings.simplefilter("ignore", camilla.ConvergenceWarning)
    print("| correlation | guessing | worlds | accuracy | camilla | profile: accuracy | camilla | worst |")
    print("|---|---|---|---|---|---|---|---|")
    for correlation, guessing in KINDS:
        rows = []
        for seed in range(asked.first, asked.first + asked.worlds):
            table, theta = world(seed, correlation, guessing, asked.learners, asked.samples)
            found = camilla.diagnose(table, "camilla")
            columns = (by_skill(found, table, name) for name in ("accuracy", "ability"))
            rows.append([agreement(column, theta) for column in columns])
        plain, ours = np.array(rows).transpose(1, 0, 2)
        worst = (ours - plain).min(axis=0)
        cells = [*zip(plain.mean(axis=0), ours.mean(axis=0), strict=True)]
        shown = " | ".join(f"{value:.3f}" for pair in cells for value in pair)
        line = f"| {correlation:g} | {guessing:g} | {len(rows)} | {shown} |"
        print(f"{line} {worst[0]:+.3f} / {worst[1]:+.3f} |", flush=True)


if __name__ == "__main__":
    main()
