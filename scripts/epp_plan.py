"""Does `camilla epp --plan` keep its promise? Power of the planned design, and pilots' ranges.

A world: strengths N(0, 1) of ten players, two of which differ by d, scores with Gumbel noise as in
scripts/epp_designs.py. The right number of rounds is the plan of a pilot of 2,000 rounds or tasks; its power
is the share of tournaments of that size whose test of the pair has p < .05. Pilots of ten rounds give ranges.

    python scripts/epp_plan.py --worlds 400
"""

import argparse

import numpy as np

from camilla.ranking.epp import epp
from camilla.ranking.plan import plan
from camilla.table.tournament import Tournament
from epp_designs import positive_stable

NAMES = tuple("abcdefghij")
ALPHA = 0.7


def tournament(truth: np.ndarray, n_units: int, folds: int, rng: np.random.Generator) -> Tournament:
    """Rounds, or tasks with folds."""
    n = len(truth)
    task = np.repeat(np.arange(n_units), folds)
    noise = rng.gumbel(size=(n, len(task)))
    if folds > 1:
        noise = ALPHA * (noise + np.log(positive_stable(ALPHA, (n, n_units), rng))[:, task])
    clusters = tuple(map(str, task)) if folds > 1 else None
    rounds = tuple(f"r{k}" for k in range(len(task)))
    return Tournament(NAMES[:n], rounds, truth[:, None] + noise, clusters=clusters)


def strengths(difference: float) -> np.ndarray:
    truth = np.random.default_rng(5).normal(size=len(NAMES))
    truth[0], truth[1] = difference / 2, -difference / 2
    return truth


def power(truth: np.ndarray, n_units: int, folds: int, worlds: int, seed: int) -> float:
    """Share of tournaments that tell a and b apart."""
    found = []
    for k in range(worlds):
        board = epp(tournament(truth, n_units, folds, np.random.default_rng([seed, n_units, folds, k])))
        i, j = board.place("a"), board.place("b")
        found.append(board._wald_p[i, j] < 0.05)
    return float(np.mean(found))


def pilots(truth: np.ndarray, difference: float, size: int, worlds: int, seed: int) -> np.ndarray:
    """Low and high end of the pair's plan from each pilot [pilots, 2]."""
    ends = []
    for k in range(worlds):
        made = tournament(truth, size, 1, np.random.default_rng([seed, k]))
        found = plan(epp(made), made, difference, pair=("a", "b"))
        ends.append((found.low, found.high))
    return np.array(ends, float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for difference, folds in ((0.5, 1), (0.8, 1), (0.8, 5)):
        truth = strengths(difference)
        made = tournament(truth, 2000, folds, np.random.default_rng(asked.seed))
        right = plan(epp(made), made, difference, pair=("a", "b"))
        share = power(truth, right.needed or 0, folds, asked.worlds, asked.seed)
        print(
            f"d {difference}, {folds} fold(s): {right.needed} {right.units}, promised .80, "
            f"simulated {share:.3f} ({asked.worlds} worlds); by folds {right.by_folds}",
            flush=True,
        )
        if folds == 1:
            low, high = pilots(truth, difference, 10, asked.worlds, asked.seed).T
            held = np.mean((low <= right.needed) & (right.needed <= high))
            print(f"  pilots of 10: range holds {right.needed} in {held:.2f} of {asked.worlds}, "
                  f"median range {np.median(low):.0f} to {np.median(high):.0f}")  # fmt: skip


if __name__ == "__main__":
    main()
