"""Coverage of EPP intervals in simulated tournaments, and the page that reports it.

A world: strengths b ~ N(0, 1), scores b_i + standard Gumbel noise, so that P(i beats j) = σ(b_i − b_j)
exactly (Luce, 1959) while all matches of a round share the same n scores. Coverage is the share of
pairs, over all worlds, whose interval for the difference holds b_i − b_j.

    python scripts/epp_coverage.py --worlds 300 --out docs/results/epp-coverage.md
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from camilla.errors import DataError
from camilla.ranking.epp import epp
from camilla.statistics.wald import differences
from camilla.table.tournament import Tournament

SIZES = ((10, 20), (10, 100), (50, 20), (50, 100))
WAYS: dict[str, dict[str, object]] = {
    "round-cluster": {"se": "cluster"},
    "round bootstrap": {"se": "bootstrap", "replicates": 200},
    "round-cluster, all rounds": {"se": "cluster", "matches": "all_rounds"},
    "Fisher": {"se": "fisher"},
    "EloML": {"compat": "eloml-glm"},
}


OWN, RANKS = "own EPP", "ranks"


class Coverage(NamedTuple):
    """Share of covered differences by way, its Monte-Carlo error, and worlds with separated players."""

    share: dict[str, float]
    error: dict[str, float]
    n_separated: int


def tournament_of(scores: np.ndarray) -> Tournament:
    n, n_rounds = scores.shape
    return Tournament(tuple(f"p{i:03d}" for i in range(n)), tuple(f"r{k}" for k in range(n_rounds)), scores)


def covered(scores: np.ndarray, truth: np.ndarray, settings: dict[str, object]) -> dict[str, float]:
    """The share of this world's pairs, EPPs and ranks whose interval holds the truth."""
    board = epp(tournament_of(scores), **settings)
    b = truth[[int(name[1:]) for name in board.players]]
    estimate, se = differences(board.epp, board.covariance)
    upper = np.triu_indices(len(b), 1)
    missed = np.abs(estimate - (b[:, None] - b[None, :]))[upper]
    rank = 1 + (b[None, :] > b[:, None]).sum(axis=1)
    ranks = board.rank_intervals
    return {
        "pairs": float(np.mean(missed <= board.critical * se[upper])),
        OWN: float(np.mean(np.abs(board.epp - (b - b.mean())) <= board.critical * board.se)),
        RANKS: float(np.mean((ranks.low <= rank) & (rank <= ranks.high))),
    }


def is_separated(scores: np.ndarray) -> bool:
    try:
        epp(tournament_of(scores), prior=0, se="fisher")
    except DataError:
        return True
    return False


def coverage(n: int, n_rounds: int, worlds: int, seed: int, ways: dict[str, dict[str, object]]) -> Coverage:
    shares: dict[str, list[float]] = {way: [] for way in (*ways, OWN, RANKS)}
    n_separated = 0
    for world in range(worlds):
        rng = np.random.default_rng([seed, n, n_rounds, world])
        truth = rng.normal(size=n)
        scores = truth[:, None] + rng.gumbel(size=(n, n_rounds))
        n_separated += is_separated(scores)
        for way, settings in ways.items():
            share = covered(scores, truth, settings)
            shares[way].append(share["pairs"])
            if way == "round-cluster":
                shares[OWN].append(share[OWN])
                shares[RANKS].append(share[RANKS])
    mean = {way: float(np.mean(values)) for way, values in shares.items()}
    error = {way: float(np.std(values, ddof=1) / np.sqrt(worlds)) for way, values in shares.items()}
    return Coverage(mean, error, n_separated)


PAGE = """# Coverage of EPP intervals

Nominal 95 % intervals for pairwise differences of EPP, {worlds} simulated tournaments per row; ± is the
Monte-Carlo standard error. A world draws strengths from N(0, 1) and scores as strength plus Gumbel noise, so
the model is exactly true and every miss is due to the interval. Matches of one round share the same scores.
Intervals that count matches as independent are too narrow, the more so the more players there are.

{pairs}

Round-cluster and bootstrap standard errors are read with Student's t on R − 1 degrees of freedom
([why](../design/epp-intervals.md)). EloML is `compat="eloml-glm"`, which reproduces the R package to
1e-8 and counts every match twice on top.

The same worlds, round-cluster: intervals of a player's own EPP, and rank intervals. Rank intervals are valid
simultaneously over a player's opponents, so they may cover more than 95 %. These are the wider intervals by
Holm's adjustment, which leaderboards with more than 1,000 players still have; the intervals of smaller
leaderboards, and joint intervals, are [measured here](../design/epp-intervals.md).

{own}

Made by `python scripts/epp_coverage.py --worlds {worlds} --seed {seed}
--out docs/results/epp-coverage.md`.
"""


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(found: dict[tuple[int, int], Coverage], worlds: int, seed: int) -> str:
    def shares(one: Coverage, ways: list[str]) -> list[str]:
        return [f"{one.share[way]:.3f} ± {one.error[way]:.3f}" for way in ways]

    pairs = [[f"{n}, {r}", *shares(one, list(WAYS)), str(one.n_separated)] for (n, r), one in found.items()]
    own = [[f"{n}, {r}", *shares(one, [OWN, RANKS])] for (n, r), one in found.items()]
    return PAGE.format(
        worlds=worlds,
        seed=seed,
        pairs=table(["players, rounds", *WAYS, "worlds with separated players"], pairs),
        own=table(["players, rounds", "own EPP", "rank"], own),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("/dev/stdout"))
    asked = parser.parse_args()
    found = {}
    for n, n_rounds in SIZES:
        began = time.process_time()
        found[n, n_rounds] = coverage(n, n_rounds, asked.worlds, asked.seed, WAYS)
        print(n, n_rounds, found[n, n_rounds], f"{time.process_time() - began:.0f} CPU s", flush=True)
    text = page(found, asked.worlds, asked.seed)
    asked.out.write_text(text)


if __name__ == "__main__":
    main()
