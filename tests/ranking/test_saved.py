"""A leaderboard saved and read back, whole or not at all."""

import json

import numpy as np
import polars as pl
import pytest

from camilla.errors import DataError, FormatError
from camilla.ranking import board_folder
from camilla.ranking.board_folder import write_leaderboard
from camilla.ranking.epp import epp
from camilla.ranking.leaderboard import Leaderboard
from camilla.table.tournament import Tournament


@pytest.fixture
def board():
    scores = np.random.default_rng(0).normal(size=(5, 12))
    return epp(Tournament(tuple("abcde"), tuple(f"r{k}" for k in range(12)), scores))


def test_a_saved_leaderboard_comes_back_the_same_to_the_last_bit(board, tmp_path):
    back = Leaderboard.load(board.save(tmp_path / "board"))
    assert back.players == board.players
    for name in ("epp", "covariance", "se", "low", "high"):
        np.testing.assert_array_equal(getattr(back, name), getattr(board, name))
    np.testing.assert_array_equal(back.matrix.wins, board.matrix.wins)
    assert back.fit == board.fit
    assert back.test("a", "b") == board.test("a", "b")
    assert dict(back.provenance) == dict(board.provenance)


def test_every_pair_is_saved_with_its_adjusted_p_value(board, tmp_path):
    pairs = pl.read_parquet(board.save(tmp_path / "board") / "pairs.parquet")
    assert pairs.height == 10
    row = pairs.row(0, named=True)
    test = board.test(row["player_a"], row["player_b"])
    assert (row["p_win"], row["wald_p"], row["holm_p"]) == pytest.approx(
        (test.p_win, test.wald_p, test.holm_p)
    )


def test_a_board_prints_itself(board):
    assert "P(beats average)" in str(board)
    assert repr(board).startswith(board.players[0])


def test_a_board_of_one_round_is_saved_without_intervals(tmp_path):
    board = epp(Tournament(("a", "b"), ("r",), np.array([[1.0], [2.0]])))
    back = Leaderboard.load(board.save(tmp_path / "board"))
    assert back.covariance is None
    document = json.loads((tmp_path / "board" / "leaderboard.json").read_text())
    assert document["players"][0]["se"] is None


def test_a_foreign_folder_is_not_touched(board, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match="contains no leaderboard"):
        board.save(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(DataError, match="is a file"):
        board.save(file)


def test_a_failed_save_leaves_the_earlier_one(board, tmp_path, monkeypatch):
    write_leaderboard(board, tmp_path / "board")
    before = (tmp_path / "board" / "leaderboard.json").read_bytes()

    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr(board_folder, "write_tables", full_disk)
    with pytest.raises(DataError, match="board: cannot be written: no space left"):
        write_leaderboard(board, tmp_path / "board")
    assert (tmp_path / "board" / "leaderboard.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["board"]


def test_damaged_and_newer_folders_are_told_apart(board, tmp_path):
    folder = board.save(tmp_path / "board")
    document = json.loads((folder / "leaderboard.json").read_text())
    (folder / "leaderboard.json").write_text(json.dumps({**document, "format": 99}))
    with pytest.raises(FormatError, match="format 99"):
        Leaderboard.load(folder)
    (folder / "leaderboard.json").write_text("{")
    with pytest.raises(FormatError, match="not a readable leaderboard"):
        Leaderboard.load(folder)
