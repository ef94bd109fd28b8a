"""The command line. Each command is one file; nothing heavy is imported before a command runs."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import camilla
from camilla.cli import options
from camilla.cli.adapt import adapt
from camilla.cli.check import check
from camilla.cli.classifiers import classifiers
from camilla.cli.compare import compare
from camilla.cli.curriculum import curriculum
from camilla.cli.defaults import read_defaults
from camilla.cli.demo import demo
from camilla.cli.diagnose import diagnose
from camilla.cli.dif import dif
from camilla.cli.ensemble import ensemble
from camilla.cli.epp import epp
from camilla.cli.every_command import Invocation, with_quiet_and_defaults
from camilla.cli.experiment import experiment
from camilla.cli.features import features
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
from camilla.cli.schema import schema
from camilla.cli.select import select
from camilla.cli.serve import serve
from camilla.cli.show import show
from camilla.cli.skills import skills
from camilla.cli.store import app as store
from camilla.cli.submit import submit
from camilla.display import print_json, say
from camilla.errors import CamillaError
from camilla.names import shown
from camilla.schemas import error_document

DOCS = "docs/commands"  # where the page of each command is
PANELS: dict[str, tuple[Callable[..., None] | typer.Typer, ...]] = {
    "Logs": (load, check, schema),
    "Decisions": (
        compare, rank, power, judges, ensemble, route, features, items, select, adapt, dif, curriculum,
    ),
    "Diagnosis": (demo, diagnose, show, predict, place, report, plot),
    "Studies": (experiment, epp, classifiers, skills, pool),
    "Server": (serve, submit, store),
}  # fmt: skip

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find out what machine-learning models can really do, from their responses to samples.",
    epilog=f"Each command has a page with examples: {DOCS}/index.md",
)


@app.callback(invoke_without_command=True)
def _before_any_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    quiet: options.QuietOption = False,
) -> None:
    """Find out what machine-learning models can really do, from their responses to samples."""
    if version:
        say(camilla.__version__)
        raise typer.Exit
    defaults = read_defaults(app, Path.cwd())
    context.obj = Invocation(quiet, defaults)
    context.default_map = None if defaults is None else defaults.values


def _add(command: Callable[..., None] | typer.Typer, panel: str) -> None:
    if not isinstance(command, typer.Typer):
        name = command.__name__
        app.command(rich_help_panel=panel, epilog=_link(name))(with_quiet_and_defaults(command))
        return
    name = str(command.info.name)
    for part in command.registered_commands:
        if part.callback is not None:
            part.callback, part.epilog = with_quiet_and_defaults(part.callback), _link(name)
    app.add_typer(command, rich_help_panel=panel, epilog=_link(name))


def _link(name: str) -> str:
    return f"More: {DOCS}/{name}.md"


for panel, commands in PANELS.items():
    for command in commands:
        _add(command, panel)


def main() -> None:
    """Runs the command line; what a user can mend ends in one line and an exit code."""
    if sys.stdout is None:
        _fail("OSError", "standard output is closed. To see no output, send it to /dev/null.")
    options.WANTS_JSON.set(False)
    try:
        code = _ended()
        say("", end="")
    except CamillaError as error:
        _fail(type(error).__name__, str(error), error.exit_code)
    except MemoryError:
        _fail("MemoryError", "out of memory.")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail("OSError", f"{where}{error.strerror or error}.")
    except Exception as error:
        if not _is_of_polars(error):
            raise  # a bug shows its traceback
        _fail("DataError", f"{str(error).splitlines()[0].rstrip('.')}.")
    sys.exit(code)


def _ended() -> int | str | None:
    """The exit code of the command.

    Typer and Rich end with 1 where the reader of what they print themselves, the help text, went away: that
    is no failure.
    """
    try:
        app(prog_name="camilla")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            return 0
        if _is_of_usage(end.__context__) and _wants_json():
            _print_error("UsageError", end.__context__.format_message(), 2)  # type: ignore[union-attr]
        return end.code
    return 0


def _is_of_usage(error: BaseException | None) -> bool:
    """Whether the line cannot be understood; some versions of Typer have a Click of their own."""
    return any(kind.__name__ == "UsageError" for kind in type(error).__mro__)


def _wants_json() -> bool:
    """Whether --json is on the line, or a pyproject.toml says so."""
    given = sys.argv[1:]
    on_the_line = "--json" in (given[: given.index("--")] if "--" in given else given)
    return on_the_line or options.WANTS_JSON.get()


def _print_error(kind: str, message: str, code: int) -> None:
    """The error as the one JSON object of standard output, if that can be written to."""
    with contextlib.suppress(OSError):
        print_json(error_document(kind, message, code), "error")


def _is_of_polars(error: Exception) -> bool:
    """Whether Polars says that something is wrong with the data; it is not loaded to find out."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(error, polars.exceptions.PolarsError)


def _fail(kind: str, message: str, code: int = 1) -> NoReturn:
    """The message on standard error and, with --json, as a document on standard output."""
    lines = message.split("\n")  # names of files are not ours either
    say("error: " + "\n".join(map(shown, lines)), err=True)
    if sys.stdout is not None and _wants_json():
        _print_error(kind, message, code)
    sys.exit(code)
