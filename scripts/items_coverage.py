"""Coverage of the intervals of items, by the number of learners and of samples.

python scripts/items_coverage.py --tables 500 --out docs/results/items.md
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from camilla.diagnosing import diagnose
from camilla.samples.items import items
from camilla.table.responses import ResponseTable

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/samples"))

from item_worlds import ItemWorld, item_world


class Shape(NamedTuple):
    """A size of table, and which share of the tables asked for is drawn."""

    n_learners: int
    n_samples: int
    part: float = 1.0
    dispersion: float = 1.0

    @property
    def name(self) -> str:
        scores = "" if self.dispersion == 1 else ", scores"
        return f"{self.n_learners} × {self.n_samples}{scores}"


SHAPES = (
    Shape(60, 150), Shape(200, 100, 0.2), Shape(30, 100, 0.2), Shape(200, 20, 0.2), Shape(50, 500, 0.04),
    Shape(200, 1000, 0.02), Shape(1000, 200, 0.02), Shape(60, 150, 0.2, dispersion=0.1),
)  # fmt: skip
COLUMNS = (
    "difficulty", "discrimination", "of the sharpest tenth", "of the dullest tenth", "item–rest", "accuracy",
    "2PL's own discrimination", "of the sharpest tenth", "infit z above 1.96", "below −1.96",
)  # fmt: skip


def shares(world: ItemWorld) -> list[float]:
    """Shares of samples, in the order of COLUMNS; NaN where a kind does not apply."""
    table = ResponseTable.from_matrix(world.responses)
    found = (
        items(table)
        .samples.sort("sample")
        .with_columns(
            pl.col("difficulty_low").fill_null(-np.inf), pl.col("difficulty_high").fill_null(np.inf)
        )
    )
    ends = diagnose(table, "irt").samples

    def inside(name: str, truth: np.ndarray, frame=found) -> np.ndarray:  # type: ignore[no-untyped-def]
        low, high = (frame[f"{name}_{end}"].to_numpy() for end in ("low", "high"))
        return np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high))

    steep, by_prior = (inside("discrimination", world.discrimination, frame) for frame in (found, ends))
    sharpest, dullest = (np.argsort(side * world.slope)[: max(len(steep) // 10, 1)] for side in (-1, 1))
    binary = bool(np.isin(world.responses, (0, 1)).all())
    rest = np.nanmean(inside("item_rest", world.item_rest())) if binary else np.nan
    z = found["infit_z"].to_numpy().astype(float)
    odd = [float(np.mean(side * z > 1.96)) if binary else np.nan for side in (1, -1)]
    return [
        float(np.nanmean(inside("difficulty", world.difficulty))), float(np.nanmean(steep)),
        float(np.nanmean(steep[sharpest])), float(np.nanmean(steep[dullest])), rest,
        float(np.nanmean(inside("accuracy", world.accuracy()))),
        float(np.nanmean(by_prior)), float(np.nanmean(by_prior[sharpest])), *odd,
    ]  # fmt: skip


def row(shape: Shape, tables: int) -> str:
    """Means over tables, ± the standard error of the mean: samples of a table hang together."""
    n = max(round(tables * shape.part), 2)
    found = np.array([
        shares(item_world(seed, shape.n_learners, shape.n_samples, dispersion=shape.dispersion))
        for seed in range(n)
    ])  # fmt: skip
    error = 100 * found.std(axis=0, ddof=1) / np.sqrt(n)
    cells = [
        "" if np.isnan(mean) else f"{100 * mean:.1f} ± {se:.1f}"
        for mean, se in zip(found.mean(axis=0), error, strict=True)
    ]
    return f"| {shape.name} | {n} | {' | '.join(cells)} |"


PAGE = """# Coverage of items

Nominal 95 % intervals, % of samples inside, over simulated tables of a 2PL (`tests/samples/item_worlds.py`).
Abilities and difficulties are N(0, 1), discriminations are log-normal around 1 with a standard deviation of
.3 (of the logarithm). Scores are Beta with a tenth of the variance of right/wrong responses. ± is the
standard error over tables. Difficulty and discrimination are in standard deviations of the abilities of the
learners in the table. Item–rest correlation and accuracy are those of the population that learners are drawn
from.

{table}

"2PL's own discrimination" is the interval of the irt diagnoser, which depends on its prior: the sharpest
samples are shrunk towards the others. With few samples per learner, it also treats uncertain abilities as
known. The interval of `items` uses the responses alone.

Infit has no interval. If samples fit the model, 2.5 % should have a z above 1.96, and 2.5 % below −1.96.
Abilities are fitted to the same responses, so residuals are too small and z is too low, especially with few
samples per learner. So samples are flagged as `noisy` too rarely rather than too often.

Made by `python scripts/items_coverage.py --tables {tables} --out docs/results/items.md`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path("/dev/stdout"))
    asked = parser.parse_args()
    lines = [f"| learners × samples | tables | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 2) + "|"]
    for shape in SHAPES:
        lines.append(row(shape, asked.tables))
        print(lines[-1], flush=True)
    text = PAGE.format(table="\n".join(lines), tables=asked.tables)
    asked.out.write_text(text)


if __name__ == "__main__":
    main()
