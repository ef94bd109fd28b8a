"""Do the intervals of bayes, which auto reads, cover? Worlds with a known truth, some wrong for the model.

    python scripts/posterior_coverage.py OUT.json [--worlds 200] [--jobs 2] [NAME …]

Writes for every world the shares of learners covered at 95 % (on these samples, on samples like these, the
bottom and top fifth, placed with all samples and with 30), the error of the ability over that of plain
accuracy, and how often A was better where P(A better than B) was said. docs/design/posterior.md quotes it.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from camilla.arrays import one_blas_thread, sigmoid
from camilla.fitting.layout import Layout, Size, layout_of
from camilla.models.bayes import Bayes
from camilla.statistics.posterior import chance_better, estimates, random_shares, shared_spread

FRESH = 20_000  # samples that stand for "samples like these"
NEW = 4  # learners placed in each world
WORLDS = {
    "30 × 300": ("plain", 30, 300),
    "30 % missing": ("missing", 30, 300),
    "guessing .2": ("guessing", 30, 300),
    "two dimensions": ("two", 30, 300),
    "12 × 1,000": ("plain", 12, 1000),
    "6 × 100": ("plain", 6, 100),
    "100 × 100": ("plain", 100, 100),
    "8 × 5,000": ("plain", 8, 5000),
    "clusters of ten": ("clusters", 30, 300),
    "fractional": ("fractional", 30, 300),
    "60 % copied": ("copied", 12, 200),
}


def logits(kind: str, ability: Any, n_samples: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Logits of so many new samples [samples, learners], and the cluster of each."""
    n = len(ability)
    if kind == "two":
        slope = np.abs(rng.standard_normal((n_samples, 2))) + 0.1
        hard = rng.standard_normal(n_samples) * slope.sum(axis=1) / 1.4
        return slope @ ability.T - hard[:, None], np.arange(n_samples)
    slope = np.exp(0.3 * rng.standard_normal(n_samples))[:, None]
    if kind != "clusters":
        return slope * (ability[:, 0] - rng.standard_normal((n_samples, 1))), np.arange(n_samples)
    cluster = np.arange(n_samples) // 10
    n_clusters = int(cluster.max()) + 1
    hard = 0.8 * rng.standard_normal(n_clusters)[cluster] + 0.6 * rng.standard_normal(n_samples)
    own = 0.5 * rng.standard_normal((n_clusters, n))  # what a learner makes of a cluster
    return slope * (ability[:, 0] - hard[:, None]) + own[cluster], cluster


def chances(kind: str, logit: Any) -> Any:
    return 0.2 + 0.8 * sigmoid(logit) if kind == "guessing" else sigmoid(logit)


def layout_for(response: Any) -> Layout:
    sample, learner = np.nonzero(~np.isnan(response))
    seen = response[sample, learner]
    return layout_of(
        learner, sample, seen, np.ones(len(seen)), n_learners=response.shape[1], n_samples=len(response)
    )


def missed(residual: Any, cluster: Any, shape: Any) -> Any:
    """What a diagnosis adds where it has clusters: Diagnosis._missed_of."""
    sample, learner = np.indices(residual.shape)
    variance = shared_spread(residual.ravel(), learner.ravel(), cluster[sample.ravel()])
    variance *= float(np.sum((np.bincount(cluster) / len(cluster)) ** 2))
    return np.sqrt(variance) * np.random.default_rng(1).standard_normal(shape)


def covered(draws: Any, truth: Any) -> Any:
    found = estimates(draws)
    return (found.low < truth) & (truth < found.high)


def world(name: str, seed: int) -> dict[str, Any]:
    """One world: what was covered, by how much abilities were off, what was said of pairs."""
    kind, n, m = WORLDS[name]
    rng = np.random.default_rng(seed)
    ability = rng.standard_normal((n + NEW, 2 if kind == "two" else 1))
    logit, cluster = logits(kind, ability, m, rng)
    p, beyond = chances(kind, logit), chances(kind, logits(kind, ability, FRESH, rng)[0]).mean(axis=0)
    response = rng.beta(4 * p, 4 * (1 - p)) if kind == "fractional" else (rng.random(p.shape) < p) * 1.0
    if kind == "copied":
        _copy(response, p, beyond, n, rng)
    if kind == "missing":
        response[rng.random(p.shape) < 0.3] = np.nan
    model = Bayes(Size(n, m, None, kind == "fractional"))
    with one_blas_thread():
        solution = model.solve(layout_for(response[:, :n]), np.random.default_rng(seed), lambda line: None)
        params = solution.params
        pool = model.pool(params, model.readout(params, None)).draws
        everything = np.arange(m)
        scores, truth = pool.on(everything), p[:, :n].mean(axis=0)
        like = pool.on(everything, random_shares(pool.n_draws, cluster))
        if kind == "clusters":
            like = np.clip(like + missed(response[:, :n] - sigmoid(params.logit), cluster, like.shape), 0, 1)
        hit = covered(scores, truth)
        order, fifth = np.argsort(truth), max(1, n // 5)
        pairs = [rng.choice(n, 2, replace=False) for _ in range(10)]
        out: dict[str, Any] = {
            "these": hit.tolist(),
            "like": covered(like, beyond[:n]).tolist(),
            "tails": hit[np.append(order[:fifth], order[-fifth:])].tolist(),
            "square": ((scores.mean(axis=0) - truth) ** 2).tolist(),
            "plain": ((np.nanmean(response[:, :n], axis=0) - truth) ** 2).tolist(),
            "pairs": [(chance_better(scores, a, b), bool(truth[a] > truth[b])) for a, b in pairs],
        }
        for label, most in (("all", m), ("30", 30)):
            out |= _placed(model, params, label, response[:, n:], p[:, n:], most, rng)
    return out


def _copy(response: Any, p: Any, beyond: Any, n: int, rng: np.random.Generator) -> None:
    """Each learner copies 60 % of its answers from one before it; chances and scores follow."""
    for i in range(1, n):
        source, copied = int(rng.integers(i)), rng.random(len(response)) < 0.6
        response[copied, i] = response[copied, source]
        for one in (p, beyond[None]):
            one[:, i] = 0.4 * one[:, i] + 0.6 * one[:, source]


def _placed(
    model: Bayes, params: Any, label: str, response: Any, p: Any, most: int, rng: np.random.Generator
) -> dict[str, Any]:
    hit, square, plain = [], [], []
    for x, chance in zip(response.T, p.T, strict=True):
        kept = rng.permutation(np.flatnonzero(~np.isnan(x)))[:most]
        weight = np.zeros(len(x))
        weight[kept] = 1
        level = model.level(params, model.place(params, weight, weight * np.nan_to_num(x)))
        scores = level.draws.on(np.arange(len(x)))
        hit.append(bool(covered(scores, chance.mean())[0]))
        square.append(float((scores.mean() - chance.mean()) ** 2))
        plain.append(float((x[kept].mean() - chance.mean()) ** 2))
    return {f"placed {label}": hit, f"placed {label} square": square, f"placed {label} plain": plain}


def summary(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    def mean(key: str) -> float:
        return float(np.mean(np.concatenate([one[key] for one in found])))

    pairs = np.array([pair for one in found for pair in one["pairs"]], float)
    said, better = (
        np.maximum(pairs[:, 0], 1 - pairs[:, 0]),
        np.where(pairs[:, 0] >= 0.5, pairs[:, 1], 1 - pairs[:, 1]),
    )
    edges = [(0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.01)]
    inside = [(said >= low) & (said < high) for low, high in edges]
    return {
        "world": name,
        "n_worlds": len(found),
        **{key: mean(key) for key in ("these", "like", "tails", "placed all", "placed 30")},
        "error over accuracy's": float(np.sqrt(mean("square") / mean("plain"))),
        "placed error over accuracy's": {
            label: float(np.sqrt(mean(f"placed {label} square") / mean(f"placed {label} plain")))
            for label in ("all", "30")
        },
        "P(A better)": [
            {"said": float(said[i].mean()), "came": float(better[i].mean()), "n": int(i.sum())}
            for i in inside
            if i.any()
        ],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_intermixed_args()
    done = json.loads(given.out.read_text()) if given.out.exists() else {}
    with ProcessPoolExecutor(given.jobs) as pool:
        for name in given.names or WORLDS:
            found = list(pool.map(partial(world, name), range(1000, 1000 + given.worlds), chunksize=2))
            done[name] = summary(name, found)
            given.out.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n")
            shown = {k: round(v, 3) for k, v in done[name].items() if isinstance(v, float)}
            print(name, shown, done[name]["placed error over accuracy's"], flush=True)


if __name__ == "__main__":
    main()
