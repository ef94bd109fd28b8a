"""`camilla curriculum`: samples ordered and weighted for one learner."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.completing import names_of, one_of
from camilla.display import aside, counted, print_json, say


def curriculum(
    diagnosis: options.SavedOption,
    learner: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="LEARNER",
            help="The learner of the diagnosis.",
            autocompletion=names_of("learners"),
        ),
    ],
    order: Annotated[
        str,
        typer.Option(
            help="easy-to-hard, hard-to-easy, edge (probability near ½) or information.",
            autocompletion=one_of("easy-to-hard", "hard-to-easy", "edge", "information"),
        ),
    ] = "easy-to-hard",
    weigh: Annotated[
        str | None,
        typer.Option(help="Weights: equal, edge, difficulty or information; by default those of the order."),
    ] = None,
    by_skill: Annotated[
        bool,
        typer.Option("--by-skill", help="Order in blocks by skill, the weakest skill of the learner first."),
    ] = False,
    skill: Annotated[
        list[str] | None,
        typer.Option(
            help="Only samples that need this skill; may be repeated.", autocompletion=names_of("skills")
        ),
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            help="Samples to keep, by the learner's response: all, wrong, right or unanswered.",
            autocompletion=one_of("all", "wrong", "right", "unanswered"),
        ),
    ] = "all",
    samples: Annotated[int, typer.Option(min=0, help="How many samples to print.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File for the ordered samples: .csv, .jsonl, …."),
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Order and weight the samples for one learner, for training or for review.

    Example: camilla curriculum diagnosis --for LEARNER --order edge -o plan.csv
    """
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
        print_json(found.to_document(), "curriculum")
        return
    say(found.text(samples=samples))
    if output is not None:
        aside(f"{counted(found.samples.height, 'sample')} written to {output}.")
