"""Leaderboards, comparisons and experiments as sections of the report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from camilla.errors import DataError
from camilla.experiments.results import experiment_summary, read_results, told_apart
from camilla.names import name_index, shown
from camilla.ranking.leaderboard import Leaderboard
from camilla.show.report.content import of_comparison
from camilla.show.report.verdicts import (
    board_verdict,
    comparison_verdict,
    experiment_verdict,
    ranking_verdict,
    said,
)
from camilla.statistics.wald import differences

MOST_PAIRS = 20_000  # dots of the fit; beyond, every so many by prediction
MOST_PLAYERS = 200  # of the matrix of win probabilities


def board_section(name: str, folder: Path) -> dict[str, Any]:
    """Rows, ties, win probabilities, fit and notes."""
    board = Leaderboard.load(folder)
    document = json.loads((folder / "leaderboard.json").read_text(encoding="utf-8"))
    rows = board.rows()
    place = name_index(board.players)
    pairs = board.predictions()
    turn = pairs.predicted < 0.5
    predicted = np.where(turn, 1 - pairs.predicted, pairs.predicted)
    empirical = np.where(turn, 1 - pairs.empirical, pairs.empirical)
    step = -(-len(predicted) // MOST_PAIRS)
    chosen = np.argsort(predicted, kind="stable")[::step]
    return {
        "name": name,
        "player": list(board.players),
        **{column: rows[column].to_numpy() for column in ("epp", "low", "high", "p_beats_average")},
        "rank_low": rows["rank_low"].to_numpy().astype(np.uint32),
        "rank_high": rows["rank_high"].to_numpy().astype(np.uint32),
        "ties": [[place[player] for player in group] for group in board.tie_groups],
        "win": _win_probabilities(board),
        "fit": {
            "deviance": board.fit.deviance,
            "df": board.fit.df,
            "p_value": board.fit.p_value,
            "p_value_rounds": document.get("p_value_rounds"),
            "units": board.fit_units,
            "pairs": len(predicted),
            "first": np.where(turn, pairs.second, pairs.first)[chosen].astype(np.uint16),
            "second": np.where(turn, pairs.first, pairs.second)[chosen].astype(np.uint16),
            "predicted": predicted[chosen],
            "empirical": empirical[chosen],
            "played": pairs.played[chosen],
        },
        "level": board.level,
        "verdict": said(board_verdict(board)),
        "notes": list(board.notes),
        "provenance": dict(board.provenance),
    }


def _win_probabilities(board: Leaderboard) -> dict[str, Any]:
    """P(row beats column) and its standard error in logits, of the first players."""
    n = min(len(board.players), MOST_PLAYERS)
    epp = board.epp[:n]
    se = None
    if board.covariance is not None:
        se = board.critical * differences(epp, board.covariance[:n, :n]).se
    return {"players": n, "half": se}


MOST_DOTS = 40


def ranking_section(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Learners by mean response."""
    rows = document["learners"]
    level = _level(document["level"])
    words = [
        f"{len(rows)} learners by mean response, every pair tested on the samples both answered, {level}."
    ]
    dots = [dot(row["learner"], row["mean"], row) for row in rows[:MOST_DOTS]]
    picture = comparison_picture(
        "Mean response" + (f", first {MOST_DOTS}" if rows[MOST_DOTS:] else ""), f"{level} intervals", dots
    )
    page = comparison_page(name, f"ranking {name}", words, [picture], rows, document)
    return page | {"verdict": said(ranking_verdict(document))}


def comparison_section(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Two learners, overall and by task, with the samples that flipped."""
    a, b, overall = document["a"], document["b"], document["overall"]
    words = [f"Differences are {b} less {a}."]
    effects = [("all samples", overall)] + [(str(one["task"]), one) for one in document["tasks"]]
    dots = [dot(label, one["difference"], one) for label, one in effects[: MOST_DOTS + 1]]
    picture = comparison_picture("Difference", f"Above 0: {b} is better.", dots)
    picture |= {"zero": True, "y": "difference of mean responses"}
    called = {"a": a, "b": b}
    flipped = [{called.get(key, key): value for key, value in row.items()} for row in document["flipped"]]
    page = comparison_page(name, f"{b} against {a}", words, [picture], flipped, document)
    shown_samples = {"shown": of_comparison(document), "learners": [a, b]}
    return page | shown_samples | {"verdict": said(comparison_verdict(document))}


def _level(level: float) -> str:
    return f"{100 * level:g}\N{NO-BREAK SPACE}%"


def dot(name: str, value: float, row: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "x": [0], "value": [value], "low": [row["low"]], "high": [row["high"]]}


def comparison_picture(title: str, note: str, dots: list[dict[str, Any]]) -> dict[str, Any]:
    return {"title": title, "note": note, "x": "", "y": title.lower(), "kind": "dots", "series": dots}


def comparison_page(
    name: str, title: str, words: list[str], pictures: list[Any], rows: list[Any], document: dict[str, Any]
) -> dict[str, Any]:
    columns = [key for key in (rows[0] if rows else {}) if any(row[key] is not None for row in rows)]
    return {
        "name": name,
        "title": title,
        "words": words + document["notes"],
        "pictures": pictures,
        "columns": columns,
        "rows": [[row[column] for column in columns] for row in rows],
        "provenance": document["provenance"],
    }


MEASURE_WORDS = {
    "reliability": "How well diagnosers predict held-out responses, over seeds.",
    "rank-consistency": "Whether ability orders learners as mean responses do, in sample and held out.",
    "rank-stability": "Whether abilities from disjoint sets of samples order the learners alike.",
}
JUDGED = {"reliability": "log_loss", "rank-consistency": "kendall", "rank-stability": "kendall"}
"""The score of an experiment's verdict."""
SCORES = {
    "reliability": ("auc", "acc", "f1", "rmse", "mae", "log_loss"),
    "rank-consistency": ("kendall", "spearman"),
    "rank-stability": ("kendall",),
}
NAMES = {"auc": "AUC", "acc": "accuracy", "f1": "F1", "rmse": "RMSE", "mae": "MAE", "log_loss": "log loss",
         "kendall": "Kendall's τ", "spearman": "Spearman's ρ"}  # fmt: skip


def experiment_sections(path: Path) -> list[dict[str, Any]]:
    """One section for each experiment on each table; rows about single learners are left out.

    Other data under the same name, and results of another version of camilla, have sections of their own.
    """
    results = told_apart(read_results(path)).filter(pl.col("experiment").is_in(list(MEASURE_WORDS)))
    if results.is_empty():
        raise DataError(
            f"{path}: has no results of {', '.join(MEASURE_WORDS)}. "
            "Make some with camilla experiment NAME TABLE."
        )
    means = experiment_summary(results)
    made = [
        _experiment_page(
            name, table, part, results.filter(pl.col("experiment") == name, pl.col("table") == table)
        )
        for (name, table), part in means.group_by("experiment", "table", maintain_order=True)
    ]
    return sorted(made, key=lambda section: list(MEASURE_WORDS).index(section["name"]))


def _experiment_page(name: str, table: str, means: pl.DataFrame, rows: pl.DataFrame) -> dict[str, Any]:
    draw = _stability if name == "rank-stability" else _dots
    made = {name: sorted(set(rows[name].drop_nulls())) for name in ("data_hash", "camilla", "versions")}
    made["versions"] = [json.loads(text) for text in made["versions"]]
    told = means.drop("experiment", "table", "data_hash", "camilla")
    columns = [column for column in told.columns if not told[column].is_null().all()]
    score = JUDGED[name]
    verdict = experiment_verdict(name, score, NAMES[score], rows)
    return {
        "name": name,
        "title": f"{name} on {shown(table)}",
        "words": [MEASURE_WORDS[name]],
        "verdict": None if verdict is None else said(verdict),
        "pictures": [one for score in SCORES[name] for one in draw(means, score)],
        "columns": columns,
        "rows": [list(row) for row in means.select(columns).iter_rows()],
        "provenance": made | {"seeds": sorted(set(rows["seed"].to_list())), "rows": rows.height},
    }


def _dots(means: pl.DataFrame, score: str) -> list[dict[str, Any]]:
    """One picture per comparison with a dot for each diagnoser."""
    part = means.filter(pl.col("score") == score)
    lower = score in ("rmse", "mae", "log_loss")
    return [
        _experiment_picture(score, comparison, "dots", lower)
        | {
            "series": [
                _series(row["diagnoser"], [row], "seeds")
                for row in rows.sort("mean", descending=not lower).to_dicts()
            ]
        }
        for (comparison,), rows in part.group_by("comparison", maintain_order=True)
    ]


def _stability(means: pl.DataFrame, score: str) -> list[dict[str, Any]]:
    """One picture per comparison: a line for each diagnoser over the size of the partition."""
    part = means.filter(pl.col("score") == score)
    return [
        _experiment_picture(score, comparison, "lines", False)
        | {
            "series": [
                _series(name, lines.sort("size").to_dicts(), "size")
                for (name,), lines in rows.group_by("diagnoser", maintain_order=True)
            ]
        }
        for (comparison,), rows in part.group_by("comparison", maintain_order=True)
    ]


def _experiment_picture(score: str, comparison: str | None, kind: str, lower: bool) -> dict[str, Any]:
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
