"""Camilla tells what machine-learning models can really do."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` hands out, for type checkers
    from camilla.adaptive.replay import replay as replay
    from camilla.adaptive.testing import AdaptiveTest as AdaptiveTest
    from camilla.classifiers import ClassifierDiagnosis as ClassifierDiagnosis
    from camilla.classifiers import diagnose_classifiers as diagnose_classifiers
    from camilla.compare.checking import check_table as check_table
    from camilla.compare.comparing import compare_learners as compare_learners
    from camilla.compare.planning import design_of as design_of
    from camilla.compare.power import Design as Design
    from camilla.compare.power import difference_for as difference_for
    from camilla.compare.power import power_of as power_of
    from camilla.compare.power import samples_for as samples_for
    from camilla.compare.ranked import rank_learners as rank_learners
    from camilla.data.embedded import digits as digits
    from camilla.data.responses import ResponseTable as ResponseTable
    from camilla.data.simulate import simulate as simulate
    from camilla.data.skill_graph import SkillGraph as SkillGraph
    from camilla.data.skills import SkillMap as SkillMap
    from camilla.data.split import split as split
    from camilla.data.tournament import Tournament as Tournament
    from camilla.diagnosing import diagnose as diagnose
    from camilla.diagnosis import Diagnosis as Diagnosis
    from camilla.discovery.finding import FoundSkills as FoundSkills
    from camilla.discovery.finding import find_skills as find_skills
    from camilla.engine.training import Training as Training
    from camilla.errors import CamillaError as CamillaError
    from camilla.errors import ConvergenceError as ConvergenceError
    from camilla.errors import ConvergenceWarning as ConvergenceWarning
    from camilla.errors import DataError as DataError
    from camilla.errors import FormatError as FormatError
    from camilla.errors import SettingError as SettingError
    from camilla.experiments.control import permutation_control as permutation_control
    from camilla.experiments.running import experiment as experiment
    from camilla.experiments.summary import experiment_summary as experiment_summary
    from camilla.loaders.logs import load as load
    from camilla.loaders.tables import read as read
    from camilla.loaders.tournaments import read_tournaments as read_tournaments
    from camilla.mastery import mastery_agreement as mastery_agreement
    from camilla.metrics.classification import classifier_metrics as classifier_metrics
    from camilla.quality.dif import group_differences as group_differences
    from camilla.quality.items import sample_quality as sample_quality
    from camilla.ranking.compare import agreement as agreement
    from camilla.ranking.compare import compare_fits as compare_fits
    from camilla.ranking.epp import epp as epp
    from camilla.ranking.leaderboard import Leaderboard as Leaderboard
    from camilla.ranking.newcomer import place_newcomer as place_newcomer
    from camilla.ranking.round_fit import fit_by_rounds as fit_by_rounds
    from camilla.ranking.search import worth_searching as worth_searching
    from camilla.ranking.teams import team_epp as team_epp
    from camilla.report.build import write_report as write_report
    from camilla.subsets.selecting import select as select

_WHERE: dict[str, str] = {
    "AdaptiveTest": "camilla.adaptive.testing",
    "CamillaError": "camilla.errors",
    "ClassifierDiagnosis": "camilla.classifiers",
    "ConvergenceError": "camilla.errors",
    "ConvergenceWarning": "camilla.errors",
    "DataError": "camilla.errors",
    "Design": "camilla.compare.power",
    "Diagnosis": "camilla.diagnosis",
    "FormatError": "camilla.errors",
    "FoundSkills": "camilla.discovery.finding",
    "Leaderboard": "camilla.ranking.leaderboard",
    "ResponseTable": "camilla.data.responses",
    "SettingError": "camilla.errors",
    "SkillGraph": "camilla.data.skill_graph",
    "SkillMap": "camilla.data.skills",
    "Tournament": "camilla.data.tournament",
    "Training": "camilla.engine.training",
    "agreement": "camilla.ranking.compare",
    "check_table": "camilla.compare.checking",
    "classifier_metrics": "camilla.metrics.classification",
    "compare_fits": "camilla.ranking.compare",
    "compare_learners": "camilla.compare.comparing",
    "design_of": "camilla.compare.planning",
    "diagnose": "camilla.diagnosing",
    "diagnose_classifiers": "camilla.classifiers",
    "difference_for": "camilla.compare.power",
    "digits": "camilla.data.embedded",
    "epp": "camilla.ranking.epp",
    "experiment": "camilla.experiments.running",
    "experiment_summary": "camilla.experiments.summary",
    "find_skills": "camilla.discovery.finding",
    "fit_by_rounds": "camilla.ranking.round_fit",
    "group_differences": "camilla.quality.dif",
    "load": "camilla.loaders.logs",
    "mastery_agreement": "camilla.mastery",
    "permutation_control": "camilla.experiments.control",
    "place_newcomer": "camilla.ranking.newcomer",
    "power_of": "camilla.compare.power",
    "rank_learners": "camilla.compare.ranked",
    "read": "camilla.loaders.tables",
    "read_tournaments": "camilla.loaders.tournaments",
    "replay": "camilla.adaptive.replay",
    "sample_quality": "camilla.quality.items",
    "samples_for": "camilla.compare.power",
    "select": "camilla.subsets.selecting",
    "simulate": "camilla.data.simulate",
    "split": "camilla.data.split",
    "team_epp": "camilla.ranking.teams",
    "worth_searching": "camilla.ranking.search",
    "write_report": "camilla.report.build",
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
