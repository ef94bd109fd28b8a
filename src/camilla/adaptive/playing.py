"""Tests played over stored responses, and how far learners then are from what a bank expects."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from camilla.adaptive.bank import Bank, Floats, calibrate
from camilla.adaptive.peers import Answers
from camilla.adaptive.posterior import Score
from camilla.adaptive.standing import after, at_start, best_next, full_score
from camilla.data.responses import ResponseTable
from camilla.diagnoser import Watch
from camilla.errors import DataError

BLOCK = 64  # learners played at a time, so that memory stays small
FOLDS = 5
MOST_HELD_OUT = 200  # learners: their squared errors' mean is then good to a tenth
LONGEST = 100  # samples, or a fifth of what learners have, after which the misfit is looked at


class Errors(NamedTuple):
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
    parts = [_play(bank, matrix[start : start + BLOCK], stops) for start in range(0, len(matrix), BLOCK)]
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
    return bank._replace(misfit=misfit(Errors(*(np.concatenate(part) for part in zip(*each, strict=True)))))


def misfit(errors: Errors) -> float:
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
    return max(1, min(LONGEST, usual // 5))


def _held_out_errors(
    table: ResponseTable, held_out: NDArray[np.integer], stop: int, *, dimensions: int | None, seed: int
) -> Errors:
    """Of the learners with more than `stop` responses, by a bank calibrated on those not held out."""
    rest = np.setdiff1d(np.arange(table.n_learners), held_out)
    most = None if dimensions is None else min(dimensions, len(rest) - 1)
    bank = calibrate(table.take_learners(rest), dimensions=most, seed=seed)
    matrix = table.take_learners(np.sort(held_out)).matrix()
    counts = (~np.isnan(matrix)).sum(axis=1)
    matrix, counts = matrix[counts > stop], counts[counts > stop]
    if len(matrix) == 0:
        return Errors(*np.empty((3, 0)))
    played = play(bank, matrix, [stop])
    return Errors(played.score[0] - np.nanmean(matrix, axis=1), played.se[0], 1 - stop / counts)
