"""Routes: RouteLLM, HELM Lite by scenario, and worlds in which the truth is known.

CAMILLA_DATA=… python scripts/routes.py --worlds 12 --out docs/results/routes.md

Figures go to docs/results/data/routes.json and route_worlds.json too, from which finished parts are read.
"""

import argparse
import json
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import camilla
from camilla.learners.costs import costs_of
from camilla.learners.route import usual_partitions
from camilla.learners.route_figures import Judge, recovered, ways_at
from camilla.learners.routed import ROUTED, Problem, cross_fitted, partitions_of, problem_of
from camilla.learners.routing import Routing
from camilla.learners.saved_route import LENGTH_OF
from camilla.table.responses import ResponseTable
from logs_tables import data_file, helm
from route_worlds import FIGURES, JUDGED_FROM, WITHOUT_GAIN, WORLDS, judged, summary

DATA = Path(__file__).parents[1] / "docs/results/data/routes.json"
OF_WORLDS = DATA.with_name("route_worlds.json")
WEAK, STRONG = "mixtral-8x7b-instruct", "gpt-4-1106-preview"
SEEDS = {"mmlu": (0,), "gsm8k": (0, 1, 2, 3, 4)}  # judged; settings were chosen with 101 to 106
ALL = ("tasks", "regression", "neighbours")
BENCHMARKS = ("mmlu", "gsm8k")


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def benchmark(name: str) -> camilla.ResponseTable:
    """One of RouteLLM's benchmarks with its prompts as features, and subjects as tasks."""
    frame = pl.read_parquet(data_file("routellm/routellm_mmlu_gsm8k.parquet"))
    part = frame.filter((pl.col("task") == "gsm8k") == (name == "gsm8k"))
    table = ResponseTable.from_wide(part.select("sample", WEAK, STRONG), rows="samples")
    table = replace(table, task=tuple(part["task"]))
    return table.with_features(samples=part.select("sample", "prompt"))


def area_and_half(apgr: pl.DataFrame, ways: pl.DataFrame) -> dict[str, float]:
    """APGR with its interval, and the accuracy at half of the calls."""
    area = apgr.filter(pl.col("way") == ROUTED).row(0, named=True)
    half = ways.filter(pl.col("way") == ROUTED).row(0, named=True)
    ends = {"half": half["quality"], "half_low": half["low"], "half_high": half["high"]}
    return {name: area[name] for name in ("apgr", "low", "high")} | ends


def routed(problem: Problem, methods: tuple[str, ...]) -> dict[str, float]:
    """The same figures of a table whose features or methods are changed."""
    times = usual_partitions(len(problem.judged))
    folds = [cross_fitted(problem, 5, 1, methods, 0, lambda line: None, number) for number in range(times)]
    parts, judge = partitions_of(problem, folds, 0.5), Judge(None, 0.95)
    at = int(np.searchsorted(parts[0].curves.budgets, 0.5))
    return area_and_half(recovered(problem, parts, judge), ways_at(parts, at, judge))


def routellm(name: str) -> dict[str, Any]:
    """The command with every seed; of GSM8K also single features and methods."""
    table, rows, runs = benchmark(name), list[dict[str, Any]](), list[Routing]()
    for seed in SEEDS[name]:
        before = cpu()
        runs.append(camilla.route(table, costs={WEAK: 0, STRONG: 1}, budget=0.5, seed=seed, progress=False))
        figures = area_and_half(runs[-1].apgr, runs[-1].ways)
        rows.append({"seed": seed, **figures, "cpu_seconds": round(cpu() - before, 1)})
    document, others = runs[0].to_document(), {}
    if name == "gsm8k":
        ordered = table.canonical().table
        costs = costs_of({WEAK: 0, STRONG: 1}, ordered.learners, ordered.samples)
        problem = problem_of(ordered, costs, None, None)
        assert problem.features is not None
        plain = replace(problem, features=problem.features.without([f"{LENGTH_OF}prompt"]))
        others["without the length of the prompt"] = [routed(plain, ALL)]
        for method in ALL[1:]:
            others[f"{method} alone"] = [routed(problem, (method,))]
    return {
        "rows": rows, "others": others, "answer": document["answer"], "gain": document["gain"],
        "partitions": usual_partitions(table.n_samples),
        "oracle": runs[0].apgr.filter(pl.col("way") == "oracle").row(0, named=True),
        "learners": document["learners"], "same_quality": document["same_quality"],
    }  # fmt: skip


def scenarios() -> dict[str, Any]:
    """HELM Lite, 30 models and 28 scenarios, which are all that is known of a sample."""
    table, start = helm(), cpu()
    found = camilla.route(table, portfolio=(2, 3, 5), progress=False)
    document = found.to_document()
    kept = ("answer", "gain", "ways", "tasks", "portfolios", "methods", "single")
    return {name: document[name] for name in kept} | {"cpu_seconds": round(cpu() - start, 1)}


HEAD = """# Routes

`camilla route` chooses a learner for each sample from what is known before the sample is answered. Samples
are dealt into 5 folds. Each fold is judged by a route made on the other four: encoding, penalties and
weights of methods included. This is repeated five times, or three times if there are more than 5,000
samples. Intervals are of the route made of all samples, on samples that nobody has seen
([how](../commands/route.md#what-is-chosen-and-how-it-is-judged)). APGR is the average performance gap
recovered ([definition](../commands/route.md#apgr)).

## RouteLLM

The tables hold right and wrong answers of Mixtral-8x7B (weak) and GPT-4-1106 (strong) to the prompts of
MMLU (14,042 prompts of 57 subjects) and of GSM8K (1,319 prompts). Three things are known of a prompt: its
subject, TF-IDF of its words and pairs of words (50 directions), and its length. A budget is the share of
prompts that go to the strong model; *half* is the accuracy if half of them do. The settings of the methods
were chosen on partitions 101 to 106 of the same prompts. So the partitions judged here are new, but the
prompts are not. The rule that a method is used as soon as its weight is above 0 was settled in simulated
worlds.

"""


def ends(row: dict[str, Any], name: str = "", decimals: int = 3) -> str:
    low, high = (f"{name}_low", f"{name}_high") if name else ("low", "high")
    return f"{row[low]:.{decimals}f} to {row[high]:.{decimals}f}"


def page(figures: dict[str, Any], of_worlds: dict[str, Any]) -> str:
    text = HEAD
    for name in BENCHMARKS:
        if name in figures:
            text += routellm_text(name, figures[name])
    if "helm" in figures:
        text += helm_text(figures["helm"])
    return text + (worlds_text(of_worlds) if of_worlds else "")


FLOORS = {
    "mmlu": "a logistic regression per model .693 ± .010, forty neighbours .633, task means .676, half .775",
    "gsm8k": "a logistic regression per model .643 ± .022, forty neighbours .613, task means .46, half .79",
}


def routellm_text(name: str, found: dict[str, Any]) -> str:
    rows = "".join(
        f"| {row['seed']} | {row['apgr']:.3f} | {ends(row)} | {row['half']:.3f} | {ends(row, 'half')} | "
        f"{row['cpu_seconds']:.0f} |\n"
        for row in found["rows"]
    )
    mean = {key: float(np.mean([row[key] for row in found["rows"]])) for key in found["rows"][0]}
    if len(found["rows"]) > 1:
        rows += (
            f"| mean | {mean['apgr']:.3f} | {ends(mean)} | {mean['half']:.3f} | {ends(mean, 'half')} | |\n"
        )
    others = ""
    if found["others"]:
        others = "| otherwise | APGR | 95 % CI | half |\n|---|---|---|---|\n"
    for label, some in found["others"].items():
        one = {key: float(np.mean([row[key] for row in some])) for key in some[0]}
        others += f"| {label} | {one['apgr']:.3f} | {ends(one)} | {one['half']:.3f} |\n"
    others += "\n" * bool(others)
    return (
        f"### {name.upper()}\n\n{found['answer']}\n\n"
        f"Each run of the command deals the samples {found['partitions']} times.\n\n"
        "| seed | APGR | 95 % CI | half | 95 % CI | CPU s |\n|---|---|---|---|---|---|\n"
        f"{rows}\n{others}"
        f"APGR of the oracle: {found['oracle']['apgr']:.3f} ({ends(found['oracle'])}); of drawing lots: "
        f".500. Reached by other methods: {FLOORS[name]}.{found.get('note', '')}\n\n"
    )


def helm_text(found: dict[str, Any]) -> str:
    text = (
        "## HELM Lite by scenario\n\n30 models answered 10,200 samples of 28 scenarios. The scenario is all "
        "that is known of a sample, and all models cost the same. The best single model of the other folds "
        f"is {found['single']}.\n\n"
        f"{found['answer']}\n\n| scenario | samples | most chosen | chosen | single | gain, points | 95 % "
        f"CI | "
        "p (Holm) |\n|---|---|---|---|---|---|---|---|\n"
    )
    for row in sorted(found["tasks"], key=lambda row: -round(row["difference"], 9)):
        low, high = (None if row[end] is None else 100 * row[end] for end in ("low", "high"))
        interval = "" if low is None or high is None else f"{low:+.1f} to {high:+.1f}"
        text += (
            f"| `{row['task']}` | {row['samples']} | {row['learner']} | {row['quality']:.3f} | "
            f"{row['single']:.3f} | "
            f"{100 * row['difference']:+.1f} | {interval} | {row['holm_p']:.2g} |\n"
        )
    if not found["portfolios"]:
        return text + f"\n{found['cpu_seconds']:.0f} CPU s.{found.get('note', '')}\n\n"
    text += "\n| portfolio of | oracle within it | 95 % CI | chosen by scenario | 95 % CI |\n"
    text += "|---|---|---|---|---|\n"
    for row in found["portfolios"]:
        text += (
            f"| {row['size']} | {row['oracle']:.3f} | {ends(row, 'oracle')} | {row['routed']:.3f} | "
            f"{ends(row, 'routed')} |\n"
        )
    return text + f"\n{found['cpu_seconds']:.0f} CPU s.\n\n"


NAMES = {"gain": "gain", "apgr": "APGR", "middle": "mean response at the middle budget"}


def worlds_text(rows: dict[str, list[dict[str, Any]]]) -> str:
    text = (
        "## Worlds in which the truth is known\n\nLearners have equal or different costs, samples are easy "
        "or hard, and features say much, little or nothing about who is better on a sample "
        "(`scripts/route_worlds.py`). The truth is that of the route made of all samples of a table, on at "
        "least 10,000 further samples. *Held* is the share of tables whose 95 % interval contains the truth; "
        "*better* and *worse* are the shares of tables with a significant difference. Where all learners "
        "cost the same, the gain is the one over the best single learner, and there is no APGR. How "
        f"intervals are made was settled on seeds below {JUDGED_FROM}; the tables here have other seeds.\n\n"
        "| world | tables | better | worse | held: gain | held: APGR | held: middle budget | gain | true |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    )
    every = {name: summary(some) for name, some in rows.items()}
    for name in (name for name in WORLDS if name in every):
        one = every[name]
        held = [share(one[key]["held"], one[key]["tables"]) if key in one else "" for key in FIGURES]
        gains = [f"{100 * one['gain'][key]:+.2f}" for key in ("value", "truth")]
        calls = [share(one[key], one["tables"]) for key in ("better", "worse")]
        text += f"| {name} | {' | '.join([str(one['tables']), *calls, *held, *gains])} |\n"
    return text + _in_all(every)


def _in_all(every: dict[str, dict[str, Any]]) -> str:
    tables = sum(one["tables"] for one in every.values())
    lines = []
    for key in FIGURES:
        known = [one[key] for one in every.values() if key in one]
        count, held = (sum(one[name] for one in known) for name in ("tables", "held"))
        above = sum(one["above"] for one in known)
        se = 100 * np.sqrt(held / count * (1 - held / count) / count)
        lines.append(
            f"* **{NAMES[key]}**: held in {held} of {count} tables, {share(held, count)} (± {se:.1f}); the "
            f"truth was above the interval in {above}, below in {count - held - above}."
        )
    null = [every[name] for name in WITHOUT_GAIN if name in every]
    claimed, worse, of = (sum(one[key] for one in null) for key in ("better", "worse", "tables"))
    odd = sum(one["p_and_interval_disagree"] for one in every.values())
    body = "\n".join(lines)
    return (
        f"\nIn all {tables} tables:\n\n{body}\n* Where nothing can be gained, choosing was called better in "
        f"{claimed} of {of} tables, and was significantly worse in {worse}.\n* The test (p < .05) and the "
        f"interval (without 0) disagreed in {odd} of {tables} tables.\n\nGains are in points, hundredths of "
        "the mean response. This page is made by `python scripts/routes.py --out docs/results/routes.md`; "
        "`--worlds` adds tables. Every figure is in [data/routes.json](data/routes.json) and "
        "[data/route_worlds.json](data/route_worlds.json).\n"
    )


def share(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %"


def keep(path: Path, figures: dict[str, Any]) -> None:
    path.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def known(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def worlds(most: int) -> dict[str, Any]:
    """Every world with so many seeds; those that are there already are not made again."""
    rows = known(OF_WORLDS)
    for seed in range(JUDGED_FROM, JUDGED_FROM + most):
        for name in WORLDS:
            if all(row["seed"] != seed for row in rows.setdefault(name, [])):
                rows[name].append({"seed": seed, **judged(name, seed)})
                keep(OF_WORLDS, rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=0, help="seeds of every world")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", help="parts to make again; others are read from the data")
    given = parser.parse_args()
    figures = known(DATA)
    for name in (*BENCHMARKS, "helm") if given.only is None else given.only:
        if name not in figures or given.only is not None:
            figures[name] = scenarios() if name == "helm" else routellm(name)
        keep(DATA, figures)
    of_worlds = worlds(given.worlds)
    if given.out is not None:
        given.out.write_text(page(figures, of_worlds))


if __name__ == "__main__":
    main()
