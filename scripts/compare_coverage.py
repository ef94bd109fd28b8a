"""Coverage of the intervals of compare and rank, and how often a board of equals is torn apart.

python scripts/compare_coverage.py --tables 2000 --seed 1 --out docs/results/compare.md
"""

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from camilla.compare.all_pairs import pair_tests
from camilla.compare.paired import estimate
from camilla.compare.ranked import learner_spread, mean_ends, told_apart_by_holm
from camilla.compare.sign_tests import sign_flip
from camilla.metrics.multiplicity import rank_bounds

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/compare"))

from compare_worlds import NULLS, WORLDS, World, clustered, few_flips, right_or_wrong

DOMINATED = (231, 75, 44, 40, 34, 32, 22, 19, 8, 2, 2, 1)  # samples a repository, as in SWE-bench Verified
CASES: dict[str, Callable[[np.random.Generator, int], World]] = {
    "right/wrong, 200 samples": WORLDS["right/wrong"],
    "right/wrong, 50 samples": lambda rng, tables: right_or_wrong(rng, tables, 50),
    "right/wrong, 5 flips in 100 samples": lambda rng, tables: few_flips(rng, tables, 100),
    "right/wrong, 2.5 flips in 50 samples": lambda rng, tables: few_flips(rng, tables, 50),
    "scores, 100 samples": WORLDS["scores"],
    "3 trials of 120 samples": WORLDS["trials"],
    "22 clusters of 2 to 12": WORLDS["clusters"],
    "10 clusters of 20": lambda rng, tables: clustered(rng, tables, (20,) * 10),
    "12 clusters, one with half the samples": lambda rng, tables: clustered(rng, tables, DOMINATED),
}


BOARDS = {
    "swebench_verified_agents": (
        "swebench/swebench_verified_agents.parquet",
        "--rows",
        "samples",
        "--task",
        "repo",
    ),
    "the same, by repository": (
        "swebench/swebench_verified_agents.parquet",
        "--rows",
        "samples",
        "--cluster",
        "repo",
    ),
    "helm_lite": (
        "helm_lite/helm_lite_items_x_30models.parquet",
        *("--rows", "samples", "--sample", "item", "--task", "scenario"),
    ),
    "metabench": ("metabench/metabench.parquet",),
}


class Row(NamedTuple):
    """Shares of tables."""

    difference: float
    mean: float
    naive: float | None


def coverage(world: World) -> Row:
    pairs = world.pairs()

    def covered(group: bool) -> float:
        found = [estimate(pair if group else pair._replace(group=None), 0.95) for pair in pairs]
        return float(np.mean([one.low <= world.difference <= one.high for one in found]))

    ends = mean_ends(world.a, learner_spread(world.a, world.group), world.group, 0.95)
    mean = float(np.mean((ends.low <= world.mean_a) & (world.mean_a <= ends.high)))
    return Row(covered(True), mean, None if world.group is None else covered(False))


def torn(kind: str, tables: int, rng: np.random.Generator) -> float:
    wrong = 0
    for _ in range(tables):
        matrix, group = NULLS[kind](rng)
        wrong += bool(told_apart_by_holm(pair_tests(matrix, group).p_value, 0.05).any())
    return wrong / tables


def rejected(tables: int, rng: np.random.Generator) -> float:
    """Sign flips of whole clusters where A and B are the same."""
    world = clustered(rng, tables)
    swap = (rng.random((tables, world.group.max() + 1)) < 0.5)[:, world.group]
    difference = np.where(swap, world.a - world.b, world.b - world.a)
    return float(
        np.mean([sign_flip(np.bincount(world.group, d), draws=999).p_value <= 0.05 for d in difference])
    )


def ranks_held(tables: int, rng: np.random.Generator) -> float:
    p, true, held = np.linspace(0.7, 0.35, 8), np.arange(1, 9), 0
    for _ in range(tables):
        tests = pair_tests((rng.random((8, 150)) < p[:, None]).astype(float), None)
        ranks = rank_bounds(told_apart_by_holm(tests.p_value, 0.05), tests.difference < 0)
        held += bool(((ranks.low <= true) & (true <= ranks.high)).all())
    return held / tables


def seconds(folder: Path) -> list[str]:
    """CPU seconds of whole processes of `camilla rank`, start and reading included, on one core."""
    command = [sys.executable, "-c", "from camilla.cli.main import main; main()", "rank"]
    lines = []
    for name, (path, *options) in BOARDS.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(
            [*command, str(folder / path), *options], capture_output=True, text=True, check=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        size = ran.stdout.split(";")[0].replace(" by mean response on ", ", ")
        lines.append(f"| {name} | {size} | {spent:.1f} |")
        print(lines[-1], flush=True)
    return lines


PAGE = """# Coverage of compare and rank

Nominal 95 % intervals over {tables} simulated tables a row; the Monte-Carlo standard error of a share of
95 % is {error:.1f} points. Worlds are written out in `tests/compare/compare_worlds.py`: four outcomes a
sample with a true difference of .05 and 30 % of the samples flipping, scores that are Beta, trials with a
probability a sample, and clusters with a correlation of .3 inside. With few flips expected (5 % of 50 or 100
samples, a difference of .03) the interval is wider than it need be.

{covered}

"as if independent" is the interval of the difference when clusters are not said.

| error rate | % of tables |
|---|---|
{errors}

"torn apart" is the share of boards of 12 equal learners on which any of the 66 pairs is told apart: 5 % is
allowed, and Holm and the exact test leave some of it unused.

`camilla rank`, CPU seconds of the whole process on one core (start, reading, every pair, printing):

| table | size | CPU seconds |
|---|---|---|
{seconds}

Made by `CAMILLA_DATA=… python scripts/compare_coverage.py --tables {tables} --seed {seed}
--out docs/results/compare.md`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    lines = [
        "| tables | difference | mean of a learner | difference as if independent |",
        "|---|---|---|---|",
    ]
    for name, case in CASES.items():
        row = coverage(case(rng, asked.tables))
        shares = ["" if share is None else f"{100 * share:.1f}" for share in row]
        lines.append(f"| {name} | {' | '.join(shares)} |")
        print(lines[-1], flush=True)
    errors = [
        f"| board of equals torn apart, {kind} | {100 * torn(kind, asked.tables, rng):.1f} |"
        for kind in NULLS
    ]
    errors.append(f"| sign flips of clusters, A and B the same | {100 * rejected(asked.tables, rng):.1f} |")
    errors.append(
        f"| some true rank outside its interval | {100 * (1 - ranks_held(asked.tables, rng)):.1f} |"
    )
    text = PAGE.format(
        tables=asked.tables,
        seed=asked.seed,
        error=100 * np.sqrt(0.95 * 0.05 / asked.tables),
        covered="\n".join(lines),
        errors="\n".join(errors),
        seconds="\n".join(seconds(Path(os.environ["CAMILLA_DATA"]))),
    )
    if asked.out is None:
        print(text)
    else:
        asked.out.write_text(text)


if __name__ == "__main__":
    main()
