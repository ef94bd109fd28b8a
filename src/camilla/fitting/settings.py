"""A diagnoser's settings: checked where they come in, written as plain data and read back."""

from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from camilla.errors import SettingError
from camilla.fitting.training import Training

LIMITS = {"skill_correlation": (0.0, 0.99)}  # every other number is 0 or more


def check_settings(kind: Any, settings: Mapping[str, Any]) -> None:
    """Refuses a setting the diagnoser does not have, or a value it cannot have."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in _names(kind)}
    for name, value in settings.items():
        if name not in hints:
            there = ", ".join(hints) or "none"
            raise SettingError(f"{kind.name} has no setting {name!r}; it has: {there}.")
        if wanted := _objection(name, hints[name], value):
            raise SettingError(f"{kind.name}: {name} must be {wanted}; {value!r} came.")


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind) if field.name != "size"]


def _objection(name: str, hint: Any, value: Any) -> str | None:
    """What was wanted instead, or None if the value will do."""
    if get_origin(hint) is Literal:
        fine = any(value == one and type(value) is type(one) for one in get_args(hint))
        return None if fine else "one of " + ", ".join(map(str, get_args(hint)))
    if hint is bool:
        return None if isinstance(value, bool) else "true or false"
    if hint is int:
        return None if _whole(value) else "a whole number, 1 or more"
    if hint is float:
        low, high = LIMITS.get(name, (0.0, float("inf")))
        number = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        return None if number and value < float("inf") else f"a number from {low:g} to {high:g}"
    if get_origin(hint) is tuple:
        fine = isinstance(value, tuple) and len(value) > 0 and all(_whole(part) for part in value)
        return None if fine else "one or more whole numbers, such as 128x64"
    optional = isinstance(hint, UnionType) and value is None
    return None if optional or isinstance(value, Training) else "a Training (Python only)"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


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
