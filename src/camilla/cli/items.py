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
    shards: options.ShardsOption = None,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Judge every sample: difficulty, discrimination, fit, and flags for what looks wrong, worst first.

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
        print_json(found.to_document(show=show), "items")
        return
    say(found.text(samples=samples, show=show))
