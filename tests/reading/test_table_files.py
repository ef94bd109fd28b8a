import numpy as np
import polars as pl
import pytest

from camilla.errors import DataError, SettingError
from camilla.reading.inputs import read
from camilla.table.examples import simulate


@pytest.fixture
def csv(tmp_path):
    """Writes a text under a name and gives its path."""

    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


LONG = "learner,sample,response\na,x,1\nb,x,0\na,y,\nb,y,0.5\n"


def test_a_long_csv_reads_as_it_is_written(csv):
    table = read(csv(LONG))
    np.testing.assert_array_equal(table.matrix(), [[1, np.nan], [0, 0.5]])
    assert (table.learners, table.samples, table.n_missing) == (("a", "b"), ("x", "y"), 1)


@pytest.mark.parametrize(
    ("text", "name", "how"),
    [
        (LONG.replace(",", "\t"), "t.tsv", {}),
        (LONG.replace("\n", "\r\n"), "t.csv", {}),
        ("\ufeff" + LONG, "t.csv", {}),
        (LONG + "\n\n", "t.csv", {}),
        (LONG.replace("learner,sample,response", "id,item,resp"), "irw.csv", {}),
        (LONG.replace("learner,sample", "m,q"), "t.csv", {"learner": "m", "sample": "q"}),
        (LONG.replace(",1\n", ",true\n").replace(",0\n", ",False\n"), "t.csv", {}),
        (LONG.replace(",1\n", ", 1 \n"), "t.csv", {}),
        (LONG.replace("y,\n", "y,NaN\n"), "t.csv", {"missing": "NaN"}),
        (LONG.replace("y,\n", "y,-\n"), "t.csv", {"missing": ["NA", "-"]}),
        ("q,a,b\nx,1,0\ny,,0.5\n", "t.csv", {"rows": "samples"}),
        ("a,q,b\n1,x,0\n,y,0.5\n", "t.csv", {"rows": "samples", "sample": "q"}),
        ("m,x,y\na,1,\nb,0,0.5\n", "t.csv", {"rows": "learners"}),
        ('{"learner":"a","sample":"x","response":true}\n{"learner":"b","sample":"x","response":0}\n'
         '{"learner":"a","sample":"y","response":null}\n{"learner":"b","sample":"y","response":0.5}\n',
         "t.jsonl", {}),
    ],
)  # fmt: skip
def test_the_same_table_in_other_clothes(csv, text, name, how):
    table = read(csv(text, name), **how)
    assert table.digest() == read(csv(LONG, "plain.csv")).digest()
    assert table.n_missing == 1


def test_names_in_text_files_are_taken_as_written(csv):
    table = read(csv("learner,sample,response\n007, x,1\n7,1.0,0\n"))
    assert (table.learners, table.samples) == (("007", "7"), (" x", "1.0"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("learner,sample,response\n", "has a header but no rows"),
        ("learner,sample,response\na,x,1.2\n", "line 2, column 'response' has '1.2'. 1 of 1 row is wrong"),
        ("learner,sample,response\na,x,1\nb,x,yes\n", "line 3, column 'response' has 'yes'"),
        (
            "learner,sample,response\na,x,1\nb,x,NaN\n",
            "line 3, .* has 'NaN'.* or pass missing='NaN' .--missing 'NaN'.",
        ),
        ('learner,sample,response\n"a\nb",x,1\n\nb,x,inf\n', "line 5, column 'response' has 'inf'"),
        ("learner,sample,response\na,x,1\n,x,0\n", "line 3, column 'learner' has no name"),
        ("learner,learner,sample,response\na,b,x,1\n", "column 'learner' occurs more than once"),
        ("model,sample,response\na,x,1\n", "no columns learner, sample and response.* --rows"),
        ("learner,sample,response\na,x,1,1\n", "line 2 has 4 cells, the header 3"),
    ],
)  # fmt: skip
def test_a_bad_long_file_is_refused_at_its_line(csv, text, message):
    with pytest.raises(DataError, match=message):
        read(csv(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q,gpt,gpt\nx,1,0\n", "column 'gpt' occurs more than once"),
        ("q,a,b\nx,1,0\nx,1,1\n", "column 'q' names line 2 and line 3 both 'x'"),
        ("q,a,b\nx,1,0\ny,1,no\n", "line 3, column 'b' has 'no'"),
        ("q,a,\nx,1,0\n", "column 3 has no name"),
        ("q\nx\n", "has no column beside 'q'"),
        (LONG, "it is a long table. Leave out rows"),
    ],
)
def test_a_bad_wide_file_is_refused_at_its_line(csv, text, message):
    with pytest.raises(DataError, match=message):
        read(csv(text), rows="samples")


def test_broken_json_is_refused_at_its_line(csv):
    good = '{"learner":"a","sample":"x","response":1}\n'
    with pytest.raises(DataError, match="line 2 is not JSON: NaN is not a JSON number; write null"):
        read(csv(good + '{"learner":"b","sample":"x","response":NaN}\n', "t.jsonl"))
    with pytest.raises(DataError, match="line 2 is '\\[1, 2\\]'"):
        read(csv(good + "[1, 2]\n", "t.jsonl"))
    with pytest.raises(DataError, match="line 2, column 'response' has 'yes'"):
        read(csv(good + '{"learner":"b","sample":"x","response":"yes"}\n', "t.jsonl"))


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".jsonl"])
def test_ten_megabytes_of_noise_are_refused(tmp_path, ending):
    path = tmp_path / f"noise{ending}"
    path.write_bytes(np.random.default_rng(0).bytes(10_000_000))
    with pytest.raises(DataError, match=r"noise\..*(cannot be read|not JSON)"):
        read(path)


def test_a_damaged_parquet_file_is_refused_or_read_never_a_crash(tmp_path):
    """Some damage makes Polars panic, which no `except Exception` would catch."""
    simulate(20, 200, seed=0).table.write(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(100):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), 20):
            damaged[at] = rng.integers(256)
        (tmp_path / "t.parquet").write_bytes(damaged)
        try:
            read(tmp_path / "t.parquet")
        except DataError as error:
            assert "t.parquet" in str(error)  # noqa: PT017


def test_no_file_a_folder_and_an_unknown_ending_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match="no known log under"):
        read(tmp_path)
    (tmp_path / "t.dat").write_text("x")
    with pytest.raises(DataError, match=r"the ending '.dat' is not known; expected one of .csv"):
        read(tmp_path / "t.dat")


def test_a_named_column_that_is_not_there(csv):
    with pytest.raises(DataError, match=r"no column 'respons'\. Did you mean 'response'\?"):
        read(csv(LONG), response="respons")
    with pytest.raises(DataError, match="no column 'seed'"):
        read(csv(LONG), trial="seed")
    with pytest.raises(DataError, match="has no column 'sample'; name it"):
        read(csv("model,q,response\na,x,1\n"), learner="model")


def test_what_belongs_to_long_tables_is_refused_on_wide_ones(csv):
    with pytest.raises(SettingError, match="'trial' belong to a long table"):
        read(csv("q,a\nx,1\n"), rows="samples", trial="t")
    with pytest.raises(SettingError, match="with rows='learners' a column is a sample"):
        read(csv("m,x\na,1\n"), rows="learners", task="x")


def test_a_wide_table_keeps_tasks_and_drops_what_is_ignored(csv):
    path = csv("topic,q,a,b,note\nsets,x,1,0,hm\nlogic,y,0,1,oh\n")
    table = read(path, rows="samples", task="topic", ignore=["note"])
    assert (table.learners, table.samples, table.task) == (("a", "b"), ("x", "y"), ("sets", "logic"))


def test_a_parquet_row_is_counted_from_one(tmp_path):
    frame = pl.DataFrame({"learner": ["a", "b"], "sample": ["x", "x"], "response": [0.0, 2.0]})
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"row 2, column 'response' has 2\.0"):
        read(tmp_path / "t.parquet")


def test_one_learner_can_be_read_so_that_it_can_be_placed(csv):
    assert read(csv("learner,sample,response\na,x,1\na,y,0\n")).n_learners == 1


def test_wide_samples_that_repeat_between_tasks_are_named_by_task(tmp_path):
    (tmp_path / "wide.csv").write_text("task,item,a,b\nsums,0,1,0\nsums,1,1,1\nwords,0,0,1\n")
    table = read(tmp_path / "wide.csv", rows="samples", sample="item", task="task")
    assert table.samples == ("sums/0", "sums/1", "words/0")
    assert table.task == ("sums", "sums", "words")
    (tmp_path / "idle.csv").write_text("task,item,a,b\n,0,1,0\nsums,0,1,1\n")
    with pytest.raises(DataError, match="line 2, column 'task' has no name"):
        read(tmp_path / "idle.csv", rows="samples", sample="item", task="task")
    with pytest.raises(DataError, match="no column 'tusk'"):
        read(tmp_path / "idle.csv", rows="samples", sample="item", task="tusk", ignore=["task"])
    (tmp_path / "twice.csv").write_text("task,item,a,b\nsums,0,1,0\nsums,0,1,1\n")
    with pytest.raises(DataError, match="repeat a name"):
        read(tmp_path / "twice.csv", rows="samples", sample="item", task="task")
