"""Routes: RouteLLM, HELM Lite by scenario, and worlds in which the truth is known.

CAMILLA_DATA=… python scripts/routes.py --worlds 60 --out docs/results/routes.md

Figures go to docs/results/data/routes.json too, and finished parts are read from there again.
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
from camilla.learners.frontier import budgets_between, mixture_of, path_of
from camilla.learners.routed import ROUTED, Problem, cross_fitted, curves_of, fit_on, problem_of, recovery
from camilla.learners.routing import Routing
from camilla.learners.saved_route import LENGTH_OF
from camilla.learners.votes import dealt
from camilla.statistics.clusters import spread_of
from camilla.statistics.intervals import student
from camilla.table.responses import ResponseTable
from logs_tables import data_file, helm

DATA = Path(__file__).parents[1] / "docs/results/data/routes.json"
WEAK, STRONG = "mixtral-8x7b-instruct", "gpt-4-1106-preview"
PARTITIONS = {"mmlu": (0,), "gsm8k": (0, 1, 2, 3, 4)}  # judged; settings were chosen with 101 to 106
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


def routed(problem: Problem, methods: tuple[str, ...], seed: int) -> dict[str, float]:
    """APGR with its interval, and the accuracy at half of the calls."""
    folds = cross_fitted(problem, 5, 1, methods, seed, lambda line: None)
    curves = curves_of(problem, folds, 0.5)
    found = recovery(problem, folds, curves, ROUTED)
    assert found is not None
    spread = spread_of((found.influence - found.value * found.gap) / found.gap.mean(), None)
    ends = student(found.value, np.sqrt(spread.variance), spread.df)
    half = spread_of(curves.ways[ROUTED].at_budget[int(np.searchsorted(curves.budgets, 0.5))], None)
    half_ends = student(half.mean, np.sqrt(half.variance), half.df)
    return {
        "apgr": found.value, "low": float(ends.low), "high": float(ends.high), "half": float(half.mean),
        "half_low": float(half_ends.low), "half_high": float(half_ends.high),
    }  # fmt: skip


def of_command(found: Routing) -> dict[str, float]:
    """The same figures of a run of the command at half of the calls."""
    area = found.apgr.filter(pl.col("way") == ROUTED).row(0, named=True)
    half = found.ways.filter(pl.col("way") == ROUTED).row(0, named=True)
    ends = {"half": half["quality"], "half_low": half["low"], "half_high": half["high"]}
    return {name: area[name] for name in ("apgr", "low", "high")} | ends


def routellm(name: str) -> dict[str, Any]:
    """The command on every partition; of GSM8K also single features and methods."""
    table, rows, runs = benchmark(name), list[dict[str, Any]](), list[Routing]()
    for seed in PARTITIONS[name]:
        before = cpu()
        runs.append(camilla.route(table, costs={WEAK: 0, STRONG: 1}, budget=0.5, seed=seed, progress=False))
        rows.append({"partition": seed, **of_command(runs[-1]), "cpu_seconds": round(cpu() - before, 1)})
    document, others = runs[0].to_document(), {}
    if name == "gsm8k":
        ordered = table.canonical().table
        costs = costs_of({WEAK: 0, STRONG: 1}, ordered.learners, ordered.samples)
        problem = problem_of(ordered, costs, None, None)
        assert problem.features is not None
        plain = replace(problem, features=problem.features.without([f"{LENGTH_OF}prompt"]))
        others["without the length of the prompt"] = [routed(plain, ALL, seed) for seed in PARTITIONS[name]]
        for method in ALL[1:]:
            others[f"{method} alone"] = [routed(problem, (method,), 0)]
    return {
        "rows": rows, "others": others, "answer": document["answer"], "gain": document["gain"],
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


def chances(kind: str, rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Features, and the chance of a right answer of a cheap learner and one that is right .2 more often.

    In the world "alike" the gap is .2 on every sample: nothing can be gained over lots. In "different" it
    is .2 + ¼ tanh of a feature. Both learners find samples easier in which another feature is high.
    """
    x = rng.normal(size=(n, 5))
    base = 0.35 + 0.3 / (1 + np.exp(-x[:, 0]))
    p = np.array([base, base + 0.2])
    if kind == "different":
        p = p + np.outer([-0.5, 0.5], np.tanh(x[:, 1])) * 0.25
    return x, p


WORLDS = {
    f"{kind}, {n:,} samples": (kind, n, share)
    for kind in ("alike", "different")
    for n, share in ((400, 1.0), (2000, 0.5))
}
PEOPLE = 10_000  # samples on which the routes of a world are judged truly


def table_of(x: Any, responses: Any) -> camilla.ResponseTable:
    table = ResponseTable.from_matrix(responses, learners=["cheap", "dear"])
    columns = {f"x{k}": x[:, k] for k in range(x.shape[1])}
    return table.with_features(samples=pl.DataFrame({"sample": table.samples, **columns}))


def true_gain(problem: Problem, seed: int, kind: str) -> float:
    """What the routes of all folds gain over lots in truth: the mean over budgets, on very many samples."""
    rng = np.random.default_rng([seed, 0])
    fold = dealt(problem.units, 5, rng)
    fits = [fit_on(problem, np.flatnonzero(fold != k), rng, ALL) for k in range(5)]
    x, p = chances(kind, np.random.default_rng([seed, 9]), PEOPLE)
    features = table_of(x, np.zeros((2, PEOPLE))).sample_features
    budgets, gains = budgets_between(*map(float, problem.costs), PEOPLE), []
    for fit in fits:
        expected = fit.expectation.expected(fit.sight.known(features)) if fit.sight.encoder else p * 0
        earned = path_of(expected, problem.costs).earned(p, budgets).mean()
        weights = mixture_of(fit.expectation.means, problem.costs).weights(budgets, 2)
        gains.append(earned - float((weights @ p).mean()))
    return float(np.mean(gains))


def world(name: str, worlds: int, before: dict[str, Any]) -> dict[str, Any]:
    """How often choosing is called better or worse than lots, and the interval holds the true gain."""
    kind, n, share = WORLDS[name]
    keys = ("worlds", "better", "worse", "held", "gain", "true_gain")
    found = {key: before.get(key, 0) for key in keys}
    for seed in range(found["worlds"], max(int(worlds * share), 1)):
        rng = np.random.default_rng([seed, 8])
        x, p = chances(kind, rng, n)
        table = table_of(x, (rng.random(p.shape) < p).astype(float))
        one = camilla.route(table, costs={"cheap": 1, "dear": 10}, seed=seed, portfolio=(), progress=False)
        ordered = table.canonical().table
        costs = costs_of({"cheap": 1, "dear": 10}, ordered.learners, ordered.samples)
        truth = true_gain(problem_of(ordered, costs, None, None), seed, kind)
        gain = one.gain
        found["worlds"] += 1
        found["better"] += int(one.better)
        found["worse"] += int(gain["p_value"] < 0.05 and gain["difference"] < 0)
        found["held"] += int(gain["low"] - 1e-9 <= truth <= gain["high"] + 1e-9)
        found["gain"] += gain["difference"]
        found["true_gain"] += truth
    return found


HEAD = """# Routes

`camilla route`: a learner is chosen per sample from what is known before it is answered. Samples are dealt
into 5 folds, and each is judged by a route made on the other four: encoding, penalties and weights of methods
included. [What APGR is](../commands/route.md#apgr).

## RouteLLM

Right or wrong answers of Mixtral-8x7B (weak) and GPT-4-1106 (strong) to the prompts of MMLU (14,042 of 57
subjects) and GSM8K (1,319); each is a table of its own. Known of a prompt: its subject, TF-IDF of its
words and pairs of words (50 directions), and its length. A budget is the share of prompts that go to the
strong model. *half* is the accuracy where half of them do. The settings of the methods were chosen with
partitions 101 to 106 of the same prompts: the partitions judged here had no part in that, the prompts did.

"""


def ends(row: dict[str, Any], name: str = "", decimals: int = 3) -> str:
    low, high = (f"{name}_low", f"{name}_high") if name else ("low", "high")
    return f"{row[low]:.{decimals}f} to {row[high]:.{decimals}f}"


def page(figures: dict[str, Any]) -> str:
    text = HEAD
    for name in BENCHMARKS:
        if name in figures:
            text += routellm_text(name, figures[name])
    if "helm" in figures:
        text += helm_text(figures["helm"])
    return text + worlds_text(figures)


FLOORS = {
    "mmlu": "a logistic regression per model .693 ± .010, forty neighbours .633, task means .676, half .775",
    "gsm8k": "a logistic regression per model .643 ± .022, forty neighbours .613, task means .46, half .79",
}


def routellm_text(name: str, found: dict[str, Any]) -> str:
    rows = "".join(
        f"| {row['partition']} | {row['apgr']:.3f} | {ends(row)} | {row['half']:.3f} | {ends(row, 'half')} | "
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
        others = "| otherwise | partitions | APGR | 95 % CI | half |\n|---|---|---|---|---|\n"
    for label, some in found["others"].items():
        one = {key: float(np.mean([row[key] for row in some])) for key in some[0]}
        others += f"| {label} | {len(some)} | {one['apgr']:.3f} | {ends(one)} | {one['half']:.3f} |\n"
    others += "\n" * bool(others)
    return (
        f"### {name.upper()}\n\n{found['answer']}\n\n"
        "| partition | APGR | 95 % CI | half | 95 % CI | CPU s |\n|---|---|---|---|---|---|\n"
        f"{rows}\n{others}"
        f"Oracle: {found['oracle']['apgr']:.3f} ({ends(found['oracle'])}); drawing lots: .500. Reached "
        "elsewhere: "
        f"{FLOORS[name]}.\n\n"
    )


def helm_text(found: dict[str, Any]) -> str:
    text = (
        "## HELM Lite by scenario\n\n30 models on 10,200 samples of 28 scenarios, which are all that is "
        "known of "
        f"a sample; no costs. The best single model of the other folds is {found['single']}.\n\n"
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
    text += "\n| portfolio of | oracle within it | 95 % CI | chosen by scenario | 95 % CI |\n"
    text += "|---|---|---|---|---|\n"
    for row in found["portfolios"]:
        text += (
            f"| {row['size']} | {row['oracle']:.3f} | {ends(row, 'oracle')} | {row['routed']:.3f} | "
            f"{ends(row, 'routed')} |\n"
        )
    return text + f"\n{found['cpu_seconds']:.0f} CPU s.\n\n"


def worlds_text(figures: dict[str, Any]) -> str:
    text = (
        "## Worlds in which the truth is known\n\nA cheap learner and one at ten times its cost that is "
        "right .2 "
        "more often; five numbers are known of a sample. *alike*: the gap is .2 on every sample, and "
        "nothing can "
        "be gained over lots. *different*: the gap is .2 + ¼ tanh of one of the numbers. *true gain* is "
        "that of "
        f"the very routes of the five folds, on {PEOPLE:,} more samples. The test has an error rate of 5 % "
        f"in both "
        "directions together.\n\n"
        "| world | tables | better | worse | interval holds the true gain | gain | true gain |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    for name in WORLDS:
        if name in figures:
            one = figures[name]
            n = one["worlds"]
            shares = " | ".join(f"{100 * one[key] / n:.1f} %" for key in ("better", "worse", "held"))
            gains = " | ".join(f"{100 * one[key] / n:+.2f}" for key in ("gain", "true_gain"))
            text += f"| {name} | {n} | {shares} | {gains} |\n"
    return text + (
        "\nWhere there is a gain, the intervals are too narrow: they held the true gain in fewer than 95 % "
        "of the "
        "tables. Routes of the five folds share most of their samples, which the intervals do not know. The "
        "estimate itself is not shifted. Where nothing can be gained, a gain was found no more often than "
        "the "
        "test allows.\n\nGains are in points. Made by `python scripts/routes.py --worlds "
        "60 --out "
        "docs/results/routes.md`; "
        "every figure is in [data/routes.json](data/routes.json).\n"
    )


def keep(figures: dict[str, Any]) -> None:
    DATA.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", help="parts to make again; others are read from the data")
    given = parser.parse_args()
    figures = json.loads(DATA.read_text()) if DATA.exists() else {}
    for name in (*BENCHMARKS, "helm", *WORLDS) if given.only is None else given.only:
        if name in WORLDS:
            figures[name] = world(name, given.worlds, figures.get(name, {}))
        elif name not in figures or given.only is not None:
            figures[name] = scenarios() if name == "helm" else routellm(name)
        keep(figures)
    if given.out is not None:
        given.out.write_text(page(figures))


if __name__ == "__main__":
    main()
