"""Adaptive testing played over a stored log: how well a share of the samples tells the full-table score."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit
from scipy.stats import kendalltau

from camilla.adaptive.bank import Bank, Floats
from camilla.adaptive.playing import calibrate_with_misfit, play
from camilla.compare.provenance import made_of
from camilla.data.responses import ResponseTable
from camilla.diagnoser import Watch
from camilla.errors import DataError, SettingError

SHARES = (0.05, 0.10, 0.15, 0.25)
RANDOM_DRAWS = 10  # random subsets of each size a split
FEWEST = 3  # learners to test


@dataclass(frozen=True, eq=False)
class Replay:
    """`shares`: one row a share of samples, the mean over splits with its 95 % interval."""

    shares: pl.DataFrame
    splits: pl.DataFrame
    provenance: dict[str, Any]


def replay(
    table: ResponseTable, *,
    shares: tuple[float, ...] = SHARES, calibration: float = 0.8, splits: int = 10,
    dimensions: int | None = None, seed: int = 0, watch: Watch = lambda line: None,
) -> Replay:  # fmt: skip
    """Samples calibrated on a random share of the learners, the others tested by their stored responses.

    Kendall's τ-b and mean absolute error with the full-table accuracy of the tested learners, beside the
    plain accuracy on random subsets of the same size. A learner is asked only what it has a response to, and
    its full-table accuracy is over these; those with fewer responses than would be asked are not tested.
    """
    if not shares or not all(0 < share <= 1 for share in shares):
        raise SettingError(f"shares lie in (0, 1]; got {shares}.")
    if not 0 < calibration < 1 or splits < 1:
        raise SettingError(
            f"calibration is a share in (0, 1) and splits at least 1; got {calibration}, {splits}."
        )
    n_calibrated = round(calibration * table.n_learners)
    if n_calibrated < 3 or table.n_learners - n_calibrated < FEWEST:
        raise DataError(
            f"{table.n_learners} learners cannot be split into {n_calibrated} to calibrate on and "
            f"{table.n_learners - n_calibrated} to test; at least 3 and 3 were wanted."
        )
    ordered = table.canonical().table
    matrix = ordered.matrix()
    rows = []
    for number in range(splits):
        watch(f"split {number + 1} of {splits}")
        rng = np.random.default_rng([seed, number])
        order = rng.permutation(table.n_learners)
        bank = calibrate_with_misfit(
            ordered.take_learners(np.sort(order[:n_calibrated])), dimensions=dimensions, seed=seed
        )
        rows += _compared(bank, matrix[np.sort(order[n_calibrated:])], shares, rng, number)
    each = pl.DataFrame(rows)
    made = made_of(
        table, shares=list(shares), calibration=calibration, splits=splits, seed=seed,
        dimensions=bank.models[-1].loading.shape[1],
    )  # fmt: skip
    return Replay(_summary(each), each, made)


def _compared(
    bank: Bank, matrix: Floats, shares: tuple[float, ...], rng: np.random.Generator, split: int
) -> list[dict[str, Any]]:
    stops = [max(1, round(share * matrix.shape[1])) for share in shares]
    matrix = matrix[(~np.isnan(matrix)).sum(axis=1) >= max(stops)]
    if len(matrix) < FEWEST:
        raise DataError(
            f"{len(matrix)} of the tested learners have the {max(stops)} responses that would be asked of "
            f"them; {FEWEST} at least were wanted. Ask for smaller shares."
        )
    truth = np.nanmean(matrix, axis=1)
    adaptive = play(bank, matrix, stops)
    rows = []
    for k, (share, stop) in enumerate(zip(shares, stops, strict=True)):
        drawn = [_random_accuracy(matrix, stop, rng) for _ in range(RANDOM_DRAWS)]
        rows.append(
            {
                "split": split, "share": share, "samples": stop, "learners": len(truth),
                "kendall": tau(adaptive.score[k], truth),
                "mae": float(np.abs(adaptive.score[k] - truth).mean()),
                "covered": float(np.mean(np.abs(adaptive.score[k] - truth) <= 1.96 * adaptive.se[k])),
                "random_kendall": float(np.mean([tau(one, truth) for one in drawn])),
                "random_mae": float(np.mean([np.abs(one - truth).mean() for one in drawn])),
            }
        )  # fmt: skip
    return rows


def _random_accuracy(matrix: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Plain accuracy of each learner on the first of a random order that it has a response to."""
    key = np.where(np.isnan(matrix), np.inf, rng.random(matrix.shape[1]))
    chosen = np.argsort(key, axis=1)[:, :size]
    return np.take_along_axis(matrix, chosen, axis=1).mean(axis=1)


def tau(estimate: Floats, truth: Floats) -> float:
    """Kendall's τ-b."""
    return float(kendalltau(estimate, truth).statistic)


def _summary(each: pl.DataFrame) -> pl.DataFrame:
    """Means over splits; the interval is Student's t over splits, which share learners: read it as spread."""
    rows = []
    for (share, samples), part in each.group_by("share", "samples", maintain_order=True):
        row: dict[str, Any] = {"share": share, "samples": samples, "splits": part.height}
        for name in ("kendall", "random_kendall", "mae", "random_mae", "covered"):
            values = part[name].to_numpy()
            row[name] = float(values.mean())
            if name == "kendall":
                half = np.nan
                if len(values) > 1:
                    half = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
                low, high = np.clip([row[name] - half, row[name] + half], -1, 1)
                row |= {"kendall_low": float(low), "kendall_high": float(high)}
        rows.append(row)
    return pl.DataFrame(rows).with_columns(pl.col("kendall_low", "kendall_high").fill_nan(None))
