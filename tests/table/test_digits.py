"""The embedded log is what its script makes."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import camilla
from camilla.table.responses import ResponseTable


@pytest.fixture(scope="module")
def digits() -> ResponseTable:
    return camilla.digits()


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(Path(__file__).parents[2] / "scripts/make_digits.py"))


def test_every_learner_answers_every_digit_right_or_wrong(
    digits: ResponseTable, script: dict[str, Any]
) -> None:
    assert digits.learners == tuple(script["LEARNERS"])
    assert (digits.n_learners, digits.n_samples) == (42, 1797)
    assert digits.samples[0] == "digit-0000"
    assert digits.is_complete
    assert digits.is_binary


def test_learners_reach_from_guessing_to_nearly_perfect(digits: ResponseTable) -> None:
    """Guessing one of ten is right .1 of the time; a support vector machine is known to reach .98 here."""
    accuracy = dict(zip(digits.learners, digits.learner_means().mean, strict=True))
    assert accuracy["random guess"] == pytest.approx(0.1, abs=0.02)
    assert accuracy["svm rbf"] > 0.98
    assert sum(0.2 < right < 0.9 for right in accuracy.values()) >= 10


def test_skills_are_the_true_classes(digits: ResponseTable) -> None:
    truth = load_digits().target
    assert digits.skill_map is not None
    assert digits.skill_map.skills == tuple("0123456789")
    np.testing.assert_array_equal(digits.skill_map.mask.argmax(axis=1), truth)
    np.testing.assert_array_equal(digits.skill_map.mask.sum(axis=0), np.bincount(truth))


def test_learners_fail_on_different_digits(digits: ResponseTable) -> None:
    assert digits.skill_map is not None
    mask = digits.skill_map.mask
    by_digit = digits.matrix() @ mask / mask.sum(axis=0)
    assert len(set(by_digit.argmin(axis=1))) >= 5


@pytest.mark.parametrize("learner", ["naive bayes multinomial", "tree 4"])
def test_refitted_learner_gives_its_column(
    learner: str, digits: ResponseTable, script: dict[str, Any]
) -> None:
    column = digits.matrix()[digits.learners.index(learner)]
    np.testing.assert_array_equal(script["right_or_wrong"](learner), column)
