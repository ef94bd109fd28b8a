"""Sample quality on public logs and on labels made wrong: figures and section of docs/results/logs.md."""

import warnings
from collections.abc import Callable

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import camilla
from camilla.samples.items import items
from logs_tables import Found, Rows, helm, metabench, swebench
from make_digits import FOLDS, LEARNERS, SEED

SLOW = {"boosting 100", "mlp 2", "mlp 8", "mlp 128", "mlp 64 32", "forest 100", "extra trees 100",
        "adaboost 50", "bagged trees 10", "logistic row sums", "forest 100 of depth 2"}  # fmt: skip


def quality(table: camilla.ResponseTable) -> Rows:
    """How many samples carry each flag, and the first three."""
    found = items(table)
    flags = found.flagged()["flags"].str.split(", ").explode().value_counts().sort("flags")
    first = (
        found.samples.head(3).select("sample", "flags", "accuracy", "discrimination", "evidence").to_dicts()
    )
    return [{"flags": dict(flags.iter_rows()), "first": first, "samples": table.n_samples}]


def wrong_labels() -> Rows:
    """Labels of digits changed at random after the classifiers were trained: how many are found."""
    pixels, digit = load_digits(return_X_y=True)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    guesses = {}
    for name in LEARNERS:
        if name not in SLOW:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                guesses[name] = cross_val_predict(LEARNERS[name](), pixels / 16, digit, cv=folds)
    rows = []
    for share in (0.0, 0.01, 0.03):
        for seed in (1, 2, 3):
            rng = np.random.default_rng(seed)
            changed = rng.permutation(len(digit))[: round(share * len(digit))]
            labels = digit.copy()
            labels[changed] = (digit[changed] + rng.integers(1, 10, len(changed))) % 10
            names = [f"digit-{j:04d}" for j in range(len(digit))]
            table = camilla.ResponseTable.from_predictions(guesses, labels, samples=names)
            found = items(table)
            flagged = set(found.samples.filter(pl.col("flags").str.contains("doubtful"))["sample"])
            ranked = set(found.samples["sample"].head(len(changed)))
            true = {names[j] for j in changed}
            rows.append(
                {
                    "share": share, "seed": seed, "learners": len(guesses), "changed": len(true),
                    "flagged": len(flagged), "found": len(flagged & true), "at_top": len(ranked & true),
                }
            )  # fmt: skip
    return rows


def section(found: Found) -> list[str]:
    lines = ["| log | samples | flags | first to look at | seconds |", "|---|---|---|---|---|"]
    names = {
        "swebench": "SWE-bench Verified",
        "helm": "HELM lite",
        "metabench": "metabench",
        "digits": "digits",
    }
    for part, name in names.items():
        row = found[f"quality {part}"]["rows"][0]
        flags = ", ".join(f"{count} {flag}" for flag, count in row["flags"].items())
        first = row["first"][0]
        lines.append(
            f"| {name} | {row['samples']} | {flags} | `{first['sample']}` ({first['flags']}) | "
            f"{found[f'quality {part}']['seconds']:.1f} |"
        )
    wrong = [
        "| labels changed | doubtful | of these changed | precision | recall | changed among as many "
        "at the top of the list |",
        "|---|---|---|---|---|---|",
    ]
    rows = found["wrong labels"]["rows"]
    for share in sorted({row["share"] for row in rows}):
        part = [row for row in rows if row["share"] == share]
        changed, flagged, true, top = (
            sum(row[key] for row in part) for key in ("changed", "flagged", "found", "at_top")
        )
        precision = f"{true / flagged:.2f}" if flagged else "–"
        recall, at_top = (f"{true / changed:.2f}", f"{top / changed:.2f}") if changed else ("–", "–")
        wrong.append(
            f"| {changed // len(part)} of 1,797 | {flagged / len(part):.1f} | {true / len(part):.1f} "
            f"| {precision} | {recall} | {at_top} |"
        )
    return [
        "## Sample quality (`camilla items`)",
        "\n".join(lines),
        f"**Wrong labels put in.** {rows[0]['learners']} classifiers on scikit-learn's digits, "
        f"cross-validated; then labels of "
        "some samples are changed at random and the responses scored again. Means of three draws.",
        "\n".join(wrong),
    ]


PARTS: dict[str, Callable[[], Rows]] = {
    "quality swebench": lambda: quality(swebench()),
    "quality helm": lambda: quality(helm()),
    "quality metabench": lambda: quality(metabench()),
    "quality digits": lambda: quality(camilla.digits()),
    "wrong labels": wrong_labels,
}
