"""A diagnoser's settings as plain data and back, for files and for people."""

from dataclasses import fields
from typing import Any

from camilla.engine.training import Training


def settings_as_data(diagnoser: Any) -> dict[str, Any]:
    """Every setting but the size, as numbers, texts, lists and maps."""
    return {
        field.name: _plain(getattr(diagnoser, field.name))
        for field in fields(diagnoser)
        if field.name != "size"
    }


def settings_from_data(data: dict[str, Any]) -> dict[str, Any]:
    """What `settings_as_data` wrote, as a diagnoser takes it."""
    return {name: _rich(name, value) for name, value in data.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Training):
        return value._asdict()
    return list(value) if isinstance(value, tuple) else value


def _rich(name: str, value: Any) -> Any:
    if name == "training" and value is not None:
        return Training(**value)
    return tuple(value) if isinstance(value, list) else value
