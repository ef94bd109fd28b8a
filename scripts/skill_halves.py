"""Abilities per skill from one half of the samples against accuracy on the other half, on real tables.

    CAMILLA_DATA=… python scripts/skill_halves.py OUT.json [--splits 3] [TABLE …]

Samples are halved within each skill (seeded); a learner's ability on each skill comes from the first half, or
from `size` samples per skill of it, by `camilla.diagnose(table)`. Its squared distance from accuracy on the
other half is compared with that of plain accuracy. An interval covers where it holds that accuracy, once the
other half's sampling variance p(1 − p)/n is added. Skills need ten samples in the other half.

On whole tables: is the learner with the highest ability on a skill the best by accuracy, or tied with it?
"""

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binomtest, ttest_1samp

import camilla
from camilla.statistics.posterior import estimates
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

DATA = Path(os.environ["CAMILLA_DATA"])
SIZES = (20, 100, None)  # samples per skill; all
FEWEST = 10


def helm() -> tuple[Any, list[str]]:
    frame = pl.read_parquet(DATA / "helm_lite/helm_lite_items_x_30models.parquet")
    return frame.drop("scenario", "item").to_numpy().clip(0, 1), frame["scenario"].to_list()


def swebench() -> tuple[Any, list[str]]:
    frame = pl.read_parquet(DATA / "swebench/swebench_verified_agents.parquet")
    return frame.drop("instance_id", "repo").to_numpy().astype(float), frame["repo"].to_list()


def cifar() -> tuple[Any, list[str]]:
    frame = pl.read_parquet(DATA / "camilla_responses/cifar100_test_42x10000.parquet")
    labels = pl.read_parquet(DATA / "cifar100_labels/test_labels.parquet").sort("index")
    return frame.sort("id").drop("id").to_numpy().astype(float), labels["fine_class"].to_list()


def digits() -> tuple[Any, list[str]]:
    table = camilla.digits()
    assert table.skill_map is not None
    names = [table.skill_map.skills[k] for k in table.skill_map.mask.argmax(axis=1)]
    return table.matrix().T, names


TABLES = {"HELM Lite": helm, "SWE-bench": swebench, "CIFAR-100": cifar, "digits": digits}


def split(skill: list[str], rng: np.random.Generator) -> tuple[Any, Any]:
    """Halves of each skill's samples."""
    first, second = [], []
    for name in sorted(set(skill)):
        rows = rng.permutation([j for j, own in enumerate(skill) if own == name])
        first += rows[: len(rows) // 2].tolist()
        second += rows[len(rows) // 2 :].tolist()
    return np.array(first), np.array(second)


def reduced(rows: Any, skill: list[str], size: int | None) -> Any:
    """At most so many samples of each skill."""
    if size is None:
        return rows
    return np.concatenate([[j for j in rows if skill[j] == name][:size] for name in sorted(set(skill))])


def one(x: Any, skill: list[str], size: int | None, seed: int) -> dict[str, Any] | None:
    first, second = split(skill, np.random.default_rng(seed))
    used = reduced(first, skill, size).astype(int)
    if size is not None and len(used) == len(first):
        return None
    table = ResponseTable.from_matrix(x[used].T).with_skills(SkillMap.from_labels([skill[j] for j in used]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = camilla.diagnose(table, seed=seed, progress=False)
    back = [table.learners.index(name) for name in found.learner_names]
    ours, plain, these, like, best = [], [], [], [], []
    for k, rows in found.skill_samples():
        other = [j for j in second if skill[j] == found.skill_names[k]]
        if len(other) < FEWEST:
            continue
        wanted = x[other].mean(axis=0)[back]
        noise = np.maximum(x[other].var(axis=0, ddof=1)[back], 0.25 / len(other)) / len(other)
        own = [table.samples.index(found.sample_names[j]) for j in rows]
        accuracy = x[used][own].mean(axis=0)[back]
        narrow, wide = estimates(found.pool.draws.on(rows)), estimates(found.score_draws(rows))
        for kept, one_of in ((these, narrow), (like, wide)):
            kept.append(np.abs(one_of.value - wanted) <= 1.96 * np.sqrt(one_of.se**2 + noise))
        ours.append((narrow.value - wanted) ** 2)
        plain.append((accuracy - wanted) ** 2)
        top = accuracy == accuracy.max()
        best.append(bool(top[np.argmax(narrow.value)]))
    return {
        "per skill": len(used) / len(set(skill)),
        "mse over accuracy's": float(np.mean(ours) / np.mean(plain)),
        "covers, these samples": float(np.mean(these)), "covers, samples like these": float(np.mean(like)),
        "best is best by accuracy": float(np.mean(best)),
    }  # fmt: skip


def best(x: Any, skill: list[str]) -> dict[str, Any]:
    """Skills whose highest ability has the highest accuracy, is tied with that (p > .05), or neither."""
    table = ResponseTable.from_matrix(x.T).with_skills(SkillMap.from_labels(skill))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = camilla.diagnose(table, progress=False)
    counts = {"best": 0, "tied": 0, "neither": 0}
    for name in sorted(set(skill)):
        rows = np.array([own == name for own in skill])
        first = found.skills.filter(skill=name).sort("ability", descending=True)["learner"][0]
        own, accuracy = x[rows][:, table.learners.index(first)], x[rows].mean(axis=0)
        if own.mean() >= accuracy.max() - 1e-12:
            counts["best"] += 1
            continue
        other = x[rows][:, int(accuracy.argmax())]
        counts["tied" if _p_value(own - other) > 0.05 else "neither"] += 1
    return counts


def _p_value(difference: Any) -> float:
    """Exact McNemar for right and wrong, else Student's t."""
    if np.isin(difference, (-1, 0, 1)).all():
        up, down = int((difference > 0).sum()), int((difference < 0).sum())
        return float(binomtest(up, up + down).pvalue) if up + down else 1.0
    return float(ttest_1samp(difference, 0).pvalue)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_intermixed_args()
    done = json.loads(given.out.read_text()) if given.out.exists() else {}
    for name in given.tables or TABLES:
        x, skill = TABLES[name]()
        done[f"{name}, best"] = best(x, skill)
        print(name, done[f"{name}, best"], flush=True)
        for size in SIZES:
            runs = [one(x, skill, size, seed) for seed in range(given.splits)]
            if kept := [run for run in runs if run is not None]:
                label = f"{name}, {'all' if size is None else size}"
                done[label] = {key: float(np.mean([run[key] for run in kept])) for key in kept[0]}
                given.out.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n")
                print(label, x.shape, {k: round(v, 3) for k, v in done[label].items()}, flush=True)


if __name__ == "__main__":
    main()
