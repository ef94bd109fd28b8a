"""`camilla epp`: scores in, a leaderboard with intervals out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from camilla.cli.options import FROM_FILE, BackendOption, JobsOption, checked_seed
from camilla.display import aside, print_json, progress, say

REPLICATES = 1000
MOST_PROBLEMS = 10  # tournaments whose problem is printed

if TYPE_CHECKING:
    from camilla.ranking.boards import Drawing
    from camilla.ranking.inference import Findings
    from camilla.ranking.leaderboard import Leaderboard
    from camilla.table.tournament import Tournament


def epp(
    scores: Annotated[
        Path,
        typer.Argument(help="A table: long, wide, or a list of matches; or a folder of MTEB's results."),
    ],
    player: Annotated[str | None, typer.Option(help="Column of the player.")] = None,
    round_: Annotated[
        str | None, typer.Option("--round", help="Column of the round; several columns: task,fold.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Column of the cluster: rounds that depend on each other, such as folds of a task."
        ),
    ] = None,
    score: Annotated[str | None, typer.Option(help="Column of the score.")] = None,
    tournament: Annotated[
        str | None, typer.Option(help="Column of the tournament, if there are several.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Wide table: a column that is not a round; may be repeated.")
    ] = None,
    average_metrics: Annotated[
        bool, typer.Option("--average-metrics", help="Wide table: task_a, task_b and 91.0/88.5 are one task.")
    ] = False,
    player_a: Annotated[str | None, typer.Option(help="Match list: column of the first player.")] = None,
    player_b: Annotated[str | None, typer.Option(help="Match list: column of the second player.")] = None,
    winner: Annotated[str | None, typer.Option(help="Match list: a name, a, b, left, right or tie.")] = None,
    probability: Annotated[str | None, typer.Option(help="Match list: P(first player wins).")] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="Text that stands for a missing score; may be repeated.")
    ] = None,
    lower_is_better: Annotated[
        bool | None, typer.Option("--lower-is-better/--higher-is-better", help="Direction of the score.")
    ] = None,
    failed: Annotated[
        str, typer.Option(help="A cell without a score is not_played, lost, or impute=PLAYER.")
    ] = "not_played",
    matches: Annotated[
        str, typer.Option(help="same_round, or all_rounds: scores of different rounds are compared too.")
    ] = "same_round",
    se: Annotated[str, typer.Option(help="cluster (by round), bootstrap (of rounds) or fisher.")] = "cluster",
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    ranks: Annotated[
        str, typer.Option(help="Rank intervals that are correct one by one (own) or all at once (joint).")
    ] = "own",
    prior: Annotated[
        float | None, typer.Option(help="Number of drawn matches to add against the average player.")
    ] = None,
    across_blocks: Annotated[
        bool, typer.Option("--across-blocks", help="Rank players together that no match connects.")
    ] = False,
    replicates: Annotated[int | None, typer.Option(help="Bootstrap replicates; default 1000.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", callback=checked_seed)] = 0,
    jobs: JobsOption = 1,
    backend: BackendOption = "loky",
    test: Annotated[tuple[str, str] | None, typer.Option(help="Two players to test, A B.")] = None,
    plan: Annotated[
        float | None,
        typer.Option(help="Print how many rounds detect this difference of EPP, also for --test A B."),
    ] = None,
    friedman: Annotated[
        bool,
        typer.Option("--friedman", help="Add Friedman's test, mean ranks and Nemenyi's critical difference."),
    ] = False,
    search: Annotated[
        int | None, typer.Option(help="Chance that this many more configurations beat an algorithm's best.")
    ] = None,
    teams: Annotated[
        Path | None,
        typer.Option(help="Table with the columns team and member: estimate the strength of each member."),
    ] = None,
    picture: Annotated[
        list[str] | None, typer.Option(help="A player to draw in rounds.png; may be repeated.")
    ] = None,
    elo: Annotated[bool, typer.Option("--elo", help="Add ratings on Elo's 400-point scale.")] = False,
    compat: Annotated[
        str | None, typer.Option(help="eloml-glm: reproduce the numbers of EloML 0.3.1.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for tables and pictures.")
    ] = None,
) -> None:
    """Rank players by EPP: differences are log-odds of winning, with intervals clustered by round.

    Example: camilla epp scores.csv --player model --round task
    """
    from camilla.errors import SettingError
    from camilla.ranking.epp import epp_each
    from camilla.reading.tournaments import Columns, usable_tournaments

    if replicates is not None and se != "bootstrap":
        raise SettingError("--replicates does nothing without --se bootstrap.")
    if se != "bootstrap" and (jobs, backend) != (1, "loky"):
        if not {"jobs", "backend"} & FROM_FILE.get():
            raise SettingError("--jobs and --backend do nothing without --se bootstrap.")
        jobs, backend = 1, "loky"
    if picture and output is None:
        raise SettingError("--picture does nothing without -o, the folder for pictures.")
    columns = Columns(
        player,
        round_,
        score,
        tournament,
        player_a,
        player_b,
        winner,
        probability,
        tuple(ignore or ()),
        cluster,
    )
    found = usable_tournaments(
        scores,
        columns,
        lower_is_better=lower_is_better,
        average_metrics=average_metrics,
        missing=tuple(missing or ()),
    )
    with progress("ranking") as watch:
        ranked = epp_each(
            found.usable,
            matches=matches,
            se=se,
            level=level,
            prior=prior,
            compat=compat,
            across_blocks=across_blocks,
            failed=failed,
            ranks=ranks,
            replicates=REPLICATES if replicates is None else replicates,
            seed=seed,
            jobs=jobs,
            backend=backend,
            watch=watch,
        )
    boards, problems = ranked.boards, found.problems | ranked.problems
    _say_problems(problems, n_ranked=len(boards))
    findings = _findings(
        boards,
        found.usable,
        test,
        planned=plan,
        with_friedman=friedman,
        budget=search,
        members=_members(teams),
    )
    if output is not None:
        from camilla.ranking.boards import write_boards

        where = write_boards(boards, found.usable, output, findings, drawing=_drawing(picture))
        aside(f"Leaderboard written to {where}.")
    if json:
        _print_json(boards, findings, problems, elo=elo)
    else:
        say(_as_text(boards, findings, elo=elo))


def _members(path: Path | None) -> dict[str, tuple[str, ...]] | None:
    """Members by team, where a table of them was given."""
    from camilla.ranking.teams import read_members

    return None if path is None else read_members(path)


def _drawing(players: list[str] | None) -> "Drawing | None":
    """What draws, where Matplotlib is installed; without it tables are written, and a note says so."""
    from camilla.errors import MissingPackageError
    from camilla.ranking.boards import Drawing

    try:
        from camilla.show.pictures.epp import draw_algorithms, draw_board
    except MissingPackageError as missing:
        aside(f"note: only tables are written; {missing}")
        return None
    return Drawing(partial(draw_board, players=players), draw_algorithms)


def _say_problems(problems: dict[str, str], *, n_ranked: int) -> None:
    """What kept tournaments from being ranked, on standard error; an error if none could be."""
    from camilla.errors import DataError
    from camilla.names import shown

    if n_ranked == 0 and list(problems) == [""]:
        raise DataError(problems[""])
    lines = [f"tournament {name!r} cannot be ranked: {problem}" for name, problem in problems.items()]
    if len(lines) > MOST_PROBLEMS:
        lines[MOST_PROBLEMS:] = [f"{len(lines) - MOST_PROBLEMS} more tournaments cannot be ranked."]
    if n_ranked == 0:
        raise DataError("\n".join([f"none of the {len(problems)} tournaments can be ranked.", *lines]))
    for line in lines:
        say(f"warning: {shown(line)}", err=True)


def _findings(
    boards: "dict[str, Leaderboard]",
    tournaments: "dict[str, Tournament]",
    test: tuple[str, str] | None,
    **questions: Any,
) -> "dict[str, Findings]":
    """Fit by rounds and the test that was asked for; a tournament without one of the players has no test."""
    from camilla.errors import DataError
    from camilla.names import shown
    from camilla.ranking.boards import asked

    findings, problems = {}, {}
    for name, board in boards.items():
        try:
            findings[name] = asked(board, tournaments[name], test and [test], **questions)
        except DataError as error:
            problems[name] = error
            findings[name] = asked(board, tournaments[name])
    if len(problems) == len(boards):
        raise next(iter(problems.values()))
    for name, problem in problems.items():
        say(f"warning: {shown(f'tournament {name!r} has no test: {problem}')}", err=True)
    return findings


def _print_json(
    boards: "dict[str, Leaderboard]",
    findings: "dict[str, Findings]",
    problems: dict[str, str],
    *,
    elo: bool,
) -> None:
    from camilla.ranking.board_folder import as_document
    from camilla.ranking.boards import compare_fits

    documents = {name: as_document(board, findings[name], elo=elo) for name, board in boards.items()}
    if list(documents) == [""]:
        print_json({"verdict": boards[""].verdict} | documents[""], "epp")
        return
    verdict = "ranked in part" if problems else "ranked"
    comparison = compare_fits(boards, findings).to_dicts()
    whole = {"tournaments": documents, "comparison": comparison, "problems": problems}
    print_json({"verdict": verdict} | whole, "epp-tournaments")


def _as_text(boards: "dict[str, Leaderboard]", findings: "dict[str, Findings]", *, elo: bool) -> str:
    from camilla.display import as_text
    from camilla.names import shown
    from camilla.ranking.boards import compare_fits, fits_grid

    parts = [
        (f"== {shown(name)} ==\n" if name else "") + board.text(findings=findings[name], elo=elo)
        for name, board in boards.items()
    ]
    if len(boards) > 1:
        units = next(iter(boards.values())).fit_units  # a column of clusters is one of the whole table
        parts.append(as_text([fits_grid(compare_fits(boards, findings), units)]))
    return "\n\n".join(parts)
