"""Subsets on public logs: the figures and their section of docs/results/logs.md."""

from collections.abc import Callable

import camilla
from camilla.samples.select import expected_errors
from logs_tables import Found, Rows, helm, metabench, swebench

SIZES = [25, 50, 100, 200]


def subsets(table: camilla.ResponseTable, repeats: int) -> Rows:
    return expected_errors(table, SIZES, repeats=repeats).to_dicts()


def section(found: Found) -> list[str]:
    out = [
        "## Subsets (`camilla select`)",
        "Five folds of learners, each estimated by what the other folds chose; `select` is the candidate "
        "that all other learners would have taken. Stratified: every M/n-th sample in order of task and "
        "accuracy. The last column gives random subsets the same estimator: what it gains over `random` is "
        "the estimator's, the rest the choice's. Mean absolute error of the mean score in points of 100 "
        "with its 95 % interval over learners; Kendall's τ-b within the held-out fold, which is six models "
        "on HELM lite: there a difference of .03 in τ is within the noise.",
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


PARTS: dict[str, Callable[[], Rows]] = {
    "subsets swebench": lambda: subsets(swebench(), 5),
    "subsets helm": lambda: subsets(helm(), 5),
    "subsets metabench": lambda: subsets(metabench(), 1),
}
