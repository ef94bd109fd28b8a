"""Unseen samples, learners and tasks: whole units held out, and what predicts their responses."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla import diagnosing
from camilla.arrays import Floats, sigmoid
from camilla.errors import DataError, SettingError
from camilla.experiments.unseen_baselines import BASELINES, CONSTANT, Seen
from camilla.names import name_index
from camilla.statistics.held_out import (
    HeldOut,
    UnitSums,
    auc_sums,
    mean_sums,
    r2_sums,
    rmse_sums,
    unit_interval,
)
from camilla.statistics.intervals import Z, wilson
from camilla.statistics.row_levels import Grid, grid_of
from camilla.table.cells import Cells
from camilla.table.encoding import Encoder
from camilla.table.features import Features, something_differs
from camilla.table.responses import ResponseTable

Index = NDArray[np.integer]
FOLDS = 5
ROUNDING = 1e-9  # of a mean response at the end of its interval
SMALLEST_CHANCE = 1e-6
GAIN = "gain"  # the comparison with the constant: positive where a contender is better
LOSSES = ("log_loss", "rmse")  # the smaller, the better


class Units(NamedTuple):
    """What is held out: the rows (samples or learners) of a table, and the unit that each belongs to."""

    name: str  # of the experiment
    kind: Literal["sample", "learner"]
    unit: Index  # [rows]
    word: str  # what a unit is: sample, learner, cluster, task or skill

    @property
    def n_units(self) -> int:
        return int(self.unit.max()) + 1


def units_of(name: str, table: ResponseTable) -> Units:
    """Samples (or their clusters), learners, or tasks: those of the table, else its skills."""
    if name == "unseen-learners":
        return Units(name, "learner", np.arange(table.n_learners), "learner")
    if name == "unseen-samples":
        if table.cluster is None:
            return Units(name, "sample", np.arange(table.n_samples), "sample")
        return Units(name, "sample", _numbers(table.cluster), "cluster")
    if table.task is not None and len(set(table.task)) > 1:
        return Units(name, "sample", _numbers(table.task), "task")
    if table.skill_map is not None:
        groups = np.unique(table.skill_map.mask, axis=0, return_inverse=True)[1].ravel()
        if groups.max() > 0:
            return Units(name, "sample", groups, "set of skills")
    raise DataError(
        "unseen-tasks holds out whole tasks, and the table has neither several tasks nor several skills. "
        "Name them with --task or --skills, or take unseen-samples."
    )


def check_folds(folds: int, units: Units) -> int:
    """The number of folds, at most one per unit."""
    if folds < 2:
        raise SettingError(f"folds must be 2 or more, not {folds}.")
    if units.n_units < 2:
        raise DataError(f"{units.name}: the table has one {units.word}; expected at least two.")
    return min(folds, units.n_units)


def check_baseline(name: str, table: ResponseTable, units: Units) -> None:
    """Raises where a regression has no features."""
    if name != CONSTANT and features_of(table, units) is None:
        option = "--features" if units.kind == "sample" else "--learner-features"
        raise SettingError(
            f"{name} predicts {units.name.replace('-', ' ')} from features, and the table has no features of "
            f"{units.kind}s. Give {option}, or take {CONSTANT}."
        )


def features_of(table: ResponseTable, units: Units) -> Features | None:
    """The features of the kind of row that is held out."""
    return table.sample_features if units.kind == "sample" else table.learner_features


def dealt_folds(units: Units, folds: int, seed: int) -> Index:
    """The fold of each row. Units are dealt in random order, each to the fold with the fewest rows."""
    sizes = np.bincount(units.unit)
    rng = np.random.default_rng([seed, folds])
    held, of = np.zeros(folds), np.empty(len(sizes), np.int64)
    for unit in rng.permutation(len(sizes)):
        smallest = np.flatnonzero(held == held.min())
        of[unit] = smallest[int(rng.integers(len(smallest)))]
        held[of[unit]] += sizes[unit]
    return of[units.unit]


class FoldData(NamedTuple):
    """A table without the rows of one fold, and those rows."""

    train: ResponseTable
    unseen: ResponseTable
    units: Units
    seed: int


class FoldPrediction(NamedTuple):
    """Logits of the unseen rows, [unseen rows, columns], what was chosen, and whether the fit converged."""

    logits: Floats
    chosen: dict[str, Any]
    converged: bool | None
    ends: Floats | None = None  # [unseen rows, 2]: 95 % intervals of their mean responses


Predictor = Callable[[FoldData], FoldPrediction]


def held_out_scores(
    table: ResponseTable, units: Units, predictor: Predictor, *, folds: int, seed: int
) -> tuple[list[dict[str, Any]], FoldPrediction]:
    """Scores of a predictor on every fold's unseen rows, each with an interval over units, and its gain.

    Rows are responses' scores with `_low` and `_high` beside them, alone and as a gain over the constant.
    The second value is the last fold's prediction, converged if all were.
    """
    fold = dealt_folds(units, folds, seed)
    cells = table.cells()
    row, column = _by_row(cells, units)
    n_rows, n_columns = _shape(table, units)
    logits, constants = np.full((2, n_rows, n_columns), np.nan)
    ends = np.full((n_rows, 2), np.nan)
    last, converged = None, [True]
    for held in range(folds):
        data = _fold_data(table, units, fold, held, seed)
        last = predictor(data)
        converged.append(last.converged is not False)
        logits[fold == held] = last.logits
        if last.ends is not None:
            ends[fold == held] = last.ends
        constants[fold == held] = baseline_predictor(CONSTANT)(data).logits
    assert last is not None
    tested = HeldOut(cells.response, cells.weight, row, units.unit[row], fold[row])
    own = _score_sums(tested, logits[row, column], constants[row, column], binary=table.is_binary)
    other = _score_sums(tested, constants[row, column], constants[row, column], binary=table.is_binary)
    prediction = last._replace(converged=None if last.converged is None else all(converged))
    rows = _score_rows(own, other)
    if last.ends is not None:
        rows += _coverage_rows(tested, ends)
    return rows, prediction


def _coverage_rows(tested: HeldOut, ends: Floats) -> list[dict[str, Any]]:
    """The share of held-out rows whose mean response lies in its interval (Wilson's, over units)."""
    weight = np.bincount(tested.row, tested.weight, len(ends))
    rows = np.flatnonzero(weight)
    mean = np.bincount(tested.row, tested.weight * tested.response, len(ends))[rows] / weight[rows]
    inside = (mean >= ends[rows, 0] - ROUNDING) & (mean <= ends[rows, 1] + ROUNDING)
    units = np.zeros(len(ends), np.int64)
    units[tested.row] = tested.unit
    n_units = len(np.unique(units[rows]))
    found = (float(inside.mean()), *map(float, wilson(inside.mean(), n_units, Z)))
    return [
        {"score": f"coverage{end}", "value": value, "comparison": None}
        for end, value in zip(("", "_low", "_high"), found, strict=True)
    ]


def _places(frame: pl.DataFrame, names: Sequence[str]) -> Index:
    """Where each name is in the first column of a frame."""
    index = name_index(frame.to_series().to_list())
    return np.array([index[name] for name in names], np.int64)


def _logit(chance: Floats) -> Floats:
    inside = np.clip(chance, SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _score_sums(tested: HeldOut, logit: Floats, constant: Floats, *, binary: bool) -> dict[str, UnitSums]:
    predicted = sigmoid(logit)
    sums = {"auc": auc_sums(tested, logit)} if binary else {}
    loss = np.logaddexp(0, logit) - tested.response * logit
    return sums | {
        "log_loss": mean_sums(tested, loss),
        "rmse": rmse_sums(tested, predicted),
        "r2": r2_sums(tested, predicted, sigmoid(constant)),
    }


def _score_rows(own: dict[str, UnitSums], other: dict[str, UnitSums]) -> list[dict[str, Any]]:
    rows = []
    for score, sums in own.items():
        better = (other[score], sums) if score in LOSSES else (sums, other[score])
        for comparison, found in ((None, unit_interval(sums)), (GAIN, unit_interval(*better))):
            rows += [
                {"score": f"{score}{end}", "value": value, "comparison": comparison}
                for end, value in zip(("", "_low", "_high"), found, strict=True)
            ]
    return rows


def baseline_predictor(name: str) -> Predictor:
    """A baseline as a predictor."""

    def predict(data: FoldData) -> FoldPrediction:
        features, unseen = encoded(data)
        seen = Seen(_grid(data.train, data.units), features, unseen, data.seed)
        found = BASELINES[name](seen)
        return FoldPrediction(found.logits, found.chosen, None)

    return predict


def diagnoser_predictor(label: str) -> Predictor:
    """A diagnoser, fitted with the features of the seen rows and asked for the unseen ones."""

    def predict(data: FoldData) -> FoldPrediction:
        found = diagnosing.diagnose(data.train, label, seed=data.seed, progress=False)
        of, table = data.units.kind, data.unseen
        names = table.samples if of == "sample" else table.learners
        given = features_of(table, data.units) or list(names)
        new = found.predict_new(**{f"{of}s": given})
        shape = (len(new.learners), len(new.samples))
        chance = new.responses["probability"].to_numpy().reshape(shape)
        chance = chance[np.ix_(_places(new.learners, table.learners), _places(new.samples, table.samples))]
        rows = new.samples if of == "sample" else new.learners
        ends = rows.select("low", "high").to_numpy()[_places(rows, names)]
        logits = _logit(chance.T if of == "sample" else chance)
        return FoldPrediction(logits, found.provenance["settings"], found.provenance["converged"], ends)

    return predict


def encoded(data: FoldData) -> tuple[Floats, Floats]:
    """Features of seen and unseen rows as numbers, by an encoder that knows the seen rows alone."""
    train, unseen = (features_of(table, data.units) for table in (data.train, data.unseen))
    if train is None or unseen is None:
        n_seen, n_unseen = (_shape(table, data.units)[0] for table in (data.train, data.unseen))
        return np.empty((n_seen, 0)), np.empty((n_unseen, 0))
    encoder = Encoder.fit(train)
    return encoder.matrix(train), encoder.matrix(unseen)


def _fold_data(table: ResponseTable, units: Units, fold: Index, held: int, seed: int) -> FoldData:
    take = table.take_samples if units.kind == "sample" else table.take_learners
    train = take(np.flatnonzero(fold != held))
    if not train.n_responses:
        raise DataError(
            f"{units.name}: no response is left when fold {held + 1} is held out. Give more folds."
        )
    features = features_of(train, units)
    if features is not None and not something_differs(features):  # nothing can be learned from them here
        train = (
            replace(train, sample_features=None)
            if units.kind == "sample"
            else replace(train, learner_features=None)
        )
    return FoldData(train, take(np.flatnonzero(fold == held)), units, seed)


def _by_row(cells: Cells, units: Units) -> tuple[Index, Index]:
    both = (cells.sample, cells.learner)
    return both if units.kind == "sample" else both[::-1]


def _shape(table: ResponseTable, units: Units) -> tuple[int, int]:
    both = (table.n_samples, table.n_learners)
    return both if units.kind == "sample" else both[::-1]


def _grid(table: ResponseTable, units: Units) -> Grid:
    cells = table.cells()
    return grid_of(*_by_row(cells, units), cells.response, cells.weight, _shape(table, units))


def _numbers(names: Sequence[str]) -> Index:
    return np.unique(np.array(names), return_inverse=True)[1].ravel()
