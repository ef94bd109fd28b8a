"""Saved results in, one page out. Nothing is fitted here."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import camilla
from camilla.data.writing import whole_file
from camilla.errors import DataError, SettingError
from camilla.report import diagnosed, plain
from camilla.report.page import page
from camilla.report.sources import read_sources
from camilla.report.words import findings, headline

MARK = ".camilla-report"  # in a folder that a report may replace


class Written(NamedTuple):
    """Where a report lies, and the folder of tables beside it if there is one."""

    page: Path
    tables: Path | None


def write_report(sources: Sequence[str | Path], output: str | Path, *, title: str | None = None) -> Written:
    """One HTML file from what diagnose, epp, experiment, rank and compare wrote.

    Above 50,000 samples the page keeps some, and all rows lie beside it as Parquet.
    """
    target = Path(output)
    if target.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"{target}: a report is one HTML file; give it a name that ends in .html.")
    if not target.parent.is_dir():
        raise DataError(f"{target}: there is no folder {target.parent}. Make it first.")
    if not sources:
        raise DataError("a report needs at least one saved diagnosis, leaderboard or experiment; name it.")
    found = read_sources(map(Path, sources))
    large = [one for one in found.diagnoses if len(one.kept) < len(one.samples)]
    tables = target.with_name(f"{target.stem}_tables") if large else None
    document = {
        "title": title or found.title,
        "version": camilla.__version__,
        "diagnoses": [_diagnosis(one) for one in found.diagnoses],
        "boards": found.boards,
        "comparisons": found.comparisons,
        "experiments": found.experiments,
        "tables": None if tables is None else tables.name,
    }
    text = page(
        document, title=title or found.title, plain=plain.everything(found), version=camilla.__version__
    )
    if tables is not None:
        _write_tables(large, tables)
    with whole_file(target) as draft:
        draft.write_text(text, encoding="utf-8")
    return Written(target, tables)


def _diagnosis(of: diagnosed.Diagnosed) -> dict[str, Any]:
    words = {"headline": headline(of), "findings": [one._asdict() for one in findings(of)]}
    return diagnosed.section(of) | words


def _write_tables(large: list[diagnosed.Diagnosed], target: Path) -> None:
    """Learners, samples, skills and responses of large diagnoses; the folder appears whole or not at all."""
    if target.exists() and not (target / MARK).exists():
        raise DataError(f"{target}: exists and is not of a report; it is not overwritten. Move it away.")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as work:
        draft = Path(work) / "new"
        for number, one in enumerate(large):
            inside = draft / f"diagnosis-{number}" if number else draft
            inside.mkdir(parents=True)
            for name in ("learners", "samples", "skills"):
                getattr(one.found, name).write_parquet(inside / f"{name}.parquet")
            _responses(one).write_parquet(inside / "responses.parquet")
        (draft / MARK).touch()
        if target.exists():
            target.rename(Path(work) / "old")
        draft.rename(target)


def _responses(of: diagnosed.Diagnosed) -> pl.DataFrame:
    """One row a response, names in full."""
    cells = of.found.cells
    return pl.DataFrame(
        {
            "learner": pl.Series(of.found.learner_names, dtype=pl.String)[cells.learner],
            "sample": pl.Series(of.found.sample_names, dtype=pl.String)[cells.sample],
            "response": cells.response,
        }
    )
