"""Adaptive tests on public logs: the figures and their section of docs/results/logs.md."""

from collections.abc import Callable
from typing import Any

import camilla
from camilla.samples.replay import replay
from logs_tables import Found, Rows, gsm8k, helm, swebench


def adaptive(table: camilla.ResponseTable, calibration: float, splits: int, **more: Any) -> Rows:
    return replay(table, calibration=calibration, splits=splits, **more).shares.to_dicts()


def section(found: Found) -> list[str]:
    out = [
        "## Adaptive testing (`camilla adapt --replay`)",
        "Samples are calibrated on a share of the learners; the others are tested by their stored "
        "responses. Kendall's τ-b is with the full-table score, as a mean over random splits with its 95 % "
        "interval over splits (which share learners). Beside it is plain accuracy on random subsets of the "
        "same size. Covered is how often score ± 1.96 standard errors contains the full-table score. HELM "
        "lite has 30 tests in all, so .95 would vary by .08. Models and peers were chosen on other splits "
        "of the same tables: [why](../design/subsets.md).",
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
                f"| {name} | {100 * row['share']:.1f} % | {row['samples']} | "
                f"**{row['kendall']:.3f}**{interval} | "
                f"{row['random_kendall']:.3f} | {100 * row['mae']:.2f} | {100 * row['random_mae']:.2f} | "
                f"{row['covered']:.2f} | {row['splits']} |"
            )
    seconds = ", ".join(f"{name} {found[part]['seconds']:.0f} s" for part, name in names.items())
    return [*out, "\n".join(lines), f"All splits together: {seconds}."]


PARTS: dict[str, Callable[[], Rows]] = {
    "adaptive swebench": lambda: adaptive(swebench(), 0.8, 100),
    "adaptive swebench half": lambda: adaptive(swebench(), 0.5, 40),
    "adaptive gsm8k": lambda: adaptive(gsm8k(), 0.5, 1),
    "adaptive helm": lambda: adaptive(helm(), 0.8, 5, shares=(0.005, 0.01, 0.02)),
}
