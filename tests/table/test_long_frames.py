import numpy as np
import pandas as pd
import polars as pl
import pytest

from camilla.errors import DataError
from camilla.table.responses import ResponseTable

LONG = {"learner": ["b", "a", "b"], "sample": [7, 7, 8], "response": [1.0, 0.0, 0.5]}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, lambda rows: pl.DataFrame(rows).lazy()])
def test_any_dataframe_gives_the_same_table(make):
    table = ResponseTable.from_long(make(LONG))
    assert (table.learners, table.samples) == (("b", "a"), ("7", "8"))
    np.testing.assert_array_equal(table.matrix(), [[1, 0.5], [0, np.nan]])
    assert table.trial is None


def test_null_and_nan_are_missing_and_counted():
    frame = pd.DataFrame({"learner": ["a", "b", "c"], "sample": ["x"] * 3, "response": [1, np.nan, 0]})
    table = ResponseTable.from_long(frame)
    assert (table.learners, table.n_responses, table.n_missing) == (("a", "b", "c"), 2, 1)
    table = ResponseTable.from_long(pl.DataFrame(LONG | {"response": [True, None, False]}))
    assert (table.n_responses, table.n_missing) == (2, 1)


def test_repeated_rows_are_trials_numbered_in_row_order():
    frame = pl.DataFrame({"learner": ["a", "b", "a", "a"], "sample": ["x"] * 4, "response": [1, 0, 0, 1]})
    table = ResponseTable.from_long(frame)
    np.testing.assert_array_equal(table.trial, [0, 0, 1, 2])
    np.testing.assert_allclose(table.matrix(), [[2 / 3], [0]])


def test_named_trials_keep_their_numbers_and_may_not_repeat():
    frame = pl.DataFrame(
        {"learner": ["a"] * 3, "sample": ["x"] * 3, "response": [1, 0, 1], "run": [42, 7, 9]}
    )
    np.testing.assert_array_equal(ResponseTable.from_long(frame, trial="run").trial, [42, 7, 9])
    again = frame.with_columns(run=pl.Series([42, 7, 42]))
    with pytest.raises(DataError, match="'a' on 'x' has trial 42 twice, in row 0 and row 2"):
        ResponseTable.from_long(again, trial="run")


def test_trials_named_by_words_are_numbered():
    frame = pl.DataFrame(LONG | {"seed": ["one", "two", "one"]})
    np.testing.assert_array_equal(ResponseTable.from_long(frame, trial="seed").trial, [0, 1, 0])


def test_task_and_cluster_belong_to_samples():
    frame = pl.DataFrame(LONG | {"benchmark": ["m", "m", "n"], "document": [1, 1, 2]})
    table = ResponseTable.from_long(frame, task="benchmark", cluster="document")
    assert (table.task, table.cluster) == (("m", "n"), ("1", "2"))
    torn = pl.DataFrame(LONG | {"benchmark": ["m", "n", "n"]})
    with pytest.raises(DataError, match="sample '7' has benchmark 'm' and, in row 1, 'n'"):
        ResponseTable.from_long(torn, task="benchmark")


def test_a_name_is_the_same_whole_number_however_it_is_stored():
    for names in ([1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"]):
        assert ResponseTable.from_long(pl.DataFrame(LONG | {"sample": names})).samples == ("1", "2", "3")


def test_spaces_quotes_newlines_and_emoji_stay_in_names():
    names = [" a ", "q\"'", "line\nbreak 🦜"]
    assert ResponseTable.from_long(pl.DataFrame(LONG | {"learner": names})).learners == tuple(names)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("response", [1, 0, 1.2], "row 2, column 'response' has 1.2. 1 of 3 rows is wrong"),
        ("response", [1, np.inf, -np.inf], "row 1, column 'response' has inf. 2 of 3"),
        ("response", ["1", "yes", "no"], "row 1, column 'response' has 'yes'. 2 of 3"),
        ("response", ["1", "NaN", "0"], "row 1, .* leave the cell empty or pass missing='NaN'"),
        ("response", [[1], [0], [1]], r"column 'response' has the type List\(Int64\)"),
        ("learner", ["a", None, "b"], "row 1, column 'learner' has no name. 1 of 3"),
        ("sample", ["a", "b", ""], "row 2, column 'sample' has no name"),
        ("sample", [1.0, np.nan, 2.0], "row 1, column 'sample' has no name"),
        ("weight", [1, None, 2], "a weight must be a positive number; row 1, column 'weight' has None"),
        ("weight", [1, 2, 0], "row 2, column 'weight' has 0"),
        ("weight", [1, 2, np.nan], "row 2, column 'weight' has nan"),
    ],
)
def test_bad_cells_are_shown_with_row_and_column(column, values, message):
    frame = pl.DataFrame(LONG | {column: pl.Series(values, strict=False)})
    with pytest.raises(DataError, match=message):
        ResponseTable.from_long(frame, weight="weight" if column == "weight" else None)


def test_a_column_that_is_not_there_names_the_nearest():
    with pytest.raises(DataError, match=r"no column .responce.\. Did you mean .response.\?"):
        ResponseTable.from_long(pl.DataFrame(LONG), response="responce")


def test_something_else_than_a_dataframe_is_refused():
    with pytest.raises(DataError, match="expected a dataframe, not list"):
        ResponseTable.from_long([1, 2])
