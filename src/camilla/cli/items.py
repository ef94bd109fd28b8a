"""`camilla items`: which samples a benchmark owner should look at."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say


@reads_table("skills", "key", *options.CONTENT)
def items(
    table: options.TableOption,
    samples: Annotated[int, typer.Option(min=0, help="How many samples to print.")] = 15,
    rate: Annotated[float, typer.Option(help="False discovery rate of the flags negative and twin.")] = 0.05,
    show: options.ShowOption = 0,
    judged: Annotated[
        Path | None,
        typer.Option(help="Table of samples that a person has checked: columns sample, error (1 or 0)."),
    ] = None,
    effect: Annotated[
        bool,
        typer.Option("--effect", help="Ranks and means with and without the broken samples."),
    ] = False,
    corrected: Annotated[
        Path | None,
        typer.Option(help="Write the table without the broken samples, and why."),
    ] = None,
    shards: options.ShardsOption = None,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """List the broken samples, the strongest evidence first: wrong keys, unclear texts, noise, duplicates.

    Example: camilla items responses.csv --samples 20
    """
    from camilla.samples.items import items

    options.checked_show(show, columns)
    with (
        progress("judging samples") as watch,
        columns.opened(table, shards=shards, watch=watch, content=True) as responses,
    ):
        found = items(responses, judged=judged, rate=rate, seed=seed, watch=watch)
    if json:
        print_json(found.to_document(show=show, effect=effect), "items")
    else:
        say(found.text(samples=samples, show=show, effect=effect))
    if corrected is not None:
        why = found.write_corrected(corrected)
        say(f"written to {corrected}; what was left out and why is in {why}", err=True)
