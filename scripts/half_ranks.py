"""Do possible ranks from one half of the samples hold on the other half? Real tables, split at random.

    CAMILLA_DATA=… python scripts/half_ranks.py OUT.json [--splits 100] [NAME …]

Of every table it writes the share of learners whose rank by mean response on the other half lies in their
possible ranks, how often that is so for all learners at once, the pairs told apart, how often a P(best) of
.9 was said, and how often that learner has the highest mean on the other half. The rank on the other half is
the true rank with noise of its own. docs/design/told-apart.md quotes it.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import camilla
from camilla.learners.standing import decide

DATA = Path(os.environ.get("CAMILLA_DATA", "data"))
NEARLY = 1e-9
SURE = 0.9


def esol() -> camilla.ResponseTable:
    """Regressors on molecules, scored by 1 less their error over the largest of all, 0 at least."""
    frame = pl.read_parquet(DATA / "camilla_responses" / "esol_22x1127.parquet")
    truth = frame["label"].to_numpy()
    names = [name for name in frame.columns if name not in ("id", "label")]
    error = np.abs(frame.select(names).to_numpy() - truth[:, None]).T
    return camilla.ResponseTable.from_matrix(1 - error / error.max(), learners=names)


TABLES = {
    "digits": camilla.digits,
    "esol": esol,
    "cifar100": lambda: camilla.read(
        DATA / "camilla_responses" / "cifar100_test_42x10000.parquet", rows="samples"
    ),
    "math500": lambda: camilla.read(DATA / "math500" / "math500.parquet"),
}


def best_first(matrix: Any) -> Any:
    return np.argsort(-matrix.mean(axis=1).round(12), kind="stable")


def held(matrix: Any, n_splits: int) -> dict[str, Any]:
    """Shares over splits, of responses [learners, samples] without gaps."""
    rng = np.random.default_rng(0)
    m = matrix.shape[1]
    inside, together, apart, right = [], [], [], []
    for _ in range(n_splits):
        order = rng.permutation(m)
        one, other = matrix[:, order[: m // 2]], matrix[:, order[m // 2 :]].mean(axis=1)
        rows = best_first(one)
        found = decide(one[rows], [f"s{k}" for k in order[: m // 2]])
        mean = other[rows]
        first = 1 + (mean[None, :] > mean[:, None] + NEARLY).sum(axis=1)
        last = len(mean) - (mean[None, :] < mean[:, None] - NEARLY).sum(axis=1)
        ok = (first <= found.standing.rank_high) & (found.standing.rank_low <= last)
        inside.append(ok.mean())
        together.append(ok.all())
        apart.append((found.adjusted[np.triu_indices(len(mean), 1)] < 0.05).mean())
        best = int(found.standing.p_best.argmax())
        if found.standing.p_best[best] >= SURE:
            right.append(first[best] == 1)
    return {
        "learners": len(matrix), "samples": m // 2, "held": float(np.mean(inside)),
        "held_together": float(np.mean(together)), "told_apart": float(np.mean(apart)),
        "sure_of_best": len(right) / n_splits, "sure_and_right": float(np.mean(right)) if right else None,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--splits", type=int, default=100)
    asked = parser.parse_intermixed_args()
    found = {}
    for name, read in TABLES.items():
        if asked.names and name not in asked.names:
            continue
        matrix = read().matrix()
        found[name] = held(matrix[~np.isnan(matrix).any(axis=1)], asked.splits)
        print(f"{name}: {found[name]}", flush=True)
    asked.out.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
