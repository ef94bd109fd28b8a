"""What experiments found: kept in one file, summarised over seeds."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from camilla.errors import FormatError
from camilla.provenance import versions
from camilla.statistics.intervals import student
from camilla.table.files import write_frame

SCHEMA: dict[str, Any] = {
    "experiment": pl.String,
    "table": pl.String,
    "data_hash": pl.String,
    "diagnoser": pl.String,
    "seed": pl.Int64,
    "size": pl.Int64,  # samples of a partition
    "comparison": pl.String,  # what abilities are held against
    "learner": pl.String,
    "other": pl.String,
    "skill": pl.String,
    "score": pl.String,
    "value": pl.Float64,
    "chosen": pl.String,  # diagnoser and settings, as JSON
    "converged": pl.Boolean,
    "seconds": pl.Float64,  # CPU seconds of the task, in every row of it
    "camilla": pl.String,
    "versions": pl.String,  # as JSON
}
ORDER = (
    "experiment", "table", "data_hash", "diagnoser", "size", "seed", "camilla",
    "comparison", "learner", "other", "skill", "score",
)  # fmt: skip


def empty() -> pl.DataFrame:
    """No rows yet."""
    return pl.DataFrame(schema=SCHEMA)


def read_results(path: Path) -> pl.DataFrame:
    """What is stored so far; nothing where there is no file."""
    if not path.exists():
        return empty()
    try:
        frame = pl.read_parquet(path, glob=False)
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{path}: cannot be read as Parquet ({error}). Give another file.") from error
    if dict(frame.schema) != SCHEMA:
        raise FormatError(
            f"{path}: is not a file of experiments: its columns are {', '.join(frame.columns)}. Give "
            "another file."
        )
    return frame


def write_results(frame: pl.DataFrame, path: Path) -> None:
    """Sorted by key, so that the order in which tasks ended leaves no trace."""
    write_frame(frame.sort(ORDER, nulls_last=False), path)


def rows_of(
    key: dict[str, Any], rows: list[dict[str, Any]],
    *, chosen: dict[str, Any], converged: bool | None, seconds: float,
) -> pl.DataFrame:  # fmt: skip
    """A task's rows with its key and provenance."""
    made = key | {
        "chosen": json.dumps(chosen),
        "converged": converged,
        "seconds": seconds,
        **experiment_provenance(),
    }
    return pl.DataFrame([made | row for row in rows], schema=SCHEMA)


@cache
def experiment_provenance() -> dict[str, str]:
    """Versions of what computes."""
    found = versions("jax")
    return {"camilla": found.pop("camilla"), "versions": json.dumps(found)}


UNSEEN = ("unseen-samples", "unseen-learners", "unseen-tasks")
GROUP = ["table", "data_hash", "diagnoser", "size", "comparison", "score"]
RANGES = dict.fromkeys(("kendall", "spearman", "tau_a"), (-1.0, 1.0)) | {"log_loss": (0.0, np.inf)}
"""Of scores that do not end at 0 and 1."""


def experiment_summary(results: pl.DataFrame) -> pl.DataFrame:
    """Summarises results of `experiment` over seeds.

    Intervals are cut at the ends of a score's range: no correlation is above 1. With one seed there is no
    interval, but for unseen samples, learners and tasks: their intervals are over what was held out, and the
    mean of their ends over seeds is given. Results on other data with the same name, or from another
    version of Camilla, have rows of their own.

    Parameters
    ----------
    results : polars.DataFrame
        What `experiment` returned.

    Returns
    -------
    polars.DataFrame
        Columns mean, low and high (95 % interval, Student's t over seeds or over what was held out), sd,
        seeds and seconds (mean CPU time) for each diagnoser and score.

    Examples
    --------
    >>> table = camilla.simulate(10, 60, seed=1).table
    >>> results = camilla.experiment("reliability", table, diagnosers=["vanilla"], seeds=(1, 2))
    >>> camilla.experiment_summary(results)["seeds"].unique().to_list()
    [2]
    """
    grouped = results.group_by("experiment", *GROUP, "camilla", maintain_order=True).agg(
        pl.col("value").mean().alias("mean"),
        pl.col("value").std().alias("sd"),
        pl.len().cast(pl.Int64).alias("seeds"),
        pl.col("seconds").mean(),
    )
    n = grouped["seeds"].to_numpy()
    reach = student(0.0, np.where(n > 1, 1 / np.sqrt(n), np.nan), np.maximum(n - 1, 1)).high
    half = pl.col("sd") * pl.Series(reach)
    ranges = [RANGES.get(score, (0.0, 1.0)) for score in grouped["score"]]
    least, most = (pl.Series([each[end] for each in ranges], dtype=pl.Float64) for end in (0, 1))
    ends = {
        "low": (pl.col("mean") - half).clip(least, most),
        "high": (pl.col("mean") + half).clip(least, most),
    }
    frame = grouped.with_columns(**ends).select(
        "experiment", *GROUP, "mean", "low", "high", "sd", "seeds", "seconds", "camilla"
    )
    return _with_stored_ends(frame)


def _with_stored_ends(summary: pl.DataFrame) -> pl.DataFrame:
    """Scores that came with ends of their own, in rows of scores named _low and _high, with those."""
    score = pl.col("score")
    is_end = pl.col("experiment").is_in(UNSEEN) & score.str.contains("_(low|high)$")
    if not summary.select(is_end.any()).item():
        return summary
    keys = ["experiment", *GROUP, "camilla"]
    ends = summary.filter(is_end).with_columns(
        end=score.str.extract("_(low|high)$"), score=score.str.replace("_(low|high)$", "")
    )
    ends = ends.select(*keys, "end", "mean").pivot(
        "end", index=keys, values="mean", aggregate_function="first"
    )
    own = summary.filter(~is_end)
    found = own.join(ends, on=keys, how="left", nulls_equal=True, maintain_order="left", suffix="_own")
    stored = pl.col("experiment").is_in(UNSEEN)
    return found.with_columns(
        pl.when(stored).then(pl.col(f"{end}_own")).otherwise(pl.col(end)).alias(end)
        for end in ("low", "high")
    ).select(summary.columns)


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
    """One row per group, with the columns score, score_low and score_high of each score it has."""
    there = [score for score in scores if score in means["score"]]
    frame = means.select(*by, "seeds").unique(maintain_order=True)
    for score in there:
        part = means.filter(pl.col("score") == score).select(
            *by, pl.col("mean").alias(score), pl.col("low").alias(f"{score}_low"),
            pl.col("high").alias(f"{score}_high"),
        )  # fmt: skip
        frame = frame.join(part, on=by, how="left", nulls_equal=True, maintain_order="left")
    return frame
