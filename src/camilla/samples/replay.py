"""Adaptive tests replayed over responses that are known, and what they would have saved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import kendalltau

from camilla.arrays import Floats, Watch, one_blas_thread, rounded
from camilla.display import Grid, Part, Printable, counted, intervals, percent, watching
from camilla.errors import DataError, SettingError
from camilla.learners.check import copy_notes
from camilla.parallel import HERE, check_where, in_order, parallel
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.samples.bank import (
    Answers,
    Bank,
    Score,
    Trials,
    after,
    at_start,
    best_next,
    calibrate,
    full_score,
    of_asked,
    trials_of,
)
from camilla.samples.crossfit import Way, offer_in_words
from camilla.statistics.intervals import Z, mean_interval
from camilla.statistics.prediction import ErrorGain, Offer, error_gain
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


def play(bank: Bank, matrix: Floats, stops: list[int], trials: Trials = 1.0) -> Played:
    """Every learner tested adaptively up to the largest stop; each must have as many responses.

    matrix, trials: [learners, samples]; the mean of its trials is the response to a sample.
    """
    blocks = [slice(start, start + PLAY_BLOCK) for start in range(0, len(matrix), PLAY_BLOCK)]
    parts = [
        _play(bank, matrix[block], stops, trials if isinstance(trials, float) else trials[block])
        for block in blocks
    ]
    return Played(*(np.concatenate(part, axis=1) for part in zip(*parts, strict=True)))


def _play(bank: Bank, matrix: Floats, stops: list[int], trials: Trials) -> Played:
    there = ~np.isnan(matrix)
    every = np.arange(len(matrix))
    response = np.where(there, matrix, 0.0)
    standing, unseen = at_start(bank, len(matrix)), there.copy()
    asked = np.empty((len(matrix), 0), np.int64)
    found: dict[int, Score] = {}
    for step in range(1, max(stops) + 1):
        chosen = best_next(bank, standing, unseen, trials=trials)
        unseen[every, chosen] = False
        asked = np.column_stack([asked, chosen])
        answers = response[every[:, None], asked]
        standing = after(bank, standing, asked, answers, trials=of_asked(trials, asked), most_steps=4)
        if step in stops:
            given = Answers(asked, answers, unseen, there.sum(axis=1), trials)
            found[step] = full_score(bank, standing, given)
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
            f"{table.n_learners} learners, half of them with at most {usual} responses, are too few to "
            "simulate tests; expected 3 learners with 2 responses."
        )
    return max(1, min(LONGEST_TEST, usual // 5))


def _held_out_errors(
    table: ResponseTable, held_out: NDArray[np.integer], stop: int, *, dimensions: int | None, seed: int
) -> ScoreErrors:
    """Of the learners with more than `stop` responses, by a bank calibrated on those not held out."""
    rest = np.setdiff1d(np.arange(table.n_learners), held_out)
    most = None if dimensions is None else min(dimensions, len(rest) - 1)
    bank = calibrate(table.take_learners(rest), dimensions=most, seed=seed)
    tested = table.take_learners(np.sort(held_out))
    matrix, trials = tested.matrix(), trials_of(tested)
    counts = (~np.isnan(matrix)).sum(axis=1)
    enough = counts > stop
    matrix, counts = matrix[enough], counts[enough]
    if len(matrix) == 0:
        return ScoreErrors(*np.empty((3, 0)))
    played = play(bank, matrix, [stop], trials if isinstance(trials, float) else trials[enough])
    return ScoreErrors(played.score[0] - np.nanmean(matrix, axis=1), played.se[0], 1 - stop / counts)


SHARES = (0.05, 0.10, 0.15, 0.25)
RANDOM_DRAWS = 10  # random subsets of each size a split
SCORED_DRAWS = 3  # random subsets of each size and learner, scored by the bank as adaptive tests are
FEWEST = 3  # learners to test


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Printable):
    """How well adaptive tests would have estimated scores, for each share of the samples.

    `offers` says for each share whether adaptive tests are better than random samples, than random samples
    scored by the same models, and than a guess without any response, by more than the uncertainty.

    Attributes
    ----------
    shares : DataFrame
        One row per share of samples: the mean error over splits, with its interval.
    splits : DataFrame
        The same for each split.
    offers : tuple of Offer
        For each share, whether adaptive tests are better than the simpler ways.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.
    notes : tuple of str
        What a reader must know.

    Examples
    --------
    >>> table = camilla.simulate(20, 40, seed=1).table
    >>> replay = camilla.replay(table, shares=0.25, splits=1, dimensions=1)
    >>> replay.shares.height, len(replay.offers)
    (1, 1)
    """

    shares: pl.DataFrame
    splits: pl.DataFrame
    offers: tuple[Offer, ...]
    provenance: dict[str, Any]
    notes: tuple[str, ...] = ()

    def parts(self) -> list[Part]:
        """Returns what `text` prints: what the shortest tests are worth, and every share of samples.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> table = camilla.simulate(20, 40, seed=1).table
        >>> replay = camilla.replay(table, shares=0.25, splits=1, dimensions=1)
        >>> len(replay.parts()) > 1
        True
        """
        made = self.provenance["settings"]
        interval = "95 % CI"
        frame = self.shares.with_columns(
            pl.Series(interval, intervals(self.shares, "kendall_low", "kendall_high"), pl.String)
        ).select(
            "share",
            "samples",
            "kendall",
            interval,
            "random_kendall",
            "mae",
            "random_mae",
            "scored_mae",
            "guess_mae",
            "covered",
        )
        return [
            self._answer(),
            Grid(
                "Kendall's τ and mean absolute error with the full-table score, compared with random "
                "subsets of the same size; covered: share of 95 % intervals that contain the full score",
                frame, fixed=(interval,),
                spare=("guess_mae", "scored_mae", "covered", interval, "random_kendall"),
            ),
            f"{made['splits']} random splits: calibrated on {percent(made['calibration'])} of "
            f"{self.provenance['n_learners']} learners, tested on the others.",
            *(f"note: {note}" for note in self.notes),
        ]  # fmt: skip

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> table = camilla.simulate(20, 40, seed=1).table
        >>> replay = camilla.replay(table, shares=0.25, splits=1, dimensions=1)
        >>> replay.to_document()["verdict"]
        'simpler is as good'
        """
        helps = any(offer.helps for offer in self.offers)
        return {
            "verdict": "choosing helps" if helps else "simpler is as good",
            "shares": [
                row | {"offer": offer.to_document()}
                for row, offer in zip(self.shares.to_dicts(), self.offers, strict=True)
            ],
            "splits": self.splits.to_dicts(),
            "notes": list(self.notes),
            "provenance": self.provenance,
        }

    def _answer(self) -> str:
        """What the first share says, and how many of the others say otherwise."""
        first, offer = self.shares.row(0, named=True), self.offers[0]
        errors = {"chosen": first["mae"], "random": first["random_mae"], "guess": first["guess_mae"],
                  "random, weighted": first["scored_mae"]}  # fmt: skip
        way = Way(f"adaptive tests of {counted(first['samples'], 'sample')} ({first['share']:.3g} of all)",
                  first["samples"], "Adapting", "the model", "scored by the same model",
                  "by plain accuracy")  # fmt: skip
        said = offer_in_words(offer, way, errors)
        others = [share for share, one in zip(self.shares["share"], self.offers, strict=True)
                  if one.helps != offer.helps]  # fmt: skip
        if not others:
            return said
        shares = ", ".join(f"{share:.3g}" for share in others)
        return f"{said} {'It does not help' if offer.helps else 'It helps'} at a share of {shares}."


def replay(
    table: TableLike, *, rows: WideRows | None = None,
    shares: float | Sequence[float] = SHARES, calibration: float = 0.8, splits: int = 10,
    dimensions: int | None = None, seed: int = 0, jobs: int = 1, backend: str = HERE,
    progress: bool | None = None, watch: Watch | None = None,
) -> Replay:  # fmt: skip
    """Replays adaptive tests on stored responses, to see what they would have saved.

    Samples are calibrated on a random share of the learners; the others are tested with their stored
    responses. Kendall's τ-b and the mean absolute error compare the result with the accuracy on the full
    table, beside the plain accuracy on random subsets of the same size. A learner is asked only samples that
    it has a response to; learners with too few responses are not tested.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    shares : float or list of float
        Shares of the samples that are asked.
    calibration : float
        Share of the learners that calibrate.
    splits : int
        How often learners are drawn.
    dimensions : int, optional
        Dimensions of the calibrated model. By default they are chosen on held-out responses.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    jobs : int
        Processes that splits run in; −1 for one per core. The result is the same for any number.
    backend : {"loky", "threading", "multiprocessing", "ray"}
        Where processes run, as joblib calls it. "ray" takes the cluster of the environment variable
        RAY_ADDRESS, or starts one on this machine.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.

    Returns
    -------
    Replay
        `shares` (means over splits with 95 % intervals), `splits`, `offers` (whether adapting helped),
        `provenance`.

    Examples
    --------
    >>> table = camilla.simulate(20, 40, seed=1).table
    >>> camilla.replay(table, shares=0.25, splits=1, dimensions=1).shares.height
    1
    """
    check_where(jobs, backend)
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
            f"{table.n_learners - n_calibrated} to test; expected at least 3 of each."
        )
    ordered = table.canonical().table
    matrix, trials = ordered.matrix(), trials_of(ordered)
    tasks = [
        (ordered, matrix, trials, n_calibrated, shares, dimensions, seed, number) for number in range(splits)
    ]
    with watching("replaying", progress, watch) as watch, parallel(backend, jobs):
        parts = in_order(_one_split, tasks, lambda done: watch(f"{done} of {splits} splits"))
    tests = [test for found, _ in parts for test in found]
    each = pl.DataFrame([test.row for test in tests])
    offers = tuple(_offer([test for test in tests if test.row["share"] == share]) for share in shares)
    made = made_of(
        table, shares=list(shares), calibration=calibration, splits=splits, seed=seed,
        dimensions=parts[-1][1],
    )  # fmt: skip
    return Replay(_summary(each), each, offers, made, tuple(copy_notes(table)))


class TestedShare(NamedTuple):
    """One split and share: what is printed, and the absolute errors of each tested learner by each way."""

    row: dict[str, Any]
    learner: NDArray[np.int64]
    errors: dict[str, Floats]


def _one_split(
    table: ResponseTable, matrix: Floats, trials: Trials, n_calibrated: int, shares: tuple[float, ...],
    dimensions: int | None, seed: int, number: int,
) -> tuple[list[TestedShare], int]:  # fmt: skip
    """Some learners calibrated on and the others tested, and how many dimensions that took."""
    rng = np.random.default_rng([seed, number])
    order = rng.permutation(table.n_learners)
    calibrated = table.take_learners(np.sort(order[:n_calibrated]))
    with one_blas_thread():
        bank = calibrate_with_misfit(calibrated, dimensions=dimensions, seed=seed)
        tests = _compared(bank, matrix, trials, np.sort(order[n_calibrated:]), shares, rng, number)
    return tests, bank.models[-1].loading.shape[1]


def _offer(tests: list[TestedShare]) -> Offer:
    learner = np.concatenate([test.learner for test in tests])
    errors = {name: np.concatenate([test.errors[name] for test in tests]) for name in tests[0].errors}

    def over(way: str) -> ErrorGain:
        return error_gain(errors[way] - errors["adaptive"], learner)

    return Offer(over("guess"), over("random"), over("scored"))


def _compared(
    bank: Bank, everybody: Floats, trials: Trials, tested: NDArray[np.int64], shares: tuple[float, ...],
    rng: np.random.Generator, split: int,
) -> list[TestedShare]:  # fmt: skip
    stops = [max(1, round(share * everybody.shape[1])) for share in shares]
    guess = float(np.nanmean(np.delete(everybody, tested, axis=0)))
    tested = tested[(~np.isnan(everybody[tested])).sum(axis=1) >= max(stops)]
    matrix = everybody[tested]
    if len(matrix) < FEWEST:
        raise DataError(
            f"{len(matrix)} of the tested learners have the {max(stops)} responses that would be asked of "
            f"them; expected at least {FEWEST} learners. Ask for smaller shares."
        )
    truth = np.nanmean(matrix, axis=1)
    trials = trials if isinstance(trials, float) else trials[tested]
    adaptive = play(bank, matrix, stops, trials)
    rows = []
    for k, (share, stop) in enumerate(zip(shares, stops, strict=True)):
        orders = rng.random((RANDOM_DRAWS, matrix.shape[1]))
        drawn = [_first_in(order, matrix, stop) for order in orders]
        plain = [np.take_along_axis(matrix, asked, axis=1).mean(axis=1) for asked in drawn]
        errors = {
            "adaptive": np.abs(adaptive.score[k] - truth),
            "random": np.mean([np.abs(one - truth) for one in plain], axis=0),
            "scored": np.mean(
                [np.abs(one - truth) for one in _scored(bank, matrix, trials, stop, split)], axis=0
            ),
            "guess": np.abs(guess - truth),
        }
        rows.append(
            TestedShare({
                "split": split, "share": share, "samples": stop, "learners": len(truth),
                "kendall": tau(adaptive.score[k], truth),
                "mae": float(errors["adaptive"].mean()),
                "covered": float(np.mean(np.abs(adaptive.score[k] - truth) <= Z * adaptive.se[k])),
                "random_kendall": float(np.mean([tau(one, truth) for one in plain])),
                "random_mae": float(errors["random"].mean()),
                "scored_mae": float(errors["scored"].mean()),
                "guess_mae": float(errors["guess"].mean()),
            }, tested, errors)
        )  # fmt: skip
    return rows


def _first_in(order: Floats, matrix: Floats, size: int) -> NDArray[np.int64]:
    """For each learner the first samples of an order that it has a response to: [learners, size]."""
    return np.argsort(np.where(np.isnan(matrix), np.inf, order), axis=1)[:, :size].astype(np.int64)


def _scored(bank: Bank, matrix: Floats, trials: Trials, size: int, split: int) -> Iterator[Floats]:
    """Scores that the bank gives learners for random samples, drawn anew for each learner."""
    rng = np.random.default_rng([size, split])
    there = ~np.isnan(matrix)
    for _ in range(SCORED_DRAWS):
        asked = _first_in(rng.random(matrix.shape), matrix, size)
        answers, unseen = np.take_along_axis(matrix, asked, axis=1), there.copy()
        np.put_along_axis(unseen, asked, False, axis=1)
        standing = after(bank, at_start(bank, len(matrix)), asked, answers, trials=of_asked(trials, asked))
        yield full_score(bank, standing, Answers(asked, answers, unseen, there.sum(axis=1), trials)).score


def tau(estimate: Floats, truth: Floats) -> float:
    """Kendall's τ-b."""
    return float(kendalltau(rounded(estimate), truth).statistic)


def _summary(each: pl.DataFrame) -> pl.DataFrame:
    """Means over splits; the interval is Student's t over splits, which share learners: read it as spread."""
    rows = []
    for (share, samples), part in each.group_by("share", "samples", maintain_order=True):
        row: dict[str, Any] = {"share": share, "samples": samples, "splits": part.height}
        for name in ("kendall", "random_kendall", "mae", "random_mae", "scored_mae", "guess_mae", "covered"):
            values = part[name].to_numpy()
            row[name] = float(values.mean())
            if name == "kendall":
                low, high = np.clip(mean_interval(values), -1, 1)
                row |= {"kendall_low": float(low), "kendall_high": float(high)}
        rows.append(row)
    return pl.DataFrame(rows).with_columns(pl.col("kendall_low", "kendall_high").fill_nan(None))
