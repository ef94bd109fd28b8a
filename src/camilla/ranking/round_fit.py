"""A test of fit that respects rounds.

The deviance's χ² counts matches as independent. Matches of one round share scores, so its p-value is
too large within rounds and far too small across them, even when the model is exactly true
(`docs/epp.md` has the figures). Here rounds are the independent units.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from camilla.data.tournament import Tournament
from camilla.errors import SettingError
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.matches import Array, SameRound, record_of
from camilla.ranking.saved import Findings
from camilla.ranking.solve import Solution, contrast_solver

LARGEST = 100_000_000  # players² × rounds


def fit_by_rounds(board: Leaderboard, tournament: Tournament) -> float:
    """P-value of "each pair's win rate is what the EPPs say", by a U-statistic over rounds.

    z_r holds round r's standardised surprises of all pairs, less what moving the EPPs explains. If
    the model fits, z_r · z_s has mean 0 for r ≠ s; U = Σ_{r≠s} z_r · z_s is compared with a scaled
    χ² of the same mean and variance (Chen and Qin, 2010; Satterthwaite, 1946).
    """
    rows = [tournament.players.index(name) for name in board.players]
    record = record_of(tournament, str(board.provenance["matches"]))
    if not isinstance(record, SameRound) or record.n_rounds < 3 or board.provenance["compat"]:
        raise SettingError("fit by rounds needs scores, matches within rounds, and at least 3 rounds.")
    gram = _gram(board, SameRound(record.merit[rows]))
    own = np.trace(gram)
    between = gram - np.diag(np.diag(gram))
    n_rounds = len(gram)
    spread = float((between**2).sum()) * n_rounds / (n_rounds - 1)
    df = own**2 / spread
    return float(chdtrc(df, max(df * (1 + between.sum() / own), 0.0)))


def _gram(board: Leaderboard, record: SameRound) -> Array:
    """z_r · z_s for all rounds, summed over pairs one row of the win matrix at a time."""
    solution = Solution(board.epp, float(board.provenance["origin"]), 0, 0.0)
    pushes = record.residuals(board.epp)
    influence = contrast_solver(board.matrix, solution, board.prior)(pushes - pushes.mean(axis=1)[:, None])
    merit, seen = record.merit, np.isfinite(record.merit)
    gram = np.zeros((record.n_rounds, record.n_rounds))
    for i in range(1, len(merit)):
        played = board.matrix.played[i, :i, None]
        p = 1 / (1 + np.exp(board.epp[:i, None] - board.epp[i]))
        information = played * p * (1 - p)
        met = seen[i] & seen[:i]
        won = (merit[i] > merit[:i]) + 0.5 * (merit[i] == merit[:i])
        surprise = met * (won - p) - information * (influence[i] - influence[:i])
        surprise /= np.sqrt(np.where(information > 0, information, 1.0))
        gram += surprise.T @ surprise
    return gram


def asked(
    board: Leaderboard, tournament: Tournament, pairs: Sequence[tuple[str, str]] | None = None
) -> Findings:
    """Tests of these pairs, and the fit by rounds where it can be had in about a second."""
    tests = [board.test(*pair) for pair in pairs or ()]
    came = board.provenance
    can = tournament.scores is not None and came["matches"] == "same_round" and not came["compat"]
    if not can or came["rounds"] < 3 or board.fit.df == 0 or came["players"] ** 2 * came["rounds"] > LARGEST:
        return Findings(tests)
    return Findings(tests, fit_by_rounds(board, tournament))
