"""Camilla tells what machine-learning models can really do."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` hands out, for type checkers
    from camilla.classifiers import ClassifierDiagnosis as ClassifierDiagnosis
    from camilla.classifiers import diagnose_classifiers as diagnose_classifiers
    from camilla.classifiers.mastery import mastery_agreement as mastery_agreement
    from camilla.classifiers.metrics import classifier_metrics as classifier_metrics
    from camilla.diagnosing import diagnose as diagnose
    from camilla.diagnosing_large import diagnose_large as diagnose_large
    from camilla.diagnosis import Diagnosis as Diagnosis
    from camilla.diagnosis_unseen import NewPredictions as NewPredictions
    from camilla.errors import CamillaError as CamillaError
    from camilla.errors import CamillaWarning as CamillaWarning
    from camilla.errors import ConvergenceError as ConvergenceError
    from camilla.errors import ConvergenceWarning as ConvergenceWarning
    from camilla.errors import DataError as DataError
    from camilla.errors import FormatError as FormatError
    from camilla.errors import LayoutError as LayoutError
    from camilla.errors import MissingPackageError as MissingPackageError
    from camilla.errors import SettingError as SettingError
    from camilla.experiments.control import check_with_fit as check_with_fit
    from camilla.experiments.control import permutation_control as permutation_control
    from camilla.experiments.protocols import split as split
    from camilla.experiments.results import experiment_summary as experiment_summary
    from camilla.experiments.running import experiment as experiment
    from camilla.fitting.training import Training as Training
    from camilla.learners.check import check as check
    from camilla.learners.committee import Committee as Committee
    from camilla.learners.compare import compare as compare
    from camilla.learners.ensemble import ensemble as ensemble
    from camilla.learners.judges import judges as judges
    from camilla.learners.power import power as power
    from camilla.learners.rank import rank as rank
    from camilla.learners.route import route as route
    from camilla.learners.saved_route import Route as Route
    from camilla.ranking.boards import agreement as agreement
    from camilla.ranking.boards import compare_fits as compare_fits
    from camilla.ranking.boards import fit_by_rounds as fit_by_rounds
    from camilla.ranking.epp import epp as epp
    from camilla.ranking.leaderboard import Leaderboard as Leaderboard
    from camilla.ranking.newcomer import place_newcomer as place_newcomer
    from camilla.ranking.search import worth_searching as worth_searching
    from camilla.ranking.teams import team_epp as team_epp
    from camilla.reading.account import Reading as Reading
    from camilla.reading.inputs import read as read
    from camilla.reading.inputs import read_with_account as read_with_account
    from camilla.reading.tournaments import read_tournaments as read_tournaments
    from camilla.samples.adapt import AdaptiveTest as AdaptiveTest
    from camilla.samples.adapt import adapt as adapt
    from camilla.samples.curriculum import curriculum as curriculum
    from camilla.samples.dif import dif as dif
    from camilla.samples.feature_effects import feature_effects as feature_effects
    from camilla.samples.items import items as items
    from camilla.samples.replay import replay as replay
    from camilla.samples.select import select as select
    from camilla.samples.skills import FoundSkills as FoundSkills
    from camilla.samples.skills import skills as skills
    from camilla.schemas import schema as schema
    from camilla.show.report.build import report as report
    from camilla.statistics.power import Design as Design
    from camilla.table.examples import digits as digits
    from camilla.table.examples import simulate as simulate
    from camilla.table.features import Features as Features
    from camilla.table.responses import ResponseTable as ResponseTable
    from camilla.table.shards import ShardFolder as ShardFolder
    from camilla.table.shards import read_large as read_large
    from camilla.table.skills import SkillGraph as SkillGraph
    from camilla.table.skills import SkillMap as SkillMap
    from camilla.table.tournament import Tournament as Tournament

_WHERE: dict[str, str] = {
    "AdaptiveTest": "camilla.samples.adapt",
    "CamillaError": "camilla.errors",
    "CamillaWarning": "camilla.errors",
    "ClassifierDiagnosis": "camilla.classifiers",
    "Committee": "camilla.learners.committee",
    "ConvergenceError": "camilla.errors",
    "ConvergenceWarning": "camilla.errors",
    "DataError": "camilla.errors",
    "Design": "camilla.statistics.power",
    "Diagnosis": "camilla.diagnosis",
    "Features": "camilla.table.features",
    "FormatError": "camilla.errors",
    "LayoutError": "camilla.errors",
    "FoundSkills": "camilla.samples.skills",
    "Leaderboard": "camilla.ranking.leaderboard",
    "MissingPackageError": "camilla.errors",
    "NewPredictions": "camilla.diagnosis_unseen",
    "Reading": "camilla.reading.account",
    "ResponseTable": "camilla.table.responses",
    "Route": "camilla.learners.saved_route",
    "SettingError": "camilla.errors",
    "ShardFolder": "camilla.table.shards",
    "SkillGraph": "camilla.table.skills",
    "SkillMap": "camilla.table.skills",
    "Tournament": "camilla.table.tournament",
    "Training": "camilla.fitting.training",
    "adapt": "camilla.samples.adapt",
    "agreement": "camilla.ranking.boards",
    "check": "camilla.learners.check",
    "check_with_fit": "camilla.experiments.control",
    "classifier_metrics": "camilla.classifiers.metrics",
    "compare": "camilla.learners.compare",
    "compare_fits": "camilla.ranking.boards",
    "curriculum": "camilla.samples.curriculum",
    "diagnose": "camilla.diagnosing",
    "diagnose_large": "camilla.diagnosing_large",
    "diagnose_classifiers": "camilla.classifiers",
    "dif": "camilla.samples.dif",
    "digits": "camilla.table.examples",
    "ensemble": "camilla.learners.ensemble",
    "epp": "camilla.ranking.epp",
    "experiment": "camilla.experiments.running",
    "experiment_summary": "camilla.experiments.results",
    "feature_effects": "camilla.samples.feature_effects",
    "fit_by_rounds": "camilla.ranking.boards",
    "items": "camilla.samples.items",
    "judges": "camilla.learners.judges",
    "mastery_agreement": "camilla.classifiers.mastery",
    "permutation_control": "camilla.experiments.control",
    "place_newcomer": "camilla.ranking.newcomer",
    "power": "camilla.learners.power",
    "rank": "camilla.learners.rank",
    "read": "camilla.reading.inputs",
    "read_large": "camilla.table.shards",
    "read_with_account": "camilla.reading.inputs",
    "read_tournaments": "camilla.reading.tournaments",
    "replay": "camilla.samples.replay",
    "report": "camilla.show.report.build",
    "route": "camilla.learners.route",
    "schema": "camilla.schemas",
    "select": "camilla.samples.select",
    "simulate": "camilla.table.examples",
    "skills": "camilla.samples.skills",
    "split": "camilla.experiments.protocols",
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
