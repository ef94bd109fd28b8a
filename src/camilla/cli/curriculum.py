"""`camilla curriculum`: samples ordered and weighted for one learner."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.display import aside, print_json, say


def curriculum(
    diagnosis: options.SavedOption,
    learner: Annotated[str, typer.Option("--for", metavar="LEARNER", help="The learner of the diagnosis.")],
    order: Annotated[
        str, typer.Option(help="easy-to-hard, hard-to-easy, edge (probability near ½), information.")
    ] = "easy-to-hard",
    weigh: Annotated[
        str | None, typer.Option(help="Weights by equal, edge, difficulty or information; as the order.")
    ] = None,
    by_skill: Annotated[
        bool, typer.Option("--by-skill", help="In blocks by skill, the learner's weakest skill first.")
    ] = False,
    skill: Annotated[
        list[str] | None, typer.Option(help="Only samples that need this skill; may be repeated.")
    ] = None,
    only: Annotated[
        str, typer.Option(help="all samples, or those it answered wrong, right, or not at all: unanswered.")
    ] = "all",
    samples: Annotated[int, typer.Option(min=0, help="How many samples to print.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the samples in order: .csv, .jsonl, …."),
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Order and weight the samples for one learner, for training or for review."""
    from camilla.samples.curriculum import curriculum
    from camilla.table.files import checked_ending

    if output is not None:
        checked_ending(output)
    found = curriculum(
        diagnosis, learner, order=order, weigh=weigh, by_skill=by_skill, skills=skill or (), only=only
    )
    if output is not None:
        found.write(output)
    if json:
        print_json(found.to_document())
        return
    say(found.text(samples=samples))
    if output is not None:
        aside(f"{found.samples.height} samples written to {output}.")
