import numpy as np
import pytest

from camilla.errors import DataError
from camilla.table.responses import ResponseTable, check_diagnosable


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 0, 1]], "one learner, 'learner-0'"),
        ([[1], [0]], "one sample, 'sample-0'"),
        ([[1, 1], [1, 1]], "every one of the 4 responses is 1"),
        ([[np.nan, np.nan], [np.nan, np.nan]], "the table has no responses .4 are missing."),
    ],
)
def test_nothing_can_be_learned_from(matrix, message):
    with pytest.raises(DataError, match=message):
        check_diagnosable(ResponseTable.from_matrix(matrix))


def test_one_constant_learner_and_one_constant_sample_are_fine():
    check_diagnosable(ResponseTable.from_matrix([[1, 1, 1], [1, 0, 1]]))
