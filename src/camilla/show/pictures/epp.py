"""Pictures of an EPP leaderboard."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from camilla.display import percent
from camilla.names import name_index
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.search import algorithm_of
from camilla.show.pictures.canvas import BLUE, COLOURS, GREY, RED, blank, label, name_ticks
from camilla.table.tournament import Tournament

PANELS_A_ROW = 4


def algorithms_figure(epps: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """`epps[tournament][algorithm]` are the EPPs of its configurations; a long box is worth tuning."""
    algorithms = list(dict.fromkeys(name for groups in epps.values() for name in groups))
    columns = min(len(epps), PANELS_A_ROW)
    rows = -(-len(epps) // columns)
    tall = 0.6 + 0.32 * len(algorithms)
    figure, axes = blank(
        1.6 + 2.6 * columns, tall * rows + 0.5, nrows=rows, ncols=columns, squeeze=False, sharey=True
    )
    for panel, (tournament, groups) in zip(axes.flat, epps.items(), strict=False):
        places = np.arange(len(algorithms))
        there = [place for place in places if algorithms[place] in groups]
        boxes = panel.boxplot(
            [np.asarray(groups[algorithms[place]], np.float64) for place in there],
            positions=there,
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
            flierprops={"ms": 1.5, "marker": "o", "mec": GREY},
            medianprops={"color": "black"},
        )
        for place, box in zip(there, boxes["boxes"], strict=True):
            box.set_facecolor(COLOURS[place % len(COLOURS)])
        panel.axvline(0, color=GREY, lw=0.8, ls="--")
        panel.set_title(label(tournament), fontsize=9, parse_math=False)
        name_ticks(panel, "y", places, algorithms)
        panel.set_ylim(len(algorithms) - 0.4, -0.6)
    for panel in list(axes.flat)[len(epps) :]:
        panel.set_visible(False)
    figure.supxlabel("EPP (dashed: the average player)", fontsize=9)
    return figure


DOTS = 3000  # pairs; beyond, dots hide each other and density is drawn


def fit_figure(board: Leaderboard) -> Figure:
    """One dot per pair, the stronger player first; a board that fits lies on the line."""
    pairs = board.predictions()
    turn = pairs.predicted < 0.5
    predicted = np.where(turn, 1 - pairs.predicted, pairs.predicted)
    empirical = np.where(turn, 1 - pairs.empirical, pairs.empirical)
    figure, axes = blank(5.2, 5.0)
    if len(predicted) <= DOTS:
        axes.plot(predicted, empirical, "o", color=BLUE, ms=3.5, alpha=0.5, mew=0)
    else:
        cells = axes.hexbin(predicted, empirical, gridsize=50, bins="log", cmap="cividis", mincnt=1)
        figure.colorbar(cells, label="pairs", shrink=0.7)
    axes.plot([0.5, 1], [0.5, 1], color="black", lw=1)
    axes.set_xlim(0.49, 1.01)
    axes.set_ylim(min(0.49, float(empirical.min()) - 0.02), 1.02)
    axes.set_xlabel("predicted probability that the stronger player wins")
    axes.set_ylabel("share of matches it won")
    fit = board.fit
    axes.set_title(f"deviance {fit.deviance:.1f} on {fit.df} df", fontsize=10)
    return figure


NAMED_PLAYERS = 80  # more names than this cannot be read on one page
NUMBERED_PLAYERS = 40


def ranking_figure(board: Leaderboard, tournament: Tournament) -> Figure:
    """EPP with its interval for every player; with scores, the mean score against EPP beside it."""
    n = len(board.players)
    named = n <= NAMED_PLAYERS
    height = 1.2 + (0.2 * n if named else 9.0)
    with_scores = tournament.scores is not None
    figure, axes = blank(
        10.5 if with_scores else 6.5,
        max(height, 3.6),
        ncols=2 if with_scores else 1,
        squeeze=False,
        width_ratios=[1.4, 1] if with_scores else [1],
    )
    forest = axes[0, 0]
    rank = np.arange(1, n + 1)
    if board.covariance is not None:
        forest.hlines(rank, board.low, board.high, color=BLUE, lw=1.6 if named else 0.5)
    forest.plot(board.epp, rank, "o", color="black", ms=4 if named else 1.5, zorder=3)
    forest.axvline(board.epp.mean(), color=GREY, lw=0.8, ls="--")
    forest.set_ylim(n + 0.6, 0.4)
    if named:
        name_ticks(forest, "y", rank, list(board.players))
    else:
        forest.set_ylabel("rank")
    forest.set_xlabel(f"EPP with {percent(board.level)} interval (dashed: the average player)")
    if with_scores:
        _against_mean(axes[0, 1], board, tournament)
    return figure


def _against_mean(axes: Axes, board: Leaderboard, tournament: Tournament) -> None:
    """Dots off the curve are players whose mean hides wins or losses; numbers are ranks."""
    merit = tournament.merit[[tournament.players.index(name) for name in board.players]]
    mean = np.nanmean(-merit if tournament.lower_is_better else merit, axis=1)
    if board.covariance is not None:
        axes.hlines(mean, board.low, board.high, color=BLUE, lw=0.8, alpha=0.6)
    axes.plot(board.epp, mean, "o", color="black", ms=3)
    numbered = len(board.players) <= NUMBERED_PLAYERS
    if numbered:
        for rank, (x, y) in enumerate(zip(board.epp, mean, strict=True), start=1):
            axes.annotate(str(rank), (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7)
    axes.set_xlabel("EPP (numbers: rank)" if numbered else "EPP")
    axes.set_ylabel("mean score" + (", lower is better" if tournament.lower_is_better else ""))


def tasks_figure(board: Leaderboard, tournament: Tournament, players: Sequence[str] | None = None) -> Figure:
    """Boxplots of scores, lines between scores of one round, a star at each mean.

    Lines that cross are rounds that disagree with the mean. Without names: the best two players and
    the two in the middle of the board.
    """
    if players is None:
        middle = len(board.players) // 2
        rows = dict.fromkeys([0, 1, middle, middle + 1])
        players = [board.players[i] for i in rows if i < len(board.players)]
    place = name_index(tournament.players)
    merit = tournament.merit[[place[board.players[board.place(name)]] for name in players]]
    scores = -merit if tournament.lower_is_better else merit
    figure, axes = blank(2.0 + 1.5 * len(players), 4.5)
    x = np.arange(len(players))
    axes.plot(x, scores, color=GREY, lw=0.5, alpha=0.6)
    axes.boxplot(
        [row[np.isfinite(row)] for row in scores],
        positions=x,
        widths=0.3,
        showfliers=False,
        boxprops={"color": BLUE},
        whiskerprops={"color": BLUE},
        capprops={"color": BLUE},
        medianprops={"color": BLUE},
    )
    axes.plot(np.repeat(x, scores.shape[1]), scores.ravel(), "o", color="black", ms=2.5, alpha=0.6)
    axes.plot(x, np.nanmean(scores, axis=1), "*", color=RED, ms=12, mec="white", zorder=4, label="mean score")
    axes.legend(frameon=False, fontsize=8)
    name_ticks(axes, "x", x, list(players))
    axes.set_ylabel("score" + (", lower is better" if tournament.lower_is_better else ""))
    return figure


def draw_board(
    board: Leaderboard, tournament: Tournament, folder: Path, *, players: Sequence[str] | None = None
) -> None:
    """Every picture of one leaderboard, in a folder; `players` are those of rounds.png (Figure 3)."""
    ranking_figure(board, tournament).savefig(folder / "ranking.png")
    fit_figure(board).savefig(folder / "fit.png")
    if tournament.scores is not None:
        tasks_figure(board, tournament, players).savefig(folder / "rounds.png")
    draw_algorithms({tournament.name: board}, folder)


def draw_algorithms(boards: Mapping[str, Leaderboard], folder: Path) -> None:
    """Boxplots by algorithm, where player names are those of numbered configurations."""
    panels: dict[str, dict[str, list[float]]] = {}
    for name, board in boards.items():
        groups: dict[str, list[float]] = {}
        for player, epp in zip(board.players, board.epp.tolist(), strict=True):
            groups.setdefault(algorithm_of(player), []).append(epp)
        panels[name] = {algorithm: epps for algorithm, epps in groups.items() if len(epps) > 1}
    if any(len(groups) > 1 for groups in panels.values()):
        algorithms_figure(panels).savefig(folder / "algorithms.png")
