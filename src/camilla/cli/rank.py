"""`camilla rank`: learners by mean response, and which of them can be told apart."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say


@reads_table("cluster", *options.CONTENT)
def rank(
    tables: Annotated[
        list[Path],
        typer.Argument(metavar="TABLE…", help="Responses: a table, or logs; several paths are joined."),
    ],
    learners: Annotated[int, typer.Option(min=0, help="How many learners to print.")] = 20,
    level: Annotated[float, typer.Option(help="Coverage of intervals, ranks and ties.")] = 0.95,
    without: Annotated[
        Path | None,
        typer.Option(help="Samples to leave out: column sample; with a column error, those with 1."),
    ] = None,
    show: options.ShowOption = 0,
    pairs: Annotated[bool, typer.Option("--pairs", help="With --json: every pair of learners.")] = False,
    across_blocks: options.AcrossBlocksOption = False,
    shards: options.ShardsOption = None,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Rank learners by mean response: intervals, possible ranks, and who cannot be told apart.

    Example: camilla rank responses.csv --learners 10
    """
    from camilla.errors import SettingError
    from camilla.learners.rank import rank
    from camilla.table.responses import ResponseTable

    if pairs and not json:
        raise SettingError("--pairs goes with --json.")
    content = options.checked_show(show, columns) > 0
    with (
        progress("ranking") as watch,
        columns.opened(*tables, shards=shards, watch=watch, content=content) as responses,
    ):
        if isinstance(responses, ResponseTable):
            columns.refuse_idle_weight(responses)
        found = rank(responses, without=without, level=level, across_blocks=across_blocks, watch=watch)
    if json:
        print_json(found.to_document(pairs=pairs, show=show), "rank")
    else:
        say(found.text(learners=learners, show=show))
