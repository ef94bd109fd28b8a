import numpy as np
import pandas as pd
import polars as pl
import pytest

from camilla.errors import DataError, SettingError
from camilla.table.responses import ResponseTable

WIDE = {"question": ["x", "y"], "gpt": [1, None], "llama": [0.5, 0]}
MATRIX = [[1, np.nan], [0.5, 0]]


def test_rows_are_samples_or_learners():
    table = ResponseTable.from_wide(pl.DataFrame(WIDE), rows="samples")
    assert (table.learners, table.samples, table.n_missing) == (("gpt", "llama"), ("x", "y"), 1)
    np.testing.assert_array_equal(table.matrix(), MATRIX)
    turned = ResponseTable.from_wide(pl.DataFrame(WIDE), rows="learners")
    assert (turned.learners, turned.samples) == (("x", "y"), ("gpt", "llama"))
    np.testing.assert_array_equal(turned.matrix(), np.transpose(MATRIX))


def test_the_column_of_names_may_stand_anywhere():
    frame = pd.DataFrame(WIDE)[["gpt", "question", "llama"]]
    np.testing.assert_array_equal(
        ResponseTable.from_wide(frame, rows="samples", id="question").matrix(), MATRIX
    )


def test_two_rows_of_one_name_are_an_error():
    frame = pl.DataFrame(WIDE | {"question": ["x", "x"]})
    with pytest.raises(DataError, match="column 'question' names row 0 and row 1 both 'x'"):
        ResponseTable.from_wide(frame, rows="samples")


def test_rows_must_be_one_of_two_words():
    with pytest.raises(SettingError, match="rows must be 'samples' or 'learners', not 'items'"):
        ResponseTable.from_wide(pl.DataFrame(WIDE), rows="items")


def test_a_column_of_text_is_no_learner():
    frame = pl.DataFrame(WIDE | {"topic": ["algebra", "sets"]})
    with pytest.raises(DataError, match="row 0, column 'topic' has 'algebra'\\. 2 of 2 rows"):
        ResponseTable.from_wide(frame, rows="samples")


@pytest.mark.parametrize(
    ("matrix", "names", "message"),
    [
        ([1, 0], {}, r"shape \(2,\)"),
        ([["a"]], {}, "type <U1"),
        ([[1, 0], [0, 2]], {}, "row 1, column 1 of the matrix has 2. 1 of 4 cells"),
        ([[1, 0]], {"learners": ["a", "b"]}, "1 learners × 2 samples, but 2 learner names"),
    ],
)
def test_a_matrix_is_refused(matrix, names, message):
    with pytest.raises(DataError, match=message):
        ResponseTable.from_matrix(matrix, **names)
