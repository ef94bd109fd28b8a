"""EPP, the Elo-based Predictive Power: scores → matches → strengths → a leaderboard.

Gosiewska, Woźnica and Biecek (2022). EPP is the centred maximum-likelihood strength of the
Bradley–Terry model on matches made from scores. This is the one place that puts names on strengths.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from camilla import __version__ as camilla_version
from camilla.arrays import Watch
from camilla.display import counted, watching
from camilla.errors import CamillaError, ConvergenceError, DataError, SettingError
from camilla.names import name_index, quoted
from camilla.parallel import HERE, check_where, parallel
from camilla.ranking import inference
from camilla.ranking import solve as solving
from camilla.ranking.compat import COMPAT, CRITICAL, eloml_glm
from camilla.ranking.inference import goodness_of_fit
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.matches import (
    AllRounds,
    Array,
    Clustered,
    Record,
    WinMatrix,
    beaten,
    in_order,
    record_of,
)
from camilla.ranking.solve import EppSolution, separated_groups, solve
from camilla.statistics.intervals import critical_value
from camilla.statistics.missingness import blocks_of, in_blocks
from camilla.table.tournament import Tournament

STANDARD_ERRORS = ("cluster", "bootstrap", "fisher")
RANKS = ("own", "joint")
FEWEST_CLUSTERS = 3  # with fewer the spread between clusters is a guess
MOST_CELLS = 200_000  # players × rounds; above, nothing is ranked twice to see what failures change
NESTED = re.compile(
    r"(?P<task>.+?)(?:[\s_/|:.-]+(?:fold|split|rep|repeat|seed|cv)?[\s_-]*|(?:fold|split|repeat|seed))"
    r"(?P<fold>\d+)",
    re.IGNORECASE,
)
WEAK_PRIOR = 1.0  # one drawn match of every player against the average player


class Uncertainty(NamedTuple):
    """A covariance of strengths (None: refused), the t that reads it, and what to say about it."""

    spread: inference.Spread | None
    rounds_df: float
    notes: tuple[str, ...]


class Estimate(NamedTuple):
    """Strengths in the order of the tournament's players, how sure they are, and what they came from."""

    solution: EppSolution
    uncertainty: Uncertainty
    counted: WinMatrix | AllRounds | Clustered
    prior: float
    matches_played: float
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
    failed: str = "not_played",
    ranks: str = "own",
    replicates: int = 1000,
    seed: int = 0,
    start: Leaderboard | None = None,
    jobs: int = 1,
    backend: str = HERE,
    progress: bool | None = None,
    watch: Watch | None = None,
) -> Leaderboard:
    """Ranks players by EPP: the difference of two EPPs is the log-odds of winning a round.

    EPP is the Elo-based Predictive Power of Gosiewska, Woźnica and Biecek (2022), a Bradley–Terry model over
    rounds, with intervals that respect rounds.

    Parameters
    ----------
    tournament : Tournament
        Scores or matches.
    matches : {"same_round", "all_rounds"}
        One match per pair and round, or every score of a player against every score of the other.
    se : {"cluster", "bootstrap", "fisher"}
        Standard errors: a sandwich over rounds (or the tournament's clusters of rounds), a bootstrap of them,
        or as if matches were independent.
    level : float
        Confidence level.
    prior : float, optional
        Weight of one drawn match of every player against the average player. By default none, and 1 if
        players are separated, which the notes then say. 0 refuses separated players.
    compat : {"eloml-glm"}, optional
        Reproduce the authors' R package instead.
    across_blocks : bool
        Whether to rank players that never met, not even through others, on one leaderboard. Otherwise they
        are refused.
    failed : str
        What a missing score is: "not_played"; "lost" to every player with a score in that round; or
        "impute=PLAYER", the score of that player in that round.
    ranks : {"own", "joint"}
        Whether each rank interval holds at the level, or all of them simultaneously.
    replicates : int
        Replicates of the bootstrap.
    seed : int
        Seed of the bootstrap.
    start : Leaderboard, optional
        Start from this leaderboard of the same players, such as the one before rounds were appended.
    jobs : int
        Processes that replicates of the bootstrap run in; −1 for one per core. The result is the same for any
        number.
    backend : {"loky", "threading", "multiprocessing", "ray"}
        Where processes run, as joblib calls it. "ray" takes the cluster of the environment variable
        RAY_ADDRESS, or starts one on this machine.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.

    Returns
    -------
    Leaderboard
        Players by EPP.

    Raises
    ------
    DataError
        Players never met, or are separated with `prior=0`.

    Examples
    --------
    >>> wins = {"player": list("abc"), "t1": [9, 5, 3], "t2": [7, 8, 4], "t3": [9, 2, 3], "t4": [6, 8, 9]}
    >>> board = camilla.epp(camilla.Tournament.from_wide(pl.DataFrame(wins)))
    >>> board.players
    ('a', 'b', 'c')
    >>> round(float(board.epp[0]), 2)
    0.34
    """
    _check_settings(se, level, prior, compat, replicates)
    idle = "without se=bootstrap nothing is spread over processes. Leave"
    check_where(jobs, backend, None if se == "bootstrap" else idle)
    if ranks not in RANKS:
        raise SettingError(f"ranks {ranks!r} is not known; expected one of {', '.join(RANKS)}.")
    if compat is not None:
        return _compatible(tournament, matches, level, failed)
    ordered = _by_rank(tournament, matches)
    record = record_of(ordered, matches, failed)
    settings = _Settings(se, prior, across_blocks, replicates, seed, _warm(start, ordered.players))
    with watching("ranking", progress, watch) as watch, parallel(backend, jobs):
        found = _estimate(record, ordered.players, settings, watch)
    board = _board(
        ordered.players,
        found,
        level=level,
        critical=critical_value(level, found.uncertainty.rounds_df),
        rounds_df=found.uncertainty.rounds_df,
        notes=found.notes + found.uncertainty.notes + design_notes(tournament),
        provenance={
            **_provenance(tournament, matches, record, found.matches_played),
            "se": se,
            "failed": failed,
            "ranks": ranks,
            "prior": found.prior,
            "across_blocks": across_blocks,
            "origin": found.solution.origin,
            "compat": None,
            "replicates": replicates if se == "bootstrap" else None,
            "seed": seed if se == "bootstrap" else None,
            "iterations": found.solution.steps,
            "gradient_norm": found.solution.gradient_norm,
        },
    )
    return replace(board, notes=board.notes + _failure_notes(board, tournament, settings))


class _Settings(NamedTuple):
    """How strengths and their errors are found."""

    se: str = "cluster"
    prior: float | None = None
    across_blocks: bool = False
    replicates: int = 1000
    seed: int = 0
    start: Array | None = None


def _estimate(record: Record, players: tuple[str, ...], settings: _Settings, watch: Watch) -> Estimate:
    if _is_smooth(record, len(players)) and settings.se == "cluster":
        assert isinstance(record, AllRounds | Clustered)
        return _smooth_estimate(record, players, settings)
    matrix = record.count()
    _check_matches(matrix, players)
    groups = separated_groups(matrix)
    apart = _block_notes(matrix, players, across_blocks=settings.across_blocks) if len(groups) > 1 else ()
    weight, notes = _prior_of(groups, players, settings.prior)
    solution = solve(matrix, prior=weight, start=settings.start)
    uncertainty = _uncertainty(record, matrix, solution, weight, settings, watch)
    if uncertainty.spread is not None and weight and settings.se != "fisher":
        inner = inference.fisher_covariance(matrix, solution, weight)
        whole = inference.Spread(uncertainty.spread.dense() + inner)
        uncertainty = uncertainty._replace(spread=whole)
    return Estimate(solution, uncertainty, matrix, weight, float(matrix.played.sum() / 2), apart + notes)


def _is_smooth(record: Record, n_players: int) -> bool:
    """Whether strengths are found without an n × n matrix."""
    rounds = record.rounds if isinstance(record, Clustered) else record
    return isinstance(rounds, AllRounds) and n_players >= solving.FEWEST_PLAYERS


def _smooth_estimate(
    record: AllRounds | Clustered, players: tuple[str, ...], settings: _Settings
) -> Estimate:
    groups = solving.overlapping_groups(record)
    weight, notes = _prior_of(groups, players, settings.prior)
    fit = solving.fit_smooth(record, weight, settings.start)
    if not fit.solution.strength.any():
        _check_matches(record.count(), players)
    refused = _refusal(record)
    spread = None if refused else inference.Spread(None, fit.factor, fit.extra, fit.diagonal)
    uncertainty = Uncertainty(spread, np.inf if refused else record.n_units - 1, refused)
    return Estimate(fit.solution, uncertainty, record, weight, solving.matches_played(record), notes)


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
    with parallel(settings.get("backend", HERE), settings.get("jobs", 1)):  # a cluster is joined once
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
    order = _order(rank.sum(axis=1) / np.maximum(seen.sum(axis=1), 1), tournament.players)
    players = tuple(tournament.players[i] for i in order)
    return replace(tournament, players=players, scores=tournament.scores[order])


def _order(strength: Array, players: tuple[str, ...]) -> NDArray[np.int64]:
    """Strongest first; those equal to nine decimals by name."""
    return np.lexsort((np.array(players), -np.round(strength, 9)))


def _check_settings(se: str, level: float, prior: float | None, compat: str | None, replicates: int) -> None:
    if se not in STANDARD_ERRORS:
        raise SettingError(f"se {se!r} is not known; expected one of {', '.join(STANDARD_ERRORS)}.")
    if compat is not None and compat not in COMPAT:
        raise SettingError(f"compat {compat!r} is not known; expected {', '.join(COMPAT)} or nothing.")
    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1; got {level:g}. 0.95 is usual.")
    if prior is not None and not (0 <= prior < np.inf):
        raise SettingError(f"prior is a number of matches, 0 or more; got {prior:g}.")
    if replicates < 2:
        raise SettingError(f"a bootstrap needs at least 2 replicates; got {replicates}. 1000 is usual.")


def _check_matches(matrix: WinMatrix, players: tuple[str, ...]) -> None:
    wins, played = matrix
    if not played.any():
        raise DataError("no two players met: no round contains two scores. Check player and round columns.")
    balanced = np.array_equal(2 * wins.sum(axis=1), played.sum(axis=1))
    if balanced and np.array_equal(2 * wins, played):
        raise DataError(
            f"all {played.sum() / 2:.0f} matches are ties, or wins and losses of each pair cancel out; "
            f"{quoted(players)} cannot be ranked. Check that the score column contains the scores."
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
        f"{len(names)} of {len(players)} players ({quoted(names)}) "
        f"{'is' if len(names) == 1 else 'are'} separated: against the others "
        "they won all, lost all or never played, so the matches alone put no bound on their EPP."
    )
    if prior == 0:
        raise DataError(said + " Add rounds, leave them out, or allow a prior (prior=1).")
    weight = WEAK_PRIOR if prior is None else prior
    return weight, (
        said + f" Every player was given {weight:g} drawn match(es) against the average player; "
        "separated players' EPP and intervals rest on that.",
    )


def _refusal(record: Record) -> tuple[str, ...]:
    """Why there are no intervals; nothing where there are."""
    units = record.n_units
    if isinstance(record, Clustered) and units < FEWEST_CLUSTERS:
        return (
            f"Intervals are refused: the rounds lie in {counted(units, 'cluster')}, and estimating how "
            f"clusters vary takes at least {FEWEST_CLUSTERS}.",
        )
    if units < 2:
        return (
            "Intervals are refused: there is one round, so how far scores vary between rounds is unknown.",
        )
    return ()


def _uncertainty(
    record: Record,
    matrix: WinMatrix,
    solution: EppSolution,
    prior: float,
    settings: _Settings,
    watch: Watch,
) -> Uncertainty:
    if refused := _refusal(record):
        return Uncertainty(None, np.inf, refused)
    if settings.se == "fisher":
        covariance = inference.fisher_covariance(matrix, solution, prior)
        return Uncertainty(inference.Spread(covariance), np.inf, ())
    df = record.n_units - 1
    if settings.se == "cluster":
        return Uncertainty(inference.cluster_spread(record, matrix, solution, prior), df, ())
    replicates = settings.replicates
    drawn = inference.bootstrap_covariance(
        record, solution, prior=prior, replicates=replicates, seed=settings.seed, watch=watch
    )
    notes: tuple[str, ...] = ()
    if drawn.n_separated and not prior:
        notes = (
            f"{drawn.n_separated} of {replicates} bootstrap replicates had separated players and were "
            "fitted with one drawn match against the average player.",
        )
    return Uncertainty(inference.Spread(drawn.covariance), df, notes)


def _failure_notes(board: Leaderboard, tournament: Tournament, settings: _Settings) -> tuple[str, ...]:
    """How cells without a score were counted, and whom the other way of counting moves most."""
    if tournament.scores is None or not np.isnan(tournament.scores).any():
        return ()
    failed = str(board.provenance["failed"])
    cells = np.isnan(tournament.scores)
    how = _counting(failed, cells, tournament)
    said = f"{int(cells.sum()):,} of {cells.size:,} cells have no score and {how}"
    other = "lost" if failed == "not_played" else "not_played"
    too_many = cells.size > MOST_CELLS or cells.mean() > 0.5
    if too_many or (other == "lost" and board.provenance["matches"] == "all_rounds"):
        return (said + ".",)
    ordered = _by_rank(tournament, board.provenance["matches"])
    plain = _Settings(prior=settings.prior, across_blocks=True)
    try:
        record = record_of(ordered, board.provenance["matches"], other)
        found = _estimate(record, ordered.players, plain, lambda _: None)
    except CamillaError:
        return (said + ".",)
    place = name_index(ordered.players)
    strength = found.solution.strength
    moved = strength[[place[name] for name in board.players]] - board.epp
    most = int(np.argmax(np.abs(moved)))
    name = board.players[most]
    rank = 1 + int((strength > strength[place[name]] + 1e-9).sum())
    return (
        f"{said}. With failed={other} the largest change is that of {name}: "
        f"EPP {board.epp[most]:.2f} to {board.epp[most] + moved[most]:.2f}, rank {most + 1} to {rank}.",
    )


def _counting(failed: str, cells: NDArray[np.bool_], tournament: Tournament) -> str:
    """What `failed` made of the cells, as the end of a sentence."""
    if failed == "not_played":
        return "count as matches not played (failed=not_played)"
    if failed == "lost":
        return "count as lost to every score of their round (failed=lost)"
    player = failed.partition("=")[2]
    open_ = int((cells & cells[tournament.players.index(player)]).sum())
    left = f"; {open_} of them are not played, because {player} has no score there" if open_ else ""
    return f"are given the score of {player} in their round (failed=impute={player}){left}"


def _compatible(tournament: Tournament, matches: str, level: float, failed: str) -> Leaderboard:
    if level != 0.95:
        raise SettingError(f"EloML's intervals are at level 0.95; got {level:g}. Leave level or compat out.")
    if tournament.clusters is not None or failed != "not_played":
        raise SettingError(
            "EloML knows no clusters and no failed cells; leave compat, or cluster and failed, out."
        )
    record = record_of(tournament, matches)
    found = eloml_glm(tournament, matches)
    matrix = record.count()
    played = float(matrix.played.sum() / 2)
    solution = EppSolution(found.epp, 0.0, found.steps, found.gradient_norm)
    uncertainty = Uncertainty(inference.Spread(found.covariance), np.inf, ())
    return replace(
        _board(
            tournament.players,
            Estimate(solution, uncertainty, matrix, 0.0, played, ()),
            level=level,
            critical=CRITICAL,
            rounds_df=np.inf,
            notes=(
                "EloML-compatible numbers: these intervals are too narrow. See docs/results/epp-coverage.md.",
            ),
            provenance={
                **_provenance(tournament, matches, record, played),
                "se": "eloml-glm",
                "failed": failed,
                "prior": 0.0,
                "across_blocks": False,
                "origin": 0.0,
                "compat": "eloml-glm",
                "replicates": None,
                "seed": None,
                "iterations": found.steps,
                "gradient_norm": found.gradient_norm,
            },
        ),
        known_fit=found.fit,
    )


def _board(players: tuple[str, ...], found: Estimate, **rest: Any) -> Leaderboard:
    """The leaderboard in order of strength."""
    strength, spread, counted = found.solution.strength, found.uncertainty.spread, found.counted
    order = _order(strength, players)
    if not np.array_equal(order, np.arange(len(order))):
        counted = in_order(counted, order)
        spread = None if spread is None else spread.take(order)
    fit = goodness_of_fit(counted, strength[order]) if isinstance(counted, WinMatrix) else None
    return Leaderboard(tuple(players[i] for i in order), strength[order], spread, counted, fit, **rest)


def _provenance(tournament: Tournament, matches: str, record: Record, played: float) -> dict[str, Any]:
    return {
        "tournament": tournament.name,
        "scheme": tournament.scheme,
        "lower_is_better": tournament.lower_is_better,
        "data": tournament.digest(),
        "players": len(tournament.players),
        "rounds": record.n_rounds,
        "clusters": record.n_units if isinstance(record, Clustered) else None,
        "units": record.n_units,
        "matches": matches,
        "matches_played": played,
        "versions": {"camilla": camilla_version, "numpy": np.__version__, "scipy": scipy.__version__},
    }


def design_notes(tournament: Tournament) -> tuple[str, ...]:
    """A warning where rounds are named like folds of tasks and no cluster was given."""
    if tournament.scores is None or tournament.clusters is not None:
        return ()
    found = [NESTED.fullmatch(name) for name in tournament.rounds]
    folds: dict[str, set[str]] = {}
    for one in found:
        if one is not None:
            folds.setdefault(one["task"], set()).add(one["fold"])
    several = {task: of for task, of in folds.items() if len(of) > 1}
    n_inside = sum(map(len, several.values()))
    if len(several) < 2 or 2 * n_inside < len(tournament.rounds) or not set.intersection(*several.values()):
        return ()
    task, first = next(iter(several.items()))
    return (
        f"Rounds look like folds of {len(several)} tasks ({task} has {len(first)}). Folds of one task depend "
        "on each other, and intervals that ignore it are too narrow: name the task's column with --cluster "
        "(cluster=… of Tournament.from_long, or clusters= of Tournament).",
    )


def _warm(start: Leaderboard | None, players: tuple[str, ...]) -> Array | None:
    """Strengths of an earlier board in this tournament's order; newcomers start at its mean."""
    if start is None:
        return None
    known = dict(zip(start.players, start.epp, strict=True))
    return np.array([known.get(name, 0.0) for name in players], np.float64)
