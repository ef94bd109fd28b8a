"""`camilla check`: what to know of a table before believing anything computed from it."""

from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.completing import diagnosers
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say


@reads_table("cluster")
def check(
    table: options.TableOption,
    with_: Annotated[
        str,
        typer.Option("--with", help="Diagnoser used for the permutation control.", autocompletion=diagnosers),
    ] = "irt",
    fit: Annotated[
        bool, typer.Option("--fit/--no-fit", help="Whether to run the permutation control.")
    ] = True,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Check a table before you trust its results: constants, copies, gaps, dimensions, permutation control.

    Example: camilla check responses.csv
    """
    responses = columns.read(table)
    if fit:
        from camilla.experiments.control import check_with_fit

        with progress("control") as watch:
            found = check_with_fit(responses, with_, seed=seed, watch=watch)
    else:
        from camilla.learners.check import check as look

        found = look(responses, seed=seed)
    if json:
        print_json(found.to_document(), "check")
    else:
        say(found.text())
