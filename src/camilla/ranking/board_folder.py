"""A leaderboard's folder on disk, and a leaderboard as JSON."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from camilla.errors import DataError, FormatError
from camilla.ranking.inference import NOTHING, Findings, GoodnessOfFit, Spread
from camilla.ranking.matches import AllRounds, Array, Clustered, WinMatrix
from camilla.table.files import whole_folder

if TYPE_CHECKING:
    from camilla.ranking.leaderboard import Leaderboard

FORMAT = 2
FACTORS = ("factor", "extra", "diagonal")  # parts of a covariance, one file each
PAIRED_PLAYERS = 500  # more have so many pairs that they are worked out when asked for
MARKS = ("leaderboard.json", "comparison.json")  # files that show a folder to be ours


def as_document(board: "Leaderboard", findings: Findings = NOTHING, *, elo: bool = False) -> dict[str, Any]:
    """The leaderboard as plain JSON, with Elo if asked for: no NaN or infinity; what is not known is null."""
    rows = board.rows()
    document: dict[str, Any] = {
        "players": (rows.join(board.elo(), on="player", maintain_order="left") if elo else rows).to_dicts(),
        "deviance": board.fit.deviance,
        "df": board.fit.df,
        "standardised_deviance": board.fit.standardised,
        "p_value": board.fit.p_value,
        "p_value_rounds": findings.p_value_rounds,
        "tests": [test._asdict() for test in findings.tests],
        "plan": None if findings.plan is None else findings.plan._asdict(),
        "telling_rounds": None if findings.telling is None else findings.telling.to_dicts(),
        "friedman": _friedman(findings, board),
        "search": {name: found._asdict() for name, found in (findings.search or {}).items()} or None,
        "teams": _teams(findings),
        "tie_groups": board.tie_groups,
        "level": board.level,
        "notes": board.notes,
        "provenance": dict(board.provenance),
    }
    return {key: without_nan(value) for key, value in document.items()}


def _friedman(findings: Findings, board: "Leaderboard") -> dict[str, Any] | None:
    if findings.friedman is None:
        return None
    ranks = dict(zip(board.players, findings.friedman.mean_rank.tolist(), strict=True))
    return {**findings.friedman._asdict(), "mean_rank": ranks}


def _teams(findings: Findings) -> dict[str, Any] | None:
    if findings.teams is None:
        return None
    fields = findings.teams._asdict()
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()
    }


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


def write_leaderboard(board: "Leaderboard", folder: Path, findings: Findings = NOTHING) -> Path:
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
        raise DataError(f"{folder}: is a file; expected a folder. Name another.")
    if folder.exists() and any(folder.iterdir()) and not any((folder / name).exists() for name in MARKS):
        raise DataError(f"{folder}: is not empty and contains no leaderboard; name a new folder.")
    with whole_folder(folder) as draft:
        yield draft


def write_tables(board: "Leaderboard", folder: Path, findings: Findings = NOTHING) -> None:
    """leaderboard.json, players.parquet, matches.parquet; with intervals covariance and pairs too."""
    document = {"format": FORMAT, **as_document(board, findings)}
    document["reading"] = {
        "critical": board.critical,
        "rounds_df": board.rounds_df if math.isfinite(board.rounds_df) else None,
    }
    (folder / "leaderboard.json").write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")
    board.rows().write_parquet(folder / "players.parquet")
    _write_matches(board, folder)
    if board.spread is not None and len(board.players) <= PAIRED_PLAYERS:
        board.pairs().write_parquet(folder / "pairs.parquet")
    if board.spread is not None:
        _write_spread(board.spread, folder)


def _write_matches(board: "Leaderboard", folder: Path) -> None:
    """Pairs with wins and matches; over all rounds the scores they are counted from, more is better."""
    if not isinstance(board.counted, WinMatrix):
        record = board.counted
        rounds = record.rounds if isinstance(record, Clustered) else record
        _table(rounds.merit).write_parquet(folder / "merit.parquet")
        if isinstance(record, Clustered):
            pl.DataFrame({"cluster": record.cluster}).write_parquet(folder / "clusters.parquet")
        return
    first, second = np.nonzero(board.matrix.played)
    pl.DataFrame(
        {
            "player": first,
            "opponent": second,
            "wins": board.matrix.wins[first, second],
            "played": board.matrix.played[first, second],
        }
    ).write_parquet(folder / "matches.parquet")


def _write_spread(spread: Spread, folder: Path) -> None:
    if spread.matrix is not None:
        packed = spread.matrix[np.tril_indices(len(spread.matrix))]
        pl.DataFrame({"covariance": packed}).write_parquet(folder / "covariance.parquet")
    for name in FACTORS:
        part = getattr(spread, name)
        if part is not None:
            _table(np.atleast_2d(part.T).T).write_parquet(folder / f"{name}.parquet")


def _table(numbers: Array) -> pl.DataFrame:
    return pl.DataFrame({str(k): column for k, column in enumerate(numbers.T)})


def read_fields(folder: str | Path) -> dict[str, Any]:
    """The fields of a saved leaderboard, the same to the last bit."""
    folder = Path(folder)
    try:
        document = json.loads((folder / "leaderboard.json").read_text())
        rows = pl.read_parquet(folder / "players.parquet", glob=False)
        parts = {path.stem: pl.read_parquet(path, glob=False) for path in sorted(folder.glob("*.parquet"))}
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise FormatError(
            f"{folder}: is not a readable leaderboard ({error}). Save it again with Leaderboard.save."
        ) from error
    if document.get("format") not in (1, FORMAT):
        raise FormatError(
            f"{folder}: has format {document.get('format')!r}; this version reads {FORMAT}. Update camilla."
        )
    if "merit" not in parts and "matches" not in parts:
        raise FormatError(
            f"{folder}: contains neither matches nor scores. Save it again with Leaderboard.save."
        )
    return _restored(document, rows, parts)


def _restored_matches(n: int, parts: Mapping[str, pl.DataFrame]) -> WinMatrix | AllRounds | Clustered:
    if "merit" in parts:
        rounds = AllRounds(np.ascontiguousarray(parts["merit"].to_numpy()))
        return Clustered(rounds, parts["clusters"]["cluster"].to_numpy()) if "clusters" in parts else rounds
    matches = parts["matches"]
    wins, played = np.zeros((n, n)), np.zeros((n, n))
    place = matches["player"].to_numpy(), matches["opponent"].to_numpy()
    wins[place], played[place] = matches["wins"].to_numpy(), matches["played"].to_numpy()
    return WinMatrix(wins, played)


def _restored_spread(n: int, parts: Mapping[str, pl.DataFrame]) -> Spread | None:
    if "covariance" in parts:
        covariance = np.zeros((n, n))
        covariance[np.tril_indices(n)] = parts["covariance"]["covariance"].to_numpy()
        return Spread(covariance + np.tril(covariance, -1).T)
    found = {name: np.ascontiguousarray(parts[name].to_numpy()) for name in FACTORS if name in parts}
    if "diagonal" in found:
        found["diagonal"] = found["diagonal"].ravel()
    return Spread(**found) if found else None


def _restored(
    document: dict[str, Any], rows: pl.DataFrame, parts: Mapping[str, pl.DataFrame]
) -> dict[str, Any]:
    deviance, standardised, p_value = (
        np.nan if document[key] is None else document[key]
        for key in ("deviance", "standardised_deviance", "p_value")
    )
    rounds_df = document["reading"]["rounds_df"]
    return {
        "players": tuple(rows["player"]),
        "epp": rows["epp"].to_numpy(),
        "spread": _restored_spread(rows.height, parts),
        "counted": _restored_matches(rows.height, parts),
        "known_fit": GoodnessOfFit(deviance, document["df"], standardised, p_value),
        "level": document["level"],
        "critical": document["reading"]["critical"],
        "rounds_df": np.inf if rounds_df is None else rounds_df,
        "notes": tuple(document["notes"]),
        "provenance": document["provenance"],
    }
