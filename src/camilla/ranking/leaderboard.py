"""The leaderboard: players by EPP with intervals that hold, tests, fit, and where it came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.data.names import quoted
from camilla.errors import DataError, SettingError
from camilla.metrics import multiplicity
from camilla.ranking import inference
from camilla.ranking.fit import Fit, Prediction, empirical_and_predicted
from camilla.ranking.matches import Array, WinMatrix
from camilla.ranking.solve import Solution, contrast_solver


class PairTest(NamedTuple):
    """Two players compared; p-values are two-sided for equal strength."""

    player_a: str
    player_b: str
    difference: float  # EPP of a less EPP of b
    se: float
    p_win: float  # probability that a beats b
    p_win_low: float
    p_win_high: float
    wald: float
    wald_p: float
    holm_p: float  # Wald p-value, adjusted over all pairs of the board
    lr: float | None  # None where the board has no likelihood of its own (compat)
    lr_p: float | None


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Players in order of EPP; every array follows that order.

    EPP is on the logit scale with mean 0: σ(difference) is the probability of winning, σ(EPP) that
    of beating the average player (Properties 3.1 and 3.4). A board of one round has no covariance
    and no intervals.
    """

    players: tuple[str, ...]
    epp: Array
    covariance: Array | None
    matrix: WinMatrix
    fit: Fit
    level: float
    critical: float  # standard errors between the estimate and an interval's end
    rounds_df: float  # of Student's t; ∞ where the normal is used
    notes: tuple[str, ...]  # what a reader must know: separated players, refused intervals
    provenance: Mapping[str, Any]

    def __repr__(self) -> str:
        came = self.provenance
        return f"Leaderboard({len(self.players)} players, {came['rounds']} rounds, first {self.players[0]!r})"

    def __str__(self) -> str:
        from camilla.ranking.printed import as_text

        return as_text(self)

    def place(self, player: str) -> int:
        """The row of a player, by name."""
        if player not in self.players:
            raise DataError(
                f"there is no player {player!r} on this leaderboard; it has {quoted(self.players)}. "
                "Check the spelling."
            )
        return self.players.index(player)

    @property
    def prior(self) -> float:
        return float(self.provenance["prior"])

    @cached_property
    def se(self) -> Array:
        """Standard error of every EPP; NaN where intervals were refused."""
        if self.covariance is None:
            return np.full(len(self.epp), np.nan)
        return np.sqrt(np.diag(self.covariance))

    @property
    def low(self) -> Array:
        return np.asarray(self.epp - self.critical * self.se)

    @property
    def high(self) -> Array:
        return np.asarray(self.epp + self.critical * self.se)

    @property
    def p_beats_average(self) -> Array:
        """σ(EPP less the mean): the probability of beating the average player."""
        return np.asarray(1 / (1 + np.exp(self.epp.mean() - self.epp)))

    @cached_property
    def _wald_p(self) -> Array:
        statistic = inference.wald_statistics(self.epp, self._known_covariance())
        return inference.chi_p_values(statistic, df=self.wald_df, rounds_df=self.rounds_df)

    @property
    def wald_df(self) -> int:
        """Degrees of freedom of a pair's Wald test: 1, or 2 in EloML's way."""
        return 2 if self.provenance["compat"] else 1

    @cached_property
    def _holm_p(self) -> Array:
        return multiplicity.holm_over_pairs(self._wald_p)

    @cached_property
    def rank_intervals(self) -> multiplicity.RankIntervals:
        """Ranks each player may have at the board's level; 1 to n where intervals were refused."""
        n = len(self.players)
        if self.covariance is None:
            return multiplicity.RankIntervals(np.ones(n, np.int64), np.full(n, n))
        return inference.rank_intervals(self.epp, self._wald_p, self.level)

    @cached_property
    def tie_groups(self) -> tuple[tuple[str, ...], ...]:
        """Runs of neighbours that no test over all pairs (Holm) tells apart; of two players or more."""
        if self.covariance is None:
            return (self.players,)
        runs = multiplicity.tie_groups(self._holm_p < 1 - self.level)
        return tuple(self.players[first : last + 1] for first, last in runs if last > first)

    def test(self, player_a: str, player_b: str) -> PairTest:
        """P(a beats b) with its interval, Wald and likelihood-ratio tests of equal strength.

        The likelihood ratio is scaled by Fisher's variance of the difference over the board's own
        (Rotnitzky and Jewell, 1990), so that it respects rounds as the Wald test does.
        """
        i, j = self.place(player_a), self.place(player_b)
        if i == j:
            raise SettingError(f"{player_a!r} cannot be tested against itself; name two players.")
        covariance = self._known_covariance()
        difference, se = inference.differences(self.epp, covariance)
        d, s = difference[i, j], se[i, j]
        ends = 1 / (1 + np.exp(-(d + self.critical * s * np.array([0.0, -1.0, 1.0]))))
        lr = lr_p = None
        if not self.provenance["compat"]:
            lr = self._likelihood_ratio(i, j) if abs(d) >= inference.EQUAL else 0.0
            lr_p = float(inference.chi_p_values(np.array(lr), df=1, rounds_df=self.rounds_df))
        return PairTest(
            player_a=player_a,
            player_b=player_b,
            difference=float(d),
            se=float(s),
            p_win=float(ends[0]),
            p_win_low=float(ends[1]),
            p_win_high=float(ends[2]),
            wald=float(inference.wald_statistics(self.epp[[i, j]], covariance[np.ix_([i, j], [i, j])])[0, 1]),
            wald_p=float(self._wald_p[i, j]),
            holm_p=float(self._holm_p[i, j]),
            lr=lr,
            lr_p=lr_p,
        )

    def pairs(self) -> pl.DataFrame:
        """Every pair, better player first: difference, its error, P(win), Wald and Holm p-values."""
        difference, se = inference.differences(self.epp, self._known_covariance())
        i, j = np.triu_indices(len(self.players), 1)
        names = np.array(self.players, object)
        d, s = difference[i, j], se[i, j]
        return pl.DataFrame(
            {
                "player_a": names[i].tolist(),
                "player_b": names[j].tolist(),
                "difference": d,
                "se": s,
                "p_win": 1 / (1 + np.exp(-d)),
                "p_win_low": 1 / (1 + np.exp(self.critical * s - d)),
                "p_win_high": 1 / (1 + np.exp(-self.critical * s - d)),
                "wald_p": self._wald_p[i, j],
                "holm_p": self._holm_p[i, j],
            }
        )

    def predictions(self) -> Prediction:
        """Empirical against predicted probability of winning, one entry a pair that met."""
        return empirical_and_predicted(self.matrix, self.epp)

    def rows(self) -> pl.DataFrame:
        """One row a player: what the leaderboard prints."""
        ranks = self.rank_intervals
        return pl.DataFrame(
            {
                "player": self.players,
                "epp": self.epp,
                "se": self.se,
                "low": self.low,
                "high": self.high,
                "rank_low": ranks.low,
                "rank_high": ranks.high,
                "p_beats_average": self.p_beats_average,
            }
        )

    def save(self, folder: str | Path) -> Path:
        """Writes leaderboard.json and Parquet tables; the folder appears whole or not at all."""
        from camilla.ranking.saved import save

        return save(self, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> "Leaderboard":
        """A saved leaderboard, the same to the last bit."""
        from camilla.ranking.saved import load

        return load(folder)

    def _known_covariance(self) -> Array:
        if self.covariance is None:
            raise DataError(
                "this leaderboard has no standard errors: "
                + " ".join(self.notes)
                + " Add rounds to test pairs."
            )
        return self.covariance

    def _likelihood_ratio(self, i: int, j: int) -> float:
        covariance = self._known_covariance()
        own = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        plain = inference.likelihood_ratio(self.matrix, self.epp, i, j, self.prior)
        with np.errstate(divide="ignore"):
            return float(plain * np.float64(self._fisher_variance(i, j)) / own)

    def _fisher_variance(self, i: int, j: int) -> float:
        contrast = np.zeros(len(self.epp))
        contrast[i], contrast[j] = 1.0, -1.0
        here = Solution(self.epp, float(self.provenance["origin"]), 0, 0.0)
        return float(contrast @ contrast_solver(self.matrix, here, self.prior)(contrast))
