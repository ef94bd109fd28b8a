"""The embedded log is what its script makes."""

import base64
import io
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image
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
    named = script["named_digit"](learner)
    column = digits.matrix()[digits.learners.index(learner)]
    np.testing.assert_array_equal(named == load_digits().target, column)
    rows = pl.concat(rows_of(digits))
    said = rows.filter(pl.col("learner") == learner)
    assert said["answer"].to_list() == [str(one) for one in named]


def rows_of(table: ResponseTable) -> list[pl.DataFrame]:
    """What the table says of its samples and answers, sorted by sample."""
    assert table.content is not None
    return list(table.content.blocks())


def test_right_answers_are_the_references_and_wrong_ones_are_not(digits: ResponseTable) -> None:
    """But for two wrong responses whose digit was never recorded."""
    rows = pl.concat(rows_of(digits))
    asked = rows.filter(pl.col("learner").is_null()).select("sample", "reference")
    said = rows.filter(pl.col("learner").is_not_null()).select("sample", "learner", "answer")
    both = said.join(asked, on="sample").join(digits.to_long(), on=["sample", "learner"])
    assert both.height == digits.n_responses - 2
    assert (both["answer"].eq(both["reference"]) == (both["response"] == 1)).all()


def test_the_pictures_are_those_of_scikit_learn(digits: ResponseTable) -> None:
    """Grey 0 to 16 as 4 bits, ink dark: decoded by Pillow, 255 is white."""
    assert digits.content is not None
    for place in (0, 1553):
        asked = digits.content.sample(f"digit-{place:04d}")
        assert asked is not None
        head, data = asked.image.split(",")
        assert head == "data:image/png;base64"
        grey = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("L"))
        ink = np.minimum(load_digits().images[place], 15)
        np.testing.assert_array_equal(grey, 255 - 17 * ink)
