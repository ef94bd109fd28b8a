"""The command line. Each command is one file; nothing heavy is imported before a command runs."""

import sys
from typing import Annotated, NoReturn

import typer

import camilla
from camilla.cli.adapt import adapt
from camilla.cli.check import check
from camilla.cli.classifiers import classifiers
from camilla.cli.compare import compare
from camilla.cli.curriculum import curriculum
from camilla.cli.demo import demo
from camilla.cli.diagnose import diagnose
from camilla.cli.dif import dif
from camilla.cli.ensemble import ensemble
from camilla.cli.epp import epp
from camilla.cli.experiment import experiment
from camilla.cli.items import items
from camilla.cli.judges import judges
from camilla.cli.load import load
from camilla.cli.place import place
from camilla.cli.plot import plot
from camilla.cli.pool import app as pool
from camilla.cli.power import power
from camilla.cli.predict import predict
from camilla.cli.rank import rank
from camilla.cli.report import report
from camilla.cli.route import app as route
from camilla.cli.select import select
from camilla.cli.serve import serve
from camilla.cli.show import show
from camilla.cli.skills import skills
from camilla.cli.store import app as store
from camilla.cli.submit import submit
from camilla.display import say
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
        say(camilla.__version__)
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
    judges,
    ensemble,
    items,
    select,
    adapt,
    dif,
    curriculum,
    serve,
    submit,
):
    app.command()(command)
app.add_typer(route, name="route")
app.add_typer(pool, name="pool")
app.add_typer(store, name="store")


def main() -> None:
    """Runs the command line; what a user can mend ends in one line and an exit code."""
    if sys.stdout is None:
        _fail("standard output is closed. To see no output, send it to /dev/null.")
    try:
        code = _ended()
        say("", end="")
    except CamillaError as error:
        _fail(str(error), error.exit_code)
    except MemoryError:
        _fail("out of memory.")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}.")
    except Exception as error:
        if not _is_of_polars(error):
            raise  # a bug shows its traceback
        _fail(f"{str(error).splitlines()[0].rstrip('.')}.")
    sys.exit(code)


def _ended() -> int | str | None:
    """The exit code of the command.

    Typer and Rich end with 1 where the reader of what they print themselves, the help text, went away: that
    is no failure.
    """
    try:
        app()
    except SystemExit as end:
        return 0 if isinstance(end.__context__, BrokenPipeError) else end.code
    return 0


def _is_of_polars(error: Exception) -> bool:
    """Whether Polars says that something is wrong with the data; it is not loaded to find out."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(error, polars.exceptions.PolarsError)


def _fail(message: str, code: int = 1) -> NoReturn:
    lines = message.split("\n")  # names of files are not ours either
    say("error: " + "\n".join(map(shown, lines)), err=True)
    sys.exit(code)
