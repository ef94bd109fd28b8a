"""How a column is read is decided once: the same words, the same places, for every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from camilla import ResponseTable, Tournament, read, read_tournaments
from camilla.classifiers.scores import ScoreColumns, read_scores
from camilla.errors import DataError, SettingError
from camilla.reading.tournaments import Columns


@pytest.fixture
def file(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


RESPONSES = "learner,sample,response\na,x,1\n\na,y,{}\nb,x,0.5\n"
SCORES = "player,round,score\na,x,1\n\na,y,{}\nb,x,0.5\n"
WIDE_SCORES = "player,x,y\na,1,2\n\nb,{},3\n"
MATCHES = "player_a,player_b,p\na,b,1\n\na,c,{}\n"
CLASSIFIERS = "data_set,sample,truth,svm\nd,1,0,0.5\n\nd,2,1,{}\n"

READERS = {
    "responses": (RESPONSES, read),
    "scores": (SCORES, read_tournaments),
    "wide scores": (WIDE_SCORES, read_tournaments),
    "matches": (MATCHES, lambda path: read_tournaments(path, Columns(player_a="player_a", probability="p"))),
    "classifiers": (
        CLASSIFIERS,
        lambda path, missing=(): read_scores([path], ScoreColumns(missing=tuple(missing))),
    ),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_cell_that_is_no_number_is_refused_with_file_and_line(kind, file):
    text, reader = READERS[kind]
    with pytest.raises(DataError, match=r"t\.csv.*; line 4, column '\w+' has 'good'"):
        reader(file(text.format("good")))


@pytest.mark.parametrize("word", ["na", "NaN", "-", "null"])
@pytest.mark.parametrize("kind", [kind for kind in READERS if kind != "matches"])
def test_words_for_missing_are_refused_until_they_are_declared(kind, word, file):
    text, reader = READERS[kind]
    path = file(text.format(word))
    with pytest.raises(DataError, match=rf"line 4.*pass missing='{word}' \(--missing '{word}'\)"):
        reader(path)
    if kind == "classifiers":
        with pytest.raises(DataError, match=r"'svm' has no score for 1 of 2 samples, first in line 4"):
            reader(path, missing=[word])
    else:
        reader(path, missing=[word])


def test_declared_words_are_missing_scores(file):
    found = read_tournaments(file(SCORES.format("na")), missing="na")[""]
    np.testing.assert_array_equal(found.scores, [[1, np.nan], [0.5, np.nan]])
    frame = pl.DataFrame({"player": ["a", "b"], "x": ["1", "na"], "y": ["2", "3"]})
    np.testing.assert_array_equal(Tournament.from_wide(frame, missing="na").scores, [[1, 2], [np.nan, 3]])


def test_names_in_text_files_stay_as_written_for_players_too(file):
    found = read_tournaments(file("player,round,score\n007,1.0,1\n7,1.0,2\n"))[""]
    assert (found.players, found.rounds) == (("007", "7"), ("1.0",))


def test_match_lists_name_the_line(file):
    with pytest.raises(DataError, match=r"t\.csv: line 3 has 'a' playing itself"):
        read_tournaments(file("player_a,player_b,winner\na,b,a\na,a,a\n"))
    with pytest.raises(DataError, match=r"t\.csv: winner 'z' in line 2 is neither 'a' nor 'b'"):
        read_tournaments(file("player_a,player_b,winner\na,b,z\n"))
    with pytest.raises(DataError, match=r"t\.csv: line 3, column 'player_b' has no name"):
        read_tournaments(file("player_a,player_b,winner\na,b,a\na,,a\n"))


@pytest.mark.parametrize("cells", [("0,5", "1"), ("0,125", "0,5"), ("1,000", "0,5"), ("1,0", "")])
def test_decimal_commas_are_read_in_responses(cells, file):
    path = file("learner;sample;response\na;x;{}\nb;x;{}\n".format(*cells))
    wanted = [float(cell.replace(",", ".")) for cell in cells if cell]
    np.testing.assert_array_equal(read(path).response, wanted)


@pytest.mark.parametrize(
    ("cells", "read_as"), [(("0,5", "12,25"), (0.5, 12.25)), (("1,234", "0,7"), (1.234, 0.7))]
)
def test_decimal_commas_are_read_in_scores_where_they_are_no_thousands(cells, read_as, file):
    found = read_tournaments(file("player;round;score\na;x;{}\nb;x;{}\n".format(*cells)))[""]
    np.testing.assert_array_equal(found.scores[:, 0], read_as)


def test_a_comma_that_may_be_a_thousand_is_refused(file):
    with pytest.raises(DataError, match=r"line 2, column 'score' has '1,234'.*decimal point"):
        read_tournaments(file("player;round;score\na;x;1,234\nb;x;7\n"))
    with pytest.raises(DataError, match=r"has '0,5'.*decimal point"):
        read(file("learner;sample;response\na;x;0,5\nb;x;0.5\n"))


PERCENT = "learner,sample,response\na,x,87.5\na,y,100\nb,x,0\nb,y,1\n"


def test_percent_is_recognised_and_read_when_asked(file):
    path = file(PERCENT)
    with pytest.raises(DataError, match=r"looks like percent: pass percent=True \(--percent\)"):
        read(path)
    np.testing.assert_array_equal(read(path, percent=True).matrix(), [[0.875, 1], [0, 0.01]])
    wide = file("sample,a,b\nx,87.5,0\ny,100,1\n", "w.csv")
    with pytest.raises(DataError, match=r"looks like percent: pass percent=True \(--percent\)"):
        read(wide, rows="samples")
    np.testing.assert_array_equal(read(wide, rows="samples", percent=True).matrix(), [[0.875, 1], [0, 0.01]])
    frame = pd.DataFrame({"sample": ["x", "y"], "a": [87.5, 100], "b": [0, 1]})
    table = ResponseTable.from_wide(frame, rows="samples", percent=True)
    np.testing.assert_array_equal(table.matrix(), [[0.875, 1], [0, 0.01]])


def test_percent_is_not_taken_for_what_it_is_not(file):
    with pytest.raises(DataError, match=r"a response in percent must be a number in .0, 100.; line 2"):
        read(file("learner,sample,response\na,x,101\nb,x,3\n"), percent=True)
    with pytest.raises(SettingError, match="no response is above 1, so the table is not in percent"):
        read(file("learner,sample,response\na,x,0.5\nb,x,1\n"), percent=True)
    with pytest.raises(DataError, match="Rescale the scores"):
        read(file("learner,sample,response\na,x,4\nb,x,5\n"))


def test_a_text_column_of_a_wide_table_is_told_where_it_belongs(file):
    path = file("sample,topic,a,b\nx,sets,1,0\ny,logic,0,1\n")
    with pytest.raises(DataError, match=r"column 'topic' has 'sets'.*--ignore.*--task.*--skills"):
        read(path, rows="samples")
    with pytest.raises(DataError, match=r"line 2, column 'topic' has 'sets'.*--ignore"):
        read_tournaments(path, Columns(player="sample"))
    assert read(path, rows="samples", ignore=["topic"]).learners == ("a", "b")


def test_a_column_of_scores_is_not_taken_for_names_of_rows(file):
    path = file("a,b,sample\n0.5,1,x\n0.25,0,y\n")
    with pytest.raises(
        DataError, match=r"which column names the rows\? The first one, 'a', contains numbers"
    ):
        read(path, rows="samples")
    assert read(path, rows="samples", sample="sample").samples == ("x", "y")
