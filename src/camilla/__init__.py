"""Camilla tells what machine-learning models can really do."""

from importlib import import_module
from typing import Any

_WHERE: dict[str, str] = {
    "CamillaError": "camilla.errors",
    "ConvergenceError": "camilla.errors",
    "ConvergenceWarning": "camilla.errors",
    "DataError": "camilla.errors",
    "Diagnosis": "camilla.diagnosis",
    "FormatError": "camilla.errors",
    "ResponseTable": "camilla.data.responses",
    "SettingError": "camilla.errors",
    "SkillMap": "camilla.data.skills",
    "diagnose": "camilla.diagnosing",
    "digits": "camilla.data.embedded",
    "read": "camilla.loaders.tables",
    "simulate": "camilla.data.simulate",
    "split": "camilla.data.split",
}

__all__ = sorted(_WHERE)  # noqa: PLE0605
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Public names load their room on first use, so that importing camilla stays cheap."""
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'camilla' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
