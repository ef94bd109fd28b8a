"""`camilla store`: tokens, backup, restore and check of a leaderboard's store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.display import counted, print_frame, print_json, progress, say

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from camilla.server.store import Store

app = typer.Typer(
    name="store", no_args_is_help=True, help="Manage a leaderboard's store: tokens, backup, restore, check."
)
Place = Annotated[str, typer.Argument(metavar="STORE", help="A SQLite file, or postgresql://….")]


def _opened(place: str, *, new: bool = False) -> "AbstractContextManager[Store]":
    """A store that is there; only `load` and the first token may make one."""
    from camilla.errors import DataError
    from camilla.server.store import opened, url_of

    file = url_of(place).database
    if not new and url_of(place).drivername == "sqlite" and not Path(file or "").is_file():
        raise DataError(f"{file}: there is no such store. camilla serve DIR --store {file} makes one.")
    return opened(place)


@app.command("add-token")
def add_token(
    store: Place,
    account: Annotated[
        str, typer.Option(help="Account of the token; submissions are listed under this name.")
    ],
    role: Annotated[str, typer.Option(help="reader, submitter or owner.")] = "submitter",
    days: Annotated[
        int | None,
        typer.Option(help="Number of days for which the token is valid; by default it never expires."),
    ] = None,
) -> None:
    """Make a token, and print it once.

    Example: camilla store add-token board.db --account NAME
    """
    from camilla.server.accounts import add_token as add

    with _opened(store, new=True) as opened:
        made = add(opened, account, role, days=days)
    say(made.secret)
    say(f"Token {made.id} of {account} ({role}). It is not shown again.", err=True)


@app.command("tokens")
def tokens(store: Place, json: options.JsonOption = False) -> None:
    """List tokens, without their secrets.

    Example: camilla store tokens board.db
    """
    import polars as pl

    from camilla.server.accounts import tokens as known

    with _opened(store) as opened:
        rows = known(opened)
    if json:
        print_json({"verdict": "listed", "tokens": rows}, "store-tokens")
    elif rows:
        print_frame(pl.DataFrame(rows, infer_schema_length=None), title=counted(len(rows), "token"))
    else:
        say("There are no tokens. Make one with camilla store add-token.")


@app.command("revoke-token")
def revoke_token(store: Place, number: Annotated[int, typer.Argument(help="Number of the token.")]) -> None:
    """Revoke a token: requests with it are refused from now on.

    Example: camilla store revoke-token board.db 3
    """
    from camilla.server.accounts import revoke_token as revoke

    with _opened(store) as opened:
        revoke(opened, number)
    say(f"Token {number} is revoked.")


def _counts(rows: dict[str, int]) -> str:
    return f"{counted(rows['submissions'], 'submission')}, {counted(rows['boards'], 'board')}"


@app.command()
def dump(
    store: Place,
    output: Annotated[Path, typer.Option("-o", "--output", help="The ZIP file to write.")],
) -> None:
    """Write a consistent backup of the whole store into one file; the server may keep running.

    Example: camilla store dump board.db -o backup.zip
    """
    from camilla.server.operations import dump as write

    with _opened(store) as opened:
        rows = write(opened, output)
    say(f"{_counts(rows)} written to {output}.")


@app.command()
def load(
    store: Place, source: Annotated[Path, typer.Argument(metavar="FILE", help="A dump of a store.")]
) -> None:
    """Fill a new store from a dump, of SQLite or PostgreSQL alike.

    Example: camilla store load new.db backup.zip
    """
    from camilla.server.operations import load as fill

    with _opened(store, new=True) as empty:
        rows = fill(empty, source)
    say(f"{_counts(rows)} loaded from {source}.")


@app.command()
def check(
    store: Place,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit", help="Also refit the newest board of each benchmark and compare it bit for bit."
        ),
    ] = False,
    json: options.JsonOption = False,
) -> None:
    """Check that every submission and board is intact; exit code 1 if something is wrong.

    Example: camilla store check board.db
    """
    from camilla.server.operations import check as look

    with progress("checking") as watch, _opened(store) as opened:
        found = look(opened, refit=refit, watch=watch)
    if json:
        verdict = "faulty" if found.faults else "consistent"
        print_json({"verdict": verdict, "counts": found.counts, "faults": found.faults}, "store-check")
    else:
        say(f"{_counts(found.counts)} and {counted(found.counts['tokens'], 'token')}.")
        for fault in found.faults:
            say(f"fault: {fault}")
        say(
            "The store is consistent."
            if not found.faults
            else f"{counted(len(found.faults), 'fault')} found."
        )
    raise typer.Exit(1 if found.faults else 0)
