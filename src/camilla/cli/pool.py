"""`camilla pool`: train many learners on the same data and keep what they predict."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from camilla.cli import options
from camilla.cli.options import gathers
from camilla.display import aside, brief, print_frame, print_json, progress, say
from camilla.names import shown

if TYPE_CHECKING:
    from camilla.pools.description import Pool
    from camilla.pools.grids import Made

app = typer.Typer(
    name="pool",
    no_args_is_help=True,
    help="Train many learners on the same data. Runs can be resumed: each finished fit is a file.",
)

Output = Annotated[
    Path, typer.Option("-o", "--output", help="Folder for the results; an interrupted run continues there.")
]
Data = Annotated[Path, typer.Argument(metavar="DATA", help="Folder or file of the data.")]


@dataclass(frozen=True)
class Running:
    """How a pool is run; every field is an option."""

    family: Annotated[
        list[str] | None, typer.Option(help="Only learners of this family; may be repeated.")
    ] = None
    jobs: options.JobsOption = -1
    backend: options.BackendOption = "loky"
    seed: options.SeedOption = 0
    json: options.JsonOption = False


runs = gathers("running", Running)


@app.command()
@runs
def classifiers(
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA…", help="Tables, or folders of tables: one data set per file."),
    ],
    output: Output,
    target: Annotated[str | None, typer.Option(help="Column of the class; by default the last one.")] = None,
    learners: Annotated[
        list[str] | None,
        typer.Option(help="table-3 (the classifiers of the paper) or your own module:name; may be repeated."),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="Number of cross-validation folds; every sample is scored out of fold.")
    ] = 5,
    holdout: Annotated[
        float | None,
        typer.Option(help="Hold out this share of the samples and score it, instead of cross-validation."),
    ] = None,
    *,
    running: Running,
) -> None:
    """Score classifiers on two-class data sets: the 302 of Breskanu and Maisuradze, or your own.

    Example: camilla pool classifiers data/ -o pool
    """
    from camilla.pools.classifiers import classifiers_pool
    from camilla.pools.description import Folds, Holdout
    from camilla.pools.sources import read_classification

    chosen = _chosen(learners or ["table-3"])
    validation = Folds(folds) if holdout is None else Holdout(holdout)
    sets = read_classification(data, target=target)
    pool = classifiers_pool(sets, classifiers=chosen, validation=validation, seed=running.seed)
    _run(pool, output, running)


@app.command()
@runs
def titanic(data: Data, output: Output, *, running: Running) -> None:
    """Train 353 classifiers and predict 418 passengers (Liu et al., 2024).

    DATA has train.csv and test_with_truth.csv.

    Example: camilla pool titanic titanic/ -o pool
    """
    from camilla.pools.titanic import titanic_pool

    _run(titanic_pool(data, seed=running.seed), output, running)


@app.command()
@runs
def diamond(
    data: Data,
    output: Output,
    full: Annotated[
        bool, typer.Option("--full", help="All 53,940 diamonds instead of a stratified tenth.")
    ] = False,
    *,
    running: Running,
) -> None:
    """Train 157 regressors on diamond prices (Liu et al., 2024), scored out of fold.

    Example: camilla pool diamond diamonds.csv -o pool
    """
    from camilla.pools.diamond import diamond_pool

    pool = diamond_pool(data, full=full, seed=running.seed)
    _run(pool, output, running)


@app.command()
@runs
def esol(
    data: Data,
    output: Output,
    join: Annotated[
        Path | None,
        typer.Option(help="Wide table with predictions of further learners for the same samples."),
    ] = None,
    *,
    running: Running,
) -> None:
    """Train 8 regressors on fingerprints of 1,127 molecules (Liu et al., 2024), scored out of fold.

    Example: camilla pool esol esol.csv -o pool
    """
    from camilla.pools.esol import esol_pool

    pool = esol_pool(data, seed=running.seed)
    _run(pool, output, running, join=join)


def _chosen(names: Sequence[str]) -> "Made":
    from camilla.pools.classifiers import table_3
    from camilla.pools.grids import Made
    from camilla.pools.sources import own_learners

    parts = [table_3() if name == "table-3" else Made(own_learners(name), ()) for name in names]
    return Made(
        tuple(learner for part in parts for learner in part.learners),
        tuple(note for part in parts for note in part.notes),
    )


def _run(pool: "Pool", output: Path, running: Running, *, join: Path | None = None) -> None:
    from camilla.parallel import parallel
    from camilla.pools.results import only, summary, write_pool
    from camilla.pools.running import run

    chosen = only(pool, running.family)
    for note in chosen.notes:
        aside(f"note: {note}")
    with parallel(running.backend), progress(f"pool {pool.name}") as watch:
        results = run(chosen, output, jobs=running.jobs, watch=watch)
    document = write_pool(results, output, join=join)
    for failure in document["failed"]:
        who, where = brief(failure["learner"]), brief(failure["data_set"])
        say(f"failed: {who} on {where}: {shown(failure['error'])}", err=True)
    if running.json:
        print_json(document | {"verdict": "failed in part" if document["failed"] else "complete"}, "pool")
    else:
        print_frame(summary(results), title=_title(document))
        say(f"Written to {output}.")


def _title(document: dict[str, Any]) -> str:
    return (
        f"{document['learners']} learners, {len(document['data'])} data sets, {document['fits']} fits: "
        f"{len(document['failed'])} failed, {document['fits_with_warnings']} with warnings, "
        f"{len(document['duplicates'])} duplicates, {document['cpu_seconds']:.1f} CPU seconds"
    )
