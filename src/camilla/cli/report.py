"""`camilla report`: saved results in, one page that can be sent out."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.display import say


def report(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR…",
            help="Results written by diagnose, epp, experiment, rank, compare, route, ensemble or features.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    images: Annotated[
        Path | None,
        typer.Option(help="Folder of the image files that samples name; no other folder is read."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the page; by default made from the data.")
    ] = None,
    learners: Annotated[
        Path | None,
        typer.Option(
            help="Table with one row per learner: learner, family, and numbers such as cost, latency or size."
        ),
    ] = None,
    no_content: Annotated[
        bool, typer.Option("--no-content", help="Leave out prompts, images, references and answers.")
    ] = False,
) -> None:
    """Make one HTML page from saved results; nothing is fitted and no network is needed.

    Example: camilla report diagnosis -o report.html
    """
    from camilla.show.report.build import report

    written = report(sources, output, title=title, content=not no_content, images=images, learners=learners)
    size = written.page.stat().st_size / 1e6
    say(f"Report written to {written.page} ({size:.1f} MB; open it in a browser, or send it to someone).")
    for note in written.notes:
        say(f"note: {note}")
    if written.tables is not None:
        say(f"The page shows only part of the samples; {written.tables} has all of them as Parquet.")
    if written.files is not None:
        size = sum(file.stat().st_size for file in written.files.iterdir()) / 1e6
        say(f"More prompts and answers are in {written.files} ({size:.1f} MB): send both.")
