"""A pandas index that names rows is read as their names, in everything that takes a dataframe."""

import numpy as np
import pandas as pd
import pytest

from camilla import ResponseTable, SkillMap, Tournament, classifier_metrics, read
from camilla.classifiers.scores import ClassifierScores
from camilla.errors import DataError

LONG = pd.DataFrame(
    {
        "learner": ["gpt", "gpt", "llama", "llama", "qwen", "qwen"],
        "sample": ["q1", "q2"] * 3,
        "response": [0.25, 1.0, 0.5, 0.0, 0.75, 0.5],
    }
)
MATRIX = [[0.25, 1.0], [0.5, 0.0], [0.75, 0.5]]


def by_sample():
    return LONG.pivot(index="sample", columns="learner", values="response")


@pytest.mark.parametrize(
    ("frame", "rows"),
    [
        (by_sample(), "samples"),
        (LONG.pivot(index="learner", columns="sample", values="response"), "learners"),
        (by_sample().T, "learners"),
        (by_sample().rename_axis(index=None, columns=None), "samples"),
        (LONG.pivot_table(index="sample", columns="learner", values=["response"]), "samples"),
        (LONG.pivot(index="sample", columns="learner"), "samples"),
        (by_sample().reset_index(), "samples"),
        (LONG.set_index(["sample", "learner"])["response"].unstack(), "samples"),
        (by_sample().reset_index().set_index("sample", drop=False), "samples"),
    ],
)
def test_a_pivot_table_is_the_long_table_it_was_made_of(frame, rows):
    table = ResponseTable.from_wide(frame, rows=rows)
    assert (table.learners, table.samples) == (("gpt", "llama", "qwen"), ("q1", "q2"))
    np.testing.assert_array_equal(table.matrix(), MATRIX)


def test_an_index_of_numbers_with_a_name_names_rows():
    numbered = LONG.assign(sample=[7, 9] * 3)
    table = ResponseTable.from_wide(
        numbered.pivot(index="sample", columns="learner", values="response"), rows="samples"
    )
    assert table.samples == ("7", "9")
    np.testing.assert_array_equal(table.matrix(), MATRIX)


def test_numbers_left_over_from_filtering_name_rows_only_where_nothing_else_can():
    """`frame[frame.x > 0]` leaves an index of odd numbers, which is no reason to overlook the names."""
    filtered = by_sample().reset_index().iloc[[1]]
    assert ResponseTable.from_wide(filtered, rows="samples").samples == ("q2",)
    bare = pd.DataFrame(MATRIX, index=[101, 205, 309], columns=["q1", "q2"])
    assert ResponseTable.from_wide(bare, rows="learners").learners == ("101", "205", "309")


def test_scores_are_never_taken_for_names_unasked():
    bare = pd.DataFrame(MATRIX, columns=["q1", "q2"])
    with pytest.raises(
        DataError, match=r"which column names the rows\? The first one, 'q1', contains numbers"
    ):
        ResponseTable.from_wide(bare, rows="learners")
    asked = ResponseTable.from_wide(bare, rows="learners", id="q1")
    assert asked.learners == ("0.25", "0.5", "0.75")


def test_two_levels_of_names_are_asked_about():
    frame = LONG.set_index(["sample", "learner"])
    with pytest.raises(DataError, match="index has 2 levels, 'sample', 'learner'"):
        ResponseTable.from_wide(frame, rows="samples")
    with pytest.raises(DataError, match=r"columns of the dataframe have 2 levels.*values='response'"):
        ResponseTable.from_wide(
            LONG.assign(time=1.0).pivot(index="sample", columns="learner"), rows="samples"
        )


@pytest.mark.parametrize(
    "frame",
    [
        LONG.set_index("learner"),
        LONG.set_index(["learner", "sample"]),
        LONG.set_index(pd.Index(["p", "q", "r", "s", "t", "u"])),
        LONG[::-1][::-1],
    ],
)
def test_levels_of_an_index_are_columns_of_a_long_table(frame):
    assert ResponseTable.from_long(frame).digest() == ResponseTable.from_long(LONG).digest()


def test_an_index_and_a_column_that_disagree_are_refused():
    frame = LONG.set_index(pd.Index(list("abcdef"), name="sample"))
    with pytest.raises(DataError, match=r"index and a column .* both called 'sample' and differ"):
        ResponseTable.from_long(frame)


def test_a_series_is_told_what_to_become():
    with pytest.raises(DataError, match=r"not Series\. Use series\.reset_index\(name='response'\)"):
        ResponseTable.from_long(LONG.set_index(["learner", "sample"])["response"])


def test_the_index_names_players_skills_and_samples():
    scores = by_sample().T
    assert Tournament.from_wide(scores).players == ("gpt", "llama", "qwen")
    assert Tournament.from_wide(scores).rounds == ("q1", "q2")
    assert Tournament.from_long(
        LONG.set_index(["learner", "sample"]), player="learner", round="sample", score="response"
    ).players == ("gpt", "llama", "qwen")

    skills = pd.DataFrame({"sets": [1, 0], "logic": [0, 1]}, index=pd.Index(["q2", "q1"], name="question"))
    found = SkillMap.from_table(skills, ["q1", "q2"])
    assert found.skills == ("sets", "logic")
    np.testing.assert_array_equal(found.mask, [[False, True], [True, False]])

    predicted = pd.DataFrame({"gpt": ["a", "b"], "llama": ["b", "b"]}, index=["q1", "q2"])
    table = ResponseTable.from_predictions(predicted, ["a", "b"])
    assert (table.learners, table.samples) == (("gpt", "llama"), ("q1", "q2"))
    errors = ResponseTable.from_errors(
        pd.DataFrame({"x": [1.0, 2.0], "y": [2.0, 1.0]}, index=["q1", "q2"]), [1, 1]
    )
    assert (errors.learners, errors.samples) == (("x", "y"), ("q1", "q2"))


def test_an_index_is_no_classifier():
    rows = pd.Index(["s1", "s2", "s3", "s4"], name="row")
    frame = pd.DataFrame({"truth": [0, 1, 0, 1], "svm": [0.1, 0.9, 0.2, 0.7]}, index=rows)
    assert ClassifierScores.from_frame(frame).classifiers == ("svm",)
    assert classifier_metrics(frame["truth"], frame[["svm"]]).height == 1


def test_camilla_read_takes_the_same_frames():
    assert read(by_sample(), rows="samples").digest() == ResponseTable.from_long(LONG).digest()
    assert read(LONG.set_index(["learner", "sample"])).digest() == ResponseTable.from_long(LONG).digest()
    in_percent = LONG.assign(response=100 * LONG["response"])
    assert read(in_percent, percent=True).digest() == ResponseTable.from_long(LONG).digest()
    with pytest.raises(DataError, match=r"which column names the rows\?"):
        read(pd.DataFrame(MATRIX, columns=["q1", "q2"]), rows="learners")
