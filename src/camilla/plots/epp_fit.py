"""Figure 5: empirical against predicted probability of winning."""

import numpy as np
from matplotlib.figure import Figure

from camilla.plots.canvas import BLUE, blank
from camilla.ranking.leaderboard import Leaderboard

DOTS = 3000  # pairs; beyond, dots hide each other and density is drawn


def fit_figure(board: Leaderboard) -> Figure:
    """One dot a pair, the stronger player first; a board that fits lies on the line."""
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
