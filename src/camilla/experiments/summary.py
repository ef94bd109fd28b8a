"""Means over seeds, with how far they may be off."""

import numpy as np
import polars as pl

GROUP = ["table", "data_hash", "diagnoser", "size", "comparison", "score"]
RANGES = dict.fromkeys(("kendall", "spearman", "tau_a"), (-1.0, 1.0)) | {"log_loss": (0.0, np.inf)}
"""Of scores that do not end at 0 and 1."""


def experiment_summary(results: pl.DataFrame) -> pl.DataFrame:
    """Mean of every score over seeds; low and high are its 95 % interval (Student's t over seeds).

    Intervals are cut where their score ends: no correlation is above 1. With one seed there is no interval.
    seconds is the mean CPU time of a task. What was computed on other data under the same name, or by another
    version of camilla, is a row of its own.
    """
    from scipy.stats import t as student  # here, because it costs half a second to import

    grouped = results.group_by("experiment", *GROUP, "camilla", maintain_order=True).agg(
        pl.col("value").mean().alias("mean"),
        pl.col("value").std().alias("sd"),
        pl.len().cast(pl.Int64).alias("seeds"),
        pl.col("seconds").mean(),
    )
    n = grouped["seeds"].to_numpy()
    reach = np.where(n > 1, student.ppf(0.975, np.maximum(n - 1, 1)) / np.sqrt(n), np.nan)
    half = pl.col("sd") * pl.Series(reach)
    ranges = [RANGES.get(score, (0.0, 1.0)) for score in grouped["score"]]
    least, most = (pl.Series([each[end] for each in ranges], dtype=pl.Float64) for end in (0, 1))
    ends = {
        "low": (pl.col("mean") - half).clip(least, most),
        "high": (pl.col("mean") + half).clip(least, most),
    }
    return grouped.with_columns(**ends).select(
        "experiment", *GROUP, "mean", "low", "high", "sd", "seeds", "seconds", "camilla"
    )


def told_apart(results: pl.DataFrame) -> pl.DataFrame:
    """Results whose tables have data hash and version in front of their name where an experiment has several.

    Whoever draws by name then draws them apart.
    """
    marks = [
        pl.when(pl.col(column).n_unique().over("experiment", "table") > 1).then(mark).otherwise(pl.lit(""))
        for column, mark in (
            ("data_hash", pl.format("data {}, ", pl.col("data_hash").str.head(8))),
            ("camilla", pl.format("camilla {}, ", "camilla")),
        )
    ]
    return results.with_columns(table=pl.concat_str(*marks, "table"))


def wide(means: pl.DataFrame, scores: tuple[str, ...], by: tuple[str, ...]) -> pl.DataFrame:
    """One row a group, with the columns score, score_low and score_high of each score it has."""
    there = [score for score in scores if score in means["score"]]
    frame = means.select(*by, "seeds").unique(maintain_order=True)
    for score in there:
        part = means.filter(pl.col("score") == score).select(
            *by, pl.col("mean").alias(score), pl.col("low").alias(f"{score}_low"),
            pl.col("high").alias(f"{score}_high"),
        )  # fmt: skip
        frame = frame.join(part, on=by, how="left", nulls_equal=True, maintain_order="left")
    return frame
