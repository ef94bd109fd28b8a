"""What every command has: --quiet, and defaults from a pyproject.toml."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import typer

from camilla.cli import options
from camilla.cli.defaults import Defaults, note, options_from_file
from camilla.display import aside, quietly

QUIET = inspect.Parameter(
    "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=options.QuietOption
)
CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


class Invocation(NamedTuple):
    """What holds for the whole line: --quiet before the command, and the defaults of a pyproject.toml."""

    quiet: bool
    defaults: Defaults | None


def with_quiet_and_defaults(command: Callable[..., None]) -> Callable[..., None]:
    """The command with --quiet; a note names the options that a pyproject.toml has set."""
    parameters = list(inspect.signature(command).parameters.values())
    has_quiet = any(parameter.name == QUIET.name for parameter in parameters)

    @wraps(command)
    def run(*, context: typer.Context, quiet: bool, **given: Any) -> None:
        invocation: Invocation = context.obj
        quiet = quiet or invocation.quiet
        if has_quiet:
            given["quiet"] = quiet
        options.WANTS_JSON.set(bool(given.get("json")))
        settings = options_from_file(context)
        token = options.FROM_FILE.set(frozenset(setting.parameter for setting in settings))
        try:
            with quietly(quiet):
                if invocation.defaults is not None and settings:
                    aside(note(invocation.defaults.file, settings))
                command(**given)
        finally:
            options.FROM_FILE.reset(token)

    added = [CONTEXT] if has_quiet else [QUIET, CONTEXT]
    run.__signature__ = inspect.Signature([*parameters, *added])  # type: ignore[attr-defined]
    return run
