"""Options declared once, as the fields of a dataclass, for every command that takes them."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import fields
from functools import wraps
from typing import Any, get_type_hints

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def gathers(parameter: str, kind: type[Any], *, without: Collection[str] = ()) -> Decorator:
    """Offers the fields of `kind` as options where a command has `parameter`, and hands them over as one.

    Fields in `without` are not offered and keep their defaults.
    """
    hints = get_type_hints(kind, include_extras=True)
    offered = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(kind)
        if field.name not in without
    ]

    def gathering(command: Command) -> Command:
        signature = inspect.signature(command)
        parameters = [
            one
            for name, own in signature.parameters.items()
            for one in (offered if name == parameter else [own])
        ]

        @wraps(command)
        def run(**given: Any) -> None:
            said = {option.name: given.pop(option.name) for option in offered}
            command(**given, **{parameter: kind(**said)})

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return gathering
