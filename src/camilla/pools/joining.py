"""Learners that were run elsewhere, joined to a pool by their predictions on the same samples."""

from pathlib import Path

import numpy as np
import polars as pl

from camilla.data.responses import ResponseTable
from camilla.errors import DataError
from camilla.loaders.frames import read_frame

SAME = 0.005  # published truths are rounded to two decimals


def join_predictions(predictions: pl.DataFrame, file: Path) -> pl.DataFrame:
    """Adds the learners of a wide table of predictions: sample (or id), truth (or label), a column a learner.

    A learner that the pool has already stays the pool's.
    """
    other = read_frame(file)
    sample = next((name for name in ("sample", "id") if name in other.columns), None)
    truth = next((name for name in ("truth", "label") if name in other.columns), None)
    if sample is None or truth is None:
        raise DataError(f"{file}: columns sample (or id) and truth (or label) were wanted.")
    learners = [name for name in other.columns if name not in (sample, truth, *predictions.columns)]
    given = other.select(
        pl.col(sample).cast(pl.String).alias("sample"), pl.col(truth).alias("\0truth"), *learners
    )
    joined = predictions.select("sample", "truth").join(given, on="sample", how="left", validate="1:1")
    apart = np.abs(joined["truth"].to_numpy() - joined["\0truth"].to_numpy())
    if not (apart < SAME).all():
        at = int(np.argmin(apart < SAME))
        raise DataError(
            f"{file}: the truth of sample {joined['sample'][at]!r} is {joined['truth'][at]} in the pool and "
            f"{joined[chr(0) + 'truth'][at]} there; {(~(apart < SAME)).sum()} of {len(apart)} samples differ "
            "or are missing. The samples of both must be the same."
        )
    return predictions.hstack(joined.select(learners))


def error_responses(predictions: pl.DataFrame) -> ResponseTable:
    """Relative errors of every column that holds a learner's predictions."""
    learners = predictions.drop("data_set", "sample", "truth", "fold")
    return ResponseTable.from_errors(learners, predictions["truth"], samples=predictions["sample"].to_list())
