"""Figure 6: the ranking with intervals, beside the mean score."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from camilla.data.tournament import Tournament
from camilla.plots.canvas import BLUE, GREY, blank, name_ticks
from camilla.ranking.leaderboard import Leaderboard

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
    forest.set_xlabel(f"EPP with {board.level:.0%} interval (dashed: the average player)")
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
