"""The report: one HTML file, built from what was saved."""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import camilla
from camilla.errors import DataError, SettingError
from camilla.show.report import diagnosed, plain
from camilla.show.report.packing import packed
from camilla.show.report.sources import read_sources
from camilla.show.report.words import findings, headline
from camilla.table.files import whole_file, whole_folder

MARK = ".camilla-report"  # in a folder that a report may replace


class Written(NamedTuple):
    """Where a report lies, and the folder of tables beside it if there is one."""

    page: Path
    tables: Path | None


def report(
    sources: str | Path | Sequence[str | Path], output: str | Path, *, title: str | None = None
) -> Written:
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
    named = [sources] if isinstance(sources, str | Path) else sources
    found = read_sources(map(Path, named))
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
    with whole_folder(target) as draft:
        for number, one in enumerate(large):
            inside = draft / f"diagnosis-{number}" if number else draft
            inside.mkdir(exist_ok=True)
            for name in ("learners", "samples", "skills"):
                getattr(one.found, name).write_parquet(inside / f"{name}.parquet")
            _responses(one).write_parquet(inside / "responses.parquet")
        (draft / MARK).touch()


def _responses(of: diagnosed.Diagnosed) -> pl.DataFrame:
    """One row per response, names in full."""
    cells = of.found.cells
    return pl.DataFrame(
        {
            "learner": pl.Series(of.found.learner_names, dtype=pl.String)[cells.learner],
            "sample": pl.Series(of.found.sample_names, dtype=pl.String)[cells.sample],
            "response": cells.response,
        }
    )


TEMPLATE = """<!doctype html>
<html lang="en" data-theme="auto">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="camilla {version}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>{plain}</noscript>
<div id="app"></div>
<script type="application/octet-stream" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(document: dict[str, Any], *, title: str, plain: str, version: str) -> str:
    """The whole HTML; `plain` is markup already, `title` is not."""
    style, script = (_static(name) for name in ("report.css", "report.js"))
    policy = (
        f"default-src 'none'; script-src '{_content_hash(script)}'; style-src '{_content_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return TEMPLATE.format(
        policy=policy, version=escape(version), title=escape(title), style=style, plain=plain,
        data=packed(document), script=script,
    )  # fmt: skip


def _static(name: str) -> str:
    return resources.files("camilla.show.report").joinpath("static", name).read_text(encoding="utf-8")


def _content_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
