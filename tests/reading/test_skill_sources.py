from pathlib import Path

import numpy as np
import pytest

from camilla.errors import DataError, SettingError
from camilla.reading.inputs import read
from camilla.reading.skills import skill_source
from camilla.table.frame_files import FileColumns


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A long table, a wide one, a 0/1 skill file, a file of labels."""
    monkeypatch.chdir(tmp_path)
    Path("long.csv").write_text(
        "learner,q,response,topic\na,1,1,sets\nb,1,0,sets\na,2,0,logic\nb,2,1,logic\n"
    )
    Path("wide.csv").write_text("q,topic,a,b\n1,sets,1,0\n2,logic,0,1\n")
    Path("bits.csv").write_text("q,sets,logic,proof\n2,0,1,1\n1,1,0,1\n3,1,1,1\n")
    Path("labels.jsonl").write_text('{"id": 2, "topic": "logic", "hard": true}\n{"id": 1, "topic": "sets"}\n')
    return tmp_path


def test_a_file_of_zeros_and_ones(folder):
    skill_map = read("long.csv", sample="q", skills="bits.csv").skill_map
    assert skill_map.skills == ("sets", "logic", "proof")
    np.testing.assert_array_equal(skill_map.mask, [[1, 0, 1], [0, 1, 1]])
    assert skill_map.notes == ("1 sample of bits.csv is not in the table and was ignored",)


def test_some_columns_of_a_file_of_zeros_and_ones(folder):
    skill_map = read("long.csv", sample="q", skills="bits.csv:logic,sets").skill_map
    assert skill_map.skills == ("logic", "sets")
    np.testing.assert_array_equal(skill_map.mask, [[0, 1], [1, 0]])


@pytest.mark.parametrize("skills", ["labels.jsonl:topic", ":topic", "long.csv:topic"])
def test_a_label_column_of_a_file_or_of_the_table_itself(folder, skills):
    skill_map = read("long.csv", sample="q", skills=skills).skill_map
    assert skill_map.skills == ("logic", "sets")
    np.testing.assert_array_equal(skill_map.mask, [[0, 1], [1, 0]])


def test_a_label_column_of_a_wide_table_is_no_learner(folder):
    table = read("wide.csv", rows="samples", skills=":topic")
    assert table.learners == ("a", "b")
    assert table.skill_map.skills == ("logic", "sets")


def test_a_path_with_a_colon_and_a_column_with_a_comma(folder):
    Path("c:d.csv").write_text('id,"a,b",c\n1,x,y\n')
    assert skill_source("c:d.csv") == FileColumns(Path("c:d.csv"), ())
    assert skill_source('c:d.csv:"a,b",c') == FileColumns(Path("c:d.csv"), ("a,b", "c"))


@pytest.mark.parametrize(
    ("skills", "error", "message"),
    [
        ("none.csv", DataError, "none.csv: no such file of skills"),
        ("none.csv:topic", DataError, "none.csv:topic: no such file of skills"),
        ("bits.csv:", DataError, "name no column behind the colon"),
        ("bits.csv:sets,proofs", DataError, r"bits.csv: no column 'proofs'\. Did you mean 'proof'"),
        ("long.csv", SettingError, "is the table itself"),
        (":topics", DataError, "no column 'topics'"),
    ],
)
def test_skills_that_cannot_be_found(folder, skills, error, message):
    with pytest.raises(error, match=message):
        read("long.csv", sample="q", skills=skills)


def test_a_bad_skill_file_is_refused_at_its_line(folder):
    Path("bad.csv").write_text("q,sets,logic\n1,1,0\n2,0,0\n")
    with pytest.raises(DataError, match=r"1 sample needs no skill, .*: '2', first in line 3"):
        read("long.csv", sample="q", skills="bad.csv")
    Path("bad.csv").write_text("q,sets,logic\n1,1,0\n")
    with pytest.raises(DataError, match="misses 1 of 2 samples: '2'"):
        read("long.csv", sample="q", skills="bad.csv")
    Path("bad.csv").write_text("q,sets,logic\n1,1,0\n2,0,maybe\n")
    with pytest.raises(DataError, match="line 3, column 'logic' has 'maybe'"):
        read("long.csv", sample="q", skills="bad.csv")
