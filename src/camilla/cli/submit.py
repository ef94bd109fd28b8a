"""`camilla submit`: responses of learners, sent to a live leaderboard."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import aside, counted, print_frame, print_json, say


@reads_table()
def submit(
    tables: Annotated[
        list[Path], typer.Argument(metavar="TABLE…", help="Responses: a table, or logs; paths are joined.")
    ],
    to: Annotated[str, typer.Option(help="Address of the leaderboard: https://example.org/board.")],
    benchmark: Annotated[
        str | None, typer.Option(help="Name of the benchmark; not needed if the leaderboard has only one.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token; by default the environment variable CAMILLA_TOKEN."),
    ] = None,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Submit learners to a leaderboard and print their ranks.

    Example: camilla submit logs/ --to https://example.org/board
    """
    from camilla.server.client import Client, token_from

    client = Client(to, token_from(token_file))
    name = benchmark or client.only_benchmark()
    table = columns.read(*tables)
    answer = client.submit(name, table)
    if json:
        print_json({"verdict": "received"} | answer, "submit")
        return
    for one in answer["received"]:
        if not one["new"]:
            aside(f"note: {one['submission']['learner']} was submitted before; nothing changed.")
        if unknown := one["submission"]["n_unknown"]:
            aside(
                f"note: of {one['submission']['learner']}, {counted(unknown, 'response', 'is', 'are')} to "
                f"samples that {name} does not have, and left out."
            )
    rows = client.rows(answer)
    print_frame(rows, title=f"On the leaderboard {name}")
    say(f"To withdraw, log in at {client.address}/benchmarks/{name}/submissions.")
