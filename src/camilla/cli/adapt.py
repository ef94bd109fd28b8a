"""`camilla adapt`: adaptive testing, live over lines of JSON or played over a stored log."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.output import print_frame, print_json, progress
from camilla.cli.table_options import TableOptions, reads_table

if TYPE_CHECKING:
    from camilla.adaptive.replay import Replay


@reads_table("task")
def adapt(
    table: options.Table,
    replay: Annotated[
        bool, typer.Option("--replay", help="Play tests over the table instead of asking for responses.")
    ] = False,
    budget: Annotated[int | None, typer.Option(help="Stop after this many responses.")] = None,
    score_se: Annotated[float | None, typer.Option(help="Stop at this standard error of the score.")] = None,
    ability_se: Annotated[
        float | None, typer.Option(help="Stop at this standard error of the ability.")
    ] = None,
    shares: Annotated[str, typer.Option(help="Replay: shares of the samples to ask.")] = "0.05,0.1,0.15,0.25",
    calibration: Annotated[
        float, typer.Option(help="Replay: share of the learners that samples are calibrated on.")
    ] = 0.8,
    splits: Annotated[int, typer.Option(help="Replay: random splits of the learners.")] = 10,
    dimensions: Annotated[int | None, typer.Option(help="Dimensions of the richer models.")] = None,
    *,
    columns: TableOptions,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Test a learner on the samples that tell most, calibrated on the learners of a table."""
    from camilla.adaptive.protocol import answers
    from camilla.adaptive.replay import replay as play
    from camilla.adaptive.testing import AdaptiveTest

    responses = columns.read(table)
    if replay:
        with progress("replaying") as watch:
            found = play(
                responses, shares=_shares(shares), calibration=calibration, splits=splits,
                dimensions=dimensions, seed=seed, watch=watch,
            )  # fmt: skip
        _show(found, json=json)
        return
    with progress("calibrating") as watch:
        test = AdaptiveTest.from_table(
            responses, dimensions=dimensions, seed=seed, watch=watch,
            budget=budget, score_se=score_se, ability_se=ability_se,
        )  # fmt: skip
    for line in answers(test, sys.stdin):
        typer.echo(line)


def _show(found: "Replay", *, json: bool) -> None:
    if json:
        print_json(
            {
                "provenance": found.provenance,
                "shares": found.shares.to_dicts(),
                "splits": found.splits.to_dicts(),
            }
        )
        return
    made = found.provenance["settings"]
    print_frame(
        found.shares,
        title=f"{made['splits']} splits, samples calibrated on {made['calibration']:.0%} of "
        f"{found.provenance['n_learners']} learners, the others tested: Kendall and mean absolute error with "
        "the full-table score; random: accuracy on random subsets of the same size",
    )


def _shares(text: str) -> tuple[float, ...]:
    from camilla.errors import SettingError

    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingError(f"--shares takes numbers with commas, not {text!r}.") from None
