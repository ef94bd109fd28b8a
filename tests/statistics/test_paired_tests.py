"""Exact McNemar against statsmodels; one paired test for two learners and for a whole board."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_rel
from statsmodels.stats.contingency_tables import mcnemar

from camilla.statistics.all_pairs import pair_ends, pair_tests
from camilla.statistics.paired import (
    PairedResponses,
    estimate,
    mcnemar_p,
    mcnemar_table,
    paired_test,
)


@given(st.integers(0, 300), st.integers(0, 300))
def test_exact_mcnemar_is_statsmodels(lost: int, won: int) -> None:
    """Two ways to sum the same binomial tail: 1e-9 relative."""
    expected = mcnemar(np.array([[10, lost], [won, 10]]), exact=True).pvalue
    assert mcnemar_p(lost, won) == pytest.approx(min(expected, 1.0), rel=1e-9)


def test_the_table_of_p_values_is_the_function() -> None:
    table = mcnemar_table(40)
    for fewer in range(21):
        for both in range(2 * fewer, 41):
            assert table[fewer, both] == mcnemar_p(fewer, both - fewer)


def pair_in(matrix: np.ndarray, i: int, j: int, group: np.ndarray | None) -> PairedResponses:
    """Row j less row i on the samples both answered."""
    shared = np.flatnonzero(~np.isnan(matrix[i]) & ~np.isnan(matrix[j]))
    inside = None if group is None else np.unique(group[shared], return_inverse=True)[1]
    return PairedResponses(
        shared, matrix[i, shared], matrix[j, shared], np.full(len(shared), np.nan), inside, 0, 0
    )


def mixed(seed: int) -> np.ndarray:
    """Rows 0 to 2 right or wrong, 3 and 4 scores, 5 right or wrong but for its first sample; with gaps."""
    rng = np.random.default_rng(seed)
    matrix = (rng.random((6, 50)) < rng.uniform(0.3, 0.8, (6, 1))).astype(float)
    matrix[3:5] = rng.random((2, 50)).round(2)
    matrix[0, :1] = matrix[5, :1] = 0.5
    matrix[rng.random(matrix.shape) < 0.1] = np.nan
    return matrix


@pytest.mark.parametrize("clusters", [None, 9])
def test_a_board_and_a_single_pair_have_the_same_test_and_interval(clusters: int | None) -> None:
    """Both sum the same numbers in another order: 1e-8."""
    matrix = mixed(3)
    group = None if clusters is None else np.arange(50) % clusters
    tests = pair_tests(matrix, group)
    for i in range(6):
        for j in range(6):
            if i == j:
                continue
            pair = pair_in(matrix, j, i, group)
            assert tests.p_value[i, j] == pytest.approx(paired_test(pair).p_value, rel=1e-8)
            if group is None:
                one, ends = estimate(pair, 0.95), pair_ends(matrix, 0.95)
                assert (ends.low[i, j], ends.high[i, j]) == pytest.approx((one.low, one.high), abs=1e-8)


def test_the_test_is_chosen_by_the_responses_both_gave() -> None:
    """Right/wrong on all shared samples: the binomial test. A single score among them: the paired t-test,
    even where the two scores are equal and every difference is −1, 0 or 1."""
    rng = np.random.default_rng(5)
    a, b = ((rng.random(40) < p).astype(float) for p in (0.7, 0.5))
    exact = paired_test(pair_in(np.stack([a, b]), 0, 1, None))
    won, lost = int((b > a).sum()), int((a > b).sum())
    assert exact.p_value == pytest.approx(binomtest(won, won + lost).pvalue)
    assert exact.method == "exact McNemar"
    a[0] = b[0] = 0.5
    scored = paired_test(pair_in(np.stack([a, b]), 0, 1, None))
    assert scored.p_value == pytest.approx(ttest_rel(b, a).pvalue)
    assert scored.method == "Student's t over samples"
    assert pair_tests(np.stack([a, b]), None).p_value[0, 1] == pytest.approx(scored.p_value)
