"""Pictures show the numbers of the board, and names as they are."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from camilla.ranking.epp import epp
from camilla.ranking.search import algorithm_of
from camilla.show.pictures.epp import (
    algorithms_figure,
    fit_figure,
    ranking_figure,
    tasks_figure,
)
from camilla.table.tournament import Tournament


def played(n, n_rounds=12, name="m{}"):
    scores = np.random.default_rng(0).normal(size=(n, n_rounds)) + np.linspace(0, 2, n)[:, None]
    return Tournament(
        tuple(name.format(i) for i in range(n)), tuple(f"r{k}" for k in range(n_rounds)), scores
    )


def drawn(figure: Figure, folder):
    figure.savefig(folder / "figure.png")
    assert (folder / "figure.png").stat().st_size > 5000
    return figure


def test_the_ranking_draws_every_interval_and_every_mean(tmp_path):
    tournament = played(6)
    board = epp(tournament)
    figure = drawn(ranking_figure(board, tournament), tmp_path)
    forest, scatter = figure.axes
    segments = forest.collections[0].get_segments()
    np.testing.assert_allclose([s[:, 0] for s in segments], np.column_stack([board.low, board.high]))
    labels = [tick.get_text() for tick in forest.get_yticklabels()]
    assert labels == list(board.players)
    means = dict(zip(tournament.players, tournament.scores.mean(axis=1), strict=True))
    np.testing.assert_allclose(scatter.lines[0].get_ydata(), [means[name] for name in board.players])


@pytest.mark.parametrize("n", [2, 200])
def test_few_and_many_players_can_be_drawn(n, tmp_path):
    tournament = played(n)
    board = epp(tournament)
    for figure in (ranking_figure(board, tournament), fit_figure(board), tasks_figure(board, tournament)):
        drawn(figure, tmp_path)


def test_names_are_never_read_as_formulas_or_markup(tmp_path):
    tournament = played(4, name="$\\frac{{{}}}$ [red]\x1b[31m\n")
    board = epp(tournament)
    drawn(ranking_figure(board, tournament), tmp_path)
    drawn(tasks_figure(board, tournament), tmp_path)
    drawn(algorithms_figure({"$x_": {"$a": [1, 2], "$b$": [0, 1]}}), tmp_path)


def test_the_fit_picture_puts_the_stronger_player_first(tmp_path):
    board = epp(played(6))
    dots = drawn(fit_figure(board), tmp_path).axes[0].lines[0]
    assert len(dots.get_xdata()) == 15
    assert (dots.get_xdata() >= 0.5).all()


def test_a_board_without_intervals_is_drawn_without_them(tmp_path):
    tournament = played(5, n_rounds=1)
    figure = drawn(ranking_figure(epp(tournament), tournament), tmp_path)
    assert len(figure.axes[0].collections) == 0


def test_numbered_configurations_share_their_algorithm():
    assert [algorithm_of(name) for name in ("gbm_1305", "svm-2", "RF1106", "42", "T5")] == [
        "gbm",
        "svm",
        "RF",
        "42",
        "T",
    ]
