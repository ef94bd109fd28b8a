"""`camilla schema`: the JSON Schema of what --json prints."""

import json
from typing import Annotated

import typer

from camilla.display import say


def schema(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of a document; without a name, all are listed.")
    ] = None,
) -> None:
    """Print the JSON Schema of a document that a command prints with --json.

    Example: camilla schema compare
    """
    from camilla.schemas import schema as schema_of
    from camilla.schemas import schema_names

    if name is None:
        for known in schema_names():
            say(f"{known}: {schema_of(known)['title']}")
    else:
        say(json.dumps(schema_of(name), ensure_ascii=False, indent=1))
