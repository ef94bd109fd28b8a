"""`camilla judges`: whether judges of the same answers agree, and whether the choice of one matters."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_without
from camilla.display import print_json, say

UNUSED = {"skills", "skill_graph", "key", "metric", "filter", "weight", "rows", "ignore",
          *options.FEATURES, *options.CONTENT}  # fmt: skip


@reads_without(*UNUSED)
def judges(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="A table with a column of judges, or logs.")
    ],
    only: Annotated[
        list[str] | None, typer.Option(help="A judge to compare; may be repeated. By default all.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs of judges to print.")] = 20,
    learners: Annotated[int, typer.Option(min=1, help="How many learners to print.")] = 10,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Compare judges of the same answers: agreement, severity, bias, and the leaderboard under each.

    Example: camilla judges verdicts.csv --judge grader
    """
    from camilla.learners.judges import judges

    found = judges(*paths, only=only or (), level=level, **columns.options())
    if json:
        print_json(found.to_document(), "judges")
    else:
        say(found.text(pairs=pairs, learners=learners))
