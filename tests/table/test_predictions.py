import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from camilla.errors import DataError
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap


@pytest.mark.parametrize("make", [dict, pl.DataFrame, pd.DataFrame])
def test_right_is_one_wrong_is_zero_no_prediction_is_missing(make):
    predictions = make({"tree": ["cat", "dog", None], "forest": ["cat", "cat", "cat"]})
    table = ResponseTable.from_predictions(predictions, ["cat", "dog", "dog"])
    np.testing.assert_array_equal(table.matrix(), [[1, 1, np.nan], [1, 0, 0]])
    assert table.n_missing == 1


def test_nan_among_numbers_and_among_texts_is_missing():
    numbers = ResponseTable.from_predictions({"a": [1, np.nan]}, [1, 2])
    texts = ResponseTable.from_predictions({"a": ["cat", np.nan]}, ["cat", "dog"])
    np.testing.assert_array_equal(numbers.matrix(), [[1, np.nan]])
    np.testing.assert_array_equal(texts.matrix(), [[1, np.nan]])


def answers(table: ResponseTable) -> dict[tuple[str, str], str | None]:
    return {(row["learner"], row["sample"]): row["answer"] for row in table.to_long().to_dicts()}


def test_labels_and_predictions_stay_in_the_table_and_with_their_rows():
    """Whole numbers are spelled alike, whatever their type: label 1 and prediction 1.0 are one answer."""
    table = ResponseTable.from_predictions({"a": [1.0, np.nan, 3], "b": [2, 2, 3]}, [1, 2, 3])
    assert table.key == ("1", "2", "3")
    full = {("a", "sample-0"): "1", ("a", "sample-2"): "3", ("b", "sample-0"): "2", ("b", "sample-1"): "2",
            ("b", "sample-2"): "3"}  # fmt: skip
    assert answers(table) == full
    part = table.take_samples([2, 1]).take_learners([1])
    assert part.key == ("3", "2")
    assert answers(part) == {pair: full[pair] for pair in [("b", "sample-2"), ("b", "sample-1")]}
    assert answers(table.canonical().table) == full


def test_true_and_one_are_one_answer():
    table = ResponseTable.from_predictions({"a": [True, False]}, [1, 1], classes=[0])
    assert table.key == ("1", "1")
    assert set(answers(table).values()) == {"1", "0"}


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        ({"a": ["1", "0"]}, [1, 0], "predictions of 'a' are text, labels are numbers"),
        ({"a": [[0.9, 0.1], [0.2, 0.8]]}, [0, 1], "take the most probable class"),
        (
            {"a": [0.9, 0.2]},
            [1, 0],
            r"'a' predicts 0\.9, which is no label; labels are 1, 0\. .* most probable",
        ),
        ({"a": [1, 0, 0]}, [1, -1, -1], "'a' predicts 0, which is no label; labels are 1, -1.*one coding"),
        ({"a": [1, 2, 0]}, [0, 1, 0], r"'a' predicts 2, which is no label.*classes="),
        ({"a": ["Cat", "Dog"]}, ["cat", "dog"], r"no prediction is a label: predictions are 'Cat', 'Dog'"),
        ({"a": [1]}, [1, 0], "'a' has 1 predictions for 2 samples"),
        ({"a": [1, 0]}, [1, None], "label 1 is missing"),
        ({}, [1, 0], "there are no predictions"),
    ],
)
def test_predictions_that_cannot_be_judged(predictions, labels, message):
    with pytest.raises(DataError, match=message):
        ResponseTable.from_predictions(predictions, labels)


def test_what_is_no_label_may_be_a_class_that_no_sample_has_or_a_wrong_text():
    table = ResponseTable.from_predictions({"a": [1, 2, 0]}, [0, 1, 0], classes=[0, 1, 2])
    np.testing.assert_array_equal(table.matrix(), [[0, 0, 1]])
    table = ResponseTable.from_predictions({"a": ["Paris", "I do not know"]}, ["Paris", "Rome"])
    np.testing.assert_array_equal(table.matrix(), [[1, 0]])


NAMES = [f"image {j}" for j in range(40)]
TRUTH = pd.Series(np.arange(40) % 3, index=NAMES)
SHUFFLED = TRUTH.iloc[np.random.default_rng(0).permutation(40)]


@pytest.mark.parametrize("make", ["frame", "mapping"])
def test_labels_of_another_order_are_matched_by_index(make):
    """A perfect learner, and one that always says 0 and is right on 14 of 40."""
    columns = {"perfect": TRUTH, "constant": TRUTH * 0}
    predictions = pd.DataFrame(columns) if make == "frame" else columns
    table = ResponseTable.from_predictions(predictions, SHUFFLED)
    assert table.samples == tuple(NAMES)
    np.testing.assert_array_equal(table.matrix(), [np.ones(40), TRUTH == 0])
    assert table.key == tuple(str(label) for label in TRUTH)
    skills = SkillMap.from_labels(SHUFFLED, table.samples)
    np.testing.assert_array_equal(skills.mask, TRUTH.to_numpy()[:, None] == np.arange(3))
    errors = {"perfect": TRUTH, "constant": TRUTH * 0, "far": TRUTH * 0 - 5}
    errors = pd.DataFrame(errors) if make == "frame" else errors
    regression = ResponseTable.from_errors(errors, SHUFFLED)
    np.testing.assert_array_equal(regression.matrix()[0], np.ones(40))


def test_predictions_of_a_mapping_may_have_different_orders():
    table = ResponseTable.from_predictions({"a": TRUTH, "b": SHUFFLED}, list(TRUTH))
    np.testing.assert_array_equal(table.matrix(), np.ones((2, 40)))


def test_a_part_of_the_labels_keeps_the_order_of_predictions_without_an_index():
    """As after a split: labels keep the rows' numbers in the whole table, predictions are an array."""
    part = pd.Series(np.arange(90) % 3).iloc[[70, 5, 33, 12]]
    table = ResponseTable.from_predictions({"a": part.to_numpy()}, part)
    np.testing.assert_array_equal(table.matrix(), np.ones((1, 4)))
    assert table.samples == ("70", "5", "33", "12")
    assert SkillMap.from_labels(part, table.samples).mask.sum() == 4


NUMBERED = TRUTH.reset_index(drop=True)


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        (NUMBERED, NUMBERED.sample(frac=1, random_state=0), "0, 1, 2, … in another order"),
        (NUMBERED.sample(frac=1, random_state=0), NUMBERED, "0, 1, 2, … in another order"),
        (TRUTH, TRUTH.rename({"image 3": "image 99"}), "the index of the labels does not have 'image 3'"),
        (TRUTH, TRUTH.rename({"image 3": "image 4"}), "the index of the labels repeats 'image 4'"),
    ],
)
def test_labels_that_cannot_be_matched_are_refused(predictions, labels, message):
    with pytest.raises(DataError, match=message):
        ResponseTable.from_predictions(pd.DataFrame({"a": predictions}), labels)
    with pytest.raises(DataError, match=message.replace("labels", "targets")):
        ResponseTable.from_errors(pd.DataFrame({"a": predictions, "b": predictions + 1}), labels)


def test_a_skill_map_of_labels_with_an_index_needs_the_samples():
    with pytest.raises(DataError, match=r"from_labels\(labels, table\.samples\)"):
        SkillMap.from_labels(SHUFFLED)
    with pytest.raises(DataError, match="got 40 labels for 3 samples"):
        SkillMap.from_labels(SHUFFLED, ["a", "b", "c"])
    assert SkillMap.from_labels(NUMBERED).n_skills == 3


def test_the_best_regressor_on_a_sample_gets_one_and_the_worst_zero():
    """Errors 1, 2, 5 on the first sample: 1 − (2 − 1)/(5 − 1) = 3/4; 0, 4, 4 on the second."""
    table = ResponseTable.from_errors({"a": [11, 20], "b": [8, 24], "c": [5, 16]}, [10, 20])
    np.testing.assert_allclose(table.matrix(), [[1, 1], [0.75, 0], [0, 0]])


def test_equal_errors_tell_nothing_and_are_missing():
    """Equally wrong, equally right, and equal but for the last bit."""
    table = ResponseTable.from_errors({"a": [1, 3, 0.3, 1], "b": [-1, 3, 0.1 + 0.2, 2]}, [0, 3, 0, 2])
    np.testing.assert_array_equal(table.matrix(), [[np.nan, np.nan, np.nan, 0], [np.nan, np.nan, np.nan, 1]])
    assert table.n_missing == 6


def test_one_regressor_alone_has_nothing_to_be_measured_against():
    table = ResponseTable.from_errors({"a": [1.0, 2.0]}, [0.0, 0.0])
    assert (table.n_responses, table.n_missing) == (0, 2)


def test_a_missing_prediction_leaves_the_others_of_its_sample():
    table = ResponseTable.from_errors({"a": [np.nan], "b": [1], "c": [3]}, [0])
    np.testing.assert_array_equal(table.matrix(), [[np.nan], [1], [0]])


@given(arrays(float, (4, 6), elements=st.floats(-1e6, 1e6)), st.floats(0.1, 10))
def test_responses_to_regression_do_not_depend_on_the_unit(predictions, unit):
    """Metres or feet: rounding, 1e-16 of an error, against a spread of at least 1e-12 of it, leaves 1e-3."""
    learners = dict(zip("abcd", predictions, strict=True))
    scaled = {name: column * unit for name, column in learners.items()}
    one = ResponseTable.from_errors(learners, np.zeros(6)).matrix()
    other = ResponseTable.from_errors(scaled, np.zeros(6)).matrix()
    both = ~np.isnan(one) & ~np.isnan(other)
    np.testing.assert_allclose(one[both], other[both], atol=1e-3)
    assert np.nanmin(np.append(one, 0)) >= 0


@pytest.mark.parametrize(
    ("predictions", "targets", "message"),
    [
        ({"a": [1, np.inf], "b": [1, 2]}, [1, 2], "prediction 1 of 'a' is infinite"),
        ({"a": [1, 2], "b": [1, 2]}, [1, np.nan], "target 1 is nan"),
        ({"a": ["x", "y"], "b": [1, 2]}, [1, 2], "'a' contains values that are not numbers"),
    ],
)
def test_regressions_that_cannot_be_judged(predictions, targets, message):
    with pytest.raises(DataError, match=message):
        ResponseTable.from_errors(predictions, targets)
