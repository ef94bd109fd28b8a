"""`camilla plot`: pictures of a saved diagnosis, each a file of its own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from camilla.cli.completing import names_of
from camilla.display import aside
from camilla.errors import DataError, SettingError

if TYPE_CHECKING:
    from camilla.diagnosis import Diagnosis


def plot(
    picture: Annotated[str, typer.Argument(help="Name of a picture, or all.")],
    diagnosis: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A diagnosis, a results file of camilla experiment, or the JSON of camilla route.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="File to write: .svg, .pdf or .png; a folder for all pictures."),
    ],
    learner: Annotated[
        list[str] | None,
        typer.Option(help="A learner to draw; may be repeated.", autocompletion=names_of("learners")),
    ] = None,
    skill: Annotated[
        list[str] | None,
        typer.Option(help="A skill to draw; may be repeated.", autocompletion=names_of("skills")),
    ] = None,
    sample: Annotated[
        list[str] | None,
        typer.Option(help="A sample to draw; may be repeated.", autocompletion=names_of("samples")),
    ] = None,
    families: Annotated[
        Path | None,
        typer.Option(
            help="Table with the columns learner and family; by default read from the names of learners."
        ),
    ] = None,
) -> None:
    """Draw one picture of a diagnosis, or all of them.

    Example: camilla plot forest diagnosis -o forest.svg
    """
    from camilla.diagnosis import Diagnosis
    from camilla.show.pictures.drawing import Shown, draw, write_figure

    if diagnosis.suffix == ".parquet":
        if learner or skill or sample or families:
            raise SettingError(
                "a picture of an experiment shows the whole experiment. Leave out --learner, --skill, "
                "--sample and --families."
            )
        _write_experiment(diagnosis, picture, output)
        return
    if diagnosis.suffix == ".json":
        if learner or skill or sample or families:
            raise SettingError(
                "the picture of a route shows the whole route. Leave out --learner, --skill, --sample and "
                "--families."
            )
        _write_route(diagnosis, picture, output)
        return
    found = Diagnosis.load(diagnosis)
    if picture == "all":
        if learner or skill or sample or families:
            raise SettingError(
                "all draws every picture with its default content. Name one picture to choose learners, "
                "skills or samples."
            )
        _write_all(found, output)
        return
    group = None if families is None else _families(families)
    figure = draw(found, picture, Shown(learner or (), skill or (), sample or (), group))
    aside(f"Picture written to {write_figure(figure, output, found.provenance)}.")


def _write_experiment(results: Path, picture: str, output: Path) -> None:
    from hashlib import sha256

    from camilla.show.pictures.drawing import write_figure
    from camilla.show.pictures.experiments import draw_experiment

    figure = draw_experiment(results, picture)
    origin = {"diagnoser": f"experiment {results.name}", "seed": "in the file"}
    made = origin | {"data_hash": sha256(results.read_bytes()).hexdigest()}
    aside(f"Picture written to {write_figure(figure, output, made)}.")


def _write_route(figures: Path, picture: str, output: Path) -> None:
    from hashlib import sha256

    from camilla.show.pictures.drawing import write_figure
    from camilla.show.pictures.frontier import draw_route

    figure = draw_route(figures, picture)
    made = {"diagnoser": f"route {figures.name}", "seed": "in the file"}
    made["data_hash"] = sha256(figures.read_bytes()).hexdigest()
    aside(f"Picture written to {write_figure(figure, output, made)}.")


def _write_all(found: "Diagnosis", folder: Path) -> None:
    """Every picture as SVG and PNG; those that cannot be drawn are named with the reason."""
    from camilla.show.pictures.drawing import draw_all, write_figure

    if folder.exists() and not folder.is_dir():
        raise DataError(
            f"{folder}: is a file, but a folder is needed for all pictures. Give -o another path."
        )
    folder.mkdir(parents=True, exist_ok=True)
    figures, why_not = draw_all(found)
    for name, figure in figures.items():
        for kind in ("svg", "png"):
            write_figure(figure, folder / f"{name}.{kind}", found.provenance)
    for reason in why_not.values():
        aside(f"note: {reason}")
    aside(f"{len(figures)} pictures written to {folder}, each as SVG and PNG.")


def _families(path: Path) -> dict[str, str]:
    from camilla.table.frame_files import read_frame

    frame = read_frame(path)
    if missing := [name for name in ("learner", "family") if name not in frame.columns]:
        raise DataError(
            f"{path}: there is no column {missing[0]!r}. The table needs the columns learner and family."
        )
    return dict(zip(frame["learner"].cast(str).to_list(), frame["family"].cast(str).to_list(), strict=True))
