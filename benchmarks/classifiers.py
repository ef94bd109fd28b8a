"""Metrics of classifiers, and agreement of mastery

22 metrics of 300 classifiers on 5,000 samples, every tenth with ties. They are compared with scikit-learn and
SciPy, one column at a time, for the nine metrics that these packages have, at a given threshold. DOA and DOC
are for 248 classifiers on 352 samples with the preprint's seven attributes. The job `pair` goes from
responses and mastery to both, and counts every comparison of two classifiers one by one. Ceiling and Borda
score come from the same pass at little extra cost. The job `pooled` counts concordant pairs, exactly; its
peer is SciPy's kendalltau, once per sample and skill.
"""

from jobs import Row, best_of_three, phase, print_table, seconds, serve, times, versions

SCRIPT = __file__


def scores() -> tuple:
    """Labels [5000] and scores [5000, 300]; every tenth classifier has a hundred distinct scores only."""
    import numpy as np

    rng = np.random.default_rng(0)
    y = (rng.random(5000) < 0.3).astype(int)
    values = rng.normal(size=(5000, 300)) + y[:, None] * rng.random(300) * 3
    values[:, ::10] = np.round(values[:, ::10], 1)
    return y, values


def world() -> tuple:
    """Responses [248, 352], mastery [248, 7] and the preprint's attributes on sixteen data sets."""
    import numpy as np

    from camilla.classifiers import attribute_map

    rng = np.random.default_rng(1)
    mask = attribute_map(16).mask
    ability = rng.normal(size=(248, 1))
    return ability + rng.normal(size=(248, len(mask))), ability + rng.normal(size=(248, 7)), mask


def metrics_camilla() -> Row:
    with phase("import"):
        from camilla.classifiers.metrics import classifier_metrics
    y, values = scores()
    with phase("run"):
        found = classifier_metrics(y, values)
    return {
        "metrics": found.width - 1,
        "auc": found["AUC"][7],
        "versions": versions("camilla", "numpy", "polars"),
    }


def metrics_peer() -> Row:
    with phase("import"):
        import numpy as np
        from scipy import stats
        from sklearn import metrics
    y, values = scores()
    with phase("run"):
        rows = []
        for column in values.T:
            label = column >= np.quantile(column, 0.7)
            rows.append(
                [
                    metrics.roc_auc_score(y, column),
                    metrics.average_precision_score(y, column),
                    metrics.average_precision_score(1 - y, -column),
                    stats.ks_2samp(column[y == 1], column[y == 0], method="asymp").statistic,
                    stats.kendalltau(column, y).statistic,
                    metrics.accuracy_score(y, label),
                    metrics.balanced_accuracy_score(y, label),
                    metrics.matthews_corrcoef(y, label),
                    metrics.cohen_kappa_score(y, label),
                ]
            )
    return {"metrics": len(rows[0]), "auc": rows[7][0], "versions": versions("scikit-learn", "scipy")}


def pair() -> Row:
    with phase("import"):
        from camilla.statistics import agreement
    responses, mastery, mask = world()
    agreement.pair_agreement(responses[:9], mastery[:9], mask)
    with phase("run"):
        pairs = agreement.pair_agreement(responses, mastery, mask)
        doa = agreement.overall(agreement.doa(pairs.wins, mastery))
        doc = agreement.overall(pairs.doc)
    with phase("more"):
        agreement.ceiling(pairs.wins)
        agreement.doa(pairs.wins, agreement.borda(pairs.wins))
    return {"doa": doa, "doc": doc, "versions": versions("camilla", "numpy")}


def pooled() -> Row:
    with phase("import"):
        from camilla.statistics import agreement
        from camilla.statistics.concordance import pair_counts
    responses, mastery, mask = world()
    pair_counts(responses[:9], mastery[:9], mask)
    with phase("run"):
        counts = pair_counts(responses, mastery, mask)
        doa, doc = agreement.overall(counts.doa()), agreement.overall(counts.doc())
    return {"doa": doa, "doc": doc, "versions": versions("camilla", "numpy")}


def pooled_peer() -> Row:
    with phase("import"):
        import numpy as np
        from scipy.stats import kendalltau
    responses, mastery, mask = world()
    with phase("run"):
        share = np.full(mask.shape, np.nan)
        for j, k in zip(*np.nonzero(mask), strict=True):
            share[j, k] = (1 + kendalltau(responses[:, j], mastery[:, k]).statistic) / 2
        doa, doc = np.nanmean(np.nanmean(share, axis=0)), np.nanmean(np.nanmean(share, axis=1))
    return {"doa": float(doa), "doc": float(doc), "versions": versions("scipy")}


def main() -> list[Row]:
    runs = {job.__name__: best_of_three("run", SCRIPT, job.__name__) for job in JOBS}
    quickest = {"metrics_camilla": "metrics_camilla", "metrics_peer": "metrics_camilla", "pair": "pooled",
                "pooled": "pooled", "pooled_peer": "pooled"}  # fmt: skip
    names = {
        "metrics_camilla": "300 × 5,000, camilla, 22 metrics",
        "metrics_peer": "300 × 5,000, scikit-learn and SciPy by column, 9 metrics",
        "pair": "DOA and DOC, camilla, pair",
        "pooled": "DOA and DOC, camilla, pooled",
        "pooled_peer": "DOA and DOC, kendalltau by sample and skill",
    }
    rows = [
        {
            "job": names[name],
            "run, CPU s": seconds(run.phases["run"]),
            "relative to ours": times(run.phases["run"], runs[quickest[name]].phases["run"]),
            "ceiling and Borda, CPU s": seconds(run.phases["more"]) if "more" in run.phases else "–",
            "found": f"AUC {run.found['auc']:.6f}" if "auc" in run.found
            else f"DOA {run.found['doa']:.6f}, DOC {run.found['doc']:.6f}",
            "versions": run.found["versions"],
        }
        for name, run in runs.items()
    ]  # fmt: skip
    print_table("Metrics of classifiers, and agreement of mastery", rows)
    return rows


JOBS = (metrics_camilla, metrics_peer, pair, pooled, pooled_peer)

if __name__ == "__main__":
    serve(JOBS, main)
