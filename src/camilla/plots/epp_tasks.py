"""Figure 3: scores of a few players, a thin line for each round."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from camilla.data.tournament import Tournament
from camilla.plots.canvas import BLUE, GREY, RED, blank, name_ticks
from camilla.ranking.leaderboard import Leaderboard

SHOWN_PLAYERS = 4


def tasks_figure(board: Leaderboard, tournament: Tournament, players: Sequence[str] | None = None) -> Figure:
    """Boxplots of scores, lines between scores of one round, a star at each mean.

    Lines that cross are rounds that disagree with the mean. Without names: the best two players and
    the two in the middle of the board.
    """
    if players is None:
        middle = len(board.players) // 2
        rows = dict.fromkeys([0, 1, middle, middle + 1])
        players = [board.players[i] for i in rows if i < len(board.players)]
    place = {name: row for row, name in enumerate(tournament.players)}
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
