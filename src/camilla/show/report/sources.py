"""What a report is made of: saved diagnoses, leaderboards, comparisons, experiments, read from paths."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.show.report import boards, decisions
from camilla.show.report.diagnosed import Diagnosed


class Sources(NamedTuple):
    """Everything that was named, each kind in the order given."""

    diagnoses: list[Diagnosed]
    boards: list[dict[str, Any]]
    comparisons: list[dict[str, Any]]
    experiments: list[dict[str, Any]]

    @property
    def title(self) -> str:
        """What the page is called if nobody says."""
        if self.diagnoses:
            made = self.diagnoses[0].found.provenance
            return f"{made['n_learners']:,} learners on {made['n_samples']:,} samples"
        if self.boards:
            return f"{len(self.boards[0]['player']):,} players by EPP"
        return str((self.comparisons or self.experiments)[0]["title"])


def read_sources(paths: Iterable[Path]) -> Sources:
    """Each path is known by the file that marks it, or as a JSON or Parquet file of results."""
    found = Sources([], [], [], [])
    for path in paths:
        if (path / "diagnosis.json").is_file():
            diagnosis = Diagnosis.load(path)
            diagnosis.require_responses()
            found.diagnoses.append(Diagnosed(path.resolve().name, diagnosis))
        elif (path / "leaderboard.json").is_file():
            found.boards.append(boards.board_section(path.resolve().name, path))
        elif path.suffix == ".json" and path.is_file():
            found.comparisons.append(decisions.decision_section(path))
        elif path.suffix == ".parquet" and path.is_file():
            found.experiments.extend(boards.experiment_sections(path))
        elif several := sorted(one.parent for one in path.glob("*/leaderboard.json")):
            found.boards.extend(boards.board_section(one.name, one) for one in several)
        else:
            what = "is neither a diagnosis nor a leaderboard nor a file of results"
            raise DataError(
                f"{path}: {what if path.exists() else 'there is no such file or folder'}. Name a folder of "
                "camilla diagnose or epp, the Parquet of camilla experiment, or the JSON of camilla rank, "
                "compare, route, ensemble or features."
            )
    return found
