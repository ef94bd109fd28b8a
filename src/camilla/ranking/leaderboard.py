"""A leaderboard."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from camilla.arrays import sigmoid
from camilla.display import Grid, Part, Printable, brief, intervals, listed, percent, sets_in_words
from camilla.errors import DataError, SettingError
from camilla.names import quoted, shown
from camilla.ranking import board_folder, inference
from camilla.ranking.inference import (
    NOTHING,
    Findings,
    GoodnessOfFit,
    PairTest,
    PredictedWins,
    empirical_and_predicted,
    fit_of,
    goodness_of_fit,
)
from camilla.ranking.matches import AllRounds, Array, Clustered, WinMatrix
from camilla.ranking.solve import EppSolution, contrast_solver
from camilla.statistics import multiplicity, ranks, wald

MANY = 5_000  # players; of more, what needs every pair is left out
ELO_POINTS, ELO_MEAN = 400.0, 1500.0
MAX_T_PLAYERS = 1_000  # of more, ranks are by Holm


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Printable):
    """Players in order of EPP. Every array follows that order.

    EPP is on the logit scale with mean 0. σ(difference) is the probability of winning, σ(EPP) that of beating
    the average player. A leaderboard of one round has no intervals.

    Attributes
    ----------
    players : tuple of str
        Names, best first.
    epp : array
        The EPP of each player.
    spread : Spread or None
        The covariance of the EPPs in compact form; None where intervals were refused.
    counted : WinMatrix, AllRounds or Clustered
        Wins, or the scores from which they are counted when needed.
    known_fit : GoodnessOfFit or None
        Goodness of fit, or None until `fit` is asked for.
    level : float
        Confidence level of intervals.
    critical : float
        Standard errors from an estimate to the end of its interval.
    rounds_df : float
        Degrees of freedom of Student's t.
    notes : tuple of str
        What a reader must know, such as separated players or refused intervals.
    provenance : mapping
        Data hash, settings and versions.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
    >>> board.rows().select("player", "rank_low", "rank_high").rows()
    [('a', 1, 3), ('b', 1, 3), ('c', 1, 3)]
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"players": 15}

    players: tuple[str, ...]
    epp: Array
    spread: inference.Spread | None  # None where intervals were refused
    counted: (
        WinMatrix | AllRounds | Clustered
    )  # the win matrix, or scores from which it is counted when asked for
    known_fit: GoodnessOfFit | None  # None: worked out when asked for
    level: float
    critical: float  # standard errors between the estimate and an interval's end
    rounds_df: float  # of Student's t; ∞ where the normal is used
    notes: tuple[str, ...]  # what a reader must know: separated players, refused intervals
    provenance: Mapping[str, Any]

    def parts(
        self, *, findings: Findings = NOTHING, players: int | None = None, elo: bool = False
    ) -> list[Part]:
        """Returns the sentences and tables that `text` prints.

        Parameters
        ----------
        findings : Findings
            Tests and other results to print with the leaderboard.
        players : int, optional
            Number of players to list. All by default.
        elo : bool
            Whether to add a column on Elo's scale.

        Returns
        -------
        list of str and Grid
            The answer first: who leads, and who may.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> print(board.parts()[0])
        a has the highest EPP of 3 players, but b, c may be first.
        """
        grid = self._grid(players, findings, elo=elo)
        parts: list[Part] = [self._answer(), grid, self._rank_line(), self._tie_line()]
        parts += [_test_line(test, self.level) for test in findings.tests]
        if findings.friedman is not None:
            parts.append(findings.friedman.line(self.level))
        if findings.plan is not None:
            parts += [findings.plan.line(), _telling_line(findings.telling)]
        for name, search in (findings.search or {}).items():
            parts.append(f"{brief(name)}: {search.line()}")
        if findings.teams is not None:
            parts += findings.teams.parts(self.level)
        parts += [self._fit_line(findings.p_value_rounds), *(f"note: {shown(note)}" for note in self.notes)]
        return [part for part in parts if part]

    def _answer(self) -> str:
        first, low = brief(self.players[0]), self.rank_intervals.low
        others = [name for name, best in zip(self.players[1:], low[1:], strict=True) if best == 1]
        if self.spread is None:
            return f"{first} has the highest EPP of {len(self.players)} players, without an interval."
        if self.is_large:
            return f"{first} has the highest EPP of {len(self.players):,} players."
        if not others:
            return f"{first} is first: no other of the {len(self.players)} players may be."
        same = np.isclose(self.epp, self.epp[0], rtol=0, atol=1e-9)
        leaders = [name for name, equal in zip(self.players, same, strict=True) if equal]
        if len(leaders) > 1:
            behind = [name for name in others if name not in leaders]
            may = f" {listed(behind)} may be first too." if behind else ""
            of = f"{len(leaders)} of {len(self.players)} players"
            return f"{of} share the highest EPP: {listed(leaders)}.{may}"
        return (
            f"{first} has the highest EPP of {len(self.players)} players, but {listed(others)} may be first."
        )

    def _grid(self, players: int | None, findings: Findings, *, elo: bool) -> Grid:
        rows, interval = self.rows().head(len(self.players) if players is None else players), self._interval
        frame = pl.DataFrame(
            {"rank": np.arange(1, rows.height + 1), "player": rows["player"], "EPP": rows["epp"]}
        )
        if self.spread is not None:
            frame = frame.with_columns(
                rows["se"], pl.Series(interval, intervals(rows, "low", "high", 2), pl.String)
            )
        if self.spread is not None and not self.is_large:
            frame = frame.with_columns(
                rows.select(ranks=pl.format("{}–{}", "rank_low", "rank_high"))["ranks"]
            )
            if self.likely_ranks is not None:
                frame = frame.with_columns(
                    rows.select(likely=pl.format("{}–{}", "likely_low", "likely_high"))["likely"]
                )
        frame = frame.with_columns(rows["p_beats_average"].alias("P(beats average)"))
        if findings.friedman is not None:
            mean_rank = pl.Series("mean rank", findings.friedman.mean_rank[: rows.height])
            frame = frame.with_columns(mean_rank)
        if elo:
            frame = frame.with_columns(
                self.elo()["elo"].head(rows.height).round(0).cast(pl.Int64).alias("Elo")
            )
        title = f"Players by EPP: a difference is the log-odds of winning, with {interval}"
        return Grid(
            title, frame, fixed=(interval, "ranks", "likely"), spare=("P(beats average)", "se", "likely")
        )

    @property
    def _interval(self) -> str:
        return f"{percent(self.level)} CI"

    @property
    def fit_units(self) -> str:
        """What the fit takes for independent: rounds, or clusters of rounds."""
        return "clusters" if self.provenance.get("clusters") else "rounds"

    def _fit_line(self, by_rounds: float | None) -> str:
        fit, came = self.fit, self.provenance
        rounds = f"{came['rounds']} rounds"
        if came.get("clusters"):
            rounds += f" in {came['clusters']} clusters, each of which counts once"
        met = f"{came['players']} players, {rounds}, {came['matches_played']:.0f} matches"
        if self.is_large:
            return f"{met}. Ranks, ties and fit need every pair and are left out above {MANY:,} players."
        if fit.df == 0:
            return f"{met}. Fit: nothing to test, the deviance has no degrees of freedom."
        return (
            f"{met}. Fit: deviance {fit.deviance:.2f} on {fit.df} df, standardised {fit.standardised:.2f}, "
            f"p = {fit.p_value:.3g} if matches were independent"
            + ("." if by_rounds is None else f"; p = {by_rounds:.3g} by {self.fit_units}.")
        )

    def _rank_line(self) -> str:
        """What the two kinds of ranks promise."""
        if self.likely_ranks is None:
            return ""
        joint = self.provenance.get("ranks") == "joint"
        held = (
            "all intervals contain their players' ranks at once"
            if joint
            else "each interval contains its player's rank"
        )
        return (
            f"ranks: {held} with {percent(self.level)} confidence. likely: contains the ranks of "
            f"{percent(self.level)} of players on average (empirical Bayes); too narrow for players who are "
            "truly tied."
        )

    def _tie_line(self) -> str:
        if self.spread is None or self.is_large or not self.tie_groups:
            return ""
        place = {player: i + 1 for i, player in enumerate(self.players)}
        tied = sets_in_words([[place[player] for player in group] for group in self.tie_groups])
        return f"Statistically tied (Holm over all pairs), by rank: {tied}."

    def place(self, player: str) -> int:
        """Returns the position of a player.

        Parameters
        ----------
        player : str
            Name.

        Returns
        -------
        int
            Index into `players`, from 0.

        Raises
        ------
        DataError
            There is no such player.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> board.place("a")
        0
        """
        if player not in self.players:
            raise DataError(
                f"there is no player {player!r} on this leaderboard; it has {quoted(self.players)}. "
                "Check the spelling."
            )
        return self.players.index(player)

    @property
    def prior(self) -> float:
        """Weight of one drawn match of every player against the average player."""
        return float(self.provenance["prior"])

    @cached_property
    def covariance(self) -> Array | None:
        """Of the EPPs [players, players]; None where intervals were refused."""
        return None if self.spread is None else self.spread.dense()

    @cached_property
    def matrix(self) -> WinMatrix:
        """Wins and matches played of all pairs."""
        return self.counted if isinstance(self.counted, WinMatrix) else self.counted.count()

    @cached_property
    def fit(self) -> GoodnessOfFit:
        """How far the matches are from what the EPPs say; NaN on boards of more than MANY players."""
        if self.known_fit is not None:
            return self.known_fit
        return fit_of(np.nan, 0) if self.is_large else goodness_of_fit(self.matrix, self.epp)

    @property
    def is_large(self) -> bool:
        """Whether ranks, ties and fit, which need every pair, are left out."""
        return len(self.players) > MANY

    @cached_property
    def se(self) -> Array:
        """Standard error of every EPP; NaN where intervals were refused."""
        if self.spread is None:
            return np.full(len(self.epp), np.nan)
        return np.sqrt(self.spread.variances)

    @property
    def low(self) -> Array:
        """Lower end of each player's interval."""
        return np.asarray(self.epp - self.critical * self.se)

    @property
    def high(self) -> Array:
        """Upper end of each player's interval."""
        return np.asarray(self.epp + self.critical * self.se)

    def elo(self) -> pl.DataFrame:
        """Returns ratings on Elo's scale: mean 1500, and 400 points for odds of 10 to 1 (Elo, 1978).

        Returns
        -------
        polars.DataFrame
            Columns player, elo, elo_low and elo_high.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> board.elo()["elo"].round(0).to_list()
        [1560.0, 1500.0, 1440.0]
        """
        points = {"elo": self.epp, "elo_low": self.low, "elo_high": self.high}
        mean, unit = self.epp.mean(), ELO_POINTS / math.log(10)
        shifted = {name: ELO_MEAN + unit * (value - mean) for name, value in points.items()}
        return pl.DataFrame({"player": self.players, **shifted})

    @property
    def p_beats_average(self) -> Array:
        """σ(EPP minus the mean): the probability of beating the average player."""
        return sigmoid(self.epp - self.epp.mean())

    @cached_property
    def _wald_p(self) -> Array:
        statistic = wald.wald_statistics(self.epp, self._known_covariance())
        return wald.chi_p_values(statistic, df=self.wald_df, rounds_df=self.rounds_df)

    @property
    def wald_df(self) -> int:
        """Degrees of freedom of a pair's Wald test: 1, or 2 in EloML's way."""
        return 2 if self.provenance["compat"] else 1

    @cached_property
    def _holm_p(self) -> Array:
        return multiplicity.holm_over_pairs(self._wald_p)

    @cached_property
    def rank_intervals(self) -> multiplicity.RankIntervals:
        """Ranks each player may have at the board's level; 1 to n where intervals were refused.

        By the largest of a player's own differences; above 1,000 players, and where a prior or a bootstrap
        made the covariance, by Holm over a player's own pairs. Joint intervals are the wider of the two over
        all pairs: where rounds are few the largest differences are larger than draws say.
        """
        n = len(self.players)
        if self.spread is None or self.is_large:
            return multiplicity.RankIntervals(np.ones(n, np.int64), np.full(n, n))
        joint = self.provenance.get("ranks") == "joint"
        samples, drawn = self.spread.samples, None
        if samples is not None and n <= MAX_T_PLAYERS and not self.provenance["compat"]:
            drawn = ranks.sure_ranks(self.epp, samples, self.rounds_df, self.level, joint=joint)
        if not joint:
            return wald.rank_intervals(self.epp, self._wald_p, self.level) if drawn is None else drawn
        sure = self._holm_p <= 1 - self.level
        held = multiplicity.rank_bounds(sure, self.epp[None, :] > self.epp[:, None])
        if drawn is None:
            return held
        return multiplicity.RankIntervals(np.minimum(held.low, drawn.low), np.maximum(held.high, drawn.high))

    @cached_property
    def likely_ranks(self) -> multiplicity.RankIntervals | None:
        """Ranks of probability `level` by empirical Bayes, within those a player may have.

        None where a prior, a bootstrap or matches one by one made the covariance.
        """
        if self.spread is None or self.is_large or self.spread.samples is None:
            return None
        likely, may = ranks.likely_ranks(self.epp, self.spread.samples, self.level), self.rank_intervals
        low, high = np.maximum(likely.low, may.low), np.minimum(likely.high, may.high)
        apart = low > high
        return multiplicity.RankIntervals(np.where(apart, may.low, low), np.where(apart, may.high, high))

    def first_p_values(self) -> pl.DataFrame:
        """Returns p-values of "this player is first", approximately unbiased (Shimodaira, 2002).

        Returns
        -------
        polars.DataFrame
            Columns player and p_first.

        Raises
        ------
        SettingError
            The leaderboard comes from matches, has another kind of standard error, or has separated players.

        Examples
        --------
        >>> scores = np.random.default_rng(1).normal(size=(3, 12)) + [[0.5], [0], [0]]
        >>> tournament = camilla.Tournament(("a", "b", "c"), tuple(map(str, range(12))), scores)
        >>> camilla.epp(tournament).first_p_values().columns
        ['player', 'p_first']
        """
        samples = self._known_spread().samples
        if samples is None:
            raise SettingError(
                "approximately unbiased p-values need scores, se='cluster' and no separated players."
            )
        return pl.DataFrame({"player": self.players, "p_first": ranks.first_p_values(self.epp, samples)})

    @cached_property
    def tie_groups(self) -> tuple[tuple[str, ...], ...]:
        """Sets of players no two of whom are told apart (Holm over all pairs); every tied pair is in one."""
        if self.spread is None or self.is_large:
            return (self.players,)
        sets = multiplicity.tied_sets(self._holm_p <= 1 - self.level)
        return tuple(tuple(self.players[place] for place in places) for places in sets)

    def test(self, player_a: str, player_b: str) -> PairTest:
        """Tests whether two players are equally strong.

        The likelihood ratio is scaled by Fisher's variance of the difference over the leaderboard's own
        (Rotnitzky and Jewell, 1990), so that it respects rounds as the Wald test does.

        Parameters
        ----------
        player_a, player_b : str
            Names.

        Returns
        -------
        PairTest
            The difference with its standard error, P(a beats b) with its interval, Wald and likelihood-ratio
            tests, and the p-value adjusted over all pairs (Holm).

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> round(board.test("a", "c").p_win, 2)
        0.67
        """
        i, j = self.place(player_a), self.place(player_b)
        if i == j:
            raise SettingError(f"{player_a!r} cannot be tested against itself; name two players.")
        if self.is_large:
            raise SettingError(
                f"a test is adjusted over all pairs, which is left out above {MANY:,} players; "
                "rank fewer players."
            )
        covariance = self._known_covariance()
        difference, se = wald.differences(self.epp, covariance)
        d, s = difference[i, j], se[i, j]
        ends = sigmoid(d + self.critical * s * np.array([0.0, -1.0, 1.0]))
        lr = lr_p = None
        if not self.provenance["compat"]:
            lr = self._likelihood_ratio(i, j) if abs(d) >= wald.EQUAL else 0.0
            lr_p = float(wald.chi_p_values(np.array(lr), df=1, rounds_df=self.rounds_df))
        return PairTest(
            player_a=player_a,
            player_b=player_b,
            difference=float(d),
            se=float(s),
            p_win=float(ends[0]),
            p_win_low=float(ends[1]),
            p_win_high=float(ends[2]),
            wald=float(wald.wald_statistics(self.epp[[i, j]], covariance[np.ix_([i, j], [i, j])])[0, 1]),
            wald_p=float(self._wald_p[i, j]),
            holm_p=float(self._holm_p[i, j]),
            lr=lr,
            lr_p=lr_p,
        )

    def pairs(self) -> pl.DataFrame:
        """Returns every pair of players, the better one first.

        Returns
        -------
        polars.DataFrame
            Columns player_a, player_b, difference, se, p_win, p_win_low, p_win_high, wald_p and holm_p.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> board.pairs().select("player_a", "player_b").rows()
        [('a', 'b'), ('a', 'c'), ('b', 'c')]
        """
        difference, se = wald.differences(self.epp, self._known_covariance())
        i, j = np.triu_indices(len(self.players), 1)
        names = np.array(self.players, object)
        d, s = difference[i, j], se[i, j]
        return pl.DataFrame(
            {
                "player_a": names[i].tolist(),
                "player_b": names[j].tolist(),
                "difference": d,
                "se": s,
                "p_win": sigmoid(d),
                "p_win_low": sigmoid(d - self.critical * s),
                "p_win_high": sigmoid(d + self.critical * s),
                "wald_p": self._wald_p[i, j],
                "holm_p": self._holm_p[i, j],
            }
        )

    def predictions(self) -> PredictedWins:
        """Compares observed and predicted win rates of every pair that met.

        Returns
        -------
        PredictedWins
            Arrays with one entry per pair.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> len(board.predictions()[0])
        3
        """
        return empirical_and_predicted(self.matrix, self.epp)

    @property
    def verdict(self) -> str:
        """ "one leader" if the first player can have no other rank, else "tied leaders"."""
        return "one leader" if self.rows()["rank_high"][0] == 1 else "tied leaders"

    def rows(self) -> pl.DataFrame:
        """Returns the leaderboard as a dataframe.

        Returns
        -------
        polars.DataFrame
            One row per player: epp, se, low, high, rank_low, rank_high, likely_low, likely_high,
            p_beats_average.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> board.rows().columns[:5]
        ['player', 'epp', 'se', 'low', 'high']
        """
        may, likely = self.rank_intervals, self.likely_ranks
        return pl.DataFrame(
            {
                "player": self.players,
                "epp": self.epp,
                "se": self.se,
                "low": self.low,
                "high": self.high,
                "rank_low": may.low,
                "rank_high": may.high,
                "likely_low": None if likely is None else likely.low,
                "likely_high": None if likely is None else likely.high,
                "p_beats_average": self.p_beats_average,
            }
        )

    def save(self, folder: str | Path) -> Path:
        """Writes the leaderboard to a folder, completely or not at all.

        Parameters
        ----------
        folder : str or path
            The folder. It gets leaderboard.json and Parquet tables.

        Returns
        -------
        pathlib.Path
            The folder.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> camilla.Leaderboard.load(board.save("board")).players == board.players
        True
        """
        return board_folder.write_leaderboard(self, Path(folder))

    @staticmethod
    def load(folder: str | Path) -> "Leaderboard":
        """Reads a saved leaderboard back, bit for bit.

        Parameters
        ----------
        folder : str or path
            The folder that `save` wrote.

        Returns
        -------
        Leaderboard
            The same leaderboard.

        Examples
        --------
        >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
        >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
        >>> camilla.Leaderboard.load(board.save("board")).epp.tolist() == board.epp.tolist()
        True
        """
        return Leaderboard(**board_folder.read_fields(folder))

    def _known_spread(self) -> inference.Spread:
        if self.spread is None:
            raise DataError(
                "this leaderboard has no standard errors: "
                + " ".join(self.notes)
                + " Add rounds to test pairs."
            )
        return self.spread

    def _known_covariance(self) -> Array:
        self._known_spread()
        return np.asarray(self.covariance)

    def _likelihood_ratio(self, i: int, j: int) -> float:
        covariance = self._known_covariance()
        own = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        plain = inference.likelihood_ratio(self.matrix, self.epp, i, j, self.prior)
        with np.errstate(divide="ignore"):
            return float(plain * np.float64(self._fisher_variance(i, j)) / own)

    def _fisher_variance(self, i: int, j: int) -> float:
        contrast = np.zeros(len(self.epp))
        contrast[i], contrast[j] = 1.0, -1.0
        here = EppSolution(self.epp, float(self.provenance["origin"]), 0, 0.0)
        return float(contrast @ contrast_solver(self.matrix, here, self.prior)(contrast))


def _telling_line(telling: pl.DataFrame | None) -> str:
    """The rounds that agree most and least with the others."""
    if telling is None or telling.height < 2:
        return ""
    n = min(3, telling.height // 2)
    named = [f"{brief(row['round'])} {row['agreement']:.2f}" for row in telling.to_dicts()]
    most, least = ", ".join(named[:n]), ", ".join(named[::-1][:n])
    return f"Rounds that agree most with the others: {most}; least: {least} (correlation of wins with EPP)."


def _test_line(test: PairTest, level: float) -> str:
    ratio = "" if test.lr is None else f", likelihood ratio {test.lr:.3f} (p = {test.lr_p:.3g})"
    return (
        f"P({brief(test.player_a)} beats {brief(test.player_b)}) = {test.p_win:.3f} "
        f"({percent(level)} CI {test.p_win_low:.3f} to {test.p_win_high:.3f}); "
        f"Wald {test.wald:.3f} (p = {test.wald_p:.3g}, Holm {test.holm_p:.3g}){ratio}."
    )
