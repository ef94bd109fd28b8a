"""Questions to whole leaderboards: their fit round by round, and how two of them agree."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from camilla.arrays import sigmoid
from camilla.display import Grid
from camilla.errors import DataError, SettingError
from camilla.names import name_index, quoted
from camilla.ranking.board_folder import drafted, without_nan, write_tables
from camilla.ranking.inference import Findings
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.matches import Array, Clustered, SameRound, record_of
from camilla.ranking.plan import plan, telling_rounds
from camilla.ranking.search import Search, search_by_algorithm
from camilla.ranking.solve import EppSolution, contrast_solver
from camilla.ranking.teams import TeamBoard, team_epp
from camilla.statistics.multiplicity import holm
from camilla.statistics.ranks import Friedman, friedman
from camilla.statistics.wald import chi_p_values
from camilla.table.tournament import Tournament

LARGEST = 100_000_000  # players² × rounds


def fit_by_rounds(board: Leaderboard, tournament: Tournament) -> float:
    """Tests whether one number per player explains the win rates of all pairs.

    z_r holds the standardised surprises of all pairs in round r, less what moving the EPPs explains. If the
    model fits, z_r · z_s has mean 0 for r ≠ s. U = Σ_{r≠s} z_r · z_s is compared with a scaled χ² of the same
    mean and variance (Chen and Qin, 2010; Satterthwaite, 1946).

    Parameters
    ----------
    board : Leaderboard
        The leaderboard.
    tournament : Tournament
        Its tournament.

    Returns
    -------
    float
        The p-value. A small one says that some players are strong in some rounds and weak in others.

    Examples
    --------
    >>> scores = np.random.default_rng(1).normal(size=(4, 12))
    >>> tournament = camilla.Tournament(("a", "b", "c", "d"), tuple(map(str, range(12))), scores)
    >>> 0 <= camilla.fit_by_rounds(camilla.epp(tournament), tournament) <= 1
    True
    """
    place = name_index(tournament.players)
    rows = [place[name] for name in board.players]
    came = board.provenance
    record = record_of(tournament, str(came["matches"]), came.get("failed", "not_played"))
    rounds = record.rounds if isinstance(record, Clustered) else record
    if not isinstance(rounds, SameRound) or record.n_units < 3 or came["compat"]:
        raise SettingError("fit by rounds needs scores, matches within rounds, and at least 3 rounds.")
    summing = record.summing if isinstance(record, Clustered) else np.eye(rounds.n_rounds)
    gram = _gram(board, SameRound(rounds.merit[rows]), summing)
    own = np.trace(gram)
    between = gram - np.diag(np.diag(gram))
    n_rounds = len(gram)
    spread = float((between**2).sum()) * n_rounds / (n_rounds - 1)
    df = own**2 / spread
    return float(chi_p_values(max(df * (1 + between.sum() / own), 0.0), df=df))


def _gram(board: Leaderboard, record: SameRound, summing: Array) -> Array:
    """z_r · z_s for all rounds or clusters, summed over pairs one row of the win matrix at a time."""
    solution = EppSolution(board.epp, float(board.provenance["origin"]), 0, 0.0)
    pushes = record.residuals(board.epp) @ summing
    influence = contrast_solver(board.matrix, solution, board.prior)(pushes - pushes.mean(axis=1)[:, None])
    merit = record.merit
    gram = np.zeros((summing.shape[1], summing.shape[1]))
    for i in range(1, len(merit)):
        played = board.matrix.played[i, :i, None]
        p = sigmoid(board.epp[i] - board.epp[:i, None])
        information = played * p * (1 - p)
        won = (merit[i] > merit[:i]) + 0.5 * (merit[i] == merit[:i])
        surprise = (record.met(i) * (won - p)) @ summing - information * (influence[i] - influence[:i])
        surprise /= np.sqrt(np.where(information > 0, information, 1.0))
        gram += surprise.T @ surprise
    return gram


def friedman_test(tournament: Tournament, level: float = 0.95) -> Friedman:
    """Friedman's test over rounds in which every player has a score; clusters count once, by mean score."""
    scores = tournament.merit
    if tournament.clusters is not None:
        names, codes = np.unique(tournament.clusters, return_inverse=True)
        scores = np.stack([scores[:, codes == k].mean(axis=1) for k in range(len(names))], axis=1)
    complete = scores[:, np.isfinite(scores).all(axis=0)]
    if complete.shape[1] < 2:
        raise DataError(
            f"Friedman's test needs rounds in which every player has a score; {complete.shape[1]} of "
            f"{scores.shape[1]} are. EPP does without."
        )
    return friedman(complete, level)


def asked(
    board: Leaderboard,
    tournament: Tournament,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    planned: float | None = None,
    with_friedman: bool = False,
    budget: int | None = None,
    members: Mapping[str, Sequence[str]] | None = None,
) -> Findings:
    """Tests of these pairs and the fit by rounds where it takes about a second; what else was asked for.

    planned: a difference to plan for. budget: configurations that a search would still try. members: the
    players of each team, if the tournament's players are teams.
    """
    pair = pairs[0] if pairs else None
    found = Findings(
        tests=[board.test(*pair) for pair in pairs or ()],
        p_value_rounds=_quick_fit(board, tournament),
        plan=None if planned is None else plan(board, tournament, planned, pair=pair),
        telling=None if planned is None else telling_rounds(board, tournament),
        search=None if budget is None else _search(board, budget),
        teams=None if members is None else _teams(board, tournament, members),
    )
    if with_friedman:
        test = friedman_test(tournament, board.level)
        place = name_index(tournament.players)
        mean_rank = test.mean_rank[[place[name] for name in board.players]]
        return found._replace(friedman=test._replace(mean_rank=mean_rank))
    return found


def _search(board: Leaderboard, budget: int) -> dict[str, Search]:
    se = None if board.spread is None else board.se
    return search_by_algorithm(board.players, board.epp, se, budget=budget)


def _teams(board: Leaderboard, tournament: Tournament, members: Mapping[str, Sequence[str]]) -> TeamBoard:
    return team_epp(tournament, members, matches=str(board.provenance["matches"]), level=board.level)


def _quick_fit(board: Leaderboard, tournament: Tournament) -> float | None:
    came = board.provenance
    can = tournament.scores is not None and came["matches"] == "same_round" and not came["compat"]
    if not can or came["units"] < 3 or board.fit.df == 0 or came["players"] ** 2 * came["rounds"] > LARGEST:
        return None
    return fit_by_rounds(board, tournament)


def compare_fits(
    boards: Mapping[str, Leaderboard], findings: Mapping[str, Findings] | None = None
) -> pl.DataFrame:
    """Compares how well EPP fits several tournaments.

    Deviances compare directly only for the same players and rounds; standardised ones also for different sets
    of players.

    Parameters
    ----------
    boards : mapping of str to Leaderboard
        Leaderboards by the name of their tournament.
    findings : mapping of str to Findings, optional
        Findings by the same names; they add `p_value_rounds`.

    Returns
    -------
    polars.DataFrame
        One row per tournament, best fit first. `p_value` counts matches as independent, and so piles up at 1.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
    >>> camilla.compare_fits({"spring": board}).select("tournament", "players", "rounds").rows()
    [('spring', 3, 4)]
    """
    known = findings or {}
    rows = [
        {
            "tournament": name,
            "players": len(board.players),
            "rounds": board.provenance["rounds"],
            "deviance": board.fit.deviance,
            "df": board.fit.df,
            "standardised_deviance": board.fit.standardised,
            "p_value": board.fit.p_value,
            "p_value_rounds": known.get(name, Findings()).p_value_rounds,
        }
        for name, board in boards.items()
    ]
    frame = pl.DataFrame(rows).with_columns(pl.col("p_value_rounds").cast(pl.Float64))
    return frame.sort("standardised_deviance", nulls_last=True)


def fits_grid(fits: pl.DataFrame, units: str = "rounds") -> Grid:
    """What `compare_fits` found, as a table to print; `units` are what the tests take for independent."""
    columns = {
        "deviance": "deviance",
        "df": "df",
        "standardised": "standardised_deviance",
        f"p by {units}": "p_value_rounds",
    }
    frame = fits.select(
        "tournament", "players", "rounds", **{name: pl.col(of) for name, of in columns.items()}
    )
    return Grid("Fit by tournament, best first", frame.fill_nan(None), spare=("rounds", "players"))


class Agreement(NamedTuple):
    """The agreement of two leaderboards on the players they share.

    Attributes
    ----------
    kendall : float
        Rank correlation (Kendall's τ) of the shared players.
    rows : DataFrame
        One row per shared player: both EPPs, their difference, and its tests.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
    >>> camilla.agreement(board, board).rows.columns[:4]
    ['player', 'epp_a', 'epp_b', 'difference']
    """

    kendall: float  # rank correlation of the shared players
    rows: pl.DataFrame  # player, epp_a, epp_b, difference, se, p_value, holm_p


def agreement(board_a: Leaderboard, board_b: Leaderboard) -> Agreement:
    """Compares the EPPs of the players that two leaderboards share.

    EPPs are centred on the shared players. The tournaments must have been played independently; then
    variances add. P-values are Student's, with Welch's (1947) degrees of freedom.

    Parameters
    ----------
    board_a, board_b : Leaderboard
        Two leaderboards with at least two players in common.

    Returns
    -------
    Agreement
        `kendall`, the rank correlation, and `rows` with epp_a, epp_b, difference, se, p_value and holm_p of
        each shared player.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
    >>> camilla.agreement(board, board).kendall
    1.0
    """
    shared = [name for name in board_a.players if name in set(board_b.players)]
    if len(shared) < 2:
        raise DataError(
            f"the leaderboards share {len(shared)} player(s); two are needed. "
            f"One has {quoted(board_a.players)}, the other {quoted(board_b.players)}."
        )
    (a, variance_a), (b, variance_b) = (_on(board, shared) for board in (board_a, board_b))
    difference, se = a - b, np.sqrt(variance_a + variance_b)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = variance_a**2 / board_a.rounds_df + variance_b**2 / board_b.rounds_df
        df = np.where(shares > 0, (variance_a + variance_b) ** 2 / shares, np.inf)
        p_value = chi_p_values((difference / se) ** 2, df=1, rounds_df=df)
    rows = {"epp_a": a, "epp_b": b, "difference": difference, "se": se, "p_value": p_value}
    frame = pl.DataFrame({"player": shared, **rows, "holm_p": holm(p_value)})
    from scipy.stats import kendalltau  # half a second to load, and needed here alone

    return Agreement(float(kendalltau(a, b).statistic), frame)


class _Shared(NamedTuple):
    epp: np.ndarray[tuple[int], np.dtype[np.float64]]
    variance: np.ndarray[tuple[int], np.dtype[np.float64]]


def _on(board: Leaderboard, players: list[str]) -> _Shared:
    rows = [board.place(name) for name in players]
    epp = board.epp[rows]
    if board.covariance is None:
        return _Shared(epp - epp.mean(), np.full(len(rows), np.nan))
    centre = np.eye(len(rows)) - 1 / len(rows)
    covariance = centre @ board.covariance[np.ix_(rows, rows)] @ centre
    return _Shared(epp - epp.mean(), np.diag(covariance))


class Drawing(NamedTuple):
    """Who draws what in a folder."""

    board: Callable[[Leaderboard, Tournament, Path], None]
    algorithms: Callable[[Mapping[str, Leaderboard], Path], None]


def write_boards(
    boards: Mapping[str, Leaderboard], tournaments: Mapping[str, Tournament], folder: Path,
    findings: Mapping[str, Findings], *, drawing: Drawing | None = None,
) -> Path:  # fmt: skip
    """Tables and pictures of every tournament; the folder appears whole or not at all.

    One tournament fills the folder itself; several get a folder each, and a comparison beside them.
    """
    with drafted(folder) as draft:
        for (name, board), place in zip(boards.items(), _folders(list(boards), draft), strict=True):
            place.mkdir(exist_ok=True)
            write_tables(board, place, findings[name])
            if drawing is not None:
                drawing.board(board, tournaments[name], place)
        if len(boards) > 1:
            comparison = without_nan(compare_fits(boards, findings).to_dicts())
            (draft / "comparison.json").write_text(json.dumps(comparison, indent=1, allow_nan=False) + "\n")
            if drawing is not None:
                drawing.algorithms(boards, draft)
    return folder


def _folders(names: list[str], draft: Path) -> list[Path]:
    """A folder for each tournament, named after it as far as file names allow."""
    if len(names) == 1:
        return [draft]
    safe = ["".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:80] for name in names]
    return [draft / (one if safe.count(one) == 1 and one else f"{k}-{one}") for k, one in enumerate(safe)]
