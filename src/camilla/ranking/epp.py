"""EPP, the Elo-based Predictive Power: scores → matches → strengths → a leaderboard.

Gosiewska, Woźnica and Biecek (2022). EPP is the centred maximum-likelihood strength of the
Bradley–Terry model on matches made from scores. This is the one place that puts names on strengths.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from camilla import __version__ as camilla_version
from camilla.arrays import Watch
from camilla.display import counted, watching
from camilla.errors import ConvergenceError, DataError, SettingError
from camilla.names import quoted
from camilla.ranking import inference
from camilla.ranking.compat import COMPAT, CRITICAL, eloml_glm
from camilla.ranking.goodness import goodness_of_fit
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.matches import Array, Record, WinMatrix, beaten, record_of
from camilla.ranking.solve import EppSolution, separated_groups, solve
from camilla.statistics.intervals import critical_value
from camilla.statistics.missingness import blocks_of, in_blocks
from camilla.table.tournament import Tournament

STANDARD_ERRORS = ("cluster", "bootstrap", "fisher")
WEAK_PRIOR = 1.0  # one drawn match of every player against the average player


class Uncertainty(NamedTuple):
    """A covariance of strengths (None: refused), the t that reads it, and what to say about it."""

    covariance: Array | None
    rounds_df: float
    notes: tuple[str, ...]


def epp(
    tournament: Tournament,
    *,
    matches: str = "same_round",
    se: str = "cluster",
    level: float = 0.95,
    prior: float | None = None,
    compat: str | None = None,
    across_blocks: bool = False,
    replicates: int = 1000,
    seed: int = 0,
    start: Leaderboard | None = None,
    progress: bool | None = None,
    watch: Watch | None = None,
) -> Leaderboard:
    """The leaderboard of a tournament.

    matches: `same_round`, one match per pair and round; `all_rounds`, every score against every score.
    se: `cluster` (round-cluster sandwich), `bootstrap` (over rounds), `fisher` (matches independent).
    prior: weight of one drawn match of every player against the average; by default none, and 1 if
    players are separated, which the notes then say. 0 refuses separated players.
    across_blocks: rank blocks of players that never met, directly or through others, on one board; without
    it they are refused.
    start: a leaderboard of the same players, for instance before rounds were appended.
    progress: a line on standard error while a bootstrap runs: True at once, False never, None after two
    seconds on a terminal or in a notebook. watch takes the lines instead.
    """
    _check_settings(se, level, prior, compat, replicates)
    if compat is not None:
        return _compatible(tournament, matches, level)
    ordered = _by_rank(tournament, matches)
    record = record_of(ordered, matches)
    matrix = record.count()
    _check_matches(matrix, ordered.players)
    groups = separated_groups(matrix)
    apart = _block_notes(matrix, ordered.players, across_blocks=across_blocks) if len(groups) > 1 else ()
    weight, notes = _prior_of(groups, ordered.players, prior)
    solution = solve(matrix, prior=weight, start=_warm(start, ordered.players))
    with watching("ranking", progress, watch) as watch:
        uncertainty = _uncertainty(record, matrix, solution, weight, se, replicates, seed, watch)
    if uncertainty.covariance is not None and weight and se != "fisher":
        inner = inference.fisher_covariance(matrix, solution, weight)
        uncertainty = uncertainty._replace(covariance=uncertainty.covariance + inner)
    return _board(
        ordered.players,
        solution.strength,
        uncertainty.covariance,
        matrix,
        fit=goodness_of_fit(matrix, solution.strength),
        level=level,
        critical=critical_value(level, uncertainty.rounds_df),
        rounds_df=uncertainty.rounds_df,
        notes=apart + notes + uncertainty.notes,
        provenance={
            **_settings(tournament, matches, matrix, record.n_rounds),
            "se": se,
            "prior": weight,
            "across_blocks": across_blocks,
            "origin": solution.origin,
            "compat": None,
            "replicates": replicates if se == "bootstrap" else None,
            "seed": seed if se == "bootstrap" else None,
            "iterations": solution.steps,
            "gradient_norm": solution.gradient_norm,
        },
    )


class Boards(NamedTuple):
    """Leaderboards by tournament, and why the other tournaments could not be ranked."""

    boards: dict[str, Leaderboard]
    problems: dict[str, str]


def epp_each(tournaments: Mapping[str, Tournament], **settings: Any) -> Boards:
    """The leaderboard of each tournament that can be ranked; `settings` are those of `epp`.

    What is wrong with one tournament does not keep the others from being ranked; a setting that does not fit
    is an error.
    """
    found = Boards({}, {})
    for name, tournament in tournaments.items():
        try:
            found.boards[name] = epp(tournament, **settings)
        except (DataError, ConvergenceError) as error:
            found.problems[name] = str(error)
    return found


def _by_rank(tournament: Tournament, matches: str) -> Tournament:
    """Players by mean rank of their scores, then by name: nearly always the board's own order.

    So the n × n arrays need not be turned at the end, and the order of rows in a file does not matter.
    """
    if tournament.scores is None:
        return tournament
    merit = tournament.merit
    seen = np.isfinite(merit)
    rank = np.zeros(merit.shape)
    if matches == "all_rounds":
        rank[seen] = beaten(merit[seen])
    else:
        for column, there, scores in zip(rank.T, seen.T, merit.T, strict=True):
            column[there] = beaten(scores[there])
    order = _order(rank.sum(axis=1) / seen.sum(axis=1), tournament.players)
    players = tuple(tournament.players[i] for i in order)
    return replace(tournament, players=players, scores=tournament.scores[order])


def _order(strength: Array, players: tuple[str, ...]) -> NDArray[np.int64]:
    """Strongest first; those equal to nine decimals by name."""
    return np.lexsort((np.array(players), -np.round(strength, 9)))


def _check_settings(se: str, level: float, prior: float | None, compat: str | None, replicates: int) -> None:
    if se not in STANDARD_ERRORS:
        raise SettingError(f"se {se!r} is not known; wanted one of {', '.join(STANDARD_ERRORS)}.")
    if compat is not None and compat not in COMPAT:
        raise SettingError(f"compat {compat!r} is not known; wanted {', '.join(COMPAT)} or nothing.")
    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1; {level:g} came. 0.95 is usual.")
    if prior is not None and not (0 <= prior < np.inf):
        raise SettingError(f"prior is a number of matches, 0 or more; {prior:g} came.")
    if replicates < 2:
        raise SettingError(f"a bootstrap needs at least 2 replicates; {replicates} came. 1000 is usual.")


def _check_matches(matrix: WinMatrix, players: tuple[str, ...]) -> None:
    wins, played = matrix
    if not played.any():
        raise DataError("no two players met: no round holds two scores. Check player and round columns.")
    balanced = np.array_equal(2 * wins.sum(axis=1), played.sum(axis=1))
    if balanced and np.array_equal(2 * wins, played):
        raise DataError(
            f"all {played.sum() / 2:.0f} matches are ties, or wins and losses of each pair cancel out; "
            f"{quoted(players)} cannot be ranked. Check that the score column holds the scores."
        )
    alone = [players[i] for i in np.flatnonzero(played.sum(axis=1) == 0)]
    if alone:
        raise DataError(f"players {quoted(alone)} met nobody: they share no round. Remove them.")


def _block_notes(matrix: WinMatrix, players: tuple[str, ...], *, across_blocks: bool) -> tuple[str, ...]:
    """What to say of blocks of players that no match joins; an error unless they are ranked together."""
    met = (matrix.played > 0) | np.eye(len(players), dtype=bool)
    one, other = np.nonzero(met)
    blocks = [block.learners for block in blocks_of(one, other, met.shape)]
    if len(blocks) < 2:
        return ()
    sizes = {min(players[i] for i in block): counted(len(block), "player") for block in blocks}
    said = f"The tournament {in_blocks(sizes)} that never met, not even through others."
    if not across_blocks:
        raise DataError(
            f"{said} Nothing puts them on one scale. Rank each block by itself, or add rounds that join "
            "them. To rank them together anyway, use across_blocks=True (--across-blocks)."
        )
    return (f"{said} Within a block EPP compares players, across blocks it does not.",)


def _prior_of(
    groups: list[NDArray[np.int64]], players: tuple[str, ...], prior: float | None
) -> tuple[float, tuple[str, ...]]:
    """The weight to use, and what to say when players are separated."""
    if len(groups) == 1:
        return prior or 0.0, ()
    outside = np.sort(np.concatenate(sorted(groups, key=len)[:-1]))
    names = [players[i] for i in outside]
    said = (
        f"{len(names)} of {len(players)} players ({quoted(names)}) are separated: against the others "
        "they won all, lost all or never played, so the matches alone put no bound on their EPP."
    )
    if prior == 0:
        raise DataError(said + " Add rounds, leave them out, or allow a prior (prior=1).")
    weight = WEAK_PRIOR if prior is None else prior
    return weight, (
        said + f" Every player was given {weight:g} drawn match(es) against the average player; "
        "separated players' EPP and intervals rest on that.",
    )


def _uncertainty(
    record: Record,
    matrix: WinMatrix,
    solution: EppSolution,
    prior: float,
    se: str,
    replicates: int,
    seed: int,
    watch: Watch,
) -> Uncertainty:
    n_rounds = record.n_rounds
    if n_rounds < 2:
        return Uncertainty(
            None,
            np.inf,
            ("Intervals are refused: there is one round, so how far scores vary between rounds is unknown.",),
        )
    if se == "fisher":
        return Uncertainty(inference.fisher_covariance(matrix, solution, prior), np.inf, ())
    if se == "cluster":
        return Uncertainty(inference.cluster_covariance(record, matrix, solution, prior), n_rounds - 1, ())
    drawn = inference.bootstrap_covariance(
        record, solution, prior=prior, replicates=replicates, seed=seed, watch=watch
    )
    notes: tuple[str, ...] = ()
    if drawn.n_separated and not prior:
        notes = (
            f"{drawn.n_separated} of {replicates} bootstrap replicates had separated players and were "
            "fitted with one drawn match against the average player.",
        )
    return Uncertainty(drawn.covariance, n_rounds - 1, notes)


def _compatible(tournament: Tournament, matches: str, level: float) -> Leaderboard:
    if level != 0.95:
        raise SettingError(f"EloML's intervals are at level 0.95; {level:g} came. Leave level or compat out.")
    record = record_of(tournament, matches)
    found = eloml_glm(tournament, matches)
    matrix = record.count()
    return _board(
        tournament.players,
        found.epp,
        found.covariance,
        matrix,
        fit=found.fit,
        level=level,
        critical=CRITICAL,
        rounds_df=np.inf,
        notes=(
            "EloML-compatible numbers: these intervals are too narrow. See docs/results/epp-coverage.md.",
        ),
        provenance={
            **_settings(tournament, matches, matrix, record.n_rounds),
            "se": "eloml-glm",
            "prior": 0.0,
            "across_blocks": False,
            "origin": 0.0,
            "compat": "eloml-glm",
            "replicates": None,
            "seed": None,
            "iterations": found.steps,
            "gradient_norm": found.gradient_norm,
        },
    )


def _board(
    players: tuple[str, ...], strength: Array, covariance: Array | None, matrix: WinMatrix, **rest: Any
) -> Leaderboard:
    order = _order(strength, players)
    if not np.array_equal(order, np.arange(len(order))):
        square = np.ix_(order, order)
        matrix = WinMatrix(*(part[square] for part in matrix))
        covariance = None if covariance is None else covariance[square]
    return Leaderboard(tuple(players[i] for i in order), strength[order], covariance, matrix, **rest)


def _settings(tournament: Tournament, matches: str, matrix: WinMatrix, n_rounds: int) -> dict[str, Any]:
    return {
        "tournament": tournament.name,
        "scheme": tournament.scheme,
        "lower_is_better": tournament.lower_is_better,
        "data": tournament.digest(),
        "players": len(tournament.players),
        "rounds": n_rounds,
        "matches": matches,
        "matches_played": float(matrix.played.sum() / 2),
        "versions": {"camilla": camilla_version, "numpy": np.__version__, "scipy": scipy.__version__},
    }


def _warm(start: Leaderboard | None, players: tuple[str, ...]) -> Array | None:
    """Strengths of an earlier board in this tournament's order; newcomers start at its mean."""
    if start is None:
        return None
    known = dict(zip(start.players, start.epp, strict=True))
    return np.array([known.get(name, 0.0) for name in players], np.float64)
