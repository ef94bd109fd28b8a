"""`camilla show`: what a saved diagnosis says."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from camilla.cli import options
from camilla.cli.completing import names_of
from camilla.display import print_json, say

if TYPE_CHECKING:
    from camilla.diagnosis import Diagnosis


def show(
    diagnosis: options.SavedOption,
    learners: Annotated[int, typer.Option(min=0, help="How many learners to print.")] = 20,
    samples: Annotated[int, typer.Option(min=0, help="How many of the hardest samples to print.")] = 10,
    learner: Annotated[
        str | None,
        typer.Option(
            help="Show one learner: its ability on each skill.", autocompletion=names_of("learners")
        ),
    ] = None,
    these_samples: Annotated[
        bool,
        typer.Option(
            "--these-samples",
            help="Abilities, ranks and P(best) on exactly these samples, instead of on samples like these.",
        ),
    ] = False,
    json: options.JsonOption = False,
) -> None:
    """Show a saved diagnosis: leaderboard, hardest samples, or the skills of one learner.

    Example: camilla show diagnosis --learner NAME
    """
    from camilla.diagnosis import Diagnosis

    found = Diagnosis.load(diagnosis)
    if json:
        document = show_document(found)
        if these_samples:
            document["learners"] = found.learners_on_these().to_dicts()
        print_json(document, "diagnosis")
    else:
        say(found.text(learners=learners, samples=samples, learner=learner, these_samples=these_samples))


def show_document(found: "Diagnosis") -> dict[str, Any]:
    """Everything a person reads, as data."""
    converged = found.provenance.get("converged")
    return {
        "verdict": "closed form" if converged is None else "converged" if converged else "not converged",
        "provenance": found.provenance,
        "learners": found.learners.to_dicts(),
        "samples": found.samples.to_dicts(),
        "skills": found.skills.to_dicts(),
    }
