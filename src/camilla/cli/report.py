"""`camilla report`: saved results in, one page that can be sent out."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.display import say


def report(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="DIR…", help="What diagnose, epp, experiment, rank or compare wrote."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[
        str | None, typer.Option(help="Title of the page; made from the data if not given.")
    ] = None,
) -> None:
    """Make one HTML page from saved results; nothing is fitted, no network is needed."""
    from camilla.show.report.build import report

    written = report(sources, output, title=title)
    size = written.page.stat().st_size / 1e6
    say(f"Written to {written.page} ({size:.1f} MB). Open it in a browser; it needs no network.")
    if written.tables is not None:
        say(f"More than 50,000 samples: every row lies in {written.tables} as Parquet.")
