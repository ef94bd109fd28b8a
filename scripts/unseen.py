"""Makes the figures of docs/results/unseen.md: unseen samples and learners, and which features matter.

    CAMILLA_DATA=… python scripts/unseen.py swebench|agents|metabench|all [--store FILE]

Every figure is printed with its interval. Runs are kept in the store and are not repeated.
"""

import argparse
import dataclasses
import os
import time
from pathlib import Path

import numpy as np
import polars as pl

import camilla

DATA = Path(os.environ.get("CAMILLA_DATA", "."))
AGENTS = Path(__file__).parent.parent / "tests/experiments/swebench_agents.csv"
SEEDS = (1, 21, 42, 84, 168, 336, 672, 1344, 2688, 5376)
FEW = 300  # learners, for one benchmark at a time
DRAWN = 1000  # learners of metabench, of 6,349


def swebench() -> camilla.ResponseTable:
    """500 issues, 134 agents, 15 grades of each issue."""
    table = camilla.read(
        DATA / "swebench/swebench_verified_agents.parquet", rows="samples", skills=":repo",
        features=DATA / "swebench_features/swebench_verified_features.parquet",
    )  # fmt: skip
    assert isinstance(table, camilla.ResponseTable)
    return table


def metabench(*, learners: int = DRAWN) -> camilla.ResponseTable:
    """1,075 items of six benchmarks with their prompts; learners drawn at random."""
    long = pl.read_parquet(DATA / "metabench/metabench.parquet").with_columns(
        pl.col("learner").cast(pl.String)
    )
    names = long["learner"].unique().sort().to_list()
    drawn = np.random.default_rng(0).permutation(len(names))[:learners]
    long = long.filter(pl.col("learner").is_in([names[k] for k in drawn]))
    items = pl.read_parquet(DATA / "metabench/metabench.items.parquet")
    table = camilla.ResponseTable.from_long(long, sample="item")
    return table.with_features(samples=items.rename({"item": "sample"}))


def show(experiment: str, label: str, table: camilla.ResponseTable, store: Path, **options: object) -> None:
    """Prints a summary: value, interval over units, spread over partitions, CPU seconds."""
    results = camilla.experiment(experiment, {label: table}, store=store, **options)  # type: ignore[arg-type]
    means = camilla.experiment_summary(results)
    for row in means.sort("comparison", "score", "mean", nulls_last=False).iter_rows(named=True):
        print(
            f"{experiment} {label} {row['diagnoser']:10} {row['comparison'] or 'score':6} {row['score']:9} "
            f"{row['mean']:.4f} [{row['low']:.4f}, {row['high']:.4f}]  sd {row['sd'] or 0:.4f}  "
            f"{row['seconds']:.1f} CPU s"
        )


def effects(label: str, table: camilla.ResponseTable, **options: object) -> None:
    """Prints which features matter."""
    started = time.process_time()
    found = camilla.feature_effects(table, **options)  # type: ignore[arg-type]
    seconds = time.process_time() - started
    print(f"\n{label}: {seconds:.1f} CPU s; variance explained {found.variance_explained:.3f}")
    print(found.text())


def main() -> None:
    """The parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["swebench", "agents", "metabench", "all"])
    parser.add_argument("--store", type=Path, default=Path("unseen.parquet"))
    given = parser.parse_args()
    wanted = {"swebench", "agents", "metabench"} if given.part == "all" else {given.part}
    if "swebench" in wanted:
        table = swebench()
        show("unseen-samples", "SWE-bench", table, given.store, seeds=SEEDS)
        show("unseen-tasks", "SWE-bench", table, given.store, seeds=SEEDS)
        effects("SWE-bench issues", table)
    if "agents" in wanted:
        bare = swebench()
        for label, columns in (
            ("base", ":base_model"),
            ("base+scaffold", ":base_model,scaffold"),
            ("all", ""),
        ):
            table = bare.with_features(learners=f"{AGENTS}{columns}")
            show("unseen-learners", f"agents, {label}", table, given.store, seeds=SEEDS[:3],
                 diagnosers=["ridge"], folds=10)  # fmt: skip
        show("unseen-learners", "agents, bayes", table, given.store, seeds=SEEDS[:1],
             diagnosers=["bayes:draws=200"])  # fmt: skip
        effects("agents", table, of="learners")
        effects("agents within a base model", table, of="learners", within="base_model")
    if "metabench" in wanted:
        drawn = metabench()
        show("unseen-samples", "metabench", drawn, given.store, seeds=SEEDS[:3])
        effects("metabench items", drawn)
        effects("metabench items within a benchmark", drawn, within="bench")
        few = metabench(learners=FEW)
        bench = np.array([name.split("#")[0] for name in few.samples])
        for name in np.unique(bench):
            part = few.take_samples(np.flatnonzero(bench == name))
            assert part.sample_features is not None
            prompt = part.sample_features.without(["bench"])
            effects(f"metabench, prompts of {name} alone", dataclasses.replace(part, sample_features=prompt))


if __name__ == "__main__":
    main()
