"""The samples that carry most of the signal, and what is lost on learners not used to choose them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.display import Grid, Part, Printable, intervals, watching
from camilla.errors import DataError, SettingError
from camilla.learners.check import copy_notes
from camilla.names import name_index
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.samples.bank import fitted_model
from camilla.samples.crossfit import (
    EQUAL,
    PLAIN,
    Candidate,
    Crossfit,
    Known,
    SubsetErrors,
    Way,
    chosen_by,
    chosen_elsewhere,
    crossfit,
    offer_in_words,
    offer_of,
    surest,
    weighed,
)
from camilla.samples.designs import model_moments, principal_moments
from camilla.statistics.intervals import Z, mean_interval
from camilla.statistics.prediction import Offer
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

MANY = 500  # learners from which on principal components tell more than a model
FEWEST = 6  # learners with all responses that an expected error needs
NUMBERS = ("weight", "accuracy", "expected_response")


@dataclass(frozen=True, eq=False, repr=False)
class Subset(Printable):
    """Chosen samples with their weights: estimate = intercept + Σ weight × response.

    `accuracy` is the plain mean of a sample's responses, `expected_response` what is expected of a new
    learner: the same drawn towards the model's where few answered. Greedy choices stand in the order they
    were made, so that the first k are the choice of k.

    `expected` has the errors on held-out learners of this way of choosing, of random and of stratified
    subsets of the same size, of random subsets with the same estimator, and of a guess without any response.
    `offer` says whether choosing is better than these by more than its uncertainty.

    Attributes
    ----------
    samples : DataFrame
        One row per chosen sample, with its weight in the estimated full score.
    intercept : float
        What is added to the weighted sum of responses.
    error : float or None
        Root mean square error to expect on a new learner.
    expected : DataFrame
        One row per way of choosing: its error on held-out learners.
    offer : Offer or None
        Whether choosing is better than the simpler ways; None where that is not known.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.
    notes : tuple of str
        What a reader must know.

    Examples
    --------
    >>> table = camilla.simulate(16, 40, seed=1).table
    >>> subset = camilla.select(table, 10, folds=2, repeats=1)
    >>> subset.samples.columns[:3]
    ['sample', 'task', 'weight']
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"samples": 3}

    samples: pl.DataFrame
    intercept: float
    error: float | None  # root mean square error expected on a new learner
    expected: pl.DataFrame
    offer: Offer | None  # None where the error is not known
    provenance: dict[str, Any]
    notes: tuple[str, ...] = ()

    def parts(self, *, samples: int = 5) -> list[Part]:
        """Returns what `text` prints: the error to expect, the first samples, other ways to choose.

        Parameters
        ----------
        samples : int
            How many samples to list.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> table = camilla.simulate(16, 40, seed=1).table
        >>> subset = camilla.select(table, 10, folds=2, repeats=1)
        >>> len(subset.parts(samples=1)) > 1
        True
        """
        made = self.provenance
        n, chosen = made["settings"]["n"], made["settings"]["chosen"]
        frame = self.samples.head(samples).drop("expected_response")
        frame = frame.select(name for name in frame.columns if frame[name].null_count() < frame.height)
        parts: list[Part] = [
            self._answer(),
            Grid(f"First of the {n} chosen samples ({chosen})", frame, spare=("task",)),
        ]
        if self.error is not None:
            parts.append(_errors_grid(self.expected.filter(pl.col("way").is_in(COMPARED))))
        return [
            *parts,
            f"Estimated score of a new learner: {self.intercept:.4f} + sum of weight × response.",
            *(f"note: {note}" for note in self.notes),
        ]

    def _answer(self) -> str:
        n, of = self.provenance["settings"]["n"], self.provenance["n_samples"]
        if self.error is None or self.offer is None:
            return f"{n} of {of} samples; the error is not known: too few learners answered every sample."
        way = Way(f"{n} of {of} samples", n, "Choosing", "weighting", "with such weights", "without")
        return offer_in_words(self.offer, way, dict(self.expected.select("way", "mae").iter_rows()))

    def estimate(self, table: TableLike, *, rows: WideRows | None = None) -> pl.DataFrame:
        """Returns the estimated full score of learners that answered the chosen samples.

        A chosen sample without a response counts with its `expected_response`; `n_missing` says how many.

        Parameters
        ----------
        table : ResponseTable, dataframe or path
            Responses to the chosen samples.
        rows : "samples" or "learners", optional
            Of a wide table: what its rows are.

        Returns
        -------
        DataFrame
            One row per learner.

        Examples
        --------
        >>> table = camilla.simulate(16, 40, seed=1).table
        >>> subset = camilla.select(table, 10, folds=2, repeats=1)
        >>> subset.estimate(table).columns[:2]
        ['learner', 'score']
        """
        table = as_table(table, rows=rows)
        place = name_index(self.samples["sample"])
        cells = table.cells()
        where = np.array([place.get(name, -1) for name in table.samples], np.int64)[cells.sample]
        mine = where >= 0
        responses = np.full((table.n_learners, self.samples.height), np.nan)
        responses[cells.learner[mine], where[mine]] = cells.response[mine]
        if not np.isfinite(responses).any(axis=1).all():
            lost = table.learners[int(np.argmin(np.isfinite(responses).any(axis=1)))]
            raise DataError(f"learner {lost!r} has no response to any of the {len(place)} chosen samples.")
        filled = np.where(np.isnan(responses), self.samples["expected_response"].to_numpy(), responses)
        value = self.intercept + filled @ self.samples["weight"].to_numpy()
        half = np.nan if self.error is None else Z * self.error
        return pl.DataFrame(
            {
                "learner": table.learners,
                "score": value,
                "low": np.clip(value - half, 0, 1),
                "high": np.clip(value + half, 0, 1),
                "accuracy": np.nanmean(responses, axis=1),
                "n_missing": np.isnan(responses).sum(axis=1),
            }
        ).with_columns(pl.col("low", "high").fill_nan(None))


COMPARED = (
    "chosen",
    "random",
    "stratified",
    "random, weighted",
    "guess",
)  # ways of choosing that are printed


def _errors_grid(expected: pl.DataFrame) -> Grid:
    columns = {"95 % CI": ("mae_low", "mae_high"), "kendall 95 % CI": ("kendall_low", "kendall_high")}
    frame = expected.with_columns(
        pl.Series(name, intervals(expected, *ends), pl.String) for name, ends in columns.items()
    ).select("way", "n", "mae", "95 % CI", "kendall", "kendall 95 % CI")
    return Grid(
        "Mean absolute error of the estimated score, and Kendall's τ with the full one, on held-out learners",
        frame, fixed=("way", *columns), spare=("kendall 95 % CI", "n"),
    )  # fmt: skip


def select(
    table: TableLike, n: int = 100, *, rows: WideRows | None = None,
    folds: int = 5, repeats: int = 2, seed: int = 0, progress: bool | None = None, watch: Watch | None = None,
) -> Subset:  # fmt: skip
    """Selects the n samples that estimate the mean over all samples, and so the ranking, best.

    Several ways of choosing are compared on held-out learners. The first is taken unless another is clearly
    better. Without learners that answered everything the expected error is unknown.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    n : int
        Number of samples to select.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    folds, repeats : int
        Cross-validation over learners: number of folds, and how often they are drawn.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.

    Returns
    -------
    Subset
        `samples` with weights, `intercept`, `error`, `expected`, `offer` (whether choosing helped),
        `estimate(table)`, `provenance`.

    Examples
    --------
    >>> table = camilla.simulate(16, 40, seed=1).table
    >>> subset = camilla.select(table, 10, folds=2, repeats=1)
    >>> subset.samples.height
    10
    """
    with watching("selecting", progress, watch) as watch:
        return _selected(as_table(table, rows=rows), n, folds, repeats, seed, watch)


def _selected(table: ResponseTable, n: int, folds: int, repeats: int, seed: int, watch: Watch) -> Subset:
    ordered = table.canonical().table
    _check(ordered, [n], folds, repeats)
    candidates = _candidates(ordered)
    found = _crossfitted(ordered, [n], folds, repeats, seed, watch)
    best, error, offer = candidates[0], None, None
    if found is not None:
        best = candidates[surest([found.errors[one.name, n].absolute for one in candidates])]
        error = float(np.sqrt(np.nanmean(chosen_elsewhere(found, candidates, n).square)))
        offer = offer_of(found, candidates, n)
    watch("choosing samples")
    known = _learn(ordered, np.arange(ordered.n_learners), seed)
    chosen = chosen_by(best, known, _task_numbers(ordered), n, np.random.default_rng(seed))
    by = weighed(best, known, chosen)
    samples = pl.DataFrame(
        {
            "sample": [ordered.samples[j] for j in chosen],
            "task": None if ordered.task is None else [ordered.task[j] for j in chosen],
            "weight": by.weight,
            "accuracy": ordered.sample_means().mean[chosen],
            "expected_response": next(iter(known.values())).mean[chosen],
        },
        schema={"sample": pl.String, "task": pl.String} | dict.fromkeys(NUMBERS, pl.Float64),
    ).with_columns(pl.col("accuracy").fill_nan(None))
    made = made_of(table, n=n, folds=folds, repeats=repeats, seed=seed, chosen=best.name)
    errors = _errors_frame(found, candidates, [n])
    return Subset(samples, by.intercept, error, errors, offer, made, tuple(copy_notes(ordered)))


def expected_errors(
    table: ResponseTable, sizes: list[int], *,
    folds: int = 5, repeats: int = 2, seed: int = 0, watch: Watch = lambda line: None,
) -> pl.DataFrame:  # fmt: skip
    """What subsets of several sizes lose on held-out learners, beside random and stratified ones."""
    ordered = table.canonical().table
    _check(ordered, sizes, folds, repeats)
    found = _crossfitted(ordered, sizes, folds, repeats, seed, watch)
    if found is None:
        raise DataError(
            f"fewer than {FEWEST} learners have responses to all {table.n_samples} samples, so there is no "
            "full score to compare with. Leave out samples that many learners miss."
        )
    return _errors_frame(found, _candidates(ordered), sizes)


def _check(table: ResponseTable, sizes: list[int], folds: int, repeats: int) -> None:
    if table.n_samples < 2:
        raise DataError(f"the table has {table.n_samples} sample; choosing a subset takes at least 2.")
    for n in sizes:
        if not 1 <= n < table.n_samples:
            raise SettingError(f"got {n} of {table.n_samples} samples; expected 1 to {table.n_samples - 1}.")
    if folds < 2 or repeats < 1:
        raise SettingError(f"expected at least 2 folds and 1 repeat; got {folds} and {repeats}.")
    if table.n_learners < FEWEST:
        raise DataError(
            f"the table has {table.n_learners} learners; choosing samples takes at least {FEWEST}."
        )


def _candidates(table: ResponseTable) -> list[Candidate]:
    """Model-based ways where learners are few, principal components where they are many."""
    if table.n_learners < MANY:
        return [Candidate("mirt", "stratified"), Candidate("mirt", "greedy"), Candidate(EQUAL, "stratified")]
    return [Candidate("100 components", "greedy"), Candidate("30 components", "greedy")]


def _learn(table: ResponseTable, learners: NDArray[np.integer], seed: int) -> Known:
    part = table.take_learners(learners)
    matrix = part.matrix()
    if table.n_learners < MANY:
        dimensions = min(3, part.n_learners - 1)
        model = fitted_model(part, dimensions=dimensions, precision=10.0, seed=seed, steps=400)
        return {"mirt": model_moments(matrix, model.probabilities(), _task_numbers(table))}
    return {
        f"{k} components": principal_moments(matrix, min(k, len(matrix) - 1, table.n_samples))
        for k in (100, 30)
    }


def _task_numbers(table: ResponseTable) -> NDArray[np.int64] | None:
    return None if table.task is None else np.unique(table.task, return_inverse=True)[1]


def _crossfitted(
    table: ResponseTable, sizes: list[int], folds: int, repeats: int, seed: int, watch: Watch
) -> Crossfit | None:
    """None where too few learners answered everything for a full score to be known."""
    matrix = table.matrix()
    tested = np.asarray(~np.isnan(matrix).any(axis=1))
    if tested.sum() < FEWEST:
        return None
    count = 0

    def learn(learners: NDArray[np.int64]) -> Known:
        nonlocal count
        count += 1
        watch(f"held-out learners, {count} of {folds * repeats}")
        return _learn(table, learners, seed)

    return crossfit(
        matrix, tested, learn, _candidates(table),
        sizes=sizes, task=_task_numbers(table), folds=folds, repeats=repeats, seed=seed,
    )  # fmt: skip


def _errors_frame(found: Crossfit | None, candidates: list[Candidate], sizes: list[int]) -> pl.DataFrame:
    """A row a way and size; `chosen` is the candidate that did best on the other folds."""
    rows = []
    if found is not None:
        names = dict.fromkeys([*PLAIN, *(one.name for one in candidates)])
        for size in sizes:
            by_name = {"chosen": chosen_elsewhere(found, candidates, size)}
            by_name |= {name: found.errors[name, size] for name in names}
            rows += [{"way": name, "n": size} | _row(errors) for name, errors in by_name.items()]
    columns = ("mae", "mae_low", "mae_high", "rmse", "kendall", "kendall_low", "kendall_high")
    return pl.DataFrame(rows, schema={"way": pl.String, "n": pl.Int64} | dict.fromkeys(columns, pl.Float64))


def _row(errors: SubsetErrors) -> dict[str, float | None]:
    """Intervals by Student's t, cut where the score ends: of the error over learners, of τ over repeats and
    folds."""
    mae, mae_half = _mean(np.nanmean(errors.absolute, axis=0))
    tau, tau_half = _mean(errors.kendall[~np.isnan(errors.kendall)])
    (mae_low, mae_high), (low, high) = _ends(mae, mae_half, least=0.0), _ends(tau, tau_half, least=-1.0)
    return {
        "mae": mae, "mae_low": mae_low, "mae_high": mae_high,
        "rmse": float(np.sqrt(np.nanmean(errors.square))),
        "kendall": tau, "kendall_low": low, "kendall_high": high,
    }  # fmt: skip


def _mean(values: Floats) -> tuple[float | None, float]:
    if len(values) == 0:
        return None, np.nan
    if len(values) == 1:
        return float(values[0]), np.nan
    return float(values.mean()), float(mean_interval(values).high - values.mean())


def _ends(value: float | None, half: float, *, least: float) -> tuple[float | None, float | None]:
    if value is None or np.isnan(half):
        return None, None
    return max(value - half, least), min(value + half, 1.0)
