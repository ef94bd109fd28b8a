"""Score-based classifiers: scores to metrics, metrics to responses, responses to mastery."""

from camilla.classifiers.diagnosis import ClassifierDiagnosis, diagnose_classifiers, load_classifiers
from camilla.classifiers.placing import PlacedClassifiers, place_classifiers
from camilla.classifiers.tables import (
    as_scores,
    attribute_map,
    classifier_table,
    ranked,
    skills_named,
    without_duplicates,
)

__all__ = [
    "ClassifierDiagnosis",
    "PlacedClassifiers",
    "as_scores",
    "attribute_map",
    "classifier_table",
    "diagnose_classifiers",
    "load_classifiers",
    "place_classifiers",
    "ranked",
    "skills_named",
    "without_duplicates",
]
