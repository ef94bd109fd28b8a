"""The command line. Each command is one file; nothing heavy is imported before a command runs."""

import os
import sys

import typer

from camilla.cli.epp import epp
from camilla.errors import CamillaError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Tells what machine-learning models can really do, from their responses to samples.",
)


@app.callback()
def _rooms() -> None:
    """Tells what machine-learning models can really do, from their responses to samples."""


app.command()(epp)


def main() -> None:
    """Runs the command line; what a user can mend ends in one message and an exit code."""
    try:
        app()
    except CamillaError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os._exit(0)
