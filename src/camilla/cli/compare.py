"""`camilla compare`: whether B differs from A, by how much, on what."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import brief, counted, print_json, say

if TYPE_CHECKING:
    from camilla.learners.compare import Comparison
    from camilla.table.responses import ResponseTable

WORSE = 3  # exit code of --fail-if-worse


@reads_table("cluster", *options.CONTENT)
def compare(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="TABLE A B", help="A table and two learners, or two tables or log folders."),
    ],
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit code 3 when B is significantly worse than A.")
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(help="With --fail-if-worse: exit code 3 unless B is surely at most this much below A."),
    ] = None,
    flips: Annotated[int, typer.Option(min=0, help="How many flipped samples to print each way.")] = 5,
    show: options.ShowOption = 0,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Compare two learners on the samples both answered: difference, interval, test, flips."""
    from camilla.errors import SettingError
    from camilla.learners.compare import compare_two, read_two

    if margin is not None and not (fail_if_worse and 0 <= margin < 1):
        raise SettingError(f"--margin {margin:g} goes with --fail-if-worse and lies in 0 ≤ margin < 1.")

    kept = options.checked_show(show, columns) > 0
    if len(inputs) == 3:
        table, a, b = _table(Path(inputs[0]), columns, inputs[1:], content=kept), inputs[1], inputs[2]
    elif len(inputs) == 2:
        table, a, b, notes = read_two(inputs[0], inputs[1], **columns.options(content=kept))
        columns.say(notes)
    else:
        raise SettingError(
            f"{counted(len(inputs), 'argument')} came; wanted TABLE A B (two learners of one table), "
            "or two tables."
        )
    columns.refuse_idle_weight(table)
    found = compare_two(table, a, b, level=level)
    if json:
        print_json(found.to_document(show=show))
    else:
        say(found.text(flips=flips, show=show))
    if fail_if_worse and found.is_worse(margin):
        say(f"failed: {_reason(found, margin)}", err=True)
        raise typer.Exit(WORSE)


def _table(path: Path, columns: TableOptions, learners: list[str], *, content: bool) -> "ResponseTable":
    """The table; of one larger than memory the rows of the two learners alone."""
    if not columns.is_large(path):
        return columns.read(path, content=content)
    from camilla.reading.parts import read_learners

    columns.refuse("on a table larger than memory", but=("learner", "sample", "response", "no_content"))
    return read_learners(path, learners, **columns.columns())


def _reason(found: "Comparison", margin: float | None) -> str:
    if margin is None:
        return f"{brief(found.b)} is worse than {brief(found.a)}."
    return f"it is not shown that {brief(found.b)} is at most {margin:g} below {brief(found.a)}."
