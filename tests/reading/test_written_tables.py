"""What a Parquet file of a table carries, and that it comes back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from camilla.errors import CamillaError, CamillaWarning, DataError, FormatError
from camilla.reading.inputs import load_logs, read
from camilla.table.files import KEY
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap


@pytest.fixture
def table() -> ResponseTable:
    """Three learners, one of them silent; four samples, one that nobody answered; trials and weights."""
    return ResponseTable(
        ("a", "b", "silent"),
        ("x", "y", "z", "nobody"),
        np.array([0, 0, 1, 1]),
        np.array([0, 0, 1, 2]),
        np.array([1.0, 0.5, 0.0, 1.0]),
        weight=np.array([1.0, 2.0, 1.0, 1.0]),
        trial=np.array([0, 1, 0, 0]),
        task=("t", "t", "u", "u"),
        cluster=("k", "k", "l", "l"),
        skill_map=SkillMap(("s", "r"), np.array([[1, 0], [1, 1], [0, 1], [1, 0]], bool)),
        skill_graph=SkillGraph((("s", "r"),)),
        learner_metadata=pl.DataFrame({"learner": ["b", "a"], "date": ["2026", "2025"]}),
        sample_metadata=pl.DataFrame({"sample": ["x", "y", "z"], "text": ["Why?", None, "How?"]}),
        n_missing=7,
    )


def test_everything_comes_back(table: ResponseTable, tmp_path: Path) -> None:
    back = read(table.write(tmp_path / "t.parquet"))
    for name in ("learners", "samples", "task", "cluster", "n_missing"):
        assert getattr(back, name) == getattr(table, name)
    for name in ("learner", "sample", "response", "weight", "trial"):
        np.testing.assert_array_equal(getattr(back, name), getattr(table, name))
    assert back.digest() == table.digest()
    assert back.skill_graph == table.skill_graph
    assert back.learner_metadata is not None
    assert dict(back.learner_metadata.select("learner", "date").iter_rows())["b"] == "2026"
    assert back.sample_metadata is not None
    assert back.sample_metadata["text"].to_list() == ["Why?", None, "How?", None]


def test_the_rows_are_a_plain_long_table_for_anyone(table: ResponseTable, tmp_path: Path) -> None:
    frame = pl.read_parquet(table.write(tmp_path / "t.parquet"))
    assert frame.columns == ["learner", "sample", "response", "trial", "weight", "task", "cluster"]
    assert frame.height == 4


def test_columns_can_still_be_named_by_hand(table: ResponseTable, tmp_path: Path) -> None:
    path = table.write(tmp_path / "t.parquet")
    with pytest.warns(CamillaWarning, match="1 row repeats"):
        back = read(path, learner="learner", sample="sample", response="response")
    assert (back.learners, back.task) == (("a", "b"), None)


def test_another_cluster_leaves_all_else_of_a_written_table(table: ResponseTable, tmp_path: Path) -> None:
    path = table.write(tmp_path / "t.parquet")
    back = read(path, cluster="task")
    assert (back.cluster, back.task, back.samples) == (table.task, table.task, table.samples)
    assert (back.digest(), back.n_missing) == (replace(table, cluster=table.task).digest(), 7)
    with pytest.raises(DataError, match="2 samples have no 'text', such as 'y'"):
        read(path, cluster="text")
    with pytest.raises(DataError, match="the samples have no column 'page'"):
        read(path, cluster="page")
    with pytest.raises(DataError, match="no column 'pounds'"):
        read(path, weight="pounds")


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_column_that_says_nothing_is_not_there(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    rows = [("a", "1", 1, None), ("a", "2", 0, None), ("b", "1", 1, None)]
    frame = pl.DataFrame(rows, ["learner", "sample", "response", "cluster"], orient="row")
    frame = frame.with_columns(pl.col("cluster").cast(pl.String))
    frame.write_csv(path) if ending == ".csv" else frame.write_ndjson(path)
    assert read(path).cluster is None
    assert load_logs([path]).table.digest() == read(path).digest()
    with pytest.raises(DataError, match="column 'cluster' has no name"):
        read(path, cluster="cluster")


def test_other_skills_take_the_place_of_those_in_the_file(table: ResponseTable, tmp_path: Path) -> None:
    path = table.write(tmp_path / "t.parquet")
    (tmp_path / "skills.csv").write_text("sample,hard\nx,easy\ny,hard\nz,hard\nnobody,easy\n")
    for skills, names in ((f"{tmp_path}/skills.csv:hard", ("easy", "hard")), (":task", ("t", "u"))):
        back = read(path, skills=skills)
        assert back.skill_map is not None
        assert back.skill_map.skills == names


def test_loading_a_written_table_keeps_its_skills(table: ResponseTable, tmp_path: Path) -> None:
    back = load_logs([table.write(tmp_path / "t.parquet")]).table
    assert back.samples == ("x", "y", "z")  # those with a response
    assert back.skill_map is not None
    assert back.skill_map.skills == ("s", "r")
    np.testing.assert_array_equal(back.skill_map.mask, [[1, 0], [1, 1], [0, 1]])
    assert back.skill_graph == table.skill_graph


def test_skills_of_two_tables_join_if_they_agree(table: ResponseTable, tmp_path: Path) -> None:
    """Two halves of one table, then a half whose map differs, then a file without a map."""
    assert table.skill_map is not None
    halves = [table.take_samples([0, 1]), table.take_samples([1, 2])]
    paths = [half.write(tmp_path / f"{number}.parquet") for number, half in enumerate(halves)]
    joined = read(*paths).skill_map
    assert joined is not None
    np.testing.assert_array_equal(joined.mask, table.skill_map.mask[:3])

    other = halves[1].with_skills(SkillMap(("s", "r"), np.array([[1, 0], [0, 1]], bool)))
    found = load_logs([paths[0], other.write(tmp_path / "1.parquet")])
    assert found.table.skill_map is None
    assert any("1 sample needs others in one file than in another, 'y'" in line for line in found.lines())

    (tmp_path / "new.csv").write_text("learner,sample,response\nc,w,1\n")
    found = load_logs([paths[0], tmp_path / "new.csv"])
    assert found.table.skill_map is None
    assert any("no file gives any to 1 sample, 'w'" in line for line in found.notes())


def test_an_account_can_travel_with_the_table(table: ResponseTable, tmp_path: Path) -> None:
    path = table.write(tmp_path / "t.parquet", provenance={"made": "here"})
    assert '"provenance":{"made":"here"}' in pl.read_parquet_metadata(path)[KEY]


@pytest.mark.parametrize(
    "note",
    ["{", "{}", '{"version":1,"learners":"!!","samples":""}', '{"version":9,"learners":"","samples":""}'],
)
def test_damaged_notes_are_one_clear_error(note: str, table: ResponseTable, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table.to_long().write_parquet(path, metadata={KEY: note})
    with pytest.raises(FormatError, match=r"damaged|newer"):
        read(path)


def test_rows_changed_behind_our_back_are_noticed(table: ResponseTable, tmp_path: Path) -> None:
    path = table.write(tmp_path / "t.parquet")
    notes = pl.read_parquet_metadata(path)
    frame = pl.read_parquet(path).with_columns(learner=pl.lit("stranger"))
    frame.write_parquet(path, metadata={KEY: notes[KEY]})
    with pytest.raises(FormatError, match="'stranger'"):
        read(path)
    table.to_long().drop("sample").write_parquet(path, metadata={KEY: notes[KEY]})
    with pytest.raises(CamillaError, match="has lost its column 'sample'"):
        read(path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_keys_and_answers_come_back(ending: str, tmp_path: Path) -> None:
    made = ResponseTable.from_predictions({"a": ["cat", "dog"], "b": ["dog", None]}, ["cat", "dog"])
    made = replace(made, answer=pl.Series("answer", ["cat", None, "dog"], dtype=pl.String))
    back = read(made.write(tmp_path / f"t.{ending}"))
    assert back.key == made.key
    assert back.answer is not None
    assert back.to_long().sort("learner", "sample").equals(made.to_long().sort("learner", "sample"))


def test_keys_are_read_from_a_column_or_another_file(tmp_path: Path) -> None:
    wide, keys = tmp_path / "wide.csv", tmp_path / "keys.csv"
    wide.write_text("sample,label,a,b\nx,1,1,0\ny,0,0,1\n")
    keys.write_text("sample,answer\ny,no\nx,yes\n")
    for key in ("label", ":label"):
        table = read(wide, rows="samples", key=key)
        assert (table.learners, table.key) == (("a", "b"), ("1", "0"))
    table = read(wide, rows="samples", ignore="label", key=f"{keys}:answer")
    assert (table.learners, table.key) == (("a", "b"), ("yes", "no"))
    long = tmp_path / "long.csv"
    long.write_text(
        "learner,sample,response,truth,said\na,x,1,yes,yes\na,y,0,no,\nb,x,,yes,no\nb,y,0,no,yes\n"
    )
    table = read(long, key="truth", answer="said")
    assert table.key == ("yes", "no")
    assert table.answer is not None
    assert table.answer.to_list() == ["yes", None, "yes"]
    assert read(table.write(tmp_path / "t.parquet"), key=f"{keys}:answer").key == ("yes", "no")


def test_keys_that_cannot_be_had_are_refused(tmp_path: Path) -> None:
    wide, keys = tmp_path / "wide.csv", tmp_path / "keys.csv"
    wide.write_text("sample,a,b\nx,1,0\ny,0,1\n")
    keys.write_text("sample,answer\nx,yes\n")
    for options, told in (
        ({"rows": "samples", "key": "label"}, "no column 'label'"),
        ({"rows": "samples", "key": str(keys)}, "say which of its columns"),
        ({"rows": "samples", "key": f"{keys}:answer"}, "misses 1 of 2 samples"),
        ({"rows": "samples", "answer": "said"}, "'answer' belong to a long table"),
        ({"rows": "learners", "key": "label"}, "with rows='learners' a column is a sample"),
    ):
        with pytest.raises(CamillaError, match=told):
            read(wide, **options)
    long = tmp_path / "long.csv"
    long.write_text("learner,sample,response,truth\na,x,1,yes\nb,x,1,no\n")
    with pytest.raises(DataError, match="has truth 'yes' and, in"):
        read(long, key="truth")
