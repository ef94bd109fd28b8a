"""Results of experiments as the page draws them: dots with intervals, lines with bands."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from camilla.data.names import shown
from camilla.errors import DataError
from camilla.experiments.results import read_results
from camilla.experiments.summary import experiment_summary, told_apart

WORDS = {
    "reliability": "How well diagnosers predict responses they have not seen, over seeds.",
    "rank-consistency": "Whether ability orders learners as mean responses do, also those no fit saw.",
    "rank-stability": "Whether abilities from disjoint sets of samples order the learners alike.",
}
SCORES = {
    "reliability": ("auc", "acc", "f1", "rmse", "mae", "log_loss"),
    "rank-consistency": ("kendall", "spearman"),
    "rank-stability": ("kendall",),
}
NAMES = {"auc": "AUC", "acc": "accuracy", "f1": "F1", "rmse": "RMSE", "mae": "MAE", "log_loss": "log loss",
         "kendall": "Kendall's τ", "spearman": "Spearman's ρ"}  # fmt: skip


def sections(path: Path) -> list[dict[str, Any]]:
    """One section for each experiment on each table; rows about single learners are left out.

    Other data under the same name, and results of another version of camilla, have sections of their own.
    """
    results = told_apart(read_results(path)).filter(pl.col("experiment").is_in(list(WORDS)))
    if results.is_empty():
        raise DataError(
            f"{path}: has no results of {', '.join(WORDS)}. Make some with camilla experiment NAME TABLE."
        )
    means = experiment_summary(results)
    made = [
        _section(name, table, part, results.filter(pl.col("experiment") == name, pl.col("table") == table))
        for (name, table), part in means.group_by("experiment", "table", maintain_order=True)
    ]
    return sorted(made, key=lambda section: list(WORDS).index(section["name"]))


def _section(name: str, table: str, means: pl.DataFrame, rows: pl.DataFrame) -> dict[str, Any]:
    draw = _stability if name == "rank-stability" else _dots
    made = {name: sorted(set(rows[name].drop_nulls())) for name in ("data_hash", "camilla", "versions")}
    made["versions"] = [json.loads(text) for text in made["versions"]]
    told = means.drop("experiment", "table", "data_hash", "camilla")
    columns = [column for column in told.columns if not told[column].is_null().all()]
    return {
        "name": name,
        "title": f"{name} on {shown(table)}",
        "words": [WORDS[name]],
        "pictures": [one for score in SCORES[name] for one in draw(means, score)],
        "columns": columns,
        "rows": [list(row) for row in means.select(columns).iter_rows()],
        "provenance": made | {"seeds": sorted(set(rows["seed"].to_list())), "rows": rows.height},
    }


def _dots(means: pl.DataFrame, score: str) -> list[dict[str, Any]]:
    """One picture a comparison: a dot a diagnoser."""
    part = means.filter(pl.col("score") == score)
    lower = score in ("rmse", "mae", "log_loss")
    return [
        _picture(score, comparison, "dots", lower)
        | {
            "series": [
                _series(row["diagnoser"], [row], "seeds")
                for row in rows.sort("mean", descending=not lower).to_dicts()
            ]
        }
        for (comparison,), rows in part.group_by("comparison", maintain_order=True)
    ]


def _stability(means: pl.DataFrame, score: str) -> list[dict[str, Any]]:
    """One picture a comparison: a line a diagnoser over the size of the partition."""
    part = means.filter(pl.col("score") == score)
    return [
        _picture(score, comparison, "lines", False)
        | {
            "series": [
                _series(name, lines.sort("size").to_dicts(), "size")
                for (name,), lines in rows.group_by("diagnoser", maintain_order=True)
            ]
        }
        for (comparison,), rows in part.group_by("comparison", maintain_order=True)
    ]


def _picture(score: str, comparison: str | None, kind: str, lower: bool) -> dict[str, Any]:
    label = NAMES.get(score, score)
    return {
        "title": label if comparison is None else f"{label}, {comparison}",
        "note": "Lower is better." if lower else "Higher is better.",
        "x": "samples in the partition",
        "y": label,
        "kind": kind,
    }


def _series(name: str, rows: list[dict[str, Any]], x: str) -> dict[str, Any]:
    columns = {"x": x, "value": "mean", "low": "low", "high": "high"}
    return {"name": name} | {key: [row[column] for row in rows] for key, column in columns.items()}
