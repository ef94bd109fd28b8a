"""Assumption checks against scikit-learn and hand counts."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, jaccard_score

import camilla
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap


def test_pairs_are_as_alike_as_scikit_learn_says() -> None:
    right = np.random.default_rng(1).integers(0, 2, (4, 50))
    results = camilla.experiment("assumptions", ResponseTable.from_matrix(right.astype(float)))
    for row in results.iter_rows(named=True):
        one, other = (right[int(row[name].split("-")[1])] for name in ("learner", "other"))
        wanted = accuracy_score(one, other) if row["score"] == "agreement" else jaccard_score(one, other)
        assert row["value"] == pytest.approx(wanted)
    assert results.height == 2 * 6


def test_accuracy_by_skill_counts_what_was_answered() -> None:
    matrix = np.array([[1.0, 0.0, np.nan, 1.0], [0.0, 0.0, 1.0, 1.0]])
    table = ResponseTable.from_matrix(matrix).with_skills(SkillMap.from_labels(["a", "a", "b", "b"]))
    results = camilla.experiment("assumptions", table).filter(score="accuracy")
    found = {(row["learner"], row["skill"]): row["value"] for row in results.iter_rows(named=True)}
    assert found == {
        ("learner-0", "a"): 0.5, ("learner-0", "b"): 1.0, ("learner-1", "a"): 0.0, ("learner-1", "b"): 1.0,
    }  # fmt: skip


def test_fractions_agree_by_their_distance() -> None:
    table = ResponseTable.from_matrix(np.array([[0.2, 0.8, 0.5], [0.4, 0.4, 0.5]]))
    found = dict(camilla.experiment("assumptions", table).select("score", "value").iter_rows())
    assert found["agreement"] == pytest.approx(1 - (0.2 + 0.4) / 3)
    assert found["jaccard"] == pytest.approx((0.2 + 0.4 + 0.5) / (0.4 + 0.8 + 0.5))
