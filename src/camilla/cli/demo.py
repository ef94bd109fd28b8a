"""`camilla demo`: the main job on the embedded log of digit classifiers."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.diagnose import run
from camilla.cli.show import print_diagnosis, print_learner


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of the diagnosis and the report.")
    ] = Path("demo"),
    seed: options.SeedOption = 0,
) -> None:
    """Diagnose 42 classifiers of handwritten digits, ten digits as skills."""
    from camilla.diagnosis import make_way
    from camilla.show.report.build import report
    from camilla.table.embedded import digits

    make_way(output / "diagnosis")
    found = run(digits(), "camilla-base", seed)
    where = found.save(output / "diagnosis")
    print_diagnosis(found, learners=10, samples=5)
    print_learner(found, found.learners["learner"][0])
    typer.echo(f"Written to {where}: learners, samples and skills as Parquet, and diagnosis.json.")
    typer.echo(f"Look again with: camilla show {where}")
    page = report([where], output / "report.html", title="42 classifiers of handwritten digits").page
    typer.echo(f"To look at and to send: open {page} in a browser.")
