"""Does `camilla rank` tell equal learners apart, and how many of those that differ? Simulated worlds.

    python scripts/rank_worlds.py OUT.json [--worlds 400] [NAME …]

In every world learners have the levels given, several of them each, so that many pairs are truly equal. It
writes how often a board told any equal pair apart (at most 5 % are promised), the share of differing pairs
that were told apart, and both for Holm's adjustment of the same tests. docs/design/told-apart.md quotes it.
"""

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from camilla.arrays import sigmoid
from camilla.learners.standing import decide
from camilla.statistics.multiplicity import holm_over_pairs

ALPHA = 0.05


class World(NamedTuple):
    """Learners of a few levels, and what is special about their samples."""

    learners: int
    samples: int
    levels: tuple[float, ...] = (0.0,)
    difficulty: float = 0.0
    kind: str = "binary"  # or fractional, missing, copies, clusters


def spaced(n: int, spread: float) -> tuple[float, ...]:
    return tuple(np.linspace(-spread, spread, n).tolist())


WORLDS = {
    "30 × 300, ten levels": World(30, 300, spaced(10, 1.2)),
    "25 × 400, five levels": World(25, 400, spaced(5, 0.8)),
    "20 × 600, seven levels": World(20, 600, spaced(7, 1.0)),
    "20 × 60, ten levels": World(20, 60, spaced(10, 1.6)),
    "20 × 60, three levels": World(20, 60, spaced(3, 0.75)),
    "20 × 60, two levels": World(20, 60, (-0.7, 0.7)),
    "20 × 300, all equal": World(20, 300),
    "20 × 60, all equal": World(20, 60),
    "20 × 30, all equal": World(20, 30),
    "6 × 40, all equal": World(6, 40),
    "2 × 50, equal": World(2, 50),
    "20 × 60, near the ceiling": World(20, 60, (0.0, 1.0), -3.5),
    "20 × 300, near the ceiling": World(20, 300, (0.0, 1.0), -4.0),
    "20 × 60, fractional": World(20, 60, kind="fractional"),
    "10 × 30, skewed fractions": World(10, 30, kind="skewed"),
    "20 × 100, 30 % missing": World(20, 100, (-0.5, 0.5), kind="missing"),
    "20 × 100, half are copies": World(20, 100, (-0.5, 0.5), kind="copies"),
    "20 × 200, 20 clusters": World(20, 200, kind="clusters"),
    "10 × 120, 12 clusters": World(10, 120, kind="clusters"),
}


def responses(world: World, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Responses [learners, samples], the cluster of each sample or None, and each learner's true level."""
    n, m = world.learners, world.samples
    level = np.resize(np.asarray(world.levels), n)
    slope = np.exp(0.3 * rng.standard_normal(m))
    hard = world.difficulty + rng.standard_normal(m)
    group = None
    own: Any = 0.0
    if world.kind == "clusters":  # of unequal sizes, and a learner does better in some of them than in others
        share = rng.dirichlet(np.full(20 if m > 150 else 12, 4.0))
        group = np.unique(rng.choice(len(share), m, p=share), return_inverse=True)[1]
        own = 0.7 * rng.standard_normal((n, int(group.max()) + 1))[:, group]
        hard = world.difficulty + 0.8 * rng.standard_normal(int(group.max()) + 1)[group] + 0.6 * hard
    logit = slope * (level[:, None] - hard) + own
    if world.kind == "fractional":
        return sigmoid(logit + rng.standard_normal(logit.shape)), group, level
    if world.kind == "skewed":
        return rng.beta(0.3, 1.5, logit.shape), group, level
    found = (rng.random(logit.shape) < sigmoid(logit)).astype(float)
    if world.kind == "copies":
        found[n // 2 :] = found[: n - n // 2]
        level = np.concatenate([level[: n // 2], level[: n - n // 2]])
    if world.kind == "missing":
        found[rng.random(found.shape) < 0.3] = np.nan
    return found, group, level


def measured(world: World, worlds: int, seed: int) -> dict[str, float]:
    """Familywise error and power of both adjustments."""
    rng = np.random.default_rng(seed)
    upper = np.triu_indices(world.learners, 1)
    wrong, power = np.zeros(2), np.zeros(2)
    for k in range(worlds):
        matrix, group, level = responses(world, rng)
        equal = (level[:, None] == level)[upper]
        decided = decide(matrix, [f"{seed} {k} {sample}" for sample in range(world.samples)], group)
        for which, adjusted in enumerate((decided.adjusted, holm_over_pairs(decided.tests.p_value))):
            apart = adjusted[upper] < ALPHA
            wrong[which] += (apart & equal).any()
            power[which] += apart[~equal].mean() if not equal.all() else np.nan
    names = ("error", "power", "error_holm", "power_holm")
    values = np.column_stack([wrong, power]).ravel() / worlds
    return dict(
        zip(names, (None if value != value else round(value, 4) for value in values.tolist()), strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--worlds", type=int, default=400)
    asked = parser.parse_intermixed_args()
    found = {}
    for seed, (name, world) in enumerate(WORLDS.items()):
        if asked.names and name not in asked.names:
            continue
        found[name] = measured(world, asked.worlds, seed)
        print(f"{name}: {found[name]}", flush=True)
    asked.out.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
