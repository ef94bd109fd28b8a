"""Coverage of the macro average's intervals, with and without the answers that are added to its variance.

python scripts/macro_coverage.py --out docs/results/macro.md
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from camilla.arrays import Floats
from camilla.statistics.clusters import plain_spread
from camilla.statistics.intervals import Ends, mean_ends, student
from camilla.statistics.strata import ANSWERS, FLIPS, mean_of_means

WORLDS, TABLES = 12, 500


class Case(NamedTuple):
    """Tasks of these sizes; shares are drawn anew for each of the worlds, evenly between two ends."""

    sizes: tuple[int, ...]
    least: float
    most: float

    @property
    def words(self) -> str:
        same = len(set(self.sizes)) == 1
        return f"{len(self.sizes)} of {self.sizes[0]}" if same else ", ".join(map(str, self.sizes))


DIFFERENCES = [  # `least` and `most` are of the share that flips
    Case((30, 300), 0.01, 0.19), Case((20, 400), 0.003, 0.057), Case((1000, 10), 0.01, 0.19),
    Case((10, 15, 20, 30, 40), 0.01, 0.19), Case((10, 12), 0.01, 0.19), Case((50,) * 10, 0.002, 0.038),
    Case((8,) * 30, 0.015, 0.285), Case((5,) * 57, 0.01, 0.19), Case((30,) * 57, 0.01, 0.19),
    Case((200,) * 5, 0.02, 0.38),
]  # fmt: skip
MEANS = [  # of the share of right answers
    Case((30, 300), 0.5, 0.99), Case((20, 400), 0.9, 1), Case((1000, 10), 0.85, 1), Case((1000, 20), 0.7, 1),
    Case((10, 15, 20, 30, 40), 0.3, 0.95), Case((10, 12), 0.8, 1), Case((50,) * 10, 0.95, 1),
    Case((8,) * 30, 0.5, 1), Case((5,) * 57, 0.2, 0.8), Case((200,) * 5, 0.4, 0.8),
]  # fmt: skip


class Covered(NamedTuple):
    """Over all worlds, in the worst of them, and how wide."""

    mean: float
    worst: float
    width: float


def covered(worlds: Iterator[tuple[Ends, float]]) -> Covered:
    rows = [
        (np.mean((ends.low <= truth) & (truth <= ends.high)), np.mean(ends.high - ends.low))
        for ends, truth in worlds
    ]
    held, width = (np.array(column) for column in zip(*rows, strict=True))
    return Covered(float(held.mean()), float(held.min()), float(width.mean()))


def of_differences(case: Case, more: float) -> Iterator[tuple[Ends, float]]:
    rng = np.random.default_rng(1)
    size = np.array(case.sizes)
    for _ in range(WORLDS):
        won, lost = (rng.uniform(case.least, case.most, len(size)) / 2 for _ in range(2))
        shares = np.stack([won, lost, 1 - won - lost], axis=1)
        counts = np.stack([rng.multinomial(n, share, TABLES) for n, share in zip(size, shares, strict=True)])
        mean = (counts[..., 0] - counts[..., 1]) / size[:, None]
        square = counts[..., 0] + counts[..., 1] - size[:, None] * mean**2
        spread = mean_of_means(list(map(_spread, mean, square, size)), more)
        ends = student(spread.mean, np.sqrt(spread.variance), spread.df)
        yield Ends(np.clip(ends.low, -1, 1), np.clip(ends.high, -1, 1)), float(np.mean(won - lost))


def of_means(case: Case, more: float) -> Iterator[tuple[Ends, float]]:
    rng = np.random.default_rng(2)
    size = np.array(case.sizes)
    for _ in range(WORLDS):
        shares = rng.uniform(case.least, case.most, len(size))
        mean = rng.binomial(size, shares, (TABLES, len(size))).T / size[:, None]
        square = size[:, None] * mean * (1 - mean)
        spread = mean_of_means(list(map(_spread, mean, square, size)), more)
        variance = np.where((spread.mean <= 0) | (spread.mean >= 1), 0.0, spread.variance)
        none = np.zeros(TABLES, bool)
        yield mean_ends(spread.mean, variance, spread.n, spread.df, none, 0.95, ~none), float(shares.mean())


def _spread(mean: Floats, square: Floats, n: int):
    return plain_spread(mean, square, np.full(mean.shape, float(n)))


def table(title: str, cases: list[Case], simulated, more: float) -> list[str]:
    lines = [
        f"## {title}", "",
        "| samples per task | share | coverage | worst world | width | coverage without | worst without |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for case in cases:
        used, plain = covered(simulated(case, more)), covered(simulated(case, 0.0))
        lines.append(
            f"| {case.words} | {case.least:g} to {case.most:g} | {used.mean:.3f} | {used.worst:.3f} | "
            f"{used.width:.3f} | {plain.mean:.3f} | {plain.worst:.3f} |"
        )
    return [*lines, ""]


HEAD = f"""# Coverage of the macro average

How often the 95 % interval of the [macro average](../commands/compare.md) contains the true mean over tasks.
Right/wrong responses without clusters, {WORLDS} worlds with shares drawn for each task, {TABLES} tables each.
The standard error is .3 points for the coverage, 1 point for the worst world. "Without" leaves out the
answers that are added to the variance: one right and one wrong for means, one flip in each direction for
differences. They matter if a small task has the same weight as a large one.

Made by `python scripts/macro_coverage.py`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    lines = [HEAD, *table("Differences of two learners (`compare`)", DIFFERENCES, of_differences, FLIPS)]
    lines += table("Means of one learner (`rank`)", MEANS, of_means, ANSWERS)
    parser.parse_args().out.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
