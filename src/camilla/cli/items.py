"""`camilla items`: which samples a benchmark owner should look at."""

from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say


@reads_table()
def items(
    table: options.TableOption,
    samples: Annotated[int, typer.Option(min=0, help="How many samples to print.")] = 15,
    rate: Annotated[float, typer.Option(help="Share of false flags accepted, of each kind.")] = 0.05,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Judge every sample: difficulty, discrimination, fit, and what is odd about it, worst first."""
    from camilla.samples.items import items

    responses = columns.read(table)
    with progress("judging samples") as watch:
        found = items(responses, rate=rate, seed=seed, watch=watch)
    if json:
        print_json(
            {
                "provenance": found.provenance,
                "samples": found.samples.to_dicts(),
                "twins": found.twins.to_dicts(),
            }
        )
        return
    say(found.text(samples=samples))
