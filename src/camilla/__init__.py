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
    "Leaderboard": "camilla.ranking.leaderboard",
    "ResponseTable": "camilla.data.responses",
    "SettingError": "camilla.errors",
    "SkillMap": "camilla.data.skills",
    "Tournament": "camilla.data.tournament",
    "agreement": "camilla.ranking.compare",
    "compare_fits": "camilla.ranking.compare",
    "diagnose": "camilla.diagnosing",
    "digits": "camilla.data.embedded",
    "epp": "camilla.ranking.epp",
    "evaluate": "camilla.experiments.reliability",
    "fit_by_rounds": "camilla.ranking.round_fit",
    "place_newcomer": "camilla.ranking.newcomer",
    "read": "camilla.loaders.tables",
    "read_tournaments": "camilla.loaders.tournaments",
    "simulate": "camilla.data.simulate",
    "split": "camilla.data.split",
    "team_epp": "camilla.ranking.teams",
    "worth_searching": "camilla.ranking.search",
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
