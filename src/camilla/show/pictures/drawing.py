"""The pictures of a diagnosis by name, and how they are put in files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from camilla.diagnosis import Diagnosis
from camilla.errors import DataError, MissingPackageError, SettingError
from camilla.show.pictures.diagnosis import (
    ability_accuracy_figure,
    duels_figure,
    forest_figure,
    radar_figure,
    similarity_figure,
    spread_figure,
)
from camilla.show.pictures.samples import (
    factors_figure,
    mask_map_figure,
    skill_boxes_figure,
    skill_difficulty_figure,
    solved_figure,
)
from camilla.table.files import whole_file

PICTURES: dict[str, Callable[..., Figure]] = {
    "ability-accuracy": ability_accuracy_figure,
    "duels": duels_figure,
    "factors": factors_figure,
    "forest": forest_figure,
    "mask-map": mask_map_figure,
    "radar": radar_figure,
    "similarity": similarity_figure,
    "skill-boxes": skill_boxes_figure,
    "skill-difficulty": skill_difficulty_figure,
    "solved": solved_figure,
    "spread": spread_figure,
}
FORMATS = ("svg", "pdf", "png")


@dataclass(frozen=True)
class Shown:
    """Who and what is drawn; a picture takes what it has a place for."""

    learners: Sequence[str] = ()
    skills: Sequence[str] = ()
    samples: Sequence[str] = ()
    families: Mapping[str, str] | None = None


EVERYTHING = Shown()


def draw(diagnosis: Diagnosis, picture: str, shown: Shown = EVERYTHING) -> Figure:
    """One picture of a diagnosis; what was asked for and has no place in it is refused."""
    if picture not in PICTURES:
        raise SettingError(f"no picture {picture!r}; there are {', '.join(PICTURES)}.")
    takes = signature(PICTURES[picture]).parameters
    given = {name: value for name, value in vars(shown).items() if value}
    if unused := [name for name in given if name not in takes]:
        raise SettingError(f"the picture {picture} has no place for {', '.join(unused)}.")
    return PICTURES[picture](diagnosis, **given)


def draw_all(diagnosis: Diagnosis) -> tuple[dict[str, Figure], dict[str, str]]:
    """Every picture this diagnosis allows, and why not for each of the others."""
    figures: dict[str, Figure] = {}
    why_not: dict[str, str] = {}
    for name in PICTURES:
        try:
            figures[name] = draw(diagnosis, name)
        except (DataError, MissingPackageError) as error:
            why_not[name] = str(error)
    return figures, why_not


def write_figure(figure: Figure, path: Path, made: Mapping[str, Any]) -> Path:
    """SVG, PDF or PNG by the name's ending, with where it came from inside; whole or not at all."""
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise SettingError(f"a picture is written as .{', .'.join(FORMATS)}; {path.name!r} ends in none.")
    origin = f"camilla {made['diagnoser']}, seed {made['seed']}, data {made['data_hash']}"
    where = {"svg": "Description", "pdf": "Subject", "png": "Description"}[kind]
    when = {"svg": "Date", "pdf": "CreationDate", "png": "Creation Time"}[kind]
    with whole_file(path) as draft:
        figure.savefig(draft, format=kind, metadata={where: origin, when: None})
    return path
