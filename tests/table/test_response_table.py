import hashlib
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from camilla.errors import DataError
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.floats(0, 1), st.integers(1, 9)),
    min_size=1,
    max_size=40,
)


def table_of(rows, **fields):
    learner, sample, response, weight = zip(*rows, strict=True)
    return ResponseTable(tuple("abcd"), tuple("vwxyz"), learner, sample, response, weight, **fields)


def naive_cells(rows):
    """The definition, cell by cell, in exact fractions of the weights."""
    cells = {}
    for learner, sample, response, weight in rows:
        cells.setdefault((sample, learner), []).append((response, weight))
    return {
        key: (sum(r * w for r, w in got) / sum(w for _, w in got), sum(w for _, w in got))
        for key, got in sorted(cells.items())
    }


@given(ROWS)
def test_cells_are_weighted_means_sorted_by_sample_and_learner(rows):
    cells = table_of(rows).cells()
    expected = naive_cells(rows)
    assert list(zip(cells.sample.tolist(), cells.learner.tolist(), strict=True)) == list(expected)
    np.testing.assert_allclose(cells.response, [mean for mean, _ in expected.values()], atol=1e-14)
    np.testing.assert_array_equal(cells.weight, [weight for _, weight in expected.values()])


@given(ROWS)
def test_a_row_of_weight_n_is_exactly_the_row_n_times(rows):
    weighted = table_of(rows).cells()
    repeated = table_of([(i, j, r, 1) for i, j, r, w in rows for _ in range(w)]).cells()
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_array_equal(one, other)


@given(ROWS, st.randoms())
def test_row_order_changes_no_bit_of_the_cells(rows, random):
    shuffled = random.sample(rows, len(rows))
    for one, other in zip(table_of(rows).cells(), table_of(shuffled).cells(), strict=True):
        np.testing.assert_array_equal(one, other)


@given(ROWS, st.permutations(range(4)), st.permutations(range(5)))
def test_digest_ignores_order_and_how_repeats_are_written(rows, learners, samples):
    table = table_of(rows, skill_map=SkillMap(("s", "t"), np.array([[1, 0], [1, 1], [0, 1], [1, 0], [1, 1]])))
    turned = table.take_learners(learners).take_samples(samples)
    swapped = turned.with_skills(SkillMap(("t", "s"), turned.skill_map.mask[:, ::-1]))
    assert swapped.digest() == table.digest()
    repeated = table_of([(i, j, r, 1) for i, j, r, w in rows for _ in range(w)], skill_map=table.skill_map)
    assert repeated.digest() == table.digest()


def test_digest_sees_a_changed_response_name_weight_and_skill():
    table = ResponseTable.from_matrix([[1, 0], [0, 1]])
    digests = {
        table.digest(),
        ResponseTable.from_matrix([[1, 0], [0, 0.5]]).digest(),
        ResponseTable.from_matrix([[1, 0], [0, np.nan]]).digest(),
        ResponseTable.from_matrix([[1, 0], [0, 1]], learners=["a", "b"]).digest(),
        ResponseTable(
            table.learners, table.samples, table.learner, table.sample, table.response, [1, 1, 1, 2]
        ).digest(),
        table.with_skills(SkillMap(("s",), np.ones((2, 1)))).digest(),
        table.with_skills(SkillMap(("t",), np.ones((2, 1)))).digest(),
    }
    assert len(digests) == 7
    assert len(table.digest()) == len(hashlib.sha256().hexdigest())


def test_digest_sees_which_samples_share_a_cluster_not_what_it_is_called():
    """Without clusters it is what stored results know the table by, here written down once."""
    table = ResponseTable.from_matrix([[1, 0, 0.5], [0, 1, 1]])
    assert table.digest().startswith("48dc2f161f86323c9682bd7b")
    partitions = ["aab", "abb", "aba", "abc", "aaa"]
    digests = {replace(table, cluster=tuple(one)).digest() for one in partitions}
    assert len(digests | {table.digest()}) == 6
    clustered = replace(table, cluster=("a", "a", "b"))
    assert replace(table, cluster=("b", "b", "page 7")).digest() == clustered.digest()
    assert clustered.take_samples([2, 0, 1]).digest() == clustered.digest()


def test_canonical_order_says_where_each_name_came_from():
    table = ResponseTable.from_matrix([[1, 0, 0.5], [0, 1, 1]], learners=["b", "a"], samples=["z", "x", "y"])
    canonical = table.canonical()
    assert canonical.table.learners == ("a", "b")
    assert canonical.table.samples == ("x", "y", "z")
    matrix = table.matrix()[canonical.learner_order][:, canonical.sample_order]
    np.testing.assert_array_equal(canonical.table.matrix(), matrix)


def test_matrix_and_back_keeps_every_cell_and_every_gap():
    matrix = np.array([[1, np.nan, 0.25], [0, 1, np.nan]])
    table = ResponseTable.from_matrix(matrix)
    np.testing.assert_array_equal(table.matrix(), matrix)
    assert (table.n_learners, table.n_samples, table.n_responses, table.n_missing) == (2, 3, 4, 2)
    assert not table.is_complete
    assert not table.is_binary


def test_means_are_the_textbook_mean_and_standard_error():
    """Without weights or trials the standard error is s/√n."""
    matrix = np.array([[1, 0, 0.25, 1], [0, 1, 1, 1]])
    mean, se, weight = ResponseTable.from_matrix(matrix).learner_means()
    np.testing.assert_allclose(mean, matrix.mean(axis=1))
    np.testing.assert_allclose(se, matrix.std(axis=1, ddof=1) / 2)
    np.testing.assert_array_equal(weight, [4, 4])
    mean, se, _ = ResponseTable.from_matrix(matrix).sample_means()
    np.testing.assert_allclose(mean, matrix.mean(axis=0))
    np.testing.assert_allclose(se, matrix.std(axis=0, ddof=1) / np.sqrt(2))


def test_ten_equal_trials_of_a_sample_make_no_mean_more_certain():
    once = ResponseTable(("a",), ("x", "y"), [0, 0], [0, 1], [1, 0])
    often = ResponseTable(("a",), ("x", "y"), [0] * 20, [0, 1] * 10, [1, 0] * 10)
    np.testing.assert_array_equal(once.learner_means().se, often.learner_means().se)


def test_a_learner_without_responses_has_no_mean_and_no_zero():
    mean, se, weight = ResponseTable.from_matrix([[1, 0], [np.nan, np.nan]]).learner_means()
    np.testing.assert_array_equal(np.isnan(mean), [False, True])
    np.testing.assert_array_equal(np.isnan(se), [False, True])
    np.testing.assert_array_equal(weight, [2, 0])


def test_taken_samples_bring_their_task_cluster_skills_and_metadata():
    table = ResponseTable(
        ("a",), ("x", "y", "z"), [0, 0, 0], [0, 1, 2], [1, 0, 1],
        task=("t", "u", "t"), cluster=("c", "d", "e"),
        skill_map=SkillMap(("s", "r"), np.array([[1, 0], [0, 1], [1, 1]])),
        sample_metadata=pl.DataFrame({"sample": ["x", "y", "z"], "length": [1, 2, 3]}),
    )  # fmt: skip
    taken = table.take_samples([2, 1])
    assert (taken.samples, taken.task, taken.cluster) == (("z", "y"), ("t", "u"), ("e", "d"))
    np.testing.assert_array_equal(taken.matrix(), [[1, 0]])
    np.testing.assert_array_equal(taken.skill_map.mask, [[1, 1], [0, 1]])
    assert sorted(taken.sample_metadata["sample"]) == ["y", "z"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"learners": ("a", "a")}, "learner names must differ; 'a'"),
        ({"learners": ("a", "")}, "learner 1 has an empty name"),
        ({"samples": ("x", "x")}, "sample names must differ; 'x'"),
        ({"learner": [0, 2]}, "learner indices run from 0 to 2"),
        ({"sample": [-1, 0]}, "sample indices run from -1 to 0"),
        ({"response": [0, 1.2]}, r"row 1 \('b' on 'y'\) has 1.2. 1 of 2 rows"),
        ({"response": [0, np.nan]}, "row 1 .* has nan"),
        ({"weight": [1, 0]}, "weight must be positive and finite; row 1 .* has 0"),
        ({"trial": [1]}, "trial has shape"),
        ({"task": ("t",)}, "the task has 1 entries; expected one for each of 2 samples"),
        ({"skill_map": SkillMap(("s",), np.ones((3, 1)))}, "the skill map has 3 entries"),
    ],
)
def test_a_table_refuses(fields, message):
    good = {
        "learners": ("a", "b"),
        "samples": ("x", "y"),
        "learner": [0, 1],
        "sample": [0, 1],
        "response": [0, 1],
    }
    ResponseTable(**good)
    with pytest.raises(DataError, match=message):
        ResponseTable(**(good | fields))


def test_an_index_out_of_range_cannot_be_taken():
    with pytest.raises(DataError, match="sample indices run from 2 to 2; expected 0 to 1"):
        ResponseTable.from_matrix([[1, 0]]).take_samples([2])
