"""`camilla experiment`: the protocols of the Camilla paper on any table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.completing import diagnosers, one_of
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_frame, print_json, progress, say
from camilla.names import shown

if TYPE_CHECKING:
    import polars as pl

    from camilla.table.responses import ResponseTable

TITLES = {
    "reliability": "on responses no fit saw",
    "rank-consistency": "ability against mean responses",
    "rank-stability": "ability on disjoint samples",
}
UNSEEN = ("unseen-samples", "unseen-learners", "unseen-tasks")
UNSEEN_SCORES = ("auc", "log_loss", "rmse", "r2")


@reads_table("skills", "skill_graph", "cluster", *options.FEATURES)
def experiment(
    name: Annotated[
        str,
        typer.Argument(
            help="reliability, rank-consistency, rank-stability, assumptions, unseen-samples, "
            "unseen-learners or unseen-tasks.",
            autocompletion=one_of(*TITLES, "assumptions", *UNSEEN),
        ),
    ],
    tables: Annotated[
        list[Path], typer.Argument(metavar="TABLE…", help="Responses: CSV, TSV, JSONL or Parquet.")
    ],
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="Diagnosers, comma-separated, settings after colons; or all.",
            autocompletion=diagnosers,
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds, comma-separated; by default the ten seeds of the paper.")
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="rank-stability: partition sizes in samples, comma-separated.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option(help="unseen-…: number of parts, each held out once; default 5.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Parquet file that keeps results, and from which finished runs are reused."
        ),
    ] = None,
    jobs: options.JobsOption = -1,
    backend: options.BackendOption = "loky",
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Compare diagnosers on held-out responses, samples, learners or tasks; finished runs are reused.

    Example: camilla experiment reliability responses.csv --with vanilla,irt --seeds 1,2
    """
    from camilla.experiments.results import experiment_summary, read_results
    from camilla.experiments.running import SEEDS
    from camilla.experiments.running import experiment as run

    read = {path.stem: columns.read(path) for path in tables}
    _check_names(read, tables)
    with progress("experiment") as watch:
        results = run(
            name, read, diagnosers=None if with_ is None else _names(with_),
            seeds=SEEDS if seeds is None else [*map(options.checked_seed, _numbers("--seeds", seeds))],
            sizes=None if sizes is None else _numbers("--sizes", sizes),
            folds=folds, store=output, jobs=jobs, backend=backend, watch=watch,
        )  # fmt: skip
    if json:
        means = [] if name == "assumptions" else experiment_summary(results).to_dicts()
        print_json({"verdict": "done", "results": results.to_dicts(), "summary": means}, "experiment")
    elif name == "assumptions":
        _print_assumptions(results)
    elif name in UNSEEN:
        _print_unseen(name, experiment_summary(results))
    else:
        _print_means(name, experiment_summary(results))
    if output is not None:
        held = read_results(output).height
        say(f"{shown(str(output))} contains {held} rows, {results.height} of them from this run.", err=json)


def _check_names(read: "dict[str, ResponseTable]", tables: list[Path]) -> None:
    from camilla.errors import SettingError

    if len(read) < len(tables):
        raise SettingError("two tables have the same file name, under which results are stored. Rename one.")


def _print_means(name: str, means: "pl.DataFrame") -> None:
    """One line per diagnoser, of the scores a person compares; all of them are in --json and the file."""
    import polars as pl

    from camilla.experiments.results import wide

    scores: tuple[str, ...] = ("kendall", "spearman")
    by: tuple[str, ...] = ("comparison", "size", "diagnoser")
    if name == "reliability":
        scores, by = (("auc", "rmse") if "auc" in means["score"] else ("mae", "rmse")), ("diagnoser",)
    elif name == "rank-consistency":
        by = ("comparison", "diagnoser")
    for (table,), part in means.group_by("table", maintain_order=True):
        seconds = part.group_by(by, maintain_order=True).agg(pl.col("seconds").mean())
        frame = wide(part, scores, by).join(seconds, on=by, nulls_equal=True, maintain_order="left")
        print_frame(
            frame.sort(by[:-1], maintain_order=True) if len(by) > 1 else frame,
            title=f"{shown(str(table))}: {TITLES[name]}, mean over seeds and 95 % intervals (Student's t)",
        )


def _print_unseen(name: str, means: "pl.DataFrame") -> None:
    """What each contender scores, and by how much that is better than the constant."""
    import polars as pl

    from camilla.experiments.results import wide

    what = name.replace("-", " ")
    for (table,), part in means.group_by("table", maintain_order=True):
        scores = tuple(score for score in UNSEEN_SCORES if score in part["score"])
        for gain in (False, True):
            some = part.filter(pl.col("comparison").is_not_null() == gain)
            best = pl.col("mean").filter(pl.col("score") == scores[0]).first().over("diagnoser")
            frame = wide(some.sort(best, descending=scores[0] == "auc"), scores[:2], ("diagnoser",))
            title = f"gain over the constant on {what}; positive is better" if gain else f"on {what}"
            if gain:
                frame = frame.filter(pl.col("diagnoser") != "constant")
            if len(frame):
                print_frame(
                    frame, title=f"{shown(str(table))}: {title}, 95 % intervals over what was held out"
                )


def _print_assumptions(results: "pl.DataFrame") -> None:
    """The boxes of Figure 4A as numbers, and how alike pairs of learners are."""
    import polars as pl

    value = pl.col("value")
    box = [
        value.min().alias("least"), value.quantile(0.25).alias("quarter"), value.median().alias("median"),
        value.quantile(0.75).alias("three quarters"), value.max().alias("most"),
    ]  # fmt: skip
    for (name,), part in results.group_by("table", maintain_order=True):
        table = shown(str(name))
        skills = part.filter(pl.col("score") == "accuracy").group_by("learner", maintain_order=True)
        if len(frame := skills.agg(pl.len().alias("skills"), *box)):
            print_frame(frame, title=f"{table}: accuracy of a learner over the skills")
        pairs = part.filter(pl.col("other").is_not_null()).group_by("score", maintain_order=True)
        print_frame(pairs.agg(pl.len().alias("pairs"), *box), title=f"{table}: how alike two learners are")


def _names(text: str) -> list[str]:
    from camilla.errors import SettingError

    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise SettingError(f"--with takes comma-separated names of diagnosers; {text!r} has none.")
    return names


def _numbers(option: str, text: str) -> list[int]:
    from camilla.errors import SettingError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"{option} takes comma-separated whole numbers, not {text!r}.") from None
