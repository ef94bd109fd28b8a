"""`camilla plot`: pictures of a saved diagnosis, each a file of its own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.display import say
from camilla.errors import DataError, SettingError

if TYPE_CHECKING:
    from camilla.diagnosis import Diagnosis


def plot(
    picture: Annotated[str, typer.Argument(help="Name of a picture, or all.")],
    diagnosis: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A diagnosis, a file of camilla experiment, or the JSON of camilla route."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File .svg, .pdf or .png; for all, a folder.")
    ],
    learner: Annotated[list[str] | None, typer.Option(help="A learner to draw; may be repeated.")] = None,
    skill: Annotated[list[str] | None, typer.Option(help="A skill to draw; may be repeated.")] = None,
    sample: Annotated[list[str] | None, typer.Option(help="A sample to draw; may be repeated.")] = None,
    families: Annotated[
        Path | None, typer.Option(help="Table with the columns learner and family; else names tell.")
    ] = None,
) -> None:
    """Draw one picture of a diagnosis, or all of them."""
    from camilla.diagnosis import Diagnosis
    from camilla.show.pictures.drawing import Shown, draw, write_figure

    if diagnosis.suffix == ".parquet":
        if learner or skill or sample or families:
            raise SettingError("pictures of an experiment show all of it; leave learners and skills out.")
        _write_experiment(diagnosis, picture, output)
        return
    if diagnosis.suffix == ".json":
        if learner or skill or sample or families:
            raise SettingError("the picture of a route shows all of it; leave learners and skills out.")
        _write_route(diagnosis, picture, output)
        return
    found = Diagnosis.load(diagnosis)
    if picture == "all":
        if learner or skill or sample or families:
            raise SettingError("all draws every picture as it comes; name one to choose what it shows.")
        _write_all(found, output)
        return
    group = None if families is None else _families(families)
    figure = draw(found, picture, Shown(learner or (), skill or (), sample or (), group))
    say(f"written to {write_figure(figure, output, found.provenance)}", err=True)


def _write_experiment(results: Path, picture: str, output: Path) -> None:
    from hashlib import sha256

    from camilla.show.pictures.drawing import write_figure
    from camilla.show.pictures.experiments import draw_experiment

    figure = draw_experiment(results, picture)
    origin = {"diagnoser": f"experiment {results.name}", "seed": "in the file"}
    made = origin | {"data_hash": sha256(results.read_bytes()).hexdigest()}
    say(f"written to {write_figure(figure, output, made)}", err=True)


def _write_route(figures: Path, picture: str, output: Path) -> None:
    from hashlib import sha256

    from camilla.show.pictures.drawing import write_figure
    from camilla.show.pictures.frontier import draw_route

    figure = draw_route(figures, picture)
    made = {"diagnoser": f"route {figures.name}", "seed": "in the file"}
    made["data_hash"] = sha256(figures.read_bytes()).hexdigest()
    say(f"written to {write_figure(figure, output, made)}", err=True)


def _write_all(found: "Diagnosis", folder: Path) -> None:
    """Every picture as SVG and PNG; those that cannot be drawn are named with the reason."""
    from camilla.show.pictures.drawing import draw_all, write_figure

    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: is a file; a folder was wanted. Name another.")
    folder.mkdir(parents=True, exist_ok=True)
    figures, why_not = draw_all(found)
    for name, figure in figures.items():
        for kind in ("svg", "png"):
            write_figure(figure, folder / f"{name}.{kind}", found.provenance)
    for reason in why_not.values():
        say(f"note: {reason}", err=True)
    say(f"{len(figures)} pictures, SVG and PNG, written to {folder}", err=True)


def _families(path: Path) -> dict[str, str]:
    from camilla.table.frame_files import read_frame

    frame = read_frame(path)
    if missing := [name for name in ("learner", "family") if name not in frame.columns]:
        raise DataError(f"{path}: no column {missing[0]!r}; learner and family were wanted.")
    return dict(zip(frame["learner"].cast(str).to_list(), frame["family"].cast(str).to_list(), strict=True))
