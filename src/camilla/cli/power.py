"""`camilla power`: how many samples show a difference, and what difference samples show."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import counted, print_json, say

if TYPE_CHECKING:
    from camilla.table.responses import ResponseTable


@reads_table("cluster")
def power(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE] [A B]", help="A table of earlier responses, and two of its learners."
        ),
    ] = None,
    difference: Annotated[
        list[float] | None,
        typer.Option(help="A difference of means that you want to detect; may be repeated."),
    ] = None,
    samples: Annotated[list[int] | None, typer.Option(help="A number of samples; may be repeated.")] = None,
    discordance: Annotated[
        float | None, typer.Option(help="Share of samples that exactly one of the two learners gets right.")
    ] = None,
    sd: Annotated[float | None, typer.Option(help="Standard deviation of the difference per sample.")] = None,
    trials: Annotated[int | None, typer.Option(help="Number of trials per sample.")] = None,
    trial_share: Annotated[
        float | None,
        typer.Option(help="Share of the variance of a difference that is noise within a sample."),
    ] = None,
    cluster_size: Annotated[float | None, typer.Option(help="Samples per cluster.")] = None,
    icc: Annotated[
        float | None, typer.Option(help="Intraclass correlation of the differences within a cluster.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Plan compare --fail-if-worse --margin: how often an equally good learner passes."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="task: plan a gate that also tests each task, as compare --by task does."),
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=2, help="With --by task and no TABLE: number of tasks, all alike.")
    ] = None,
    target: Annotated[
        float, typer.Option("--power", help="Power: chance to detect a difference that exists.")
    ] = 0.8,
    alpha: Annotated[
        float, typer.Option(help="Significance level: chance to report a difference that does not exist.")
    ] = 0.05,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Plan an evaluation: how many samples show a difference, or what difference your samples can show.

    Example: camilla power --discordance 0.1 --difference 0.02
    """
    from camilla.learners.power import power as plan
    from camilla.statistics.power import Design

    learners: tuple[str, str] | None = None
    source: Design | ResponseTable
    if inputs:
        learners = _learners(inputs)
        source = columns.read(Path(inputs[0]))
        columns.refuse_idle_weight(source)
        _refuse_both(discordance, sd)
    else:
        columns.refuse("without a TABLE")
        source = Design(discordance=discordance, sd=sd)
    found = plan(
        source,
        learners,
        differences=difference or (),
        samples=samples or (),
        power=target,
        alpha=alpha,
        trials=trials,
        trial_share=trial_share,
        cluster_size=cluster_size,
        icc=icc,
        margin=margin,
        by=by,
        tasks=tasks,
    )
    if json:
        print_json(found.to_document(), "power")
    else:
        say(found.text())


def _learners(inputs: list[str]) -> tuple[str, str] | None:
    from camilla.errors import SettingError

    if len(inputs) not in (1, 3):
        raise SettingError(f"got {counted(len(inputs), 'argument')}. Give none, TABLE, or TABLE A B.")
    return (inputs[1], inputs[2]) if len(inputs) == 3 else None


def _refuse_both(discordance: float | None, sd: float | None) -> None:
    from camilla.errors import SettingError

    if discordance is not None or sd is not None:
        raise SettingError(
            "--discordance and --sd are estimated from the table. Leave out these options, or the table."
        )
