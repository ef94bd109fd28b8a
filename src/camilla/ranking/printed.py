"""A leaderboard as plain text for a terminal. Names come from data, so nothing in them is obeyed."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from camilla.data.names import shown
from camilla.ranking.leaderboard import Leaderboard, PairTest
from camilla.ranking.saved import NOTHING, Findings


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Rows of cells under each other; the first `left` columns start, the others end, in line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def as_text(board: Leaderboard, findings: Findings = NOTHING) -> str:
    """The leaderboard, its fit, its groups, the tests asked for, and every note."""
    parts = [_table(board), _fit(board, findings.p_value_rounds), _groups(board)]
    parts += [_test(test, board.level) for test in findings.tests]
    parts += [f"note: {shown(note)}" for note in board.notes]
    return "\n\n".join(part for part in parts if part)


def _table(board: Leaderboard) -> str:
    ranks = board.rank_intervals
    known = board.covariance is not None
    header = ["rank", "player", "EPP", "se", f"{board.level:.0%} interval", "ranks", "P(beats average)"]
    rows = [header]
    for i, player in enumerate(board.players):
        rows.append(
            [
                str(i + 1),
                shown(player),
                f"{board.epp[i]:.3f}",
                f"{board.se[i]:.3f}" if known else "-",
                f"{board.low[i]:.2f} to {board.high[i]:.2f}" if known else "-",
                f"{ranks.low[i]}–{ranks.high[i]}" if known else "-",
                f"{board.p_beats_average[i]:.3f}",
            ]
        )
    return aligned(rows, left=2)


def _fit(board: Leaderboard, by_rounds: float | None) -> str:
    fit, came = board.fit, board.provenance
    met = f"{came['players']} players, {came['rounds']} rounds, {came['matches_played']:.0f} matches"
    if fit.df == 0:
        return f"{met}. Fit: nothing to test, the deviance has no degrees of freedom."
    return (
        f"{met}. Fit: deviance {fit.deviance:.2f} on {fit.df} df, "
        f"standardised {fit.standardised:.2f}, p = {fit.p_value:.3g} if matches were independent"
        + ("." if by_rounds is None else f"; p = {by_rounds:.3g} by rounds.")
    )


def _groups(board: Leaderboard) -> str:
    if board.covariance is None or not board.tie_groups:
        return ""
    place = {player: i + 1 for i, player in enumerate(board.players)}
    runs = ", ".join(f"{place[group[0]]}–{place[group[-1]]}" for group in board.tie_groups)
    return f"Cannot be told apart (Holm over all pairs), by rank: {runs}."


def _test(test: PairTest, level: float) -> str:
    ratio = "" if test.lr is None else f", likelihood ratio {test.lr:.3f} (p = {test.lr_p:.3g})"
    return (
        f"P({shown(test.player_a)} beats {shown(test.player_b)}) = {test.p_win:.3f} "
        f"({level:.0%} interval {test.p_win_low:.3f} to {test.p_win_high:.3f}); "
        f"Wald {test.wald:.3f} (p = {test.wald_p:.3g}, Holm {test.holm_p:.3g}){ratio}."
    )


def comparison_text(frame: pl.DataFrame) -> str:
    """Tournaments by fit, best first."""
    rows = [["tournament", "players", "rounds", "deviance", "df", "standardised", "p"]]
    for row in frame.iter_rows(named=True):
        numbers = [f"{row['deviance']:.2f}", str(row["df"])]
        rest = (row["standardised_deviance"], row["p_value"])
        numbers += ["-" if np.isnan(number) else f"{number:.3g}" for number in rest]
        rows.append([shown(row["tournament"]), str(row["players"]), str(row["rounds"]), *numbers])
    return "Fit by tournament, best first:\n" + aligned(rows, left=1)
