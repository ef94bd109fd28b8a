"""The command line. Each command is one file; nothing heavy is imported before a command runs."""

import os
import sys
from typing import Annotated

import typer

import camilla
from camilla.cli.adapt import adapt
from camilla.cli.check import check
from camilla.cli.classifiers import classifiers
from camilla.cli.compare import compare
from camilla.cli.demo import demo
from camilla.cli.diagnose import diagnose
from camilla.cli.dif import dif
from camilla.cli.epp import epp
from camilla.cli.experiment import experiment
from camilla.cli.items import items
from camilla.cli.load import load
from camilla.cli.place import place
from camilla.cli.plot import plot
from camilla.cli.pool import app as pool
from camilla.cli.power import power
from camilla.cli.predict import predict
from camilla.cli.rank import rank
from camilla.cli.report import report
from camilla.cli.select import select
from camilla.cli.show import show
from camilla.cli.skills import skills
from camilla.errors import CamillaError
from camilla.names import shown

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Tells what machine-learning models can really do, from their responses to samples.",
)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Tells what machine-learning models can really do, from their responses to samples."""
    if version:
        typer.echo(camilla.__version__)
        raise typer.Exit


for command in (
    load,
    diagnose,
    show,
    report,
    predict,
    place,
    experiment,
    plot,
    epp,
    classifiers,
    skills,
    demo,
    compare,
    rank,
    power,
    check,
    items,
    select,
    adapt,
    dif,
):
    app.command()(command)
app.add_typer(pool, name="pool")


def main() -> None:
    """Runs the command line; what a user can mend ends in one message and an exit code."""
    try:
        with open(os.devnull, "w") as nowhere:
            sys.stdout = sys.stdout or nowhere  # None when it was closed: >&-
            app()
    except CamillaError as error:
        lines = str(error).split("\n")  # names of files are not ours either
        typer.echo("error: " + "\n".join(map(shown, lines)), err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os._exit(0)
    except MemoryError:
        typer.echo("error: out of memory", err=True)
        sys.exit(1)
    except OSError as error:
        where = f"{shown(str(error.filename))}: " if error.filename else ""
        typer.echo(f"error: {where}{error.strerror or error}.", err=True)
        sys.exit(1)
