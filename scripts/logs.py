"""Subsets, adaptive testing, sample quality and group differences on real logs: docs/results/logs.md.

    CAMILLA_DATA=… python scripts/logs.py [--parts FOLDER] [PART …]

Every part keeps its figures in FOLDER (build/logs) and is not run again while they are there; naming parts
runs only these. Seconds are CPU seconds of one thread.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import camilla
from camilla.adaptive.replay import replay
from camilla.quality.dif import group_differences
from camilla.quality.items import sample_quality
from camilla.subsets.selecting import expected_errors
from make_digits import FOLDS, LEARNERS, SEED

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/results/logs.md"
SIZES = [25, 50, 100, 200]
SLOW = {"boosting 100", "mlp 2", "mlp 8", "mlp 128", "mlp 64 32", "forest 100", "extra trees 100",
        "adaboost 50", "bagged trees 10", "logistic row sums", "forest 100 of depth 2"}  # fmt: skip
Rows = list[dict[str, Any]]


def swebench() -> camilla.ResponseTable:
    return camilla.read(_data("swebench/swebench_verified_agents.parquet"), rows="samples", task="repo")


def helm() -> camilla.ResponseTable:
    frame = pl.read_parquet(_data("helm_lite/helm_lite_items_x_30models.parquet"))
    name = pl.format("{}#{}", "scenario", "item").alias("sample")
    table = camilla.ResponseTable.from_wide(
        frame.select(name, pl.exclude("scenario", "item")), rows="samples"
    )
    return replace(table, task=tuple(frame["scenario"]))


def metabench() -> camilla.ResponseTable:
    return camilla.read(_data("metabench/metabench.parquet"), sample="item", task="scenario")


def gsm8k() -> camilla.ResponseTable:
    """The learners that answered all 486 problems."""
    table = metabench()
    table = table.take_samples([j for j, task in enumerate(table.task or ()) if task == "gsm8k"])
    counts = np.bincount(table.learner, minlength=table.n_learners)
    return table.take_learners(np.flatnonzero(counts == table.n_samples))


def _data(name: str) -> Path:
    return Path(os.environ["CAMILLA_DATA"]) / name


def subsets(table: camilla.ResponseTable, repeats: int) -> Rows:
    return expected_errors(table, SIZES, repeats=repeats).to_dicts()


def adaptive(table: camilla.ResponseTable, calibration: float, splits: int, **more: Any) -> Rows:
    return replay(table, calibration=calibration, splits=splits, **more).shares.to_dicts()


def quality(table: camilla.ResponseTable) -> Rows:
    """How many samples carry each flag, and the first three."""
    found = sample_quality(table)
    flags = found.flagged()["flags"].str.split(", ").explode().value_counts().sort("flags")
    first = (
        found.samples.head(3)
        .select("sample", "flags", "accuracy", "discrimination", "mislabelled")
        .to_dicts()
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
            found = sample_quality(table).samples
            flagged = set(found.filter(pl.col("flags").str.contains("mislabelled"))["sample"])
            ranked = set(found.sort("mislabelled", descending=True)["sample"].head(len(changed)))
            true = {names[j] for j in changed}
            rows.append(
                {
                    "share": share, "seed": seed, "learners": len(guesses), "changed": len(true),
                    "flagged": len(flagged), "found": len(flagged & true), "at_top": len(ranked & true),
                }
            )  # fmt: skip
    return rows


def release_dates() -> Rows:
    """Agents of the last year against earlier ones; the same with random groups of the same sizes."""
    table = swebench()
    dates = {name: "new" if name[:6] >= "202506" else "old" for name in table.learners}
    rows = []
    for kind in ("release date", "random 1", "random 2", "random 3"):
        values = list(dates.values())
        if kind != "release date":
            np.random.default_rng(int(kind[-1])).shuffle(values)
        found = group_differences(table, dict(zip(dates, values, strict=True)), focal="new")
        first = found.samples.row(0, named=True)
        rows.append(
            {
                "groups": kind, "learners": found.groups["learners"].to_list(),
                "ability": [round(x, 2) for x in found.groups["ability"]],
                "differ": int(found.samples["differs"].sum()),
                "ets_c": int((found.samples["ets"] == "C").sum()),
                "first": first["sample"], "effect": first["effect"], "q": first["q"],
            }
        )  # fmt: skip
    return rows


PARTS: dict[str, Callable[[], Rows]] = {
    "subsets swebench": lambda: subsets(swebench(), 5),
    "subsets helm": lambda: subsets(helm(), 2),
    "subsets metabench": lambda: subsets(metabench(), 1),
    "adaptive swebench": lambda: adaptive(swebench(), 0.8, 30),
    "adaptive swebench half": lambda: adaptive(swebench(), 0.5, 20),
    "adaptive gsm8k": lambda: adaptive(gsm8k(), 0.5, 1),
    "adaptive helm": lambda: adaptive(helm(), 0.8, 2, shares=(0.005, 0.01, 0.02)),
    "quality swebench": lambda: quality(swebench()),
    "quality helm": lambda: quality(helm()),
    "quality metabench": lambda: quality(metabench()),
    "quality digits": lambda: quality(camilla.digits()),
    "wrong labels": wrong_labels,
    "release dates": release_dates,
}


def measured(part: str, folder: Path) -> dict[str, Any]:
    """The figures of a part, run now unless they are there."""
    file = folder / f"{part.replace(' ', '-')}.json"
    if not file.exists():
        started = time.process_time()
        rows = PARTS[part]()
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"rows": rows, "seconds": time.process_time() - started}))
        print(f"{part}: {time.process_time() - started:.1f} s")
    return json.loads(file.read_text())


def page(found: dict[str, dict[str, Any]]) -> str:
    return (
        "\n\n".join(
            [
                "# Subsets, adaptive testing, sample quality on real logs",
                "Written by `python scripts/logs.py`; CPU seconds of one thread. SWE-bench Verified: "
                "134 agents × 500 "
                "samples. HELM lite: 30 models × 10,200 samples, fractional. metabench: 6,349 models "
                "× 1,075 samples, a "
                "quarter missing; tested are the 2,001 models that answered everything. gsm8k: the "
                "4,530 models that "
                "answered all of metabench's 486 problems.",
                *_subset_sections(found),
                *_adaptive_section(found),
                *_quality_section(found),
                *_dif_section(found),
            ]
        )
        + "\n"
    )


def _subset_sections(found: dict[str, dict[str, Any]]) -> list[str]:
    out = [
        "## Subsets (`camilla select`)",
        "Five folds of learners, each estimated by what the other folds chose; `select` is the "
        "candidate that was best "
        "on all other learners. Stratified: every M/n-th sample in order of task and accuracy. The last "
        "column gives random "
        "subsets the same estimator: what it gains over `random` is the estimator's, the rest the "
        "choice's. "
        "Mean absolute error of the mean score in points of 100 with its 95 % interval over "
        "learners; Kendall's τ-b within "
        "the held-out fold.",
    ]
    for name, title in (
        ("swebench", "SWE-bench Verified"),
        ("helm", "HELM lite"),
        ("metabench", "metabench"),
    ):
        part = found[f"subsets {name}"]
        lines = [
            f"**{title}** ({part['seconds']:.0f} s for all sizes)\n",
            "| n | error: select | stratified | random | random, weighted | τ: select | stratified | "
            "random | random, weighted |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for n in SIZES:
            by = {row["way"]: row for row in part["rows"] if row["n"] == n}
            ways = ("chosen", "stratified", "random", "random, weighted")
            error = [f"{100 * by[w]['mae']:.2f}" for w in ways]
            error[0] = (
                f"**{error[0]}** ({100 * by['chosen']['mae_low']:.2f}–{100 * by['chosen']['mae_high']:.2f})"
            )
            tau = [f"{by[w]['kendall']:.3f}".lstrip("0") for w in ways]
            tau[0] = f"**{tau[0]}**"
            lines.append(f"| {n} | " + " | ".join(error + tau) + " |")
        out.append("\n".join(lines))
    return out


def _adaptive_section(found: dict[str, dict[str, Any]]) -> list[str]:
    out = [
        "## Adaptive testing (`camilla adapt --replay`)",
        "Samples are calibrated on a share of the learners, the others are tested by their stored "
        "responses. Kendall's "
        "τ-b with the full-table score, mean over random splits, 95 % interval over splits (which "
        "share learners); "
        "beside it plain accuracy on random subsets of the same size. Covered: how often score ± "
        "1.96 standard errors "
        "holds the full-table score.",
    ]
    lines = [
        "| log, calibrated on | share | samples | τ adaptive | τ random | error | error random | "
        "covered | splits |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    names = {
        "adaptive swebench": "SWE-bench, 80 %", "adaptive swebench half": "SWE-bench, 50 %",
        "adaptive gsm8k": "gsm8k, 50 %", "adaptive helm": "HELM lite, 80 %",
    }  # fmt: skip
    for part, name in names.items():
        for row in found[part]["rows"]:
            low, high = row["kendall_low"], row["kendall_high"]
            interval = "" if low is None else f" ({low:.3f}–{high:.3f})"
            lines.append(
                f"| {name} | {row['share']:.1%} | {row['samples']} | **{row['kendall']:.3f}**{interval} | "
                f"{row['random_kendall']:.3f} | {100 * row['mae']:.2f} | {100 * row['random_mae']:.2f} | "
                f"{row['covered']:.2f} | {row['splits']} |"
            )
    seconds = ", ".join(f"{name} {found[part]['seconds']:.0f} s" for part, name in names.items())
    return [*out, "\n".join(lines), f"All splits together: {seconds}."]


def _quality_section(found: dict[str, dict[str, Any]]) -> list[str]:
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
        "| labels changed | flagged | of these changed | precision | recall | changed among as many "
        "at the top |",
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
        "some samples are changed at random and the responses scored again. Means of three draws at a "
        "rate of false flags of 5 %. A changed label that no learner hits looks like a sample that is too "
        "hard for all: its probability of a wrong key stays below what a flag takes, and yet it stands at "
        "the top of the order, as the last column shows.",
        "\n".join(wrong),
    ]


def _dif_section(found: dict[str, dict[str, Any]]) -> list[str]:
    lines = [
        "| groups | learners | mean ability | samples that differ | ETS class C | surest | effect "
        "(logits) | q |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found["release dates"]["rows"]:
        lines.append(
            f"| {row['groups']} | {row['learners'][0]} and {row['learners'][1]} | {row['ability'][0]} and "
            f"{row['ability'][1]} | {row['differ']} | {row['ets_c']} | `{row['first']}` | "
            f"{row['effect']:.2f} | {row['q']:.3g} |"
        )
    return [
        "## Group differences (`camilla dif`)",
        "SWE-bench Verified: agents since June 2025 against earlier ones, at equal ability; below, "
        "random groups of "
        "the same sizes, where nothing should differ (false discovery rate 5 %).",
        "\n".join(lines),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", type=Path, default=ROOT / "build/logs")
    parser.add_argument("part", nargs="*", choices=[[], *PARTS])
    given = parser.parse_args()
    for part in given.part or PARTS:
        measured(part, given.parts)
    if not given.part:
        PAGE.write_text(page({part: measured(part, given.parts) for part in PARTS}), encoding="utf-8")
        print(f"→ {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
