"""A pool seen by families of learners."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from camilla.data.names import nearest
from camilla.errors import SettingError
from camilla.pools.description import Pool
from camilla.pools.results import Results


def only(pool: Pool, families: Sequence[str] | None) -> Pool:
    """The pool with the learners of some families; with all when none is named."""
    there = list(dict.fromkeys(learner.family for learner in pool.learners))
    for name in families or ():
        if name not in there:
            raise SettingError(f"the pool has no family {name!r}. {nearest(name, there)}")
    if not families:
        return pool
    return replace(pool, learners=[learner for learner in pool.learners if learner.family in families])


def summary(results: Results) -> pl.DataFrame:
    """Family by family: learners, fits, failures, warnings, CPU seconds, and how good they are.

    Accuracy for labels, MAE for values, AUC for scores (mean over data sets), each as mean and standard
    deviation over the learners.
    """
    fits = results.fits()
    cost = fits.group_by("family", maintain_order=True).agg(
        pl.col("learner").n_unique().alias("learners"),
        pl.len().alias("fits"),
        pl.col("error").is_not_null().sum().alias("failed"),
        (pl.col("warnings").list.len() > 0).sum().alias("warned"),
        pl.col("seconds").sum().round(1),
    )
    quality = learner_quality(results)
    measure = quality.columns[-1]
    spread = quality.group_by("family").agg(
        pl.col(measure).mean(), pl.col(measure).std(ddof=0).alias(f"{measure}_sd")
    )
    return cost.join(spread, on="family", how="left")


def learner_quality(results: Results) -> pl.DataFrame:
    """learner, family and its accuracy, MAE or mean AUC."""
    frame = results.predictions()
    names = [learner.name for learner in results.pool.learners]
    match results.pool.task:
        case "labels":
            measure = "accuracy"
            values = [(frame[name] == frame["truth"]).mean() for name in names]
        case "values":
            measure = "mae"
            values = [(frame[name] - frame["truth"]).abs().mean() for name in names]
        case "scores":
            measure = "auc"
            values = [_mean_auc(frame, name) for name in names]
    families = [learner.family for learner in results.pool.learners]
    return pl.DataFrame({"learner": names, "family": families, measure: pl.Series(values, dtype=pl.Float64)})


def _mean_auc(frame: pl.DataFrame, name: str) -> float | None:
    """Mann–Whitney, ties half; over the data sets the learner did not fail on."""
    rank = pl.col(name).rank("average")
    positive, n = pl.col("truth") == 1, pl.len()
    n_positive = positive.sum().cast(pl.Float64)
    auc = (rank.filter(positive).sum() - n_positive * (n_positive + 1) / 2) / (n_positive * (n - n_positive))
    one = frame.select("data_set", "truth", name).drop_nulls().group_by("data_set").agg(auc.alias("auc"))
    return one["auc"].mean()  # type: ignore[return-value]
