"""`camilla check`: what to know of a table before believing anything computed from it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.display import print_json, progress, say

if TYPE_CHECKING:
    from camilla.experiments.control import Control
    from camilla.learners.check import TableFinding


@reads_table("cluster")
def check(
    table: options.TableOption,
    with_: Annotated[str, typer.Option("--with", help="Diagnoser of the permutation control.")] = "irt",
    fit: Annotated[
        bool, typer.Option("--fit/--no-fit", help="Whether to run the permutation control.")
    ] = True,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Check a table: constants, copies, gaps, dimensions, and a permutation control of a fit."""
    from camilla.errors import DataError
    from camilla.learners.check import TableFinding, check

    responses = columns.read(table)
    found = check(responses, seed=seed)
    control = None
    if fit:
        from camilla.diagnosing import diagnoser_named
        from camilla.experiments.control import permutation_control

        diagnoser_named(with_)
        try:
            with progress("control") as watch:
                control = permutation_control(responses, with_, seed=seed, watch=watch)
        except DataError as error:
            left_out = TableFinding(f"{with_} fit", "warning", f"left out: {str(error).rstrip('.')}")
            found = replace(found, findings=(*found.findings, left_out))
    if json:
        print_json(found.to_document() | {"control": None if control is None else _document(control)})
        return
    if control is not None:
        found = replace(found, findings=(*found.findings, _finding(control)))
    say(found.text())


def _finding(control: "Control") -> "TableFinding":
    from camilla.learners.check import TableFinding

    gains = [one.gain for one in control.permuted]
    says = (
        f"knowing learners takes {control.real.gain:+.4f} off the error of sample means; with responses "
        f"permuted within samples {min(gains):+.4f} to {max(gains):+.4f}"
    )
    if not control.holds:
        return TableFinding(f"{control.diagnoser} fit", "warning", f"{says}: it finds nothing about learners")
    if not control.is_clean:
        return TableFinding(
            f"{control.diagnoser} fit", "warning", f"{says}: it finds learners where there are none"
        )
    return TableFinding(
        f"{control.diagnoser} fit", "fine", f"{says}: what it says of learners is in the responses"
    )


def _document(control: "Control") -> dict[str, Any]:
    return {
        "diagnoser": control.diagnoser,
        "real": control.real._asdict(),
        "permuted": [one._asdict() for one in control.permuted],
        "n_learners": control.n_learners,
        "n_samples": control.n_samples,
        "holds": control.holds,
        "is_clean": control.is_clean,
    }
