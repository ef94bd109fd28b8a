"""`camilla serve`: a leaderboard over HTTP, live where it has a store."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.display import say


def serve(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR…]", help="Diagnoses to serve; a store remembers the diagnoses of earlier runs."
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Store for submissions: a file, or postgresql://…; without it the board is read-only."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the benchmark; by default that of its folder.")
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the site.")] = "Camilla",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    prefix: Annotated[str, typer.Option(help="Path prefix behind a reverse proxy, such as /board.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Reading needs a token, too.")] = False,
    secret: Annotated[
        bool,
        typer.Option("--secret", help="Prompts and right answers of samples never leave the server."),
    ] = False,
    secret_samples: Annotated[
        Path | None, typer.Option(help="Like --secret, for the samples named in this file, one per line.")
    ] = None,
    least_share: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Least share of the samples that a submission must answer; kept in the store, at first 1.",
        ),
    ] = None,
    refit_after: Annotated[
        int, typer.Option(min=1, help="Fit a new board after this many submissions or withdrawals.")
    ] = 5,
    refit_seconds: Annotated[
        float,
        typer.Option(
            min=0, help="Fit a new board at the latest when a submission has waited this many seconds."
        ),
    ] = 60.0,
    reads: Annotated[
        float, typer.Option(min=1, help="Read requests per minute, for each token and address.")
    ] = 3000.0,
    writes: Annotated[
        float, typer.Option(min=1, help="Write requests per minute, for each token and address.")
    ] = 120.0,
    largest: Annotated[float, typer.Option(min=0.001, help="Largest submission, in megabytes.")] = 32.0,
    trusted_proxies: Annotated[
        str, typer.Option(help="Proxies whose X-Forwarded headers are trusted.")
    ] = "127.0.0.1",
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not make reports of boards.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not log requests.")] = False,
) -> None:
    """Serve leaderboards of saved diagnoses over HTTP; with a store, take submissions and refit.

    Example: camilla serve diagnosis --store board.db
    """
    from camilla.errors import SettingError
    from camilla.server.guard import Limits
    from camilla.server.refitting import RefitPolicy
    from camilla.server.running import Settings
    from camilla.server.running import serve as run

    if secret and secret_samples is not None:
        raise SettingError("--secret is for all samples; leave out --secret-samples.")
    settings = Settings(
        folders or (), store, name, title, secret_samples or secret, least_share, host, port, prefix, private,
        trusted_proxies, Limits(body=int(largest * 1e6), reads=reads, writes=writes),
        RefitPolicy(refit_after, refit_seconds, not no_report), quiet,
    )  # fmt: skip
    run(settings, say)
