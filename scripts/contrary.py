"""How contrary samples fare on real and simulated tables: the figures of docs/design/contrary.md.

CAMILLA_DATA=… python scripts/contrary.py
"""

import numpy as np
import polars as pl

import camilla
from camilla.samples.items import SampleQuality
from logs_tables import data_file

MODELS, FAMILIES, SAMPLES, WRONG = 80, 8, 600, 18


def wide(name: str, **options: str) -> camilla.ResponseTable:
    return camilla.read(data_file(name), rows="samples", **options)


def legalbench() -> camilla.ResponseTable:
    frame = pl.read_parquet(data_file("helm_lite/helm_lite_items_x_30models.parquet"))
    part = frame.filter(pl.col("scenario").str.contains("international_citizenship"))
    return camilla.ResponseTable.from_matrix(part.drop("scenario", "item").to_numpy().T)


TABLES = {
    "titanic": lambda: wide("camilla_responses/titanic_353x418.parquet"),
    "swebench": lambda: wide("swebench/swebench_verified_agents.parquet", ignore="repo"),
    "math500": lambda: camilla.read(data_file("math500/math500.parquet")),
    "chembench": lambda: wide("unseen/chembench.parquet", ignore="difficulty_by_authors"),
    "legalbench": legalbench,
}


def flagged(found: SampleQuality, flag: str) -> set[str]:
    return set(found.samples.filter(pl.col("flags").str.contains(flag))["sample"])


def votes() -> None:
    """Errors by the votes of five people among the first, and after a hundred verdicts among the next."""
    frame = pl.read_parquet(data_file("cifar100_labels/test_label_votes.parquet"))
    error = {str(index + 1): given < 3 for index, given in frame.select("index", "given").rows()}
    skills = f"{data_file('cifar100_labels/test_labels.parquet')}:fine_class,coarse_label"
    table = wide("camilla_responses/cifar100_test_42x10000.parquet", skills=skills)
    found = camilla.items(table)
    listed = found.samples["sample"].to_list()
    for n in (50, 100):
        seen = [error[name] for name in listed[:n] if name in error]
        print(f"CIFAR-100: {sum(seen)} errors of {len(seen)} judged among the first {n}")
    print(f"{len(flagged(found, 'contrary'))} contrary")
    first = [name for name in listed if name in error][:100]
    after = camilla.items(table, judged={name: error[name] for name in first})
    rest = [name for name in after.samples["sample"] if name in error and name not in first][:50]
    print(f"next 50: {np.mean([error[name] for name in rest]):.2f}", after.provenance["verdicts"])


def inverted(table: camilla.ResponseTable, seed: int) -> float:
    """Share of inverted samples among as many at the top, a twentieth inverted."""
    matrix, rng = table.matrix(), np.random.default_rng(100 + seed)
    wrong = rng.permutation(table.n_samples)[: round(0.05 * table.n_samples)]
    matrix[:, wrong] = 1 - matrix[:, wrong]
    spoiled = camilla.ResponseTable.from_matrix(matrix, learners=table.learners, samples=table.samples)
    first = camilla.items(spoiled).samples["sample"][: len(wrong)]
    return len({table.samples[j] for j in wrong} & set(first)) / len(wrong)


def families(sd: float, wrong: int, seed: int) -> tuple[float, int, int, int]:
    """Independent learners, flags, true flags, and wrong keys among the first, with effects of families."""
    rng = np.random.default_rng(seed)
    family = rng.integers(0, FAMILIES, MODELS)
    ability = 0.7 * rng.normal(size=MODELS) + 0.7 * rng.normal(size=FAMILIES)[family]
    a, b = rng.lognormal(0.2, 0.3, SAMPLES), rng.normal(-0.3, 1, SAMPLES)
    logit = a * (ability[:, None] - b) + sd * rng.normal(size=(FAMILIES, SAMPLES))[family]
    knows = rng.random(logit.shape) < 1 / (1 + np.exp(-logit))
    x = knows.astype(float)
    x[:, :wrong] = ~knows[:, :wrong] & (rng.random((MODELS, wrong)) < 0.5)
    found = camilla.items(camilla.ResponseTable.from_matrix(x))
    planted, flags = {f"sample-{j:03d}" for j in range(wrong)}, flagged(found, "contrary")
    top = len(planted & set(found.samples["sample"][:wrong]))
    return found.provenance["n_independent"], len(flags), len(flags & planted), top


def main() -> None:
    for name, make in TABLES.items():
        found = camilla.items(table := make())
        counts = {flag: len(flagged(found, flag)) for flag in ("contrary", "negative")}
        print(name, f"{found.provenance['n_independent']:.1f} independent of {table.n_learners}", counts)
        if name in ("swebench", "math500", "chembench"):
            ordered = table.canonical().table
            print("  inverted:", f"{np.mean([inverted(ordered, seed) for seed in range(5)]):.3f}")
    votes()
    for sd in (0.0, 0.7, 1.5, 2.5):
        for wrong in (0, WRONG):
            print(sd, wrong, np.mean([families(sd, wrong, seed) for seed in range(4)], axis=0).round(2))


if __name__ == "__main__":
    main()
