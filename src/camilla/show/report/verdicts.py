"""The verdict of a leaderboard, a ranking, a comparison or an experiment: one statement with its evidence."""

from typing import Any

import numpy as np
import polars as pl

from camilla.arrays import sigmoid
from camilla.names import shown
from camilla.ranking.leaderboard import Leaderboard
from camilla.show.report.statements import (
    Draft,
    Statement,
    decimal,
    p_text,
    percent,
    plain_text,
    points,
    ranks_text,
    three,
)
from camilla.statistics.clusters import spread_of
from camilla.statistics.intervals import student
from camilla.statistics.paired import student_p

HOLM = "Holm over all pairs for ties, over a player's own pairs for the ranks it may have"
LOWER = ("rmse", "mae", "log_loss")  # scores of which less is better


def said(statement: Statement) -> dict[str, Any]:
    """A statement without links, as the page is given it."""
    return statement.document(plain_text)


def board_verdict(board: Leaderboard) -> Statement:
    """Who leads a tournament, and whether that is sure."""
    n, level = len(board.players), percent(board.level, 0)
    first = shown(board.players[0])
    draft = Draft("epp highest", estimand="the chance of winning a match of a round like these")
    draft.names["leader"] = board.players[0]
    if board.spread is None or board.is_large or n < 2:
        draft.correction = "none: nothing is tested"
        draft.say(f"{first} has the highest EPP of ").count("players", n).say(" players.")
        return draft.proof(_match_counts(board) if n > 1 else None).done()
    rows, tied = board.rows(), _tied_with_first(board)
    draft.correction = f"Wald tests with rounds as units; {HOLM}"
    if rows["rank_high"][0] == 1:
        draft.kind = "epp sure lead"
        draft.say(f"{first} comes first of ").count("players", n).say(" players, and the lead is clear.")
    elif tied > 1:
        draft.kind = "epp tied lead"
        draft.say(f"{first} comes first, but ranks ").number("tied", tied, ranks_text(1, tied)).say(" of ")
        draft.count("players", n).say(" players cannot be told apart.")
    else:
        high = int(rows["rank_high"][0])
        draft.kind = "epp unsure lead"
        draft.say(f"{first} comes first of ").count("players", n).say(" players, but its rank may be ")
        draft.number("rank_high", high, ranks_text(1, high)).say(f" ({level}).")
    return draft.proof(_wins(board), _match_counts(board)).done()


def _tied_with_first(board: Leaderboard) -> int:
    """How many from the first down cannot be told apart, any two of them."""
    first = [group for group in board.tie_groups if group[0] == board.players[0]]
    return max((_run(group, board.players) for group in first), default=1)


def _run(group: tuple[str, ...], players: tuple[str, ...]) -> int:
    """How many of a group are the first players, one after the other."""
    same = [one == other for one, other in zip(group, players, strict=False)]
    return same.index(False) if False in same else len(group)


def _wins(board: Leaderboard) -> Statement | None:
    """How probably the first beats the second."""
    if board.covariance is None:
        return None
    gap = float(board.epp[0] - board.epp[1])
    covariance = board.covariance[:2, :2]
    half = board.critical * float(np.sqrt(max(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1], 0)))
    p, low, high = (float(sigmoid(np.array(x))) for x in (gap, gap - half, gap + half))
    draft = Draft("epp win", estimand="the chance of winning a match of a round like these")
    draft.correction = "none: one pair, rounds as units"
    draft.names |= {"first": board.players[0], "second": board.players[1]}
    draft.say(f"{shown(board.players[0])} beats {shown(board.players[1])}, the second, with probability ")
    return draft.interval("p", p, low, high, percent).say(".").done()


def _match_counts(board: Leaderboard) -> Statement | None:
    """How often the first two met, and who won."""
    pairs = board.predictions()
    met = np.flatnonzero(
        ((pairs.first == 0) & (pairs.second == 1)) | ((pairs.first == 1) & (pairs.second == 0))
    )
    if not len(met):
        return None
    at = int(met[0])
    share = float(pairs.empirical[at] if pairs.first[at] == 0 else 1 - pairs.empirical[at])
    played = float(pairs.played[at])
    draft = Draft("epp matches")
    draft.names |= {"first": board.players[0], "second": board.players[1]}
    draft.say("Of their ").number("played", played, f"{played:,.10g}")
    draft.say(" matches the first won ").number("won", share * played, f"{share * played:,.10g}")
    return draft.say("; a draw counts one half.").done()


def ranking_verdict(document: dict[str, Any]) -> Statement:
    """Who has the highest mean, and whether that is sure."""
    rows = document["learners"]
    first, n = rows[0], len(rows)
    draft = Draft("rank highest", estimand="mean response on samples like these")
    draft.correction = f"paired tests on shared samples, adjusted over all {n * (n - 1) // 2:,} pairs"
    draft.names["leader"] = first["learner"]
    name = shown(first["learner"])
    if first["rank_high"] == 1:
        draft.kind = "rank sure lead"
        draft.say(f"{name} comes first of ").count("learners", n).say(" learners, and the lead is clear.")
    else:
        tied = len({name for tie in document["ties"] if first["learner"] in tie for name in tie}) - 1
        draft.kind = "rank tied lead"
        sharing = sum(abs(row["mean"] - first["mean"]) < 1e-12 for row in rows) - 1
        if sharing:
            draft.say(f"{name} shares the highest mean with ").count("sharing", sharing)
            draft.say(" others, and " if sharing > 1 else " other, and ")
        else:
            draft.say(f"{name} has the highest mean, but ")
        draft.count("tied", tied).say(" of the other ").count("others", n - 1)
        draft.say(
            " learners cannot be told apart from it." if n > 2 else " learner cannot be told apart from it."
        )
    return draft.proof(*(_mean_of(row) for row in rows[:2])).done()


def _mean_of(row: dict[str, Any]) -> Statement:
    draft = Draft(
        "rank mean", estimand="mean response on samples like these", correction="none: single intervals"
    )
    draft.names["learner"] = row["learner"]
    low, high = (np.nan if row[end] is None else row[end] for end in ("low", "high"))
    draft.say(f"{shown(row['learner'])} has mean ").interval("mean", row["mean"], low, high, three)
    return draft.say(" on ").count("n", row["n"]).say(" samples.").done()


VERDICTS = {
    "better": "is better than",
    "worse": "is worse than",
    "probably better": "is probably better than",
    "probably worse": "is probably worse than",
    "tied": "cannot be told apart from",
    "too few samples": "cannot be told apart from",
}


def comparison_verdict(document: dict[str, Any]) -> Statement:
    """Whether the second learner is better, by how much, how surely."""
    a, b, overall = document["a"], document["b"], document["overall"]
    draft = Draft(f"compare {overall['verdict']}", estimand="difference of the two on samples like these")
    draft.correction = f"none: one pair; {overall['test']}"
    draft.names |= {"a": a, "b": b}
    low, high = (np.nan if overall[end] is None else overall[end] for end in ("low", "high"))
    draft.say(f"{shown(b)} {VERDICTS[overall['verdict']]} {shown(a)}: ")
    draft.interval("difference", overall["difference"], low, high, points).say(" points on ")
    draft.count("shared", overall["n"]).say(" shared samples (").number(
        "p", overall["p_value"], p_text(overall["p_value"])
    )
    draft.say(f", {overall['test']}).")
    proof = Draft("compare counts")
    proof.names |= {"a": a, "b": b}
    proof.count("won", overall["won"]).say(" : ").count("lost", overall["lost"])
    proof.say(f" samples on which {shown(b)} is above {shown(a)} and below it; means ")
    proof.number("mean_b", overall["mean_b"], three(overall["mean_b"])).say(" and ")
    proof.number("mean_a", overall["mean_a"], three(overall["mean_a"])).say(".")
    return draft.proof(proof.done()).done()


def experiment_verdict(name: str, score: str, label: str, rows: pl.DataFrame) -> Statement | None:
    """Which diagnoser has the best mean over seeds, and how it stands to the next one, seed by seed."""
    part = rows.filter(pl.col("score") == score)
    if part.is_empty():
        return None
    comparison = part["comparison"].drop_nulls().unique(maintain_order=True).to_list()
    if comparison:
        part = part.filter(pl.col("comparison") == comparison[0])
    largest = max(part["size"].drop_nulls().to_list(), default=None)
    if largest is not None:
        part = part.filter(pl.col("size") == largest)
    lower = score in LOWER
    means = part.group_by("diagnoser", maintain_order=True).agg(
        pl.col("value").mean().alias("mean"), pl.len().alias("seeds")
    )
    means = means.sort(pl.col("mean").round(12), "diagnoser", descending=[not lower, False])
    first = means.row(0, named=True)
    draft = Draft("experiment best", estimand=f"{label} over seeds of this experiment")
    draft.names |= {
        "diagnoser": first["diagnoser"],
        "score": score,
        "comparison": comparison[0] if comparison else "",
    }
    draft.say(f"{shown(first['diagnoser'])} has the {'lowest' if lower else 'highest'} {label}")
    draft.say(f" ({comparison[0]})" if comparison else "")
    draft.say("" if largest is None else f" with {largest:,} samples")
    draft.say(": ").number("mean", first["mean"], three(first["mean"])).say(" over ").count(
        "seeds", first["seeds"]
    )
    draft.say(" seed" if first["seeds"] == 1 else " seeds")
    if means.height == 1:
        draft.correction = "none: there is one diagnoser"
        return draft.say(".").done()
    second = means.row(1, named=True)
    draft.names["second"] = second["diagnoser"]
    draft.correction = "none: the first against the next, chosen after they were seen"
    draft.say(f"; next is {shown(second['diagnoser'])} with ").number(
        "next", second["mean"], three(second["mean"])
    )
    return draft.say(".").proof(_by_seed(part, first["diagnoser"], second["diagnoser"], label)).done()


def _by_seed(part: pl.DataFrame, first: str, second: str, label: str) -> Statement | None:
    one, other = (
        part.filter(pl.col("diagnoser") == name).select("seed", "value") for name in (first, second)
    )
    both = one.join(other, on="seed", suffix="_other")
    if both.height < 2:
        return None
    gap = (both["value"] - both["value_other"]).to_numpy()
    spread = spread_of(gap, None)
    ends = student(spread.mean, np.sqrt(spread.variance), spread.df)
    p = float(student_p(spread))
    draft = Draft(
        "experiment pair",
        estimand=f"mean difference of {label} over seeds",
        correction="none: one pair; Student's t over seeds",
    )
    draft.names |= {"first": first, "second": second}
    draft.say(f"{shown(first)} less {shown(second)}, seed by seed: ")
    draft.interval(
        "difference", float(gap.mean()), float(ends.low), float(ends.high), lambda x: decimal(x, 4)
    )
    return (
        draft.say(" over ")
        .count("seeds", both.height)
        .say(" seeds, ")
        .number("p", p, p_text(p))
        .say(".")
        .done()
    )
