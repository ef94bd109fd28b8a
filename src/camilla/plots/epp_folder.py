"""A leaderboard's folder: its tables, and its pictures when matplotlib is there."""

import shutil
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from camilla.data.tournament import Tournament
from camilla.errors import DataError
from camilla.ranking.leaderboard import Leaderboard, PairTest
from camilla.ranking.saved import publish, write_tables


def write_folder(
    board: Leaderboard, tournament: Tournament, folder: Path, tests: Sequence[PairTest] = ()
) -> Path:
    """Tables and pictures; the folder appears whole or not at all."""
    if folder.exists() and not (folder / "leaderboard.json").exists() and any(folder.iterdir()):
        raise DataError(f"{folder}: is not empty and holds no leaderboard; name a new folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        write_tables(board, draft, tests)
        if find_spec("matplotlib") is not None:
            _draw(board, tournament, draft)
        publish(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _draw(board: Leaderboard, tournament: Tournament, folder: Path) -> None:
    pass
