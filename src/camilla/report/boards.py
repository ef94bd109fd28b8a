"""A leaderboard of scores (EPP) as the page reads it."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.saved import load

MOST_PAIRS = 20_000  # dots of the fit; beyond, every so many by prediction
MOST_PLAYERS = 200  # of the matrix of win probabilities


def section(name: str, folder: Path) -> dict[str, Any]:
    """Rows, ties, win probabilities, fit and notes."""
    board = load(folder)
    document = json.loads((folder / "leaderboard.json").read_text(encoding="utf-8"))
    rows = board.rows()
    place = {player: k for k, player in enumerate(board.players)}
    pairs = board.predictions()
    turn = pairs.predicted < 0.5
    predicted = np.where(turn, 1 - pairs.predicted, pairs.predicted)
    empirical = np.where(turn, 1 - pairs.empirical, pairs.empirical)
    step = -(-len(predicted) // MOST_PAIRS)
    chosen = np.argsort(predicted, kind="stable")[::step]
    return {
        "name": name,
        "player": list(board.players),
        **{column: rows[column].to_numpy() for column in ("epp", "low", "high", "p_beats_average")},
        "rank_low": rows["rank_low"].to_numpy().astype(np.uint32),
        "rank_high": rows["rank_high"].to_numpy().astype(np.uint32),
        "ties": [[place[group[0]], place[group[-1]]] for group in board.tie_groups],
        "win": _win_probabilities(board),
        "fit": {
            "deviance": board.fit.deviance,
            "df": board.fit.df,
            "p_value": board.fit.p_value,
            "p_value_rounds": document.get("p_value_rounds"),
            "pairs": len(predicted),
            "first": np.where(turn, pairs.second, pairs.first)[chosen].astype(np.uint16),
            "second": np.where(turn, pairs.first, pairs.second)[chosen].astype(np.uint16),
            "predicted": predicted[chosen],
            "empirical": empirical[chosen],
            "played": pairs.played[chosen],
        },
        "level": board.level,
        "notes": list(board.notes),
        "provenance": dict(board.provenance),
    }


def _win_probabilities(board: Leaderboard) -> dict[str, Any]:
    """P(row beats column) and its standard error in logits, of the first players."""
    from camilla.ranking.inference import differences

    n = min(len(board.players), MOST_PLAYERS)
    epp = board.epp[:n]
    se = None
    if board.covariance is not None:
        se = board.critical * differences(epp, board.covariance[:n, :n]).se
    return {"players": n, "half": se}
