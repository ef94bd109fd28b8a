"""`camilla select`: a smaller benchmark that tells nearly the same."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_frame, print_json, progress

if TYPE_CHECKING:
    import polars as pl

    from camilla.samples.select import Subset


@reads_table()
def select(
    table: options.TableOption,
    n: Annotated[int, typer.Option("-n", "--samples", help="How many samples to keep.")] = 100,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the subset in every form.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="How often learners are dealt into folds.")] = 2,
    folds: Annotated[int, typer.Option(help="Folds of learners, each held out once.")] = 5,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Choose the samples that tell the full score and the ranking best, with the error to expect."""
    from camilla.samples.forms import check_new, document, write
    from camilla.samples.select import select as choose

    if output is not None:
        check_new(output)
    responses = columns.read(table)
    with progress("selecting") as watch:
        found = choose(responses, n, folds=folds, repeats=repeats, seed=seed, watch=watch)
    if output is not None:
        write(found, output)
    if json:
        print_json(document(found))
    else:
        _print(found, output)


def _print(found: "Subset", output: Path | None) -> None:
    import polars as pl

    made = found.provenance
    n = made["settings"]["n"]
    print_frame(
        _without_empty(found.samples.head(5).drop("expected_response")),
        title=f"{n} of {made['n_samples']} samples ({made['settings']['chosen']})",
    )
    if found.error is None:
        typer.echo("No expected error: too few learners answered every sample.")
    else:
        shown = found.expected.filter(
            pl.col("way").is_in(["chosen", "random", "stratified", "random, weighted"])
        )
        print_frame(
            shown.drop("rmse"),
            title="error of the estimated mean score, and Kendall with the full one, on held-out learners",
        )
    typer.echo(f"Estimated score of a new learner: {found.intercept:.4f} + sum of weight x response.")
    if output is not None:
        _say_written(found, output)


def _say_written(found: "Subset", output: Path) -> None:
    """The files of the folder, and which of them could not be filled."""
    from camilla.samples.forms import inspect_sample_id, lm_eval_samples

    typer.echo(f"Written to {output}: subset.json, weights.csv, lm_eval_samples.json, inspect_sample_ids.txt")
    if not lm_eval_samples(found):
        typer.echo("lm_eval_samples.json is empty: the names of samples do not end in a task and a number.")
    if not inspect_sample_id(found):
        typer.echo("inspect_sample_ids.txt is empty: the name of a task has a comma or colon.")


def _without_empty(frame: "pl.DataFrame") -> "pl.DataFrame":
    return frame.select(name for name in frame.columns if frame[name].null_count() < frame.height)
