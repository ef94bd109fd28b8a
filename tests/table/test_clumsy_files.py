"""Files as people have them: packed, with other separators and encodings, as JSON, through a pipe."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from camilla import read, read_tournaments
from camilla.errors import DataError
from camilla.table.frame_files import column_names, read_frame
from command_line import camilla, camilla_process

LONG = "learner,sample,response\nÅsa,x,1\nb,x,0\nÅsa,y,0.5\nb,y,\n"
FRAME = pd.DataFrame(
    {"learner": ["Åsa", "b", "Åsa", "b"], "sample": ["x", "x", "y", "y"], "response": [1.0, 0.0, 0.5, np.nan]}
)
RECORDS = FRAME.to_json(orient="records", lines=True)


@pytest.fixture
def plain(tmp_path):
    (tmp_path / "plain.csv").write_text(LONG, encoding="utf-8")
    return read(tmp_path / "plain.csv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", LONG.replace(",", ";").encode()),
        ("t.csv", LONG.replace(",", "\t").encode()),
        ("t.tsv", LONG.encode()),
        ("t.csv", LONG.replace(",", ";").replace("0.5", "0,5").encode()),
        ("t.csv", LONG.encode("utf-8-sig")),
        ("t.csv", LONG.encode("utf-16")),
        ("t.csv", LONG.replace(",", "\t").encode("utf-16")),  # what Excel calls Unicode text
        ("t.csv.gz", gzip.compress(LONG.encode(), mtime=0)),
        ("t.TSV.GZ", gzip.compress(LONG.replace(",", "\t").encode(), mtime=0)),
        ("t.jsonl.gz", gzip.compress(RECORDS.encode(), mtime=0)),
        ("t.json", RECORDS.encode()),
        ("t.json.gz", gzip.compress(FRAME.to_json(orient="records").encode(), mtime=0)),
        ("t.json", b"\xef\xbb\xbf" + FRAME.to_json(orient="records").encode()),
        *[("t.json", FRAME.to_json(orient=orient).encode())
          for orient in ("records", "columns", "split", "index", "table")],
        ("t.json", json.dumps(json.loads(FRAME.to_json(orient="records")), indent=2).encode()),
        ("t.json", json.dumps(FRAME.astype(object).where(FRAME.notna(), None).to_dict("list")).encode()),
    ],
)  # fmt: skip
def test_the_same_table_in_other_wrappings(tmp_path, plain, name, content):
    (tmp_path / name).write_bytes(content)
    table = read(tmp_path / name)
    assert table.digest() == plain.digest()
    assert table.n_missing == 1


def test_parquet_may_be_packed_too(tmp_path, plain):
    plain.write(tmp_path / "t.parquet")
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    assert read(tmp_path / "t.parquet.gz").response.tolist() == plain.response.tolist()


def test_commas_inside_names_do_not_make_them_separators(tmp_path):
    (tmp_path / "t.csv").write_text('learner;sample;response\n"a, b";x;1\n"c;d";x;0\n')
    assert read(tmp_path / "t.csv").learners == ("a, b", "c;d")
    (tmp_path / "u.csv").write_text("learner,sample,response\na;b;c,x,1\nd;e;f,x,0\n")
    assert read(tmp_path / "u.csv").learners == ("a;b;c", "d;e;f")
    (tmp_path / "v.csv").write_text('sample;"a, large";b\nx;1;0\ny;0;1\n')
    assert read(tmp_path / "v.csv", rows="samples").learners == ("a, large", "b")


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv"])
def test_an_error_names_the_line_of_other_wrappings(tmp_path, name):
    text = LONG.replace("0.5", "half").replace(",", ";").encode()
    (tmp_path / name).write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)
    with pytest.raises(DataError, match=rf"{name}: a response must .*; line 4, column 'response' has 'half'"):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", LONG.encode("latin-1"), r"line 2 has the byte 0xc5, .*iconv -f latin1 -t utf-8"),
        ("t.csv", LONG.encode("utf-16-le"), "cannot be read as text: it contains NUL bytes"),
        ("t.xlsx", b"PK\x03\x04", r"cannot be read as an Excel workbook: .* may be damaged"),
        ("t.xls", b"\xd0\xcf\x11\xe0", r"is a spreadsheet\. Save its sheet as CSV"),
        ("t.json", b'{"learner": [1, 2], "sample": [1]}', "with the keys 'learner', 'sample', but no table"),
        ("t.json", b'{"a": {"x": 1}, "b": {"x": 0}}', "but no table"),
        ("t.json", b"[1, 2]", "row 1 is 1; expected an object"),
        ("t.json", b"[]", "an empty JSON array"),
        ("t.json", b"[{]", "is not JSON"),
        ("t.csv.gz", b"\x1f\x8b\x08\x00broken", "cannot be read"),
        ("t.csv.gz", gzip.compress(LONG.encode(), mtime=0)[:-9], "cannot be read"),
        ("t.txt.gz", gzip.compress(b"x", mtime=0), "the ending '.txt' is not known"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize("address", ["https://example.org/scores.csv", "s3://bucket/scores.parquet"])
def test_a_url_is_to_be_downloaded_first(address):
    with pytest.raises(DataError, match=r"is a URL.*Download it first"):
        read_frame(address)


def test_a_packed_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("camilla.table.frame_files.LARGEST", 1 << 20)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"\0" * (2 << 20), mtime=0))
    with pytest.raises(DataError, match="unpacks to more than"):
        column_names(tmp_path / "bomb.csv.gz")


SCORES = b"player,1,2,3\na,1,5,3\nb,2,4,6\nc,0,9,1\n"


@pytest.mark.parametrize(
    "given",
    [
        SCORES,
        SCORES.replace(b",", b";"),
        gzip.compress(SCORES, mtime=0),
        pd.read_csv(io.BytesIO(SCORES)).to_json(orient="records").encode(),
        pd.read_csv(io.BytesIO(SCORES)).to_json(orient="records", lines=True).encode(),
    ],
)
def test_standard_input_is_read_whatever_it_holds(tmp_path, given):
    (tmp_path / "scores.csv").write_bytes(SCORES)
    piped = camilla("epp", "-", cwd=tmp_path, said=given)
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout == camilla("epp", "scores.csv", cwd=tmp_path).stdout


def test_responses_come_through_a_pipe_and_errors_say_so(tmp_path):
    (tmp_path / "t.csv").write_text(LONG, encoding="utf-8")
    piped = camilla_process("rank", "-", cwd=tmp_path, said=LONG)
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout == camilla("rank", "t.csv", cwd=tmp_path).stdout
    wrong = camilla("rank", "-", cwd=tmp_path, said=LONG.replace("0.5", "half"))
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("error: standard input: a response must be a number in [0, 1]; line 4")
    empty = camilla("epp", "-", cwd=tmp_path)
    assert (empty.returncode, empty.stderr) == (1, "error: standard input: is empty; expected a table.\n")


def test_percent_is_an_option(tmp_path):
    (tmp_path / "t.csv").write_text("learner,sample,response\na,x,87.5\na,y,50\nb,x,0\nb,y,100\n")
    refused = camilla("rank", "t.csv", cwd=tmp_path)
    assert refused.returncode == 1
    assert "looks like percent: pass percent=True (--percent)" in refused.stderr
    ranked = camilla("rank", "t.csv", "--percent", "--json", cwd=tmp_path)
    assert ranked.returncode == 0, ranked.stderr
    assert "0.6875" in ranked.stdout


def test_a_json_array_of_scores_is_a_tournament(tmp_path):
    rows = [{"player": p, "round": r, "score": s} for p, r, s in (("a", 1, 0.5), ("b", 1, 0.25))]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    assert read_tournaments(tmp_path / "t.json")[""].players == ("a", "b")
