"""Writes docs/results/pools.md from the folders of build/pools.

They are made by `camilla pool classifiers|titanic|diamond|esol … -o build/pools/…`, further seeds of the
Titanic pool by `--seed 1 -o build/pools/titanic-1` and so on, the cost of all diamonds by
`scripts/diamond_cost.py`.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

POOLS = Path("build/pools")
PAGE = Path("docs/results/pools.md")
STILL = "decision_tree, settings that still exist"
TITANIC = {  # Liu et al. (2024), Table 3: accuracy mean and standard deviation
    "logistic_regression": (0.769, 0.002), "decision_tree": (0.741, 0.021), "svc": (0.730, 0.059),
    "linear_svc": (0.766, 0.0), "k_nearest_neighbors": (0.752, 0.008), "random_forest": (0.779, 0.007),
    "gaussian_naive_bayes": (0.751, 0.0), "perceptron": (0.689, 0.04),
    "stochastic_gradient_descent": (0.710, 0.066),
    STILL: (0.735, 0.023),  # the eight columns of the released log without max_features=auto
}  # fmt: skip
DIAMOND = {  # Liu et al. (2024), Table 6: MAE mean and standard deviation, 53,940 diamonds
    "support_vector": (413.8, 70.5), "ridge": (743.9, 0.0), "decision_tree": (358.7, 8.1),
    "lightgbm": (346.8, 70.2), "random_forest": (702.8, 129.2), "k_neighbors": (375.2, 5.6),
    "gradient_boosting": (394.1, 33.3),
    "xgboost": (373.9, 84.7), "adaboost": (881.5, 56.3), "mlp": (351.1, 25.9), "catboost": (387.4, 129.1),
}  # fmt: skip
ESOL = {  # Liu et al. (2024), Table 5: MAE, RMSE
    "LR": (1.216, 1.565), "RF": (0.959, 1.295), "KRN": (1.156, 1.547), "GBR": (1.029, 1.359),
    "ETR": (1.280, 1.785), "Ridge": (1.187, 1.531), "cb": (0.887, 1.196), "Ada": (1.349, 1.682),
}  # fmt: skip


def document(name: str) -> dict[str, Any]:
    return json.loads((POOLS / name / "pool.json").read_text(encoding="utf-8"))


def table(head: str, rows: list[str]) -> list[str]:
    return [head, "|" + "|".join("---" for _ in range(head.count("|") - 1)) + "|", *rows, ""]


def footing(name: str) -> str:
    """Where the figures of a pool come from."""
    about = document(name)
    packages = ", ".join(f"{package} {version}" for package, version in about["versions"].items())
    run = about["last_run"]
    asked = about["learners"] * len(about["data"])
    return (
        f"{about['learners']} learners, {about['fits']} fits, {about['cpu_seconds']:.0f} CPU seconds in all; "
        f"{about['fits_with_warnings']} fits warned, {len(about['failed'])} failed, "
        f"{len(about['duplicates'])} learners are duplicates. "
        f"Last run: {run['outcomes_computed']} of {asked} outcomes computed in {run['wall_seconds']:.0f} s. "
        f"Seed {about['seed']}; {packages}."
    )


def classifiers() -> list[str]:
    about = document("classifiers")
    fits = pl.read_parquet(POOLS / "classifiers/fits.parquet")
    scores = pl.read_parquet(POOLS / "classifiers/scores.parquet")
    families = dict(
        pl.read_parquet(POOLS / "classifiers/learners.parquet").select("learner", "family").iter_rows()
    )
    kind = about["validation"]
    how = f"{kind['number']} folds" if kind["kind"] == "folds" else f"{100 * kind['share']:.0f} % held out"
    lines = [
        "## Score-based classifiers (Breskanu and Maisuradze)",
        "",
        f"Scores: {how}. {footing('classifiers')}",
        "",
    ]
    rows = []
    for (family,), part in fits.group_by("family", maintain_order=True):
        members = [name for name, group in families.items() if group == family]
        copies = sum(name in about["duplicates"] for name in members)
        aucs = [auc(scores, name) for name in members if name in scores.columns]
        rows.append(
            f"| {family} | {len(members)} | {part.height} | {part['error'].is_not_null().sum()} "
            f"| {(part['warnings'].list.len() > 0).sum()} | {copies} | {part['seconds'].sum():.1f} "
            f"| {np.mean(aucs):.3f} | {np.std(aucs):.3f} |"
        )
    head = "| family | learners | fits | failed | warned | duplicates | CPU s | mean AUC | sd of learners |"
    lines += table(head, rows)
    rows = [
        f"| {one['data_set']} | {one['samples']} | {one['incomplete_rows_left_out']} | {one['features']} "
        f"| {one['classes'][1]} | {share(scores, one['data_set']):.3f} | {seconds:.1f} |"
        for one, seconds in zip(about["data"], by_data_set(fits, about), strict=True)
    ]
    return lines + table(
        "| data set | complete rows | left out | features, one-hot | positive | its share | CPU s |", rows
    )


def share(scores: pl.DataFrame, name: str) -> float:
    return scores.filter(pl.col("data_set") == name)["truth"].mean()  # type: ignore[return-value]


def by_data_set(fits: pl.DataFrame, about: dict[str, Any]) -> list[float]:
    taken = dict(fits.group_by("data_set").agg(pl.col("seconds").sum()).iter_rows())
    return [taken[one["data_set"]] for one in about["data"]]


def auc(scores: pl.DataFrame, name: str) -> float:
    """Mean over data sets; Mann–Whitney."""
    values = []
    for _, part in scores.select("data_set", "truth", name).drop_nulls().group_by("data_set"):
        rank, truth = part[name].rank().to_numpy(), part["truth"].to_numpy() == 1
        n = truth.sum()
        values.append((rank[truth].sum() - n * (n + 1) / 2) / (n * (len(truth) - n)))
    return float(np.mean(values))


def accuracies(folder: Path) -> dict[str, list[float]]:
    frame = pl.read_parquet(folder / "predictions.parquet")
    out: dict[str, list[float]] = {}
    for name, family in pl.read_parquet(folder / "learners.parquet").select("learner", "family").iter_rows():
        accuracy = (frame[name] == frame["truth"]).mean()
        out.setdefault(family, []).append(accuracy)  # type: ignore[arg-type]
        if family == "decision_tree" and not name.endswith("auto"):
            out.setdefault(STILL, []).append(accuracy)  # type: ignore[arg-type]
    return out


def titanic() -> list[str]:
    first = accuracies(POOLS / "titanic")
    seeds = [accuracies(folder) for folder in sorted(POOLS.glob("titanic*"))]
    rows = []
    for family, (theirs, their_sd) in TITANIC.items():
        means = [np.mean(one[family]) for one in seeds if family in one]
        ours = np.mean(first[family])
        rows.append(
            f"| {family} | {len(first[family])} | {ours:.3f} | {np.std(first[family]):.3f} | {theirs:.3f} "
            f"| {their_sd:.3f} | {ours - theirs:+.3f} | {len(means)} | {np.mean(means):.3f} "
            f"| {min(means):.3f}–{max(means):.3f} |"
        )
    return [
        "## Titanic (Liu et al., 2024, Table 3)", "", f"418 passengers. {footing('titanic')}",
        "The last columns are family means over seeds: most of the paper's learners had none fixed.", "",
        *table("| family | n | accuracy, ours | sd | paper | sd | difference | seeds | mean | range |", rows),
        *(f"* {note}" for note in document("titanic")["notes"]), "",
    ]  # fmt: skip


class Prices(NamedTuple):
    """A pool on diamonds: absolute errors of the learners and CPU seconds, by family."""

    n_stones: int
    maes: dict[str, list[float]]
    seconds: dict[str, float]


def prices(name: str) -> Prices:
    frame = pl.read_parquet(POOLS / name / "predictions.parquet")
    maes: dict[str, list[float]] = {}
    learners = pl.read_parquet(POOLS / name / "learners.parquet").select("learner", "family")
    for learner, family in learners.iter_rows():
        maes.setdefault(family, []).append((frame[learner] - frame["truth"]).abs().mean())  # type: ignore[arg-type]
    fits = pl.read_parquet(POOLS / name / "fits.parquet").group_by("family").agg(pl.col("seconds").sum())
    return Prices(frame.height, maes, dict(fits.iter_rows()))


def diamond() -> list[str]:
    n_stones, maes, taken = prices("diamond")
    fits = pl.read_parquet(POOLS / "diamond/fits.parquet")
    measured = {row["family"]: row for row in pl.read_parquet(POOLS / "diamond-cost.parquet").to_dicts()}
    rows, total = [], 0.0
    for family, (theirs, their_sd) in DIAMOND.items():
        one = measured[family]
        growth = one["seconds"] / fits.filter(pl.col("learner") == one["learner"])["seconds"].mean()
        whole = taken[family] * growth
        total += whole
        rows.append(
            f"| {family} | {len(maes[family])} | {np.mean(maes[family]):.1f} | {np.std(maes[family]):.1f} "
            f"| {theirs} | {their_sd} | {taken[family]:.1f} | {one['mae']:.1f} | {one['seconds']:.2f} "
            f"| {growth:.1f} | {whole / 60:.1f} |"
        )
    head = (
        "| family | n | MAE, ours (tenth) | sd | paper (all) | sd | CPU s, tenth "
        "| MAE, one fit on all | its CPU s | growth | CPU min, all |"
    )
    lines = [
        "## Diamond (Liu et al., 2024, Table 6)", "",
        f"{n_stones} diamonds, a stratified tenth; the paper's learners saw ten times as many. "
        f"{footing('diamond')}",
        "One fit on all is measured for the learner of median cost in its family. Growth is how much longer "
        "that takes than its fits on the tenth. The last column is the family's seconds times growth: "
        f"{total / 3600:.1f} CPU hours for all.", "",
        *table(head, rows), *(f"* {note}" for note in document("diamond")["notes"]), "",
    ]  # fmt: skip
    return lines + (all_diamonds() if (POOLS / "diamond-full").exists() else [])


def all_diamonds() -> list[str]:
    """The pool that `camilla pool diamond --full` leaves."""
    n_stones, maes, taken = prices("diamond-full")
    rows = [
        f"| {family} | {len(maes[family])} | {np.mean(maes[family]):.1f} | {np.std(maes[family]):.1f} "
        f"| {theirs} | {their_sd} | {np.mean(maes[family]) / theirs - 1:+.1f} % | {taken[family] / 60:.1f} |"
        for family, (theirs, their_sd) in DIAMOND.items()
    ]
    head = "| family | n | MAE, ours (all) | sd | paper (all) | sd | difference | CPU min |"
    return [f"All {n_stones} diamonds. {footing('diamond-full')}", "", *table(head, rows)]


def esol() -> list[str]:
    frame = pl.read_parquet(POOLS / "esol/predictions.parquet")
    rows = []
    for name, (mae, rmse) in ESOL.items():
        error = (frame[name] - frame["truth"]).to_numpy()
        ours, root = np.abs(error).mean(), np.sqrt((error**2).mean())
        rows.append(f"| {name} | {ours:.3f} | {mae:.3f} | {ours - mae:+.3f} | {root:.3f} | {rmse:.3f} |")
    joined = frame.width - 4 - len(ESOL)
    return [
        "## ESOL (Liu et al., 2024, Table 5)", "",
        f"{frame.height} molecules; {joined} graph networks joined. {footing('esol')}", "",
        *table("| learner | MAE, ours | paper | difference | RMSE, ours | paper |", rows),
    ]  # fmt: skip


def main() -> None:
    lines = [
        "# Pools compared with the papers", "",
        "Made by `scripts/pools.py` from the folders that [`camilla pool`](../commands/pool.md) leaves. "
        "Seconds are CPU seconds of fitting and predicting, one thread each.", "",
    ]  # fmt: skip
    for part in (classifiers, titanic, diamond, esol):
        lines += part()
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
