"""`camilla items`: which samples a benchmark owner should look at."""

from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import brief, print_frame, print_json, progress

if TYPE_CHECKING:
    from camilla.samples.items import SampleQuality


@reads_table()
def items(
    table: options.TableOption,
    samples: Annotated[int, typer.Option(min=0, help="How many samples to print.")] = 15,
    rate: Annotated[float, typer.Option(help="Share of false flags accepted, of each kind.")] = 0.05,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Judge every sample: difficulty, discrimination, fit, and what is odd about it, worst first."""
    from camilla.samples.items import items

    responses = columns.read(table)
    with progress("judging samples") as watch:
        found = items(responses, rate=rate, seed=seed, watch=watch)
    if json:
        print_json(
            {
                "provenance": found.provenance,
                "samples": found.samples.to_dicts(),
                "twins": found.twins.to_dicts(),
            }
        )
        return
    _print(found, samples)


def _print(found: "SampleQuality", samples: int) -> None:
    import polars as pl

    made = found.provenance
    print_frame(
        found.samples.head(samples).select(
            "sample", "flags", "accuracy", "n", "discrimination",
            pl.col("discrimination_low").alias("low"), pl.col("discrimination_high").alias("high"),
            "item_rest", "infit", "outfit", "mislabelled",
        ),
        title=f"{made['n_samples']} samples by {made['n_learners']} learners, those to look at first",
    )  # fmt: skip
    for row in (
        found.samples.head(samples).filter(pl.col("flags").str.contains("mislabelled|negative")).to_dicts()
    ):
        failed = ", ".join(map(brief, row["failed_by"])) or "none"
        solved = ", ".join(map(brief, row["solved_by"])) or "none"
        typer.echo(
            f"{brief(row['sample'])}: able learners that fail: {failed}; weak ones that solve: {solved}."
        )
    counts = found.flagged()["flags"].str.split(", ").explode().value_counts().sort("flags")
    said = ", ".join(f"{count} {flag}" for flag, count in counts.iter_rows()) or "none"
    typer.echo(f"Flagged: {said}. At most {made['settings']['rate']:.0%} of a kind are expected to be false.")
    for row in found.twins.head(3).to_dicts():
        typer.echo(
            f"Nearly the same responses: {brief(row['sample'])} and {brief(row['twin'])} "
            f"({row['agreement']:.1%} equal, residual correlation {row['residual_correlation']:.2f})."
        )
    if (more := made["twin_pairs"] - 3) > 0:
        typer.echo(f"{more} pairs more; --json has the closest {found.twins.height} of all.")
