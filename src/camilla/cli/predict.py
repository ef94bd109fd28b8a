"""`camilla predict`: what a learner will do on a sample."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from camilla.cli import options
from camilla.cli.completing import names_of
from camilla.display import aside, print_frame, print_json, say
from camilla.errors import SettingError

if TYPE_CHECKING:
    from camilla.diagnosis import Diagnosis
    from camilla.diagnosis_unseen import NewPredictions

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
    new_samples: Annotated[
        str | None, typer.Option(help="Features of samples without a response: FILE, FILE:column, .npy.")
    ] = None,
    new_learners: Annotated[
        str | None, typer.Option(help="Features of learners without a response, as --new-samples.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File for all predictions: .csv, .jsonl or .parquet."),
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Predict responses of learners to samples, with intervals; new samples and learners from their features.

    Example: camilla predict diagnosis --learner NAME -o predictions.csv
    """
    from camilla.diagnosis import Diagnosis
    from camilla.table.files import checked_ending, write_frame

    if output is not None:
        checked_ending(output)
    if (new_samples or new_learners) and (sample or learner):
        raise SettingError(
            "--sample and --learner do nothing with --new-samples and --new-learners, which predict every "
            "pair; leave them out, and pick rows from what -o FILE writes."
        )
    found = Diagnosis.load(diagnosis)
    new = _new(found, new_samples, new_learners)
    frame = found.predict(learner or None, sample or None) if new is None else new.responses
    if output is not None:
        write_frame(frame, output)
        aside(f"{frame.height} predictions written to {output}.")
    if json:
        document = {"verdict": "predicted", "predictions": frame.to_dicts()}
        document |= {} if new is None else _document(new)
        print_json(document | {"provenance": found.provenance}, "predict")
    elif new is not None:
        say(new.text())
    elif output is None:
        more = "" if frame.height <= MOST_SHOWN else f", the first {MOST_SHOWN}; -o FILE writes all"
        print_frame(frame.head(MOST_SHOWN), title=f"{frame.height} predictions{more}")


def _new(found: "Diagnosis", samples: str | None, learners: str | None) -> "NewPredictions | None":
    """What is expected of new samples or learners, where some came."""
    if samples is None and learners is None:
        return None
    return found.predict_new(samples=samples, learners=learners)


def _document(new: "NewPredictions") -> dict[str, Any]:
    frames = {"samples": new.samples.to_dicts(), "learners": new.learners.to_dicts()}
    return {**frames, "notes": list(new.notes)}
