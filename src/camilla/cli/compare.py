"""`camilla compare`: whether B differs from A, by how much, on what."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import counted, print_json, say

if TYPE_CHECKING:
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
    by: Annotated[
        str | None,
        typer.Option(
            help="With --fail-if-worse: task, to fail also if B is worse on any task (Holm over tasks)."
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK=LOSS", help="With --by task: how far B may be below A on it, 0.02; may be repeated."
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="With --fail-if-worse: exit code 3 unless B is shown to be at most this much below A."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a comment for a pull request.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write the comment to a file (.md), in addition to the printed output."
        ),
    ] = None,
    flips: Annotated[
        int, typer.Option(min=0, help="How many flipped samples to print in each direction.")
    ] = 5,
    show: options.ShowOption = 0,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    *,
    columns: TableOptions,
    json: options.JsonOption = False,
) -> None:
    """Compare two learners on the samples both answered: difference, interval, test, flips.

    Example: camilla compare logs/baseline logs/candidate --fail-if-worse
    """
    from camilla.errors import SettingError
    from camilla.learners.compare import compare_two

    if not fail_if_worse and (idle := _idle(margin=margin, by=by, allow=allow)):
        raise SettingError(f"--{idle} needs --fail-if-worse.")
    _check_comment(output, inputs, markdown=markdown, idle="--json" if json else "--show" if show else "")
    losses = _losses(allow or [])
    table, a, b = _read(inputs, columns, content=options.checked_show(show, columns) > 0)
    columns.refuse_idle_weight(table)
    found = compare_two(table, a, b, level=level)
    gate = found.gate(by=by, margin=margin, allow=losses) if fail_if_worse else None
    if output is not None:
        _write(found.markdown(gate, flips=flips), output)
    if json:
        print_json(found.to_document(show=show, gate=gate), "compare")
    elif markdown:
        say(found.markdown(gate, flips=flips), end="")
    else:
        say(found.text(flips=flips, show=show))
        if gate is not None:
            say(gate.sight.sentence)
    if gate is not None and gate.failed:
        for reason in gate.reasons:
            say(f"failed: {reason}", err=True)
        raise typer.Exit(WORSE)


def _check_comment(output: Path | None, inputs: list[str], *, markdown: bool, idle: str) -> None:
    """Whether the comment can be written or printed as asked; `idle` is an option that prints otherwise."""
    from camilla.errors import SettingError
    from camilla.table.files import require_folder

    if markdown and idle:
        raise SettingError(
            f"--markdown is printed alone; leave out {idle}, or write the comment to a file with -o FILE.md."
        )
    if output is not None and output.suffix.lower() != ".md":
        raise SettingError(f"{output}: the comment is Markdown; give a name that ends in .md.")
    if output is not None:
        require_folder(output)
    options.keep_input(output, map(Path, inputs))


def _write(comment: str, output: Path) -> None:
    """A reader never meets half a comment."""
    from camilla.table.files import whole_file

    with whole_file(output) as draft:
        draft.write_text(comment, encoding="utf-8")


def _read(inputs: list[str], columns: TableOptions, *, content: bool) -> tuple["ResponseTable", str, str]:
    """The table and its two learners."""
    from camilla.errors import SettingError
    from camilla.learners.two_sources import read_two

    if len(inputs) == 3:
        return _table(Path(inputs[0]), columns, inputs[1:], content=content), inputs[1], inputs[2]
    if len(inputs) != 2:
        raise SettingError(
            f"got {counted(len(inputs), 'argument')}; expected TABLE A B (two learners of one table), "
            "or two tables."
        )
    table, a, b, notes = read_two(inputs[0], inputs[1], **columns.options(content=content))
    columns.say(notes)
    return table, a, b


def _table(path: Path, columns: TableOptions, learners: list[str], *, content: bool) -> "ResponseTable":
    """The table; of one larger than memory the rows of the two learners alone."""
    if not columns.is_large(path):
        return columns.read(path, content=content)
    from camilla.reading.parts import read_learners

    columns.refuse("on a table larger than memory", but=("learner", "sample", "response", "no_content"))
    return read_learners(path, learners, **columns.columns())


def _idle(**given: object) -> str | None:
    return next((name for name, value in given.items() if value not in (None, [])), None)


def _losses(given: list[str]) -> dict[str, float]:
    """What each task may lose, from TASK=0.02."""
    from camilla.errors import SettingError

    losses: dict[str, float] = {}
    for text in given:
        task, _, loss = text.rpartition("=")
        try:
            allowed = float(loss)
        except ValueError:
            task = ""
        if not task:
            raise SettingError(f"--allow {text!r}: expected a task and what it may lose, TASK=0.02.")
        if task in losses:
            raise SettingError(f"--allow {text!r}: {task!r} may already lose {losses[task]:g}. Keep one.")
        losses[task] = allowed
    return losses
