"""Saved results in, one page out. Nothing is fitted here."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import camilla
from camilla.data.names import shown
from camilla.data.writing import whole_file
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.report import boards, diagnosed, plain
from camilla.report.page import page
from camilla.report.words import findings, headline


class Written(NamedTuple):
    """Where a report lies, and the folder of tables beside it if there is one."""

    page: Path
    tables: Path | None


def write_report(folders: Sequence[str | Path], output: str | Path, *, title: str | None = None) -> Written:
    """One HTML file from saved diagnoses and leaderboards; above 50,000 samples with Parquet beside it."""
    target = Path(output)
    if target.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"{target}: a report is one HTML file; give it a name that ends in .html.")
    if not folders:
        raise DataError("a report needs at least one saved diagnosis or leaderboard; name its folder.")
    parts = _Parts([], [])
    for folder in map(Path, folders):
        _add(parts, folder)
    document: dict[str, Any] = {
        "title": title or _title(parts),
        "version": camilla.__version__,
        "diagnoses": [_diagnosis(one) for one in parts.diagnoses],
        "boards": parts.boards,
        "experiments": [],
        "tables": None,
    }
    markup = "".join(
        [plain.diagnosis(one) for one in parts.diagnoses] + [plain.board(one) for one in parts.boards]
    )
    large = [one for one in parts.diagnoses if len(one.kept) < len(one.samples)]
    tables = target.with_name(f"{target.stem}_tables") if large else None
    document["tables"] = None if tables is None else tables.name
    text = page(document, title=str(document["title"]), plain=markup, version=camilla.__version__)
    if not target.parent.is_dir():
        raise DataError(f"{target}: there is no folder {target.parent}. Make it first.")
    if tables is not None:
        _write_tables(large, tables)
    with whole_file(target) as draft:
        draft.write_text(text, encoding="utf-8")
    return Written(target, tables)


class _Parts(NamedTuple):
    diagnoses: list[diagnosed.Diagnosed]
    boards: list[dict[str, Any]]


def _add(parts: _Parts, folder: Path) -> None:
    """Adds what lies in the folder, known by the file that marks it."""
    if (folder / "diagnosis.json").is_file():
        parts.diagnoses.append(diagnosed.Diagnosed(folder.name, Diagnosis.load(folder)))
    elif (folder / "leaderboard.json").is_file():
        parts.boards.append(boards.section(folder.name, folder))
    elif several := sorted(one.parent for one in folder.glob("*/leaderboard.json")):
        parts.boards.extend(boards.section(one.name, one) for one in several)
    else:
        raise DataError(
            f"{folder}: holds neither diagnosis.json nor leaderboard.json. A report is made from a folder "
            "that camilla diagnose or camilla epp wrote."
        )


def _title(parts: _Parts) -> str:
    if parts.diagnoses:
        made = parts.diagnoses[0].found.provenance
        return f"{made['n_learners']} learners on {made['n_samples']:,} samples"
    return f"{len(parts.boards[0]['player'])} players by EPP"


def _diagnosis(of: diagnosed.Diagnosed) -> dict[str, Any]:
    return {
        **diagnosed.section(of),
        "headline": headline(of),
        "findings": [one._asdict() for one in findings(of)],
    }


def _write_tables(large: list[diagnosed.Diagnosed], target: Path) -> None:
    """Learners, samples, skills and responses of large diagnoses; the folder appears whole or not at all."""
    if target.exists() and not (target / ".camilla-report").exists():
        raise DataError(
            f"{target}: exists and was not written by camilla report; it is not overwritten. Move it."
        )
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as work:
        draft = Path(work) / "new"
        for one in large:
            inside = draft if len(large) == 1 else draft / shown(one.name)
            inside.mkdir(parents=True)
            for name in ("learners", "samples", "skills"):
                getattr(one.found, name).write_parquet(inside / f"{name}.parquet")
            _responses(one).write_parquet(inside / "responses.parquet")
        (draft / ".camilla-report").touch()
        if target.exists():
            shutil.move(target, Path(work) / "old")
        draft.rename(target)


def _responses(of: diagnosed.Diagnosed) -> Any:
    """One row a response, names in full."""
    import polars as pl

    cells = of.found.cells
    return pl.DataFrame(
        {
            "learner": pl.Series(of.found.learner_names, dtype=pl.Categorical)[cells.learner],
            "sample": pl.Series(of.found.sample_names, dtype=pl.String)[cells.sample],
            "response": cells.response,
        }
    )
