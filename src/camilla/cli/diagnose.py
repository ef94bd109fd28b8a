"""`camilla diagnose`: responses in, a saved diagnosis and a leaderboard out."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.options import TableOptions, reads_table
from camilla.cli.show import show_document
from camilla.display import print_json, progress, say

if TYPE_CHECKING:
    from camilla.arrays import Watch
    from camilla.diagnosis import Diagnosis
    from camilla.table.responses import ResponseTable
    from camilla.table.skills import SkillMap


@reads_table("skills", "skill_graph", *options.CONTENT)
def diagnose(
    table: options.TableOption,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder the diagnosis is written to.")],
    with_: Annotated[
        str, typer.Option("--with", help="Diagnoser, with settings if any: mirt:dimensions=5.")
    ] = "auto",
    across_blocks: options.AcrossBlocksOption = False,
    *,
    columns: TableOptions,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Diagnose every learner and sample of a table of responses."""
    from camilla.diagnosis_folder import make_way

    responses = columns.read(table, content=True)
    make_way(output)
    found = run(responses, with_, seed, across_blocks=across_blocks)
    found.save(output)
    if json:
        print_json(show_document(found))
    else:
        say(found.text(learners=10, samples=5))
        say(f"Diagnosis written to {output}. Show it again with: camilla show {output}")


def run(table: "ResponseTable", text: str, seed: int, *, across_blocks: bool = False) -> "Diagnosis":
    """The diagnosis that `--with` asks for; standard error says so where a fit did not converge."""
    from camilla.diagnosing import diagnose as fit

    with fitting(text) as watch:
        found = fit(table, text, seed=seed, across_blocks=across_blocks, watch=watch)
    if found.readout.explicit and table.skill_map is not None:
        warn_of_skills(table.skill_map)
    return found


@contextmanager
def fitting(name: str) -> "Iterator[Watch]":
    """Progress while a diagnoser is fitted, and its warnings when it is done, on standard error."""
    with progress(f"diagnosing with {name}") as watch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield watch
    for warning in said:
        say(f"warning: {warning.message}", err=True)


def warn_of_skills(skill_map: "SkillMap") -> None:
    """Says on standard error which skills never occur alone, so that nobody reads too much into them."""
    from camilla.names import quoted

    if mixed := skill_map.never_alone():
        say(
            f"warning: no sample needs {quoted(mixed)} alone; what is read as their mastery is what "
            "the other skills leave over.",
            err=True,
        )
