"""A leaderboard as a folder: leaderboard.json and Parquet tables, never pickle."""

import json
import math
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.errors import DataError, FormatError
from camilla.ranking.fit import Fit
from camilla.ranking.leaderboard import Leaderboard, PairTest
from camilla.ranking.matches import WinMatrix

FORMAT = 1
PAIRED_PLAYERS = 500  # more have so many pairs that they are worked out when asked for
MARKS = ("leaderboard.json", "comparison.json")  # files that show a folder to be ours


class Findings(NamedTuple):
    """What was asked of a board beyond its rows."""

    tests: Sequence[PairTest] = ()
    p_value_rounds: float | None = None  # of the fit, with rounds as the independent units


NOTHING = Findings()


def as_document(board: Leaderboard, findings: Findings = NOTHING) -> dict[str, Any]:
    """The leaderboard as plain JSON: no NaN, no infinity; what is not known is null."""
    document: dict[str, Any] = {
        "players": board.rows().to_dicts(),
        "deviance": board.fit.deviance,
        "df": board.fit.df,
        "standardised_deviance": board.fit.standardised,
        "p_value": board.fit.p_value,
        "p_value_rounds": findings.p_value_rounds,
        "tests": [test._asdict() for test in findings.tests],
        "tie_groups": board.tie_groups,
        "level": board.level,
        "notes": board.notes,
        "provenance": dict(board.provenance),
    }
    return {key: without_nan(value) for key, value in document.items()}


def without_nan(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: without_nan(one) for key, one in value.items()}
        case list() | tuple():
            return [without_nan(one) for one in value]
        case _:
            return value


def save(board: Leaderboard, folder: Path, findings: Findings = NOTHING) -> Path:
    """The leaderboard's tables in a folder of their own."""
    with drafted(folder) as draft:
        write_tables(board, draft, findings)
    return folder


@contextmanager
def drafted(folder: Path) -> Iterator[Path]:
    """A folder to write in that takes the target's place when all is written, and only then.

    An earlier result is replaced; a folder that holds something else is refused.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: is a file; a folder was wanted. Name another.")
    if folder.exists() and any(folder.iterdir()) and not any((folder / name).exists() for name in MARKS):
        raise DataError(f"{folder}: is not empty and holds no leaderboard; name a new folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        draft.chmod(0o755)
        yield draft
        if folder.exists():
            old = draft.with_name(draft.name + "-old")
            folder.rename(old)
            draft.rename(folder)
            shutil.rmtree(old)
        else:
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_tables(board: Leaderboard, folder: Path, findings: Findings = NOTHING) -> None:
    """leaderboard.json, players.parquet, matches.parquet; with intervals covariance and pairs too."""
    document = {"format": FORMAT, **as_document(board, findings)}
    document["reading"] = {
        "critical": board.critical,
        "rounds_df": board.rounds_df if math.isfinite(board.rounds_df) else None,
    }
    (folder / "leaderboard.json").write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")
    board.rows().write_parquet(folder / "players.parquet")
    first, second = np.nonzero(board.matrix.played)
    pl.DataFrame(
        {
            "player": first,
            "opponent": second,
            "wins": board.matrix.wins[first, second],
            "played": board.matrix.played[first, second],
        }
    ).write_parquet(folder / "matches.parquet")
    if board.covariance is not None and len(board.players) <= PAIRED_PLAYERS:
        board.pairs().write_parquet(folder / "pairs.parquet")
    if board.covariance is not None:
        packed = board.covariance[np.tril_indices(len(board.players))]
        pl.DataFrame({"covariance": packed}).write_parquet(folder / "covariance.parquet")


def load(folder: str | Path) -> Leaderboard:
    """A saved leaderboard, the same to the last bit."""
    folder = Path(folder)
    try:
        document = json.loads((folder / "leaderboard.json").read_text())
        rows = pl.read_parquet(folder / "players.parquet", glob=False)
        matches = pl.read_parquet(folder / "matches.parquet", glob=False)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise FormatError(
            f"{folder}: is no readable leaderboard ({error}). Save it again with Leaderboard.save."
        ) from error
    if document.get("format") != FORMAT:
        raise FormatError(
            f"{folder}: has format {document.get('format')!r}; this version reads {FORMAT}. Update camilla."
        )
    return _restored(folder, document, rows, matches)


def _restored(
    folder: Path, document: dict[str, Any], rows: pl.DataFrame, matches: pl.DataFrame
) -> Leaderboard:
    n = rows.height
    wins, played = np.zeros((n, n)), np.zeros((n, n))
    place = matches["player"].to_numpy(), matches["opponent"].to_numpy()
    wins[place], played[place] = matches["wins"].to_numpy(), matches["played"].to_numpy()
    covariance = None
    if (folder / "covariance.parquet").exists():
        covariance = np.zeros((n, n))
        covariance[np.tril_indices(n)] = pl.read_parquet(folder / "covariance.parquet", glob=False)[
            "covariance"
        ].to_numpy()
        covariance = covariance + np.tril(covariance, -1).T
    standardised, p_value = (
        np.nan if document[key] is None else document[key] for key in ("standardised_deviance", "p_value")
    )
    rounds_df = document["reading"]["rounds_df"]
    return Leaderboard(
        players=tuple(rows["player"]),
        epp=rows["epp"].to_numpy(),
        covariance=covariance,
        matrix=WinMatrix(wins, played),
        fit=Fit(document["deviance"], document["df"], standardised, p_value),
        level=document["level"],
        critical=document["reading"]["critical"],
        rounds_df=np.inf if rounds_df is None else rounds_df,
        notes=tuple(document["notes"]),
        provenance=document["provenance"],
    )
