"""A leaderboard's folder: its tables, and its pictures when matplotlib is there."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from camilla.data.tournament import Tournament
from camilla.ranking.compare import compare_fits
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.saved import Findings, drafted, without_nan, write_tables


def write_folder(
    boards: Mapping[str, Leaderboard],
    tournaments: Mapping[str, Tournament],
    folder: Path,
    findings: Mapping[str, Findings],
) -> Path:
    """Tables and pictures of every tournament; the folder appears whole or not at all.

    One tournament fills the folder itself; several get a folder each, and a comparison beside them.
    """
    can_draw = find_spec("matplotlib") is not None
    with drafted(folder) as draft:
        for (name, board), place in zip(boards.items(), _places(list(boards), draft), strict=True):
            place.mkdir(exist_ok=True)
            write_tables(board, place, findings[name])
            if can_draw:
                _draw(board, tournaments[name], place)
        if len(boards) > 1:
            comparison = without_nan(compare_fits(boards).to_dicts())
            (draft / "comparison.json").write_text(json.dumps(comparison, indent=1, allow_nan=False) + "\n")
            if can_draw:
                _draw_algorithms(boards, draft)
    return folder


def _places(names: list[str], draft: Path) -> list[Path]:
    """A folder for each tournament, named after it as far as file names allow."""
    if len(names) == 1:
        return [draft]
    safe = ["".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:80] for name in names]
    return [draft / (one if safe.count(one) == 1 and one else f"{k}-{one}") for k, one in enumerate(safe)]


def _draw(board: Leaderboard, tournament: Tournament, folder: Path) -> None:
    from camilla.plots.epp_fit import fit_figure
    from camilla.plots.epp_ranking import ranking_figure
    from camilla.plots.epp_tasks import tasks_figure

    ranking_figure(board, tournament).savefig(folder / "ranking.png")
    fit_figure(board).savefig(folder / "fit.png")
    if tournament.scores is not None:
        tasks_figure(board, tournament).savefig(folder / "rounds.png")
    _draw_algorithms({tournament.name: board}, folder)


def _draw_algorithms(boards: Mapping[str, Leaderboard], folder: Path) -> None:
    """Boxplots by algorithm, where player names are those of numbered configurations."""
    from camilla.plots.epp_algorithms import algorithm_of, algorithms_figure

    panels: dict[str, dict[str, list[float]]] = {}
    for name, board in boards.items():
        groups: dict[str, list[float]] = {}
        for player, epp in zip(board.players, board.epp.tolist(), strict=True):
            groups.setdefault(algorithm_of(player), []).append(epp)
        panels[name] = {algorithm: epps for algorithm, epps in groups.items() if len(epps) > 1}
    if any(len(groups) > 1 for groups in panels.values()):
        algorithms_figure(panels).savefig(folder / "algorithms.png")
