import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from camilla.errors import DataError
from camilla.table.responses import ResponseTable


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
    table = ResponseTable.from_predictions({"a": [True, False]}, [1, 1])
    assert table.key == ("1", "1")
    assert set(answers(table).values()) == {"1", "0"}


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        ({"a": ["1", "0"]}, [1, 0], "predictions of 'a' are text, labels are numbers"),
        ({"a": [[0.9, 0.1], [0.2, 0.8]]}, [0, 1], "take the most probable class"),
        ({"a": [1]}, [1, 0], "'a' has 1 predictions for 2 samples"),
        ({"a": [1, 0]}, [1, None], "label 1 is missing"),
        ({}, [1, 0], "there are no predictions"),
    ],
)
def test_predictions_that_cannot_be_judged(predictions, labels, message):
    with pytest.raises(DataError, match=message):
        ResponseTable.from_predictions(predictions, labels)


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
