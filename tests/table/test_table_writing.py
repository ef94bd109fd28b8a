from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from camilla.errors import CamillaWarning, DataError, SettingError
from camilla.reading.inputs import load_logs, read
from camilla.table.examples import simulate
from camilla.table.responses import ResponseTable

NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    min_size=2,
    max_size=4,
    unique=True,
)
ENDINGS = [".csv", ".tsv", ".jsonl", ".parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
@given(learners=NAMES, samples=NAMES)
def test_any_names_survive_a_file(tmp_path_factory, ending, learners, samples):
    shape = (len(learners), len(samples))
    table = ResponseTable.from_matrix(
        simulate(*shape, fractional=True).table.matrix(), learners=learners, samples=samples
    )
    path = table.write(tmp_path_factory.mktemp("names") / f"t{ending}")
    assert read(path).digest() == table.digest()


@pytest.fixture
def full() -> ResponseTable:
    """Trials that are not numbered from 0, weights with all their digits, tasks, clusters."""
    table = simulate(3, 4, trials=2, seed=1).table
    return replace(
        table,
        weight=np.random.default_rng(1).random(table.n_responses) + 0.1,
        trial=table.trial + 3,
        task=("a", "a", "b", "b"),
        cluster=("c", "d", "c", "7"),
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_trials_weights_tasks_and_clusters_survive_a_file(tmp_path, ending, full):
    """Read as it is, with all columns named, and as a log: the table that was written, to the last bit."""
    path = full.write(tmp_path / f"t{ending}")
    named = {name: name for name in ("trial", "weight", "task", "cluster")}
    for back in (read(path), read(path, **named), load_logs([path]).table):
        assert back.digest() == full.digest()
        assert (back.learners, back.samples) == (full.learners, full.samples)
        assert (back.task, back.cluster) == (full.task, full.cluster)
        by_cell = [np.lexsort((table.trial, table.sample, table.learner)) for table in (back, full)]
        np.testing.assert_array_equal(back.weight[by_cell[0]], full.weight[by_cell[1]])
        np.testing.assert_array_equal(back.response[by_cell[0]], full.response[by_cell[1]])
    np.testing.assert_array_equal(read(path).trial, full.trial)


@pytest.mark.parametrize("ending", ENDINGS)
def test_another_cluster_can_be_named_and_the_rest_stays(tmp_path, ending, full):
    back = read(full.write(tmp_path / f"t{ending}"), cluster="task")
    assert back.digest() == replace(full, cluster=full.task).digest()
    assert (back.cluster, back.task) == (full.task, full.task)


@pytest.mark.parametrize(
    "header",
    [
        "learner,sample,response,weight,height",  # a column Camilla does not write
        "learner,sample,response,task,weight",  # another order
        "sample,learner,response,weight",
        "id,item,resp,weight,cluster",
    ],
)
def test_columns_of_other_tables_are_only_what_they_are_said_to_be(tmp_path, header):
    """The weight of a person in kilograms is no weight of a response."""
    path = tmp_path / "t.csv"
    rest = ",70" * (header.count(",") - 2)
    path.write_text(f"{header}\na,x,1{rest}\nb,y,1{rest}\n")
    table = read(path)
    assert (table.weight, table.task, table.cluster) == (None, None, None)
    assert read(path, weight="weight").weight.tolist() == [70, 70]


def test_a_weight_that_is_none_is_refused_with_a_way_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("learner,sample,response,weight\na,x,1,0\nb,x,0,70\n")
    with pytest.raises(DataError, match=r"a weight must be a positive number; line 2.*if learner=… is named"):
        read(path)
    assert read(path, learner="learner").weight is None


@pytest.mark.parametrize("ending", ENDINGS)
def test_named_by_hand_a_written_table_is_what_is_named(tmp_path, ending, full):
    path = full.write(tmp_path / f"t{ending}")
    with pytest.warns(CamillaWarning, match="rows repeat the learner and sample"):
        back = read(path, learner="learner", sample="sample", response="response", task="cluster")
    assert (back.weight, back.cluster, back.task) == (None, None, full.cluster)


def test_nothing_is_left_behind_where_nothing_can_be_written(tmp_path):
    table = simulate(2, 2).table
    with pytest.raises(SettingError, match=r"the ending '.xlsx' is not known"):
        table.write(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="there is no folder"):
        table.write(tmp_path / "nowhere" / "t.csv")
    table.write(tmp_path / "t.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
