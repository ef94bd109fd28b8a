"""Measures one fit a family on all 53,940 diamonds into build/pools/diamond-cost.parquet.

Run with CAMILLA_DATA set to the folder of real data sets. In each family the learner of median guessed
cost is fitted on four fifths and meets the last; `scripts/pools.py` extrapolates what the pool would take.
"""

import os
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from camilla.pools.diamond import diamond_pool
from camilla.pools.fitting import fit_learner
from camilla.pools.running import prepare, works
from camilla.table.files import write_frame

STORE = Path("build/pools/diamond-cost.parquet")


def main() -> None:
    pool = diamond_pool(Path(os.environ["CAMILLA_DATA"]) / "diamonds", full=True)
    done = pl.read_parquet(STORE).to_dicts() if STORE.exists() else []
    families: dict[str, list[msgspec.Struct]] = {}
    for work in works(pool, prepare(pool)):
        families.setdefault(work.learner.family, []).append(work)
    for family, members in families.items():
        if family in {row["family"] for row in done}:
            continue
        members.sort(key=lambda work: work.learner.cost)
        median = members[(len(members) - 1) // 2]
        outcome = fit_learner(msgspec.structs.replace(median, parts=median.parts[:1]))
        mae = float(np.nanmean(np.abs(outcome.values - median.target)))
        seconds = outcome.fits[0].seconds
        done.append({"family": family, "learner": median.learner.name, "seconds": seconds, "mae": mae})
        print(done[-1], flush=True)
        write_frame(pl.DataFrame(done), STORE)


if __name__ == "__main__":
    main()
