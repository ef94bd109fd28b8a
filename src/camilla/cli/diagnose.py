"""`camilla diagnose`: responses in, a saved diagnosis and a leaderboard out."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli import options
from camilla.cli.output import print_json, progress
from camilla.cli.show import print_diagnosis, show_document

if TYPE_CHECKING:
    from camilla.data.responses import ResponseTable
    from camilla.diagnosis import Diagnosis


def diagnose(
    table: options.Table,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder the diagnosis is written to.")],
    with_: Annotated[
        str, typer.Option("--with", help="Diagnoser, with settings if any: mirt:dimensions=5.")
    ] = "irt",
    rows: options.Rows = None,
    skills: options.Skills = None,
    skill_graph: options.SkillGraphFile = None,
    learner: options.Learner = None,
    sample: options.Sample = None,
    response: options.Response = None,
    trial: options.Trial = None,
    weight: options.Weight = None,
    missing: options.Missing = None,
    ignore: options.Ignore = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Diagnose every learner and sample of a table of responses."""
    responses = options.read_table(
        table, rows=rows, skills=skills, learner=learner, sample=sample, response=response, trial=trial,
        weight=weight, missing=missing, ignore=ignore, skill_graph=skill_graph,
    )  # fmt: skip
    found = run(responses, with_, seed)
    found.save(output)
    if json:
        print_json(show_document(found))
    else:
        print_diagnosis(found, learners=10, samples=5)
        typer.echo(f"Written to {output}. Look again with: camilla show {output}")


def run(table: "ResponseTable", text: str, seed: int) -> "Diagnosis":
    """The diagnosis that `--with` asks for; a fit that did not converge is said on standard error."""
    from camilla.diagnosing import diagnose as fit
    from camilla.experiments.reliability import contender

    chosen = contender(text)
    with progress(f"diagnosing with {chosen.name}") as watch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = fit(
            table, chosen.name, seed=seed, as_published=chosen.as_published, watch=watch, **chosen.settings
        )
    for warning in said:
        typer.echo(f"warning: {warning.message}", err=True)
    return found
