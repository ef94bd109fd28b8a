from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camilla.data.responses import ResponseTable
from camilla.data.simulate import simulate
from camilla.errors import DataError
from camilla.loaders.tables import read

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


@pytest.mark.parametrize("ending", ENDINGS)
def test_trials_weights_tasks_and_clusters_survive_a_file(tmp_path, ending):
    table = simulate(3, 4, trials=2, seed=1).table
    table = replace(
        table, weight=table.response + 0.5, task=("a", "a", "b", "b"), cluster=("c", "d", "e", "f")
    )
    path = table.write(tmp_path / f"t{ending}")
    back = read(path, trial="trial", weight="weight", task="task", cluster="cluster")
    assert back.digest() == table.digest()
    assert (back.task, back.cluster) == (table.task, table.cluster)
    assert back.trial.tolist() == table.trial.tolist()


def test_nothing_is_left_behind_where_nothing_can_be_written(tmp_path):
    table = simulate(2, 2).table
    with pytest.raises(DataError, match=r"the ending '.xlsx' is not known"):
        table.write(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="there is no folder"):
        table.write(tmp_path / "nowhere" / "t.csv")
    table.write(tmp_path / "t.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
