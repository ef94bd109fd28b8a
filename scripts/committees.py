"""Committees against the best single learner, and pools in which no committee is better.

CAMILLA_DATA=… python scripts/committees.py --worlds 200 --out docs/results/committees.md

Figures go to docs/results/data/committees.json too, and finished parts are read from there again.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import camilla
from camilla.learners.ensemble import Ensemble
from logs_tables import data_file

SIZES = (3, 5, 9)
DATA = Path(__file__).parents[1] / "docs/results/data/committees.json"
TABLES: dict[str, tuple[Callable[[], camilla.ResponseTable], bool]] = {
    "digits": (camilla.digits, False),
    "titanic": (lambda: wide("camilla_responses/titanic_353x418.parquet"), True),
    "cifar100": (lambda: wide("camilla_responses/cifar100_test_42x10000.parquet"), False),
}
NAMES = {
    "digits": "digits, 42 learners × 1,797 samples, answers known",
    "titanic": "Titanic, 353 learners × 418 passengers, two possible answers",
    "cifar100": "CIFAR-100 test, 42 learners × 10,000 pictures, right/wrong only: lower bounds",
}
REMARKS = {
    "cifar100": "All figures of committees are lower bounds, those of all learners voting too: the "
    "differences from all voting compare two bounds, and say nothing of the votes themselves.\n\n",
}


def wide(name: str) -> camilla.ResponseTable:
    return camilla.read(data_file(name), rows="samples")


def summary(found: Ensemble, seconds: float) -> dict[str, Any]:
    """What the page tells of one table."""
    document = found.to_document()
    kept = ("answer", "better", "exact", "ways", "members", "epp", "pairs")
    return {name: document[name] for name in kept} | {"cpu_seconds": round(seconds, 1)}


def judged(name: str) -> dict[str, Any]:
    make, two = TABLES[name]
    table, start = make(), time.process_time()
    found = camilla.ensemble(table, sizes=SIZES, two_answers=two)
    return summary(found, time.process_time() - start)


def equals(seed: int, learners: int, samples: int) -> camilla.ResponseTable:
    """Two possible answers. 70 % of the samples everybody gets right; on 15 % each learner is right with
    probability .7, on 15 % with .3, independently. A vote is right with q(.7) and q(.3) = 1 − q(.7) on these,
    whatever its members and weights, as a single learner is with .7 and .3: every committee is as good as
    every learner."""
    rng = np.random.default_rng(seed)
    p = rng.choice([1.0, 0.7, 0.3], samples, p=[0.7, 0.15, 0.15])
    return camilla.ResponseTable.from_matrix((rng.random((learners, samples)) < p).astype(float))


def independent(seed: int, learners: int, samples: int) -> camilla.ResponseTable:
    """Two possible answers, everybody right with probability .7, independently: Condorcet's theorem."""
    rng = np.random.default_rng(seed)
    return camilla.ResponseTable.from_matrix((rng.random((learners, samples)) < 0.7).astype(float))


def copies(seed: int, learners: int, samples: int) -> camilla.ResponseTable:
    """Everybody gives the same answers."""
    right = np.random.default_rng(seed).random(samples) < 0.7
    return camilla.ResponseTable.from_matrix(np.tile(right.astype(float), (learners, 1)))


WORLDS: dict[str, tuple[Callable[[int, int, int], camilla.ResponseTable], int, int, float]] = {
    "equals, 6 learners × 300 samples": (equals, 6, 300, 1.0),
    "equals, 12 learners × 400 samples": (equals, 12, 400, 1.0),
    "equals, 40 learners × 400 samples": (equals, 40, 400, 0.5),
    "copies, 12 learners × 400 samples": (copies, 12, 400, 0.1),
    "independent, 12 learners × 400 samples": (independent, 12, 400, 0.5),
}


COUNTS = ("worlds", "better", "worse", "held", "accuracy_held", "cpu_seconds")
BATCH = 10  # tables between which figures are written


def simulated(name: str, worlds: int, before: dict[str, Any]) -> dict[str, Any]:
    """How often a committee is called better or worse, and intervals hold the truth; one batch more."""
    make, learners, samples, share = WORLDS[name]
    found = {key: before.get(key, 0) for key in COUNTS}
    start = time.process_time()
    for seed in range(found["worlds"], min(found["worlds"] + BATCH, max(int(worlds * share), 1))):
        table = make(seed, learners, samples)
        one = camilla.ensemble(table, sizes=SIZES[:2], two_answers=True, seed=seed)
        row = one.ways.row(1, named=True)
        found["worlds"] += 1
        found["better"] += int(one.better)
        found["worse"] += int(row["p_value"] < 0.05 and row["difference"] < 0)
        found["held"] += int(row["difference_low"] <= 0 <= row["difference_high"])
        found["accuracy_held"] += int(row["low"] <= 0.85 <= row["high"])
    found["cpu_seconds"] = round(found["cpu_seconds"] + time.process_time() - start, 1)
    return found


HEAD = """# Committees

`camilla ensemble` with committees of 3, 5 and 9. Samples are split into halves ten times. One half
chooses members, votes and size, and the best single learner; the other half judges them, and the other
way round. Differences are from that best single learner, in points (hundredths of the accuracy). p is
twice the median over splits of the exact McNemar test; for sizes and all learners it is adjusted (Holm).
EPP has twenty parts of the samples as rounds. Members were chosen with all samples, which flatters them
beside committees.

How members are found and weights are learned was settled on digits and Titanic. CIFAR-100 was looked at
once, after that.
"""
WORLDS_HEAD = """
## Pools in which the truth is known

Two possible answers per sample, committees of 3 and 5, ten splits.

* **equals**: everybody gets 70 % of the samples right. On 15 % every learner is right with probability
  .7, on 15 % with .3, independently. A weighted vote is then right with probability q on the former and
  1 − q on the latter. So every committee is exactly as good as every learner (.85), whatever is chosen.
* **copies**: all learners give the same answers.
* **independent**: every learner is right with .7, independently. Three are right with .784, five with
  .837 (Condorcet).

The test has an error rate of 5 %, in both directions together. So a committee may be called better in 2.5 %
of the tables of equals and copies. It should be called better in all tables of the last kind.
*held*: the 95 % interval of the difference holds the true one, 0.

| pool | tables | a committee is better | is worse | held | 95 % CI of the accuracy holds .85 |
|---|---|---|---|---|---|
"""
TAIL = """
Among equals the test errs less often than it may. Twice the median p-value over splits is cautious, and the
intervals are wider than they need be.

**Why halves.** Ten folds were tried first, with one paired test over all held-out samples. That test
called a committee of 3 better or worse in 20 % of 600 tables of equals (12 learners × 400 samples). Its
statistic varied 1.46 times as much as it should. The choices of ten folds use nearly the same samples. Among
equals, a learner is then chosen in just those folds in which it does worse. With halves it was 5.5 %, and
0.97 times.

Made by `python scripts/committees.py --worlds 200 --out docs/results/committees.md`; every figure is in
[data/committees.json](data/committees.json).
"""


def page(figures: dict[str, Any]) -> str:
    text = HEAD
    for name in TABLES:
        if name not in figures:
            continue
        found = figures[name]
        rows = "\n".join(_row(row) for row in found["ways"])
        text += (
            f"\n## {NAMES[name]}\n\n{found['answer']}\n\n"
            "| way | accuracy | 95 % CI | from the best single | p | from all voting | p |\n"
            "|---|---|---|---|---|---|---|\n"
            f"{rows}\n\n{REMARKS.get(name, '')}EPP (95 % CI): {_epp(found['epp'])}. "
            f"{found['cpu_seconds']} CPU s.\n"
        )
    text += WORLDS_HEAD
    for name in WORLDS:
        if name in figures:
            one = figures[name]
            kinds = (
                ("better", "worse", "held", "accuracy_held")
                if name.startswith("equals")
                else ("better", "worse")
            )
            shares = [_share(one[kind], one["worlds"]) for kind in kinds]
            text += f"| {name} | {one['worlds']} | {' | '.join([*shares, '–', '–'][:4])} |\n"
    return text + TAIL


def _row(row: dict[str, Any]) -> str:
    p = row["p_value"] if row["holm_p"] is None else row["holm_p"]
    single = _points(row, "difference", p)
    return (
        f"| {row['way']} | {row['accuracy']:.3f} | {row['low']:.3f} to {row['high']:.3f} | {single} "
        f"| {_points(row, 'over_all', row['over_all_p'])} |"
    )


def _points(row: dict[str, Any], name: str, p: float | None) -> str:
    if row[name] is None:
        return " | "
    value, low, high = (f"{100 * row[f'{name}{end}']:+.1f}" for end in ("", "_low", "_high"))
    return f"{value} ({low} to {high}) | {p:.2g}"


def _epp(rows: list[dict[str, Any]]) -> str:
    shown = (f"{row['player']} {row['epp']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})" for row in rows)
    return ", ".join(shown)


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %"


def keep(figures: dict[str, Any]) -> None:
    DATA.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--only", nargs="*", help="parts to make or to go on with; others are read from the data"
    )
    given = parser.parse_args()
    figures = json.loads(DATA.read_text()) if DATA.exists() else {}
    for name in (*TABLES, *WORLDS) if given.only is None else given.only:
        if name in TABLES and (given.only is not None or name not in figures):
            figures[name] = judged(name)
            keep(figures)
        while name in WORLDS:
            done = figures.get(name, {})
            figures[name] = simulated(name, given.worlds, done)
            if figures[name]["worlds"] == done.get("worlds"):
                break
            keep(figures)
    if given.out is not None:
        given.out.write_text(page(figures))


if __name__ == "__main__":
    main()
