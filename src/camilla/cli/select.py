"""`camilla select`: a smaller benchmark that tells nearly the same."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say

if TYPE_CHECKING:
    from camilla.samples.select import Subset


@reads_table()
def select(
    table: options.TableOption,
    n: Annotated[int, typer.Option("-n", "--samples", help="How many samples to keep.")] = 100,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for the subset in the formats of the harnesses."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="How many times learners are split into folds.")] = 2,
    folds: Annotated[int, typer.Option(help="Number of folds of learners, each held out once.")] = 5,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Choose a smaller set of samples that predicts full scores and the ranking, with the error to expect.

    Example: camilla select responses.csv -n 100 -o subset
    """
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
        print_json(document(found), "select")
        return
    say(found.text())
    if output is not None:
        _say_written(found, output)


def _say_written(found: "Subset", output: Path) -> None:
    """The files of the folder, and which of them could not be filled."""
    from camilla.samples.forms import form_notes, inspect_sample_id, lm_eval_samples

    say(f"Written to {output}: subset.json, weights.csv, lm_eval_samples.json, inspect_sample_ids.txt.")
    if not lm_eval_samples(found):
        say("lm_eval_samples.json is empty: the names of the samples do not end in a task and a number.")
    for note in form_notes(found):
        say(f"note: {note}")
    if not inspect_sample_id(found):
        say("inspect_sample_ids.txt is empty: the name of a task has a comma or colon.")
