"""`camilla predict`: what a learner will do on a sample."""

from pathlib import Path
from typing import Annotated

import typer

from camilla.cli import options
from camilla.cli.completing import names_of
from camilla.display import aside, print_frame, print_json

MOST_SHOWN = 40


def predict(
    diagnosis: options.SavedOption,
    learner: Annotated[
        list[str] | None,
        typer.Option(help="A learner; may be repeated. All by default.", autocompletion=names_of("learners")),
    ] = None,
    sample: Annotated[
        list[str] | None,
        typer.Option(help="A sample; may be repeated. All by default.", autocompletion=names_of("samples")),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File for all predictions: .csv, .jsonl or .parquet."),
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Predict the responses of learners to samples, with intervals.

    Example: camilla predict diagnosis --learner NAME -o predictions.csv
    """
    from camilla.diagnosis import Diagnosis
    from camilla.table.files import checked_ending, write_frame

    if output is not None:
        checked_ending(output)
    found = Diagnosis.load(diagnosis)
    frame = found.predict(learner or None, sample or None)
    if output is not None:
        write_frame(frame, output)
        aside(f"{frame.height} predictions written to {output}.")
    if json:
        document = {"verdict": "predicted", "predictions": frame.to_dicts()}
        print_json(document | {"provenance": found.provenance}, "predict")
    elif output is None:
        more = "" if frame.height <= MOST_SHOWN else f", the first {MOST_SHOWN}; -o FILE writes all"
        print_frame(frame.head(MOST_SHOWN), title=f"{frame.height} predictions{more}")
