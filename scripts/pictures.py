"""Draws the pictures of docs/pictures from the embedded log."""

from pathlib import Path

from camilla import diagnose
from camilla.show.pictures.drawing import draw, write_figure
from camilla.table.examples import digits

FOLDER = Path(__file__).parent.parent / "docs/pictures"
SHOWN = ("radar", "ability-accuracy", "similarity", "solved", "duels", "factors")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    diagnosis = diagnose(digits(), "camilla-base")
    for name in SHOWN:
        figure = draw(diagnosis, name)
        figure.set_dpi(90)
        write_figure(figure, FOLDER / f"{name}.png", diagnosis.provenance)


if __name__ == "__main__":
    main()
