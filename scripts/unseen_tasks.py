"""AUC of responses to unseen SWE-bench tasks, and coverage of their success rates, over random partitions.

python scripts/unseen_tasks.py [SEED …] [--repo] [--with NAME[:setting=value…]] [--dimensions K] [--draws N]
Five folds over tasks per seed. Dimensions and draws are those of bayes, and --with is bayes unless given.
The AUC is of all (agent, task) pairs of a held-out fold, averaged over folds, as it was published.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import camilla

FOLDS = 5
DATA = Path(os.environ.get("CAMILLA_DATA", "data"))


def auc(response: np.ndarray, score: np.ndarray) -> float:
    """The chance that a right response has the higher score."""
    rank, n_right = rankdata(score), response.sum()
    return float(
        (rank[response == 1].sum() - n_right * (n_right + 1) / 2) / (n_right * (len(rank) - n_right))
    )


def main() -> None:
    """Prints one line per partition, and the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", nargs="*", type=int, default=list(range(10)))
    parser.add_argument("--with", dest="diagnoser", default="bayes", help="a diagnoser with its settings")
    parser.add_argument("--repo", action="store_true", help="use the repository of a task as well")
    parser.add_argument("--dimensions", type=int, default=20)
    parser.add_argument("--draws", type=int, default=600)
    given = parser.parse_args()
    features = [DATA / "swebench_features/swebench_verified_features.parquet"] + [":repo"] * given.repo
    table = camilla.read(
        DATA / "swebench/swebench_verified_agents.parquet", rows="samples", ignore=["repo"], features=features
    )
    settings = {"dimensions": given.dimensions, "draws": given.draws} if given.diagnoser == "bayes" else {}
    rows = []
    for seed in given.seeds:
        order = np.random.default_rng(seed).permutation(table.n_samples)
        parts, pooled, start = [], [], time.process_time()
        for fold in range(FOLDS):
            held = np.sort(order[fold::FOLDS])
            seen = table.take_samples(np.setdiff1d(np.arange(table.n_samples), held))
            unseen = table.take_samples(held)
            found = camilla.diagnose(seen, given.diagnoser, **settings)
            new = found.predict_new(samples=unseen.sample_features)
            response = unseen.matrix()  # [learners, samples]
            chance = new.responses["probability"].to_numpy()  # learner by learner, in the order of the fit
            place = [table.learners.index(name) for name in new.learners["learner"]]
            response = response[place].ravel()
            constant = np.repeat(seen.learner_means().mean[place], len(held))
            rate = unseen.sample_means().mean
            low, high = (new.samples[end].to_numpy() for end in ("low", "high"))
            inside = ((rate >= low - 1e-9) & (rate <= high + 1e-9)).mean()
            parts.append((auc(response, chance), auc(response, constant), inside, (high - low).mean()))
            pooled.append((response, chance, constant))
        response, chance, constant = map(np.concatenate, zip(*pooled, strict=True))
        rows.append([*np.mean(parts, axis=0), auc(response, chance), (time.process_time() - start) / FOLDS])
        print(seed, *(f"{value:.4f}" for value in rows[-1]), flush=True)
    print("columns: seed, AUC per fold, of the constant, coverage, width, AUC pooled, CPU s per fold")
    print("mean", *(f"{value:.4f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
