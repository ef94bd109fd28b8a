"""Experiments over tables, diagnosers and seeds: in parallel, each result kept as soon as it is there."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from camilla import diagnosing
from camilla.arrays import Watch, one_blas_thread
from camilla.diagnosing import contender
from camilla.display import watching
from camilla.errors import DataError, SettingError
from camilla.experiments.contenders import check_names, check_uses_features, every, fitted_contender
from camilla.experiments.protocols import (
    assumptions,
    check_sizes,
    rank_consistency,
    rank_stability,
    reliability,
    sizes_for,
    split,
)
from camilla.experiments.results import (
    ORDER,
    SCHEMA,
    UNSEEN,
    empty,
    experiment_provenance,
    read_results,
    rows_of,
    write_results,
)
from camilla.experiments.unseen import (
    FOLDS,
    Predictor,
    Units,
    baseline_predictor,
    check_baseline,
    check_folds,
    diagnoser_predictor,
    features_of,
    held_out_scores,
    units_of,
)
from camilla.experiments.unseen_baselines import BASELINES, CONSTANT
from camilla.fitting.layout import layout_of_table, size_of
from camilla.models import DIAGNOSERS
from camilla.parallel import in_turn, parallel
from camilla.reading.inputs import TableLike, as_table
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable, check_diagnosable

SEEDS = (1, 21, 42, 84, 168, 336, 672, 1344, 2688, 5376)  # of the Camilla paper
EXPERIMENTS = ("reliability", "rank-consistency", "rank-stability", "assumptions", *UNSEEN)
PLAIN = "vanilla"
USUAL = (PLAIN, "irt", diagnosing.AUTO)
ALL = "all"


class ExperimentTask(NamedTuple):
    """One diagnoser on one seed of one table; with the version of camilla, the key of its rows."""

    experiment: str
    table: str
    data_hash: str
    diagnoser: str
    seed: int
    size: int | None = None


KEY = [*ExperimentTask._fields, "camilla"]


def experiment(
    name: str,
    tables: TableLike | Mapping[str, TableLike],
    *,
    rows: WideRows | None = None,
    diagnosers: str | Sequence[str] | None = None,
    seeds: int | Sequence[int] = SEEDS,
    sizes: int | Sequence[int] | None = None,
    folds: int | None = None,
    store: str | Path | None = None,
    jobs: int = 1,
    backend: str = "loky",
    progress: bool | None = None,
    watch: Watch | None = None,
) -> pl.DataFrame:
    """Compares diagnosers by the protocols of Liu et al. (2024), or on unseen samples, learners or tasks.

    Every result goes into the store as soon as it is known. A stopped run continues, and finished runs are
    reused.

    Parameters
    ----------
    name : str
        The protocol: "reliability", "rank-consistency", "rank-stability" or "assumptions". Or what is held
        out whole, in folds: "unseen-samples", "unseen-learners" or "unseen-tasks".
    tables : ResponseTable, dataframe, path, or mapping of them
        One table, or several by name.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    diagnosers : str or list of str, optional
        Names with settings after colons, such as "irt:precision=3", or "all". Rankings always include
        vanilla, the plain accuracy. Experiments on unseen samples, learners and tasks always include
        "constant", and have "ridge" and "logistic", two regressions on the features.
    seeds : int or list of int
        Seeds; one run per seed.
    sizes : int or list of int, optional
        Sizes of the partitions of rank-stability.
    folds : int, optional
        Parts that unseen samples, learners or tasks are dealt into; five by default.
    store : path, optional
        A Parquet file that results are kept in.
    jobs : int
        Processes.
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
    polars.DataFrame
        One row per score.

    Examples
    --------
    >>> table = camilla.simulate(10, 60, seed=1).table
    >>> results = camilla.experiment("reliability", table, diagnosers=["vanilla"], seeds=(1,))
    >>> sorted(results["score"].unique())
    ['acc', 'auc', 'f1', 'log_loss', 'mae', 'rmse']
    """
    if name not in EXPERIMENTS:
        raise SettingError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}.")
    if sizes is not None and name != "rank-stability":
        raise SettingError(f"sizes apply only to rank-stability; {name} has no partitions. Leave them out.")
    if folds is not None and name not in UNSEEN:
        raise SettingError(f"folds are of {', '.join(UNSEEN)}; {name} has none. Leave them out.")
    if store is not None and Path(store).suffix.lower() != ".parquet":
        raise SettingError(f"{store}: results are kept in Parquet; give a name that ends in .parquet.")
    diagnosers = (diagnosers,) if isinstance(diagnosers, str) else diagnosers
    seeds = (seeds,) if isinstance(seeds, int) else seeds
    sizes = (sizes,) if isinstance(sizes, int) else sizes
    ordered: dict[str, ResponseTable] = {}
    for label, source in (tables if isinstance(tables, Mapping) else {"table": tables}).items():
        table = as_table(source, rows=rows)
        check_diagnosable(table)
        ordered[label] = table.in_fitting_order()
    if name in UNSEEN:
        tasks = list(_unseen_tasks(name, ordered, diagnosers=diagnosers, seeds=seeds, folds=folds or FOLDS))
    else:
        tasks = list(_tasks(name, ordered, diagnosers=diagnosers or USUAL, seeds=seeds, sizes=sizes))
    path = None if store is None else Path(store)
    results = empty() if path is None else read_results(path)
    wanted = _keys(tasks)
    missing = wanted.join(results, on=KEY, how="anti", nulls_equal=True)
    with watching("experiment", progress, watch) as watch:
        watch(f"{wanted.height - missing.height} of {wanted.height} runs exist already")
        left = [ExperimentTask(*row[:-1]) for row in missing.iter_rows()]
        frames = _frames(ordered, left, jobs, backend)
        results = _with_missing(results, frames, len(left), path, watch)
    return results.join(wanted, on=KEY, how="semi", nulls_equal=True).sort(ORDER)


def _with_missing(
    results: pl.DataFrame, frames: Iterator[pl.DataFrame], count: int, path: Path | None, watch: Watch
) -> pl.DataFrame:
    for number, frame in enumerate(frames, 1):
        results = pl.concat([results.join(frame, on=ORDER, how="anti", nulls_equal=True), frame])
        if path is not None:
            write_results(results, path)
        first = frame.row(0, named=True)
        watch(f"{number} of {count}: {first['diagnoser']} on {first['table']}, seed {first['seed']}")
    return results


def _keys(tasks: Sequence[ExperimentTask]) -> pl.DataFrame:
    schema = {name: SCHEMA[name] for name in ExperimentTask._fields}
    return (
        pl.DataFrame(tasks, schema=schema, orient="row")
        .unique(maintain_order=True)
        .with_columns(camilla=pl.lit(experiment_provenance()["camilla"]))
    )


def _tasks(
    name: str, tables: Mapping[str, ResponseTable],
    *, diagnosers: Sequence[str], seeds: Sequence[int], sizes: Sequence[int] | None,
) -> Iterator[ExperimentTask]:  # fmt: skip
    """Every task of an experiment, after everything that can be wrong with it was checked."""
    for table, ordered in tables.items():
        digest = ordered.digest()
        if name == "assumptions":
            yield ExperimentTask(name, table, digest, "", 0)
            continue
        size = size_of(ordered)
        labels = [label for text in diagnosers for label in (every(size) if text == ALL else [text])]
        if name != "reliability":
            labels = [PLAIN, *labels]
        for label in labels:
            check_names(contender(label), size)
        parts: Sequence[int | None] = (None,)
        if name == "rank-stability":
            parts = check_sizes(sizes_for(ordered.n_samples) if sizes is None else sizes, ordered.n_samples)
        yield from (
            ExperimentTask(name, table, digest, contender(label).label, seed, part)
            for part in parts
            for label in labels
            for seed in seeds
        )


def _unseen_tasks(
    name: str, tables: Mapping[str, ResponseTable],
    *, diagnosers: Sequence[str] | None, seeds: Sequence[int], folds: int,
) -> Iterator[ExperimentTask]:  # fmt: skip
    """Every contender and seed of an experiment on unseen units; the constant is always among them."""
    for label, table in tables.items():
        units = units_of(name, table)
        parts = check_folds(folds, units)
        known = features_of(table, units) is not None
        wanted = diagnosers if diagnosers is not None else list(BASELINES) if known else [CONSTANT]
        wanted = [CONSTANT, *(text for text in wanted if text != CONSTANT)]
        for text in wanted:
            _predictor(text, table, units)
        digest = table.digest()
        yield from (
            ExperimentTask(name, label, digest, text, seed, parts) for text in wanted for seed in seeds
        )


def _predictor(text: str, table: ResponseTable, units: Units) -> Predictor:
    """The contender that a text names."""
    if text in BASELINES:
        check_baseline(text, table, units)
        return baseline_predictor(text)
    name = text.split(":", maxsplit=1)[0].strip()
    if name not in (*DIAGNOSERS, diagnosing.AUTO):
        raise SettingError(
            f"no contender {text!r} for {units.name}; there are {', '.join(BASELINES)}, and diagnosers such "
            "as bayes."
        )
    one, size = contender(text), size_of(table)
    check_names(one, size)
    check_uses_features(one, size)
    return diagnoser_predictor(text)


def _frames(
    ordered: Mapping[str, ResponseTable], left: Sequence[ExperimentTask], jobs: int, backend: str
) -> Iterator[pl.DataFrame]:
    """The rows of each task, in the order tasks end."""
    with parallel(backend, jobs):
        tasks = [(ordered[task.table], task) for task in left]
        yield from (frame for _, frame in in_turn(_done, tasks))


def _done(ordered: ResponseTable, task: ExperimentTask) -> pl.DataFrame:
    """The rows of one task."""
    started = time.process_time()
    chosen: dict[str, Any] = {}
    converged = None
    with one_blas_thread():
        if task.experiment == "assumptions":
            rows = assumptions(ordered)
        elif task.experiment in UNSEEN:
            rows, chosen, converged = _unseen(ordered, task)
        else:
            rows, found = _scored(ordered, task)
            converged = found.fit.solution.converged
            chosen = {"diagnoser": found.fit.diagnoser.name, **found.fit.settings}
    seconds = time.process_time() - started
    return rows_of(task._asdict(), rows, chosen=chosen, converged=converged, seconds=seconds)


def _unseen(
    ordered: ResponseTable, task: ExperimentTask
) -> tuple[list[dict[str, Any]], dict[str, Any], bool | None]:
    units = units_of(task.experiment, ordered)
    predictor = _predictor(task.diagnoser, ordered, units)
    rows, last = held_out_scores(ordered, units, predictor, folds=task.size or FOLDS, seed=task.seed)
    return rows, {"diagnoser": task.diagnoser, **last.chosen}, last.converged


def _scored(ordered: ResponseTable, task: ExperimentTask) -> tuple[list[dict[str, Any]], diagnosing.Found]:
    """A fit on part of the cells is asked for its reliability and its consistency, whichever was wanted."""
    one = contender(task.diagnoser)
    if task.experiment == "rank-stability" and task.size is not None:
        return rank_stability(ordered, one, task.seed, size=task.size)
    train, valid, test = thirds(ordered, task.seed)
    found = fitted_contender(
        one, size_of(ordered), layout_of_table(train), seed=task.seed, valid=layout_of_table(valid)
    )
    rows = [row | {"experiment": "reliability"} for row in reliability(found, test)]
    ranks = rank_consistency(found, train, test, ordered)
    return rows + [row | {"experiment": "rank-consistency"} for row in ranks], found


def thirds(ordered: ResponseTable, seed: int) -> tuple[ResponseTable, ...]:
    """Cells 6:2:2 for fitting, choosing and scoring."""
    parts = split(ordered, by="cell", proportions=(6, 2, 2), seed=seed)
    if min(part.n_responses for part in parts) == 0:
        raise DataError(f"{ordered.n_responses} responses are too few to split 6:2:2; expected at least ten.")
    return parts
