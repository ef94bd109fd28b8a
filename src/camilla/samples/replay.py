"""Adaptive tests replayed over responses that are known, and what they would have saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import kendalltau

from camilla.arrays import Floats, Watch, rounded
from camilla.display import Grid, Part, Printable, intervals, percent, watching
from camilla.errors import DataError, SettingError
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.samples.bank import Answers, Bank, Score, after, at_start, best_next, calibrate, full_score
from camilla.statistics.intervals import Z, mean_interval
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

PLAY_BLOCK = 64  # learners played at a time, so that memory stays small
FOLDS = 5
MOST_HELD_OUT = 200  # learners: their squared errors' mean is then good to a tenth
LONGEST_TEST = 100  # samples, or a fifth of what learners have, after which the misfit is looked at


class ScoreErrors(NamedTuple):
    """Of held-out learners after a test: [learners] each."""

    off: Floats  # estimated score − full score
    se: Floats  # the models' own
    left: Floats  # share of the samples not seen


class Played(NamedTuple):
    """Estimated full-table scores after each number of samples: [stops, learners]."""

    score: Floats
    se: Floats


def play(bank: Bank, matrix: Floats, stops: list[int]) -> Played:
    """Every learner tested adaptively up to the largest stop; each must have as many responses."""
    parts = [
        _play(bank, matrix[start : start + PLAY_BLOCK], stops) for start in range(0, len(matrix), PLAY_BLOCK)
    ]
    return Played(*(np.concatenate(part, axis=1) for part in zip(*parts, strict=True)))


def _play(bank: Bank, matrix: Floats, stops: list[int]) -> Played:
    there = ~np.isnan(matrix)
    every = np.arange(len(matrix))
    response = np.where(there, matrix, 0.0)
    standing, unseen = at_start(bank, len(matrix)), there.copy()
    asked = np.empty((len(matrix), 0), np.int64)
    found: dict[int, Score] = {}
    for step in range(1, max(stops) + 1):
        chosen = best_next(bank, standing, unseen)
        unseen[every, chosen] = False
        asked = np.column_stack([asked, chosen])
        answers = response[every[:, None], asked]
        standing = after(bank, standing, asked, answers, most_steps=4)
        if step in stops:
            found[step] = full_score(bank, standing, Answers(asked, answers, unseen, there.sum(axis=1)))
    return Played(
        np.array([found[stop].score for stop in stops]), np.array([found[stop].se for stop in stops])
    )


def calibrate_with_misfit(
    table: ResponseTable,
    *,
    dimensions: int | None = None,
    seed: int = 0,
    watch: Watch = lambda line: None,
) -> Bank:
    """A bank whose misfit was seen on learners that it was not calibrated on, five folds of them.

    From 1,000 learners on one fold of 200 is enough.
    """
    watch("on all learners")
    bank = calibrate(table, dimensions=dimensions, seed=seed)
    stop = _length(table)
    order = np.random.default_rng(seed).permutation(table.n_learners)
    folds = np.array_split(order, min(FOLDS, table.n_learners))
    if table.n_learners >= FOLDS * MOST_HELD_OUT:
        folds = [order[:MOST_HELD_OUT]]
    each = []
    for number, fold in enumerate(folds, 1):
        watch(f"without {len(fold)} learners that are then tested, {number} of {len(folds)}")
        each.append(_held_out_errors(table, fold, stop, dimensions=dimensions, seed=seed))
    return bank._replace(
        misfit=misfit(ScoreErrors(*(np.concatenate(part) for part in zip(*each, strict=True))))
    )


def misfit(errors: ScoreErrors) -> float:
    """The δ at which off² / (se² + δ² left²) is 1 in the mean (Paule and Mandel 1982); 0 if below 1."""

    def surplus(delta: float) -> float:
        return float(np.mean(errors.off**2 / (errors.se**2 + (delta * errors.left) ** 2))) - 1

    if surplus(0.0) <= 0:
        return 0.0
    return float(brentq(surplus, 0.0, 2 * np.max(np.abs(errors.off) / errors.left)))


def _length(table: ResponseTable) -> int:
    """How many samples held-out learners are asked; at least half of all learners have more responses."""
    usual = int(np.median(np.bincount(table.cells().learner, minlength=table.n_learners)))
    if table.n_learners < 3 or usual < 2:
        raise DataError(
            f"{table.n_learners} learners, half of them with at most {usual} responses: how well one is "
            "tested by what the others showed cannot be seen; 3 learners with 2 responses were wanted."
        )
    return max(1, min(LONGEST_TEST, usual // 5))


def _held_out_errors(
    table: ResponseTable, held_out: NDArray[np.integer], stop: int, *, dimensions: int | None, seed: int
) -> ScoreErrors:
    """Of the learners with more than `stop` responses, by a bank calibrated on those not held out."""
    rest = np.setdiff1d(np.arange(table.n_learners), held_out)
    most = None if dimensions is None else min(dimensions, len(rest) - 1)
    bank = calibrate(table.take_learners(rest), dimensions=most, seed=seed)
    matrix = table.take_learners(np.sort(held_out)).matrix()
    counts = (~np.isnan(matrix)).sum(axis=1)
    matrix, counts = matrix[counts > stop], counts[counts > stop]
    if len(matrix) == 0:
        return ScoreErrors(*np.empty((3, 0)))
    played = play(bank, matrix, [stop])
    return ScoreErrors(played.score[0] - np.nanmean(matrix, axis=1), played.se[0], 1 - stop / counts)


SHARES = (0.05, 0.10, 0.15, 0.25)
RANDOM_DRAWS = 10  # random subsets of each size a split
FEWEST = 3  # learners to test


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Printable):
    """`shares`: one row for each share of samples, the mean over splits with its 95 % interval."""

    shares: pl.DataFrame
    splits: pl.DataFrame
    provenance: dict[str, Any]

    def parts(self) -> list[Part]:
        """What the shortest tests are worth, and every share of samples beside random subsets of its size."""
        made, first = self.provenance["settings"], self.shares.row(0, named=True)
        interval = "95 % CI"
        frame = self.shares.with_columns(
            pl.Series(interval, intervals(self.shares, "kendall_low", "kendall_high"), pl.String)
        ).select("share", "samples", "kendall", interval, "random_kendall", "mae", "random_mae", "covered")
        return [
            f"Adaptive tests of {first['samples']} samples ({first['share']:.3g} of all) estimate the full "
            f"score with an error of {first['mae']:.3f}; as many random samples with "
            f"{first['random_mae']:.3f}.",
            Grid(
                "Kendall's τ and mean absolute error with the full-table score, beside random subsets of the "
                "same size; covered: share of 95 % intervals that hold the full score",
                frame, fixed=(interval,), spare=("covered", interval, "random_kendall"),
            ),
            f"{made['splits']} random splits: calibrated on {percent(made['calibration'])} of "
            f"{self.provenance['n_learners']} learners, tested on the others.",
        ]  # fmt: skip


def replay(
    table: TableLike, *, rows: WideRows | None = None,
    shares: float | Sequence[float] = SHARES, calibration: float = 0.8, splits: int = 10,
    dimensions: int | None = None, seed: int = 0, progress: bool | None = None, watch: Watch | None = None,
) -> Replay:  # fmt: skip
    """Samples calibrated on a random share of the learners, the others tested by their stored responses.

    Kendall's τ-b and mean absolute error with the full-table accuracy of the tested learners, beside the
    plain accuracy on random subsets of the same size. A learner is asked only what it has a response to, and
    its full-table accuracy is over these; those with fewer responses than would be asked are not tested.

    `progress` shows a line on standard error while it runs: True at once, False never, None after two seconds
    on a terminal or in a notebook. `watch` takes the lines instead.
    """
    table = as_table(table, rows=rows)
    shares = (float(shares),) if isinstance(shares, int | float) else tuple(shares)
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
    tests = []
    with watching("replaying", progress, watch) as watch:
        for number in range(splits):
            watch(f"split {number + 1} of {splits}")
            rng = np.random.default_rng([seed, number])
            order = rng.permutation(table.n_learners)
            bank = calibrate_with_misfit(
                ordered.take_learners(np.sort(order[:n_calibrated])), dimensions=dimensions, seed=seed
            )
            tests += _compared(bank, matrix[np.sort(order[n_calibrated:])], shares, rng, number)
    each = pl.DataFrame(tests)
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
                "covered": float(np.mean(np.abs(adaptive.score[k] - truth) <= Z * adaptive.se[k])),
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
    return float(kendalltau(rounded(estimate), truth).statistic)


def _summary(each: pl.DataFrame) -> pl.DataFrame:
    """Means over splits; the interval is Student's t over splits, which share learners: read it as spread."""
    rows = []
    for (share, samples), part in each.group_by("share", "samples", maintain_order=True):
        row: dict[str, Any] = {"share": share, "samples": samples, "splits": part.height}
        for name in ("kendall", "random_kendall", "mae", "random_mae", "covered"):
            values = part[name].to_numpy()
            row[name] = float(values.mean())
            if name == "kendall":
                low, high = np.clip(mean_interval(values), -1, 1)
                row |= {"kendall_low": float(low), "kendall_high": float(high)}
        rows.append(row)
    return pl.DataFrame(rows).with_columns(pl.col("kendall_low", "kendall_high").fill_nan(None))
