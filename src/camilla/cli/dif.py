"""`camilla dif`: samples that behave differently for a group of learners."""

from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say


@reads_table()
def dif(
    table: options.TableOption,
    group: Annotated[
        str,
        typer.Option(
            help="Groups of learners: FILE or FILE:column with a column learner; or a column of TABLE."
        ),
    ],
    focal: Annotated[
        str | None, typer.Option(help="The group to compare with all others; by default the smallest.")
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(help="Split a date or a number into two groups: below this value, and from it on."),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="How many samples to print.")] = 15,
    rate: Annotated[float, typer.Option(help="False discovery rate of the flags.")] = 0.05,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Find samples that a group solves more or less often than its ability predicts: a sign of contamination.

    Example: camilla dif responses.csv --group families.csv:family
    """
    from camilla.samples.dif import cut_at, dif, read_groups

    responses = columns.read(table)
    groups = read_groups(group, responses, table, learner=columns.learner or "learner")
    if cut is not None:
        groups = cut_at(groups, cut)
    with progress("comparing groups") as watch:
        found = dif(responses, groups, focal=focal, rate=rate, seed=seed, watch=watch)
    if json:
        print_json(found.to_document(), "dif")
        return
    say(found.text(samples=samples))
