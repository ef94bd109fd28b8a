"""How well does auto predict responses it has not seen, and are its ranks as steady as accuracy's?

    CAMILLA_DATA=… python scripts/held_out.py OUT.json [--seeds 1 21 42] [--only auto bayes …] [TABLE …]

A fifth of the cells is held out (seeded); every contender sees the rest. `nearest` predicts from the ten
learners that agree most with a learner, `boosted` is LightGBM on features made out of fold. For `stability`
samples are halved: Kendall of abilities on the two halves, and of plain accuracies.
docs/design/auto.md says which tables were used to tune and which to judge.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau

import camilla
from camilla.arrays import sigmoid
from camilla.table.responses import ResponseTable

DATA = Path(os.environ["CAMILLA_DATA"])
WIDE = {
    "chembench": "unseen/chembench.parquet",
    "swebench_pro": "unseen/swebench_pro.parquet",
    "icl_templates": "unseen/icl_templates.parquet",
    "SWE-bench": "swebench/swebench_verified_agents.parquet",
    "HELM Lite": "helm_lite/helm_lite_items_x_30models.parquet",
    "Titanic": "camilla_responses/titanic_353x418.parquet",
    "CIFAR-100": "camilla_responses/cifar100_test_42x10000.parquet",
}
LONG = {"math500": "math500/math500.parquet", "gsm8k": "metabench/metabench.parquet"}
TABLES = ["math500", "SWE-bench", "chembench", "swebench_pro", "icl_templates", "HELM Lite", "gsm8k"]
OURS = ["auto", "bayes", "gaussian", "mirt", "mf", "irt"]
SHRUNK = 2.0  # responses that draw nearest learners' mean to the sample's


def matrix(name: str) -> Any:
    """[samples, learners], NaN where missing."""
    if name in WIDE:
        frame = pl.read_parquet(DATA / WIDE[name])
        kept = [c for c, kind in frame.schema.items() if kind.is_numeric() and c not in ("id", "item")]
        return np.clip(frame.select(kept).to_numpy().astype(float), 0, 1)
    frame = pl.read_parquet(DATA / LONG[name])
    if "scenario" in frame.columns:
        frame = frame.filter(pl.col("scenario") == name)
    wide = frame.select("learner", "item", "response").pivot(
        on="learner", index="item", values="response", aggregate_function="mean"
    )
    return wide.drop("item").to_numpy().astype(float)


def table_of(x: Any, seen: Any) -> ResponseTable:
    sample, learner = np.nonzero(seen)
    names = tuple(f"l{i:05d}" for i in range(x.shape[1])), tuple(f"s{j:05d}" for j in range(len(x)))
    return ResponseTable(*names, learner, sample, x[sample, learner], np.ones(len(sample)))


def log_loss(x: Any, p: Any) -> float:
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return float(-(x * np.log(p) + (1 - x) * np.log(1 - p)).mean())


def diagnosed(name: str, x: Any, seen: Any) -> Any:
    """[samples, learners]: the contender's expected responses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = camilla.diagnose(table_of(x, seen), name, progress=False)
    p = np.empty(x.shape)
    learner = np.array([int(one[1:]) for one in found.learner_names])
    sample = np.array([int(one[1:]) for one in found.sample_names])
    n = len(learner)
    for row, j in enumerate(sample):
        p[j, learner] = found.chances(np.arange(n), np.full(n, row)).probability
    return p


def nearest(x: Any, seen: Any) -> Any:
    known, value = seen.astype(float), np.where(seen, x, 0.0)
    both = np.maximum(known.T @ known, 1)
    agree = 1 - (known.T @ value**2 + (known.T @ value**2).T - 2 * value.T @ value) / both
    agree = (agree * both + agree.mean()) / (both + 1)
    np.fill_diagonal(agree, -1)
    easy = (value.sum(axis=1) + 0.5) / (known.sum(axis=1) + 1)
    near = np.argsort(-agree, axis=1)[:, :10]
    p = np.empty(x.shape)
    for i, others in enumerate(near):
        p[:, i] = (value[:, others].sum(axis=1) + SHRUNK * easy) / (known[:, others].sum(axis=1) + SHRUNK)
    return p


def features(x: Any, seen: Any, at: Any) -> Any:
    known, value = seen.astype(float), np.where(seen, x, 0.0)
    sample, learner = np.nonzero(at)
    easy = (value.sum(axis=1) + 0.5) / (known.sum(axis=1) + 1)
    able = (value.sum(axis=0) + 0.5) / (known.sum(axis=0) + 1)
    return np.column_stack(
        [
            easy[sample],
            able[learner],
            nearest(x, seen)[at],
            diagnosed("irt", x, seen)[at],
            known.sum(axis=1)[sample],
        ]
    )


def boosted(x: Any, seen: Any, out: Any, seed: int) -> Any:
    from lightgbm import LGBMRegressor

    fold = np.random.default_rng(seed).integers(5, size=x.shape)
    made, wanted = [], []
    for k in range(5):
        at = seen & (fold == k)
        made.append(features(x, seen & (fold != k), at))
        wanted.append(x[at])
    model = LGBMRegressor(
        objective="cross_entropy", n_estimators=200, learning_rate=0.05, num_leaves=15, n_jobs=1, verbose=-1
    )
    model.fit(np.concatenate(made), np.concatenate(wanted))
    raw = model.predict(features(x, seen, out), raw_score=True)
    return sigmoid(np.asarray(raw))


def losses(name: str, seed: int, who: list[str], done: dict[str, Any]) -> None:
    x = matrix(name)
    rng = np.random.default_rng(seed)
    observed = ~np.isnan(x)
    out = observed & (rng.random(x.shape) < 0.2)
    seen = observed & ~out
    for one in who:
        key = f"{name} | {seed} | {one}"
        if (
            key in done
            or (one == "boosted" and x.size > 1_000_000)
            or (one == "gaussian" and x.shape[1] > 1000)
        ):
            continue
        start = time.process_time()
        if one == "nearest":
            p = nearest(x, seen)[out]
        elif one == "boosted":
            p = boosted(x, seen, out, seed)
        else:
            p = diagnosed(one, x, seen)[out]
        done[key] = {"log_loss": log_loss(x[out], p), "cpu_s": round(time.process_time() - start, 1)}
        print(key, done[key], flush=True)


def stability(name: str, n_times: int, done: dict[str, Any]) -> None:
    x = matrix(name)
    if len(x) > 4000:
        x = x[np.random.default_rng(0).permutation(len(x))[:4000]]
    if x.shape[1] > 1000:
        x = x[:, np.random.default_rng(0).permutation(x.shape[1])[:1000]]
    gains = done.setdefault(f"{name} | stability", [])
    for seed in range(len(gains), n_times):
        half = np.random.default_rng(100 + seed).permutation(len(x)) < len(x) // 2
        both = []
        for rows in (half, ~half):
            part = x[rows]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = camilla.diagnose(table_of(part, ~np.isnan(part)), "bayes", progress=False)
            ability = found.learners.sort("learner")["ability"].to_numpy()
            both.append((ability, np.nanmean(part, axis=0)))
        ours, plain = zip(*both, strict=True)
        gains.append([*map(float, (*taus(*ours), *taus(*plain)))])
    print(name, "stability: tau-b, tau-a of auto and of accuracy", np.mean(gains, axis=0), flush=True)


def taus(one: Any, other: Any) -> tuple[float, float]:
    """Kendall's tau-b, which forgives ties, and tau-a, in which a tied pair is one in neither order."""
    n = len(one)
    same = np.sign(one[:, None] - one) * np.sign(other[:, None] - other)
    return kendalltau(one, other).statistic, same.sum() / (n * (n - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 21, 42])
    parser.add_argument("--only", nargs="+", default=[*OURS, "nearest", "boosted"])
    parser.add_argument("--stability", type=int, default=0, help="how many halvings")
    given = parser.parse_intermixed_args()
    done = json.loads(given.out.read_text()) if given.out.exists() else {}
    for name in given.tables or TABLES:
        for seed in given.seeds:
            losses(name, seed, given.only, done)
            given.out.write_text(json.dumps(done, indent=1) + "\n")
        if given.stability:
            stability(name, given.stability, done)
            given.out.write_text(json.dumps(done, indent=1) + "\n")


if __name__ == "__main__":
    main()
