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

from camilla.learners.rank import learner_ends
from camilla.learners.standing import decide
from camilla.statistics.clusters import learner_spread, spread_of
from camilla.statistics.intervals import tango
from camilla.statistics.paired import estimate, mcnemar_p, paired_test, student_p
from camilla.statistics.power import Design, power_of, samples_for

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/learners"))

import compare_worlds as worlds
from compare_worlds import NULLS, WORLDS, World

DOMINATED = (231, 75, 44, 40, 34, 32, 22, 19, 8, 2, 2, 1)  # samples a repository, as in SWE-bench Verified
CASES: dict[str, Callable[[np.random.Generator, int], World]] = {
    "right/wrong, 200 samples": WORLDS["right/wrong"],
    "right/wrong, 50 samples": lambda rng, tables: worlds.right_or_wrong(rng, tables, 50),
    "right/wrong, 5 flips in 100 samples": lambda rng, tables: worlds.few_flips(rng, tables, 100),
    "right/wrong, 2.5 flips in 50 samples": lambda rng, tables: worlds.few_flips(rng, tables, 50),
    "right/wrong, flips vary from 2.5 to 50 of 200": worlds.varied_flips,
    "right/wrong, 20 samples": lambda rng, tables: worlds.right_or_wrong(rng, tables, 20),
    "scores, 100 samples": WORLDS["scores"],
    "scores, 10 samples": lambda rng, tables: worlds.scores(rng, tables, 10),
    "3 trials of 120 samples": WORLDS["trials"],
    "22 clusters of 2 to 12": WORLDS["clusters"],
    "5 clusters of 40": lambda rng, tables: worlds.clustered(rng, tables, (40,) * 5),
    "10 clusters of 20": lambda rng, tables: worlds.clustered(rng, tables, (20,) * 10),
    "12 clusters, one with half the samples": lambda rng, tables: worlds.clustered(rng, tables, DOMINATED),
}


FLIPS = (2.5, 5, 10, 20, 50)
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
        low, high = (np.array([getattr(one, end) for one in found]) for end in ("low", "high"))
        return float(np.mean((low <= world.difference) & (world.difference <= high)))

    ends = learner_ends(world.a, learner_spread(world.a, world.group), world.group, 0.95)
    mean = float(np.mean((ends.low <= world.mean_a) & (world.mean_a <= ends.high)))
    return Row(covered(True), mean, None if world.group is None else covered(False))


def counted(n: int, flips: float) -> str:
    """The range of the exact coverage over differences of 0 to .9 of the flips, in %."""
    shares = []
    for lean in np.linspace(0, 0.9, 10):
        all_of = worlds.outcomes(n, flips, lean)
        found = tango(all_of.won, all_of.lost, n, 0.95)
        inside = (found.low <= all_of.difference) & (all_of.difference <= found.high)
        shares.append(100 * all_of.chance[inside].sum())
    return f"{min(shares):.1f}–{max(shares):.1f}"


def shown(tables: int, rng: np.random.Generator) -> list[str]:
    """The power that `power` promises for a number of samples it asks for, beside what is found in tables."""
    lines = []
    for discordance, difference in ((0.3, 0.1), (0.1, 0.03), (0.05, 0.03)):
        design = Design(discordance=discordance)
        n = samples_for(design, difference) or 0
        shares = [(discordance - difference) / 2, (discordance + difference) / 2, 1 - discordance]
        lost, won, _ = rng.multinomial(n, shares, size=tables).T
        found = np.mean(mcnemar_p(lost, won) <= 0.05)
        lines.append((f"right/wrong, discordance {discordance:g}", difference, n, design, found))
    scores = Design(sd=0.4)
    n = samples_for(scores, 0.05) or 0
    spread = spread_of(rng.normal(0.05, 0.4, (tables, n)), None)
    lines.append(("scores, σ .4", 0.05, n, scores, np.mean(student_p(spread) <= 0.05)))
    grouped = Design(sd=0.4, cluster_size=8, icc=0.1)
    n = -(-(samples_for(grouped, 0.05) or 0) // 8) * 8
    group = np.repeat(np.arange(n // 8), 8)
    own = np.sqrt(0.1) * rng.normal(size=(tables, n // 8))[:, group] + np.sqrt(0.9) * rng.normal(
        size=(tables, n)
    )
    found = np.mean(student_p(spread_of(0.05 + 0.4 * own, group)) <= 0.05)
    lines.append(("scores in clusters of 8, correlation .1", 0.05, n, grouped, found))
    return [
        f"| {name} | {difference} | {n} | {100 * power_of(design, difference, n):.1f} | {100 * found:.1f} |"
        for name, difference, n, design, found in lines
    ]


def torn(kind: str, tables: int, rng: np.random.Generator) -> float:
    wrong = 0
    for _ in range(tables):
        matrix, group = NULLS[kind](rng)
        wrong += bool(
            (decide(matrix, [f"s{k}" for k in range(matrix.shape[1])], group).adjusted < 0.05).any()
        )
    return wrong / tables


def rejected(tables: int, rng: np.random.Generator) -> float:
    """The paired test over clusters where A and B are the same: swapped in whole clusters."""
    world = worlds.clustered(rng, tables)
    swap = (rng.random((tables, world.group.max() + 1)) < 0.5)[:, world.group]
    null = world._replace(a=np.where(swap, world.b, world.a), b=np.where(swap, world.a, world.b))
    return float(np.mean([paired_test(pair).p_value <= 0.05 for pair in null.pairs()]))


def ranks_held(tables: int, rng: np.random.Generator) -> float:
    p, true, held = np.linspace(0.7, 0.35, 8), np.arange(1, 9), 0
    for _ in range(tables):
        matrix = (rng.random((8, 150)) < p[:, None]).astype(float)
        ranks = decide(matrix, [f"s{k}" for k in range(150)]).standing
        held += bool(((ranks.rank_low <= true) & (true <= ranks.rank_high)).all())
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

Nominal 95 % intervals over {tables} simulated tables per row; the Monte-Carlo standard error of a share of
95 % is {error:.1f} points. Worlds are defined in `tests/learners/compare_worlds.py`. Right/wrong responses
have four outcomes per sample, a true difference of .05, and 30 % of the samples flipping. Scores are Beta,
trials have a probability for each sample, and clusters have a correlation of .3 inside.

{covered}

"as if independent" is the interval of the difference when clusters are not declared. The interval of a mean
is that of `rank`.

For right/wrong responses the coverage of the difference is computed exactly, by summing the probabilities of
all outcomes. The range over true differences of 0 to .9 of the flips, in %:

{counted}

With 2.5 expected flips, no sensible interval covers 93 to 97 %. There are so few outcomes that an interval
excludes either too many or too few of them ([why](../design/told-apart.md)).

| error rate | % of tables |
|---|---|
{errors}

The first five rows show the share of leaderboards of 12 equal learners on which any of the 66 pairs is told
apart (familywise error). 5 % is allowed, and step-down max-t uses nearly all of it. Possible ranks
are simultaneous, so each of them covers far more than 95 %, as intended.

The table compares the power that `power` promises for the number of samples it asks for (80 %, two-sided 5 %)
with the power found in simulated tables:

| design | difference | samples | power promised, % | found, % |
|---|---|---|---|---|
{power}

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
    parser.add_argument("--out", type=Path, default=Path("/dev/stdout"))
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
        f"| some pair of 12 equal learners told apart, {kind} | {100 * torn(kind, asked.tables, rng):.1f} |"
        for kind in NULLS
    ]
    errors.append(
        f"| paired test over clusters, A and B the same | {100 * rejected(asked.tables, rng):.1f} |"
    )
    errors.append(
        f"| some true rank outside its interval | {100 * (1 - ranks_held(asked.tables, rng)):.1f} |"
    )
    counts = ["| samples | " + " | ".join(f"{flips:g} flips" for flips in FLIPS) + " |", "|---" * 6 + "|"]
    counts += [f"| {n} | " + " | ".join(counted(n, flips) for flips in FLIPS) + " |" for n in (200, 2000)]
    text = PAGE.format(
        counted="\n".join(counts),
        power="\n".join(shown(asked.tables, rng)),
        tables=asked.tables,
        seed=asked.seed,
        error=100 * np.sqrt(0.95 * 0.05 / asked.tables),
        covered="\n".join(lines),
        errors="\n".join(errors),
        seconds="\n".join(seconds(Path(os.environ["CAMILLA_DATA"]))),
    )
    asked.out.write_text(text)


if __name__ == "__main__":
    main()
