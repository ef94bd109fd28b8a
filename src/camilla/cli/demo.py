"""`camilla demo`: the main job on the embedded log of digit classifiers."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.diagnose import run
from camilla.display import say


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the diagnosis and the report.")
    ] = Path("demo"),
    seed: options.SeedOption = 0,
) -> None:
    """Diagnose 42 classifiers of handwritten digits, with the ten digits as skills.

    Example: camilla demo -o demo
    """
    from camilla.diagnosis_folder import make_way
    from camilla.show.report.build import report
    from camilla.table.examples import digits

    make_way(output / "diagnosis")
    found = run(digits(), "auto", seed)
    where = found.save(output / "diagnosis")
    say(found.text(learners=10, samples=5) + "\n")
    say(found.text(learner=found.learners["learner"][0]) + "\n")
    say(f"Diagnosis written to {where}. Show it again with: camilla show {where}")
    page = report([where], output / "report.html", title="42 classifiers of handwritten digits").page
    say(f"Report written to {page} (open it in a browser, or send it to someone).")
