"""Coverage and width of rank intervals of EPP, with and without ties.

A world: strengths, and scores strength + standard Gumbel noise. Without ties strengths are N(0, 1); with ties
they are six values of N(0, 1), each shared by a block of players; three tiers are 1.2 apart. The rank of a
tied player is every rank its block allows, and an interval covers it only if it holds all of them. `joint`
are the joint intervals of a leaderboard: the wider of the largest of all pairs and Holm.

    python scripts/epp_ranks.py --worlds 200
"""

import argparse
import time
from typing import NamedTuple

import numpy as np

from camilla.ranking.epp import epp
from camilla.statistics.ranks import sure_ranks
from camilla.statistics.wald import rank_intervals
from camilla.table.tournament import Tournament

BLOCKS = 6


class Found(NamedTuple):
    covered: float  # share of players
    whole: float  # 1 where all players of the world are covered
    width: float  # mean number of ranks in an interval


def strengths(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "all equal":
        return np.zeros(n)
    if kind == "tied in blocks":
        return np.repeat(rng.normal(size=BLOCKS), n // BLOCKS)
    if kind == "three tiers":
        return np.repeat([0.0, 1.2, 2.4], -(-n // 3))[:n]
    return rng.normal(size=n)


def one_world(kind: str, n: int, rounds: int, rng: np.random.Generator) -> dict[str, Found]:
    truth = strengths(kind, n, rng)
    scores = truth[:, None] + rng.gumbel(size=(n, rounds))
    names = tuple(f"{i:04d}" for i in range(n))
    tournament = Tournament(names, tuple(f"r{k}" for k in range(rounds)), scores)
    board = epp(tournament, prior=None)
    if board.spread is None or board.spread.samples is None:
        return {}
    b = truth[[int(name) for name in board.players]]
    first = 1 + (b[None, :] > b[:, None]).sum(axis=1)
    last = n - (b[None, :] < b[:, None]).sum(axis=1)
    parts = board.epp, board.spread.samples
    ways = {
        "Holm": rank_intervals(board.epp, board._wald_p, 0.95),
        "own max-t": sure_ranks(*parts, board.rounds_df, 0.95, joint=False),
        "joint max-t": sure_ranks(*parts, board.rounds_df, 0.95, joint=True),
        "joint": epp(tournament, prior=None, ranks="joint").rank_intervals,
        "likely": board.likely_ranks,
    }
    found = {}
    for way, (low, high) in ways.items():
        held = (low <= first) & (last <= high)
        found[way] = Found(float(held.mean()), float(held.all()), float((high - low + 1).mean()))
    return found


def coverage(kind: str, n: int, rounds: int, worlds: int, seed: int) -> dict[str, Found]:
    """Means over worlds without separated players."""
    found = [one_world(kind, n, rounds, np.random.default_rng([seed, n, rounds, k])) for k in range(worlds)]
    kept = [one for one in found if one]
    return {way: Found(*np.mean([one[way] for one in kept], axis=0)) for way in kept[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--players", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--kinds", nargs="+", default=["no ties", "tied in blocks", "all equal"])
    asked = parser.parse_args()
    for kind in asked.kinds:
        began = time.process_time()
        found = coverage(kind, asked.players, asked.rounds, asked.worlds, asked.seed)
        print(f"{kind}: {asked.players} × {asked.rounds}, {asked.worlds} worlds, "
              f"{time.process_time() - began:.0f} CPU s")  # fmt: skip
        for way, one in found.items():
            print(
                f"  {way:>12}: players {one.covered:.3f}, whole boards {one.whole:.3f}, width {one.width:.2f}"
            )


if __name__ == "__main__":
    main()
