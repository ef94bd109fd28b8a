"""`camilla rank`: learners by mean response, and which of them can be told apart."""

from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import brief, percent, print_frame, print_json, progress

if TYPE_CHECKING:
    from camilla.learners.rank import Ranking

GROUPS = 12  # printed


@reads_table("cluster")
def rank(
    table: options.TableOption,
    learners: Annotated[int, typer.Option(min=0, help="How many learners to print.")] = 20,
    level: Annotated[float, typer.Option(help="Coverage of intervals, ranks and groups.")] = 0.95,
    pairs: Annotated[bool, typer.Option("--pairs", help="With --json: every pair of learners.")] = False,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Rank learners by mean response: intervals, possible ranks, groups that cannot be told apart."""
    from camilla.errors import SettingError
    from camilla.learners.rank import rank

    if pairs and not json:
        raise SettingError("--pairs goes with --json.")
    responses = columns.read(table)
    columns.refuse_idle_weight(responses)
    with progress("ranking") as watch:
        found = rank(responses, level=level, watch=watch)
    if json:
        print_json(found.to_document(pairs=pairs))
    else:
        _print(found, learners)


def _print(found: "Ranking", learners: int) -> None:
    import polars as pl

    made = found.provenance
    frame = found.rows.head(learners).select(
        "rank", "learner", "mean", "low", "high",
        pl.format("{}–{}", "rank_low", "rank_high").alias("ranks"), "n",
    )  # fmt: skip
    clusters = f" in {made['n_clusters']} clusters" if made["n_clusters"] is not None else ""
    print_frame(
        frame,
        title=f"{len(found.learners)} learners by mean response on {made['n_samples']} samples{clusters}; "
        f"{percent(found.level)} intervals, ranks that hold together",
    )
    groups = [f"{first}–{last}" for first, last in found.groups if last > first]
    more = f" and {len(groups) - GROUPS} groups more" if len(groups) > GROUPS else ""
    said = ", ".join(groups[:GROUPS]) + more if groups else "none"
    typer.echo(f"Cannot be told apart (paired tests, Holm over all pairs), by rank: {said}.")
    may = found.rows.filter(pl.col("rank_low") == 1)["learner"]
    first = ", ".join(brief(name) for name in may.head(5)) + (
        f" and {len(may) - 5} more" if len(may) > 5 else ""
    )
    typer.echo(f"May be first: {first}.")
    for note in found.notes:
        typer.echo(f"note: {note}")
