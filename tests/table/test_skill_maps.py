import numpy as np
import pandas as pd
import polars as pl
import pytest

from camilla.errors import DataError
from camilla.reading.inputs import read
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap

SAMPLES = ("1", "2", "3")


def test_a_table_of_zeros_and_ones_is_matched_by_name():
    frame = pd.DataFrame({"algebra": [0, 1, 1, 0], "id": [3, 1, 2, 9], "sets": [True, False, True, True]})
    skill_map = SkillMap.from_table(frame, SAMPLES)
    assert skill_map.skills == ("algebra", "sets")
    np.testing.assert_array_equal(skill_map.mask, [[1, 0], [1, 1], [0, 1]])
    assert skill_map.notes == ("1 sample of the skill table is not in the table and was ignored",)


def test_labels_become_one_skill_each_numbers_in_order():
    skill_map = SkillMap.from_labels([10, 9, 10])
    assert skill_map.skills == ("9", "10")
    np.testing.assert_array_equal(skill_map.mask, [[0, 1], [1, 0], [0, 1]])


def test_one_column_gives_its_values_several_give_column_and_value():
    frame = pl.DataFrame({"sample": ["2", "1", "3"], "sex": ["f", "m", "f"], "class": [1, 3, 3]})
    assert SkillMap.from_columns(frame, ["sex"], SAMPLES).skills == ("f", "m")
    both = SkillMap.from_columns(frame, ["sex", "class"], SAMPLES)
    assert both.skills == ("sex=f", "sex=m", "class=1", "class=3")
    np.testing.assert_array_equal(both.mask, [[0, 1, 0, 1], [1, 0, 1, 0], [1, 0, 0, 1]])


def test_a_missing_category_gives_no_skill_if_another_column_does():
    frame = pl.DataFrame({"sample": SAMPLES, "sex": ["f", None, "m"], "port": ["S", "C", None]})
    skill_map = SkillMap.from_columns(frame, ["sex", "port"], SAMPLES)
    np.testing.assert_array_equal(skill_map.mask, [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]])
    assert skill_map.notes == tuple(
        f"{c} of 1 samples is missing and gives them no skill" for c in ("sex", "port")
    )
    with pytest.raises(DataError, match="row 1, sample '2' has no value in column 'sex'"):
        SkillMap.from_columns(frame, ["sex"], SAMPLES)


def test_rows_are_matched_in_order_only_if_nothing_names_them():
    """A first column that counts rows from anywhere is no name of a sample; the note says what was done."""
    counted = pl.DataFrame({"PassengerId": [892, 893, 894], "sex": ["f", "m", "f"]})
    for frame in (counted, counted.select("sex")):
        skill_map = SkillMap.from_columns(frame, ["sex"], SAMPLES)
        np.testing.assert_array_equal(skill_map.mask, [[1, 0], [0, 1], [1, 0]])
        assert "matched to the samples in order" in skill_map.notes[0]
    for named in (
        counted.rename({"PassengerId": "id"}),
        counted.with_columns(PassengerId=pl.Series(["a", "b", "c"])),
    ):
        with pytest.raises(DataError, match="misses 3 of 3 samples: '1', '2', '3'"):
            SkillMap.from_columns(named, ["sex"], SAMPLES)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"sample": ["1", "2"], "s": [1, 1]}, "misses 1 of 3 samples: '3'; column 'sample' was read"),
        (
            {"sample": SAMPLES, "s": [1, 0, 1], "t": [0, 0, 0]},
            "1 sample needs no skill, .*: '2', first in row 1",
        ),
        ({"sample": SAMPLES, "s": [1.0, 0.5, 1.0]}, "row 1, column 's' has 0.5. 1 of 3 rows is wrong"),
        ({"sample": SAMPLES, "s": [1, None, 1]}, "row 1, column 's' has None"),
        ({"sample": ["1", "2", "3", "2"], "s": [1, 1, 1, 1]}, "sample '2' has two rows, row 1 and row 3"),
        ({"sample": SAMPLES}, "has no column beside 'sample'"),
        ({"s": [1, 1]}, "misses 2 of 3 samples: '2', '3'"),
    ],
)
def test_a_skill_table_is_refused(frame, message):
    with pytest.raises(DataError, match=message):
        SkillMap.from_table(pl.DataFrame(frame), SAMPLES)


@pytest.mark.parametrize(
    ("skills", "mask", "message"),
    [
        (("s", "s"), [[1, 0]], "skill names must differ; 's'"),
        (("s",), [[1, 0]], "got shape"),
        ((), np.zeros((2, 0)), "at least one skill"),
        (("s", "t"), [[1, 2]], "only 0 and 1"),
        (("s", "t"), [[1, 0], [0, 0]], "row 1 of the skill map is all zero"),
    ],
)
def test_a_skill_map_refuses(skills, mask, message):
    with pytest.raises(DataError, match=message):
        SkillMap(skills, np.array(mask))


def test_a_skill_that_no_sample_needs_is_kept_and_noted():
    frame = pl.DataFrame({"sample": SAMPLES, "s": [1, 1, 1], "t": [0, 0, 0]})
    skill_map = SkillMap.from_table(frame, SAMPLES)
    assert (skill_map.skills, skill_map.notes) == (("s", "t"), ())
    table = ResponseTable.from_matrix(np.eye(3), samples=SAMPLES).with_skills(skill_map)
    assert table.skill_map is not None
    assert table.skill_map.skills == ("s",)
    assert table.skill_map.notes == ("no sample needs skill 't': left out",)


def test_a_table_cut_to_some_classes_has_only_their_skills():
    """Skills of a graph stay: a root that no sample needs is known through its children."""
    table = ResponseTable.from_matrix(np.eye(6)).with_skills(SkillMap.from_labels(list("abcabc")))
    cut = table.take_samples([0, 1, 3, 4]).skill_map
    assert cut is not None
    assert (cut.skills, cut.notes) == (("a", "b"), ("no sample needs skill 'c': left out",))
    np.testing.assert_array_equal(cut.mask, [[1, 0], [0, 1], [1, 0], [0, 1]])
    graph = SkillGraph((("c", "a"),))
    kept = table.with_skills(table.skill_map, graph=graph).take_samples([0, 1]).skill_map
    assert kept is not None
    assert kept.skills == ("a", "b", "c")
    assert kept.notes == ()


def test_a_skill_map_survives_its_own_table():
    skill_map = SkillMap(("s t", "ü"), np.array([[1, 0], [1, 1], [0, 1]]))
    back = SkillMap.from_table(skill_map.to_frame(SAMPLES), SAMPLES)
    assert back.skills == skill_map.skills
    np.testing.assert_array_equal(back.mask, skill_map.mask)


SEVERAL = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]  # samples × algebra, sets, and a name with a semicolon


def test_lists_of_labels_are_several_skills():
    names = ("algebra", "sets", "x;y")
    assert SkillMap.from_labels([["sets", "algebra"], ("sets",), {"x;y"}]).skills == names
    for labels in ([["sets", "algebra"], "sets", ["x;y"]], ["algebra; sets", "sets", "x\\;y"]):
        found = SkillMap.from_labels(labels)
        assert found.skills == names
        np.testing.assert_array_equal(found.mask, SEVERAL)
    assert SkillMap.from_labels(["algebra;sets", "sets"], separator=None).skills == ("algebra;sets", "sets")
    assert SkillMap.from_labels(["a|b", "b"], separator="|").skills == ("a", "b")
    for empty in ([["a"], []], [["a"], None]):
        with pytest.raises(DataError, match="row 1 of the skill map is all zero"):
            SkillMap.from_labels(empty)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("column", ["text", "list"])
def test_lists_in_files_are_several_skills(form, own, column, tmp_path):
    if (form, column) == ("csv", "list"):
        return  # CSV has no lists
    skills = pl.DataFrame(
        {
            "sample": SAMPLES,
            "text": ["algebra;sets", "sets", "x\\;y"],
            "list": [["algebra", "sets"], ["sets"], ["x;y"]],
        }
    )
    skills = skills.drop("list") if form == "csv" else skills
    cells = pl.DataFrame(
        {"learner": ["a"] * 3 + ["b"] * 3, "sample": SAMPLES * 2, "response": [1, 0, 1, 1, 1, 0]}
    )
    table = cells.join(skills, on="sample", how="left") if own else cells
    for name, frame in (("table", table), ("skills", skills)):
        path = tmp_path / f"{name}.{form if name == 'skills' or own else 'csv'}"
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[
            path.suffix[1:]
        ](path)
    source = tmp_path / f"table.{form if own else 'csv'}"
    given = f":{column}" if own else f"{tmp_path / f'skills.{form}'}:{column}"
    found = read(source, skills=given).skill_map
    assert found is not None
    assert found.skills == ("algebra", "sets", "x;y")
    np.testing.assert_array_equal(found.mask, SEVERAL)
    assert found.notes == (f"1 sample has several skills in {column}: a list, or ';' between them",)


def test_a_key_with_a_semicolon_stays_one_key(tmp_path):
    (tmp_path / "table.csv").write_text("learner,sample,response\na,1,1\nb,1,0\n")
    (tmp_path / "keys.csv").write_text("sample,key\n1,a;b\n")
    assert read(tmp_path / "table.csv", key=f"{tmp_path / 'keys.csv'}:key").key == ("a;b",)
