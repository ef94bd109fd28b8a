import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from camilla.errors import DataError, SettingError
from camilla.experiments.protocols import split, split_rows
from camilla.table.examples import simulate
from camilla.table.responses import ResponseTable


def cells_of(table):
    named = zip(table.learner, table.sample, table.response, strict=True)
    return sorted((table.learners[i], table.samples[j], r) for i, j, r in named)


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=4), st.integers(0, 2**32 - 1))
def test_parts_by_cell_are_disjoint_complete_and_of_their_proportions(proportions, seed):
    """1,200 cells: each end of a part is rounded, so its size is exact within one."""
    table = simulate(30, 40, seed=1).table
    parts = split(table, proportions=proportions, seed=seed)
    assert sorted(cell for part in parts for cell in cells_of(part)) == cells_of(table)
    exact = 1200 * np.array(proportions) / sum(proportions)
    assert np.abs([part.n_responses for part in parts] - exact).max() <= 1


@pytest.mark.parametrize("by", ["cell", "sample", "learner"])
def test_parts_depend_on_names_and_seed_not_on_order(by):
    table = simulate(10, 20, missing=0.3, seed=2).table
    rng = np.random.default_rng(0)
    turned = table.take_learners(rng.permutation(10)).take_samples(rng.permutation(20))
    rows = rng.permutation(turned.n_responses)
    turned = ResponseTable(
        turned.learners, turned.samples, turned.learner[rows], turned.sample[rows], turned.response[rows]
    )
    for one, other in zip(split(table, by=by, seed=5), split(turned, by=by, seed=5), strict=True):
        assert cells_of(one) == cells_of(other)
    assert cells_of(split(table, by=by, seed=5)[0]) != cells_of(split(table, by=by, seed=6)[0])


def test_trials_of_a_cell_stay_together():
    table = simulate(10, 20, trials=3, seed=3).table
    part = split_rows(table, seed=0).reshape(-1, 3)
    assert (part == part[:, :1]).all()


@pytest.mark.parametrize("by", ["sample", "learner"])
def test_parts_by_sample_or_learner_share_none(by):
    table = simulate(10, 20, skills=3, seed=4).table
    parts = split(table, by=by, proportions=(8, 2))
    names = [set(part.samples if by == "sample" else part.learners) for part in parts]
    assert not names[0] & names[1]
    assert names[0] | names[1] == set(table.samples if by == "sample" else table.learners)
    for part in parts:
        place = [table.samples.index(name) for name in part.samples]
        np.testing.assert_array_equal(part.skill_map.mask, table.skill_map.mask[place])


def test_a_split_that_leaves_a_part_empty_is_refused():
    table = simulate(3, 2, seed=0).table
    with pytest.raises(DataError, match="3 learners cannot be split as 6:2:2: part 1 would be empty"):
        split(table, by="learner", proportions=(6, 2, 2))
    with pytest.raises(SettingError, match="two or more positive numbers"):
        split(table, proportions=(1, 0))
    with pytest.raises(SettingError, match="by must be"):
        split(table, by="task")
