"""`camilla features`: which features matter."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say


@reads_table("cluster", *options.FEATURES)
def features(
    tables: Annotated[
        list[Path], typer.Argument(metavar="TABLE…", help="Responses: a table, or logs; several are joined.")
    ],
    of: Annotated[
        str | None,
        typer.Option(help="Whose features: samples or learners; by default samples, if they have any."),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="Compare within each value of this category, such as base_model."),
    ] = None,
    effects: Annotated[int, typer.Option(min=0, help="How many effects to print, the largest first.")] = 20,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Estimate what makes samples hard, or learners able, from their features.

    Example: camilla features responses.csv --features prompts.csv
    """
    from camilla.samples.feature_effects import feature_effects

    responses = columns.read(*tables)
    with progress("effects of features"):
        found = feature_effects(responses, of=of, within=within, seed=seed)
    if json:
        print_json(found.to_document(), "features")
    else:
        say(found.text(effects=effects))
