"""Coverage of EPP intervals where rounds come in clusters, as the folds of tasks do.

A world: strengths b ~ N(0, 1). The score of player i in fold r of task t is b_i + α(G_ir + log S_it), with
standard Gumbel G for each fold and positive stable S of index α for each task. α(G + log S) is standard
Gumbel again (Hougaard, 1986), so P(i beats j) = σ(b_i − b_j) in every fold, while the folds of a task
share a part 1 − α² of their variance. Coverage is the share of pairs whose interval holds b_i − b_j.

    python scripts/epp_designs.py --worlds 300
"""

import argparse
import time
from typing import NamedTuple

import numpy as np

from camilla.ranking.epp import epp
from camilla.statistics.wald import differences
from camilla.table.tournament import Tournament

PLAYERS = 30
ALPHA = 0.7  # half of the variance lies between tasks
DESIGNS = {
    "5 × 5": (5,) * 5,
    "10 × 5": (5,) * 10,
    "20 × 5": (5,) * 20,
    "39 × 10": (10,) * 39,
    "1, 2, 4, 8, 10": (1, 2, 4, 8, 10),
}


def positive_stable(alpha: float, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Kanter's (1975) draw: E exp(−sS) = exp(−s^α)."""
    u, e = rng.uniform(0, np.pi, size), rng.exponential(size=size)
    return (
        np.sin(alpha * u) / np.sin(u) ** (1 / alpha) * (np.sin((1 - alpha) * u) / e) ** ((1 - alpha) / alpha)
    )


class World(NamedTuple):
    truth: np.ndarray  # [players]
    tournament: Tournament


def world(folds: tuple[int, ...], rng: np.random.Generator, n: int = PLAYERS, alpha: float = ALPHA) -> World:
    """Scores of n players on tasks with these numbers of folds."""
    truth = rng.normal(size=n)
    task = np.repeat(np.arange(len(folds)), folds)
    shared = np.log(positive_stable(alpha, (n, len(folds)), rng))
    scores = truth[:, None] + alpha * (rng.gumbel(size=(n, len(task))) + shared[:, task])
    rounds = tuple(f"round {k}" for k in range(len(task)))
    clusters = tuple(f"task {t}" for t in task)
    return World(truth, Tournament(tuple(f"{i:03d}" for i in range(n)), rounds, scores, clusters=clusters))


class Covered(NamedTuple):
    share: float  # of pairs
    length: float  # of their intervals, mean


def covered(made: World, tournament: Tournament) -> Covered:
    board = epp(tournament)
    b = made.truth[[int(name) for name in board.players]]
    estimate, se = differences(board.epp, board.covariance)
    upper = np.triu_indices(len(b), 1)
    reach = board.critical * se[upper]
    missed = np.abs(estimate - (b[:, None] - b[None, :]))[upper]
    return Covered(float(np.mean(missed <= reach)), float(np.mean(2 * reach)))


def coverage(folds: tuple[int, ...], worlds: int, seed: int) -> tuple[Covered, Covered, float]:
    """With clusters, with rounds as if independent, and the Monte-Carlo error of the first."""
    found = []
    for k in range(worlds):
        made = world(folds, np.random.default_rng([seed, *folds, k]))
        plain = Tournament(made.tournament.players, made.tournament.rounds, made.tournament.scores)
        found.append((covered(made, made.tournament), covered(made, plain)))
    clustered, pooled = (Covered(*np.mean([pair[k] for pair in found], axis=0)) for k in (0, 1))
    error = np.std([pair[0].share for pair in found], ddof=1) / np.sqrt(worlds)
    return clustered, pooled, float(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(f"{PLAYERS} players, {asked.worlds} worlds per design, nominal coverage .95")
    for name, folds in DESIGNS.items():
        began = time.process_time()
        clustered, pooled, error = coverage(folds, asked.worlds, asked.seed)
        print(
            f"{name:>15}: clusters {clustered.share:.3f} ± {error:.3f} (length {clustered.length:.2f}), "
            f"rounds as independent {pooled.share:.3f} (length {pooled.length:.2f}); "
            f"{time.process_time() - began:.0f} CPU s",
            flush=True,
        )


if __name__ == "__main__":
    main()
