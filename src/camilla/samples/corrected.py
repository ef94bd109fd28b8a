"""What broken samples do to the result: boards without them, re-keyed or weighted; the corrected table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.display import brief, counted, listed
from camilla.errors import DataError
from camilla.learners.rank import rank
from camilla.samples.answers import answers_of_table
from camilla.table.files import whole_file
from camilla.table.responses import ResponseTable

FEWEST_LEFT = 2  # samples that a board needs


class Effect(NamedTuple):
    """`board` has one row per learner: its mean and rank with all samples, and without the broken ones."""

    board: pl.DataFrame
    sentences: tuple[str, ...]


def effect(
    ordered: ResponseTable, broken: NDArray[np.bool_], chance: Floats | None, rekeyed: NDArray[np.bool_]
) -> Effect:
    """Boards with all samples, without the `broken`, with those of `rekeyed` scored by the answer that most
    of those give who fail them, and weighted by 1 − `chance` of being broken."""
    if not broken.any():
        return Effect(pl.DataFrame(), ("No sample is broken as far as is known: the board stays as it is.",))
    if (~broken).sum() < FEWEST_LEFT:
        raise DataError("nearly every sample counts as broken: too few are left to rank learners by.")
    matrix = ordered.matrix()
    means = {"all": np.nanmean(matrix, axis=1), "without": np.nanmean(matrix[:, ~broken], axis=1)}
    again = _rekeyed(ordered, matrix, rekeyed)
    if again is not None:
        means["rekeyed"] = np.nanmean(again, axis=1)
    if chance is not None:
        weight = ~np.isnan(matrix) * (1 - chance)
        means["weighted"] = (np.nan_to_num(matrix) * weight).sum(axis=1) / weight.sum(axis=1)
    columns: dict[str, Any] = {"learner": ordered.learners}
    for way, values in means.items():
        columns[f"rank_{way}"] = pl.Series(-values.round(12)).rank("min").cast(pl.Int64)
        columns[f"mean_{way}"] = values
    board = pl.DataFrame(columns).sort("rank_without", "learner")
    return Effect(board, _sentences(ordered, broken, board))


def _rekeyed(ordered: ResponseTable, matrix: Floats, which: NDArray[np.bool_]) -> Floats | None:
    """Responses to some samples by the most frequent wrong answer; None where answers are not known."""
    answers = answers_of_table(ordered)
    if answers is None or not which.any():
        return None
    lead = answers.leading(matrix).answer
    said = answers.frame.with_columns(lead=lead.gather(answers.frame["sample"]))
    said = said.filter(pl.Series(which).gather(said["sample"])).with_columns(
        right=pl.col("answer") == pl.col("lead")
    )
    right = said.group_by("learner", "sample").agg(pl.col("right").mean())
    again = matrix.copy()
    again[right["learner"].to_numpy(), right["sample"].to_numpy()] = right["right"].to_numpy()
    return again


def _sentences(ordered: ResponseTable, broken: NDArray[np.bool_], board: pl.DataFrame) -> tuple[str, ...]:
    before, after = rank(ordered), rank(ordered.take_samples(np.flatnonzero(~broken)))
    moved = board.filter(pl.col("rank_all") != pl.col("rank_without"))
    first = [_first(found.rows) for found in (before, after)]
    verdict = "The verdict stays" if set(first[0]) == set(first[1]) else "The verdict changes"
    lines = [
        f"Without {counted(int(broken.sum()), 'broken sample')}, {moved.height} of {board.height} learners "
        f"change their rank. {verdict}: {_led(first[1])}"
        + ("." if verdict.endswith("stays") else f"; with all samples, {_led(first[0])}.")
    ]
    if moved.height:
        far = moved.with_columns(by=(pl.col("rank_all") - pl.col("rank_without")).abs())
        row = far.sort("by", "learner", descending=[True, False]).row(0, named=True)
        way = f"from rank {row['rank_all']} to {row['rank_without']}"
        lines.append(f"{brief(row['learner'])} moves farthest, {way}.")
    return tuple(lines)


def _first(rows: pl.DataFrame) -> list[str]:
    """The learners that may have rank 1."""
    return rows.filter(pl.col("rank_low") == 1)["learner"].to_list()


def _led(first: Sequence[str]) -> str:
    if len(first) == 1:
        return f"{first[0]} is first"
    return f"{counted(len(first), 'learner')} may be first ({listed(first, 3)})"


def write_corrected(
    table: ResponseTable, gone: Sequence[str], path: Path, made: dict[str, Any], why: dict[str, str]
) -> Path:
    """Writes the table without some samples, and beside it which these are, why, and of what table."""
    import json

    left = np.flatnonzero(~np.isin(table.samples, list(gone)))
    table.take_samples(left).write(path)
    document = {
        "made_from": made, "left_out": [{"sample": name, "why": why[name]} for name in sorted(gone)],
        "samples": len(left),
    }  # fmt: skip
    beside = path.with_suffix(".provenance.json")
    with whole_file(beside) as draft:
        draft.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return beside
