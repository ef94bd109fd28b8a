"""From Parquet files to a diagnosis, in shards

Tables of a 2PL world with 30 % of the cells missing, written as Parquet with one row per response. `shards`
reads them twice, for names and for responses; `fit` starts from the shards and ends at the mode (the
largest move of an ability below 10⁻⁶); `diagnose` is everything from the files to the frames. One thread.
Bytes are peak memory above that of the smallest table, for each response; shards are mapped files and count
where they were touched last.
"""

import tempfile
from pathlib import Path

from jobs import Row, measured, phase, print_table, seconds, serve

SHAPES = {"10⁵": (200, 700), "10⁶": (500, 2_900), "10⁷": (1_000, 14_300), "10⁸": (4_000, 35_700)}
SETTINGS = {"irt": "irt:precision=1", "mirt, 8 dimensions": "mirt:dimensions=8:precision=3"}


def simulate(folder: str, n_learners: str, n_samples: str) -> Row:
    """Job: right or wrong with chance σ(a θ + c), 30 % missing."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    n, m = int(n_learners), int(n_samples)
    ability = rng.normal(size=n).astype(np.float32)
    names = pl.Series([f"learner-{i:05}" for i in range(n)])
    step = max(1, 5_000_000 // n)
    for number, start in enumerate(range(0, m, step)):
        rows = min(step, m - start)
        logit = rng.normal(1, 0.4, (rows, 1)).astype(np.float32) * ability
        logit += rng.normal(size=(rows, 1)).astype(np.float32)
        right = rng.random(logit.shape, dtype=np.float32) < 1 / (1 + np.exp(-logit))
        sample, learner = np.nonzero(rng.random(logit.shape, dtype=np.float32) >= 0.3)
        samples = pl.Series([f"sample-{start + j:06}" for j in range(rows)])
        columns = {"learner": names[learner.astype(np.uint32)], "sample": samples[sample.astype(np.uint32)]}
        frame = pl.DataFrame(columns | {"response": right[sample, learner].astype(np.uint8)})
        frame.write_parquet(Path(folder, f"part-{number:03}.parquet"))
    return {}


def shards(folder: str) -> Row:
    """Job: files to shards."""
    from camilla.table.shards import LongColumns, make_shards, table_files

    with phase("cost"):
        found = make_shards(
            table_files(Path(folder)), Path(f"{folder}.shards"), LongColumns(), lambda line: None
        )
    return {"responses": found.n_responses, "bytes": found.bytes}


def fit(folder: str, name: str) -> Row:
    """Job: shards to parameters."""
    from typing import Any

    from camilla.diagnosing_large import start_of_shards
    from camilla.fitting.alternating import fit_by_turns
    from camilla.fitting.layout import Size
    from camilla.fitting.shards import ShardLayout, Threads
    from camilla.models.irt import IRT
    from camilla.models.mirt import MIRT
    from camilla.table.shards import open_shards

    found = open_shards(Path(f"{folder}.shards"))
    assert found is not None
    size = Size(len(found.learners), len(found.samples))
    model: Any = IRT(size, precision=1.0) if name == "irt" else MIRT(size, dimensions=8, precision=3.0)
    problem = model.problem()
    with phase("cost"):
        start = start_of_shards(ShardLayout(found.shards), problem.free.shape[1], 0)
        reached = fit_by_turns(problem, Threads(found.shards, 1), start, lambda line: None)
    return {"sweeps": reached.sweeps}


def diagnose(folder: str, text: str) -> Row:
    """Job: files to a diagnosis."""
    from camilla.diagnosing_large import diagnose_large

    with phase("cost"):
        diagnose_large(folder, text, shards=f"{folder}.other", device="cpu", watch=lambda line: None)
    return {}


def main() -> list[Row]:
    rows: list[Row] = []
    base: dict[str, float] = {}
    for size, (n_learners, n_samples) in SHAPES.items():
        with tempfile.TemporaryDirectory() as above:
            folder = Path(above, "runs")
            folder.mkdir()
            measured(__file__, "simulate", folder, n_learners, n_samples)
            made = measured(__file__, "shards", folder)
            responses = made.found["responses"]
            for name, text in SETTINGS.items():
                fitted = measured(__file__, "fit", folder, name)
                whole = measured(__file__, "diagnose", folder, text)
                first = base.setdefault(name, fitted.peak_mb), base.setdefault(text, whole.peak_mb)
                cost, sweeps = fitted.phases["cost"], fitted.found["sweeps"]
                per = 2**20 / responses
                rows.append(
                    {
                        "responses": size,
                        "learners × samples": f"{n_learners:,} × {n_samples:,}",
                        "diagnoser": name,
                        "shards, CPU s": seconds(made.phases["cost"]),
                        "sweeps": sweeps,
                        "fit, CPU s": seconds(cost),
                        "fit, ns per response and sweep": f"{cost / sweeps / responses * 1e9:.1f}",
                        "fit, bytes per response": f"{(fitted.peak_mb - first[0]) * per:.1f}",
                        "diagnose, CPU s": seconds(whole.phases["cost"]),
                        "diagnose, bytes per response": f"{(whole.peak_mb - first[1]) * per:.1f}",
                    }
                )
    print_table("From Parquet files to a diagnosis, in shards", rows)
    return rows


if __name__ == "__main__":
    serve((simulate, shards, fit, diagnose), main)
