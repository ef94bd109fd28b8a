"""Which features matter: what makes samples hard, or learners able, beside everything else that is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, one_blas_thread, sigmoid
from camilla.display import Grid, Part, Printable, brief, counted, intervals, signed
from camilla.errors import DataError, SettingError
from camilla.names import in_quotes, nearest
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.samples.feature_design import Design, Term, design_of, lost_notes
from camilla.statistics.held_out import HeldOut, ScoreInterval, UnitSums, r2_sums, unit_interval
from camilla.statistics.intervals import LEVEL
from camilla.statistics.multiplicity import holm
from camilla.statistics.ridge import ridge_regression
from camilla.statistics.row_effects import Effect, Regression, contrasts, joint_p, regression
from camilla.statistics.row_levels import Grid as Responses
from camilla.statistics.row_levels import RowLevels, grid_of, row_levels, shrunk_logits
from camilla.table.encoding import Encoder
from camilla.table.features import Features, something_differs
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable, check_diagnosable

FOLDS = 10
MOST_CELLS = 100_000  # that the points of an effect are averaged over
SPARE_ROWS = 5  # more rows than columns of the design, at least
PRINTED = 20  # effects
FEW_RESPONSES = 4  # per row: with 2, an interval held a known effect in 83 to 98 of 100 worlds
SCALES = {"samples": "difficulty", "learners": "ability"}


@dataclass(frozen=True, eq=False, repr=False)
class FeatureEffects(Printable):
    """The effects of features on the difficulty of samples, or on the ability of learners.

    Effects are in logits: what they add to the difficulty of a sample at mean ability, or to a learner's
    ability. `explained` is on samples or learners that the prediction was not fitted on.

    Attributes
    ----------
    of : str
        What has features: samples or learners.
    scale : str
        What is explained: difficulty or ability.
    within : str or None
        Column within whose groups effects are estimated.
    rows : int
        Samples or learners with features.
    explained : ScoreInterval
        Share of the variance of mean responses that features predict, on held-out rows.
    variance_explained : float
        Share of the variance of difficulty or ability, by REML.
    features : DataFrame
        One row per feature: what it explains alone, what is lost without it, and its tests.
    effects : DataFrame
        One row per effect, in logits, with its interval and tests.
    predicted : DataFrame
        One row per sample or learner: observed and predicted mean response, each row held out.
    notes : tuple of str
        Sentences that a reader must know before using the result.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.

    Examples
    --------
    >>> table = camilla.simulate(20, 60, seed=1).table
    >>> steps = pl.DataFrame({"sample": table.samples, "steps": range(60)})
    >>> effects = camilla.feature_effects(table.with_features(samples=steps))
    >>> effects.features["feature"].to_list()
    ['steps']
    """

    of: str  # samples or learners
    scale: str  # difficulty or ability
    within: str | None
    rows: int
    explained: ScoreInterval  # share of the variance of mean responses, on held-out rows
    variance_explained: float  # share of the variance of difficulty or ability, by REML
    features: pl.DataFrame  # feature, kind, explained_alone, lost, low, high, p_value, holm_p
    effects: pl.DataFrame  # feature, term, rows, effect, low, high, p_value, holm_p, points, alone, …
    predicted: pl.DataFrame  # sample or learner, observed, predicted: mean responses, each row held out
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def answer(self) -> str:
        """How much the features explain, and the feature that matters most."""
        return _answer(self)

    def parts(self, *, effects: int = PRINTED) -> list[Part]:
        """Returns what `text` prints: the answer, each feature, the largest effects, the notes.

        Parameters
        ----------
        effects : int
            How many effects to list.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> table = camilla.simulate(20, 60, seed=1).table
        >>> steps = pl.DataFrame({"sample": table.samples, "steps": range(60)})
        >>> effects = camilla.feature_effects(table.with_features(samples=steps))
        >>> len(effects.parts(effects=1)) > 1
        True
        """
        return [self.answer, _feature_grid(self), *_effect_grids(self, effects),
                *(f"note: {note}" for note in self.notes)]  # fmt: skip

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> table = camilla.simulate(20, 60, seed=1).table
        >>> steps = pl.DataFrame({"sample": table.samples, "steps": range(60)})
        >>> effects = camilla.feature_effects(table.with_features(samples=steps))
        >>> effects.to_document()["of"]
        'samples'
        """
        return {
            "verdict": "explained" if self.explained.low > 0 else "not explained",
            "answer": self.answer,
            "of": self.of,
            "scale": self.scale,
            "within": self.within,
            "rows": self.rows,
            "explained": self.explained._asdict(),
            "variance_explained": self.variance_explained,
            "features": self.features.to_dicts(),
            "effects": self.effects.to_dicts(),
            "predicted": self.predicted.to_dicts(),
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }


def feature_effects(
    table: TableLike, *, rows: WideRows | None = None,
    of: str | None = None, within: str | None = None, seed: int = 0,
) -> FeatureEffects:  # fmt: skip
    """Estimates what makes samples hard, or learners able, from their features.

    A logistic mixed model has an ability for each learner and, for each sample, a difficulty that its
    features explain up to a residual (or the other way round). Effects are beside all other features, with
    95 % intervals; p-values are also adjusted by Holm over all effects. How much the features explain is
    measured on held-out samples or learners.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        Responses with features of samples or of learners.
    rows : {"samples", "learners"}, optional
        What the rows of a wide table are.
    of : {"samples", "learners"}, optional
        Whose features; samples if they have any.
    within : str, optional
        A category: effects are contrasts within each of its levels, such as of scaffolds within a base model.
        Samples or learners that have no other of their level, or none, are left out.
    seed : int
        Deals what is held out into folds.

    Returns
    -------
    FeatureEffects
        Frames `features` and `effects`, `explained`, and `answer`.

    Raises
    ------
    DataError
        The table has no such features, or too few rows for them.

    Examples
    --------
    >>> table, truth = camilla.simulate(20, 80, seed=1)
    >>> steps = pl.DataFrame({"sample": table.samples, "steps": truth.difficulty.round(1)})
    >>> effects = camilla.feature_effects(table.with_features(samples=steps))
    >>> effects.of, effects.scale, bool(effects.effects["low"][0] > 0)
    ('samples', 'difficulty', True)
    """
    table = as_table(table, rows=rows)
    check_diagnosable(table)
    ordered = table.in_fitting_order()
    known = _known(ordered, of)
    kept, features, groups, notes = _within(known, within)
    grid, cluster = _responses(ordered, known.of, kept)
    with one_blas_thread():
        fitted = _fitted(grid, features, groups, cluster)
        held = _held_out(grid, features, known.features.take(kept), within, cluster, seed)
    effects, explained = _effects(fitted, known.of), held.score(held.everything)
    names = ordered.samples if known.of == "samples" else ordered.learners
    return FeatureEffects(
        known.of, SCALES[known.of], within, len(kept), explained, fitted.share,
        _features(features, fitted, held), effects,
        pl.DataFrame({known.features.of: [names[k] for k in kept], "observed": held.observed,
                      "predicted": held.everything}),
        (*notes, *lost_notes(fitted.design.lost), *_few_notes(grid, known.features.of)),
        made_of(table, of=known.of, within=within, seed=seed),
    )  # fmt: skip


def _few_notes(grid: Responses, of: str) -> list[str]:
    """Where rows have so few responses that the residual variance, and with it every effect, is uncertain."""
    typical = float(np.median(grid.weight.sum(axis=1)))
    if typical >= FEW_RESPONSES:
        return []
    return [
        f"a {of} has {typical:g} responses (median): with fewer than {FEW_RESPONSES}, effects are shrunk "
        "towards 0, and their intervals contain the true effects in less than 95 % of cases"
    ]


class _Known(NamedTuple):
    of: str
    features: Features


def _known(table: ResponseTable, of: str | None) -> _Known:
    """The features that are asked for."""
    if of not in (None, *SCALES):
        raise SettingError(f"of is 'samples' or 'learners', not {of!r}.")
    both = {"samples": table.sample_features, "learners": table.learner_features}
    wanted = of or ("samples" if both["samples"] is not None else "learners")
    features = both[wanted]
    if features is None:
        option = "--learner-features" if of == "learners" else "--features"
        raise DataError(
            f"the table has no features of {wanted if of else 'samples or learners'}. Give {option}."
        )
    return _Known(wanted, features)


class _Within(NamedTuple):
    kept: NDArray[np.int64]
    features: Features
    groups: NDArray[np.int64] | None
    notes: tuple[str, ...]


def _within(known: _Known, within: str | None) -> _Within:
    """The rows that can be compared, and the other features."""
    features = known.features
    if within is None:
        return _Within(np.arange(len(features.names)), features, None, ())
    if within not in features.kinds:
        raise SettingError(f"no feature {within!r} of {known.of}. {nearest(within, list(features.kinds))}")
    if features.kinds[within] != "category":
        raise SettingError(f"within takes a category; {in_quotes(within)} is a {features.kinds[within]}.")
    if len(features.kinds) == 1:
        raise SettingError(f"{in_quotes(within)} is the only feature: nothing is left to compare within it.")
    sizes = features.frame.select(pl.when(pl.col(within).is_not_null()).then(pl.len().over(within)))
    kept = np.flatnonzero((sizes.to_series().fill_null(0) >= 2).to_numpy())
    if len(kept) < 4:
        raise DataError(
            f"{in_quotes(within)}: no level has two {known.of}, so nothing can be compared within."
        )
    part = features.take(kept)
    groups = part.frame[within].rank("dense").to_numpy().astype(np.int64) - 1
    note = (
        f"{len(kept)} of {len(features.names)} {known.of} are compared: those whose {in_quotes(within)} is "
        f"known and shared by another, {groups.max() + 1} levels"
    )
    return _Within(kept, part.without([within]).varying(), groups, (note,))


def _responses(
    table: ResponseTable, of: str, kept: NDArray[np.int64]
) -> tuple[Responses, NDArray[np.int64] | None]:
    """The responses as [rows, columns], and the cluster of each row."""
    part = table.take_samples(kept) if of == "samples" else table.take_learners(kept)
    cells = part.cells()
    row, column = (cells.sample, cells.learner) if of == "samples" else (cells.learner, cells.sample)
    shape = (len(kept), part.n_learners if of == "samples" else part.n_samples)
    grid = grid_of(row, column, cells.response, cells.weight, shape)
    used = grid.weight.sum(axis=0) > 0
    cluster = None
    if of == "samples" and part.cluster is not None:
        cluster = np.unique(np.array(part.cluster), return_inverse=True)[1].ravel()
    return Responses(grid.weight[:, used], grid.right[:, used]), cluster


class _Fitted(NamedTuple):
    design: Design
    levels: RowLevels
    full: Regression
    alone: dict[str, tuple[Regression, NDArray[np.int64]]]  # and its columns of the design
    share: float
    logits: Floats  # of observed cells, a part of them where there are many

    def shift(self, effect: float) -> float:
        """What an effect, in logits of the response, adds to the mean response."""
        return float((sigmoid(self.logits + effect) - sigmoid(self.logits)).mean())


def _fitted(
    grid: Responses, features: Features, groups: NDArray[np.int64] | None, cluster: NDArray[np.int64] | None
) -> _Fitted:
    """The mixed model with all features, and regressions of its levels on each alone."""
    design = design_of(features, groups)
    n, p = design.x.shape
    if n < p + SPARE_ROWS:
        raise DataError(
            f"{p} effects are too many for {n} {features.of}s; there must be {SPARE_ROWS} more than effects. "
            "Give fewer features, or categories with fewer levels."
        )
    levels = row_levels(grid, design.x)
    full = regression(levels, design.x, cluster)
    alone = {}
    for feature, own in design.own.items():
        columns = np.concatenate([design.base, own])
        alone[feature] = (regression(levels, design.x[:, columns], cluster), columns)
    bare = regression(levels, design.x[:, design.base], cluster)
    logits = (levels.level[:, None] + levels.columns)[grid.weight > 0]
    some = logits[:: 1 + len(logits) // MOST_CELLS]
    return _Fitted(design, levels, full, alone, max(1 - full.variance / bare.variance, 0.0), some)


def _effects(fitted: _Fitted, of: str) -> pl.DataFrame:
    """One row per effect; effects on difficulty have the other sign than those on the response."""
    sign = -1.0 if of == "samples" else 1.0
    terms = fitted.design.terms
    beside = (
        _signed(contrasts(fitted.full, np.array([term.contrast for term in terms])), sign) if terms else None
    )
    alone = [_alone(fitted, term, sign) for term in terms]
    columns: dict[str, Any] = {
        "feature": [term.feature for term in terms],
        "term": [term.name for term in terms],
        "rows": [term.rows for term in terms],
    }
    if beside is None:
        names = ("effect", "low", "high", "p_value", "holm_p", "points", "alone", "alone_low", "alone_high")
        schema = {"feature": pl.String, "term": pl.String, "rows": pl.Int64} | dict.fromkeys(
            names, pl.Float64
        )
        return pl.DataFrame(schema=schema)
    columns |= {"effect": beside.value, "low": beside.low, "high": beside.high, "p_value": beside.p_value}
    columns |= {
        "holm_p": holm(np.nan_to_num(beside.p_value, nan=1.0)),
        "points": [100 * fitted.shift(sign * value) for value in beside.value],
        "alone": [one.value[0] for one in alone],
        "alone_low": [one.low[0] for one in alone],
        "alone_high": [one.high[0] for one in alone],
    }
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def _alone(fitted: _Fitted, term: Term, sign: float) -> Effect:
    found, columns = fitted.alone[term.feature]
    assert term.contrast is not None
    return _signed(contrasts(found, term.contrast[None, columns]), sign)


def _signed(effect: Effect, sign: float) -> Effect:
    if sign > 0:
        return effect
    return Effect(-effect.value, -effect.high, -effect.low, effect.p_value)


class _Predictions(NamedTuple):
    """Predicted mean responses of rows that were held out."""

    observed: Floats
    everything: Floats
    without: dict[str, Floats]
    alone: dict[str, Floats]
    groups: Floats  # from the category that is compared within, else the constant
    constant: Floats
    tested: HeldOut

    def sums(self, predicted: Floats) -> UnitSums:
        return r2_sums(self.tested, predicted, self.constant)

    def score(self, predicted: Floats, other: Floats | None = None) -> ScoreInterval:
        return unit_interval(self.sums(predicted), None if other is None else self.sums(other))


def _held_out(
    grid: Responses, features: Features, everything: Features, within: str | None,
    cluster: NDArray[np.int64] | None, seed: int,
) -> _Predictions:  # fmt: skip
    """Ridge regression in folds: with all features, without each, with each alone.

    Levels come from a model without features, so that no row's features touch another's level, and in each
    fold from the responses to the other rows alone. It starts where the model of all rows ended.
    """
    n = len(grid.weight)
    constant = np.ones((n, 1))
    levels = row_levels(grid, constant)
    unit = np.arange(n) if cluster is None else cluster
    count = int(unit.max()) + 1
    fold = (np.random.default_rng(seed).permutation(count) % min(FOLDS, count))[unit]
    always = [] if within is None else [within]
    names = list(features.kinds)
    wanted = {
        "all": [*always, *names], "groups": always, "none": [],
        **{f"without {name}": [*always, *(other for other in names if other != name)] for name in names},
        **{f"alone {name}": [*always, name] for name in names},
    }  # fmt: skip
    predicted = {key: np.empty(n) for key in wanted}
    for held in range(int(fold.max()) + 1):
        train, test = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        blocks = _encoded(everything, train, test)
        seen = Responses(grid.weight[train], grid.right[train])
        some = row_levels(seen, constant[train], start=levels.of(train))
        for key, columns in wanted.items():
            known = [blocks[name] for name in columns if name in blocks]
            x, new = (np.hstack([np.empty((len(part), 0)), *(pair[side] for pair in known)])
                      for side, part in enumerate((train, test)))  # fmt: skip
            found = ridge_regression(x, some.observed, some.trust)
            chance = sigmoid(shrunk_logits(found.predict(new), some, found.error))
            predicted[key][test] = np.average(chance, axis=1, weights=grid.weight[test])
    observed = grid.right.sum(axis=1) / grid.weight.sum(axis=1)
    tested = HeldOut(observed, np.ones(n), np.arange(n), unit, fold)
    return _Predictions(
        observed, predicted["all"], {name: predicted[f"without {name}"] for name in names},
        {name: predicted[f"alone {name}"] for name in names}, predicted["groups"], predicted["none"], tested,
    )  # fmt: skip


def _encoded(
    features: Features, train: NDArray[np.int64], test: NDArray[np.int64]
) -> dict[str, tuple[Floats, Floats]]:
    """The columns of each feature for seen and for held-out rows; constant ones are left out."""
    seen = features.take(train)
    if not something_differs(seen):
        return {}
    encoder = Encoder.fit(seen)
    x, new = encoder.matrix(features, train), encoder.matrix(features, test)
    of = np.array(encoder.feature)
    return {name: (x[:, of == name], new[:, of == name]) for name in features.kinds if name in of}


def _features(features: Features, fitted: _Fitted, held: _Predictions) -> pl.DataFrame:
    """One row per feature, the one without which most is lost first."""
    rows = []
    for name, kind in features.kinds.items():
        lost = held.score(held.everything, held.without[name])
        alone = held.score(held.alone[name], held.groups)
        own = fitted.design.own.get(name, np.empty(0, np.int64))
        p = joint_p(fitted.full, own) if 0 < len(own) < fitted.full.df else np.nan
        rows.append((name, kind, *alone, *lost, p))
    names = [
        "feature",
        "kind",
        "alone",
        "alone_low",
        "alone_high",
        "lost",
        "lost_low",
        "lost_high",
        "p_value",
    ]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    adjusted = holm(np.nan_to_num(frame["p_value"].to_numpy(), nan=1.0))
    frame = frame.with_columns(pl.Series("holm_p", adjusted), pl.col(pl.Float64).fill_nan(None))
    return frame.sort(["lost", "feature"], descending=[True, False], nulls_last=True)


def _answer(found: FeatureEffects) -> str:
    what = "success rates" if found.of == "samples" else "mean responses"
    explained = found.explained
    ends = f"95 % CI {_percents(explained.low)} to {_percents(explained.high)}"
    where = f", {in_quotes(found.within)} among them," if found.within else ""
    if not explained.low > 0:
        return (
            f"The features{where} do not predict {what} of held-out {found.of} better than a constant does "
            f"({_percents(explained.value)} of the variance, {ends})."
        )
    text = (
        f"The features{where} explain {_percents(explained.value)} of the variance of {what} of held-out "
        f"{found.of} ({ends})."
    )
    first = found.features.row(0, named=True)
    if (first["lost_low"] or 0) > 0 and found.features.height > 1:
        lost, low, high = (100 * first[name] for name in ("lost", "lost_low", "lost_high"))
        text += (
            f" {in_quotes(brief(first['feature']))} matters most: without it the share falls by {lost:.1f} "
            f"points ({low:.1f} to {high:.1f})."
        )
    if not found.effects.height:
        return text
    sure = found.effects.filter(pl.col("holm_p") < 1 - LEVEL).height
    verb = "is" if sure == 1 else "are"
    holds = f"{counted(sure, 'effect')} of {found.effects.height} {verb} significant"
    return f"{text} {holds} after Holm's correction."


def _percents(share: float) -> str:
    return f"{100 * share + 0.0:.1f} %".replace("-0.0", "0.0").replace("-", "−")


def _feature_grid(found: FeatureEffects) -> Grid:
    frame = found.features
    shown = pl.DataFrame(
        {
            "feature": frame["feature"],
            "kind": frame["kind"],
            "alone": frame["alone"],
            "alone, 95 % CI": intervals(frame, "alone_low", "alone_high"),
            "lost": frame["lost"],
            "lost, 95 % CI": intervals(frame, "lost_low", "lost_high"),
            "p (Holm)": frame["holm_p"],
        }
    )
    title = f"Share of the variance explained on held-out {found.of}: by a feature alone, and lost without it"
    return Grid(title, shown, fixed=("alone, 95 % CI", "lost, 95 % CI"), spare=("kind",))


def _effect_grids(found: FeatureEffects, most: int) -> list[Part]:
    if not found.effects.height or not most:
        return []
    largest = found.effects.sort([pl.col("effect").abs(), "feature", "term"], descending=[True, False, False])
    some = largest.head(most)
    frame = pl.DataFrame(
        {
            "feature": some["feature"],
            "term": some["term"],
            found.of: some["rows"],
            "effect": some["effect"],
            "95 % CI": intervals(some, "low", "high"),
            "p (Holm)": some["holm_p"],
            "points": [signed(value) for value in some["points"]],
            "alone": some["alone"],
        }
    )
    inside = f", within {in_quotes(found.within)}" if found.within else ""
    shown = "" if largest.height <= most else f"the {most} largest of {largest.height} "
    title = f"{shown}effects on {found.scale} in logits, beside all other features{inside}"
    return [Grid(title[0].upper() + title[1:], frame, fixed=("95 % CI",), spare=("alone", "points"))]
